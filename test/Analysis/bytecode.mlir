// RUN: not coll-elab %s -DN=4 2>&1 | FileCheck %s
// The normal form may be written by hand, with what the front end has no use for.

// CHECK: bytecode.mlir":[[@LINE+61]]:8): error: 'arith.divsi' op cannot be executed: it is no part of the normal form
// CHECK: carried: right
// CHECK: chosen: right
coll.schedule @carried implements "broadcast" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = coll.buffer in "in" at(%c0)
  %out = coll.buffer out "out"
  coll.promise {
    scf.for %r = %c0 to %N step %c1 {
      %v = coll.read %in at(%c0)
      coll.ensure %out at(%r) is %v
    }
  }
  // The sum of all ranks, swapped with the number of iterations.
  %sum:2 = scf.for %r = %c0 to %N step %c1 iter_args(%a = %c0, %b = %c0) -> (index, index) {
    %s = arith.addi %a, %r : index
    scf.yield %b, %s : index, index
  }
  %last = arith.subi %N, %c1 : index
  %list = coll.list {
    scf.for %r = %c0 to %N step %c1 { coll.member(%r) }
  }
  %n = coll.list_size %list
  scf.for %i = %c0 to %n step %c1 {
    %r = coll.list_get %list[%i] : index
    %v = coll.read %in at(%c0)
    coll.copy %v to %out at(%r)
  }
}

coll.schedule @chosen implements "copy" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  %a = coll.tmp "a"
  %b = coll.tmp "b"
  coll.promise {
    %v = coll.read %in at(%c0)
    coll.ensure %out at(%c0) is %v
  }
  %small = arith.cmpi slt, %N, %c1 : index
  %to = arith.select %small, %a, %b : !coll.array
  %from = scf.if %small -> !coll.array {
    scf.yield %a : !coll.array
  } else {
    scf.yield %b : !coll.array
  }
  %x = coll.read %in
  coll.copy %x to %to
  %y = coll.read %from
  %z = arith.select %true, %y, %x : !coll.value
  coll.copy %z to %out
}

coll.schedule @unknown implements "copy" ranks(%N "N") {
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  %c1 = arith.constant 1 : index
  %x = arith.divsi %N, %c1 : index
}
