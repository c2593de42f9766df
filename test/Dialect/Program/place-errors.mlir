// One program per constraint of where the parts of a step stand.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.wait C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      // expected-error @+1 {{expects parent op 'coll.step'}}
      coll.wait block 0 step 0
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.pop C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      // expected-error @+1 {{expects parent op 'coll.step'}}
      %m = coll.pop %p
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.load C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      // expected-error @+1 {{expects parent op 'coll.step'}}
      %m = coll.load %s[0]
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.combine C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      %v = "test.value"() : () -> !coll.value
      // expected-error @+1 {{expects parent op 'coll.step'}}
      %m = coll.combine %v
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.round C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      %v = "test.value"() : () -> !coll.value
      // expected-error @+1 {{expects parent op 'coll.step'}}
      %m = coll.round %v to f32
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.store C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      %v = "test.value"() : () -> !coll.value
      // expected-error @+1 {{expects parent op 'coll.step'}}
      coll.store %v to %s[0]
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.push C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 0
      %v = "test.value"() : () -> !coll.value
      // expected-error @+1 {{expects parent op 'coll.step'}}
      coll.push %v to %n
    }
    coll.rank 1 {
    }
  }
}
