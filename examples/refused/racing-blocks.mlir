// Block 0 sums what comes in into a tmp, block 1 sends the tmp on: without waiting for the sum.
coll.program @racing_blocks implements "shift" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %prev = coll.channel from 1 tag 1
      %next = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %next
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %prev
          coll.store %m to %out[0, 0]
        }
      }
    }
    coll.rank 1 {
      %tmp = coll.scratch 1
      %prev = coll.channel from 0 tag 0
      %next = coll.channel to 0 tag 1
      coll.block {
        coll.step size 0 chunk 0 {
          %m = coll.pop %prev
          coll.store %m to %out[0, 0]
          coll.store %m to %tmp[0]
        }
      }
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %tmp[0]
          coll.push %l to %next
        }
      }
    }
  }
}
