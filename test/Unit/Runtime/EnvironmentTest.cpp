//===- EnvironmentTest.cpp - Variables and launchers ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Environment.h"
#include "Ranks.h"

#include <gtest/gtest.h>

using namespace coll;
using coll::test::Variables;

namespace {

/// Takes away all that a launcher of the test itself may have set.
class EnvironmentTest : public testing::Test {
  Variables clean{{{"COLL_RANK", ""},
                   {"COLL_NRANKS", ""},
                   {"COLL_JOB", ""},
                   {"COLL_ADDRESS", ""},
                   {"RANK", ""},
                   {"WORLD_SIZE", ""},
                   {"OMPI_COMM_WORLD_RANK", ""},
                   {"PMI_RANK", ""},
                   {"SLURM_PROCID", ""}}};
};

std::string settingError(const char *name, const char *value) {
  Variables variables(std::map<std::string, std::string>{{name, value}});
  Environment env;
  Status status = readEnvironment(env);
  EXPECT_EQ(status.code(), COLL_INVALID) << name << "=" << value;
  return status.text();
}

TEST_F(EnvironmentTest, SettingsAreRead) {
  Variables variables({{"COLL_SLOT_BYTES", "4096"},
                       {"COLL_SLOTS", "2"},
                       {"COLL_SMALL_BYTES", "512"},
                       {"COLL_SMALL_SLOTS", "1"},
                       {"COLL_DEADLINE", "1.5"},
                       {"COLL_ISA", "v3"},
                       {"COLL_NT", "0"},
                       {"COLL_SPIN", "7"},
                       {"COLL_DIR", "/somewhere"}});
  Environment env;
  ASSERT_TRUE(readEnvironment(env).isOk());
  EXPECT_EQ(env.rings.slotBytes, 4096u);
  EXPECT_EQ(env.rings.slots, 2u);
  EXPECT_EQ(env.rings.smallBytes, 512u);
  EXPECT_EQ(env.rings.smallSlots, 1u);
  EXPECT_EQ(env.deadlineNs, 1'500'000'000u);
  EXPECT_EQ(env.isa, uint32_t(COLL_ISA_V3));
  EXPECT_EQ(env.nonTemporal, false);
  EXPECT_EQ(env.spin, 7u);
  EXPECT_EQ(env.directory, "/somewhere");
  EXPECT_NE(env.cpus, CpuMask{});
}

TEST_F(EnvironmentTest, ErrorsNameTheVariable) {
  EXPECT_EQ(settingError("COLL_SLOTS", "3"),
            "COLL_SLOTS=3 is not a power of two up to 8");
  EXPECT_EQ(settingError("COLL_SLOTS", "16"),
            "COLL_SLOTS=16 is not a power of two up to 8");
  EXPECT_EQ(settingError("COLL_SLOT_BYTES", "100"),
            "COLL_SLOT_BYTES=100 is not a multiple of 64 up to 1073741824");
  EXPECT_EQ(settingError("COLL_SLOT_BYTES", "1k"),
            "COLL_SLOT_BYTES=1k is not a number");
  EXPECT_EQ(settingError("COLL_SMALL_BYTES", "-16"),
            "COLL_SMALL_BYTES=-16 is not a number");
  EXPECT_EQ(settingError("COLL_SPIN", "99999999999"),
            "COLL_SPIN=99999999999 is not from 0 to 4294967295");
  EXPECT_EQ(settingError("COLL_DEADLINE", "soon"),
            "COLL_DEADLINE=soon is not a positive number of seconds");
  EXPECT_EQ(settingError("COLL_DEADLINE", "-1"),
            "COLL_DEADLINE=-1 is not a positive number of seconds");
  EXPECT_EQ(settingError("COLL_ISA", "avx"),
            "COLL_ISA=avx is none of v2, v3, v4, aarch64");
  EXPECT_EQ(settingError("COLL_NT", "yes"),
            "COLL_NT=yes is none of 0, 1, auto");
  EXPECT_EQ(settingError("COLL_LL128", "2"),
            "COLL_LL128=2 is none of 0, 1, auto");
  EXPECT_EQ(settingError("COLL_TRANSPORT", "tcp"),
            "transports of this version: COLL_TRANSPORT=tcp is none of shm");
  EXPECT_EQ(settingError("COLL_DIR", "here"),
            "COLL_DIR=here is not an absolute path");
}

Launcher launcherOf(const std::map<std::string, std::string> &values) {
  Variables variables(values);
  Launcher launcher;
  Status status = readLauncher(launcher);
  EXPECT_TRUE(status.isOk()) << status.text();
  return launcher;
}

std::string launcherError(const std::map<std::string, std::string> &values) {
  Variables variables(values);
  Launcher launcher;
  Status status = readLauncher(launcher);
  EXPECT_EQ(status.code(), COLL_INVALID);
  return status.text();
}

TEST_F(EnvironmentTest, Explicit) {
  Launcher launcher =
      launcherOf({{"COLL_RANK", "1"}, {"COLL_NRANKS", "4"}, {"COLL_JOB", "a"}});
  EXPECT_EQ(launcher.rank, 1);
  EXPECT_EQ(launcher.nranks, 4);
  EXPECT_EQ(launcher.job, "a");
  EXPECT_EQ(launcherError({{"COLL_RANK", "1"}}),
            "COLL_RANK is set but COLL_NRANKS is not");
  EXPECT_EQ(launcherError({{"COLL_NRANKS", "1"}}),
            "COLL_NRANKS is set but COLL_RANK is not");
  EXPECT_EQ(launcherError({{"COLL_RANK", "4"}, {"COLL_NRANKS", "4"}}),
            "COLL_RANK=4 is not below COLL_NRANKS=4");
  EXPECT_EQ(launcherError({{"COLL_RANK", "x"}, {"COLL_NRANKS", "4"}}),
            "COLL_RANK=x is not a number");
  EXPECT_NE(launcherError({{"COLL_RANK", "0"}, {"COLL_NRANKS", "4"}})
                .find("neither COLL_JOB"),
            std::string::npos);
}

TEST_F(EnvironmentTest, Torchrun) {
  std::map<std::string, std::string> values = {{"RANK", "2"},
                                               {"WORLD_SIZE", "4"},
                                               {"LOCAL_WORLD_SIZE", "4"},
                                               {"MASTER_ADDR", "localhost"},
                                               {"MASTER_PORT", "29500"},
                                               {"TORCHELASTIC_RUN_ID", "r"}};
  Launcher launcher = launcherOf(values);
  EXPECT_EQ(launcher.name, "torchrun");
  EXPECT_EQ(launcher.rank, 2);
  values["TORCHELASTIC_RESTART_COUNT"] = "1";
  EXPECT_NE(launcherOf(values).job, launcher.job);
  values["MASTER_PORT"] = "";
  EXPECT_EQ(launcherError(values),
            "RANK and WORLD_SIZE are set but MASTER_PORT is not");
  values["MASTER_PORT"] = "29500";
  values["LOCAL_WORLD_SIZE"] = "2";
  EXPECT_EQ(launcherError(values),
            "LOCAL_WORLD_SIZE=2, but the job has 4 ranks: ranks on several "
            "hosts are not supported yet");
}

TEST_F(EnvironmentTest, OpenMpi) {
  std::map<std::string, std::string> values = {
      {"OMPI_COMM_WORLD_RANK", "0"},
      {"OMPI_COMM_WORLD_SIZE", "2"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"PMIX_NAMESPACE", "17"}};
  EXPECT_EQ(launcherOf(values).name, "Open MPI");
  values["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_NE(launcherError(values).find("several hosts"), std::string::npos);
  values["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  values["PMIX_NAMESPACE"] = "";
  EXPECT_NE(launcherError(values).find("COLL_JOB"), std::string::npos);
}

TEST_F(EnvironmentTest, PmiNamesTheJobByTheLaunchingProcess) {
  Launcher launcher = launcherOf({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(launcher.name, "PMI");
  EXPECT_FALSE(launcher.job.empty());
  EXPECT_EQ(launcher.job,
            launcherOf({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).job);
}

TEST_F(EnvironmentTest, Slurm) {
  std::map<std::string, std::string> values = {{"SLURM_PROCID", "3"},
                                               {"SLURM_NTASKS", "4"},
                                               {"SLURM_JOB_ID", "99"},
                                               {"SLURM_STEP_ID", "0"}};
  Launcher launcher = launcherOf(values);
  EXPECT_EQ(launcher.name, "Slurm");
  EXPECT_EQ(launcher.rank, 3);
  values["SLURM_STEP_ID"] = "1";
  EXPECT_NE(launcherOf(values).job, launcher.job);
  values["SLURM_NNODES"] = "2";
  EXPECT_EQ(launcherError(values),
            "SLURM_NNODES=2: ranks on several hosts are not supported yet");
}

TEST_F(EnvironmentTest, TheInnermostLauncherCounts) {
  EXPECT_EQ(launcherOf({{"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "1"},
                        {"SLURM_JOB_ID", "1"},
                        {"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"PMIX_NAMESPACE", "5"}})
                .name,
            "Open MPI");
  EXPECT_EQ(launcherOf({{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"PMIX_NAMESPACE", "5"},
                        {"COLL_JOB", "mine"}})
                .job,
            "mine");
}

TEST_F(EnvironmentTest, NoLauncher) {
  EXPECT_NE(launcherError({}).find("no launcher found"), std::string::npos);
}

} // namespace
