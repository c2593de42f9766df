// Programs that run to their end, without races, are left alone.
// RUN: coll-opt %s -coll-verify-program | FileCheck %s
// RUN: coll-opt %s -coll-verify-program="slots=8 batch=4 slices=3" | FileCheck %s

// An exchange: each sends, then takes what the other sent.
// CHECK-LABEL: coll.program @exchange
coll.program @exchange implements "exchange" from "" ranks [2] tags 1 instances 1 round 0
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
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}

// Two blocks, ordered by a wait.
// CHECK-LABEL: coll.program @ordered
coll.program @ordered implements "shift" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      coll.block {
        coll.step size 0 chunk 0 {
          coll.wait block 1 step 0 previous_round
          %l = coll.load %in[0, 0]
          coll.store %l to %s[0]
        }
      }
      coll.block {
        coll.step size 0 chunk 0 {
          coll.wait block 0 step 0
          %l = coll.load %s[0]
          coll.store %l to %out[0, 0]
        }
      }
    }
  }
}
