// Statements and mappings survive print and parse.
// RUN: coll-opt %s | coll-opt | FileCheck %s
// RUN: coll-opt -mlir-print-op-generic %s | coll-opt | FileCheck %s

// CHECK-LABEL: coll.schedule @statements
coll.schedule @statements implements "allreduce" ranks(%M "M", %G "G") {
  // CHECK: %[[C0:.*]] = arith.constant 0
  %c0 = arith.constant 0 : index
  // CHECK: %in = coll.buffer
  // CHECK: %t = coll.tmp "t"{{$}}
  // CHECK: %acc = coll.tmp "acc" dims(%M, %G) type(mxe4m3)
  // CHECK: coll.init %acc from %in
  %in = coll.buffer in "in"
  %t = coll.tmp "t"
  %acc = coll.tmp "acc" dims(%M, %G) type(mxe4m3)
  coll.init %acc from %in
  // CHECK: %[[V:.*]] = coll.read %in
  %v = coll.read %in
  // CHECK: %[[MAP:.*]] = coll.mapping(channel = %M, recv_block = %[[C0]]) protocol "ll" push labels ["across", "hop"]
  // CHECK: coll.mapping() pull staged store source_order
  %map = coll.mapping(channel = %M, recv_block = %c0) protocol "ll" push labels ["across", "hop"]
  %map2 = coll.mapping() pull staged store source_order
  // CHECK: coll.copy %[[V]] to %t{{$}}
  // CHECK: coll.copy %[[V]] to %t at(%M, %[[C0]]) via(e4m3) map(%[[MAP]])
  // CHECK: coll.copy %[[V]] to %t members {
  // CHECK-NEXT: coll.member(%[[C0]], %[[C0]])
  // CHECK-NEXT: } via(T)
  // CHECK: coll.copy %[[V]] to %t members {
  // CHECK-NEXT: }
  // CHECK: coll.reduce %[[V]] to %acc at(%M, %G) via(bf16)
  coll.copy %v to %t
  coll.copy %v to %t at(%M, %c0) via(e4m3) map(%map)
  coll.copy %v to %t members {
    coll.member(%c0, %c0)
  } via(T)
  coll.copy %v to %t members {
  }
  coll.reduce %v to %acc at(%M, %G) via(bf16)
  // CHECK: coll.group {
  // CHECK-NEXT: coll.reduce
  // CHECK-NEXT: }
  coll.group {
    coll.reduce %v to %acc
  }
  // CHECK: coll.on members {
  // CHECK-NEXT: coll.member(%[[C0]], %[[C0]])
  // CHECK-NEXT: } do(%[[M:.*]], %[[G:.*]]) {
  // CHECK: coll.group {
  // CHECK: coll.send %{{.*}} to(%[[M]], %[[G]]) via(e5m2) map(%[[MAP]])
  // CHECK: coll.recv reduce %acc from(%[[G]], %[[M]])
  // CHECK: coll.recv %acc from(%[[G]], %[[M]]) map(%[[MAP]])
  // CHECK: coll.on buffer(%G) members {
  // CHECK-NEXT: } do(%{{.*}}, %{{.*}}) {
  // CHECK-NEXT: }
  coll.on members {
    coll.member(%c0, %c0)
  } do(%m, %g) {
    coll.group {
      %w = coll.read %in
      coll.send %w to(%m, %g) via(e5m2) map(%map)
      coll.recv reduce %acc from(%g, %m)
    }
    coll.recv %acc from(%g, %m) map(%map)
  }
  coll.on buffer(%G) members {
  } do(%m, %g) {
  }
  // CHECK: coll.directive "sizes"(%M, %G)
  // CHECK: coll.directive "protocol" text "ll128"
  // CHECK: coll.directive "pull"{{$}}
  coll.directive "sizes"(%M, %G)
  coll.directive "protocol" text "ll128"
  coll.directive "pull"
}
