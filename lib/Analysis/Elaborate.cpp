//===- Elaborate.cpp - Executing a schedule for concrete parameters -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the machine, then compares what it left in `out` with the contract. Only
// if something is wrong the schedule runs again, with every write recorded, and
// perhaps some more times, to see whether a `group` would repair it.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/Elaborate.h"

#include "lib/Analysis/ElaborateExecution.h"
#include "lib/Analysis/ElaborateWords.h"
#include "lib/Support/Slugs.h"

using namespace coll;
using namespace coll::elab;

/// A repair by `group` is looked for in schedules of at most so many values,
/// and in at most so many loops.
constexpr size_t maxTrialValues = 200'000;
constexpr unsigned maxTrials = 4;

bool Execution::run() {
  if (machine.sink.failure)
    return false;
  Frame frame = machine.makeFrame();
  if (machine.run(frame) != Machine::Run::Done || machine.excludedBy != kNone)
    return false;
  if (machine.isJoining())
    return true;
  frame.pc = machine.code.ensures;
  if (machine.run(frame) != Machine::Run::Done)
    return false;
  check.emplace(machine);
  return check->run();
}

//===----------------------------------------------------------------------===//
// A wrong schedule
//===----------------------------------------------------------------------===//

/// Loops around an instruction of the site that may be made a group, innermost
/// first.
static std::vector<uint32_t> loopsAround(const Bytecode &code, SiteId site) {
  std::vector<uint32_t> loops;
  for (uint32_t l = code.loops.size(); l-- > 0;) {
    const LoopCode &loop = code.loops[l];
    auto isIn = [&](uint32_t pc) { return pc >= loop.body && pc < loop.end; };
    bool hasSite = false, isPlain = true;
    for (uint32_t pc = loop.body; pc < loop.end; ++pc) {
      Opcode op = code.code[pc].op;
      hasSite |= op == Opcode::Transfer && code.sites[pc] == site;
      isPlain &=
          op != Opcode::GroupBegin && op != Opcode::On && op != Opcode::Tmp;
    }
    for (const OnCode &on : code.ons)
      isPlain &=
          !(loop.body >= on.body && loop.end <= on.end) && !isIn(on.body);
    if (hasSite && isPlain)
      loops.push_back(l);
  }
  return loops;
}

/// Executed here, and with up to two more ranks in each dimension: what is
/// right by accident, since so few ranks hardly differ, seldom stays right.
static bool keepsContract(const Bytecode &code, const Parameters &params,
                          uint32_t groupedLoop) {
  constexpr uint32_t mostAdded = 2;
  for (uint32_t added = 0; added <= mostAdded; ++added) {
    Parameters larger = params;
    for (uint32_t &dim : larger.rankDims)
      dim += added;
    Execution trial(code, larger);
    trial.machine.groupedLoop = groupedLoop;
    const bool isRight = trial.run();
    const bool isMeant = trial.machine.excludedBy == kNone;
    if (!isRight && (added == 0 || isMeant))
      return false;
  }
  return true;
}

void elab::findGroup(const Bytecode &code, const Parameters &params,
                     uint64_t numValues, ContractFault &fault) {
  if (numValues > maxTrialValues)
    return;
  std::vector<uint32_t> loops = loopsAround(code, fault.culprit);
  for (const ContractFault::Link &link : fault.chain)
    for (uint32_t loop : loopsAround(code, link.site))
      if (!llvm::is_contained(loops, loop))
        loops.push_back(loop);
  if (loops.size() > maxTrials)
    loops.resize(maxTrials);
  for (uint32_t loop : loops)
    if (keepsContract(code, params, loop)) {
      fault.groupLoop = loop;
      return;
    }
}

static void reportWrong(const Bytecode &code, const Parameters &params,
                        DiagnosticEngine &diags) {
  Execution again(code, params);
  again.machine.state.trace = &again.trace;
  again.run();
  ContractFault fault = explainContract(*again.check, again.trace);
  findGroup(code, params, again.machine.graph.values.size(), fault);
  Words(again.machine, diags).report(fault);
}

//===----------------------------------------------------------------------===//
// A right one
//===----------------------------------------------------------------------===//

