//===- CollProgramOps.cpp - Programs: names and constraints ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the program level. Each message ends with the number of the
// constraint in the op's description. That messages meet, that nothing gets
// stuck and that the result is right is not asked here.
//
//===----------------------------------------------------------------------===//

#include "dialect/CollDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace coll;

static ProgramOp programOf(Operation *op) {
  return op->getParentOfType<ProgramOp>();
}

/// An index below `bound`, which is called `what`.
static LogicalResult verifyBelow(Operation *op, uint64_t index, uint64_t bound,
                                 StringRef what, StringRef constraint) {
  if (index >= bound)
    return op->emitOpError("names ") << what << ' ' << index << " of " << bound
                                     << " [" << constraint << "]";
  return success();
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

// <count cut 4>, <launch 3>: a value of 0 and a cut of 1 go without saying, but
// for the value of launch and const.
Attribute SizeSymbolAttr::parse(AsmParser &parser, Type) {
  uint64_t value = 0;
  uint32_t chunks = 1;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<SizeKind> kind = FieldParser<SizeKind>::parse(parser);
  if (failed(kind))
    return {};
  OptionalParseResult hasValue = parser.parseOptionalInteger(value);
  if (hasValue.has_value() && failed(*hasValue))
    return {};
  if (succeeded(parser.parseOptionalKeyword("cut")) &&
      parser.parseInteger(chunks))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SizeSymbolAttr>(start, parser.getContext(), *kind,
                                           value, chunks);
}

LogicalResult
SizeSymbolAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                       SizeKind kind, uint64_t value, uint32_t chunks) {
  constexpr uint32_t maxChunks = 1u << 24;
  constexpr uint64_t maxElements = uint64_t(1) << 48;
  if (chunks == 0 || chunks > maxChunks)
    return emitError() << "size is cut into " << chunks << " chunks, not 1 to "
                       << maxChunks << " [C1]";
  if (kind == SizeKind::Const && value > maxElements)
    return emitError() << "size of " << value << " elements is more than "
                       << maxElements << " [C2]";
  return success();
}

void SizeSymbolAttr::print(AsmPrinter &p) const {
  p << '<' << stringifySizeKind(getKind());
  if (getKind() != SizeKind::Count || getValue() != 0)
    p << ' ' << getValue();
  if (getChunks() != 1)
    p << " cut " << getChunks();
  p << '>';
}

// <"n" [4, 4] global>
Attribute CountsAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SmallVector<uint32_t> dims;
  auto parseDim = [&] { return parser.parseInteger(dims.emplace_back()); };
  if (parser.parseLess() || parser.parseString(&name) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  bool global = succeeded(parser.parseOptionalKeyword("global"));
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), name, dims, global);
}

void CountsAttr::print(AsmPrinter &p) const {
  p << '<';
  p.printString(getName());
  p << " [";
  llvm::interleaveComma(getDims(), p);
  p << (getGlobal() ? "] global>" : "]>");
}

int64_t ProgramOp::getNumRanks() {
  int64_t ranks = 1;
  for (int64_t dim : getRanks())
    ranks *= dim;
  return ranks;
}

std::optional<uint32_t> ProgramOp::getChunksOf(int64_t index) {
  if (index < 0 || size_t(index) >= getSizes().size())
    return std::nullopt;
  return cast<SizeSymbolAttr>(getSizes()[index]).getChunks();
}

LogicalResult ProgramOp::verifyRegions() {
  auto isPositive = [](int64_t dim) { return dim > 0; };
  if (getRanks().empty() || !llvm::all_of(getRanks(), isPositive))
    return emitOpError("has ranks of no or of empty dimensions [C1]");
  constexpr int64_t maxRanks = std::numeric_limits<int32_t>::max();
  int64_t ranks = 1;
  for (int64_t dim : getRanks())
    if (dim > maxRanks || (ranks *= dim) > maxRanks)
      return emitOpError("has too many ranks [C1]");
  if (getRound() % 16 != 0 || getRound() >> 32 != 0)
    return emitOpError("has a round of ") << getRound() << " bytes [C2]";
  size_t combinations = 1;
  if (getLaunch())
    for (auto domain : getLaunch()->getAsRange<DomainAttr>())
      combinations *= domain.getValues().size();
  Block &body = getBody().front();
  if (!llvm::all_of(body, llvm::IsaPred<FamilyMemberOp>) ||
      size_t(llvm::range_size(body)) != combinations)
    return emitOpError("needs ")
           << combinations << " of coll.family_member, and nothing else [C3]";
  return success();
}

