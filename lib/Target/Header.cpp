//===- Header.cpp - The header beside a generated object ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions are inline wrappers that fill a coll_call: the object exports plans alone, so one object serves C, C++ and coll_use.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/HostObject.h"

using namespace coll;

namespace {
/// The parameters of one plan's function and the statements that fill the call.
struct Signature {
  std::vector<std::string> parameters;
  std::string body;
};
} // namespace

static std::string joined(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

/// The names of the buffers of one kind, as an initializer; an array may not be empty in C.
static std::string listOf(const std::vector<std::string> &names) { return "{" + (names.empty() ? std::string("0") : joined(names)) + "}"; }

/// A buffer without elements, of a barrier, is not asked for.
static bool isToken(const ProgramSet &programs, const Buffer &b) {
  return b.kind != Buffer::Scalar && b.parts > 0 && programs.sizes[b.sizeOf(0, 0)].isToken();
}

static void addBuffers(const ProgramSet &programs, Signature &s, std::vector<std::string> &scalars) {
  std::vector<std::string> ins, outs, args;
  for (const Buffer &b : programs.members[0].buffers) {
    if (isToken(programs, b)) {
      (b.kind == Buffer::In ? ins : outs).push_back("NULL");
      continue;
    }
    switch (b.kind) {
    case Buffer::In: s.parameters.push_back("const void *" + b.name), ins.push_back(b.name); break;
    case Buffer::Out: s.parameters.push_back("void *" + b.name), outs.push_back(b.name); break;
    case Buffer::ElemArg:
    case Buffer::RowArg: s.parameters.push_back("const void *" + b.name), args.push_back(b.name); break;
    case Buffer::Scalar: s.parameters.push_back("double " + b.name), scalars.push_back(b.name); break;
    }
  }
  s.body += "  const void *const coll_ins[] = " + listOf(ins) + ";\n  void *const coll_outs[] = " + listOf(outs) + ";\n";
  if (!args.empty())
    s.body += "  const void *const coll_arguments[] = " + listOf(args) + ";\n";
  s.body += "  coll_call coll_c = {0};\n  coll_c.in = coll_ins;\n  coll_c.out = coll_outs;\n";
  if (!args.empty())
    s.body += "  coll_c.arg = coll_arguments;\n";
}

static Signature signatureOf(const ProgramSet &programs, bool withFactor) {
  Signature s;
  std::vector<std::string> scalars;
  addBuffers(programs, s, scalars);
  bool counts = hasCounts(programs);
  if (!counts) {
    s.body += "  coll_c.dtype = COLL_U8;\n";
  } else if (programs.launchCounts.empty()) {
    s.parameters.push_back("size_t count");
    s.body += "  coll_c.count = &count;\n";
  } else {
    s.parameters.push_back("const size_t *" + programs.launchCounts);
    s.parameters.push_back("const size_t *const *displ");
    s.body += "  coll_c.count = " + programs.launchCounts + ";\n  coll_c.displ = displ;\n";
  }
  if (counts) {
    s.parameters.push_back("coll_dtype dtype");
    s.body += "  coll_c.dtype = dtype;\n";
  }
  if (counts && programs.reduces && !withFactor) {
    s.parameters.push_back("coll_op op");
    s.body += "  coll_c.op = op;\n";
  }
  if (withFactor) {
    s.parameters.push_back("double factor");
    s.body += "  coll_c.op = COLL_PREMUL_SUM;\n";
    scalars.push_back("factor");
  }
  if (!scalars.empty())
    s.body += "  const double coll_scalars[] = " + listOf(scalars) + ";\n  coll_c.scalar = coll_scalars;\n";
  if (!programs.launchNames.empty()) {
    for (const std::string &name : programs.launchNames)
      s.parameters.push_back("int " + name);
    s.body += "  const int coll_launch_values[] = " + listOf(programs.launchNames) + ";\n  coll_c.launch = coll_launch_values;\n";
  }
  s.parameters.push_back("coll_comm *comm");
  s.parameters.push_back("coll_stream stream");
  return s;
}

static void writeFunction(const Plan &plan, llvm::StringRef suffix, llvm::StringRef comment, bool withFactor, llvm::raw_ostream &os) {
  Signature s = signatureOf(plan.any(), withFactor);
  os << "/* " << comment << " */\nstatic inline coll_status " << plan.name << suffix << "(" << joined(s.parameters) << ") {\n"
     << s.body << "  return coll_launch(&" << plan.name << "_plan, &coll_c, comm, stream);\n}\n";
}

static void writePlan(const Plan &plan, llvm::raw_ostream &os) {
  const ProgramSet &programs = plan.any();
  std::vector<std::string> counts;
  for (const PlanRanks &ranks : plan.ranks)
    counts.push_back(std::to_string(ranks.programs->numRanks()));
  os << "\nextern const coll_plan " << plan.name << "_plan;\n";
  std::string comment = programs.contract + " for " + joined(counts) + " ranks, from " + programs.sourcePath + ".";
  if (programs.launchCounts.empty())
    comment += " `count`: elements of one part.";
  else
    comment += " `" + programs.launchCounts + "`: this rank's entries, in C order. `displ`: per buffer the first element of each part; NULL: packed.";
  writeFunction(plan, "", comment, false, os);
  if (programs.reduces && hasCounts(programs))
    writeFunction(plan, "_scaled", "The same with every input times `factor` (COLL_PREMUL_SUM).", true, os);
}

void coll::writeHeader(llvm::ArrayRef<Plan> plans, llvm::StringRef fileName, llvm::raw_ostream &os) {
  std::string guard = "COLL_GENERATED_";
  for (char c : fileName)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  os << "/* Generated by colc: do not edit. Link the object beside it and the coll runtime. */\n#ifndef " << guard << "\n#define " << guard
     << "\n#include <coll/coll.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  for (const Plan &plan : plans)
    writePlan(plan, os);
  os << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}
