//===- Options.cpp - The command line of coll-run -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The short flags are nccl-tests', and so are the other names of dtypes.
//
//===----------------------------------------------------------------------===//

#include "tools/coll-run/Options.h"

#include "lib/Driver/Names.h"
#include "lib/Driver/Plans.h"
#include "lib/Support/ListedParser.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"

using namespace coll;
namespace cl = llvm::cl;

static cl::OptionCategory category("coll-run options");

static const char *const overview =
    "coll-run: compiles a schedule, runs it on local processes, checks every "
    "element and times it\n\n"
    "  coll-run ring.coll --ranks 4                         8 B to 64 MiB\n"
    "  coll-run tree.coll:allreduce_double_tree --ranks 8 -b 1K -e 1M -f 2 -d "
    "f32,bf16 -o sum,max\n\n"
    "A size is the bytes of the larger of a rank's buffers; algbw = size / "
    "time; busbw as in nccl-tests.\n"
    "exit status: 0 all elements right, 1 wrong or failed, 2 usage or "
    "unreadable files\n";

namespace {
struct Flags {
  cl::opt<std::string> file{cl::Positional,
                            cl::desc("FILE.coll[:SCHEDULE] or FILE.xml"),
                            cl::cat(category)};
  cl::opt<std::string> tune{
      "tune",
      cl::desc("instead: compare the library's schedules at 2, 4 and 8 ranks "
               "(--ranks: at others) and write a table for COLL_TUNE"),
      cl::value_desc("file"), cl::cat(category)};
  cl::opt<double> tuneSeconds{"tune-seconds",
                              cl::desc("about how long --tune takes (120)"),
                              cl::init(120), cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule", cl::desc("this schedule of the file, as FILE:SCHEDULE"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<std::string> ranks{
      "ranks",
      cl::desc("number of processes: N, or M,G for a grid; that of an XML is "
               "part of it"),
      cl::cat(category)};
  cl::list<std::string> defines{"D", cl::Prefix,
                                cl::desc("value of a parameter"),
                                cl::value_desc("K=V"), cl::cat(category)};
  cl::list<std::string> includes{"I", cl::Prefix,
                                 cl::desc("where imports are looked for"),
                                 cl::value_desc("dir"), cl::cat(category)};
  cl::opt<std::string> minBytes{"b", cl::desc("smallest size (8)"),
                                cl::init("8"), cl::value_desc("bytes"),
                                cl::cat(category)};
  cl::opt<std::string> maxBytes{"e", cl::desc("largest size (64M)"),
                                cl::init("64M"), cl::value_desc("bytes"),
                                cl::cat(category)};
  cl::opt<std::string> stepBytes{
      "i", cl::desc("fixed step between sizes, instead of -f"), cl::init("0"),
      cl::value_desc("bytes"), cl::cat(category)};
  cl::opt<uint64_t> factor{"f", cl::desc("factor between sizes (4)"),
                           cl::init(4), cl::cat(category)};
  cl::opt<std::string> counts{
      "counts", cl::desc("elements of a part, instead of -b -e -f"),
      cl::value_desc("list"), cl::cat(category)};
  cl::opt<uint64_t> row{
      "row", cl::desc("elements of a row, of schedules that cut by row (1024)"),
      cl::init(1024), cl::value_desc("elements"), cl::cat(category)};
  cl::opt<std::string> isa{
      "isa",
      cl::desc("instruction set: v2, v3, v4 or aarch64 (the best there is)"),
      cl::value_desc("name"), cl::cat(category)};
  cl::opt<uint64_t> iterations{
      "n", cl::desc("timed launches per row (as many as take about 50 ms)"),
      cl::init(0), cl::cat(category)};
  cl::opt<uint64_t> warmup{"w", cl::desc("launches before them (5)"),
                           cl::init(5), cl::cat(category)};
  cl::opt<std::string> dtypes{"d", cl::desc("element types, or 'all' (f32)"),
                              cl::init("f32"), cl::value_desc("list"),
                              cl::cat(category)};
  cl::opt<std::string> ops{"o", cl::desc("operations, or 'all' (sum)"),
                           cl::init("sum"), cl::value_desc("list"),
                           cl::cat(category)};
  cl::opt<std::string> root{
      "r", cl::desc("launch value such as the root, or 'all' (0)"),
      cl::init("0"), cl::value_desc("root"), cl::cat(category)};
  cl::opt<uint64_t> check{
      "c", cl::desc("1: check every element (default), 0: only time"),
      cl::init(1), cl::cat(category)};
  cl::opt<bool> inPlace{"in-place", cl::desc("in place only"),
                        cl::cat(category)};
  cl::opt<bool> csv{"csv",
                    cl::desc("comma-separated values on standard output"),
                    cl::cat(category)};
  using Registered = RunOptions::Registered;
  cl::opt<Registered, false, ListedParser<Registered>> registered{
      "registered",
      cl::ValueOptional,
      cl::desc("buffers that peers reach directly (coll_mem_alloc)"),
      cl::values(
          clEnumValN(Registered::None, "none", "none (the default)"),
          clEnumValN(Registered::All, "all", "all"),
          clEnumValN(Registered::In, "in", "all but outputs"),
          clEnumValN(Registered::Out, "out", "outputs"),
          clEnumValN(Registered::Even, "even", "those of ranks of even number"),
          clEnumValN(Registered::All, "", "all")),
      cl::init(Registered::None),
      cl::cat(category)};
  cl::opt<std::string> device{
      "device",
      cl::desc("host, cuda (a device for each rank, around) or cuda:N "
               "(COLL_DEVICE, or host)"),
      cl::value_desc("where"), cl::cat(category)};
  cl::opt<bool> threads{"as-threads",
                        cl::desc("ranks are threads of one process: so several "
                                 "share a device without taking turns"),
                        cl::cat(category)};
  cl::opt<uint64_t> replays{
      "G",
      cl::desc("on devices: capture the timed launches as a graph, and replay "
               "it so many times (0: no graph)"),
      cl::init(0), cl::value_desc("replays"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::desc("assembler of device code, or 'none': PTX alone"),
      cl::value_desc("program"), cl::cat(category)};
  cl::opt<bool> pin{"pin",
                    cl::desc("rank r stays on the r-th processor, around"),
                    cl::cat(category)};
  cl::opt<bool> countBytes{"count-bytes",
                           cl::desc("print the bytes that every rank's kernel "
                                    "reads and writes in a launch"),
                           cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("of the input data (1)"), cl::init(1),
                         cl::cat(category)};
  cl::opt<std::string> dump{
      "dump",
      cl::desc(
          "write every rank's inputs and outputs of the last row as raw files"),
      cl::value_desc("dir"), cl::cat(category)};
};
} // namespace

static bool fail(const llvm::Twine &message) {
  llvm::errs() << "coll-run: error: " << message << "\n";
  return false;
}

/// "64M", "1K", "4KiB", "100".
static bool readBytes(llvm::StringRef flag, llvm::StringRef text,
                      uint64_t &bytes) {
  llvm::StringRef digits = text.take_while(llvm::isDigit),
                  unit = text.drop_front(digits.size()), letter = unit;
  letter.consume_back("iB") || letter.consume_back("B");
  uint64_t scale = llvm::StringSwitch<uint64_t>(letter)
                       .Case("", 1)
                       .CasesLower({"k"}, 1 << 10)
                       .CasesLower({"m"}, 1 << 20)
                       .CasesLower({"g"}, 1 << 30)
                       .CasesLower({"t"}, uint64_t(1) << 40)
                       .Default(0);
  if (digits.empty())
    return fail("-" + flag + " " + text + ": not a number of bytes");
  if (scale == 0)
    return fail("-" + flag + " " + text + ": there is no unit '" + unit +
                "'; there are K, M, G and T");
  if (digits.getAsInteger(10, bytes) || bytes > (uint64_t(1) << 40) / scale)
    return fail("-" + flag + " " + text + ": more than 1T bytes");
  bytes *= scale;
  return true;
}

/// nccl-tests' names.
static std::string dtypeNames(llvm::StringRef list) {
  std::string names;
  for (llvm::StringRef part : llvm::split(list, ',')) {
    llvm::StringRef ours = llvm::StringSwitch<llvm::StringRef>(part)
                               .Cases({"float"}, "f32")
                               .Cases({"double"}, "f64")
                               .Cases({"half"}, "f16")
                               .Cases({"bfloat16"}, "bf16")
                               .Cases({"int8"}, "i8")
                               .Cases({"uint8"}, "u8")
                               .Cases({"int32"}, "i32")
                               .Cases({"uint32"}, "u32")
                               .Cases({"int64"}, "i64")
                               .Cases({"uint64"}, "u64")
                               .Default(part);
    names += (names.empty() ? "" : ",") + ours.str();
  }
  return names;
}

static bool readSizes(const Flags &flags, RunOptions &options) {
  if (!readBytes("b", flags.minBytes, options.minBytes) ||
      !readBytes("e", flags.maxBytes, options.maxBytes) ||
      !readBytes("i", flags.stepBytes, options.stepBytes))
    return false;
  options.factor = flags.factor;
  if (options.maxBytes < options.minBytes)
    return fail("-e is smaller than -b");
  if (options.stepBytes == 0 && flags.stepBytes.getNumOccurrences())
    return fail("-i " + flags.stepBytes + ": sizes would never grow");
  if (options.stepBytes == 0 && options.factor < 2 &&
      options.maxBytes > options.minBytes)
    return fail("-f " + llvm::Twine(options.factor) +
                ": sizes would never grow");
  return true;
}

static bool readCounts(const Flags &flags, RunOptions &options) {
  if (!flags.counts.getNumOccurrences())
    return true;
  for (llvm::StringRef part : llvm::split(flags.counts.getValue(), ',')) {
    uint64_t count;
    if (part.empty() || !llvm::all_of(part, llvm::isDigit))
      return fail("--counts " + part + ": not a number of elements");
    if (part.getAsInteger(10, count) || count > uint64_t(1) << 40)
      return fail("--counts " + part + ": more than " +
                  llvm::Twine(uint64_t(1) << 40) + " elements");
    options.counts.push_back(count);
  }
  return true;
}

static bool readIsa(const Flags &flags, RunOptions &options) {
  if (flags.isa.empty())
    return true;
  for (lowering::Isa isa : {lowering::Isa::V2, lowering::Isa::V3,
                            lowering::Isa::V4, lowering::Isa::AArch64})
    if (flags.isa == lowering::nameOf(isa))
      options.isa = isa;
  return options.isa.has_value() ||
         fail("--isa " + flags.isa + ": not v2, v3, v4 or aarch64");
}

/// What the runtime understands, too.
static bool readDevice(const Flags &flags, RunOptions &options) {
  const char *variable = getenv("COLL_DEVICE");
  std::string where = flags.device.getNumOccurrences() ? flags.device.getValue()
                      : variable                       ? variable
                                                       : "";
  llvm::StringRef text = where;
  int number = 0;
  if (text.consume_front("cuda:")) {
    if (text.getAsInteger(10, number) || number < 0)
      return fail("--device " + where + ": 'cuda:' and a device's number");
    options.gpu = number;
  } else if (!text.empty() && text != "host" && text != "cuda") {
    return fail("--device " + where + ": not host, cuda or cuda:N");
  }
  options.onGpus = llvm::StringRef(where).starts_with("cuda");
  options.threads = flags.threads;
  options.replays = flags.replays;
  options.ptxas = flags.ptxas;
  if (options.replays && !options.onGpus)
    return fail("-G " + llvm::Twine(options.replays) +
                ": graphs are of devices (--device cuda)");
  if (options.onGpus && flags.isa.getNumOccurrences())
    return fail("--isa is for hosts: not with --device " + where);
  if (options.onGpus && flags.countBytes)
    return fail("--count-bytes is for hosts: not with --device " + where);
  if (options.threads && flags.countBytes)
    return fail("--count-bytes counts for each process: not with --as-threads");
  return true;
}

static bool readRoots(const Flags &flags, RunOptions &options) {
  options.rootsAreNamed = flags.root.getNumOccurrences();
  // The root of an XML is part of it.
  if (flags.root == "all" ||
      (isForeign(options.file) && !flags.root.getNumOccurrences())) {
    options.allRoots = true;
    return true;
  }
  for (llvm::StringRef part : llvm::split(flags.root.getValue(), ',')) {
    int value;
    if (part.getAsInteger(10, value))
      return fail("-r " + part + ": not a number");
    options.roots.push_back(value);
  }
  return true;
}

static bool readRanks(const Flags &flags, RunOptions &options) {
  if (flags.ranks.empty())
    return isForeign(options.file) ||
           fail("--ranks is missing: how many processes? (N, or M,G)");
  llvm::Expected<RankSpec> ranks = parseRankSpec(flags.ranks);
  if (!ranks)
    return fail(llvm::toString(ranks.takeError()));
  if (ranks->isRange())
    return fail("--ranks " + flags.ranks +
                ": one number of processes, no range");
  uint64_t processes = 1;
  for (uint32_t dim : ranks->dims)
    processes *= dim;
  if (processes > maxRunRanks)
    return fail("--ranks " + flags.ranks +
                ": each is a process, and there may be " +
                llvm::Twine(maxRunRanks));
  options.ranks.push_back(*ranks);
  return true;
}

static bool readNames(const Flags &flags, RunOptions &options) {
  options.schedule = flags.schedule;
  if (llvm::Error error =
          splitSchedule(flags.file, options.file, options.schedule))
    return fail(llvm::toString(std::move(error)));
  if (llvm::Error error = parseDefines(flags.defines, options.defines))
    return fail(llvm::toString(std::move(error)));
  if (!readRanks(flags, options))
    return false;
  if (llvm::Error error =
          parseFormats(dtypeNames(flags.dtypes), options.dtypes))
    return fail("-d: " + llvm::toString(std::move(error)));
  options.allDtypes =
      llvm::is_contained(llvm::split(flags.dtypes.getValue(), ','), "all");
  if (llvm::Error error = parseReduceOps(flags.ops, options.ops))
    return fail("-o: " + llvm::toString(std::move(error)));
  return true;
}

/// Rank counts of --tune are a list, as each is measured.
static bool readTune(const Flags &flags, RunOptions &options) {
  options.tuneFile = flags.tune;
  options.iterations = flags.iterations;
  options.tuneSeconds = flags.tuneSeconds;
  if (flags.tune.empty() || !flags.file.empty())
    return fail("--tune FILE takes no schedule: it compares the library's");
  if (!readDevice(flags, options))
    return false;
  if (options.onGpus || options.threads)
    return fail("--tune measures processes on the host: not with --device or "
                "--as-threads");
  if (!readSizes(flags, options))
    return false;
  if (!flags.maxBytes.getNumOccurrences())
    options.maxBytes = 16 << 20;
  std::string list = flags.ranks.empty() ? "2,4,8" : flags.ranks.getValue();
  for (llvm::StringRef part : llvm::split(list, ',')) {
    uint32_t ranks;
    if (part.getAsInteger(10, ranks) || ranks < 2 || ranks > 64)
      return fail("--ranks " + part + ": --tune takes 2 to 64");
    if (!options.tuneRanks.empty() && options.tuneRanks.back() >= ranks)
      return fail("--ranks " + list + ": --tune takes them in order");
    options.tuneRanks.push_back(ranks);
  }
  return true;
}

std::optional<RunOptions> coll::parseRunOptions(int argc, char **argv) {
  Flags flags;
  setVersionPrinter("coll-run");
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return std::nullopt;
  RunOptions options;
  if (flags.tune.getNumOccurrences()) {
    if (!readTune(flags, options))
      return std::nullopt;
    return options;
  }
  if (flags.file.empty()) {
    fail("which schedule? FILE.coll[:SCHEDULE] or FILE.xml");
    return std::nullopt;
  }
  if (!readSizes(flags, options) || !readCounts(flags, options) ||
      !readIsa(flags, options) || !readDevice(flags, options) ||
      !readNames(flags, options) || !readRoots(flags, options))
    return std::nullopt;
  options.libraryDirs.assign(flags.includes.begin(), flags.includes.end());
  options.iterations = flags.iterations;
  options.warmup = flags.warmup;
  options.row = flags.row;
  options.rowIsNamed = flags.row.getNumOccurrences() != 0;
  options.check = flags.check != 0;
  options.inPlaceOnly = flags.inPlace;
  options.registered = flags.registered;
  options.pin = flags.pin;
  options.csv = flags.csv;
  options.countBytes = flags.countBytes;
  options.seed = flags.seed;
  options.dumpDir = flags.dump;
  if (options.row == 0) {
    fail("--row 0: a row has elements");
    return std::nullopt;
  }
  if (flags.check > 1) {
    fail("-c " + llvm::Twine(flags.check) + ": not 0 or 1");
    return std::nullopt;
  }
  if (!options.dumpDir.empty() && !options.check) {
    fail("--dump writes what is checked: not with -c 0");
    return std::nullopt;
  }
  return options;
}
