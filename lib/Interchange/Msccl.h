//===- Msccl.h - Schedules as MSCCL XML files -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What such a file says, with the place of every element. It has three dialects
// that one reader takes: microsoft/msccl, Azure/msccl-executor-nccl (also
// RCCL), and the legacy one with <copy> elements. docs/Interchange.md describes
// them.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_INTERCHANGE_MSCCL_H
#define COLL_LIB_INTERCHANGE_MSCCL_H

#include "lib/Support/Diagnostics.h"

#include <optional>

namespace coll::msccl {

enum class StepKind : uint8_t {
  Send,               ///< s
  Recv,               ///< r
  RecvCopySend,       ///< rcs
  RecvReduceSend,     ///< rrs
  RecvReduceCopy,     ///< rrc: dst = src of this rank (op) message
  RecvReduceCopySend, ///< rrcs
  Copy,               ///< cpy
  Reduce,             ///< re: dst = dst (op) src
  Nop                 ///< carries a dependency
};
llvm::StringRef nameOf(StepKind kind);
bool receives(StepKind kind);
bool sends(StepKind kind);
/// The rank's own memory at src or dst is read or written; otherwise the
/// attributes describe the other side, or nothing.
bool readsSource(StepKind kind);
bool writesTarget(StepKind kind);

enum class Space : uint8_t { Input, Output, Scratch };
struct Place {
  Space space = Space::Input;
  int32_t offset = 0;
  bool operator==(const Place &) const = default;
};
/// "i[3]"
std::string describe(Place place);

struct Step {
  StepKind kind = StepKind::Nop;
  bool hasDep = false; ///< other blocks may wait for it
  Place source, target;
  uint32_t count = 0;                  ///< chunks, in one message
  int32_t depBlock = -1, depStep = -1; ///< of the same rank; -1: none
  SourceRange range = {};              ///< of the tag
};

struct Block {
  int32_t sendPeer = -1, recvPeer = -1;
  uint32_t channel = 0;
  std::vector<Step> steps;
  SourceRange range = {};
};

/// Legacy: done before everything else.
struct Preload {
  int32_t from = 0, to = 0; ///< chunks of the input and the output
  SourceRange range = {};
};

struct Gpu {
  uint32_t inChunks = 0, outChunks = 0, scratchChunks = 0;
  std::vector<Preload> preloads;
  std::vector<Block> blocks; ///< by id
  SourceRange range = {};
};

struct Algorithm {
  std::string name, protocol, coll;
  bool isAzureName = false; ///< `coll` is reduce_scatter, spelt reducescatter
  uint32_t channels = 1, chunks = 1; ///< nchannels, nchunksperloop
  bool inPlace = false, outOfPlace = true;
  /// What Azure's loader insists on is there.
  bool hasOutOfPlace = false, hasMinBytes = false, hasMaxBytes = false;
  uint64_t minBytes = 0, maxBytes = 0;
  std::vector<Gpu> gpus; ///< by id
  SourceRange range = {};

  bool hasPreloads() const {
    for (const Gpu &gpu : gpus)
      if (!gpu.preloads.empty())
        return true;
    return false;
  }
};

/// Bounds of the reader, each with its message.
inline constexpr uint64_t maxXmlBytes = 64u << 20;
inline constexpr uint32_t maxXmlElements = 1u << 20;
inline constexpr uint32_t maxXmlAttributes = 32;
inline constexpr uint32_t maxXmlValueBytes = 255; ///< what loaders take
inline constexpr uint32_t maxXmlGpus = 4096;
inline constexpr uint32_t maxXmlChunks = 1u << 15; ///< offsets are int16
inline constexpr uint32_t maxXmlBlocks = 1024, maxXmlChannels = 1024;

/// Reads a file of at most maxXmlBytes; noFile: `diags` says why.
FileId openXml(SourceManager &sources, DiagnosticEngine &diags,
               llvm::StringRef path);
/// Empty: `diags` says why. What it returns is complete: ids are dense, every
/// number is in its bounds, peers and dependencies exist.
std::optional<Algorithm> readXml(const SourceManager &sources,
                                 DiagnosticEngine &diags, FileId file);

/// The value of an attribute in the text of a tag, without the quotes; the tag
/// if it has none of that name.
SourceRange attributeOf(const SourceManager &sources, SourceRange tag,
                        llvm::StringRef name);

void writeXml(const Algorithm &algorithm, llvm::raw_ostream &os);

} // namespace coll::msccl

#endif // COLL_LIB_INTERCHANGE_MSCCL_H
