//===- Session.cpp - From a file to checked programs ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Driver/Session.h"

#include "dialect/CollDialect.h"
#include "lib/Analysis/BytecodeBuilder.h"
#include "lib/Analysis/Symmetry.h"
#include "lib/Driver/Repair.h"
#include "lib/Frontend/SemaGlobals.h"
#include "lib/Lowering/Multimem.h"
#include "lib/Support/Slugs.h"

using namespace coll;

Verdict coll::worse(Verdict a, Verdict b) {
  auto order = [](Verdict v) {
    switch (v) {
    case Verdict::Right:
      return 0;
    case Verdict::Undecided:
      return 1;
    case Verdict::Wrong:
      return 2;
    case Verdict::Usage:
      return 3;
    }
    return 3;
  };
  return order(a) >= order(b) ? a : b;
}

std::string coll::describe(const RankDims &dims) {
  std::string text;
  for (uint32_t d : dims)
    text += (text.empty() ? "" : ", ") + std::to_string(d);
  return dims.size() == 1 ? text : "(" + text + ")";
}

// One schedule is too little work for threads, and coll-run forks.
Session::Session()
    : diags(sources), mlirContext(mlir::MLIRContext::Threading::DISABLED) {
  loadSemaDialects(mlirContext);
}

Verdict coll::verdictOf(const Diagnostic &diagnostic) {
  if (diagnostic.severity != Severity::Error)
    return Verdict::Right;
  switch (diagnostic.slug) {
  case Slug::CommandLine:
  case Slug::MissingParameter:
  case Slug::UnreadableFile:
  case Slug::UnwritableFile:
    return Verdict::Usage;
  default:
    return Verdict::Wrong;
  }
}

bool coll::isLimit(const Diagnostic &diagnostic) {
  switch (diagnostic.slug) {
  case Slug::TooManyMembers:
  case Slug::TooManySteps:
  case Slug::TooManyValues:
  case Slug::TooMuchMemory:
    return true;
  default:
    return false;
  }
}

Verdict Session::verdict() const {
  // Errors beyond those that are kept still count.
  Verdict verdict = diags.hasErrors() ? Verdict::Wrong : Verdict::Right;
  if (syntax.unreadable)
    verdict = Verdict::Usage;
  for (const Diagnostic &diagnostic : diags.diagnostics())
    verdict = worse(verdict, verdictOf(diagnostic));
  return verdict;
}

bool Session::parse(llvm::StringRef file,
                    llvm::ArrayRef<std::string> directories) {
  path = file.str();
  libraryDirs = directories.vec();
  LoadOptions options;
  options.libraryDirs = libraryDirs;
  syntax = loadProgram(sources, path, diags, options);
  return !syntax.hasErrors;
}

bool Session::parseAs(const Session &original, std::string text) {
  return sources.pretend(original.path, std::move(text)) &&
         parse(original.path, original.libraryDirs);
}

bool Session::hasSchedule(llvm::StringRef name) {
  llvm::StringRef file = sources.file(syntax.main->id).name();
  sema::Suggestion suggestion(name);
  std::string all;
  for (const Decl *decl : syntax.main->decls)
    if (decl->kind() == Decl::Kind::Schedule) {
      if (name.empty() || decl->name.text == name)
        return true;
      suggestion.offer(decl->name.text);
      all += (all.empty() ? "" : ", ") + decl->name.text.str();
    }
  std::string which = all.empty() ? "" : " '" + name.str() + "'";
  InFlight error = usage("'" + file + "' has no schedule" + which);
  if (!suggestion.best().empty())
    error.help({}, "did you mean '" + suggestion.best() + "'?");
  else if (!all.empty())
    error.help({}, "it has " + all);
  return false;
}

/// A parameter of a schedule, or one that is chosen at launch.
bool Session::checkDefine(llvm::StringRef name) {
  sema::Suggestion suggestion(name);
  for (const Bytecode &code : codes) {
    llvm::SmallVector<llvm::StringRef> known;
    for (const Instr &instr : code.code)
      if (instr.op == Opcode::Param)
        known.push_back(code.strings[instr.a]);
    for (const LaunchCode &launch : code.launches)
      known.push_back(launch.name);
    for (llvm::StringRef parameter : known) {
      if (parameter == name)
        return true;
      suggestion.offer(parameter);
    }
  }
  InFlight error =
      usage("-D " + name + ": " +
            (codes.size() == 1
                 ? "schedule '" + codes[0].schedule + "' has no such parameter"
                 : std::string("no schedule has such a parameter")));
  for (const Bytecode &code : codes)
    if (llvm::is_contained(code.rankNames, name)) {
      error.help({}, "--ranks gives the number of ranks");
      return false;
    }
  if (!suggestion.best().empty())
    error.help({}, "did you mean '" + suggestion.best() + "'?");
  return false;
}

bool Session::analyse(llvm::StringRef schedule,
                      llvm::ArrayRef<std::pair<std::string, int64_t>> defines) {
  choseAll = schedule.empty();
  if (!hasSchedule(schedule))
    return false;
  SemaOptions sema;
  sema.schedule = schedule.str();
  ir = emitModule(syntax, mlirContext, diags, sema);
  if (!ir || diags.hasErrors())
    return false;
  for (ScheduleOp op : ir->getOps<ScheduleOp>())
    codes.push_back(buildBytecode(op, sources));
  for (const auto &[name, value] : defines)
    if (!checkDefine(name))
      return false;
  return true;
}

