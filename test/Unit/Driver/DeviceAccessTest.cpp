//===- DeviceAccessTest.cpp - Shared words of device code -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that the compiler makes is taken, as it is built and as it is optimized;
// with one access weakened, of every kind of word, it is refused.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"
#include "lib/Target/Cuda.h"
#include "lib/Target/DeviceFlow.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <gtest/gtest.h>
#include <set>

using namespace coll;
using Order = llvm::AtomicOrdering;

namespace {

constexpr unsigned chip = 90;

/// An order and a scope, of a load, a store or a compare-exchange.
struct Strength {
  Order order;
  llvm::SyncScope::ID scope;
};

Strength strengthOf(const llvm::Instruction &access) {
  if (const auto *load = llvm::dyn_cast<llvm::LoadInst>(&access))
    return {load->getOrdering(), load->getSyncScopeID()};
  if (const auto *store = llvm::dyn_cast<llvm::StoreInst>(&access))
    return {store->getOrdering(), store->getSyncScopeID()};
  if (const auto *swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access))
    return {swap->getSuccessOrdering(), swap->getSyncScopeID()};
  return {Order::NotAtomic, llvm::SyncScope::System};
}

void setStrength(llvm::Instruction &access, Strength strength) {
  if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&access))
    load->setAtomic(strength.order, strength.scope);
  else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&access))
    store->setAtomic(strength.order, strength.scope);
  else if (auto *swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&access)) {
    swap->setSuccessOrdering(strength.order);
    swap->setSyncScopeID(strength.scope);
  }
}

/// "coll_ring_line.tail" of "... has a weak load of coll_ring_line.tail: ...".
std::string wordOf(llvm::StringRef refusal) {
  return refusal.split(" of ").second.split(":").first.str();
}

class Weakening {
public:
  Weakening(BuiltDevice &built, bool isBuilt)
      : built(built), isBuilt(isBuilt),
        device(built.module->getContext().getOrInsertSyncScopeID("device")),
        block(built.module->getContext().getOrInsertSyncScopeID("block")) {}
  /// Judges every strong access but those of shared memory.
  void judgeAll();
  std::set<std::string> refused; // words
  unsigned count = 0, lines = 0;

private:
  std::string check() const {
    return llvm::toString(
        checkDeviceAccesses(*built.module, built.cells, isBuilt));
  }
  void expectRefused(llvm::Instruction &access, Strength weaker);
  void expectRefused(const llvm::Instruction &access);
  void judgeLine(llvm::Instruction &access);
  BuiltDevice &built;
  const bool isBuilt;
  llvm::SyncScope::ID device, block;
};

void Weakening::expectRefused(llvm::Instruction &access, Strength weaker) {
  Strength before = strengthOf(access);
  setStrength(access, weaker);
  expectRefused(access);
  setStrength(access, before);
}

/// As it is now.
void Weakening::expectRefused(const llvm::Instruction &access) {
  std::string refusal = check();
  std::string text;
  llvm::raw_string_ostream(text) << access;
  ++count;
  EXPECT_NE(refusal, "") << access.getFunction()->getName().str() << text;
  if (!refusal.empty())
    refused.insert(wordOf(refusal));
}

/// A lane's part of a line: it is volatile, and nothing else says that it is no
/// weak access. Behind the optimizer ports are memory and lines in turn.
void Weakening::judgeLine(llvm::Instruction &access) {
  auto set = [&](bool isVolatile) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&access))
      load->setVolatile(isVolatile);
    else
      llvm::cast<llvm::StoreInst>(access).setVolatile(isVolatile);
  };
  ++lines;
  if (!isBuilt)
    return;
  set(false);
  expectRefused(access);
  set(true);
}

void Weakening::judgeAll() {
  ASSERT_EQ(check(), "");
  DeviceFlow flow(*built.module, built.cells);
  for (llvm::Function &function : *built.module)
    for (llvm::Instruction &access : llvm::instructions(function)) {
      if (access.isVolatile() && flow.isReached(function))
        judgeLine(access);
      auto [order, scope] = strengthOf(access);
      if (order == Order::NotAtomic || scope == block ||
          !flow.isReached(function))
        continue;
      const bool isSwap = llvm::isa<llvm::AtomicCmpXchgInst>(access);
      // Steps are one function then, and ports are of either kind in turn.
      const bool isPacket = function.getName().ends_with("_ll") &&
                            !function.getName().starts_with("coll_");
      if (!isSwap && (isBuilt || !isPacket))
        expectRefused(access, {Order::NotAtomic, llvm::SyncScope::System});
      // A token's order is not seen here.
      if (order != Order::Monotonic &&
          !function.getName().starts_with("coll_token"))
        expectRefused(access, {Order::Monotonic, scope});
      expectRefused(access, {order, scope == device ? block : device});
    }
}

/// The words that are refused of a schedule's code, in both forms.
std::set<std::string> refusedOf(const std::string &file,
                                const std::string &name, unsigned &count) {
  Session session;
  std::set<std::string> words;
  CompiledSchedule compiled;
  std::optional<Plan> plan;
  if (session.parse(file, {}) && session.analyse(name, {}) &&
      compileSchedule(session, session.schedules().front(),
                      {llvm::cantFail(parseRankSpec("3"))}, {}, compiled))
    plan = planOf(session, compiled);
  EXPECT_TRUE(plan) << file << ":" << name;
  if (!plan)
    return words;
  HostOptions options;
  options.dtypes = {lowering::Format::F32};
  options.ops = {lowering::ReduceOp::Sum};
  llvm::LLVMContext context;
  BuiltDevice built = llvm::cantFail(
      buildDevice(&session.context(), context, *plan, options, chip));
  for (bool isBuilt : {true, false}) {
    if (!isBuilt) {
      std::string wrong = llvm::toString(finishDevice(built, chip));
      EXPECT_EQ(wrong, "");
    }
    Weakening weakening(built, isBuilt);
    weakening.judgeAll();
    words.merge(weakening.refused);
    count += weakening.count;
    EXPECT_EQ(weakening.lines != 0,
              file.ends_with("lines.coll") && name != "tokens")
        << name;
  }
  return words;
}

TEST(DeviceAccess, RefusesWeakAccessesOfEveryWord) {
  std::set<std::string> words;
  unsigned count = 0;
  for (auto [file, name] :
       {std::pair("packets.coll", "ringed"),
        std::pair("packets.coll", "tokens"),
        std::pair("direct.coll", "shift_and_spread"),
        std::pair("lines.coll", "ringed"), std::pair("lines.coll", "tokens")})
    words.merge(refusedOf((llvm::Twine(COLL_EMULATOR_INPUTS "/") + file).str(),
                          name, count));
  const std::pair<llvm::StringRef, llvm::StringRef> all[] = {
      {"coll_ring_line.", "tail,dtail,avail,cleaned"},
      {"coll_credit_line.", "head,small_head,rtr,ack"},
      {"coll_device_signal.", "steps,entered"},
      {"coll_block.", "progress,wait_since,want,have,result,launch,runs"},
      {"", "the abort word,a flag word,packets,what may be packets,lines"}};
  for (auto [of, fields] : all)
    for (llvm::StringRef field : llvm::split(fields, ','))
      EXPECT_TRUE(words.erase((of + field).str())) << of.str() << field.str();
  EXPECT_TRUE(words.empty()) << "not in the list above: " << *words.begin();
  EXPECT_GT(count, 300u);
}

} // namespace
