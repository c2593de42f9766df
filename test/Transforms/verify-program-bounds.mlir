// What is kept for each location has bounds.
// RUN: coll-opt %s -split-input-file -verify-diagnostics -coll-verify-program

coll.program @scratch implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count>] map <> {
  // expected-error @+1 {{has more than 16777216 locations [too-much-memory]}}
  coll.family_member [] {
    coll.rank 0 {
      %s = coll.scratch 16777217
    }
  }
}

// -----

coll.program @chunks implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [#coll.size<count cut 16777216>] map <> {
  // expected-error @+1 {{has more than 16777216 locations [too-much-memory]}}
  coll.family_member [] {
    %in = coll.memory in "in" parts 2 sizes [0, 0]
    coll.rank 0 {
    }
  }
}
