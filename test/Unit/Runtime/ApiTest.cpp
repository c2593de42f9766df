//===- ApiTest.cpp - The edge of the C interface --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

extern "C" int collHeaderIsC99(void);

using namespace coll::test;

namespace {

TEST(Api, TheHeaderIsC99) { EXPECT_TRUE(collHeaderIsC99()); }

TEST(Api, EveryStatusHasItsText) {
  for (int status = COLL_OK; status <= COLL_OVERLAP; ++status)
    EXPECT_STRNE(coll_status_string(coll_status(status)), "unknown status");
}

TEST(Api, NullIsAnAnswerNotACrash) {
  coll_error error;
  void *ptr;
  EXPECT_EQ(coll_make_id(nullptr), COLL_INVALID);
  EXPECT_STREQ(coll_last_error(), "coll_make_id: id is null");
  EXPECT_EQ(coll_comm_init_env(nullptr, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_abort(nullptr, "x"), COLL_INVALID);
  EXPECT_EQ(coll_comm_error(nullptr, &error), COLL_INVALID);
  EXPECT_EQ(coll_comm_dup(nullptr, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_split(nullptr, 0, 0, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_shrink(nullptr, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_mem_alloc(nullptr, 1, &ptr), COLL_INVALID);
  EXPECT_EQ(coll_mem_free(nullptr, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_register(nullptr, nullptr, 1, -1), COLL_INVALID);
  EXPECT_EQ(coll_deregister(nullptr, nullptr), COLL_INVALID);
  EXPECT_EQ(coll_comm_destroy(nullptr), COLL_OK);
  EXPECT_EQ(coll_comm_rank(nullptr), -1);
  EXPECT_EQ(coll_comm_size(nullptr), -1);
}

TEST(Api, TheLastErrorIsTheThreadsOwn) {
  EXPECT_EQ(coll_make_id(nullptr), COLL_INVALID);
  std::thread([] { EXPECT_STREQ(coll_last_error(), ""); }).join();
  EXPECT_STRNE(coll_last_error(), "");
}

TEST(Api, UserMemory) {
  RendezvousDirectory directory;
  withComms(1, [](int, coll_comm *comm) {
    void *ptr;
    ASSERT_EQ(coll_mem_alloc(comm, 1 << 20, &ptr), COLL_OK);
    memset(ptr, 1, 1 << 20);
    EXPECT_EQ(coll_register(comm, ptr, 1 << 20, -1), COLL_OK);
    EXPECT_EQ(coll_deregister(comm, ptr), COLL_OK);
    EXPECT_EQ(coll_mem_free(comm, ptr), COLL_OK);
    EXPECT_EQ(coll_mem_alloc(comm, 10, &ptr), COLL_OK); // freed with comm
    EXPECT_EQ(coll_comm_destroy(comm), COLL_OK);
  });
}

} // namespace
