//===- DeviceAddressTest.cpp - Accesses of device code, by hand -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What no lowering would make: addresses that cannot be told, other widths,
// weak accesses of packets and lines.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/Cuda.h"
#include "lib/Target/DeviceFlow.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace coll;

namespace {

/// What is said of a kernel with this body, whose argument is %args, with the
/// plan's %inst, the first end to send, and its peer's ring line.
std::string refusalOf(llvm::StringRef body, bool isBuilt = false) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::string text =
      ("target triple = \"nvptx64-nvidia-cuda\"\n"
       "@coll_ports = internal addrspace(3) global [15 x i64] undef, align 16\n"
       "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
       "define ptx_kernel void @k(ptr byval([192 x i8]) align 16 %args) {\n"
       "%instAt = getelementptr i8, ptr %args, i64 8\n"
       "%inst = load ptr, ptr %instAt\n"
       "%endAt = getelementptr i8, ptr %inst, i64 8\n"
       "%end = load ptr, ptr %endAt\n"
       "%line = load ptr, ptr %end\n"
       "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
       "%i = zext i32 %tid to i64\n" +
       body + "\n ret void\n}\n")
          .str();
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << "\n" << text;
  if (!module)
    return "";
  SharedCells cells{7, 2, 2, 160};
  return llvm::toString(checkDeviceAccesses(*module, cells, isBuilt));
}

std::string saidOf(llvm::StringRef body, bool isBuilt = false) {
  return llvm::StringRef(refusalOf(body, isBuilt))
      .split(" has ")
      .second.split(":")
      .first.str();
}

TEST(DeviceAccess, RefusesWhatItCannotTell) {
  EXPECT_EQ(saidOf("%p = getelementptr i8, ptr %line, i64 96\n"
                   "%v = load i64, ptr %p"),
            "a weak load of what no address is known of");
  EXPECT_EQ(saidOf("%at = getelementptr i8, ptr %args, i64 128\n"
                   "%in = load ptr, ptr %at\n"
                   "%p = load ptr, ptr %in\n"
                   "store i64 0, ptr %p"),
            "a weak store of what no address is known of");
  // Any word of a line; two lines' addresses.
  EXPECT_EQ(saidOf("%o = mul i64 %i, 8\n"
                   "%p = getelementptr i8, ptr %line, i64 %o\n"
                   "%v = load atomic i64, ptr %p acquire, align 8"),
            "a strong load (acquire) of what no address is known of");
  EXPECT_EQ(saidOf("%c = icmp eq i64 %i, 0\n"
                   "%p = select i1 %c, ptr %line, ptr %inst\n"
                   "%v = load i64, ptr %p"),
            "a weak load of what no address is known of");
  EXPECT_EQ(saidOf("%v = load i64, ptr inttoptr (i64 4096 to ptr)"),
            "a weak load of what no address is known of");
}

TEST(DeviceAccess, RefusesOtherWidthsAndTables) {
  EXPECT_EQ(saidOf("%v = load atomic i32, ptr %line acquire, align 4"),
            "a strong load (acquire) of coll_ring_line.tail");
  EXPECT_EQ(saidOf("store ptr %line, ptr %end"),
            "a weak store of coll_end.line");
  EXPECT_EQ(saidOf("%v = load atomic i64, ptr %line seq_cst, align 8"),
            "a strong load (seq_cst) of coll_ring_line.tail");
  // An element of the line's array, and one beyond its type.
  EXPECT_EQ(saidOf("%o = mul i64 %i, 4\n"
                   "%s = getelementptr i8, ptr %line, i64 8\n"
                   "%p = getelementptr i8, ptr %s, i64 %o\n"
                   "%v = load i32, ptr %p"),
            "");
  EXPECT_EQ(saidOf("%s = getelementptr i8, ptr %line, i64 8\n"
                   "%p = getelementptr i8, ptr %s, i64 %i\n"
                   "%v = load i32, ptr %p"),
            "a weak load of what no address is known of");
}

TEST(DeviceAccess, KnowsPayloadAndItsStrength) {
  const std::string slot = "%slotsAt = getelementptr i8, ptr %end, i64 16\n"
                           "%slots = load ptr, ptr %slotsAt\n"
                           "%p = getelementptr i8, ptr %slots, i64 %i\n";
  EXPECT_EQ(saidOf(slot + "%v = load <4 x i32>, ptr %p"), "");
  EXPECT_EQ(saidOf(slot + "store atomic i64 0, ptr %p monotonic, align 8"),
            "a strong store (monotonic) of payload");
}

