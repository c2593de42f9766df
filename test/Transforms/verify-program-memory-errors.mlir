// What can be wrong with memory, one of each.
// RUN: coll-opt %s -split-input-file -verify-diagnostics -coll-verify-program

// Scratch that nothing was stored to.
coll.program @empty implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      coll.block {
        // expected-error @+1 {{rank 0 loads scratch}}
        coll.step size 0 chunk 0 {
          %l = coll.load %s[0]
          coll.store %l to %out[0, 0]
        }
      }
    }
  }
}

// -----

// Two blocks and one location, without a wait.
coll.program @race implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      coll.block {
        // expected-note @+1 {{block 0 stores here, in step 0}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.store %l to %s[0]
        }
      }
      coll.block {
        // expected-error @+2 {{blocks 0 and 1 of rank 0 touch scratch slot 0 and nothing orders them}}
        // expected-note @+1 {{block 1 loads here, in step 0, and no wait or message comes between; 'coll.wait block 0 step 0' would order them}}
        coll.step size 0 chunk 0 {
          %l = coll.load %s[0]
          coll.store %l to %out[0, 0]
        }
      }
    }
  }
}

// -----

// Ordered in a round, but the next round stores while the last is still read.
coll.program @race_of_rounds implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      coll.block {
        // expected-error @+2 {{blocks 1 and 0 of rank 0 touch scratch slot 0 and nothing orders them}}
        // expected-note @+1 {{block 0 stores here, in step 0 of the next round, and no wait or message comes between; 'coll.wait block 1 step 0 previous_round' would order them}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.store %l to %s[0]
        }
      }
      coll.block {
        // expected-note @+1 {{block 1 loads here, in step 0}}
        coll.step size 0 chunk 0 {
          coll.wait block 0 step 0
          %l = coll.load %s[0]
          coll.store %l to %out[0, 0]
        }
      }
    }
  }
}
