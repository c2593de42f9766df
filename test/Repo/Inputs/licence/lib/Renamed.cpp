//===- Original.cpp - Copied, not renamed ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
int x;
