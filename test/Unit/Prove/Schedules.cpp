//===- Schedules.cpp - Files, and executing what is in them ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Schedules.h"

#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Elaborate.h"
#include "lib/Frontend/Parser.h"
#include "lib/Frontend/Sema.h"
#include "llvm/Support/FileSystem.h"

using namespace coll;
using namespace coll::test;

std::vector<std::string> coll::test::subjectFiles() {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator
           it(COLL_SOURCE_DIR "/lib/Library", error),
       end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".coll"))
      files.push_back(it->path());
  std::sort(files.begin(), files.end());
  files.push_back(COLL_SOURCE_DIR "/test/Prove/class.coll");
  return files;
}

ScheduleFile::ScheduleFile(const std::string &path) : diags(sources) {
  Program syntax = loadProgram(sources, path, diags, LoadOptions());
  if (syntax.hasErrors)
    return;
  module = emitModule(syntax, context, diags, SemaOptions());
  if (!module)
    return;
  for (ScheduleOp schedule : module->getOps<ScheduleOp>()) {
    int64_t next = 0;
    schedule.walk([&](ParamOp param) {
      if (!param.getDefaultValue())
        defines.push_back({param.getName().str(), next++});
    });
  }
}

ScheduleOp coll::test::find(mlir::ModuleOp module, llvm::StringRef schedule) {
  for (ScheduleOp op : module.getOps<ScheduleOp>())
    if (op.getSymName() == schedule)
      return op;
  return {};
}

static void addShapes(uint32_t size, size_t numDims,
                      std::vector<uint32_t> prefix,
                      std::vector<std::vector<uint32_t>> &shapes) {
  if (prefix.size() + 1 == numDims) {
    prefix.push_back(size);
    shapes.push_back(prefix);
    return;
  }
  for (uint32_t d = 1; d <= size; ++d)
    if (size % d == 0) {
      std::vector<uint32_t> next = prefix;
      next.push_back(d);
      addShapes(size / d, numDims, next, shapes);
    }
}

static bool isRight(const Bytecode &code, const Parameters &parameters,
                    const SourceManager &sources) {
  DiagnosticEngine diags(sources);
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  if (family.status == ElaborateResult::Excluded)
    return true;
  if (family.status != ElaborateResult::Right)
    return false;
  for (uint64_t m = 0; m < family.size(); ++m) {
    Parameters member = parameters;
    member.launch = family.member(m);
    if (elaborate(code, member, diags).status == ElaborateResult::Wrong)
      return false;
  }
  return true;
}

std::optional<std::string> coll::test::firstWrong(ScheduleOp schedule,
                                                  const ScheduleFile &file,
                                                  uint32_t last) {
  Bytecode code = buildBytecode(schedule, file.sources);
  for (uint32_t n = 2; n <= last; ++n) {
    std::vector<std::vector<uint32_t>> shapes;
    addShapes(n, code.rankNames.size(), {}, shapes);
    for (const std::vector<uint32_t> &shape : shapes) {
      Parameters parameters;
      parameters.rankDims = shape;
      parameters.defines = file.defines;
      if (isRight(code, parameters, file.sources))
        continue;
      std::string text;
      for (uint32_t dim : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(dim);
      return text;
    }
  }
  return std::nullopt;
}
