//===- FuzzXml.cpp - Any bytes as a schedule of MSCCL ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever the bytes: they are read, judged and lowered within bounds, and
// either there is an error or there is a result. What was read is the same
// after it was written. Programs of a file that is right pass the second
// verification.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ProgramCheck.h"
#include "lib/Interchange/MscclImport.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace coll;

static void require(bool condition, const char *what) {
  if (condition)
    return;
  llvm::errs() << "violated: " << what << '\n';
  std::abort();
}

static std::string textOf(const msccl::Algorithm &algo) {
  std::string text;
  llvm::raw_string_ostream os(text);
  msccl::writeXml(algo, os);
  return text;
}

/// A fuzzer looks for the unexpected, and has to look often.
static bool isSmall(const msccl::Algorithm &algo) {
  uint64_t moved = 0;
  for (const msccl::Gpu &gpu : algo.gpus)
    for (const msccl::Block &block : gpu.blocks)
      for (const msccl::Step &step : block.steps)
        moved += step.count;
  uint64_t chunks = algo.chunks;
  for (const msccl::Gpu &gpu : algo.gpus)
    chunks = std::max({chunks, uint64_t(gpu.inChunks), uint64_t(gpu.outChunks),
                       uint64_t(gpu.scratchChunks)});
  return moved <= 4096 && chunks * algo.gpus.size() <= 1u << 14;
}

static void rewrite(const msccl::Algorithm &algo) {
  std::string text = textOf(algo);
  SourceManager sources;
  DiagnosticEngine diags(sources);
  auto again = msccl::readXml(sources, diags, sources.add("again.xml", text));
  require(again.has_value(), "what is written can be read");
  require(textOf(*again) == text, "and is the same");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SourceManager sources;
  DiagnosticEngine diags(sources);
  std::string bytes(reinterpret_cast<const char *>(data), size);
  auto algo = msccl::readXml(sources, diags, sources.add("input.xml", bytes));
  require(algo.has_value() != diags.hasErrors(), "read, or an error");
  if (!algo || !isSmall(*algo) || !msccl::shapeOf(*algo).divides)
    return 0;
  rewrite(*algo);
  std::string lines;
  llvm::raw_string_ostream os(lines);
  msccl::JudgedXml judged =
      msccl::judgeVariants(sources, diags, std::move(*algo), &os);
  render(diags, DiagnosticFormat::Text, os);
  if (!judged.isRight)
    return 0;
  auto imported = msccl::importSchedule(judged, "input.xml", diags);
  require(imported.has_value() != diags.hasErrors(), "programs, or an error");
  if (!imported)
    return 0;
  ProgramCheckOptions options;
  options.fifos = {imported->scheduled.bulk, imported->scheduled.small};
  ProgramCheckResult check = checkPrograms(imported->scheduled.programs,
                                           {&imported->graph, 1}, options);
  for (const ProgramError &error : check.errors)
    llvm::errs() << describe(error, imported->scheduled.programs) << '\n';
  require(check.isRight(), "programs are what the file means");
  return 0;
}
