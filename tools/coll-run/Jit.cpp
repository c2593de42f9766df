//===- Jit.cpp - A generated object in this process -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/coll-run/Jit.h"

#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

using namespace coll;
namespace orc = llvm::orc;

LoadedObject::LoadedObject(std::unique_ptr<orc::LLJIT> jit)
    : jit(std::move(jit)) {}
LoadedObject::~LoadedObject() = default;

llvm::Expected<std::unique_ptr<LoadedObject>>
LoadedObject::load(std::unique_ptr<llvm::MemoryBuffer> object) {
  llvm::Expected<std::unique_ptr<orc::LLJIT>> jit =
      orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  auto symbol = [](auto *function) {
    return orc::ExecutorSymbolDef(orc::ExecutorAddr::fromPtr(function),
                                  llvm::JITSymbolFlags::Exported);
  };
  orc::SymbolMap runtime;
  runtime[(*jit)->mangleAndIntern("coll_kernel_wait")] =
      symbol(&coll_kernel_wait);
  runtime[(*jit)->mangleAndIntern("coll_kernel_mismatch")] =
      symbol(&coll_kernel_mismatch);
  runtime[(*jit)->mangleAndIntern("coll_kernel_window")] =
      symbol(&coll_kernel_window);
  runtime[(*jit)->mangleAndIntern("coll_kernel_remote")] =
      symbol(&coll_kernel_remote);
  runtime[(*jit)->mangleAndIntern("coll_kernel_move")] =
      symbol(&coll_kernel_move);
  runtime[(*jit)->mangleAndIntern("coll_count_bytes")] = symbol(&countBytes);
  if (llvm::Error error = (*jit)->getMainJITDylib().define(
          orc::absoluteSymbols(std::move(runtime))))
    return std::move(error);
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return std::move(error);
  return std::unique_ptr<LoadedObject>(new LoadedObject(std::move(*jit)));
}

llvm::Expected<const coll_plan *> LoadedObject::plan(llvm::StringRef name) {
  llvm::Expected<orc::ExecutorAddr> address =
      jit->lookup((name + "_plan").str());
  if (!address)
    return address.takeError();
  return address->toPtr<const coll_plan *>();
}
