//===- BlockEmitter.h - Conversion to and from mxe4m3 -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lib/Support/BlockScale.h, for a vector of 32 elements or for a warp with one
// each. Which it is decides how the largest of a block is found and who stores
// its scale.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_LOWERING_BLOCKEMITTER_H
#define COLL_LIB_LOWERING_BLOCKEMITTER_H

#include "lib/Lowering/TileEmitter.h"
#include "lib/Support/BlockScale.h"

namespace coll::lowering {

class BlockEmitter : public TileEmitter {
public:
  using TileEmitter::TileEmitter;

protected:
  /// Of the i32 in all elements of a block.
  virtual Value largest(Value bits) = 0;
  /// Zero where the block has no element.
  virtual Value keep(Value value) = 0;
  virtual void storeScale(Value code, Value address) = 0;

  Value loadBlocks(Value pointer, Value index, unsigned lanes) override;
  void storeBlocks(Value pointer, Value index, Value value) override;
  Value throughBlocks(Value value) override;

private:
  struct Encoded {
    Value codes, scale; // i8: of the elements, of the block
  };
  Encoded encode(Value value);
  Value decode(Value codes, Value scale);
  /// Where the codes of element `index` are, and the scale of its block.
  std::pair<Value, Value> placesOf(Value pointer, Value index);
};

} // namespace coll::lowering
#endif // COLL_LIB_LOWERING_BLOCKEMITTER_H