void elab::collectOutputs(Machine &m) {
  ChunkGraph &graph = m.graph;
  for (Rank rank = 0; rank < graph.numRanks(); ++rank)
    for (uint32_t b = 0; b < graph.buffers.size(); ++b)
      for (const Array &array : m.state.arrays) {
        if (array.buffer != b || graph.buffers[b].kind != Buffer::Out ||
            !graph.buffers[b].present[rank])
          continue;
        for (uint32_t cell = 0; cell < array.cells; ++cell) {
          uint64_t index = array.index(rank, cell);
          ValueId value = array.get(index);
          if (value != kNone)
            graph.outputs.push_back({rank, m.state.cellOf(array, cell), value,
                                     array.writer(index)});
        }
      }
  auto key = [](const InplacePair &p) {
    return std::tuple(p.rank, p.bufferA, p.partA, p.bufferB, p.partB);
  };
  llvm::sort(graph.inplace, [&](const InplacePair &a, const InplacePair &b) {
    return key(a) < key(b);
  });
}

std::string
elab::describeDisagreement(const ContractCheck &check, const Words &words,
                           const ContractCheck::Comparison &comparison) {
  const Promise &a = check.m.promises[comparison.promise],
                &b = check.m.promises[comparison.other];
  return words.location(a.array, a.cell) + " of ranks " + words.rank(a.rank) +
         " and " + words.rank(b.rank);
}

ElaborateResult coll::elaborate(const Bytecode &code, const Parameters &params,
                                DiagnosticEngine &diags) {
  ElaborateResult result;
  auto execution = std::make_unique<Execution>(code, params);
  Machine &m = execution->machine;
  Words words(m, diags);
  bool isRight = execution->run();
  if (m.sink.failure) {
    words.report(*m.sink.failure);
    return result;
  }
  if (m.excludedBy != kNone) {
    result.status = ElaborateResult::Excluded;
    result.excludedBy = code.strings[m.excludedBy];
    result.excludedAt = m.excludedAt;
    return result;
  }
  if (!isRight) {
    execution.reset(); // it takes as much memory as the next one
    reportWrong(code, params, diags);
    return result;
  }
  ContractCheck &check = *execution->check;
  collectOutputs(m);
  check.markComplete();
  ContractCheck::Comparison comparison = check.compareBits();
  result.agreement = comparison.agreement;
  if (comparison.agreement != Agreement::Yes)
    result.disagreement = describeDisagreement(check, words, comparison);
  DeadFinder dead;
  dead.add(m);
  words.report(dead.finish(m));
  result.status = ElaborateResult::Right;
  result.regions = std::move(m.regions);
  result.numValues = m.graph.values.size();
  m.builder.finish();
  result.graph = std::move(m.graph);
  return result;
}

//===----------------------------------------------------------------------===//
// Launch members
//===----------------------------------------------------------------------===//

std::vector<uint32_t> LaunchFamily::member(uint64_t index) const {
  std::vector<uint32_t> values(domains.size());
  for (size_t d = domains.size(); d-- > 0; index /= domains[d].size())
    values[d] = domains[d][index % domains[d].size()];
  return values;
}

/// How many members there are is known before the first is executed.
static bool isFamilyTooLarge(const Machine &m, DiagnosticEngine &diags) {
  uint64_t members = 1;
  uint32_t launch = 0;
  for (auto [instr, site] : llvm::zip_equal(m.code.code, m.code.sites)) {
    if (instr.op != Opcode::Launch || launch == m.graph.launchDomains.size())
      continue;
    members *= m.graph.launchDomains[launch++].size();
    if (members <= m.params.limits.members)
      continue;
    diags
        .error(Slug::TooManyMembers,
               site == kNone ? SourceRange() : m.code.siteTable[site].range,
               "the launch parameters have more than " +
                   llvm::Twine(m.params.limits.members) +
                   " values together, and each is a schedule of its own")
        .help({}, "-D gives one of them a value");
    return true;
  }
  return false;
}

LaunchFamily coll::enumerateLaunch(const Bytecode &code,
                                   const Parameters &params,
                                   DiagnosticEngine &diags) {
  LaunchFamily family;
  if (code.launches.empty()) {
    family.status = ElaborateResult::Right;
    return family;
  }
  Machine m(code, params);
  m.wantsDomains = true;
  if (!m.sink.failure) {
    Frame frame = m.makeFrame();
    m.run(frame);
  }
  if (m.sink.failure) {
    Words(m, diags).report(*m.sink.failure);
    return family;
  }
  if (m.excludedBy != kNone) {
    family.status = ElaborateResult::Excluded;
    family.excludedBy = code.strings[m.excludedBy];
    return family;
  }
  if (isFamilyTooLarge(m, diags))
    return family;
  family.status = ElaborateResult::Right;
  family.domains = std::move(m.graph.launchDomains);
  return family;
}
