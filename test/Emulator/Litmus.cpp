//===- Litmus.cpp - Small kernels under many seeds ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Litmus.h"

#include <cstring>

namespace coll::emu {

LitmusResult run(const Litmus &litmus) {
  LitmusResult result;
  for (unsigned seed = 1; seed <= litmus.seeds; ++seed) {
    Options options;
    options.seed = seed;
    options.check = litmus.check;
    options.linesInOrder = litmus.linesInOrder;
    options.lateReleases = litmus.lateReleases;
    options.preemptEvery = 2;
    Machine machine(litmus.isOneDevice ? 1 : litmus.kernels, options);
    Module *module = machine.load(litmus.code, result.error);
    if (!module)
      return result;
    alignas(256) char memory[4096] = {};
    alignas(256) uint64_t out[4] = {};
    machine.add(memory, sizeof memory, kHost);
    machine.add(out, sizeof out, kHost);
    // An address that nothing else uses.
    auto *const multicast = reinterpret_cast<char *>(
        reinterpret_cast<uintptr_t>(memory) + (uintptr_t(1) << 46));
    if (litmus.hasMulticast) {
      if (!machine.addMulticast(multicast, sizeof memory) ||
          !machine.addMember(multicast, memory, 0, sizeof memory))
        result.error = "no multicast address";
      memcpy(memory, &multicast, sizeof multicast);
    }
    void *pointers[] = {memory, out};
    void *params[] = {&pointers[0], &pointers[1]};
    for (unsigned i = 0; i < litmus.kernels; ++i)
      machine.launch(litmus.isOneDevice ? 0 : int(i), i, module,
                     "k" + std::to_string(i), {}, {litmus.threads, 1, 1},
                     params, 0, result.error);
    if (!result.error.empty())
      return result;
    if (machine.run() == RunResult::Failed) {
      ++result.failed;
      ++result.kinds[nameOf(machine.reports().front().kind)];
      if (result.firstReport.empty())
        result.firstReport = machine.reportText();
    }
    ++result.outcomes[{out[0], out[1], out[2], out[3]}];
  }
  return result;
}

std::string kernels(const std::vector<std::string> &bodies) {
  std::string text = R"(target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [64 x i32] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.shfl.sync.down.f32(i32, float, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare float @llvm.sqrt.f32(float)
declare float @llvm.exp2.f32(float)
declare float @llvm.nvvm.rsqrt.approx.f(float)
declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)
declare void @llvm.nvvm.nanosleep(i32)
)";
  for (size_t i = 0; i < bodies.size(); ++i)
    text += "define ptx_kernel void @k" + std::to_string(i) +
            "(ptr %x, ptr %out) {\n"
            "entry:\n"
            "  %y = getelementptr i8, ptr %x, i64 128\n"
            "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
            "  %tid64 = zext i32 %tid to i64\n"
            "  %first = icmp eq i32 %tid, 0\n"
            "  %out1 = getelementptr i64, ptr %out, i64 1\n"
            "  %out2 = getelementptr i64, ptr %out, i64 2\n"
            "  %out3 = getelementptr i64, ptr %out, i64 3\n" +
            bodies[i] + "  ret void\n}\n";
  return text;
}

} // namespace coll::emu
