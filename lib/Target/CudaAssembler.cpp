//===- CudaAssembler.cpp - PTX to cubins with ptxas -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas is the only way to machine code, and it is a program: it gets the PTX
// as a file, and tells on its output what registers and memory each kernel
// takes. --fmad=false, since no instruction set may give other bits.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Cuda.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llvm;

/// No kernel takes seconds; one that hangs is not waited for for ever.
static constexpr unsigned assemblerSeconds = 300;

std::string coll::findPtxas(StringRef asked) {
  if (!asked.empty()) {
    if (sys::fs::can_execute(asked))
      return asked.str();
    return {};
  }
  static int anchor;
  std::string own = sys::fs::getMainExecutable("colc", &anchor);
  SmallString<128> cached(sys::path::parent_path(sys::path::parent_path(own)));
  sys::path::append(cached, "cuda", "bin", "ptxas");
  if (sys::fs::can_execute(cached))
    return std::string(cached);
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  constexpr StringRef usual = "/usr/local/cuda/bin/ptxas";
  return sys::fs::can_execute(usual) ? usual.str() : std::string();
}

/// The number before `what` in `line`, as in "96 registers".
static uint32_t numberBefore(StringRef line, StringRef what) {
  size_t at = line.find(what);
  if (at == StringRef::npos)
    return 0;
  StringRef before = line.substr(0, at).rtrim();
  uint32_t number = 0;
  size_t begin = before.find_last_not_of("0123456789");
  before.substr(begin == StringRef::npos ? 0 : begin + 1)
      .getAsInteger(10, number);
  return number;
}

std::vector<coll::KernelUse> coll::parseUses(StringRef text) {
  std::vector<KernelUse> uses;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  bool isKernel = false;
  for (StringRef line : lines) {
    constexpr StringRef entry = "Compiling entry function '";
    if (size_t at = line.find(entry); at != StringRef::npos) {
      StringRef rest = line.substr(at + entry.size());
      uses.push_back({rest.substr(0, rest.find('\'')).str()});
      isKernel = true;
    } else if (line.contains("Function properties for ")) {
      isKernel = !uses.empty() && line.ends_with(uses.back().symbol);
    }
    if (uses.empty() || !isKernel)
      continue;
    KernelUse &use = uses.back();
    if (line.contains("bytes stack frame")) {
      use.stack = numberBefore(line, " bytes stack frame");
      use.spillStores = numberBefore(line, " bytes spill stores");
      use.spillLoads = numberBefore(line, " bytes spill loads");
    }
    if (line.contains(" registers"))
      use.registers = numberBefore(line, " registers");
    if (line.contains(" bytes smem"))
      use.shared = numberBefore(line, " bytes smem");
  }
  return uses;
}

namespace {
/// A file of its own, gone with the object.
class Temporary {
public:
  explicit Temporary(StringRef suffix) {
    error = sys::fs::createTemporaryFile("colc", suffix, path);
    if (!error)
      remover.setFile(path);
  }
  SmallString<128> path;
  std::error_code error;

private:
  FileRemover remover;
};
} // namespace

static std::string textOf(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

Expected<coll::Cubin> coll::assemble(StringRef ptxas, StringRef ptx,
                                     unsigned chip) {
  Temporary input("ptx"), output("cubin"), said("log");
  for (const Temporary *file : {&input, &output, &said})
    if (file->error)
      return createStringError(file->error,
                               "no temporary file: " + file->error.message());
  std::error_code error;
  raw_fd_ostream os(input.path, error);
  os << ptx;
  os.close();
  if (error || os.has_error()) {
    os.clear_error();
    return createStringError("'" + input.path + "' cannot be written");
  }
  std::string arch = "--gpu-name=sm_" + std::to_string(chip);
  StringRef arguments[] = {ptxas, "-v", "-O3",       "--fmad=false",
                           arch,  "-o", output.path, input.path};
  std::optional<StringRef> redirects[] = {StringRef(), said.path.str(),
                                          said.path.str()};
  std::string why;
  int status = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects,
                                   assemblerSeconds, 0, &why);
  std::string text = textOf(said.path);
  if (status != 0)
    return createStringError(why.empty() ? StringRef(text).trim().str() : why);
  Cubin cubin{textOf(output.path), parseUses(text)};
  if (!StringRef(cubin.code)
           .starts_with("\x7f"
                        "ELF"))
    return createStringError("it has written no cubin");
  return cubin;
}
