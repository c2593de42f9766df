//===- KernelBuilder.cpp - The kernels of a plan --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   post what peers may reach directly (not in small launches)
//   for round in 0 .. args.nrounds:
//     for step in the block's steps:
//       wait for the blocks it waits for
//       switch step.shape: call the shape's function; leave if it says so
//       (several blocks: signal that the step is done)
//   return credits still owed; say that gets are done; wait for peers' moves
//
//===----------------------------------------------------------------------===//

#include "lib/Lowering/KernelBuilder.h"

#include "lib/Lowering/StepBuilder.h"
#include "lib/Lowering/StepWords.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace coll::lowering {
using namespace mlir;

namespace {
class KernelEmitter {
public:
  KernelEmitter(ModuleOp module, const Machine &machine,
                const Primitives &primitives, Protocol protocol,
                bool mayGoDirect)
      : b(module.getContext()), module(module), machine(machine),
        primitives(primitives), protocol(protocol), mayGoDirect(mayGoDirect) {}
  void build(StringRef name, ArrayRef<func::FuncOp> steps, Isa isa);

private:
  Value word(Value base, uint64_t index) { return b.field32(base, index * 4); }
  void rounds(ArrayRef<func::FuncOp> steps);
  void finish(Value nrounds, Block *leave);
  void waitForBlocks(Value step, Value round, Block *leave);
  void signal(Value round, Value done);
  void flush();
  void forDirectEnds(llvm::function_ref<void(Value end, Value entry)> code);
  void openDirect();
  void closeDirect(Block *leave);
  Value ifBits(Value entry, uint32_t mask, uint32_t value) {
    return b.eq(b.and_(word(entry, 1), b.cst(mask)), b.cst(value));
  }
  void ifThen(Value condition, llvm::function_ref<void()> code);
  void dispatch(ArrayRef<func::FuncOp> steps, Value step, Value round,
                Block *next, Block *leave);

  Builder b;
  ModuleOp module;
  const Machine &machine;
  const Primitives &primitives;
  const Protocol protocol;
  const bool mayGoDirect; // some message of the plan
  Value firstRound;       // of the launch: devices count on from the last
  Value args, block, inst, programBlocks, instance, words, entry, firstStep,
      numSteps;
};
} // namespace

void KernelEmitter::dispatch(ArrayRef<func::FuncOp> steps, Value step,
                             Value round, Block *next, Block *leave) {
  // A schedule may have nothing to do: no block has a step then.
  if (steps.empty())
    return b.branch(next);
  SmallVector<Block *> cases;
  SmallVector<int32_t> values;
  for (auto [i, fn] : llvm::enumerate(steps)) {
    cases.push_back(b.newBlock());
    values.push_back(i);
  }
  Value shape = b.field(b.i32(), step, kStepShape * 4);
  SmallVector<ValueRange> none(cases.size());
  // The last shape is the default: the table holds no other number.
  cf::SwitchOp::create(b, shape, cases.back(), ValueRange{},
                       ArrayRef<int32_t>(values).drop_back(),
                       BlockRange(ArrayRef<Block *>(cases).drop_back()),
                       ArrayRef<ValueRange>(none).drop_back());
  for (auto [target, fn] : llvm::zip(cases, steps)) {
    b.startBlock(target);
    Value rc = func::CallOp::create(b, fn,
                                    ValueRange{args, inst, block, instance,
                                               step, b.sub(round, firstRound)})
                   .getResult(0);
    b.branchIf(b.eq(rc, b.cst(0, b.i32())), next, leave);
  }
}

