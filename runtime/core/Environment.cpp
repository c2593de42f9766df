//===- Environment.cpp - What the environment says ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Environment.h"
#include "runtime/core/Host.h"

#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace coll {

//===----------------------------------------------------------------------===//
// Values of variables
//===----------------------------------------------------------------------===//

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value && *value ? value : nullptr; // empty is as good as not set
}

static std::string text(const char *name) {
  const char *value = variable(name);
  return value ? value : "";
}

static Status notA(const char *name, const char *kind) {
  return Status::error(COLL_INVALID, "%s=%s is not %s", name,
                       text(name).c_str(), kind);
}

/// An integer from `least` to `most`; absent leaves `result` as it is.
template <typename T>
static Status readInteger(const char *name, uint64_t least, uint64_t most,
                          T &result) {
  const char *value = variable(name);
  if (!value)
    return Status::ok();
  errno = 0;
  char *end = nullptr;
  unsigned long long number = strtoull(value, &end, 10);
  if (errno != 0 || *end != 0 || value[0] < '0' || value[0] > '9')
    return notA(name, "a number");
  if (number < least || number > most)
    return Status::error(COLL_INVALID, "%s=%s is not from %llu to %llu", name,
                         value, (unsigned long long)least,
                         (unsigned long long)most);
  result = T(number);
  return Status::ok();
}

static Status readSeconds(const char *name, std::optional<uint64_t> &result) {
  const char *value = variable(name);
  if (!value)
    return Status::ok();
  char *end = nullptr;
  double seconds = strtod(value, &end);
  if (end == value || *end != 0 || !std::isfinite(seconds) || seconds <= 0)
    return notA(name, "a positive number of seconds");
  double ns = seconds * 1e9;
  result = ns < 1.8e19 ? uint64_t(ns) : UINT64_MAX;
  return Status::ok();
}

static Status readFlag(const char *name, std::optional<bool> &result) {
  const char *value = variable(name);
  if (!value)
    return Status::ok();
  if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
    return notA(name, "0 or 1");
  result = value[0] == '1';
  return Status::ok();
}

