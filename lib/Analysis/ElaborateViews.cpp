//===- ElaborateViews.cpp - Views and elementwise expressions -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateMachine.h"

using namespace coll;
using namespace coll::elab;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Sema does not write this; IR that somebody else wrote may.
bool Machine::failDims(const Frame &frame, const View &view, uint32_t dim) {
  return fail({.fault = Fault::OutOfRange,
               .site = siteOf(frame),
               .place = {view.array},
               .x = dim,
               .y = view.numDims});
}

bool Machine::slice(Frame &frame, const Instr &in) {
  View view = frame.views[in.a]; // a copy: the result may be the same register
  View result;
  result.array = view.array;
  result.table = view.table;
  result.offset = view.offset;
  llvm::ArrayRef<Reg> triples = regs({in.b, in.count * 3u});
  if (in.count > view.numDims)
    return failDims(frame, view, in.count - 1);
  bool isEmpty = false;
  for (uint32_t d = 0; d < view.numDims; ++d) {
    int64_t offset = 0, size = view.dims[d], step = 1;
    bool drops = false;
    if (d < in.count) {
      Reg sizeReg = triples[3 * d + 1], stepReg = triples[3 * d + 2];
      drops = sizeReg == kNone;
      offset = frame.ints[triples[3 * d]];
      size = drops ? 1 : std::max<int64_t>(frame.ints[sizeReg], 0);
      step = stepReg == kNone ? 1 : frame.ints[stepReg];
    }
    if (step <= 0)
      return fail({.fault = Fault::BadStep, .site = siteOf(frame), .x = step});
    int64_t last = offset;
    bool ok = size == 0 || (!__builtin_mul_overflow(size - 1, step, &last) &&
                            !__builtin_add_overflow(last, offset, &last) &&
                            offset >= 0 && last < view.dims[d]);
    if (!ok)
      return fail({.fault = Fault::OutOfRange,
                   .site = siteOf(frame),
                   .place = {view.array},
                   .x = offset < 0 ? offset : last,
                   .y = view.dims[d]});
    isEmpty |= size == 0;
    if (size != 0)
      result.offset += offset * view.strides[d];
    if (drops)
      continue;
    result.dims[result.numDims] = size;
    result.strides[result.numDims++] = size > 1 ? step * view.strides[d] : 0;
  }
  if (isEmpty)
    result.offset = 0;
  frame.views[in.dst] = result;
  return true;
}

/// Lays `dims` over the cells of `view` by strides; false if none do.
static bool restride(const View &view, llvm::ArrayRef<uint32_t> dims,
                     View &result) {
  // Runs of dimensions that one stride walks through.
  llvm::SmallVector<std::pair<uint32_t, uint32_t>, 8> runs;
  for (uint32_t d = 0; d < view.numDims; ++d) {
    if (view.dims[d] == 1)
      continue;
    if (!runs.empty() && runs.back().second == view.strides[d] * view.dims[d])
      runs.back() = {runs.back().first * view.dims[d], view.strides[d]};
    else
      runs.push_back({view.dims[d], view.strides[d]});
  }
  for (uint32_t d = dims.size(); d-- > 0;) {
    result.dims[d] = dims[d];
    result.strides[d] = 0;
    if (dims[d] == 1)
      continue;
    while (!runs.empty() && runs.back().first == 1)
      runs.pop_back();
    if (runs.empty() || runs.back().first % dims[d] != 0)
      return false;
    result.strides[d] = runs.back().second;
    runs.back() = {runs.back().first / dims[d], runs.back().second * dims[d]};
  }
  return true;
}