/// Before a step: the blocks that it names have finished the steps that it
/// names, in this round.
void KernelEmitter::waitForBlocks(Value step, Value round, Block *leave) {
  Value count = word(step, kStepNumWaits);
  Block *wait = b.newBlock(), *go = b.newBlock();
  b.branchIf(b.eq(count, b.cst(0)), go, wait);
  b.startBlock(wait);
  Machine::Section section = machine.beginOne(b, leave);
  Value end = b.at(step, b.mul(word(step, kStepLength), b.cst(4)));
  Value progress = b.shl(word(step, kStepNumber), b.cst(40));
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock(), *again = b.newBlock();
  b.branch(head, ValueRange{b.cst(0)});
  b.startBlock(head);
  Value i = head->getArgument(0);
  b.branchIf(b.ult(i, count), body, after);
  b.startBlock(body);
  Value words = b.at(end, b.mul(b.sub(i, count), b.cst(kWaitWords * 4)));
  Value other = b.and_(word(words, 0), b.cst(kPreviousRound - 1));
  Value back = b.lshr(word(words, 0), b.cst(31));
  Value perRound = word(b.at(entry, b.mul(other, b.cst(8))), 1);
  // Before the first round everything of the round before it is done.
  Value steps =
      b.select(b.ult(round, back), b.cst(0),
               b.add(b.mul(b.sub(round, back), perRound), word(words, 1)));
  Value otherBlock =
      b.trunc(b.add(b.mul(instance, programBlocks), other), b.i32());
  Value rc =
      func::CallOp::create(b, primitives.blockWait,
                           ValueRange{inst, block, otherBlock, steps, progress})
          .getResult(0);
  b.branchIf(b.eq(rc, b.cst(0, b.i32())), again, section.leave);
  b.startBlock(again);
  b.branch(head, ValueRange{b.add(i, b.cst(1))});
  b.startBlock(after);
  machine.endOne(b, section, leave);
  b.branch(go);
  b.startBlock(go);
}

/// Behind a step, whose slices end with a section behind all threads.
void KernelEmitter::signal(Value round, Value done) {
  Block *yes = b.newBlock(), *after = b.newBlock();
  b.branchIf(b.ugt(programBlocks, b.cst(1)), yes, after);
  b.startBlock(yes);
  Machine::Section section = machine.beginBehind(b);
  Value mine = b.at(b.pointerField(inst, offsetof(coll_inst, signals)),
                    b.mul(b.zext(block, b.i64()), b.cst(64)));
  b.setField(b.add(b.mul(round, numSteps), done), mine, 0,
             LLVM::AtomicOrdering::release, machine.signalsWithinDevice());
  machine.endBehind(b, section);
  b.branch(after);
  b.startBlock(after);
}

void KernelEmitter::rounds(ArrayRef<func::FuncOp> steps) {
  Value nrounds = b.field(b.i64(), args, offsetof(coll_args, nrounds));
  Block *leave = b.newBlock(), *roundHead = b.newBlock({b.i64()}),
        *roundBody = b.newBlock();
  Block *stepHead = b.newBlock({b.i64(), b.ptr()}), *stepBody = b.newBlock(),
        *stepDone = b.newBlock(), *roundDone = b.newBlock(),
        *end = b.newBlock();
  firstRound = machine.enter(b, args, inst, block, leave, [&] {
    if (mayGoDirect)
      openDirect();
  });
  Value endRound = b.add(firstRound, nrounds);
  b.branch(roundHead, ValueRange{firstRound});
  b.startBlock(leave);
  func::ReturnOp::create(b);
  b.startBlock(roundHead);
  Value round = roundHead->getArgument(0);
  b.branchIf(b.ult(round, endRound), roundBody, end);
  b.startBlock(roundBody);
  b.branch(stepHead, ValueRange{b.cst(0), firstStep});
  b.startBlock(stepHead);
  Value i = stepHead->getArgument(0), step = stepHead->getArgument(1);
  b.branchIf(b.ult(i, numSteps), stepBody, roundDone);
  b.startBlock(stepBody);
  waitForBlocks(step, round, leave);
  dispatch(steps, step, round, stepDone, leave);
  b.startBlock(stepDone);
  Value done = b.add(i, b.cst(1));
  signal(round, done);
  b.branch(stepHead, ValueRange{done, b.at(step, b.mul(word(step, kStepLength),
                                                       b.cst(4)))});
  b.startBlock(roundDone);
  b.branch(roundHead, ValueRange{b.add(round, b.cst(1))});
  b.startBlock(end);
  finish(nrounds, leave);
  func::ReturnOp::create(b);
}

/// Whoever has to leave does so alone: nothing comes behind it.
void KernelEmitter::finish(Value nrounds, Block *leave) {
  Machine::Section section = machine.beginBehind(b);
  flush();
  if (mayGoDirect)
    closeDirect(leave);
  machine.exit(b, inst, block, nrounds);
  machine.endBehind(b, section);
}

void KernelEmitter::ifThen(Value condition, llvm::function_ref<void()> code) {
  Block *yes = b.newBlock(), *after = b.newBlock();
  b.branchIf(condition, yes, after);
  b.startBlock(yes);
  code();
  b.branch(after);
  b.startBlock(after);
}

