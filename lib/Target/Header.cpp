//===- Header.cpp - The header beside a generated object ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions are inline wrappers that fill a coll_call: the object exports
// plans alone, so one object serves C, C++ and coll_use.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/HostObject.h"

#include <set>

using namespace coll;

namespace {
/// The names of a scope of C, so that each is one that C and C++ allow and is
/// there once.
class Names {
public:
  std::string add(const std::string &name) {
    std::string unique = isReserved(name) ? name + "_" : name;
    while (!used.insert(unique).second)
      unique += "_";
    return unique;
  }

private:
  static bool isReserved(llvm::StringRef name);
  std::set<std::string> used;
};

/// The parameters of one plan's function, and the fields of the call that it
/// makes.
struct Signature {
  std::vector<std::string> parameters;
  std::vector<std::string> ins, outs, args, scalars, launch, rows;
  std::string count = "NULL", displ = "NULL", dtype = "COLL_U8",
              op = "COLL_SUM", comm, stream;
};
} // namespace

/// The words of C and C++, `main`, and what coll.h and this file name
/// themselves.
bool Names::isReserved(llvm::StringRef name) {
  static const std::set<llvm::StringRef> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor",
      "bool", "break", "case", "catch", "char", "char16_t", "char32_t",
      "char8_t", "class", "co_await", "co_return", "co_yield", "compl",
      "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
      "continue", "decltype", "default", "delete", "do", "double",
      "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false",
      "float", "for", "friend", "goto", "if", "inline", "int", "long", "main",
      "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
      "operator", "or", "or_eq", "private", "protected", "public", "register",
      "reinterpret_cast", "requires", "restrict", "return", "short", "signed",
      "size_t", "sizeof", "static", "static_assert", "static_cast", "struct",
      "switch", "template", "this", "thread_local", "throw", "true", "try",
      "typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
      "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
      "xor", "xor_eq",
      // Macros of common compilers and of <stddef.h>.
      "linux", "unix", "NULL"};
  return words.count(name) || name.starts_with_insensitive("coll_");
}

static std::string joined(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += (text.empty() ? "" : ", ") + item;
  return text;
}

/// A buffer without elements on any rank, of a barrier, is not asked for.
static bool isToken(const ProgramSet &programs, const Buffer &b) {
  if (b.kind == Buffer::Scalar)
    return false;
  for (Rank r = 0; r < programs.numRanks(); ++r)
    for (uint32_t p = 0; p < b.parts && b.present[r]; ++p)
      if (!programs.sizes[b.sizeOf(r, p)].isToken())
        return false;
  return true;
}

static void addBuffers(const ProgramSet &programs, Signature &s, Names &names) {
  auto add = [&](const char *type, const std::string &name,
                 std::vector<std::string> &list) {
    list.push_back(names.add(name));
    s.parameters.push_back(type + list.back());
  };
  for (const Buffer &b : programs.members[0].buffers) {
    if (isToken(programs, b)) {
      (b.kind == Buffer::In ? s.ins : s.outs).push_back("NULL");
      continue;
    }
    switch (b.kind) {
    case Buffer::In:
      add("const void *", b.name, s.ins);
      break;
    case Buffer::Out:
      add("void *", b.name, s.outs);
      break;
    case Buffer::ElemArg:
    case Buffer::RowArg:
      add("const void *", b.name, s.args);
      break;
    case Buffer::Scalar:
      add("double ", b.name, s.scalars);
      break;
    }
  }
}

/// In NCCL's order: buffers, counts, dtype, op, launch values, communicator,
/// stream.
static Signature signatureOf(const ProgramSet &programs, bool withFactor) {
  Signature s;
  Names names;
  addBuffers(programs, s, names);
  auto add = [&](const std::string &type, const std::string &name) {
    std::string unique = names.add(name);
    s.parameters.push_back(type + unique);
    return unique;
  };
  if (programs.map.byRow)
    s.rows = {add("size_t ", "rows"), add("size_t ", "row_elements")};
  else if (hasCounts(programs) && programs.launchCounts.empty())
    s.count = "&" + add("size_t ", "count");
  if (hasCounts(programs) && !programs.launchCounts.empty()) {
    s.count = add("const size_t *", programs.launchCounts);
    s.displ = add("const size_t *const *", "displ");
  }
  if (hasElements(programs))
    s.dtype = add("coll_dtype ", "dtype");
  if (withFactor) {
    s.op = "COLL_PREMUL_SUM";
    s.scalars.push_back(add("double ", "factor"));
  } else if (hasElements(programs) && programs.reduces) {
    s.op = add("coll_op ", "op");
  }
  for (const std::string &name : programs.launchNames)
    s.launch.push_back(add("int ", name));
  s.comm = add("coll_comm *", "comm");
  s.stream = add("coll_stream ", "stream");
  return s;
}

