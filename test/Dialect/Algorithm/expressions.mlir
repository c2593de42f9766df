// Integers, lists, views, values and functions survive print and parse.
// RUN: coll-opt %s | coll-opt | FileCheck %s
// RUN: coll-opt -mlir-print-op-generic %s | coll-opt | FileCheck %s

// CHECK-LABEL: coll.function @rms(%{{.*}} row, %{{.*}} elem, %{{.*}} scalar) {
coll.function @rms(%x row, %w elem, %eps scalar) {
  // CHECK: coll.row mean %{{.*}}
  // CHECK: coll.row sum %{{.*}}
  // CHECK: coll.row max %{{.*}}
  // CHECK: coll.yield %{{.*}}
  %0 = arith.mulf %x, %x : f64
  %1 = coll.row mean %0
  %2 = coll.row sum %0
  %3 = coll.row max %0
  %4 = arith.addf %1, %eps : f64
  %5 = math.rsqrt %4 : f64
  coll.yield %5
}

// CHECK-LABEL: coll.schedule @integers
coll.schedule @integers implements "allreduce" ranks(%N "N") {
  // CHECK: coll.div %N, %N
  // CHECK: coll.mod %N, %N
  // CHECK: coll.shl %N, %N
  // CHECK: coll.shr %N, %N
  // CHECK: coll.abs %N
  // CHECK: coll.log2 %N
  // CHECK: coll.ceil_log2 %N
  // CHECK: coll.lsb %N
  // CHECK: coll.popcount %N
  // CHECK: %[[OK:.*]] = coll.pow2 %N
  // CHECK: scf.if %[[OK]]
  %0 = coll.div %N, %N
  %1 = coll.mod %N, %N
  %2 = coll.shl %N, %N
  %3 = coll.shr %N, %N
  %4 = coll.abs %N
  %5 = coll.log2 %N
  %6 = coll.ceil_log2 %N
  %7 = coll.lsb %N
  %8 = coll.popcount %N
  %9 = coll.pow2 %N
  scf.if %9 {
  }
}

// CHECK-LABEL: coll.schedule @lists
coll.schedule @lists implements "allreduce" ranks(%M "M", %G "G") {
  // CHECK: %[[L:.*]] = coll.list {
  // CHECK-NEXT: coll.member(%M, %G)
  // CHECK-NEXT: }
  // CHECK: coll.list {
  // CHECK-NEXT: }
  // CHECK: coll.list_size %[[L]]
  // CHECK: coll.list_get %[[L]][%M] : index, index
  %l = coll.list {
    coll.member(%M, %G)
  }
  %empty = coll.list {
  }
  %n = coll.list_size %l
  %r:2 = coll.list_get %l[%M] : index, index
}

// CHECK-LABEL: coll.schedule @views
coll.schedule @views implements "allreduce" ranks(%N "N") {
  // CHECK: %[[C0:.*]] = arith.constant 0
  // CHECK: %[[C2:.*]] = arith.constant 2
  // CHECK: coll.slice %a[%[[C0]]]
  // CHECK: coll.slice %a[%[[C0]] : %[[C2]]]
  // CHECK: coll.slice %a[%N, %[[C0]] : %[[C2]]]
  // CHECK: coll.slice %a[%[[C0]] : %[[C2]] : %[[C2]], %N, %[[C0]] : %N : %[[C2]]]
  // CHECK: coll.slice %a[]
  // CHECK: coll.reshape %a as [%[[C2]], %N]
  // CHECK: coll.dim %a, 2
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = coll.tmp "a" dims(%N, %N, %N)
  %1 = coll.slice %a[%c0]
  %2 = coll.slice %a[%c0 : %c2]
  %3 = coll.slice %a[%N, %c0 : %c2]
  %4 = coll.slice %a[%c0 : %c2 : %c2, %N, %c0 : %N : %c2]
  %5 = coll.slice %a[]
  %6 = coll.reshape %a as [%c2, %N]
  %7 = coll.dim %a, 2
}

// CHECK-LABEL: coll.schedule @values
coll.schedule @values implements "allreduce" ranks(%N "N") {
  // CHECK: %[[OWN:.*]] = coll.read %a{{$}}
  // CHECK: %[[V:.*]] = coll.read %a at(%N)
  // CHECK: coll.add %[[V]], %[[OWN]]
  // CHECK: coll.apply @rms(%[[V]], %[[V]], %[[OWN]])
  // CHECK: coll.fold {
  // CHECK-NEXT: coll.operand %[[V]]
  // CHECK-NEXT: }
  // CHECK: coll.fold any {
  // CHECK-NEXT: }
  %a = coll.tmp "a"
  %own = coll.read %a
  %v = coll.read %a at(%N)
  %1 = coll.add %v, %own
  %2 = coll.apply @rms(%v, %v, %own)
  %3 = coll.fold {
    coll.operand %v
  }
  %4 = coll.fold any {
  }
}
