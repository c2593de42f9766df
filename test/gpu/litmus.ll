; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Litmus tests of what device code relies on (docs/Cuda.md), as kernels of two
; blocks: block 0 writes, block 1 reads and counts what must not be seen.
;
;   message_passing   payload by weak stores, a flag by st.release.sys; the reader
;                     polls with ld.acquire.sys and then loads the payload
;   pairs             64-bit words of data and flag, st.relaxed.sys and
;                     ld.relaxed.sys: both halves arrive together
;
; The reader's addresses are %apart bytes behind the writer's: so are those of one
; memory that is mapped twice, as a channel's is.
;
; words: 64-bit words 128 bytes apart, zero at begin: flag, answer, errors, then
; the payload.

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

define ptx_kernel void @message_passing(ptr addrspace(1) %base, i64 %rounds, i64 %apart) {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %isWriter = icmp eq i32 %block, 0
  %shift = select i1 %isWriter, i64 0, i64 %apart
  %words = getelementptr i8, ptr addrspace(1) %base, i64 %shift
  %answer = getelementptr i8, ptr addrspace(1) %words, i64 128
  %errors = getelementptr i8, ptr addrspace(1) %words, i64 256
  %payload = getelementptr i8, ptr addrspace(1) %words, i64 384
  br i1 %isWriter, label %write, label %read

write:
  %w = phi i64 [ 0, %entry ], [ %wNext, %publish ]
  %wDone = icmp eq i64 %w, %rounds
  br i1 %wDone, label %out, label %waitAnswer
waitAnswer:
  %answered = load atomic i64, ptr addrspace(1) %answer acquire, align 8
  %isAnswered = icmp eq i64 %answered, %w
  br i1 %isAnswered, label %store, label %waitAnswer
store:
  %s = phi i64 [ 0, %waitAnswer ], [ %sNext, %store ]
  %sAt = getelementptr i64, ptr addrspace(1) %payload, i64 %s
  %wNext = add i64 %w, 1
  store i64 %wNext, ptr addrspace(1) %sAt, align 8
  %sNext = add i64 %s, 1
  %sDone = icmp eq i64 %sNext, 64
  br i1 %sDone, label %publish, label %store
publish:
  store atomic i64 %wNext, ptr addrspace(1) %words release, align 8
  br label %write

read:
  %r = phi i64 [ 0, %entry ], [ %want, %respond ]
  %wrong = phi i64 [ 0, %entry ], [ %wrongNext, %respond ]
  %rDone = icmp eq i64 %r, %rounds
  br i1 %rDone, label %report, label %poll
poll:
  %want = add i64 %r, 1
  %flag = load atomic i64, ptr addrspace(1) %words acquire, align 8
  %isThere = icmp eq i64 %flag, %want
  br i1 %isThere, label %look, label %poll
look:
  %l = phi i64 [ 0, %poll ], [ %lNext, %look ]
  %seen = phi i64 [ %wrong, %poll ], [ %wrongNext, %look ]
  %lAt = getelementptr i64, ptr addrspace(1) %payload, i64 %l
  %value = load i64, ptr addrspace(1) %lAt, align 8
  %isWrong = icmp ne i64 %value, %want
  %one = zext i1 %isWrong to i64
  %wrongNext = add i64 %seen, %one
  %lNext = add i64 %l, 1
  %lDone = icmp eq i64 %lNext, 64
  br i1 %lDone, label %respond, label %look
respond:
  store atomic i64 %want, ptr addrspace(1) %answer release, align 8
  br label %read
report:
  store i64 %wrong, ptr addrspace(1) %errors, align 8
  br label %out
out:
  ret void
}

; A pair for each thread, 16 bytes apart behind the first 512 bytes; answers behind
; them.
define ptx_kernel void @pairs(ptr addrspace(1) %base, i64 %rounds, i64 %apart) {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %isWriter = icmp eq i32 %block, 0
  %shift = select i1 %isWriter, i64 0, i64 %apart
  %words = getelementptr i8, ptr addrspace(1) %base, i64 %shift
  %tid32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %tid = zext i32 %tid32 to i64
  %at = shl i64 %tid, 4
  %pairAt = add i64 %at, 512
  %pair = getelementptr i8, ptr addrspace(1) %words, i64 %pairAt
  %answerAt = add i64 %at, 8192
  %answer = getelementptr i8, ptr addrspace(1) %words, i64 %answerAt
  %wrongAt = add i64 %at, 16384
  %errors = getelementptr i8, ptr addrspace(1) %words, i64 %wrongAt
  br i1 %isWriter, label %write, label %read

write:
  %w = phi i64 [ 0, %entry ], [ %wNext, %store ]
  %wDone = icmp eq i64 %w, %rounds
  br i1 %wDone, label %out, label %waitAnswer
waitAnswer:
  %answered = load atomic i64, ptr addrspace(1) %answer monotonic, align 8
  %isAnswered = icmp eq i64 %answered, %w
  br i1 %isAnswered, label %store, label %waitAnswer
store:
  %wNext = add i64 %w, 1
  %data = mul i64 %wNext, 2654435761
  %low = and i64 %data, 4294967295
  %high = shl i64 %wNext, 32
  %both = or i64 %high, %low
  store atomic i64 %both, ptr addrspace(1) %pair monotonic, align 8
  br label %write

read:
  %r = phi i64 [ 0, %entry ], [ %want, %look ]
  %wrong = phi i64 [ 0, %entry ], [ %wrongNext, %look ]
  %rDone = icmp eq i64 %r, %rounds
  br i1 %rDone, label %report, label %poll
poll:
  %want = add i64 %r, 1
  %have = load atomic i64, ptr addrspace(1) %pair monotonic, align 8
  %flag = lshr i64 %have, 32
  %isThere = icmp eq i64 %flag, %want
  br i1 %isThere, label %look, label %poll
look:
  %expected64 = mul i64 %want, 2654435761
  %expected = and i64 %expected64, 4294967295
  %got = and i64 %have, 4294967295
  %isWrong = icmp ne i64 %got, %expected
  %one = zext i1 %isWrong to i64
  %wrongNext = add i64 %wrong, %one
  store atomic i64 %want, ptr addrspace(1) %answer monotonic, align 8
  br label %read
report:
  store i64 %wrong, ptr addrspace(1) %errors, align 8
  br label %out
out:
  ret void
}
