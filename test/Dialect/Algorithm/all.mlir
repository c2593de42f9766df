// RUN: coll-opt %s | coll-opt | FileCheck %s
// Every op of the algorithm level survives print and parse.
// CHECK: coll.function @rms
coll.function @rms(%x row, %w row, %eps scalar) {
  %0 = arith.mulf %x, %x : f64
  %1 = coll.row mean %0
  %2 = arith.addf %1, %eps : f64
  %3 = math.rsqrt %2 : f64
  %4 = arith.mulf %x, %3 : f64
  %5 = arith.mulf %4, %w : f64
  coll.yield %5
}
coll.schedule @ring implements "allreduce" ranks(%N "N") {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %K = coll.param "K" default %c1
  %root = coll.launch "root" : index in {
    scf.for %r = %c0 to %N step %c1 {
      coll.member(%r)
    }
  }
  %ok = coll.pow2 %N
  coll.where %ok "pow2(N)"
  coll.assert %ok, "chunks-mismatch", "'chunks' parameter a needs {0} chunks, has {1}"(%N, %K)
  coll.chunks(%N)
  %in = coll.buffer in "in"
  %out = coll.buffer out "out" parts(%N) at(%root)
  %in2 = coll.buffer in "in2" members {
    coll.member(%c0)
  }
  coll.promise {
    scf.for %r = %c0 to %N step %c1 {
      %v = coll.fold {
        scf.for %q = %c0 to %N step %c1 {
          %0 = coll.read %in at(%q)
          coll.operand %0
        }
      }
      coll.ensure %out at(%r) is %v
      coll.inplace %in at(%r) with %out at(%r)
    }
    coll.launch_counts "n"(%N) global
    %n = coll.count "n"[%c0]
    coll.size_of %in at(%c0) is %n
    %z = coll.const_size %c0
    coll.same %in2
  }
  %acc = coll.tmp "acc" dims(%N) type(f32)
  coll.init %acc from %in
  %l = coll.list {
    coll.member(%c0)
  }
  %sz = coll.list_size %l
  %g = coll.list_get %l[%c0] : index
  scf.for %r = %c0 to %N step %c1 {
    %d = coll.dim %acc, 0
    %m = coll.mod %r, %N
    %s = coll.slice %acc[%m]
    %s2 = coll.slice %acc[%m, %c0 : %c1]
    %s3 = coll.slice %acc[%m, %c0 : %c1 : %c1]
    %a2 = coll.reshape %acc as [%c1, %N]
    %v = coll.read %s at(%r)
    %x = coll.add %v, %v
    %y = coll.apply @rms(%v, %v, %v)
    %map = coll.mapping(channel = %c0, block = %c1) protocol "ll" push labels ["across", "hop"]
    coll.copy %y to %acc at(%r) via(e4m3) map(%map)
    coll.reduce %v to %out members {
      coll.member(%r)
    }
  }
  coll.group {
    %v = coll.read %in
    coll.copy %v to %out
  }
  coll.on buffer(%c1) members {
    coll.member(%c0)
  } do(%r) {
    coll.group {
      %v = coll.read %in
      coll.send %v to(%c0) via(e5m2)
      coll.recv reduce %out from(%c0)
    }
  }
  coll.directive "round"(%c1)
  coll.directive "protocol" text "ll"
}
