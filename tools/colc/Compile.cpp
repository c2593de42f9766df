//===- Compile.cpp - colc without --check ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/colc/Compile.h"
#include "tools/colc/Device.h"

#include "lib/Driver/Plans.h"
#include "lib/Driver/Variants.h"
#include "lib/Interchange/MscclExport.h"
#include "lib/Support/Slugs.h"
#include "lib/Target/Cuda.h"
#include "lib/Transforms/ProgramToIR.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace coll;

static void unwritable(Session &session, llvm::StringRef path,
                       std::error_code error) {
  session.diags
      .error(Slug::UnwritableFile, {},
             "'" + path + "' cannot be written: " + error.message())
      .emit();
}

bool coll::writeOutput(Session &session, llvm::StringRef path,
                       llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (path.empty())
    path = "-";
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_None);
  if (!error) {
    write(file.os());
    file.os().flush();
    error = file.os().error();
    file.os().clear_error();
  }
  if (error) {
    unwritable(session, path == "-" ? "<stdout>" : path, error);
    return false;
  }
  file.keep();
  return true;
}

/// Every schedule at every rank space that its `where` allows.
static bool instantiateAll(Session &session, const Options &options,
                           std::vector<CompiledSchedule> &schedules) {
  InstanceOptions instanceOptions;
  instanceOptions.setTargets(options.host.hasHost, options.oldestChip());
  instanceOptions.dtypes = options.host.dtypes;
  instanceOptions.ops = options.host.ops;
  instanceOptions.defines = options.defines;
  for (const Bytecode &code : session.schedules()) {
    CompiledSchedule compiled;
    if (!compileSchedule(session, code, options.ranks, instanceOptions,
                         compiled))
      return false;
    if (!compiled.instances.empty())
      schedules.push_back(std::move(compiled));
  }
  if (schedules.empty())
    session.usage("'where' leaves nothing to compile").emit();
  return !schedules.empty();
}

static void emitPrograms(Session &session, const Options &options,
                         const std::vector<CompiledSchedule> &schedules) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const CompiledSchedule &schedule : schedules)
    for (const Instance &instance : schedule.instances) {
      mlir::OwningOpRef<mlir::ModuleOp> module = programToIR(
          instance.scheduled->programs, session.sources, session.context());
      if (!module) {
        session
            .usage("'" + schedule.name() + "' at " + describe(instance.dims) +
                   " ranks has more than " + llvm::Twine(maxStepsInIR) +
                   " steps, too many to print")
            .emit();
        return;
      }
      module->print(os);
      os << "\n";
    }
  writeOutput(session, options.output,
              [&](llvm::raw_ostream &out) { out << text; });
}

static void emitXml(Session &session, const Options &options,
                    const std::vector<CompiledSchedule> &schedules) {
  if (schedules.size() != 1 || schedules[0].instances.size() != 1) {
    session
        .usage("--emit=xml writes one schedule at one number of ranks: "
               "--schedule, --ranks")
        .emit();
    return;
  }
  const ProgramSet &programs = schedules[0].instances[0].scheduled->programs;
  if (auto algorithm = msccl::exportPrograms(programs, session.diags))
    writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
      msccl::writeXml(*algorithm, os);
    });
}

/// The base name of F.o and F.h.
static std::string baseOf(const Options &options) {
  llvm::StringRef output = options.output;
  if (output.empty())
    return llvm::sys::path::stem(options.file).str();
  output.consume_back(".o");
  return output.str();
}

/// The generator fails only if it is wrong itself.
static void internalError(Session &session, llvm::Error error) {
  session.diags
      .error(Slug::InternalProgram, {}, llvm::toString(std::move(error)))
      .emit();
}

/// Machine code or assembly. Into memory: the generator seeks in its stream,
/// which a pipe cannot, and an object that fails is not to be seen.
static bool generate(Session &session, llvm::Module &module,
                     llvm::TargetMachine &machine, bool assembly,
                     llvm::SmallVectorImpl<char> &code) {
  llvm::raw_svector_ostream os(code);
  llvm::Error error = emitCode(module, machine, assembly, os);
  if (!error)
    return true;
  internalError(session, std::move(error));
  return false;
}

/// A device or a pipe, which has no file of a similar name beside it.
static bool isStream(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !path.empty() && !llvm::sys::fs::status(path, status) &&
         llvm::sys::fs::is_other(status);
}