/// The block's ends whose messages may go direct, in launches that are not
/// small.
void KernelEmitter::forDirectEnds(
    llvm::function_ref<void(Value end, Value entry)> code) {
  Value numRecvs =
      b.zext(b.load(b.i32(), b.at(firstStep, b.cst(uint64_t(-4))), 4), b.i64());
  Value before =
      b.at(firstStep, b.mul(b.add(numRecvs, b.cst(2)), b.cst(uint64_t(-4))));
  Value count = word(before, 0);
  if (protocol == Protocol::Any) {
    Value flags = b.field(b.i32(), args, offsetof(coll_args, flags));
    Value isSmall = b.hasAny(flags, COLL_ARGS_SMALL);
    count = b.select(isSmall, b.cst(0), count);
  }
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{b.cst(0)});
  b.startBlock(head);
  Value i = head->getArgument(0);
  b.branchIf(b.ult(i, count), body, after);
  b.startBlock(body);
  Value entry =
      b.at(before, b.mul(b.add(i, b.cst(1)), b.cst(uint64_t(-4) * kEndWords)));
  Value isSend = ifBits(entry, kEndSends, kEndSends);
  auto of = [&](uint64_t send, uint64_t recv, auto load) {
    return b.select(isSend, load(inst, send), load(inst, recv));
  };
  auto number = [&](Value base, uint64_t at) { return b.field32(base, at); };
  auto pointer = [&](Value base, uint64_t at) {
    return b.pointerField(base, at);
  };
  Value ends = of(offsetof(coll_inst, send_ends),
                  offsetof(coll_inst, recv_ends), pointer);
  Value perInstance =
      of(offsetof(coll_inst, nsend), offsetof(coll_inst, nrecv), number);
  Value index = b.add(b.mul(instance, perInstance), word(entry, 0));
  code(b.at(ends, b.mul(index, b.cst(sizeof(coll_end)))), entry);
  b.branch(head, ValueRange{b.add(i, b.cst(1))});
  b.startBlock(after);
}

