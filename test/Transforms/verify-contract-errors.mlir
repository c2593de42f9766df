// A broken promise is said at the op, with its slug and causes.
// RUN: not coll-opt %s -coll-verify-contract=ranks=3 2>&1 | FileCheck %s
// RUN: not coll-opt %s -coll-verify-contract="ranks=3 define=K" 2>&1 | FileCheck %s --check-prefix=OPTION

// OPTION: error: option 'define' needs K=3, has K

coll.schedule @lacks_one implements "allreduce" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  coll.promise {
    scf.for %r = %c0 to %N step %c1 {
      %sum = coll.fold {
        scf.for %q = %c0 to %N step %c1 {
          %v = coll.read %in at(%q)
          coll.operand %v
        }
      }
      coll.ensure %out at(%r) is %sum
    }
  }
  scf.for %r = %c0 to %N step %c1 {
    %sum = coll.fold {
      scf.for %q = %c1 to %N step %c1 {
        %v = coll.read %in at(%q)
        coll.operand %v
      }
    }
    // CHECK: verify-contract-errors.mlir:[[@LINE+1]]:5: error: {{.*}}[missing-contribution]
    coll.copy %sum to %out at(%r)
  }
}

// CHECK: verify-contract-errors.mlir:[[@LINE+1]]:1: error: {{.*}}[unwritten-output]
coll.schedule @unwritten implements "flip" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  coll.promise {
    %v = coll.read %in at(%c0)
    coll.ensure %out at(%c0) is %v
  }
}

// What nobody but Sema was meant to write.
coll.schedule @no_such_dimension implements "allreduce" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = coll.buffer in "in"
  // CHECK: [[#@LINE+1]]:{{[0-9]+}}: error: index 5 of 'in', which has 0 here
  %d = coll.dim %in, 5
  scf.for %r = %c0 to %d step %c1 {
  }
}