bool Machine::reshape(Frame &frame, const Instr &in) {
  View view = frame.views[in.a];
  llvm::SmallVector<uint32_t, 4> dims;
  if (!shapeFrom(frame, {in.b, in.count}, dims, siteOf(frame)))
    return false;
  View result;
  result.array = view.array;
  result.table = view.table;
  result.offset = view.offset;
  result.numDims = dims.size();
  uint64_t size = 1;
  for (uint32_t dim : dims)
    size *= dim;
  if (size != view.size())
    return fail({.fault = Fault::ReshapeSize,
                 .site = siteOf(frame),
                 .place = {view.array},
                 .x = int64_t(view.size()),
                 .y = int64_t(size)});
  if (size == 0) {
    std::copy(dims.begin(), dims.end(), result.dims.begin());
    result.strides.fill(0);
  } else if (!restride(view, dims, result)) {
    llvm::SmallVector<uint32_t> cells;
    state.cellsOf(view, cells);
    if (!countSteps(cells.size(), siteOf(frame)))
      return false;
    result.table = state.tables.size();
    state.tables.emplace_back(cells.begin(), cells.end());
    result.offset = 0;
    uint32_t stride = 1;
    for (uint32_t d = dims.size(); d-- > 0; stride *= dims[d]) {
      result.dims[d] = dims[d];
      result.strides[d] = stride;
    }
  }
  frame.views[in.dst] = result;
  return true;
}

bool Machine::dim(Frame &frame, const Instr &in) {
  const View &view = frame.views[in.a];
  if (in.b >= view.numDims)
    return failDims(frame, view, in.b);
  frame.ints[in.dst] = view.dims[in.b];
  return true;
}

bool Machine::shapeFrom(const Frame &frame, RegList list,
                        llvm::SmallVectorImpl<uint32_t> &dims, SiteId site) {
  if (list.count > maxDims)
    return fail({.fault = Fault::TooManyDims, .site = site, .x = list.count});
  uint64_t cells = 1;
  for (Reg reg : regs(list)) {
    int64_t dim = frame.ints[reg];
    if (dim < 0)
      return fail({.fault = Fault::BadExtent, .site = site, .x = dim});
    if (uint64_t(dim) > params.limits.chunks ||
        cells * dim > params.limits.chunks)
      return fail({.fault = Fault::ArrayTooLarge, .site = site});
    cells *= std::max<uint64_t>(dim, 1);
    dims.push_back(dim);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

void ExprRef::append(const ExprRef &other) {
  uint32_t shift = reads.size();
  for (ExprNode node : other.nodes) {
    if (node.kind == ExprNode::Operand)
      node.arg += shift;
    nodes.push_back(node);
  }
  reads.insert(reads.end(), other.reads.begin(), other.reads.end());
}

bool Machine::read(Frame &frame, const Instr &in) {
  ExprRef &value = frame.values[in.dst];
  value.nodes.assign({ExprNode{ExprNode::Operand}});
  value.reads.resize(1);
  ReadRef &ref = value.reads[0];
  ref.view = frame.views[in.a];
  ref.rank = kNone;
  return in.count == 0 ||
         rankAt(frame, {in.b, in.count}, ref.rank, siteOf(frame));
}

bool Machine::addValues(Frame &frame, const Instr &in) {
  ExprRef sum = frame.values[in.a];
  sum.append(frame.values[in.b]);
  sum.nodes.push_back({ExprNode::Add});
  frame.values[in.dst] = std::move(sum);
  return true;
}

bool Machine::foldBegin(Frame &frame, const Instr &) {
  frame.openFolds.emplace_back();
  return true;
}

bool Machine::foldOperand(Frame &frame, const Instr &in) {
  frame.openFolds.back().expr.append(frame.values[in.a]);
  ++frame.openFolds.back().count;
  return countSteps(1, siteOf(frame));
}

bool Machine::foldEnd(Frame &frame, const Instr &in) {
  Frame::Fold fold = std::move(frame.openFolds.back());
  frame.openFolds.pop_back();
  if (fold.count == 0)
    return fail({.fault = Fault::EmptyFold, .site = siteOf(frame)});
  if (fold.count > 1)
    fold.expr.nodes.push_back({in.flag ? ExprNode::FoldAny : ExprNode::Fold,
                               ElemType::T, 0, fold.count});
  frame.values[in.dst] = std::move(fold.expr);
  return true;
}

bool Machine::apply(Frame &frame, const Instr &in) {
  ExprRef call;
  for (Reg reg : regs({in.b, in.count}))
    call.append(frame.values[reg]);
  call.nodes.push_back(
      {ExprNode::Apply, ElemType::T, uint16_t(in.a), in.count});
  frame.values[in.dst] = std::move(call);
  return true;
}