void KernelEmitter::openDirect() {
  forDirectEnds([&](Value end, Value entry) {
    Value buffer = b.trunc(word(entry, 2), b.i32());
    Value isSend = ifBits(entry, kEndSends, kEndSends),
          declines = ifBits(entry, kEndDeclines, kEndDeclines);
    const Value operands[] = {args, end, buffer, declines};
    auto ifOp = scf::IfOp::create(b, isSend, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    func::CallOp::create(b, primitives.openSend, operands);
    b.setInsertionPointToStart(ifOp.elseBlock());
    func::CallOp::create(b, primitives.openRecv, operands);
  });
}

/// All that peers wait for comes before the first wait.
void KernelEmitter::closeDirect(Block *leave) {
  forDirectEnds([&](Value end, Value entry) {
    ifThen(ifBits(entry, kEndSends | kEndGets, kEndGets), [&] {
      func::CallOp::create(b, primitives.getDone, ValueRange{end});
    });
  });
  forDirectEnds([&](Value end, Value entry) {
    Value progress = b.shl(word(entry, 3), b.cst(40));
    auto leaveUnless0 = [&](Value rc) {
      Block *go = b.newBlock();
      b.branchIf(b.eq(rc, b.cst(0, b.i32())), go, leave);
      b.startBlock(go);
    };
    ifThen(ifBits(entry, kEndSends | kEndPuts, kEndPuts), [&] {
      leaveUnless0(
          func::CallOp::create(b, primitives.putWait,
                               ValueRange{inst, block, end, progress, b.cst(0)})
              .getResult(0));
    });
    // Nobody gets from a buffer that is in no window.
    Value isOwner = ifBits(entry, kEndSends | kEndGets | kEndDeclines,
                           kEndSends | kEndGets);
    Value number = b.select(isOwner, b.sub(word(entry, 2), b.cst(1)), b.cst(0));
    Value buffer = b.at(b.at(args, offsetof(coll_args, bufs)),
                        b.mul(number, b.cst(sizeof(coll_buf))));
    Value win = b.field(b.i64(), buffer, offsetof(coll_buf, win));
    ifThen(b.and_(isOwner, b.ne(win, b.cst(0))), [&] {
      leaveUnless0(func::CallOp::create(b, primitives.getWait,
                                        ValueRange{inst, block, end, progress})
                       .getResult(0));
    });
  });
}

void KernelEmitter::flush() {
  Value count =
      b.zext(b.load(b.i32(), b.at(firstStep, b.cst(uint64_t(-4))), 4), b.i64());
  Value list =
      b.at(firstStep, b.mul(b.add(count, b.cst(1)), b.cst(uint64_t(-4))));
  Value perInstance = b.field32(inst, offsetof(coll_inst, nrecv));
  Value ends = b.pointerField(inst, offsetof(coll_inst, recv_ends));
  Block *head = b.newBlock({b.i64()}), *body = b.newBlock(),
        *after = b.newBlock();
  b.branch(head, ValueRange{b.cst(0)});
  b.startBlock(head);
  Value i = head->getArgument(0);
  b.branchIf(b.ult(i, count), body, after);
  b.startBlock(body);
  Value index = b.add(b.mul(instance, perInstance),
                      word(b.at(list, b.mul(i, b.cst(4))), 0));
  func::CallOp::create(
      b, primitives.flushCredits,
      ValueRange{b.at(ends, b.mul(index, b.cst(sizeof(coll_end))))});
  b.branch(head, ValueRange{b.add(i, b.cst(1))});
  b.startBlock(after);
}

void KernelEmitter::build(StringRef name, ArrayRef<func::FuncOp> steps,
                          Isa isa) {
  func::FuncOp fn = beginFunction(b, module, name, {b.ptr(), b.i32()}, {});
  fn->setAttr("coll.isa", b.getStringAttr(nameOf(isa)));
  args = fn.getArgument(0), block = fn.getArgument(1);
  inst = b.pointerField(args, offsetof(coll_args, inst));
  programBlocks = b.field32(inst, offsetof(coll_inst, program_blocks));
  // Most plans have one instance, and a division costs as much as a small
  // message's copy.
  Value number = b.zext(block, b.i64());
  auto place =
      scf::IfOp::create(b, TypeRange{b.i64(), b.i64()},
                        b.ult(number, programBlocks), /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(place.thenBlock());
    scf::YieldOp::create(b, ValueRange{b.cst(0), number});
    b.setInsertionPointToStart(place.elseBlock());
    scf::YieldOp::create(b, ValueRange{b.udiv(number, programBlocks),
                                       b.urem(number, programBlocks)});
  }
  instance = place.getResult(0);
  Value own = place.getResult(1);
  words = b.pointerField(inst, offsetof(coll_inst, consts));
  entry = b.pointerField(inst, offsetof(coll_inst, steps));
  Value mine = b.at(entry, b.mul(own, b.cst(8)));
  firstStep = b.at(words, b.mul(word(mine, 0), b.cst(4)));
  numSteps = word(mine, 1);
  rounds(steps);
}

bool needsDtype(const std::vector<StepShape> &shapes, bool reduces) {
  return reduces || !llvm::all_of(shapes, [](const StepShape &s) {
           return s.isMove(ReduceOp::None);
         });
}

void loadKernelDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                       scf::SCFDialect, vector::VectorDialect>();
}

namespace {
/// Builds what a request asks for, sharing the functions of shapes that only
/// move bytes.
class RequestBuilder {
public:
  RequestBuilder(ModuleOp module, const std::vector<StepShape> &shapes,
                 const std::vector<Function> &functions,
                 const KernelRequest &request)
      : module(module),
        machine(request.device ? makeDeviceMachine(module, *request.device)
                               : makeHostMachine()),
        primitives(module, *machine), shapes(shapes), functions(functions),
        request(request) {
    if (request.hasPackets(shapes))
      packetPrimitives = primitives.forPackets(module, *machine);
    // Where counts are each rank's own no launch is small.
    if (!request.device && !request.vectorCounts)
      smallPrimitives = primitives.forSmall(module, *machine);
    if (request.hasLines(shapes))
      linePrimitives = primitives.forLines(module, *machine, *packetPrimitives);
  }
  /// One kernel; of devices, one for each protocol.
  void add(std::vector<KernelInfo> &kernels, Variant variant, bool anyFormat);

private:
  void addKernel(std::vector<KernelInfo> &kernels, const Variant &variant,
                 bool anyFormat);
  func::FuncOp stepFunction(unsigned shape, Variant variant);
  const Primitives &primitivesFor(Protocol protocol) const {
    return protocol == Protocol::Packets ? *packetPrimitives
           : protocol == Protocol::Lines ? *linePrimitives
                                         : primitives;
  }
  ModuleOp module;
  std::unique_ptr<Machine> machine;
  Primitives primitives;
  std::optional<Primitives> packetPrimitives, linePrimitives, smallPrimitives;
  const std::vector<StepShape> &shapes;
  const std::vector<Function> &functions;
  const KernelRequest &request;
  llvm::StringMap<func::FuncOp> built;
};
} // namespace