/// A local array of what is listed, and its name; "NULL" and no array for
/// nothing, which C has no array of.
static std::string writeList(llvm::StringRef type, llvm::StringRef name,
                             const std::vector<std::string> &items,
                             llvm::raw_ostream &os) {
  if (items.empty())
    return "NULL";
  os << "  " << type << name << "[] = {" << joined(items) << "};\n";
  return name.str();
}

static void writeFunction(const Plan &plan, llvm::StringRef name,
                          llvm::StringRef comment, bool withFactor,
                          llvm::raw_ostream &os) {
  Signature s = signatureOf(plan.any(), withFactor);
  os << "/* " << comment << " */\nstatic inline coll_status " << name << "("
     << joined(s.parameters) << ") {\n";
  std::vector<std::string> fields;
  fields.push_back(writeList("const void *const ", "coll_ins", s.ins, os));
  fields.push_back(writeList("void *const ", "coll_outs", s.outs, os));
  fields.push_back(
      writeList("const void *const ", "coll_arguments", s.args, os));
  fields.push_back(s.rows.empty()
                       ? s.count
                       : writeList("const size_t ", "coll_counts", s.rows, os));
  fields.push_back(s.displ);
  fields.push_back(writeList("const double ", "coll_scalars", s.scalars, os));
  fields.push_back(writeList("const int ", "coll_launch_values", s.launch, os));
  fields.push_back(s.dtype);
  fields.push_back(s.op);
  // Every field, since C++ compilers warn of those that are left out.
  os << "  const coll_call coll_c = {" << joined(fields)
     << "};\n  return coll_launch(&" << plan.name << "_plan, &coll_c, "
     << s.comm << ", " << s.stream << ");\n}\n";
}

/// A communicator whose channels have fewer refuses the plan.
static uint32_t slotsOf(const Plan &plan) {
  uint32_t slots = 0;
  for (const PlanRanks &ranks : plan.ranks)
    slots = std::max(slots, ranks.bulk.slots);
  return slots;
}

static void writePlan(const Plan &plan, Names &names, llvm::raw_ostream &os) {
  const ProgramSet &programs = plan.any();
  std::vector<std::string> counts;
  for (const PlanRanks &ranks : plan.ranks)
    counts.push_back(std::to_string(ranks.programs->numRanks()));
  os << "\nextern const coll_plan " << plan.name << "_plan;\n";
  std::string path = programs.sourcePath;
  llvm::replace(path, '*', '_'); // of which the end of the comment is made
  std::string comment = programs.contract + " for " + joined(counts) +
                        " ranks, from " + path + ".";
  if (!programs.launchCounts.empty())
    comment += " `" + programs.launchCounts +
               "`: this rank's entries, in C order. `displ`: per buffer the "
               "first element of each part; NULL: packed.";
  else if (programs.map.byRow)
    comment += " `rows`: of one part, of `row_elements` each.";
  else if (hasCounts(programs))
    comment += " `count`: elements of one part.";
  if (uint32_t slots = slotsOf(plan); slots > ScheduleOptions().slots)
    comment += " Communicators need channels of " + std::to_string(slots) +
               " slots: COLL_SLOTS=" + std::to_string(slots) + ".";
  writeFunction(plan, names.add(plan.name), comment, false, os);
  if (programs.reduces && hasElements(programs))
    writeFunction(plan, names.add(plan.name + "_scaled"),
                  "The same with every input times `factor` (COLL_PREMUL_SUM).",
                  true, os);
}

void coll::writeHeader(llvm::ArrayRef<Plan> plans, llvm::StringRef fileName,
                       llvm::raw_ostream &os) {
  std::string guard = "COLL_GENERATED_";
  for (char c : fileName)
    guard += llvm::isAlnum(c) ? llvm::toUpper(c) : '_';
  os << "/* Generated by colc: do not edit. Link the object beside it and the "
        "coll runtime. */\n#ifndef "
     << guard << "\n#define " << guard
     << "\n#include <coll/coll.h>\n#ifdef __cplusplus\nextern \"C\" "
        "{\n#endif\n";
  Names names;
  for (const Plan &plan : plans)
    names.add(plan.name + "_plan");
  for (const Plan &plan : plans)
    writePlan(plan, names, os);
  os << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}
