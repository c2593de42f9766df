// The frame of a schedule and its contract survive print and parse.
// RUN: coll-opt %s | coll-opt | FileCheck %s
// RUN: coll-opt -mlir-print-op-generic %s | coll-opt | FileCheck %s

// CHECK-LABEL: coll.schedule @frame implements "broadcast" attributes {doc = "From one to all."} ranks(%M "M", %G "G") {
coll.schedule @frame implements "broadcast" attributes {doc = "From one to all."} ranks(%a "M", %b "G") {
  // CHECK: %[[C0:.*]] = arith.constant 0
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %K = coll.param "K"{{$}}
  // CHECK: %L = coll.param "L" default %c1
  %k = coll.param "K"
  %l = coll.param "L" default %c1
  // CHECK: %root:2 = coll.launch "root" : index, index in {
  // CHECK-NEXT: coll.member(%[[C0]], %[[C0]])
  // CHECK-NEXT: }
  // CHECK: %depth = coll.launch "depth" integer : index in {
  // CHECK-NEXT: }
  %root:2 = coll.launch "root" : index, index in {
    coll.member(%c0, %c0)
  }
  %depth = coll.launch "depth" integer : index in {
  }
  // CHECK: %[[OK:.*]] = coll.pow2 %M
  // CHECK: coll.where %[[OK]] "pow2(M)"
  // CHECK: coll.assert %[[OK]], "extent", "no arguments"{{$}}
  // CHECK: coll.assert %[[OK]], "extent", "{1} and {0}"(%M, %K)
  %ok = coll.pow2 %a
  coll.where %ok "pow2(M)"
  coll.assert %ok, "extent", "no arguments"
  coll.assert %ok, "extent", "{1} and {0}"(%a, %k)
  // CHECK: coll.chunks(%K, %L) by_row
  coll.chunks(%k, %l) by_row
  // CHECK: %in = coll.buffer in "in" at(%root#0, %root#1)
  // CHECK: %out = coll.buffer out "out" parts(%M, %G)
  // CHECK: %half = coll.buffer out "half" members {
  // CHECK-NEXT: coll.member(%[[C0]], %[[C0]])
  // CHECK-NEXT: }
  // CHECK: %none = coll.buffer out "none" members {
  // CHECK-NEXT: }
  // CHECK: %x = coll.buffer elem "x"
  // CHECK: %w = coll.buffer row "w"
  // CHECK: %eps = coll.buffer scalar "eps"
  %in = coll.buffer in "in" at(%root#0, %root#1)
  %out = coll.buffer out "out" parts(%a, %b)
  %half = coll.buffer out "half" members {
    coll.member(%c0, %c0)
  }
  %none = coll.buffer out "none" members {
  }
  %x = coll.buffer elem "x"
  %w = coll.buffer row "w"
  %eps = coll.buffer scalar "eps"
  // CHECK: coll.promise {
  coll.promise {
    // CHECK: coll.launch_counts "n"(%M, %G) global
    // CHECK: coll.launch_counts "m"(%M){{$}}
    // CHECK: %[[N:.*]] = coll.count "n"[%M, %[[C0]]]
    // CHECK: %[[Z:.*]] = coll.const_size %[[C0]]
    // CHECK: coll.size_of %in at(%root#0, %root#1) is %[[N]]
    // CHECK: coll.size_of %out is %[[Z]]
    coll.launch_counts "n"(%a, %b) global
    coll.launch_counts "m"(%a)
    %n = coll.count "n"[%a, %c0]
    %z = coll.const_size %c0
    coll.size_of %in at(%root#0, %root#1) is %n
    coll.size_of %out is %z
    scf.for %r = %c0 to %a step %c1 {
      // CHECK: %[[V:.*]] = coll.read %in at
      // CHECK: coll.ensure %out at(%[[R:.*]], %[[C0]]) is %[[V]]
      // CHECK: coll.ensure %out is %[[V]]
      // CHECK: coll.inplace %in at(%[[R]], %[[C0]]) with %out at(%[[R]], %[[C0]])
      // CHECK: coll.inplace %in with %out
      // CHECK: coll.same %x
      %v = coll.read %in at(%r, %c0)
      coll.ensure %out at(%r, %c0) is %v
      coll.ensure %out is %v
      coll.inplace %in at(%r, %c0) with %out at(%r, %c0)
      coll.inplace %in with %out
      coll.same %x
    }
  }
}
