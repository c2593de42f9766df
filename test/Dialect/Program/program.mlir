// Every op and attribute of the program level survives print and parse.
// RUN: coll-opt %s | coll-opt | FileCheck %s
// RUN: coll-opt -mlir-print-op-generic %s | coll-opt | FileCheck %s

coll.function @f(%x elem) {
  coll.yield %x
}

// CHECK: coll.program @p implements "allreduce" from "a.coll" ranks [2, 1] tags 2 instances 3 round 65536
// CHECK-SAME: sizes [#coll.size<count cut 2>, #coll.size<const 0>, #coll.size<launch 3 cut 7>]
// CHECK-SAME: launch [#coll.domain<"root" in 0, 1>] counts <"n" [4, 2] global>
// CHECK-SAME: map <protocol = "ll", sizesHigh = 18446744073709551614, byRow = true> reduces avg_legal {
coll.program @p implements "allreduce" from "a.coll" ranks [2, 1] tags 2 instances 3 round 65536
    sizes [#coll.size<count cut 2>, #coll.size<const 0>, #coll.size<launch 3 cut 7>]
    launch [#coll.domain<"root" in 0, 1>] counts <"n" [4, 2] global>
    map <protocol = "ll", sizesHigh = 18446744073709551614, byRow = true> reduces avg_legal {
  // CHECK: coll.family_member [0] {
  coll.family_member [0] {
    // CHECK: %in = coll.memory in "in" parts 2 sizes [0, 2]
    // CHECK: %out = coll.memory out "out" parts 1 sizes [0, 2] on [1]
    // CHECK: coll.alias on 1, %in[1] with %out[0]
    %in = coll.memory in "in" parts 2 sizes [0, 2]
    %out = coll.memory out "out" parts 1 sizes [0, 2] on [1]
    coll.alias on 1, %in[1] with %out[0]
    // CHECK: coll.rank 0 {
    coll.rank 0 {
      // CHECK: %scratch = coll.scratch 1
      // CHECK: %from1 = coll.channel from 1 tag 0
      // CHECK: %to1 = coll.channel to 1 tag 1
      %s = coll.scratch 1
      %p = coll.channel from 1 tag 0
      %n = coll.channel to 1 tag 1
      // CHECK: coll.block {
      coll.block {
        // CHECK: coll.step size 0 chunk 1 type f32 complete shift 1 value 7 {
        coll.step size 0 chunk 1 type f32 complete shift 1 value 7 {
          // CHECK: coll.wait block 1 step 0 previous_round
          // CHECK: coll.wait block 1 step 0{{$}}
          // CHECK: %[[M:.*]] = coll.pop %from1 as e4m3 scaled rounded
          // CHECK: %[[L:.*]] = coll.load %in[1, 6] as accum scaled
          // CHECK: %[[C:.*]] = coll.combine %[[M]], %[[L]]
          // CHECK: %[[D:.*]] = coll.combine any %[[C]]
          // CHECK: %[[A:.*]] = coll.add %[[C]], %[[D]]
          // CHECK: %[[R:.*]] = coll.round %[[A]] to e5m2
          // CHECK: %[[F:.*]] = coll.apply @f(%[[R]])
          // CHECK: coll.store %[[F]] to %out[0, 1] as f32
          // CHECK: coll.store %[[F]] to %scratch[0]{{$}}
          // CHECK: coll.push %[[F]] to %to1 as bf16
          coll.wait block 1 step 0 previous_round
          coll.wait block 1 step 0
          %m = coll.pop %p as e4m3 scaled rounded
          %l = coll.load %in[1, 6] as accum scaled
          %c = coll.combine %m, %l
          %d = coll.combine any %c
          %a = coll.add %c, %d
          %r = coll.round %a to e5m2
          %f = coll.apply @f(%r)
          coll.store %f to %out[0, 1] as f32
          coll.store %f to %s[0]
          coll.push %f to %n as bf16
        }
      }
      coll.block {
        // CHECK: coll.step size 1 chunk 0 {
        // CHECK-NEXT: coll.pop %from1{{$}}
        // CHECK-NEXT: }
        coll.step size 1 chunk 0 {
          %m = coll.pop %p
        }
        // CHECK: %[[G:.*]] = coll.pop %from1 get %in[1, 1]{{$}}
        // CHECK-NEXT: coll.push %[[G]] to %to1 put %out[0, 1]{{$}}
        coll.step size 0 chunk 1 {
          %m = coll.pop %p get %in[1, 1]
          coll.push %m to %n put %out[0, 1]
        }
      }
    }
    coll.rank 1 {
    }
    // CHECK: coll.rank 0 in_place {
    coll.rank 0 in_place {
    }
    coll.rank 1 in_place {
    }
  }
  coll.family_member [1] {
    coll.rank 0 {
    }
    coll.rank 1 {
    }
  }
}

// CHECK: coll.program @q implements "barrier" from "" ranks [1] tags 1 instances 1 round 0 sizes [] map <> {
coll.program @q implements "barrier" from "" ranks [1] tags 1 instances 1 round 0 sizes [] map <> {
  // CHECK: coll.family_member [] {
  coll.family_member [] {
    coll.rank 0 {
    }
  }
}
