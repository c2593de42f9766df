//===- CleaningTest.cpp - When stores into slots need not be strong -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fewest instructions that fill a slot, say so and wait for that. Any part
// that is missing leaves the stores without what orders them.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include "coll/abi.h"

#include <gtest/gtest.h>

using namespace coll::emu;

namespace {

std::string field(const std::string &name, const std::string &of, size_t at) {
  return "  %" + name + "_at = getelementptr i8, ptr %" + of + ", i64 " +
         std::to_string(at) + "\n";
}
std::string pointer(const std::string &name, size_t at) {
  return field(name, "end", at) + "  %" + name + " = load ptr, ptr %" + name +
         "_at\n";
}
/// Of messages whose number has a bit of the mask.
std::string due(unsigned mask) {
  return pointer("seq", offsetof(coll_end, seq)) +
         field("next", "seq", offsetof(coll_seq, small_next)) +
         "  %next = load i64, ptr %next_at\n"
         "  %number = add i64 %next, 1\n"
         "  %bits = and i64 %number, " +
         std::to_string(mask) + "\n  %no = icmp eq i64 %bits, 0\n";
}

struct Code {
  unsigned filled = 64, released = 64, awaited = 64;
  std::string release = "release", acquire = "acquire";
  std::string barrier = "  call void "
                        "@llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  std::string isLess = "icmp ult i64 %have, %number";

  std::string text() const {
    const std::string small = pointer("small", offsetof(coll_end, small)),
                      cleaned = pointer("line", offsetof(coll_end, line)) +
                                field("word", "line",
                                      offsetof(coll_ring_line, cleaned));
    return "target triple = \"nvptx64-nvidia-cuda\"\n"
           "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
           "define internal void @fill(ptr %end) {\n" +
           due(filled) +
           "  br i1 %no, label %done, label %due\n"
           "due:\n" +
           small +
           "  store atomic i64 7, ptr %small monotonic, align 8\n"
           "  br label %done\n"
           "done:\n"
           "  ret void\n"
           "}\n"
           "define internal void @say(ptr %end) {\n" +
           due(released) +
           "  br i1 %no, label %done, label %due\n"
           "due:\n" +
           cleaned + "  store atomic i64 %number, ptr %word_at " + release +
           ", align 8\n"
           "  br label %done\n"
           "done:\n"
           "  ret void\n"
           "}\n"
           "define internal ptr @receive(ptr %end) {\n" +
           due(awaited) +
           "  br i1 %no, label %good, label %due\n"
           "due:\n" +
           cleaned +
           "  br label %poll\n"
           "poll:\n"
           "  %have = load atomic i64, ptr %word_at " +
           acquire +
           ", align 8\n"
           "  %less = " +
           isLess +
           "\n  br i1 %less, label %poll, label %good\n"
           "good:\n" +
           small +
           "  ret ptr %small\n"
           "}\n"
           "define ptx_kernel void @kernel(ptr %end, ptr %other) {\n"
           "  call void @fill(ptr %end)\n" +
           barrier +
           "  call void @say(ptr %end)\n"
           "  %slot = call ptr @receive(ptr %other)\n"
           "  ret void\n"
           "}\n";
  }
};

bool isOrdered(const Code &code) {
  Machine machine(1, {});
  std::string error;
  Module *module = machine.load(code.text(), error);
  EXPECT_EQ(error, "");
  unsigned stores = 0;
  bool isOrdered = false;
  for (const Place &place :
       module ? Machine::places(module) : std::vector<Place>())
    if (place.kind == PlaceKind::Store && place.function == "fill") {
      ++stores;
      isOrdered = place.isCleaning;
    }
  EXPECT_EQ(stores, 1u);
  return isOrdered;
}

TEST(Cleaning, AllOtherAccessesAreOrdered) { EXPECT_TRUE(isOrdered({})); }

TEST(Cleaning, OrderThatIsMissingIsSeen) {
  auto without = [](auto change) {
    Code code;
    change(code);
    return isOrdered(code);
  };
  EXPECT_FALSE(without([](Code &code) { code.release = "monotonic"; }));
  EXPECT_FALSE(without([](Code &code) { code.acquire = "monotonic"; }));
  EXPECT_FALSE(without([](Code &code) { code.barrier = ""; }));
  EXPECT_FALSE(without([](Code &code) { code.filled = 32; }));
  EXPECT_FALSE(without([](Code &code) { code.released = 32; }));
  EXPECT_FALSE(without([](Code &code) { code.awaited = 32; }));
  EXPECT_FALSE(
      without([](Code &code) { code.isLess = "icmp ult i64 %have, 1"; }));
  EXPECT_FALSE(
      without([](Code &code) { code.isLess = "icmp ugt i64 %have, %number"; }));
}

} // namespace
