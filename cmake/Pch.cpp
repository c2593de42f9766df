//===- Pch.cpp - Carrier of the precompiled MLIR headers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// CMake builds a precompiled header only for a target that compiles something.
