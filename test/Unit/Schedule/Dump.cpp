//===- Dump.cpp - Programs as text, for failing tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Dump.h"

using namespace coll;

static const char *typeNames[] = {"",     ":accum", ":f16",  ":bf16",  ":f32",
                                  ":f64", ":e4m3",  ":e5m2", ":mxe4m3"};

static std::string dumpPort(const ProgramMember &member,
                            const RankProgram &program, const Port &port) {
  std::string text;
  if (port.kind == Port::Recv || port.kind == Port::Send) {
    const ChannelEnd &end =
        (port.kind == Port::Recv ? program.recvEnds
                                 : program.sendEnds)[port.end];
    text = (port.kind == Port::Recv ? "recv " : "send ") +
           std::to_string(end.peer) + "." + std::to_string(end.tag);
    if (port.direct != Port::None)
      text += port.direct == Port::Put ? " put " : " get ";
  } else {
    text = port.kind == Port::Load ? "load " : "store ";
  }
  bool isMemory = port.kind == Port::Load || port.kind == Port::Store;
  if (isMemory || port.direct != Port::None) {
    if (port.loc.space == Location::Scratch)
      text += "s" + std::to_string(port.loc.part);
    else
      text += member.buffers[port.loc.buffer].name + "[" +
              std::to_string(port.loc.part) + "]." +
              std::to_string(port.loc.chunk);
  }
  text += typeNames[int(port.type)];
  if (port.scaled || port.receivedScaled)
    text += "*";
  if (port.scaledRounded)
    text += "r";
  return text;
}

std::string coll::test::dump(const ProgramSet &programs, uint32_t m, Rank rank,
                             Variant variant) {
  const ProgramMember &member = programs.members[m];
  const RankProgram &program =
      (variant == Variant::InPlace ? member.inPlace : member.outOfPlace)[rank];
  std::string text;
  for (uint32_t b = 0; b < program.blocks.size(); ++b) {
    if (program.blocks.size() > 1)
      text += "block " + std::to_string(b) + "\n";
    for (const Step &step : program.blocks[b].steps) {
      for (uint32_t w = step.firstWait; w < step.firstWait + step.numWaits; ++w)
        text += "wait " + std::to_string(program.waits[w].block) + "." +
                std::to_string(program.waits[w].step) +
                (program.waits[w].previousRound ? "'" : "") + "  ";
      for (uint32_t p = 0; p < uint32_t(step.numSources) + step.numSinks; ++p) {
        text += p == 0 ? "" : p == step.numSources ? " -> " : ", ";
        text += dumpPort(member, program, program.ports[step.firstPort + p]);
      }
      if (step.shift)
        text += "  shift " + std::to_string(step.shift);
      if (step.complete)
        text += "  complete";
      text += "\n";
    }
  }
  return text;
}
