//===- Host.cpp - What this host and process are --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Host.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Sha256.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

namespace coll {

/// The start of a file of /proc or /sys, at most `limit` bytes.
static std::optional<std::string> readSmallFile(const std::string &path,
                                                size_t limit = 64 << 10) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.isValid())
    return std::nullopt;
  std::string text(limit, '\0');
  size_t used = 0;
  while (used != limit) {
    ssize_t got = read(fd.get(), text.data() + used, limit - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return std::nullopt;
    if (got == 0)
      break;
    used += size_t(got);
  }
  text.resize(used);
  return text;
}

CpuMask affinityMask() {
  CpuMask mask = {};
  // cpu_set_t has room for 1024; a larger machine says EINVAL to it.
  constexpr int maxCpus = 1 << 16;
  for (int cpus = 1024; cpus <= maxCpus; cpus *= 2) {
    cpu_set_t *set = CPU_ALLOC(cpus);
    size_t bytes = CPU_ALLOC_SIZE(cpus);
    bool isRead = set && sched_getaffinity(0, bytes, set) == 0;
    if (isRead)
      for (size_t cpu = 0; cpu != mask.size() * 64; ++cpu)
        if (CPU_ISSET_S(cpu, bytes, set))
          mask[cpu / 64] |= uint64_t(1) << (cpu % 64);
    CPU_FREE(set);
    if (isRead)
      return mask;
  }
  mask[0] = 1; // at least the one that runs this
  return mask;
}

/// "QUOTA PERIOD" or "max PERIOD" of cgroup version 2.
static uint32_t quotaOf(const std::string &cpuMax) {
  unsigned long long quota = 0, period = 0;
  if (sscanf(cpuMax.c_str(), "%llu %llu", &quota, &period) != 2 || period == 0)
    return 0;
  return uint32_t((quota + period - 1) / period);
}

uint32_t cgroupQuotaCores() {
  uint32_t least = 0;
  auto note = [&least](uint32_t cores) {
    if (cores != 0 && (least == 0 || cores < least))
      least = cores;
  };
  // Version 2: "0::/PATH"; a limit on any ancestor holds as well.
  if (std::optional<std::string> own = readSmallFile("/proc/self/cgroup")) {
    size_t begin = own->find("0::/");
    if (begin != std::string::npos &&
        (begin == 0 || (*own)[begin - 1] == '\n')) {
      std::string path = own->substr(begin + 3);
      path.resize(std::min(path.find('\n'), path.size()));
      while (true) {
        if (auto limit = readSmallFile("/sys/fs/cgroup" + path + "/cpu.max"))
          note(quotaOf(*limit));
        size_t slash = path.rfind('/');
        if (path.empty() || slash == std::string::npos)
          break;
        path.resize(slash);
      }
    }
  }
  // Version 1, as a container sees it.
  auto quota = readSmallFile("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  auto period = readSmallFile("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota && period && (*quota)[0] != '-')
    note(quotaOf(*quota + " " + *period));
  return least;
}

uint64_t lastCacheBytes() {
  // Not sysconf: in virtual machines it says how much all processors of the
  // real one have.
  constexpr int maxLevels = 8;
  uint64_t bytes = 0;
  for (int i = 0; i != maxLevels; ++i) {
    auto size = readSmallFile(
        format("/sys/devices/system/cpu/cpu0/cache/index%d/size", i), 64);
    unsigned long long kilobytes = 0;
    if (size && sscanf(size->c_str(), "%lluK", &kilobytes) == 1)
      bytes = std::max<uint64_t>(bytes, kilobytes << 10);
  }
  return bytes;
}

uint64_t availableBytes() {
  auto text = readSmallFile("/proc/meminfo", 4096);
  size_t at = text ? text->find("MemAvailable:") : std::string::npos;
  unsigned long long kilobytes = 0;
  if (at == std::string::npos ||
      sscanf(text->c_str() + at, "MemAvailable: %llu kB", &kilobytes) != 1)
    return 0;
  return uint64_t(kilobytes) << 10;
}

std::string hostName() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0)
    return "unknown";
  return name;
}

HostId hostId() {
  // The random id of this boot; where /proc lacks it, the name has to do.
  std::string source = readSmallFile("/proc/sys/kernel/random/boot_id")
                           .value_or("host " + hostName());
  Digest digest = Sha256().update(source).finish();
  HostId id;
  std::copy_n(digest.begin(), id.size(), id.begin());
  return id;
}

Status fillRandom(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Status::system(errno, "cannot get random bytes");
    bytes = bytes.subspan(size_t(got));
  }
  return Status::ok();
}

namespace {
struct ProcessStat {
  std::string comm;
  char state = 0;
  int parent = 0;
  unsigned long long start = 0; ///< in ticks since boot: tells reused pids
};
} // namespace

static std::optional<ProcessStat> readStat(int pid) {
  auto text = readSmallFile(format("/proc/%d/stat", pid), 4096);
  if (!text)
    return std::nullopt;
  // "PID (COMM) STATE PPID ..."; COMM may hold blanks and brackets itself.
  size_t open = text->find('('), close = text->rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open)
    return std::nullopt;
  ProcessStat stat;
  stat.comm = text->substr(open + 1, close - open - 1);
  // Fields 3, 4 and 22 of proc(5).
  if (sscanf(text->c_str() + close + 1,
             " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
             "%*d %*d %*d %llu",
             &stat.state, &stat.parent, &stat.start) != 3)
    return std::nullopt;
  return stat;
}

char processState(int pid) {
  auto stat = readStat(pid);
  return stat ? stat->state : 0;
}

std::string findAncestor(
    const std::function<bool(std::string_view comm, std::string_view environ)>
        &isLauncher) {
  constexpr int maxDepth = 64;
  auto self = readStat(getpid());
  int pid = self ? self->parent : 0;
  for (int depth = 0; depth != maxDepth && pid > 0; ++depth) {
    auto stat = readStat(pid);
    auto environ = readSmallFile(format("/proc/%d/environ", pid), 1 << 20);
    if (!stat || !environ)
      return "";
    if (isLauncher(stat->comm, *environ))
      return format("%s:%d:%llu", stat->comm.c_str(), pid, stat->start);
    pid = stat->parent;
  }
  return "";
}

} // namespace coll
