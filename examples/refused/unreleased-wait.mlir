// Block 0 waits for the second step of block 1, which waits for the step of block 0 that comes after: neither gets there.
coll.program @unreleased_wait implements "shift" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %tmp = coll.scratch 2
      coll.block {
        coll.step size 0 chunk 0 {
          coll.wait block 1 step 1
          %l = coll.load %in[0, 0]
          coll.store %l to %tmp[0]
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %tmp[0]
          coll.store %l to %tmp[1]
        }
      }
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.store %l to %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          coll.wait block 0 step 1
          %l = coll.load %tmp[1]
          coll.store %l to %out[0, 0]
        }
      }
    }
  }
}
