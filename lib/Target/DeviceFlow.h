//===- DeviceFlow.h - Which words device code comes to ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows addresses from the kernels' arguments through the structures of
// coll/abi.h, through functions, and through the block's shared memory. What is
// found holds whatever the optimizer has made of the module, as it needs no
// mark of its own: an address is what it was loaded from.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_TARGET_DEVICEFLOW_H
#define COLL_LIB_TARGET_DEVICEFLOW_H

#include "lib/Target/DeviceWords.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include <map>

namespace coll {

/// An address: so many bytes from the begin of a region, and a multiple of
/// 2^zeros more; 64: no more.
struct Address {
  Region region = Region::None;
  uint8_t zeros = 64;
  int64_t offset = 0;
  uint32_t span = 0; // of cells: bytes that the multiples reach; 0: not known
  bool operator==(const Address &) const = default;
  bool isExact() const { return zeros >= 64; }
};

/// Functions that load or store memory at their first argument
/// (lib/Lowering/LinePrimitives.cpp).
bool isPartAccess(const llvm::Function &function);

class DeviceFlow {
public:
  DeviceFlow(const llvm::Module &module, const SharedCells &cells);
  /// Whether a kernel comes to the function.
  bool isReached(const llvm::Function &function) const {
    return reached.contains(&function);
  }
  /// None: nothing comes there, or it is null.
  Address addressOf(const llvm::Value *value) const;
  /// The word at an address, and null where it is none of a structure.
  const SharedWord *wordAt(const Address &address) const;
  /// How many bytes lie between a port's pointer and its tag.
  int64_t tagDistance() const {
    return 8 * int64_t(cells.sources + cells.sinks);
  }
  bool isTag(const Address &address) const;

private:
  using CellMap = std::map<unsigned, Address>;
  void visit(const llvm::Function &function);
  Address valueOf(const llvm::Instruction &instruction);
  Address loaded(const llvm::LoadInst &load);
  Address added(Address base, const llvm::Value *offset) const;
  Address ofGep(const llvm::GEPOperator &gep) const;
  void noteStore(const llvm::StoreInst &store);
  void noteCall(const llvm::CallBase &call);
  void raise(const llvm::Value *value, const Address &address);
  std::pair<unsigned, unsigned> cellsAt(const Address &address) const;

  const llvm::DataLayout &layout;
  const SharedCells cells;
  llvm::DenseMap<const llvm::Value *, Address> known; // functions: returned
  std::map<const llvm::Function *, CellMap> stored;
  llvm::SmallPtrSet<const llvm::Function *, 32> reached;
  bool hasChanged = false;
};

} // namespace coll
#endif // COLL_LIB_TARGET_DEVICEFLOW_H
