//===- HostObject.cpp - Programs to an object and its header --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Target/HostObject.h"

#include "lib/Target/FenceCheck.h"

#include "llvm/Linker/Linker.h"

using namespace coll;
using namespace coll::lowering;

namespace {
/// Numbers the statements of a plan; the same statement at several rank counts
/// is one.
class SiteTable {
public:
  SiteTable(const SourceManager &sources, std::vector<PlanSite> &sites)
      : sources(sources), sites(sites) {}
  uint32_t idOf(const ProgramSet &programs, SiteId site);

private:
  const SourceManager &sources;
  std::vector<PlanSite> &sites;
  std::map<std::tuple<FileId, uint32_t, uint32_t>, uint32_t> ids;
};
} // namespace

/// The statement's text with all white space runs as one blank, so that a
/// report has it on one line.
static std::string oneLine(llvm::StringRef text) {
  std::string line;
  for (char c : text) {
    bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  constexpr size_t longest = 120;
  if (line.size() > longest)
    line.replace(longest - 3, std::string::npos, "...");
  return line;
}

uint32_t SiteTable::idOf(const ProgramSet &programs, SiteId site) {
  SourceRange range =
      site == kNone ? SourceRange() : programs.sites[site].range;
  auto [it, isNew] =
      ids.try_emplace({range.file, range.begin, range.end}, sites.size());
  if (!isNew)
    return it->second;
  PlanSite info;
  if (range.isValid()) {
    const SourceFile &file = sources.file(range.file);
    LineColumn position = file.position(range.begin);
    info = {file.name().str(),
            oneLine(file.text().slice(range.begin, range.end)), position.line,
            position.column};
  }
  sites.push_back(info);
  return it->second;
}

Plan coll::makePlan(const ScheduleInput &input, const SourceManager &sources) {
  Plan plan;
  plan.name = input.name;
  SiteTable sites(sources, plan.sites);
  for (const ScheduleResult *scheduled : input.scheduled) {
    const ProgramSet *programs = &scheduled->programs;
    PlanRanks ranks;
    ranks.programs = programs;
    ranks.bulk = scheduled->bulk;
    ranks.small = scheduled->small;
    ranks.classes = classifyRanks(*programs);
    for (const RankClass &rankClass : ranks.classes.classes)
      ranks.tables.push_back(
          buildClassTable(*programs, rankClass, plan.shapes, [&](SiteId site) {
            return sites.idOf(*programs, site);
          }));
    plan.ranks.push_back(std::move(ranks));
  }
  return plan;
}

static std::vector<Isa> isasOf(const HostOptions &options) {
  if (!options.isas.empty())
    return options.isas;
  if (options.arch == HostArch::AArch64)
    return {Isa::AArch64};
  return {Isa::V2, Isa::V3, Isa::V4};
}

KernelModule coll::makeKernels(mlir::MLIRContext *context, const Plan &plan,
                               const HostOptions &options,
                               std::optional<DeviceShape> device) {
  const ProgramSet &programs = plan.any();
  KernelRequest request;
  request.device = device;
  request.plan = plan.name;
  request.isas = isasOf(options);
  request.countBytes = options.countBytes;
  request.vectorCounts = !programs.launchCounts.empty();
  request.byRow = programs.map.byRow;
  request.inBlocks = hasBlocks(plan.shapes);
  bool reduces = programs.reduces && hasElements(programs);
  if (needsDtype(plan.shapes.all(), reduces))
    request.dtypes = options.dtypes;
  if (reduces) {
    request.ops = options.ops;
    if (!programs.isAvgLegal)
      llvm::erase(request.ops, ReduceOp::Avg);
  }
  return buildKernels(context, plan.shapes.all(), programs.functions, request);
}

static KernelModule noKernels(mlir::MLIRContext *context) {
  loadKernelDialects(context);
  KernelModule result;
  result.module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  return result;
}

llvm::Expected<std::unique_ptr<llvm::Module>>
coll::compileHost(mlir::MLIRContext *mlirContext, llvm::LLVMContext &context,
                  llvm::ArrayRef<Plan> plans, const HostOptions &options,
                  llvm::TargetMachine &machine,
                  llvm::ArrayRef<DeviceCode> devices) {
  std::unique_ptr<llvm::Module> all;
  for (auto [i, plan] : llvm::enumerate(plans)) {
    KernelModule kernels = options.hasHost
                               ? makeKernels(mlirContext, plan, options)
                               : noKernels(mlirContext);
    auto module = translateKernels(*kernels.module, context, machine);
    if (!module)
      return module.takeError();
    addPlanData(**module, plan, kernels.kernels,
                devices.empty() ? DeviceCode() : devices[i]);
    if (!all)
      all = std::move(*module);
    else if (llvm::Linker::linkModules(*all, std::move(*module)))
      return llvm::createStringError("internal error: kernels do not link");
  }
  optimize(*all, machine);
  if (llvm::Error error = checkFences(*all))
    return error;
  return all;
}
