// A function is code per element, so its size has a bound: what is used twice is
// written twice.
// RUN: coll-opt %s -verify-diagnostics -coll-verify-program

coll.function @doubled(%x elem) {
  %0 = arith.addf %x, %x : f64
  %1 = arith.addf %0, %0 : f64
  %2 = arith.addf %1, %1 : f64
  %3 = arith.addf %2, %2 : f64
  %4 = arith.addf %3, %3 : f64
  %5 = arith.addf %4, %4 : f64
  %6 = arith.addf %5, %5 : f64
  %7 = arith.addf %6, %6 : f64
  %8 = arith.addf %7, %7 : f64
  %9 = arith.addf %8, %8 : f64
  %10 = arith.addf %9, %9 : f64
  // expected-error @+1 {{function has more than 4096 nodes}}
  %11 = arith.addf %10, %10 : f64
  coll.yield %11
}
coll.program @p implements "c" from "" ranks [1] tags 1 instances 1 round 0
    sizes [] map <> {
  coll.family_member [] {
    coll.rank 0 {
    }
  }
}
