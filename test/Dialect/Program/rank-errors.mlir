// One program per constraint of ranks and what is in them.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.rank C1
// expected-error @+1 {{expects parent op 'coll.family_member'}}
coll.rank 0 {
}

// -----

// coll.rank C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{names rank 2 of 2 [C2]}}
    coll.rank 2 {
    }
  }
}

// -----

// coll.rank C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    // expected-error @+1 {{has two of coll.scratch [C3]}}
    coll.rank 0 {
      %a = coll.scratch 1
      %b = coll.scratch 1
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.rank C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    // expected-error @+1 {{has two ends to 1 with tag 0 [C4]}}
    coll.rank 0 {
      %a = coll.channel from 1 tag 0
      %b = coll.channel to 1 tag 0
      %c = coll.channel to 1 tag 1
      %d = coll.channel to 1 tag 0
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.scratch C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{expects parent op 'coll.rank'}}
    %s = coll.scratch 1
  }
}

// -----

// coll.channel C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{expects parent op 'coll.rank'}}
    %s = coll.channel to 1 tag 0
  }
}

// -----

// coll.channel C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{leads to its own rank [C2]}}
      %a = coll.channel from 0 tag 0
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.channel C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{names rank 2 of 2 [C2]}}
      %a = coll.channel from 2 tag 0
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.channel C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{names tag 2 of 2 [C3]}}
      %a = coll.channel from 1 tag 2
    }
    coll.rank 1 {
    }
  }
}

// -----

// coll.block C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{expects parent op 'coll.rank'}}
    coll.block {
    }
  }
}

// -----

// coll.block C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{has other ops than coll.step [C2]}}
      coll.block {
        %c0 = arith.constant 0 : index
      }
    }
    coll.rank 1 {
    }
  }
}
