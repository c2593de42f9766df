//===- BytecodeDigest.cpp - SHA-256 of what is executed -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is written as words and strings with their lengths in front, so no
// two inputs are written alike. Places in the source are left out: they change
// nothing that is computed.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/BytecodeDigest.h"

#include "llvm/Support/SHA256.h"

using namespace coll;

namespace {
class Writer {
public:
  void add(uint64_t word) {
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&word);
    text.insert(text.end(), bytes, bytes + sizeof word);
  }
  void add(const std::string &s) {
    add(s.size());
    text.insert(text.end(), s.begin(), s.end());
  }
  void add(RegList list) { add(uint64_t(list.first) << 32 | list.count); }
  void add(const ReadCode &read) { add(read.view), add(read.at); }
  void add(const Instr &in) {
    add(uint64_t(in.op) << 32 | uint64_t(in.flag) << 16 | in.count);
    add(uint64_t(in.dst) << 32 | in.a);
    add(uint64_t(in.b) << 32 | in.c);
  }
  void add(const LoopCode &loop) {
    for (uint64_t word :
         {loop.var, loop.low, loop.high, loop.step, loop.body, loop.end})
      add(word);
  }
  void add(const BufferCode &buffer) {
    add(buffer.kind), add(buffer.name), add(buffer.parts), add(buffer.at);
    add(buffer.members);
  }
  void add(const TmpCode &tmp) { add(tmp.dims), add(uint64_t(tmp.type)); }
  void add(const LaunchCode &launch) {
    add(launch.name), add(launch.isInteger);
  }
  void add(const TransferCode &t) {
    add(uint64_t(t.reduce) << 16 | uint64_t(t.hasVia) << 8 | uint64_t(t.via));
    add(t.value), add(t.read), add(t.target), add(t.at), add(t.members);
  }
  void add(const SendCode &send) {
    add(uint64_t(send.hasVia) << 8 | uint64_t(send.via));
    add(send.value), add(send.read), add(send.peer);
  }
  void add(const RecvCode &recv) {
    add(recv.reduce), add(recv.target), add(recv.peer);
  }
  void add(const OnCode &on) {
    add(on.members), add(on.capacity), add(on.self), add(on.body), add(on.end);
  }
  void add(const std::pair<std::string, int64_t> &define) {
    add(define.first), add(uint64_t(define.second));
  }
  template <typename T> void add(const std::vector<T> &list) {
    add(uint64_t(list.size()));
    for (const T &item : list)
      add(item);
  }
  std::vector<uint8_t> text;
};
} // namespace

Digest coll::digestOf(const Bytecode &code, const Parameters &params) {
  Writer writer;
  writer.add(code.schedule), writer.add(code.contract);
  writer.add(code.code), writer.add(uint64_t(code.ensures));
  writer.add(code.ints), writer.add(code.rankDims), writer.add(code.pool);
  writer.add(code.strings), writer.add(code.loops), writer.add(code.launches);
  writer.add(code.buffers), writer.add(code.tmps), writer.add(code.transfers);
  writer.add(code.sends), writer.add(code.recvs), writer.add(code.ons);
  writer.add(params.rankDims), writer.add(params.defines);
  writer.add(params.launch);
  return llvm::SHA256::hash(writer.text);
}