/// The position of the value in `choices`; absent leaves `result` as it is.
template <size_t N>
static Status readChoice(const char *name, const char *const (&choices)[N],
                         std::optional<uint32_t> &result) {
  const char *value = variable(name);
  if (!value)
    return Status::ok();
  std::string known;
  for (uint32_t i = 0; i != N; ++i) {
    if (strcmp(value, choices[i]) == 0) {
      result = i;
      return Status::ok();
    }
    known += (i == 0 ? "" : ", ") + std::string(choices[i]);
  }
  return Status::error(COLL_INVALID, "%s=%s is none of %s", name, value,
                       known.c_str());
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

Status RingSizes::check() const {
  constexpr uint32_t maxSlotBytes = 1 << 30;
  auto isCount = [](uint32_t n, uint32_t most) {
    return std::has_single_bit(n) && n <= most;
  };
  if (slotBytes == 0 || slotBytes % 64 != 0 || slotBytes > maxSlotBytes)
    return Status::error(COLL_INVALID,
                         "COLL_SLOT_BYTES=%u is not a multiple of 64 up to %u",
                         slotBytes, maxSlotBytes);
  if (smallBytes == 0 || smallBytes % COLL_UNIT_BYTES != 0 ||
      smallBytes > maxSlotBytes)
    return Status::error(COLL_INVALID,
                         "COLL_SMALL_BYTES=%u is not a multiple of %d up to %u",
                         smallBytes, COLL_UNIT_BYTES, maxSlotBytes);
  if (!isCount(slots, COLL_MAX_SLOTS))
    return Status::error(COLL_INVALID,
                         "COLL_SLOTS=%u is not a power of two up to %d", slots,
                         COLL_MAX_SLOTS);
  if (!isCount(smallSlots, kMaxSmallSlots))
    return Status::error(COLL_INVALID,
                         "COLL_SMALL_SLOTS=%u is not a power of two up to %u",
                         smallSlots, kMaxSmallSlots);
  return Status::ok();
}

/// "host", "cuda" or "cuda:N".
static Status readDevice(std::optional<int> &device) {
  std::string name = text("COLL_DEVICE");
  if (name.empty() || name == "host")
    return Status::ok();
  device = COLL_DEVICE_BY_RANK;
  if (name == "cuda")
    return Status::ok();
  constexpr int most = 4096;
  int number = 0;
  const char *first = name.data() + std::min<size_t>(5, name.size());
  const char *last = name.data() + name.size();
  auto [end, error] = std::from_chars(first, last, number);
  if (name.rfind("cuda:", 0) != 0 || error != std::errc() || end != last ||
      number < 0 || number > most)
    return notA("COLL_DEVICE", "host, cuda or cuda:N");
  device = number;
  return Status::ok();
}

static Status readSelection(Selection &selection) {
  for (const char *collective : kStandardCollectives) {
    std::string name = "COLL_";
    for (const char *c = collective; *c; ++c)
      name += *c == '_' ? '_' : char(*c - 'a' + 'A');
    if (std::string value = text(name.c_str()); !value.empty())
      COLL_TRY(selection.addVariable(collective, name, value));
  }
  if (std::string path = text("COLL_TUNE"); !path.empty())
    COLL_TRY(selection.addFile(path));
  selection.addBuiltIn();
  return Status::ok();
}

/// "0", "1" or "auto", which is none.
static Status readSwitch(const char *name, std::optional<bool> &value) {
  std::optional<uint32_t> choice;
  COLL_TRY(readChoice(name, {"0", "1", "auto"}, choice));
  if (choice && *choice <= 1)
    value = *choice == 1;
  return Status::ok();
}

Status readEnvironment(Environment &environment) {
  Environment env;
  COLL_TRY(readInteger("COLL_SLOT_BYTES", 0, UINT32_MAX, env.rings.slotBytes));
  COLL_TRY(readInteger("COLL_SLOTS", 0, UINT32_MAX, env.rings.slots));
  COLL_TRY(
      readInteger("COLL_SMALL_BYTES", 0, UINT32_MAX, env.rings.smallBytes));
  COLL_TRY(
      readInteger("COLL_SMALL_SLOTS", 0, UINT32_MAX, env.rings.smallSlots));
  COLL_TRY(env.rings.check());
  COLL_TRY(readSeconds("COLL_DEADLINE", env.deadlineNs));
  COLL_TRY(readSeconds("COLL_INIT_DEADLINE", env.initDeadlineNs));
  COLL_TRY(readInteger("COLL_SPIN", 0, UINT32_MAX, env.spin));
  COLL_TRY(readSwitch("COLL_NT", env.nonTemporal));
  COLL_TRY(readSwitch("COLL_CMA", env.processMemory));
  COLL_TRY(readSwitch("COLL_LL128", env.lines));

  static_assert(COLL_ISA_V2 == 0 && COLL_ISA_V3 == 1 && COLL_ISA_V4 == 2 &&
                COLL_ISA_AARCH64 == 3);
  COLL_TRY(readChoice("COLL_ISA", {"v2", "v3", "v4", "aarch64"}, env.isa));
  std::optional<uint32_t> debug, transport;
  COLL_TRY(readChoice("COLL_DEBUG", {"WARN", "INFO"}, debug));
  if (debug)
    env.debug = *debug == 0 ? DebugLevel::Warn : DebugLevel::Info;
  COLL_TRY(readChoice("COLL_TRANSPORT", {"shm"}, transport)
               .withContext("transports of this version"));

  env.tuneFile = text("COLL_TUNE");
  COLL_TRY(readSelection(env.selection));
  COLL_TRY(readDevice(env.device));
  uint32_t multicastMiB = uint32_t(env.multicastBytes >> 20);
  COLL_TRY(readInteger("COLL_MULTICAST", 0, 1 << 24, multicastMiB));
  env.multicastBytes = uint64_t(multicastMiB) << 20;

  // Not TMPDIR and not XDG_RUNTIME_DIR: launchers give these to some ranks and
  // not to others, which would then wait at different doors.
  env.directory = text("COLL_DIR");
  if (env.directory.empty())
    env.directory = format("/tmp/coll-%u", unsigned(geteuid()));
  if (env.directory[0] != '/')
    return notA("COLL_DIR", "an absolute path");
  env.secret = text("COLL_SECRET");
  std::optional<bool> trusted;
  COLL_TRY(readFlag("COLL_TRUSTED_NETWORK", trusted));
  env.trustedNetwork = trusted.value_or(false);
  env.cpus = affinityMask();
  env.quotaCores = cgroupQuotaCores();
  environment = std::move(env);
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Launchers
//===----------------------------------------------------------------------===//

/// Reads rank and number of ranks.  Both variables must be there.
static Status readRanks(const char *rankName, const char *sizeName,
                        Launcher &launcher) {
  for (const char *name : {rankName, sizeName})
    if (!variable(name))
      return Status::error(COLL_INVALID, "%s is set but %s is not",
                           name == rankName ? sizeName : rankName, name);
  COLL_TRY(readInteger(sizeName, 1, kMaxRanks, launcher.nranks));
  COLL_TRY(readInteger(rankName, 0, kMaxRanks, launcher.rank));
  if (launcher.rank >= launcher.nranks)
    return Status::error(COLL_INVALID, "%s=%d is not below %s=%d", rankName,
                         launcher.rank, sizeName, launcher.nranks);
  return Status::ok();
}

/// The ranks of a job must all be on this host, as far as the launcher says.
static Status checkLocal(const char *localName, const Launcher &launcher) {
  int local = launcher.nranks;
  COLL_TRY(readInteger(localName, 0, kMaxRanks, local));
  if (local != launcher.nranks)
    return Status::error(COLL_INVALID,
                         "%s=%d, but the job has %d ranks: ranks on several "
                         "hosts are not supported yet",
                         localName, local, launcher.nranks);
  return Status::ok();
}

static Status readExplicit(Launcher &launcher) {
  launcher.name = "COLL_RANK";
  COLL_TRY(readRanks("COLL_RANK", "COLL_NRANKS", launcher));
  launcher.job = text("COLL_JOB");
  launcher.address = text("COLL_ADDRESS");
  if (!launcher.address.empty())
    launcher.title = "COLL_ADDRESS=" + launcher.address;
  if (launcher.job.empty() && launcher.address.empty() && launcher.nranks > 1)
    return Status::error(
        COLL_INVALID,
        "COLL_RANK and COLL_NRANKS are set but neither COLL_JOB (any text that "
        "is the job's own) nor COLL_ADDRESS (HOST:PORT of rank 0)");
  return Status::ok();
}

static Status readTorchrun(Launcher &launcher) {
  launcher.name = "torchrun";
  COLL_TRY(readRanks("RANK", "WORLD_SIZE", launcher));
  COLL_TRY(checkLocal("LOCAL_WORLD_SIZE", launcher));
  for (const char *name : {"MASTER_ADDR", "MASTER_PORT"})
    if (!variable(name))
      return Status::error(COLL_INVALID,
                           "RANK and WORLD_SIZE are set but %s is not", name);
  // The port is torchrun's own store's, so it names the job, no more.  After a
  // restart the old ranks may still be dying.
  launcher.job = text("MASTER_ADDR") + ":" + text("MASTER_PORT") + " " +
                 text("TORCHELASTIC_RUN_ID") + " " +
                 text("TORCHELASTIC_RESTART_COUNT");
  return Status::ok();
}

static Status readOpenMpi(Launcher &launcher) {
  launcher.name = "Open MPI";
  COLL_TRY(readRanks("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", launcher));
  COLL_TRY(checkLocal("OMPI_COMM_WORLD_LOCAL_SIZE", launcher));
  // Version 4's job id is a 16-bit hash; its transport key is random.
  std::string id = text("PMIX_NAMESPACE");
  if (id.empty())
    id = text("OMPI_MCA_ess_base_jobid");
  if (id.empty())
    return Status::error(COLL_INVALID,
                         "OMPI_COMM_WORLD_RANK is set but neither "
                         "PMIX_NAMESPACE nor OMPI_MCA_ess_base_jobid is: set "
                         "COLL_JOB to a text that is the job's own");
  launcher.job = id + " " + text("OMPI_MCA_orte_precondition_transports");
  launcher.title = "job " + id + " of Open MPI";
  return Status::ok();
}

/// Has a block of variables, with '\0' between them, this one with this value?
static bool hasVariable(std::string_view environ, const std::string &wanted) {
  while (!environ.empty()) {
    size_t end = environ.find('\0');
    if (environ.substr(0, end) == wanted)
      return true;
    if (end == std::string_view::npos)
      return false;
    environ.remove_prefix(end + 1);
  }
  return false;
}

static Status readPmi(Launcher &launcher) {
  launcher.name = "PMI";
  COLL_TRY(readRanks("PMI_RANK", "PMI_SIZE", launcher));
  COLL_TRY(checkLocal("MPI_LOCALNRANKS", launcher));
  // Hydra says nothing that names the job, but all ranks of a host descend from
  // one proxy: the nearest ancestor that is not started as this rank.
  launcher.job = text("PMI_JOBID") + text("PMI_ID_JOB");
  if (launcher.job.empty()) {
    std::string own = "PMI_RANK=" + text("PMI_RANK");
    launcher.job =
        findAncestor([&own](std::string_view comm, std::string_view environ) {
          return comm == "hydra_pmi_proxy" || !hasVariable(environ, own);
        });
  }
  if (launcher.job.empty() && launcher.nranks > 1)
    return Status::error(COLL_INVALID,
                         "PMI_RANK is set but the launching process cannot be "
                         "found: set COLL_JOB to a text that is the job's own");
  return Status::ok();
}

static Status readSlurm(Launcher &launcher) {
  launcher.name = "Slurm";
  const char *size = variable("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS"
                                                      : "SLURM_NTASKS";
  COLL_TRY(readRanks("SLURM_PROCID", size, launcher));
  int nodes = 1;
  const char *nodesName = variable("SLURM_STEP_NUM_NODES")
                              ? "SLURM_STEP_NUM_NODES"
                              : "SLURM_NNODES";
  COLL_TRY(readInteger(nodesName, 1, kMaxRanks, nodes));
  if (nodes > 1)
    return Status::error(COLL_INVALID,
                         "%s=%d: ranks on several hosts are not supported yet",
                         nodesName, nodes);
  std::string job = text("SLURM_JOB_ID");
  if (job.empty())
    return Status::error(COLL_INVALID,
                         "SLURM_PROCID is set but SLURM_JOB_ID is not");
  launcher.job =
      job + "." + text("SLURM_STEP_ID") + "." + text("SLURM_RESTART_COUNT");
  return Status::ok();
}

Status readLauncher(Launcher &launcher) {
  struct Known {
    const char *sign; ///< the variable by which a launcher is told
    Status (*read)(Launcher &);
  };
  // torchrun may itself be started once per node by MPI or Slurm, and mpirun by
  // Slurm: the innermost comes first.
  const Known known[] = {{"COLL_RANK", readExplicit},
                         {"WORLD_SIZE", readTorchrun},
                         {"OMPI_COMM_WORLD_RANK", readOpenMpi},
                         {"PMI_RANK", readPmi},
                         {"SLURM_PROCID", readSlurm}};
  if (variable("COLL_NRANKS") && !variable("COLL_RANK"))
    return Status::error(COLL_INVALID, "COLL_NRANKS is set but COLL_RANK is "
                                       "not");
  for (const Known &one : known) {
    if (!variable(one.sign))
      continue;
    Launcher found;
    COLL_TRY(one.read(found));
    if (found.title.empty())
      found.title =
          format("job '%s' of %s", found.job.c_str(), found.name.c_str());
    if (variable("COLL_JOB")) {
      found.job = text("COLL_JOB");
      found.title = format("COLL_JOB=%s", found.job.c_str());
    }
    launcher = std::move(found);
    return Status::ok();
  }
  return Status::error(
      COLL_INVALID,
      "no launcher found: none of COLL_RANK, RANK and WORLD_SIZE (torchrun), "
      "OMPI_COMM_WORLD_RANK (Open MPI), PMI_RANK (MPICH) and SLURM_PROCID "
      "(Slurm) is set");
}

} // namespace coll