func::FuncOp RequestBuilder::stepFunction(unsigned shape, Variant variant) {
  if (shapes[shape].isMove(variant.op)) {
    variant.move = true;
    variant.dtype = Format::U8;
    variant.op = ReduceOp::None;
  }
  std::string name = request.plan + "_step" + std::to_string(shape) + "_" +
                     (variant.move ? "move" : nameOf(variant.dtype));
  if (!variant.move && variant.op != ReduceOp::None)
    name += std::string("_") + nameOf(variant.op);
  name += std::string("_") + nameOf(variant.isa);
  // Steps without messages are the same in all launches.
  if (variant.protocol > Protocol::Slots && !shapes[shape].hasChannel())
    variant.protocol = Protocol::Slots;
  name += suffixOf(variant.protocol);
  func::FuncOp &fn = built[name];
  if (!fn) {
    fn = buildStepFunction(module, *machine, primitivesFor(variant.protocol),
                           smallPrimitives ? &*smallPrimitives : nullptr, name,
                           shapes[shape], variant, functions);
    fn->setAttr("coll.isa",
                StringAttr::get(module.getContext(), nameOf(variant.isa)));
  }
  return fn;
}

void RequestBuilder::add(std::vector<KernelInfo> &kernels, Variant variant,
                         bool anyFormat) {
  variant.inBlocks = request.inBlocks;
  variant.hasFp8 = request.device && request.device->chip >= 89;
  variant.protocol = request.device ? Protocol::Slots : Protocol::Any;
  addKernel(kernels, variant, anyFormat);
  if (variant.protocol = Protocol::Packets; packetPrimitives)
    addKernel(kernels, variant, anyFormat);
  if (variant.protocol = Protocol::Lines; linePrimitives)
    addKernel(kernels, variant, anyFormat);
}

void RequestBuilder::addKernel(std::vector<KernelInfo> &kernels,
                               const Variant &variant, bool anyFormat) {
  SmallVector<func::FuncOp> steps;
  for (unsigned i = 0; i < shapes.size(); ++i)
    steps.push_back(stepFunction(i, variant));
  std::string symbol =
      request.plan + "_kernel_" + (anyFormat ? "any" : nameOf(variant.dtype));
  if (variant.op != ReduceOp::None)
    symbol += std::string("_") + nameOf(variant.op);
  symbol += std::string("_") + nameOf(variant.isa);
  symbol += suffixOf(variant.protocol);
  bool mayGoDirect = variant.protocol <= Protocol::Slots &&
                     llvm::any_of(shapes, [](const StepShape &shape) {
                       return shape.hasDirect();
                     });
  KernelEmitter(module, *machine, primitivesFor(variant.protocol),
                variant.protocol, mayGoDirect)
      .build(symbol, steps, variant.isa);
  kernels.push_back(
      {anyFormat ? kAnyFormat : static_cast<uint8_t>(variant.dtype),
       static_cast<uint8_t>(variant.op), variant.isa, variant.protocol,
       symbol});
}

KernelModule buildKernels(MLIRContext *context,
                          const std::vector<StepShape> &shapes,
                          const std::vector<Function> &functions,
                          const KernelRequest &request) {
  loadKernelDialects(context);
  KernelModule result;
  result.module = ModuleOp::create(UnknownLoc::get(context));
  RequestBuilder builder(*result.module, shapes, functions, request);
  bool floatOnly =
      llvm::any_of(shapes, [](const StepShape &s) { return s.needsFloat(); });
  std::vector<ReduceOp> ops = request.ops;
  if (ops.empty())
    ops.push_back(ReduceOp::None);
  bool count = request.countBytes, vector = request.vectorCounts,
       byRow = request.byRow;
  for (Isa isa : request.isas) {
    if (request.dtypes.empty()) {
      builder.add(result.kernels,
                  {Format::U8, ReduceOp::None, isa, true, count, vector, byRow},
                  true);
      continue;
    }
    for (Format dtype : request.dtypes)
      for (ReduceOp op : ops)
        if (isFloat(dtype) || !floatOnly)
          builder.add(result.kernels,
                      {dtype, op, isa, false, count, vector, byRow}, false);
  }
  return result;
}

} // namespace coll::lowering
