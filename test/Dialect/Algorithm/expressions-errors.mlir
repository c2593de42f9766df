// One program per constraint of integers, lists, views, values and functions.
// RUN: coll-opt %s -split-input-file -verify-diagnostics

// coll.list C1
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  // expected-error @+1 {{has integers and ranks among its members [C1]}}
  %l = coll.list {
    coll.member(%m)
    coll.member(%m, %g)
  }
}

// -----

// coll.list C1: the inner list is another one
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  %l = coll.list {
    coll.member(%m, %g)
    %inner = coll.list {
      coll.member(%m)
    }
  }
}

// -----

// coll.member C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  // expected-error @+1 {{appends to no list [C1]}}
  coll.member(%n)
}

// -----

// coll.member C1: a process is no list
coll.schedule @s implements "allreduce" ranks(%n "N") {
  coll.on members {
  } do(%r) {
    // expected-error @+1 {{appends to no list [C1]}}
    coll.member(%r)
  }
}

// -----

// coll.member C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  %a = coll.buffer in "in" members {
    // expected-error @+1 {{names a rank by 1 coordinates among ranks of 2 dimensions [C2]}}
    coll.member(%m)
  }
}

// -----

// coll.member C2
coll.schedule @s implements "allreduce" ranks(%m "M", %g "G") {
  %l = coll.list {
    // expected-error @+1 {{names a rank by 3 coordinates among ranks of 2 dimensions [C2]}}
    coll.member(%m, %m, %m)
  }
}

// -----

// coll.list_get C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %l = coll.list {
  }
  // expected-error @+1 {{has no result [C1]}}
  "coll.list_get"(%l, %n) : (!coll.list, index) -> ()
}

// -----

// coll.slice C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{has 1 offsets and 2 flags [C1]}}
  %b = "coll.slice"(%a, %n) <{drop = array<i1: true, true>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!coll.array, index) -> !coll.array
}

// -----

// coll.slice C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{has 0 sizes where 1 dimensions stay [C2]}}
  %b = "coll.slice"(%a, %n) <{drop = array<i1: false>, operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!coll.array, index) -> !coll.array
}

// -----

// coll.slice C3
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{has 1 steps where 2 dimensions stay [C3]}}
  %b = coll.slice %a[%n : %n : %n, %n : %n]
}

// -----

// coll.dim C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{64-bit signless integer attribute whose value is non-negative}}
  %d = coll.dim %a, -1
}

// -----

// coll.dim C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{whose maximum value is 11}}
  %d = coll.dim %a, 9223372036854775807
}

// -----

// coll.read C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  // expected-error @+1 {{names a rank by 2 coordinates among ranks of 1 dimensions [C1]}}
  %v = coll.read %a at(%n, %n)
}

// -----

// coll.operand C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  %v = coll.read %a
  // expected-error @+1 {{stands in no coll.fold [C1]}}
  coll.operand %v
}

// -----

// coll.apply C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  %v = coll.read %a
  // expected-error @+1 {{names no function: @f [C1]}}
  %y = coll.apply @f(%v)
}

// -----

coll.function @f(%x elem) {
  coll.yield %x
}
// coll.apply C2
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %a = coll.tmp "a"
  %v = coll.read %a
  // expected-error @+1 {{passes 2 values to a function of 1 [C2]}}
  %y = coll.apply @f(%v, %v)
}

// -----

// coll.function C1
// expected-error @+1 {{needs a kind and an f64 argument for each parameter [C1]}}
"coll.function"() <{kinds = [], sym_name = "f"}> ({
^bb0(%x: f64):
  coll.yield %x
}) : () -> ()

// -----

// coll.function C2
// expected-error @+1 {{has a parameter of kind 'out' [C2]}}
coll.function @f(%x out) {
  coll.yield %x
}

// -----

// coll.function C3
// expected-error @+1 {{has math.cos in its body [C3]}}
coll.function @f(%x elem) {
  %y = math.cos %x : f64
  coll.yield %y
}

// -----

// coll.function C3
// expected-error @+1 {{has arith.constant on other than f64 [C3]}}
coll.function @f(%x elem) {
  %c0 = arith.constant 0 : index
  coll.yield %x
}

// -----

// coll.row C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %x = arith.constant 1.0 : f64
  // expected-error @+1 {{expects parent op 'coll.function'}}
  %y = coll.row sum %x
}

// -----

// coll.yield C1
coll.schedule @s implements "allreduce" ranks(%n "N") {
  %x = arith.constant 1.0 : f64
  // expected-error @+1 {{expects parent op 'coll.function'}}
  coll.yield %x
}
