//===- HostCalls.h - What host kernels call ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_EMULATOR_HOSTCALLS_H
#define COLL_TEST_EMULATOR_HOSTCALLS_H

#include "coll/abi.h"

namespace coll::emu {

/// What host kernels call. Nothing is registered here, so none names a window.
uint32_t waitOnHost(const coll_inst *inst, uint32_t block, const uint64_t *word,
                    uint64_t want, uint32_t how, uint64_t progress);
uint32_t mismatchOnHost(const coll_inst *inst, uint32_t block,
                        uint64_t progress, uint32_t want, uint32_t have);
void *windowOnHost(const coll_inst *inst, uint32_t block, const coll_end *end,
                   uint64_t progress, uint64_t win, uint64_t offset,
                   uint64_t bytes, uint32_t how);
uint32_t remoteOnHost(const coll_inst *inst, uint32_t block,
                      const coll_args *args, const coll_end *end,
                      uint64_t progress, uint32_t how);
uint32_t moveOnHost(const coll_inst *inst, uint32_t block, const coll_end *end,
                    uint64_t progress, uint64_t offset, uint64_t bytes,
                    void *local, uint64_t messages);

} // namespace coll::emu

#endif // COLL_TEST_EMULATOR_HOSTCALLS_H
