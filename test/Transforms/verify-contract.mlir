// Schedules that keep their promise are left alone, as are those of other rank
// spaces, and those that `where` leaves out.
// RUN: coll-opt %s -coll-verify-contract=ranks=4 | FileCheck %s
// RUN: coll-opt %s -coll-verify-contract="ranks=3 define=K=2" | FileCheck %s
// RUN: coll-opt %s -coll-verify-contract=ranks=2,3 | FileCheck %s

// CHECK: coll.schedule @broadcast
coll.schedule @broadcast implements "broadcast" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %K = coll.param "K" default %c1
  %root = coll.launch "root" : index in {
    scf.for %r = %c0 to %N step %c1 {
      coll.member(%r)
    }
  }
  coll.chunks(%K)
  %in = coll.buffer in "in" at(%root)
  %out = coll.buffer out "out"
  coll.promise {
    scf.for %r = %c0 to %N step %c1 {
      %v = coll.read %in at(%root)
      coll.ensure %out at(%r) is %v
    }
  }
  %v = coll.read %in at(%root)
  coll.copy %v to %out members {
    scf.for %r = %c0 to %N step %c1 {
      coll.member(%r)
    }
  }
}

// Right for two ranks only, and it says so.
coll.schedule @pair implements "shift" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %two = arith.cmpi eq, %N, %c2 : index
  coll.where %two "N == 2"
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  coll.promise {
    %v = coll.read %in at(%c0)
    coll.ensure %out at(%c1) is %v
  }
}

// An allreduce of a grid, along one dimension, then the other.
coll.schedule @grid implements "allreduce" ranks(%M "M", %G "G") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = coll.buffer in "in"
  %out = coll.buffer out "out"
  coll.promise {
    scf.for %m = %c0 to %M step %c1 {
      scf.for %g = %c0 to %G step %c1 {
        %sum = coll.fold {
          scf.for %a = %c0 to %M step %c1 {
            scf.for %b = %c0 to %G step %c1 {
              %v = coll.read %in at(%a, %b)
              coll.operand %v
            }
          }
        }
        coll.ensure %out at(%m, %g) is %sum
      }
    }
  }
  %t = coll.tmp "t"
  scf.for %m = %c0 to %M step %c1 {
    scf.for %g = %c0 to %G step %c1 {
      %sum = coll.fold {
        scf.for %b = %c0 to %G step %c1 {
          %v = coll.read %in at(%m, %b)
          coll.operand %v
        }
      }
      coll.copy %sum to %t at(%m, %g)
    }
  }
  scf.for %m = %c0 to %M step %c1 {
    scf.for %g = %c0 to %G step %c1 {
      %sum = coll.fold {
        scf.for %a = %c0 to %M step %c1 {
          %v = coll.read %t at(%a, %g)
          coll.operand %v
        }
      }
      coll.copy %sum to %out at(%m, %g)
    }
  }
}
