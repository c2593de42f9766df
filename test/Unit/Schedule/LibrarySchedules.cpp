//===- LibrarySchedules.cpp - Programs from files -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LibrarySchedules.h"
#include "lib/Driver/Ranks.h"
#include "lib/Driver/Session.h"

#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>

using namespace coll;

std::vector<std::string>
test::allFiles(const std::vector<std::string> &folders) {
  std::vector<std::string> files;
  for (const std::string &folder : folders) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator
             it(std::string(COLL_SOURCE_DIR) + folder, error),
         end;
         it != end && !error; it.increment(error))
      if (llvm::StringRef(it->path()).ends_with(".coll"))
        files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::pair<std::string, int64_t>>
test::definesFor(const Bytecode &code) {
  std::vector<std::pair<std::string, int64_t>> defines;
  for (const Instr &instr : code.code)
    if (instr.op == Opcode::Param && instr.b == kNone)
      defines.push_back({code.strings[instr.a], int64_t(defines.size())});
  return defines;
}

std::vector<ChunkGraph> test::graphsOf(Session &session, const Bytecode &code,
                                       const std::vector<uint32_t> &dims,
                                       bool &isWrong) {
  Parameters parameters;
  parameters.rankDims = dims;
  parameters.defines = definesFor(code);
  DiagnosticEngine diags(session.sources);
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  std::vector<ChunkGraph> graphs;
  isWrong = family.status == ElaborateResult::Wrong;
  if (family.status != ElaborateResult::Right)
    return graphs;
  for (uint64_t m = 0; m < family.size(); ++m) {
    parameters.launch = family.member(m);
    ElaborateResult result = elaborate(code, parameters, diags);
    isWrong = result.status == ElaborateResult::Wrong;
    if (result.status != ElaborateResult::Right)
      return {};
    graphs.push_back(std::move(result.graph));
  }
  return graphs;
}

static void
forEachInstance(Session &session, const Bytecode &code,
                const std::vector<uint32_t> &ranks,
                const std::function<void(const test::Instance &)> &body) {
  for (uint32_t n : ranks) {
    llvm::Expected<std::vector<RankDims>> spaces =
        rankSpaces({RankSpec{{n}, 0, 0}}, code.rankNames.size());
    ASSERT_TRUE(bool(spaces));
    for (const RankDims &dims : *spaces) {
      bool isWrong = false;
      std::vector<ChunkGraph> graphs =
          test::graphsOf(session, code, dims, isWrong);
      if (!graphs.empty())
        body({code.schedule + " at " + describe(dims), std::move(graphs)});
    }
  }
}

void test::forEachSchedule(const std::vector<std::string> &folders,
                           const std::vector<uint32_t> &ranks,
                           const std::function<void(const Instance &)> &body) {
  for (const std::string &file : test::allFiles(folders)) {
    Session reader;
    ASSERT_TRUE(reader.parse(file, {}));
    for (const Decl *decl : reader.program().main->decls) {
      if (decl->kind() != Decl::Kind::Schedule)
        continue;
      Session session;
      session.parse(file, {});
      if (session.analyse(decl->name.text, {})) // else: of what is rejected
        forEachInstance(session, session.schedules()[0], ranks, body);
    }
  }
}
