// One program per constraint of loads, expressions and sinks.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.load C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{names part 1 of 1 [C2]}}
          %m = coll.load %in[1, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{names chunk 2 of 2 [C2]}}
          %m = coll.load %in[0, 2]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{needs a part and a chunk of a buffer [C2]}}
          %m = coll.load %in[0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{needs a slot of its rank's scratch [C2]}}
          %m = coll.load %s[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{names slot 1 of 1 [C2]}}
          %m = coll.load %s[1]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          // expected-error @+1 {{rounds what it does not scale [C3]}}
          %m = coll.load %in[0, 0] rounded
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.combine C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          // expected-error @+1 {{has no value [C2]}}
          %m = "coll.combine"() : () -> !coll.value
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.store C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          // expected-error @+1 {{names part 1 of 1 [C2]}}
          coll.store %l to %in[1, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.push C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          // expected-error @+1 {{needs a channel 'to' a peer, of its rank [C2]}}
          coll.push %l to %p
        }
      }
    }
    coll.rank 1 {
    }
  }
}
