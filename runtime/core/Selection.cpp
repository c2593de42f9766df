//===- Selection.cpp - Which schedule and protocol a call gets ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Selection.h"
#include "runtime/core/Sha256.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

namespace coll {

/// Crossovers as measured on two cores; coll-run --tune writes better ones. Two
/// ranks: by slots both are as fast, in registered memory two shots are best;
/// and one message is moved by both ends.
static constexpr std::string_view builtIn = R"(coll-tune 1
allreduce       2     any     0..32768      std_allreduce_one_shot    auto
allreduce       2     any     32768..max    std_allreduce_two_shot    auto
allreduce       any   any     0..8192       std_allreduce_one_shot    auto
allreduce       any   any     8192..524288  std_allreduce_two_shot    auto
allreduce       any   any     524288..max   std_allreduce_ring        auto
allgather       any   any     0..max       std_allgather_direct      auto
reduce_scatter  any   any     0..max       std_reduce_scatter_direct auto
alltoall        any   any     0..max       std_alltoall_direct       auto
broadcast       2     any     65536..max   std_broadcast_halves      bulk
broadcast       any   any     0..4096      std_broadcast_direct      auto
broadcast       any   any     4096..max    std_broadcast_direct      bulk
reduce          any   any     0..max       std_reduce_direct         auto
scatter         any   any     0..max       std_scatter_direct        auto
gather          any   any     0..max       std_gather_direct         auto
send_recv       2     any     65536..max   std_send_recv_halves      bulk
send_recv       any   any     0..max       std_send_recv             auto
)";

