// What can be wrong with messages, one of each.
// RUN: coll-opt %s -split-input-file -verify-diagnostics -coll-verify-program

// Both take before they send: no buffering helps.
coll.program @both_wait implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+2 {{rank 0 waits for a message that does not come}}
        // expected-note @+1 {{rank 0 waits here, in block 0, for a message of rank 1}}
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      %n = coll.channel to 0 tag 0
      coll.block {
        // expected-note @+1 {{rank 1 waits here, in block 0, for a message of rank 0}}
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
      }
    }
  }
}

// -----

// Both send five messages before they take one, into four slots.
coll.program @too_deep implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        // expected-error @+3 {{program deadlocks [program-deadlock]}}
        // expected-note @+2 {{rank 0 waits here, in block 0, for a free slot to rank 1}}
        // expected-note @+1 {{it would end with 6 slots, and with no fewer; there are 4, given back 2 at a time, and messages of up to 1}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      %n = coll.channel to 0 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        // expected-note @+1 {{rank 1 waits here, in block 0, for a free slot to rank 0}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}

// -----

// A message that nobody takes.
coll.program @lost implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
        // expected-error @+1 {{rank 0 sends to rank 1 a message that is never received}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}

// -----

// Sent as one type, taken as another.
coll.program @types implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-note @+1 {{the other end}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      coll.block {
        // expected-error @+1 {{rank 1 receives from rank 0 what was}}
        coll.step size 0 chunk 0 {
          %m = coll.pop %p as f16
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}