TEST(DeviceAccess, KnowsLines) {
  auto said = [](const std::string &access) {
    return saidOf("%linesAt = getelementptr i8, ptr %end, i64 32\n"
                  "%lines = load ptr, ptr %linesAt\n"
                  "%o = mul i64 %i, 16\n"
                  "%p = getelementptr i8, ptr %lines, i64 %o\n" +
                  access);
  };
  // A lane's part; the flag alone, polled or of a token.
  for (const char *access :
       {"%v = load volatile <2 x i64>, ptr %p, align 16",
        "store volatile <2 x i64> zeroinitializer, ptr %p, align 16",
        "%v = load atomic i64, ptr %p monotonic, align 8",
        "%v = load atomic i64, ptr %p acquire, align 8",
        "store atomic i64 0, ptr %p release, align 8"})
    EXPECT_EQ(said(access), "") << access;
  EXPECT_EQ(said("%v = load <2 x i64>, ptr %p, align 16"),
            "a weak load of lines");
  EXPECT_EQ(said("store <2 x i64> zeroinitializer, ptr %p, align 16"),
            "a weak store of lines");
  EXPECT_EQ(said("%v = load volatile i64, ptr %p"), "a volatile load of lines");
  EXPECT_EQ(said("%v = load volatile <4 x i64>, ptr %p, align 16"),
            "a volatile load of lines");
  EXPECT_EQ(said("store atomic i64 0, ptr %p monotonic, align 8"),
            "a strong store (monotonic) of lines");
  EXPECT_EQ(said("%v = load atomic i32, ptr %p monotonic, align 4"),
            "a strong load (monotonic) of lines");
  EXPECT_EQ(said("%v = load atomic i64, ptr %p syncscope(\"device\") acquire, "
                 "align 8"),
            "a strong load (acquire, device) of lines");
  // Volatile is for lines alone.
  EXPECT_EQ(saidOf("%slotsAt = getelementptr i8, ptr %end, i64 16\n"
                   "%slots = load ptr, ptr %slotsAt\n"
                   "%v = load volatile <2 x i64>, ptr %slots, align 16"),
            "a volatile load of payload");
  EXPECT_EQ(saidOf("%v = load volatile <2 x i64>, ptr %line, align 16"),
            "a volatile load of coll_ring_line.tail");
}

/// A port that is either: its pointer in cell 7, its tag in cell 11.
std::string either(const char *access) {
  return std::string("%smallAt = getelementptr i8, ptr %end, i64 24\n"
                     "%small = load ptr, ptr %smallAt\n"
                     "%slotsAt = getelementptr i8, ptr %end, i64 16\n"
                     "%slots = load ptr, ptr %slotsAt\n"
                     "%c = icmp eq i64 %i, 0\n"
                     "%port = select i1 %c, ptr %small, ptr %slots\n"
                     "%cell = getelementptr i8, ptr addrspace(3) @coll_ports, "
                     "i64 56\n"
                     "store ptr %port, ptr addrspace(3) %cell\n"
                     "%p = load ptr, ptr addrspace(3) %cell\n"
                     "%tagAt = getelementptr i8, ptr addrspace(3) @coll_ports, "
                     "i64 88\n"
                     "%tag = load i64, ptr addrspace(3) %tagAt\n"
                     "%other = load i64, ptr addrspace(3) @coll_ports\n") +
         access;
}

TEST(DeviceAccess, WeakOnlyBehindATag) {
  auto guarded = [](const char *condition) {
    return either((std::string("%is = icmp ") + condition +
                   "\nbr i1 %is, label %packet, label %memory\n"
                   "packet:\n"
                   "%v = load atomic i64, ptr %p monotonic, align 8\n"
                   "br label %end1\n"
                   "memory:\n"
                   "%w = load i64, ptr %p\n"
                   "br label %end1\n"
                   "end1:\n")
                      .c_str());
  };
  const std::string refused = "a weak load of what may be packets";
  EXPECT_EQ(saidOf(guarded("ne i64 %tag, 0"), true), "");
  EXPECT_EQ(saidOf(guarded("eq i64 %tag, 0"), true), refused);
  EXPECT_EQ(saidOf(guarded("ne i64 %other, 0"), true), refused);
  EXPECT_EQ(saidOf(either("%w = load i64, ptr %p"), true), refused);
  // Behind the optimizer nothing more is asked.
  EXPECT_EQ(saidOf(either("%w = load i64, ptr %p")), "");
}

} // namespace
