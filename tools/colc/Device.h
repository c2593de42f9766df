//===- Device.h - colc --target=cuda:CHIP -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TOOLS_COLC_DEVICE_H
#define COLL_TOOLS_COLC_DEVICE_H

#include "lib/Driver/Session.h"
#include "tools/colc/Options.h"

namespace coll {

/// Whether what is asked for is device code by itself.
bool isDeviceText(const Options &options);
/// Writes it: LLVM IR, PTX or a cubin, of one chip.
void emitDeviceText(Session &session, const Options &options,
                    llvm::ArrayRef<Plan> plans);

/// Device code of every plan for all chips that the options name; nothing if
/// they name none. False: the session's diagnostics say why.
bool compileDevices(Session &session, const Options &options,
                    llvm::ArrayRef<Plan> plans,
                    std::vector<DeviceCode> &devices);

} // namespace coll
#endif // COLL_TOOLS_COLC_DEVICE_H
