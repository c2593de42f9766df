// What coll.pop and coll.push say of messages that may go direct.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.pop C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 1 {
          // expected-error @+1 {{needs the step's chunk of a part [C4]}}
          %m = coll.pop %p get %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.pop C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 1 {
          // expected-error @+1 {{names part 1 of 1 [C4]}}
          %m = coll.pop %p put %in[1, 1]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.push C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 1 {
          %l = coll.load %in[0, 1]
          // expected-error @+1 {{needs a part and a chunk of a buffer [C3]}}
          coll.push %l to %n put %s[0, 1]
        }
      }
    }
    coll.rank 1 {
    }
  }
}
