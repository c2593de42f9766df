//===- GraphPrinter.cpp - Chunk graphs as text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphPrinter.h"

using namespace coll;

static const char *spellingOf(ElemType type) {
  static const char *const names[] = {"T",   "accum", "f16",  "bf16",  "f32",
                                      "f64", "e4m3",  "e5m2", "mxe4m3"};
  return names[size_t(type)];
}

static const char *spellingOf(Buffer::Kind kind) {
  static const char *const names[] = {"in", "out", "elem", "row", "scalar"};
  return names[size_t(kind)];
}

static std::string cellText(const ChunkGraph &graph, const Cell &cell) {
  const Buffer &buffer = graph.buffers[cell.buffer];
  std::string text = buffer.name;
  if (buffer.parts > 1)
    text += "[" + std::to_string(cell.part) + "]";
  bool isWhole = buffer.kind == Buffer::RowArg || buffer.kind == Buffer::Scalar;
  if (graph.chunks > 1 && !isWhole)
    text += "." + std::to_string(cell.chunk);
  return text;
}

static std::string sizeText(const ChunkGraph &graph, uint32_t id) {
  const SizeSymbol &size = graph.sizes[id];
  if (size.kind == SizeSymbol::Count)
    return "count";
  std::string value = std::to_string(size.value);
  return size.kind == SizeSymbol::Const ? value
                                        : graph.launchCounts + "#" + value;
}

static std::string extentText(const ChunkGraph &graph, ExtentId id) {
  const Extent &extent = graph.extents[id];
  return sizeText(graph, extent.size) + ":" + std::to_string(extent.chunk);
}

static std::string exprText(const ChunkGraph &graph, const Value &value) {
  std::vector<std::string> stack;
  for (const ExprNode &node : graph.exprs[value.expr].nodes) {
    if (node.kind == ExprNode::Operand) {
      const Operand &operand = graph.operandsOf(value)[node.arg];
      std::string text = "%" + std::to_string(operand.value);
      if (operand.hasVia)
        text += std::string(" via ") + spellingOf(operand.via);
      stack.push_back(text);
      continue;
    }
    size_t takes = node.kind == ExprNode::Round ? 1
                   : node.kind == ExprNode::Add ? 2
                                                : node.arg;
    std::string name = node.kind == ExprNode::Fold      ? "reduce"
                       : node.kind == ExprNode::FoldAny ? "reduce_any"
                       : node.kind == ExprNode::Add     ? "add"
                       : node.kind == ExprNode::Round
                           ? spellingOf(node.type)
                           : graph.functions[node.function].name;
    std::string args;
    for (size_t i = stack.size() - takes; i < stack.size(); ++i)
      args += (args.empty() ? "" : ", ") + stack[i];
    stack.resize(stack.size() - takes);
    stack.push_back(name + "(" + args + ")");
  }
  return stack.back();
}

static void printMapping(const Mapping &mapping, llvm::raw_ostream &os) {
  auto field = [&](const char *name, uint64_t value, uint64_t none) {
    if (value != none)
      os << " " << name << "=" << value;
  };
  os << " map(";
  field("channel", mapping.channel, kNone);
  field("block", mapping.block, kNone);
  field("recv_block", mapping.recvBlock, kNone);
  field("channels", mapping.channels, 0);
  field("instances", mapping.instances, 0);
  field("blocks", mapping.blocks, 0);
  if (!mapping.protocol.empty())
    os << " protocol=" << mapping.protocol;
  os << (mapping.store ? " store" : "") << (mapping.pull ? " pull" : "")
     << (mapping.push ? " push" : "") << (mapping.staged ? " staged" : "")
     << (mapping.sourceOrder ? " order=source" : "") << " )";
}

static void printValue(const ChunkGraph &graph, ValueId id,
                       llvm::raw_ostream &os) {
  const Value &value = graph.values[id];
  os << "  %" << id << " @" << value.rank << " ";
  if (value.kind == Value::Input) {
    os << cellText(graph, value.cell);
  } else {
    os << exprText(graph, value);
    if (value.type != ElemType::T)
      os << " : " << spellingOf(value.type);
  }
  os << "  t" << value.term << " " << extentText(graph, value.extent);
  if (value.kind == Value::Op)
    os << " s" << value.statement;
  os << (value.complete ? " complete" : "") << (value.leafCopy ? " leaf" : "");
  if (value.mapping != 0)
    printMapping(graph.mappings[value.mapping], os);
  os << "\n";
}

static void printBuffer(const ChunkGraph &graph, const Buffer &buffer,
                        llvm::raw_ostream &os) {
  os << "  " << spellingOf(buffer.kind) << " " << buffer.name << " parts "
     << buffer.parts;
  uint32_t present = 0;
  for (bool is : buffer.present)
    present += is;
  if (present != graph.numRanks()) {
    os << " at";
    for (Rank r = 0; r < graph.numRanks(); ++r)
      if (buffer.present[r])
        os << " " << r;
  }
  os << " sizes";
  for (uint32_t size : buffer.partSize)
    os << " " << sizeText(graph, size);
  os << "\n";
}

void coll::printGraph(const ChunkGraph &graph, llvm::raw_ostream &os) {
  os << "graph " << graph.schedule << " : " << graph.contract << " chunks "
     << graph.chunks << (graph.reduces ? " reduces" : "")
     << (graph.isAvgLegal ? " avg" : "") << "\n";
  for (size_t i = 0; i < graph.launchNames.size(); ++i)
    os << "  launch " << graph.launchNames[i] << " = " << graph.launchValues[i]
       << "\n";
  for (const Buffer &buffer : graph.buffers)
    printBuffer(graph, buffer, os);
  for (ValueId id = 0; id < graph.values.size(); ++id)
    printValue(graph, id, os);
  for (const Output &output : graph.outputs)
    os << "  " << cellText(graph, output.cell) << " @" << output.rank << " = %"
       << output.value << "\n";
  for (const InplacePair &pair : graph.inplace)
    os << "  inplace @" << pair.rank << " " << graph.buffers[pair.bufferA].name
       << "[" << pair.partA << "] " << graph.buffers[pair.bufferB].name << "["
       << pair.partB << "]\n";
}

void coll::printSummary(const ChunkGraph &graph, llvm::raw_ostream &os) {
  size_t inputs = 0, messages = 0;
  for (const Value &value : graph.values) {
    inputs += value.kind == Value::Input;
    for (uint32_t i = 0; i < value.numOperands; ++i)
      messages +=
          graph.values[graph.operandsOf(value)[i].value].rank != value.rank;
  }
  os << "  " << graph.values.size() << " values, " << inputs << " inputs, "
     << messages << " transfers, " << graph.terms.size() << " terms, "
     << graph.outputs.size() << " outputs\n";
}
