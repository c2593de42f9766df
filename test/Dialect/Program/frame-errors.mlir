// One program per constraint of programs, members, memory and aliases.
// RUN: coll-opt %s -split-input-file -allow-unregistered-dialect -verify-diagnostics

// coll.program C1
// expected-error @+1 {{has ranks of no or of empty dimensions [C1]}}
coll.program @p implements "c" from "" ranks [] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C1
// expected-error @+1 {{has ranks of no or of empty dimensions [C1]}}
coll.program @p implements "c" from "" ranks [2, 0] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C1
// expected-error @+1 {{has too many ranks [C1]}}
coll.program @p implements "c" from "" ranks [65536, 65536] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C2
// expected-error @+1 {{has a round of 100 bytes [C2]}}
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 100
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C2
// expected-error @+1 {{has a round of 4294967296 bytes [C2]}}
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 4294967296
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C3
// expected-error @+1 {{needs 1 of coll.family_member, and nothing else [C3]}}
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
}

// -----

// coll.program C3
// expected-error @+1 {{needs 2 of coll.family_member, and nothing else [C3]}}
coll.program @p implements "c" from "" ranks [1] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] launch [#coll.domain<"root" in 0, 1>] map <> {
  coll.family_member [0] {
    coll.rank 0 {
    }
  }
  %c0 = arith.constant 0 : index
}

// -----

// coll.family_member C1
// expected-error @+1 {{expects parent op 'coll.program'}}
coll.family_member [] {
}

// -----

// coll.family_member C2
coll.program @p implements "c" from "" ranks [1] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] launch [#coll.domain<"root" in 0>] map <> {
  // expected-error @+1 {{has 0 values for 1 launch parameters [C2]}}
  coll.family_member [] {
    coll.rank 0 {
    }
  }
}

// -----

// coll.family_member C2
coll.program @p implements "c" from "" ranks [1] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] launch [#coll.domain<"root" in 0>] map <> {
  // expected-error @+1 {{gives "root" the value 3, which is not in its domain [C2]}}
  coll.family_member [3] {
    coll.rank 0 {
    }
  }
}

// -----

// coll.family_member C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  // expected-error @+1 {{has rank 1 out of order [C3]}}
  coll.family_member [] {
    coll.rank 1 {
    }
    coll.rank 0 {
    }
  }
}

// -----

// coll.family_member C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  // expected-error @+1 {{has programs of 1 ranks, and 0 in place, of 2 [C3]}}
  coll.family_member [] {
    coll.rank 0 {
    }
  }
}

// -----

// coll.family_member C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  // expected-error @+1 {{has programs of 2 ranks, and 1 in place, of 2 [C3]}}
  coll.family_member [] {
    coll.rank 0 {
    }
    coll.rank 1 {
    }
    coll.rank 0 in_place {
    }
  }
}

// -----

// coll.memory C1
// expected-error @+1 {{expects parent op 'coll.family_member'}}
%in = coll.memory in "in" parts 1 sizes [0]

// -----

// coll.memory C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{has 3 sizes for 1 parts [C2]}}
    %in = coll.memory in "in" parts 1 sizes [0, 0, 0]
  }
}

// -----

// coll.memory C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{names size 1 of 1 [C3]}}
    %in = coll.memory in "in" parts 1 sizes [1]
  }
}

// -----

// coll.memory C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{has rank 2 out of order or out of range [C4]}}
    %in = coll.memory in "in" parts 1 sizes [0] on [0, 2]
  }
}

// -----

// coll.memory C4
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    // expected-error @+1 {{has rank 0 out of order or out of range [C4]}}
    %in = coll.memory in "in" parts 1 sizes [0] on [1, 0]
  }
}

// -----

// coll.alias C1
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    coll.rank 0 {
      // expected-error @+1 {{expects parent op 'coll.family_member'}}
      coll.alias on 0, %in[0] with %in[0]
    }
  }
}

// -----

// coll.alias C2
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    // expected-error @+1 {{names rank 2 of 2 [C2]}}
    coll.alias on 2, %in[0] with %in[0]
  }
}

// -----

// coll.alias C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    // expected-error @+1 {{names part 1 of 1 [C3]}}
    coll.alias on 0, %in[0] with %in[1]
  }
}

// -----

// coll.alias C3
coll.program @p implements "c" from "" ranks [2] tags 2 instances 1 round 0
    sizes [#coll.size<count cut 2>] map <> {
  coll.family_member [] {
    %in = coll.memory in "in" parts 1 sizes [0]
    %m = "test.memory"() : () -> !coll.memory
    // expected-error @+1 {{names scratch [C3]}}
    coll.alias on 0, %m[0] with %in[0]
  }
}

// -----

// #coll.size C1
coll.program @p implements "c" from "" ranks [1] tags 1 instances 1 round 0
    // expected-error @+1 {{size is cut into 4294967295 chunks, not 1 to 16777216 [C1]}}
    sizes [#coll.size<count cut 4294967295>] map <> {
}

// -----

// #coll.size C2
coll.program @p implements "c" from "" ranks [1] tags 1 instances 1 round 0
    // expected-error @+1 {{size of 281474976710657 elements is more than 281474976710656 [C2]}}
    sizes [#coll.size<const 281474976710657>] map <> {
}
