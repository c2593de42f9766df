// One program per constraint of what a step waits for.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.wait C2
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
          // expected-error @+1 {{waits for its own block [C2]}}
          coll.wait block 0 step 0
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.wait C2
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
          // expected-error @+1 {{names block 1 of 1 [C2]}}
          coll.wait block 1 step 0
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.wait C2
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
          // expected-error @+1 {{names step 0 of 0 [C2]}}
          coll.wait block 1 step 0
          %l = coll.load %in[0, 0]
        }
      }
      coll.block {
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.pop C2
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
          // expected-error @+1 {{needs a channel 'from' a peer, of its rank [C2]}}
          %m = coll.pop %n
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.pop C3
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
          %m = coll.pop %p rounded
        }
      }
    }
    coll.rank 1 {
    }
  }
}