static void emitObject(Session &session, llvm::ArrayRef<Plan> plans,
                       const Options &options,
                       const llvm::SmallVectorImpl<char> &code) {
  auto writeCode = [&](llvm::raw_ostream &os) {
    os.write(code.data(), code.size());
  };
  // As compilers do: `-o /dev/null` only wants to know whether it compiles.
  if (isStream(options.output)) {
    writeOutput(session, options.output, writeCode);
    return;
  }
  std::string base = baseOf(options);
  if (base == "-") {
    session.usage("an object and its header need a name: -o F").emit();
    return;
  }
  bool good = writeOutput(session, base + ".o", writeCode);
  if (!good)
    return;
  good = writeOutput(session, base + ".h", [&](llvm::raw_ostream &os) {
    writeHeader(plans, llvm::sys::path::filename(base + ".h"), os);
  });
  if (!good)
    llvm::sys::fs::remove(base + ".o");
}

static void emitMachineCode(Session &session, const Options &options,
                            llvm::ArrayRef<Plan> plans) {
  if (isDeviceText(options))
    return emitDeviceText(session, options, plans);
  std::vector<DeviceCode> devices;
  if (!compileDevices(session, options, plans, devices))
    return;
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      createHostMachine(options.host.arch);
  if (!machine)
    return internalError(session, machine.takeError());
  llvm::LLVMContext context;
  auto module = compileHost(&session.context(), context, plans, options.host,
                            **machine, devices);
  if (!module)
    return internalError(session, module.takeError());
  if (options.emit == Emit::Llvm) {
    writeOutput(session, options.output,
                [&](llvm::raw_ostream &os) { (*module)->print(os, nullptr); });
    return;
  }
  llvm::SmallVector<char, 0> code;
  bool assembly = options.emit == Emit::Asm;
  if (!generate(session, **module, **machine, assembly, code))
    return;
  if (!assembly)
    return emitObject(session, plans, options, code);
  writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
    os.write(code.data(), code.size());
  });
}

/// Says what plans lack of what was asked for. Of several schedules, each has
/// what it can have.
static bool fitVariants(Session &session, const Options &options,
                        llvm::ArrayRef<Plan> plans) {
  bool isSome = plans.size() > 1;
  for (const Plan &plan : plans) {
    std::vector<lowering::Format> dtypes = options.host.dtypes;
    std::vector<lowering::ReduceOp> ops = options.host.ops;
    if (!fitDtypes(session, plan, isSome || options.allDtypes, dtypes) ||
        !fitOps(session, plan, isSome || options.allOps, ops))
      return false;
  }
  return true;
}

static void emitAll(Session &session, const Options &options,
                    const std::vector<CompiledSchedule> &schedules) {
  if (options.emit == Emit::Program)
    return emitPrograms(session, options, schedules);
  if (options.emit == Emit::Xml)
    return emitXml(session, options, schedules);
  std::vector<Plan> plans;
  for (const CompiledSchedule &schedule : schedules) {
    std::optional<Plan> plan = planOf(session, schedule);
    if (!plan)
      return;
    plans.push_back(std::move(*plan));
  }
  if (!fitVariants(session, options, plans))
    return;
  if (options.emit != Emit::Kernel)
    return emitMachineCode(session, options, plans);
  writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
    for (const Plan &plan : plans)
      makeKernels(&session.context(), plan, options.host).module->print(os);
  });
}

void coll::compile(Session &session, const Options &options) {
  if (options.ranks.empty()) {
    session.usage("--ranks is missing: for how many ranks? (N, M,G or A..B)")
        .emit();
    return;
  }
  std::vector<CompiledSchedule> schedules;
  if (instantiateAll(session, options, schedules))
    emitAll(session, options, schedules);
}

/// A file is read to be written again without being judged, so that one that is
/// wrong can be put in order.
static void rewriteXml(Session &session, const Options &options) {
  FileId file = msccl::openXml(session.sources, session.diags, options.file);
  if (file == noFile)
    return;
  if (auto algorithm = msccl::readXml(session.sources, session.diags, file))
    writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
      msccl::writeXml(*algorithm, os);
    });
}

void coll::compileXml(Session &session, const Options &options) {
  if (options.emit == Emit::Xml)
    return rewriteXml(session, options);
  if (options.emit == Emit::Ast || options.emit == Emit::Coll) {
    session.usage("an XML has no source in coll: not --emit=ast or coll")
        .emit();
    return;
  }
  if (!options.defines.empty()) {
    session
        .usage("-D " + options.defines[0].first + ": an XML has no parameters")
        .emit();
    return;
  }
  std::vector<CompiledSchedule> schedules;
  auto schedule =
      compileForeign(session, options.file, options.schedule, options.ranks);
  if (!schedule)
    return;
  schedules.push_back(std::move(*schedule));
  if (options.emit != Emit::Report)
    return emitAll(session, options, schedules);
  const Instance &instance = schedules[0].instances[0];
  const ProgramSet &programs = instance.scheduled->programs;
  writeOutput(session, options.output, [&](llvm::raw_ostream &os) {
    os << printReport(programs, reportOn(programs, 0, instance.members[0]));
    for (unsigned chip : options.chips)
      os << reportOnDevice(programs, chip);
  });
}
