//===- DeviceAccessTest.cpp - Shared words of device code -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that the compiler makes is taken, as it is built and as it is optimized;
// with one access weakened, of every kind of word, it is refused. What no
// lowering would make is written by hand.
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/Plans.h"
#include "lib/Target/Cuda.h"
#include "lib/Target/DeviceFlow.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/SourceMgr.h"

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
  unsigned count = 0;

private:
  std::string check() const {
    return llvm::toString(
        checkDeviceAccesses(*built.module, built.cells, isBuilt));
  }
  void expectRefused(llvm::Instruction &access, Strength weaker);
  BuiltDevice &built;
  const bool isBuilt;
  llvm::SyncScope::ID device, block;
};

void Weakening::expectRefused(llvm::Instruction &access, Strength weaker) {
  Strength before = strengthOf(access);
  setStrength(access, weaker);
  std::string refusal = check();
  std::string text;
  llvm::raw_string_ostream(text) << access;
  setStrength(access, before);
  ++count;
  EXPECT_NE(refusal, "") << access.getFunction()->getName().str() << text;
  if (!refusal.empty())
    refused.insert(wordOf(refusal));
}

void Weakening::judgeAll() {
  ASSERT_EQ(check(), "");
  DeviceFlow flow(*built.module, built.cells);
  for (llvm::Function &function : *built.module)
    for (llvm::Instruction &access : llvm::instructions(function)) {
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
  }
  return words;
}

TEST(DeviceAccess, RefusesWeakAccessesOfEveryWord) {
  std::set<std::string> words;
  unsigned count = 0;
  for (auto [file, name] : {std::pair("packets.coll", "ringed"),
                            std::pair("packets.coll", "tokens"),
                            std::pair("direct.coll", "shift_and_spread")})
    words.merge(refusedOf((llvm::Twine(COLL_EMULATOR_INPUTS "/") + file).str(),
                          name, count));
  const std::pair<llvm::StringRef, llvm::StringRef> all[] = {
      {"coll_ring_line.", "tail,dtail,avail,cleaned"},
      {"coll_credit_line.", "head,small_head,rtr,ack"},
      {"coll_device_signal.", "steps,entered"},
      {"coll_block.", "progress,wait_since,want,have,result,launch,runs"},
      {"", "the abort word,a flag word,packets,what may be packets"}};
  for (auto [of, fields] : all)
    for (llvm::StringRef field : llvm::split(fields, ','))
      EXPECT_TRUE(words.erase((of + field).str())) << of.str() << field.str();
  EXPECT_TRUE(words.empty()) << "not in the list above: " << *words.begin();
  EXPECT_GT(count, 300u);
}

/// What is said of a kernel with this body, whose argument is %args, with the
/// plan's %inst, the first end to send, and its peer's ring line.
std::string refusalOf(llvm::StringRef body, bool isBuilt = false) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::string text =
      ("target triple = \"nvptx64-nvidia-cuda\"\n"
       "@coll_ports = internal addrspace(3) global [15 x i64] undef, align 16\n"
       "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
       "define ptx_kernel void @k(ptr byval([192 x i8]) align 16 %args) {\n"
       "%instAt = getelementptr i8, ptr %args, i64 8\n"
       "%inst = load ptr, ptr %instAt\n"
       "%endAt = getelementptr i8, ptr %inst, i64 8\n"
       "%end = load ptr, ptr %endAt\n"
       "%line = load ptr, ptr %end\n"
       "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
       "%i = zext i32 %tid to i64\n" +
       body + "\n ret void\n}\n")
          .str();
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << "\n" << text;
  if (!module)
    return "";
  SharedCells cells{7, 2, 2, 160};
  return llvm::toString(checkDeviceAccesses(*module, cells, isBuilt));
}

std::string saidOf(llvm::StringRef body, bool isBuilt = false) {
  return llvm::StringRef(refusalOf(body, isBuilt))
      .split(" has ")
      .second.split(":")
      .first.str();
}