LogicalResult FamilyMemberOp::verifyRegions() {
  ProgramOp program = programOf(*this);
  ArrayAttr launch = program.getLaunchAttr();
  if (getValues().size() != (launch ? launch.size() : 0))
    return emitOpError("has ")
           << getValues().size() << " values for "
           << (launch ? launch.size() : 0) << " launch parameters [C2]";
  for (auto [i, value] : llvm::enumerate(getValues())) {
    auto domain = cast<DomainAttr>(launch[i]);
    if (!llvm::is_contained(domain.getValues(), value))
      return emitOpError("gives \"")
             << domain.getName() << "\" the value " << value
             << ", which is not in its domain [C2]";
  }
  int64_t apart = 0, inPlace = 0;
  for (auto rank : getOps<RankOp>()) {
    int64_t &next = rank.getInPlace() ? inPlace : apart;
    if (int64_t(rank.getRank()) != next++ || (!rank.getInPlace() && inPlace))
      return emitOpError("has rank ") << rank.getRank() << " out of order [C3]";
  }
  int64_t all = program.getNumRanks();
  if (apart != all || (inPlace != 0 && inPlace != all))
    return emitOpError("has programs of ")
           << apart << " ranks, and " << inPlace << " in place, of " << all
           << " [C3]";
  return success();
}

void MemoryOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getName());
}

LogicalResult MemoryOp::verify() {
  ProgramOp program = programOf(*this);
  size_t parts = getParts(), ranks = program.getNumRanks();
  if (getSizes().size() != parts && getSizes().size() != parts * ranks)
    return emitOpError("has ")
           << getSizes().size() << " sizes for " << getParts() << " parts [C2]";
  for (int64_t size : getSizes())
    if (failed(
            verifyBelow(*this, size, program.getSizes().size(), "size", "C3")))
      return failure();
  int64_t last = -1;
  for (int64_t rank : getPresent().value_or(ArrayRef<int64_t>()))
    if (rank <= std::exchange(last, rank) || rank >= program.getNumRanks())
      return emitOpError("has rank ")
             << rank << " out of order or out of range [C4]";
  return success();
}

static LogicalResult verifyPart(Operation *op, Value memory, uint64_t part) {
  auto buffer = memory.getDefiningOp<MemoryOp>();
  if (!buffer)
    return op->emitOpError("names scratch [C3]");
  return verifyBelow(op, part, buffer.getParts(), "part", "C3");
}

LogicalResult AliasOp::verify() {
  return success(
      succeeded(verifyBelow(*this, getRank(), programOf(*this).getNumRanks(),
                            "rank", "C2")) &&
      succeeded(verifyPart(*this, getLhs(), getLhsPart())) &&
      succeeded(verifyPart(*this, getRhs(), getRhsPart())));
}