/// With fewer ranks the whole costs next to nothing.
static constexpr uint64_t minSymmetricRanks = 129;

static uint64_t sizeOf(const RankDims &dims) {
  uint64_t size = 1;
  for (uint32_t dim : dims)
    size *= dim;
  return size;
}

/// Of a schedule that is executed whole; they take 0.6 GB.
static constexpr uint64_t maxValuesAtOnce = 1u << 22;
/// To hear what is wrong nobody waits for more.
static constexpr uint64_t maxValuesInParts = 1u << 24;

static bool isVerdictEnough(const InstanceOptions &options,
                            const RankDims &dims) {
  return options.mayUseSymmetry && sizeOf(dims) >= minSymmetricRanks;
}

/// True: it has decided about a member, and there is no need for more.
bool Session::checkSlice(const Bytecode &code, const Parameters &parameters,
                         Instance &instance, const InstanceOptions &options,
                         ElaborateResult &result) {
  if (!isVerdictEnough(options, instance.dims))
    return false;
  SymmetryOptions symmetry;
  symmetry.fewValues = options.maxProgramValues;
  symmetry.manyValues = maxValuesInParts;
  SymmetryResult slice = checkBySymmetry(code, parameters, diags, symmetry);
  if (slice.status == SymmetryResult::Wrong)
    return true; // as result.status says
  if (slice.status != SymmetryResult::Right)
    return false;
  result.status = ElaborateResult::Right;
  result.agreement = slice.agreement;
  result.disagreement = slice.disagreement;
  result.numValues = slice.numValues * slice.numSlices;
  instance.numSlices = slice.numSlices;
  return true;
}

/// Executes every member; what no program is made of is not kept.
bool Session::elaborateMembers(const Bytecode &code, Instance &instance,
                               const InstanceOptions &options) {
  auto failed = [&](ElaborateResult::Status status, const std::string &by) {
    instance.status = status == ElaborateResult::Excluded ? Instance::Excluded
                                                          : Instance::Failed;
    instance.excludedBy = by;
    return false;
  };
  Parameters parameters;
  parameters.rankDims = instance.dims;
  parameters.defines = options.defines;
  parameters.limits = options.limits;
  LaunchFamily family = enumerateLaunch(code, parameters, diags);
  if (family.status != ElaborateResult::Right)
    return failed(family.status, family.excludedBy);
  instance.numMembers = family.size();
  for (uint64_t m = 0; m < family.size(); ++m) {
    parameters.launch = family.member(m);
    ElaborateResult result;
    if (!checkSlice(code, parameters, instance, options, result))
      result = isVerdictEnough(options, instance.dims)
                   ? checkInParts(code, parameters, diags, maxValuesAtOnce)
                   : elaborate(code, parameters, diags);
    if (result.status != ElaborateResult::Right)
      return failed(result.status, result.excludedBy);
    if (result.agreement > instance.agreement) {
      instance.agreement = result.agreement;
      instance.disagreement = result.disagreement;
    }
    instance.numValues += result.numValues;
    if (m != 0) // those of the first stand for all
      result.graph.launchDomains.clear();
    if (instance.numValues <= options.maxProgramValues)
      instance.members.push_back(std::move(result.graph));
    else
      instance.members.clear();
  }
  instance.status = Instance::Checked;
  return true;
}

/// What goes to one place of all is put only where every kernel may store it at
/// once: a host's would do so rank by rank.
void InstanceOptions::setTargets(bool hasHost, unsigned chip) {
  isForDevices = !hasHost || chip;
  oldestChip = chip;
  schedule.mayMulticast = !hasHost && chip >= lowering::kMultimemChip;
}

Instance Session::instantiate(const Bytecode &code, const RankDims &dims,
                              const InstanceOptions &options) {
  Instance instance;
  instance.dims = dims;
  if (elaborateMembers(code, instance, options) &&
      instance.numValues <= options.maxProgramValues)
    makePrograms(code, instance, options);
  else if (instance.status == Instance::Failed && options.mayRepair)
    suggestRepair(*this, code, dims, options);
  return instance;
}

void Session::makePrograms(const Bytecode &code, Instance &instance,
                           const InstanceOptions &options) {
  instance.scheduled = schedule(instance.members, options.schedule);
  if (options.afterSchedule)
    options.afterSchedule(*instance.scheduled);
  if (instance.scheduled->refusal) {
    reportRefusal(diags, code, instance);
    instance.status = Instance::Failed;
    return;
  }
  verifyPrograms(instance);
}

void Session::verifyPrograms(Instance &instance) {
  ProgramCheckOptions checkOptions;
  checkOptions.fifos = {instance.scheduled->bulk, instance.scheduled->small};
  ProgramCheckResult check = checkPrograms(instance.scheduled->programs,
                                           instance.members, checkOptions);
  for (const ProgramError &error : check.errors)
    reportProgramError(diags, instance, error);
  if (!check.isRight())
    instance.status = Instance::Failed;
}
