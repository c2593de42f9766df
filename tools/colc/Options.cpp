//===- Options.cpp - The command line of colc -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/Options.h"

#include "lib/Driver/Names.h"
#include "lib/Support/ListedParser.h"
#include "lib/Target/Cuda.h"
#include "llvm/Support/CommandLine.h"

using namespace coll;
namespace cl = llvm::cl;

static cl::OptionCategory category("colc options");

static const char *const overview =
    "colc: proves that a schedule computes the collective it claims, and "
    "compiles it\n\n"
    "  colc ring.coll --check                        is it right at 2 to 8 "
    "ranks?\n"
    "  colc ring.coll --prove                        is it right at any "
    "number of ranks?\n"
    "  colc ring.coll --ranks 8 -o ring              writes ring.o and ring.h\n"
    "  colc ring.coll --ranks 2..9 --emit=report     what it moves\n"
    "  colc --explain deadlock                       what a diagnostic "
    "means\n\n"
    "exit status: 0 right, 1 wrong, 2 usage or unreadable files, 3 cannot "
    "decide\n";

namespace {
/// Registered while the command line is read, and gone afterwards.
struct Flags {
  cl::opt<std::string> file{cl::Positional, cl::desc("FILE.coll[:SCHEDULE]"),
                            cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule", cl::desc("only this schedule of the file, as FILE:SCHEDULE"),
      cl::value_desc("name"), cl::cat(category)};
  cl::list<std::string> ranks{
      "ranks",
      cl::desc(
          "ranks: N, M,G for a grid, or A..B (half open); may be repeated"),
      cl::value_desc("N|M,G|A..B"), cl::cat(category)};
  cl::list<std::string> defines{"D", cl::Prefix,
                                cl::desc("value of a parameter"),
                                cl::value_desc("K=V"), cl::cat(category)};
  cl::list<std::string> includes{"I", cl::Prefix,
                                 cl::desc("where imports are looked for"),
                                 cl::value_desc("dir"), cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::desc("F: writes F.o and F.h, or the text of --emit"),
      cl::value_desc("F"), cl::cat(category)};
  cl::opt<std::string> explain{
      "explain", cl::desc("print what the diagnostic [slug] means"),
      cl::value_desc("slug"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("verify only"), cl::cat(category)};
  cl::opt<bool> prove{
      "prove",
      cl::desc("verify for every number of ranks at once; exit status 3 if "
               "that cannot be decided"),
      cl::cat(category)};
  cl::opt<bool> invariants{
      "invariants",
      cl::desc("with --prove: print what each statement's values are made of"),
      cl::cat(category)};
  cl::opt<Emit, false, ListedParser<Emit>> emit{
      "emit", cl::desc("what to write:"), cl::init(Emit::Object),
      cl::cat(category),
      cl::values(
          clEnumValN(Emit::Ast, "ast", "the syntax tree, as source"),
          clEnumValN(Emit::Coll, "coll", "the algorithm level"),
          clEnumValN(Emit::Program, "program",
                     "the program of every class of ranks"),
          clEnumValN(Emit::Kernel, "kernel", "kernel IR"),
          clEnumValN(Emit::Llvm, "llvm", "LLVM IR, optimized"),
          clEnumValN(Emit::Asm, "asm", "assembly"),
          clEnumValN(Emit::Ptx, "ptx", "PTX of a cuda target"),
          clEnumValN(Emit::Cubin, "cubin", "the cubin of a cuda target"),
          clEnumValN(Emit::Object, "obj", "F.o and F.h (default)"),
          clEnumValN(Emit::Report, "report", "volume, steps, scratch per rank"),
          clEnumValN(Emit::Xml, "xml",
                     "the XML of MSCCL, if it can hold the schedule"))};
  cl::opt<std::string> dtypes{
      "dtypes",
      cl::desc("element types to compile for, or 'all' (default f32,f16,bf16)"),
      cl::value_desc("list"), cl::init("f32,f16,bf16"), cl::cat(category)};
  cl::opt<std::string> ops{
      "ops", cl::desc("operations to compile for, or 'all' (default sum)"),
      cl::value_desc("list"), cl::init("sum"), cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("host, x86_64 or aarch64, and cuda:sm_N for chips: a list"),
      cl::value_desc("list"), cl::init("host"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::desc("the assembler for cubins (default: the one found)"),
      cl::value_desc("path"), cl::cat(category)};
  cl::opt<bool> embedBitcode{
      "embed-bitcode",
      cl::desc("put the LLVM IR of device code into the object, too"),
      cl::cat(category)};
  cl::opt<unsigned> packetBits{
      "packet-bits", cl::Hidden, cl::init(COLL_PACKET_BITS),
      cl::desc("bits of a sequence number in the flags of packets: fewer than "
               "the runtime takes, for tests"),
      cl::cat(category)};
  cl::opt<DiagnosticFormat, false, ListedParser<DiagnosticFormat>> diagnostics{
      "diagnostics-format", cl::desc("how diagnostics are printed:"),
      cl::init(DiagnosticFormat::Text), cl::cat(category),
      cl::values(
          clEnumValN(DiagnosticFormat::Text, "text", "for people"),
          clEnumValN(DiagnosticFormat::Json, "json", "one JSON document"),
          clEnumValN(DiagnosticFormat::Sarif, "sarif", "SARIF 2.1"))};
};
} // namespace

static bool fail(const llvm::Twine &message) {
  llvm::errs() << "colc: error: " << message << "\n";
  return false;
}

static bool readRanks(const Flags &flags, Options &options) {
  for (const std::string &text : flags.ranks) {
    llvm::Expected<RankSpec> spec = parseRankSpec(text);
    if (!spec)
      return fail(llvm::toString(spec.takeError()));
    options.ranks.push_back(*spec);
  }
  return true;
}

static bool readChip(llvm::StringRef name, Options &options) {
  unsigned chip = 0;
  llvm::StringRef number = name;
  bool isNumber =
      number.consume_front("cuda:sm_") && !number.getAsInteger(10, chip);
  if (!isNumber || !llvm::is_contained(knownChips(), chip)) {
    std::string known;
    for (unsigned c : knownChips())
      known += (known.empty() ? "sm_" : ", sm_") + std::to_string(c);
    return fail("--target=" + name +
                ": not host, x86_64, aarch64 or cuda:CHIP (" + known + ")");
  }
  if (!llvm::is_contained(options.chips, chip))
    options.chips.push_back(chip);
  return true;
}

static bool readTarget(const Flags &flags, Options &options) {
  options.host.arch = nativeArch();
  std::optional<HostArch> host;
  for (llvm::StringRef target : llvm::split(flags.target, ',')) {
    std::optional<HostArch> arch;
    if (target == "host")
      arch = nativeArch();
    else if (target == "x86_64")
      arch = HostArch::X86_64;
    else if (target == "aarch64")
      arch = HostArch::AArch64;
    else if (!readChip(target, options))
      return false;
    if (arch && host && arch != host)
      return fail("--target=" + flags.target + ": an object has one host");
    if (arch)
      host = arch;
  }
  llvm::sort(options.chips);
  options.host.arch = host.value_or(nativeArch());
  options.host.hasHost = host.has_value();
  options.embedBitcode = flags.embedBitcode;
  options.host.packetBits = flags.packetBits;
  constexpr unsigned fewest = 8; // half of 2^8 is more than a ring has slots
  bool isKnown =
      flags.packetBits == 0 || // no packets: devices have bulk slots alone
      (flags.packetBits >= fewest && flags.packetBits <= COLL_PACKET_BITS);
  if (!isKnown)
    return fail("--packet-bits is neither 0 nor from 8 to 16");
  options.ptxas = flags.ptxas;
  bool isOfDevice = options.emit == Emit::Ptx || options.emit == Emit::Cubin;
  if (isOfDevice && options.chips.size() != 1)
    return fail("--emit=ptx and --emit=cubin are for one chip: "
                "--target=cuda:sm_90");
  return true;
}

static bool readVariants(const Flags &flags, Options &options) {
  if (llvm::Error error = parseFormats(flags.dtypes, options.host.dtypes))
    return fail("--dtypes: " + llvm::toString(std::move(error)));
  if (llvm::Error error = parseReduceOps(flags.ops, options.host.ops))
    return fail("--ops: " + llvm::toString(std::move(error)));
  auto hasAll = [](const std::string &list) {
    return llvm::is_contained(llvm::split(list, ','), "all");
  };
  options.allDtypes = hasAll(flags.dtypes);
  options.allOps = hasAll(flags.ops);
  return true;
}

std::optional<Options> coll::parseOptions(int argc, char **argv) {
  Flags flags;
  setVersionPrinter("colc");
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return std::nullopt;
  Options options;
  options.schedule = flags.schedule;
  if (llvm::Error error =
          splitSchedule(flags.file, options.file, options.schedule)) {
    fail(llvm::toString(std::move(error)));
    return std::nullopt;
  }
  options.output = flags.output;
  options.explain = flags.explain;
  options.libraryDirs.assign(flags.includes.begin(), flags.includes.end());
  options.check = flags.check;
  options.prove = flags.prove;
  options.invariants = flags.invariants;
  options.emit = flags.emit;
  options.diagnostics = flags.diagnostics;
  if (llvm::Error error = parseDefines(flags.defines, options.defines)) {
    fail(llvm::toString(std::move(error)));
    return std::nullopt;
  }
  if (!readRanks(flags, options) || !readTarget(flags, options) ||
      !readVariants(flags, options))
    return std::nullopt;
  if (options.invariants && !options.prove) {
    fail("--invariants goes with --prove");
    return std::nullopt;
  }
  if ((options.check || options.prove) &&
      (!options.output.empty() || flags.emit.getNumOccurrences())) {
    fail("--check and --prove write no file: leave out -o and --emit");
    return std::nullopt;
  }
  if (options.file.empty() && options.explain.empty()) {
    fail("no file; try colc --help");
    return std::nullopt;
  }
  return options;
}