/// C2 of coll.wait, for all of a rank at once: a block counts its steps slowly.
static LogicalResult verifyWaits(RankOp rank) {
  SmallVector<size_t> numSteps;
  for (auto block : rank.getOps<BlockOp>())
    numSteps.push_back(llvm::range_size(block.getBody().front()));
  for (auto [index, block] : llvm::enumerate(rank.getOps<BlockOp>())) {
    WalkResult result = block.walk([&, own = index](WaitOp wait) -> WalkResult {
      if (wait.getBlock() == own)
        return wait.emitOpError("waits for its own block [C2]");
      if (failed(verifyBelow(wait, wait.getBlock(), numSteps.size(), "block",
                             "C2")))
        return failure();
      return verifyBelow(wait, wait.getStep(), numSteps[wait.getBlock()],
                         "step", "C2");
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult RankOp::verifyRegions() {
  int64_t numRanks = programOf(*this).getNumRanks();
  if (failed(verifyBelow(*this, getRank(), numRanks, "rank", "C2")))
    return failure();
  if (llvm::range_size(getOps<ScratchOp>()) > 1)
    return emitOpError("has two of coll.scratch [C3]");
  llvm::DenseSet<std::pair<uint64_t, uint64_t>> ends[2];
  for (auto channel : getOps<ChannelOp>())
    if (!ends[unsigned(channel.getDirection())]
             .insert({channel.getPeer(), channel.getTag()})
             .second)
      return emitOpError("has two ends ")
             << stringifyDirection(channel.getDirection()) << ' '
             << channel.getPeer() << " with tag " << channel.getTag()
             << " [C4]";
  return verifyWaits(*this);
}

void ScratchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "scratch");
}

void ChannelOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(),
          (stringifyDirection(getDirection()) + Twine(getPeer())).str());
}

LogicalResult ChannelOp::verify() {
  ProgramOp program = programOf(*this);
  if (getPeer() == (*this)->getParentOfType<RankOp>().getRank())
    return emitOpError("leads to its own rank [C2]");
  if (failed(
          verifyBelow(*this, getPeer(), program.getNumRanks(), "rank", "C2")))
    return failure();
  return verifyBelow(*this, getTag(), program.getTags(), "tag", "C3");
}

