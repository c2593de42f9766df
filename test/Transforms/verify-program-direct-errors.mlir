// Messages that cannot go direct: an output in place of an input that is sent
// later, ends that do not agree, and blocks that only such messages keep apart.
// RUN: coll-opt %s -split-input-file -coll-verify-program -verify-diagnostics

coll.program @swap implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.alias on 0, %in[0] with %out[0]
    coll.alias on 1, %in[0] with %out[0]
    coll.rank 0 {
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n put %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p put %out[0, 0]
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
          coll.push %l to %n put %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p put %out[0, 0]
          coll.store %m to %out[0, 0]
        }
      }
    }
    coll.rank 0 in_place {
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+2 {{rank 0 puts into out[0], chunk 0, of rank 1, where rank 1 loads, and nothing orders them}}
        // expected-note @+1 {{the other end}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n put %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p put %out[0, 0]
          coll.store %m to %out[0, 0]
        }
      }
    }
    coll.rank 1 in_place {
      %p = coll.channel from 0 tag 0
      %n = coll.channel to 0 tag 0
      coll.block {
        // expected-error @+2 {{rank 1 puts into out[0], chunk 0, of rank 0, where rank 0 loads, and nothing orders them}}
        // expected-note @+1 {{the other end}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n put %out[0, 0]
        }
        coll.step size 0 chunk 0 {
          %m = coll.pop %p put %out[0, 0]
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}

// -----

coll.program @ends implements "c" from "" ranks [2] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{cannot go direct: the sender and the receiver do not say the same}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n put %out[0, 0]
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      coll.block {
        // expected-note @+1 {{the other end}}
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
      }
    }
  }
}

// -----

// The blocks of rank 0 are in order as long as rank 1 waits for the first one's
// message, which it does not when it gets it.
coll.program @blocks implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %out = coll.memory out "out" parts 1 sizes [0]
    coll.rank 0 {
      %n = coll.channel to 1 tag 0
      %p = coll.channel from 1 tag 1
      %s = coll.scratch 1
      coll.block {
        // expected-note @+1 {{block 0 stores here, in step 0}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.store %l to %s[0]
        }
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n get %in[0, 0]
        }
      }
      coll.block {
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          coll.store %m to %out[0, 0]
        }
        // expected-error @+2 {{blocks 0 and 1 of rank 0 touch scratch slot 0 and nothing orders them}}
        // expected-note @+1 {{block 1 loads here, in step 1, and no wait or message that cannot go direct comes between; 'coll.wait block 0 step 0' would order them}}
        coll.step size 0 chunk 0 {
          %m = coll.load %s[0]
          coll.store %m to %out[0, 0]
        }
      }
    }
    coll.rank 1 {
      %p = coll.channel from 0 tag 0
      %n = coll.channel to 0 tag 1
      coll.block {
        coll.step size 0 chunk 0 {
          %m = coll.pop %p get %in[0, 0]
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
