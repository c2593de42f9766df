//===- Msccl.cpp - The words of MSCCL XML, and its writer -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loaders of the format read it with a parser of their own: one space between
// attributes, double quotes, one tag a line, no prolog.
//
//===----------------------------------------------------------------------===//
#include "lib/Interchange/Msccl.h"

#include "llvm/Support/raw_ostream.h"

using namespace coll;
using namespace coll::msccl;

llvm::StringRef msccl::nameOf(StepKind kind) {
  static const char *const names[] = {"s",    "r",   "rcs", "rrs", "rrc",
                                      "rrcs", "cpy", "re",  "nop"};
  return names[size_t(kind)];
}

bool msccl::receives(StepKind kind) {
  return kind >= StepKind::Recv && kind <= StepKind::RecvReduceCopySend;
}

bool msccl::sends(StepKind kind) {
  return kind == StepKind::Send || kind == StepKind::RecvCopySend ||
         kind == StepKind::RecvReduceSend ||
         kind == StepKind::RecvReduceCopySend;
}

bool msccl::readsSource(StepKind kind) {
  return kind == StepKind::Send ||
         (kind >= StepKind::RecvReduceSend && kind <= StepKind::Reduce);
}

bool msccl::writesTarget(StepKind kind) {
  return kind != StepKind::Send && kind != StepKind::RecvReduceSend &&
         kind != StepKind::Nop;
}

static char letterOf(Space space) {
  return space == Space::Input ? 'i' : space == Space::Output ? 'o' : 's';
}

std::string msccl::describe(Place place) {
  return letterOf(place.space) + ("[" + std::to_string(place.offset) + "]");
}

static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '"'   ? "&quot;"
              : c == '&' ? "&amp;"
              : c == '<' ? "&lt;"
                         : std::string(1, c);
  return result;
}

static void writeStep(uint32_t index, const Step &step, llvm::raw_ostream &os) {
  os << "      <step s=\"" << index << "\" type=\"" << nameOf(step.kind)
     << "\" srcbuf=\"" << letterOf(step.source.space) << "\" srcoff=\""
     << step.source.offset << "\" dstbuf=\"" << letterOf(step.target.space)
     << "\" dstoff=\"" << step.target.offset << "\" cnt=\"" << step.count
     << "\" depid=\"" << step.depBlock << "\" deps=\"" << step.depStep
     << "\" hasdep=\"" << step.hasDep << "\"/>\n";
}

static void writeGpu(uint32_t id, const Gpu &gpu, llvm::raw_ostream &os) {
  os << "  <gpu id=\"" << id << "\" i_chunks=\"" << gpu.inChunks
     << "\" o_chunks=\"" << gpu.outChunks << "\" s_chunks=\""
     << gpu.scratchChunks << "\">\n";
  for (const Preload &preload : gpu.preloads)
    os << "    <copy i_off=\"" << preload.from << "\" o_off=\"" << preload.to
       << "\"/>\n";
  for (uint32_t b = 0; b < gpu.blocks.size(); ++b) {
    const Block &block = gpu.blocks[b];
    os << "    <tb id=\"" << b << "\" send=\"" << block.sendPeer << "\" recv=\""
       << block.recvPeer << "\" chan=\"" << block.channel << "\">\n";
    for (uint32_t s = 0; s < block.steps.size(); ++s)
      writeStep(s, block.steps[s], os);
    os << "    </tb>\n";
  }
  os << "  </gpu>\n";
}

void msccl::writeXml(const Algorithm &algo, llvm::raw_ostream &os) {
  os << "<algo name=\"" << escape(algo.name) << "\" proto=\"" << algo.protocol
     << "\" nchannels=\"" << algo.channels << "\" nchunksperloop=\""
     << algo.chunks << "\" ngpus=\"" << algo.gpus.size() << "\" coll=\""
     << (algo.isAzureName ? "reducescatter" : escape(algo.coll))
     << "\" inplace=\"" << algo.inPlace << "\"";
  // What is absent has defaults that differ between loaders.
  if (algo.hasOutOfPlace)
    os << " outofplace=\"" << algo.outOfPlace << "\"";
  if (algo.hasMinBytes)
    os << " minBytes=\"" << algo.minBytes << "\"";
  if (algo.hasMaxBytes)
    os << " maxBytes=\"" << algo.maxBytes << "\"";
  os << ">\n";
  for (uint32_t id = 0; id < algo.gpus.size(); ++id)
    writeGpu(id, algo.gpus[id], os);
  os << "</algo>\n";
}