LogicalResult BlockOp::verifyRegions() {
  if (!llvm::all_of(getBody().front(), llvm::IsaPred<StepOp>))
    return emitOpError("has other ops than coll.step [C2]");
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// In which of the four sections of a step an op belongs.
static unsigned sectionOf(Operation &op) {
  if (isa<WaitOp>(op))
    return 0;
  if (isa<PopOp, LoadOp>(op))
    return 1;
  return isa<StoreOp, PushOp>(op) ? 3 : 2;
}

LogicalResult StepOp::verifyRegions() {
  std::optional<uint32_t> chunks = programOf(*this).getChunksOf(getSize());
  if (!chunks)
    return emitOpError("names size ")
           << getSize() << ", which is not there [C2]";
  if (failed(verifyBelow(*this, getChunk(), *chunks, "chunk", "C2")))
    return failure();
  unsigned section = 0;
  uint64_t sources = 0;
  Value result;
  llvm::SmallDenseSet<Value> channels;
  for (Operation &op : getBody().front()) {
    if (sectionOf(op) < section)
      return emitOpError("has ") << op.getName() << " too late [C3]";
    section = sectionOf(op);
    if (!isa<WaitOp, PopOp, LoadOp, CombineOp, AddOp, ApplyOp, RoundOp, StoreOp,
             PushOp>(op))
      return emitOpError("has ") << op.getName() << " in it [C3]";
    sources += section == 1;
    if (section == 3) {
      Value sunk = op.getOperand(0);
      Value before = std::exchange(result, sunk);
      if (before && before != sunk)
        return emitOpError("gives its sinks different values [C4]");
    }
    Value channel;
    if (auto pop = dyn_cast<PopOp>(op))
      channel = pop.getChannel();
    if (auto push = dyn_cast<PushOp>(op))
      channel = push.getChannel();
    if (channel && !channels.insert(channel).second)
      return emitOpError("uses a channel twice [C6]");
  }
  return verifyBelow(*this, getShift(), sources, "source", "C5");
}

static LogicalResult verifyChannel(Operation *op, Value channel,
                                   Direction direction) {
  auto end = channel.getDefiningOp<ChannelOp>();
  if (!end || end.getDirection() != direction ||
      end->getParentOp() != op->getParentOfType<RankOp>())
    return op->emitOpError("needs a channel '")
           << stringifyDirection(direction) << "' a peer, of its rank [C2]";
  return success();
}

static LogicalResult verifyRounding(Operation *op, bool scaled, bool rounded) {
  if (rounded && !scaled)
    return op->emitOpError("rounds what it does not scale [C3]");
  return success();
}

static LogicalResult verifyInBuffer(Operation *op, Value memory,
                                    ArrayRef<int64_t> indices, uint32_t rank,
                                    StringRef constraint) {
  ProgramOp program = programOf(op);
  auto buffer = memory.getDefiningOp<MemoryOp>();
  if (!buffer || indices.size() != 2 || indices[0] < 0 || indices[1] < 0)
    return op->emitOpError("needs a part and a chunk of a buffer [")
           << constraint << "]";
  uint64_t parts = buffer.getParts();
  if (failed(verifyBelow(op, indices[0], parts, "part", constraint)))
    return failure();
  ArrayRef<int64_t> sizes = buffer.getSizes();
  size_t entry = (sizes.size() == parts ? 0 : rank * parts) + indices[0];
  std::optional<uint32_t> chunks =
      entry < sizes.size() ? program.getChunksOf(sizes[entry]) : std::nullopt;
  return verifyBelow(op, indices[1], chunks.value_or(0), "chunk", constraint);
}

/// A place in a buffer or in scratch, for coll.load and coll.store.
static LogicalResult verifyPlace(Operation *op, Value memory,
                                 ArrayRef<int64_t> indices) {
  ProgramOp program = programOf(op);
  auto rank = op->getParentOfType<RankOp>();
  if (auto scratch = memory.getDefiningOp<ScratchOp>()) {
    if (scratch->getParentOp() != rank || indices.size() != 1 || indices[0] < 0)
      return op->emitOpError("needs a slot of its rank's scratch [C2]");
    uint64_t size = op->getParentOfType<StepOp>().getSize();
    if (program.getChunksOf(size)) {
      auto symbol = cast<SizeSymbolAttr>(program.getSizes()[size]);
      if (symbol.getKind() == SizeKind::Const && symbol.getValue() == 0)
        return success();
    }
    return verifyBelow(op, indices[0], scratch.getSlots(), "slot", "C2");
  }
  return verifyInBuffer(op, memory, indices, rank.getRank(), "C2");
}

/// The region of a message that may go direct: at its owner, of which a step
/// of another rank may speak.
static LogicalResult verifyRegion(Operation *op, Value channel, Value memory,
                                  std::optional<ArrayRef<int64_t>> indices,
                                  bool isOwn, bool isMarked,
                                  StringRef constraint) {
  if (!memory && !indices && !isMarked)
    return success();
  auto step = op->getParentOfType<StepOp>();
  if (!memory || !indices || indices->size() != 2 ||
      (*indices)[1] != int64_t(step.getChunk()))
    return op->emitOpError("needs the step's chunk of a part [")
           << constraint << "]";
  uint32_t owner = isOwn ? op->getParentOfType<RankOp>().getRank()
                         : channel.getDefiningOp<ChannelOp>().getPeer();
  return verifyInBuffer(op, memory, *indices, owner, constraint);
}

LogicalResult PopOp::verify() {
  if (failed(verifyChannel(*this, getChannel(), Direction::From)) ||
      failed(verifyRegion(*this, getChannel(), getMemory(), getIndices(),
                          !getGet(), getAhead(), "C4")))
    return failure();
  return verifyRounding(*this, getScaled(), getRounded());
}

LogicalResult LoadOp::verify() {
  if (failed(verifyPlace(*this, getMemory(), getIndices())))
    return failure();
  return verifyRounding(*this, getScaled(), getRounded());
}

LogicalResult CombineOp::verify() {
  if (getNumOperands() == 0)
    return emitOpError("has no value [C2]");
  return success();
}

LogicalResult StoreOp::verify() {
  return verifyPlace(*this, getMemory(), getIndices());
}

LogicalResult PushOp::verify() {
  if (failed(verifyChannel(*this, getChannel(), Direction::To)))
    return failure();
  return verifyRegion(*this, getChannel(), getMemory(), getIndices(), getGet(),
                      getAhead(), "C3");
}