namespace {

constexpr uint64_t maxFileBytes = 1 << 20;
constexpr size_t maxRules = 4096;

std::string_view nextWord(std::string_view &line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
  line.remove_prefix(word.size());
  return word;
}

bool readNumber(std::string_view text, uint64_t &number) {
  if (text == "max") {
    number = UINT64_MAX;
    return true;
  }
  auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

/// "any", "A..B" (without B) or "A".
bool readRange(std::string_view text, uint64_t &begin, uint64_t &end) {
  if (text == "any") {
    begin = 0;
    end = UINT64_MAX;
    return true;
  }
  size_t dots = text.find("..");
  if (dots != std::string_view::npos)
    return readNumber(text.substr(0, dots), begin) &&
           readNumber(text.substr(dots + 2), end) && begin < end;
  if (!readNumber(text, begin) || begin == UINT64_MAX)
    return false;
  end = begin + 1;
  return true;
}

bool isCollective(std::string_view name) {
  return std::ranges::any_of(kStandardCollectives,
                             [&](const char *one) { return name == one; });
}

/// Empty: the rule is good; else what is wrong with it.
std::string readRule(std::string_view line, SelectionRule &rule) {
  std::string_view fields[6];
  for (std::string_view &field : fields)
    field = nextWord(line);
  if (fields[5].empty() || !nextWord(line).empty())
    return "a rule has six words: collective, ranks, cores, bytes, schedule, "
           "protocol";
  rule.collective = fields[0];
  rule.schedule = fields[4];
  if (!isCollective(fields[0]))
    return "'" + rule.collective + "' is no collective";
  if (!readRange(fields[1], rule.ranksBegin, rule.ranksEnd))
    return "ranks '" + std::string(fields[1]) + "' are not N, A..B or any";
  if (fields[2] != "any" && fields[2] != "own" && fields[2] != "shared")
    return "cores '" + std::string(fields[2]) + "' are not own, shared or any";
  rule.cores = fields[2] == "any"   ? SelectionRule::Cores::Any
               : fields[2] == "own" ? SelectionRule::Cores::Own
                                    : SelectionRule::Cores::Shared;
  if (!readRange(fields[3], rule.bytesBegin, rule.bytesEnd))
    return "bytes '" + std::string(fields[3]) + "' are not N, A..B or any";
  if (fields[5] != "auto" && fields[5] != "bulk")
    return "protocol '" + std::string(fields[5]) + "' is not auto or bulk";
  rule.isBulk = fields[5] == "bulk";
  return {};
}

} // namespace

Status Selection::addText(std::string_view text, const std::string &path,
                          SelectionRule::Source source) {
  auto wrong = [&](unsigned line, const std::string &what) {
    return Status::error(COLL_INVALID, "%s:%u: %s", path.c_str(), line,
                         what.c_str());
  };
  bool hasHead = false;
  for (unsigned number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    std::string_view rest = line;
    std::string_view first = nextWord(rest);
    if (first.empty())
      continue;
    if (!hasHead) {
      if (first != "coll-tune" || nextWord(rest) != "1" ||
          !nextWord(rest).empty())
        return wrong(number, "a table begins with 'coll-tune 1'");
      hasHead = true;
      continue;
    }
    SelectionRule rule;
    rule.source = source;
    if (std::string what = readRule(line, rule); !what.empty())
      return wrong(number, what);
    rule.origin = source == SelectionRule::Source::BuiltIn
                      ? "built in"
                      : format("%s:%u", path.c_str(), number);
    if (list.size() == maxRules)
      return wrong(number, format("more than %zu rules", maxRules));
    list.push_back(std::move(rule));
  }
  return hasHead ? Status::ok() : wrong(1, "a table begins with 'coll-tune 1'");
}

Status Selection::addFile(const std::string &path) {
  struct Close {
    void operator()(FILE *file) const { fclose(file); }
  };
  std::unique_ptr<FILE, Close> file(fopen(path.c_str(), "re"));
  if (!file)
    return Status::error(COLL_INVALID, "COLL_TUNE: cannot read '%s': %s",
                         path.c_str(), strerror(errno));
  std::string text(maxFileBytes + 1, '\0');
  text.resize(fread(text.data(), 1, text.size(), file.get()));
  if (ferror(file.get()))
    return Status::error(COLL_INVALID, "COLL_TUNE: cannot read '%s': %s",
                         path.c_str(), strerror(errno));
  if (text.size() > maxFileBytes)
    return Status::error(COLL_INVALID, "COLL_TUNE: '%s' is larger than 1 MiB",
                         path.c_str());
  return addText(text, path, SelectionRule::Source::File)
      .withContext("COLL_TUNE");
}

Status Selection::addVariable(const char *collective,
                              const std::string &variable,
                              const std::string &value) {
  SelectionRule rule;
  rule.collective = collective;
  rule.source = SelectionRule::Source::Variable;
  rule.origin = variable;
  size_t colon = value.find(':');
  rule.schedule = value.substr(0, colon);
  std::string protocol =
      colon == std::string::npos ? "auto" : value.substr(colon + 1);
  if (rule.schedule.empty() || (protocol != "auto" && protocol != "bulk"))
    return Status::error(COLL_INVALID,
                         "%s=%s is not SCHEDULE, SCHEDULE:auto or "
                         "SCHEDULE:bulk",
                         variable.c_str(), value.c_str());
  rule.isBulk = protocol == "bulk";
  list.push_back(std::move(rule));
  return Status::ok();
}

void Selection::addBuiltIn() {
  // A test reads it, so it is good.
  (void)addText(builtIn, "built in", SelectionRule::Source::BuiltIn);
}

size_t Selection::numOfFile() const {
  return size_t(std::ranges::count(list, SelectionRule::Source::File,
                                   &SelectionRule::source));
}

uint64_t Selection::digest() const {
  std::string text;
  for (const SelectionRule &rule : list)
    text += format(
        "%s %s %llu %llu %llu %llu %d %d %d\n", rule.collective.c_str(),
        rule.schedule.c_str(), (unsigned long long)rule.ranksBegin,
        (unsigned long long)rule.ranksEnd, (unsigned long long)rule.bytesBegin,
        (unsigned long long)rule.bytesEnd, int(rule.cores), int(rule.isBulk),
        int(rule.source == SelectionRule::Source::Variable));
  Digest hash = Sha256().update(text).finish();
  uint64_t result;
  memcpy(&result, hash.data(), sizeof result);
  return result;
}

} // namespace coll
