// One program per constraint of steps.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.step C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{expects parent op 'coll.block'}}
      coll.step size 0 chunk 0 {
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{names size 1, which is not there [C2]}}
        coll.step size 1 chunk 0 {
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{names chunk 2 of 2 [C2]}}
        coll.step size 0 chunk 2 {
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{has coll.pop too late [C3]}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          coll.push %l to %n
          %m = coll.pop %p
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{has arith.constant in it [C3]}}
        coll.step size 0 chunk 0 {
          %c0 = arith.constant 0 : index
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{has arith.constant in it [C3]}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          %c0 = arith.constant 0 : index
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{gives its sinks different values [C4]}}
        coll.step size 0 chunk 0 {
          %l = coll.load %in[0, 0]
          %m = coll.pop %p
          coll.push %m to %n
          coll.store %l to %s[0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C5
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{names source 0 of 0 [C5]}}
        coll.step size 0 chunk 0 {
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C5
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{names source 1 of 1 [C5]}}
        coll.step size 0 chunk 0 shift 1 {
          %l = coll.load %in[0, 0]
        }
      }
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.step C6
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      coll.block {
        // expected-error @+1 {{uses a channel twice [C6]}}
        coll.step size 0 chunk 0 {
          %m = coll.pop %p
          %k = coll.pop %p
        }
      }
    }
    coll.rank 1 {
    }
  }
}