TEST(DeviceAccess, RefusesWhatItCannotTell) {
  EXPECT_EQ(saidOf("%p = getelementptr i8, ptr %line, i64 96\n"
                   "%v = load i64, ptr %p"),
            "a weak load of what no address is known of");
  EXPECT_EQ(saidOf("%at = getelementptr i8, ptr %args, i64 128\n"
                   "%in = load ptr, ptr %at\n"
                   "%p = load ptr, ptr %in\n"
                   "store i64 0, ptr %p"),
            "a weak store of what no address is known of");
  // Any word of a line; two lines' addresses.
  EXPECT_EQ(saidOf("%o = mul i64 %i, 8\n"
                   "%p = getelementptr i8, ptr %line, i64 %o\n"
                   "%v = load atomic i64, ptr %p acquire, align 8"),
            "a strong load (acquire) of what no address is known of");
  EXPECT_EQ(saidOf("%c = icmp eq i64 %i, 0\n"
                   "%p = select i1 %c, ptr %line, ptr %inst\n"
                   "%v = load i64, ptr %p"),
            "a weak load of what no address is known of");
  EXPECT_EQ(saidOf("%v = load i64, ptr inttoptr (i64 4096 to ptr)"),
            "a weak load of what no address is known of");
}

TEST(DeviceAccess, RefusesOtherWidthsAndTables) {
  EXPECT_EQ(saidOf("%v = load atomic i32, ptr %line acquire, align 4"),
            "a strong load (acquire) of coll_ring_line.tail");
  EXPECT_EQ(saidOf("store ptr %line, ptr %end"),
            "a weak store of coll_end.line");
  EXPECT_EQ(saidOf("%v = load atomic i64, ptr %line seq_cst, align 8"),
            "a strong load (seq_cst) of coll_ring_line.tail");
  // An element of the line's array, and one beyond its type.
  EXPECT_EQ(saidOf("%o = mul i64 %i, 4\n"
                   "%s = getelementptr i8, ptr %line, i64 8\n"
                   "%p = getelementptr i8, ptr %s, i64 %o\n"
                   "%v = load i32, ptr %p"),
            "");
  EXPECT_EQ(saidOf("%s = getelementptr i8, ptr %line, i64 8\n"
                   "%p = getelementptr i8, ptr %s, i64 %i\n"
                   "%v = load i32, ptr %p"),
            "a weak load of what no address is known of");
}

TEST(DeviceAccess, KnowsPayloadAndItsStrength) {
  const std::string slot = "%slotsAt = getelementptr i8, ptr %end, i64 16\n"
                           "%slots = load ptr, ptr %slotsAt\n"
                           "%p = getelementptr i8, ptr %slots, i64 %i\n";
  EXPECT_EQ(saidOf(slot + "%v = load <4 x i32>, ptr %p"), "");
  EXPECT_EQ(saidOf(slot + "store atomic i64 0, ptr %p monotonic, align 8"),
            "a strong store (monotonic) of payload");
}

/// A port that is either: its pointer in cell 7, its tag in cell 11.
std::string either(const char *access) {
  return std::string("%smallAt = getelementptr i8, ptr %end, i64 24\n"
                     "%small = load ptr, ptr %smallAt\n"
                     "%slotsAt = getelementptr i8, ptr %end, i64 16\n"
                     "%slots = load ptr, ptr %slotsAt\n"
                     "%c = icmp eq i64 %i, 0\n"
                     "%port = select i1 %c, ptr %small, ptr %slots\n"
                     "%cell = getelementptr i8, ptr addrspace(3) @coll_ports, "
                     "i64 56\n"
                     "store ptr %port, ptr addrspace(3) %cell\n"
                     "%p = load ptr, ptr addrspace(3) %cell\n"
                     "%tagAt = getelementptr i8, ptr addrspace(3) @coll_ports, "
                     "i64 88\n"
                     "%tag = load i64, ptr addrspace(3) %tagAt\n"
                     "%other = load i64, ptr addrspace(3) @coll_ports\n") +
         access;
}

TEST(DeviceAccess, WeakOnlyBehindATag) {
  auto guarded = [](const char *condition) {
    return either((std::string("%is = icmp ") + condition +
                   "\nbr i1 %is, label %packet, label %memory\n"
                   "packet:\n"
                   "%v = load atomic i64, ptr %p monotonic, align 8\n"
                   "br label %end1\n"
                   "memory:\n"
                   "%w = load i64, ptr %p\n"
                   "br label %end1\n"
                   "end1:\n")
                      .c_str());
  };
  const std::string refused = "a weak load of what may be packets";
  EXPECT_EQ(saidOf(guarded("ne i64 %tag, 0"), true), "");
  EXPECT_EQ(saidOf(guarded("eq i64 %tag, 0"), true), refused);
  EXPECT_EQ(saidOf(guarded("ne i64 %other, 0"), true), refused);
  EXPECT_EQ(saidOf(either("%w = load i64, ptr %p"), true), refused);
  // Behind the optimizer nothing more is asked.
  EXPECT_EQ(saidOf(either("%w = load i64, ptr %p")), "");
}

} // namespace
