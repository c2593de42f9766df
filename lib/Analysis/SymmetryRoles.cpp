//===- SymmetryRoles.cpp - Loops that walk along the ranks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where an instruction names a rank, its coordinates are followed back through
// sums, differences and remainders to the loops they come from. That is a
// guess; the run checks that each rank turns by one step.
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/SymmetryRun.h"

#include "llvm/ADT/STLExtras.h"

using namespace coll;
using namespace coll::elab;

namespace {
class RoleFinder {
public:
  explicit RoleFinder(const Bytecode &code)
      : code(code), roles(code.loops.size()), defs(code.ints.size()) {
    for (auto [pc, in] : llvm::enumerate(code.code))
      if (in.op <= lastBinary)
        defs[in.dst].push_back(pc);
    for (auto [i, loop] : llvm::enumerate(code.loops))
      loopOf[loop.var] = i;
  }
  std::vector<LoopRole> run();

private:
  void visit(RegList coords) {
    for (uint32_t d = 0; d < coords.count; ++d)
      follow(code.pool[coords.first + d], d, false, 16);
  }
  /// Parts that are named one by one are one per rank, or it does not matter.
  void visitParts(Reg view) {
    for (const Instr &in : code.code)
      if (in.op == Opcode::Slice && in.dst == view)
        for (uint32_t d = 0; d < in.count && d < code.rankDims.size(); ++d)
          if (code.pool[in.b + 3 * d + 1] == kNone)
            follow(code.pool[in.b + 3 * d], d, false, 16);
  }
  void follow(Reg reg, uint8_t dim, bool isDown, unsigned depth);

  const Bytecode &code;
  std::vector<LoopRole> roles;
  std::vector<llvm::SmallVector<uint32_t, 2>> defs; ///< by register
  llvm::DenseMap<Reg, uint32_t> loopOf;
};
} // namespace

void RoleFinder::follow(Reg reg, uint8_t dim, bool isDown, unsigned depth) {
  auto it = loopOf.find(reg);
  if (it != loopOf.end()) {
    LoopRole &role = roles[it->second];
    if (role.dim == SymmetryCells::stays)
      role = {dim, isDown};
    return;
  }
  if (depth == 0)
    return;
  for (uint32_t pc : defs[reg]) {
    const Instr &in = code.code[pc];
    switch (in.op) {
    case Opcode::Add:
    case Opcode::Sub:
      follow(in.b, dim, isDown ^ (in.op == Opcode::Sub), depth - 1);
      [[fallthrough]];
    case Opcode::Move:
    case Opcode::Mod:
      follow(in.a, dim, isDown, depth - 1);
      break;
    default:
      break;
    }
  }
}

std::vector<LoopRole> RoleFinder::run() {
  for (const Instr &in : code.code)
    switch (in.op) {
    case Opcode::Read:
    case Opcode::Member:
    case Opcode::Ensure:
      visit({in.b, in.count});
      break;
    case Opcode::Transfer:
      visit(code.transfers[in.a].read.at);
      visit(code.transfers[in.a].at);
      break;
    case Opcode::Inplace:
      visit(code.inplaces[in.a].lhsAt);
      visitParts(code.inplaces[in.a].lhs);
      visitParts(code.inplaces[in.a].rhs);
      break;
    default:
      break;
    }
  return std::move(roles);
}

std::vector<LoopRole> elab::findLoopRoles(const Bytecode &code) {
  return RoleFinder(code).run();
}
