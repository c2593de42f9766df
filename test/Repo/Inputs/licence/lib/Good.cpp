//===- Good.cpp - As it should be ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
int x;
