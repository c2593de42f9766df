//===- Compile.cpp - colc without --check ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/Compile.h"

#include "lib/Driver/Plans.h"
#include "lib/Transforms/ProgramToIR.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "tools/colc/Check.h"

using namespace coll;

std::unique_ptr<llvm::raw_pwrite_stream> coll::openOutput(llvm::StringRef path) {
  std::error_code error;
  auto os = std::make_unique<llvm::raw_fd_ostream>(path.empty() ? "-" : path, error);
  if (!error)
    return os;
  llvm::errs() << "colc: error: cannot write '" << path << "': " << error.message() << "\n";
  return nullptr;
}

static Verdict fail(const llvm::Twine &message, Verdict verdict = Verdict::Usage) {
  llvm::errs() << "colc: error: " << message << "\n";
  return verdict;
}

/// Every schedule at every rank space that its `where` allows.
static Verdict instantiateAll(Session &session, const Options &options, std::vector<CompiledSchedule> &schedules) {
  Verdict verdict = Verdict::Right;
  for (const Bytecode &code : session.schedules()) {
    std::vector<RankDims> spaces = rankSpacesOf(code, options, verdict);
    if (verdict != Verdict::Right)
      return verdict;
    InstanceOptions instanceOptions;
    instanceOptions.defines = options.defines;
    CompiledSchedule compiled{code.schedule, {}};
    std::string problem = compileSchedule(session, code, spaces, instanceOptions, compiled);
    if (session.diags.hasErrors())
      return Verdict::Wrong;
    if (!problem.empty())
      return fail(problem);
    schedules.push_back(std::move(compiled));
  }
  return verdict;
}

static Verdict emitPrograms(Session &session, const Options &options, const std::vector<CompiledSchedule> &schedules) {
  auto os = openOutput(options.output);
  if (!os)
    return Verdict::Usage;
  for (const CompiledSchedule &schedule : schedules)
    for (const Instance &instance : schedule.instances) {
      mlir::OwningOpRef<mlir::ModuleOp> module = programToIR(instance.scheduled->programs, session.sources, session.context());
      if (!module)
        return fail("'" + schedule.name + "' at " + describe(instance.dims) + " ranks has more than " + llvm::Twine(maxStepsInIR) +
                    " steps, too many to print");
      module->print(*os);
      *os << "\n";
    }
  return Verdict::Right;
}

/// The base name of F.o and F.h.
static std::string baseOf(const Options &options) {
  llvm::StringRef output = options.output;
  if (output.empty())
    return llvm::sys::path::stem(options.file).str();
  output.consume_back(".o");
  return output.str();
}

static Verdict emitObject(llvm::Module &module, llvm::TargetMachine &machine, llvm::ArrayRef<Plan> plans, const Options &options) {
  std::string base = baseOf(options);
  llvm::SmallVector<char> code;
  llvm::raw_svector_ostream codeStream(code);
  if (llvm::Error error = emitCode(module, machine, false, codeStream))
    return fail(llvm::toString(std::move(error)), Verdict::Wrong);
  auto object = openOutput(base + ".o"), header = openOutput(base + ".h");
  if (!object || !header)
    return Verdict::Usage;
  object->write(code.data(), code.size());
  writeHeader(plans, llvm::sys::path::filename(base + ".h"), *header);
  return Verdict::Right;
}

static Verdict emitMachineCode(Session &session, const Options &options, llvm::ArrayRef<Plan> plans) {
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine = createHostMachine(options.host.arch);
  if (!machine)
    return fail(llvm::toString(machine.takeError()));
  llvm::LLVMContext context;
  auto module = compileHost(&session.context(), context, plans, options.host, **machine);
  if (!module)
    return fail(llvm::toString(module.takeError()), Verdict::Wrong);
  if (options.emit == Emit::Object)
    return emitObject(**module, **machine, plans, options);
  auto os = openOutput(options.output);
  if (!os)
    return Verdict::Usage;
  if (options.emit == Emit::Llvm) {
    (*module)->print(*os, nullptr);
    return Verdict::Right;
  }
  // The code generator seeks in its stream, which a pipe cannot.
  llvm::SmallVector<char> text;
  llvm::raw_svector_ostream textStream(text);
  if (llvm::Error error = emitCode(**module, **machine, true, textStream))
    return fail(llvm::toString(std::move(error)), Verdict::Wrong);
  os->write(text.data(), text.size());
  return Verdict::Right;
}

Verdict coll::compile(Session &session, const Options &options) {
  if (options.ranks.empty())
    return fail("--ranks is missing: for how many ranks? (N, M,G or A..B)");
  std::vector<CompiledSchedule> schedules;
  Verdict verdict = instantiateAll(session, options, schedules);
  if (verdict != Verdict::Right)
    return verdict;
  if (options.emit == Emit::Program)
    return emitPrograms(session, options, schedules);
  std::vector<Plan> plans;
  for (const CompiledSchedule &schedule : schedules) {
    llvm::Expected<Plan> plan = planOf(session, schedule);
    if (!plan)
      return fail(llvm::toString(plan.takeError()), Verdict::Wrong);
    plans.push_back(std::move(*plan));
  }
  if (options.emit != Emit::Kernel)
    return emitMachineCode(session, options, plans);
  auto os = openOutput(options.output);
  if (!os)
    return Verdict::Usage;
  for (const Plan &plan : plans)
    makeKernels(&session.context(), plan, options.host).module->print(*os);
  return Verdict::Right;
}
