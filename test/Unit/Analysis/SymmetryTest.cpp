//===- SymmetryTest.cpp - One slice against the whole ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random schedules, most of them such that ranks turn into each other, some
// disturbed at one rank, one chunk or in the order of ranks. Whenever the check
// by symmetry claims anything, the full execution must say the same: every
// value in `out` is the one of the slice, turned, with the same bits.
//
//   RANDOM_SYMMETRY=first:count AnalysisTests --gtest_filter=Symmetry.*
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/Symmetry.h"
#include "../InOrder.h"
#include "Elaborating.h"
#include "lib/Analysis/SymmetryCells.h"

#include "llvm/ADT/DenseMap.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>

using namespace coll;
using elab::Steps;
using elab::SymmetryCells;
using test::inOrder;

namespace {
class Generator {
public:
  Generator(std::mt19937_64 &random, bool isGrid)
      : random(random), isGrid(isGrid) {}
  std::string run();

private:
  int below(int n) { return int(random() % uint64_t(n)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string k() { return std::to_string(below(3)); }
  std::string index(char dim);
  std::string turning(const std::string &var, const std::string &size);
  std::string rank();
  std::string place(bool isSource);
  std::string statement();
  std::string own();
  std::string body();
  std::string loop();
  std::string region();

  std::mt19937_64 &random;
  bool isGrid;
  bool hasS = false;
};
} // namespace

std::string Generator::turning(const std::string &var,
                               const std::string &size) {
  std::string more = hasS && chance(50) ? chance(50) ? " + s" : " - s" : "";
  switch (below(8)) {
  case 0:
    return var;
  case 1:
    return "(" + var + more + " - 1) % " + size;
  case 2:
    return "(" + k() + " - " + var + more + ") % " + size;
  case 3:
    return "(" + var + " + " + var + more + ") % " + size;
  default:
    return "(" + var + more + " + " + k() + ") % " + size;
  }
}

std::string Generator::index(char dim) {
  if (chance(4))
    return "0";
  return dim == 'x' ? turning("r", "N") : turning("h", "H");
}

std::string Generator::rank() {
  auto coord = [&](const std::string &var, const std::string &size) {
    int kind = below(100);
    if (kind < 50)
      return var;
    if (kind < 96)
      return "(" + var + (hasS && chance(50) ? " + s" : " + " + k()) + ") % " +
             size;
    return kind < 98 ? size + " - 1 - " + var : std::string("1");
  };
  return isGrid ? inOrder({"(", coord("h", "H"), ", ", coord("r", "N"), ")"})
                : "(" + coord("r", "N") + ")";
}

/// A location: one chunk of an array.
std::string Generator::place(bool isSource) {
  static const char *names[] = {"a", "b", "out", "in"};
  std::string name = names[below(isSource ? 4 : 3)];
  return isGrid ? inOrder({name, "[", index('y'), ", ", index('x'), "]"})
                : name + "[" + index('x') + "]";
}

std::string Generator::statement() {
  std::string verb = chance(40) ? "reduce " : "copy ";
  std::string to = place(false);
  int kind = below(100);
  if (kind < 70)
    return inOrder({verb, place(true), "@", rank(), " -> ", to, "@", rank()});
  if (kind < 76)
    return inOrder({verb, place(true), "@", rank(), " -> ", to, "@all"});
  if (kind < 82)
    return inOrder({"copy ", place(true), "@", rank(), " + ", place(true), "@",
                    rank(), " -> ", to, "@", rank()});
  if (kind < 88)
    return inOrder({"copy ", chance(60) ? "reduce_any(" : "reduce(",
                    place(true), "@all) -> ", to, "@", rank()});
  if (kind < 94)
    return inOrder({verb, "a@", rank(), " -> b@", rank()});
  return inOrder({"if ", chance(50) ? "r == 1" : "N > 2", " { ", verb,
                  place(true), "@", rank(), " -> ", to, "@", rank(), " }"});
}

std::string Generator::own() {
  static const char *names[] = {"a", "b", "out"};
  return inOrder({chance(30) ? "reduce " : "copy ", names[below(3)], " -> ",
                  names[below(3)], "\n"});
}

std::string Generator::body() {
  std::string text = statement();
  while (chance(25))
    text += "  " + statement();
  return "{ " + text + " }\n";
}

std::string Generator::loop() {
  std::string rows = isGrid ? "h in 0 .. H, " : "", columns = "r in all";
  if (isGrid)
    columns = "r in 0 .. N";
  hasS = chance(50);
  std::string steps = "s in 0 .. " + std::to_string(1 + below(3));
  std::string group = chance(30) ? "group " : "";
  if (!hasS)
    return group + "for " + rows + columns + " " + body();
  int kind = below(4);
  if (kind == 0)
    return group + "for " + rows + columns + ", " + steps + " " + body();
  if (kind == 1 && isGrid)
    return "for h in 0 .. H, " + steps + ", r in 0 .. N " + body();
  if (kind == 2)
    return "for " + steps + " { " + group + "for " + columns +
           (isGrid ? ", h in 0 .. H " : " ") + body() + "}\n";
  if (kind == 3 && !isGrid)
    return "for r in all, s in all " + body();
  return "for " + steps + ", " + rows + columns + " " + body();
}

std::string Generator::region() {
  hasS = chance(50);
  std::string i = turning("r", "N"), j = turning("r", "N");
  std::string send = "send a[" + i + "] to (r + 1) % N ",
              recv = inOrder({"recv ", chance(50) ? "reduce " : "",
                              chance(50) ? "a" : "b", "[", j,
                              "] from (r - 1) % N "});
  std::string both = chance(80) ? "group { " + send + recv + "}" : send + recv;
  std::string buffer = chance(30) ? " buffer 1" : "";
  return "on r in all" + buffer + " { " +
         (hasS ? "for s in 0 .. 2 { " + both + " }" : both) + " }\n";
}

std::string Generator::run() {
  // Mostly only what there is in the end counts.
  std::string text = "contract c { in; out ";
  if (chance(15))
    text += "ensure out@r == in@r for r in all ";
  else if (chance(15))
    text += "ensure out@r == reduce(in@all) for r in all ";
  text += "}\nschedule f(ranks ";
  text += isGrid ? "(H, N)" : "N";
  text += ") : c {\n";
  text += isGrid ? "chunks H, N\n" : "chunks N\n";
  text += "tmp a = in\ntmp b = in\ncopy in -> out\n";
  for (int n = 1 + below(4); n > 0; --n)
    text += chance(15) ? own() : chance(20) && !isGrid ? region() : loop();
  return text + "}\n";
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
/// A term as a number, its leaves turned.
class TurnedTerms {
public:
  TurnedTerms(const ChunkGraph &graph, const SymmetryCells *cells, Steps by)
      : graph(graph), cells(cells), by(std::move(by)) {}
  uint64_t operator()(TermId id);
  std::pair<Rank, uint32_t> turned(uint32_t array, uint32_t cell, Rank rank);

private:
  const ChunkGraph &graph;
  const SymmetryCells *cells;
  Steps by;
  llvm::DenseMap<TermId, uint64_t> known;
};
} // namespace

std::pair<Rank, uint32_t> TurnedTerms::turned(uint32_t array, uint32_t cell,
                                              Rank rank) {
  if (!cells)
    return {rank, cell};
  Rank result = 0;
  for (size_t d = 0, stride = graph.numRanks(); d < by.size(); ++d) {
    stride /= graph.rankDims[d];
    uint32_t at = rank / stride % graph.rankDims[d];
    result += (at + by[d]) % graph.rankDims[d] * stride;
  }
  return {result, cells->turned(cells->spot(array, cell), by)};
}

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
  return h ^ h >> 31;
}

uint64_t TurnedTerms::operator()(TermId id) {
  auto it = known.find(id);
  if (it != known.end())
    return it->second;
  const Term &term = graph.terms[id];
  const uint32_t *ops = graph.termOperands.data() + term.first;
  uint64_t hash =
      mix(uint64_t(term.kind) << 16 | uint64_t(term.type) << 8, term.function);
  std::vector<uint64_t> parts;
  if (term.kind == Term::Leaf) {
    auto [rank, cell] = turned(ops[0], ops[1] * graph.chunks + ops[2], ops[3]);
    parts = {ops[0], cell, rank};
  } else {
    for (uint32_t i = 0; i < term.count; ++i)
      parts.push_back((*this)(ops[i]));
    // The order of the first two is that of numbers that mean nothing.
    size_t n = term.kind == Term::Fold || term.kind == Term::Add ? 2
               : term.kind == Term::FoldAny                      ? parts.size()
                                                                 : 0;
    std::sort(parts.begin(), parts.begin() + n);
  }
  for (uint64_t part : parts)
    hash = mix(hash, part);
  return known[id] = hash;
}

using Values = std::map<std::pair<Rank, uint32_t>, uint64_t>;

static void add(Values &values, const ChunkGraph &graph,
                const SymmetryCells *cells, const Steps &by) {
  TurnedTerms terms(graph, cells, by);
  for (const Output &output : graph.outputs) {
    uint32_t cell = output.cell.part * graph.chunks + output.cell.chunk;
    bool isNew =
        values
            .try_emplace(terms.turned(output.cell.buffer, cell, output.rank),
                         terms(graph.values[output.value].term))
            .second;
    EXPECT_TRUE(isNew) << "slices overlap";
  }
}

namespace {
struct Counts {
  unsigned right = 0, wrong = 0, undecided = 0;
};
} // namespace

/// Leaves may be in several slices.
static uint64_t numComputed(const ChunkGraph &graph) {
  return std::count_if(
      graph.values.begin(), graph.values.end(),
      [](const Value &value) { return value.kind == Value::Op; });
}

static std::string textOf(const DiagnosticEngine &diags) {
  std::string text;
  llvm::raw_string_ostream os(text);
  render(diags, DiagnosticFormat::Text, os);
  return text;
}

/// The findings, and how much is wrong. How far something gets, a note, may be
/// beyond the part.
static std::string findingsOf(const DiagnosticEngine &diags) {
  std::string all = textOf(diags), text;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(all).split(lines, '\n');
  for (llvm::StringRef line : lines)
    if (line.contains("error: ") || line.contains("warning: ") ||
        line.contains("note: in all ") || line.contains("note: at "))
      text += line.str() + "\n";
  return text;
}

/// In parts, as many as there can be, with the same words.
static void compareParts(const Elaborating &program, const Parameters &params,
                         const ElaborateResult &whole) {
  DiagnosticEngine diags(program.sources);
  ElaborateResult parts = checkInParts(program.codes.at(0), params, diags, 1);
  EXPECT_EQ(parts.status, whole.status);
  EXPECT_EQ(findingsOf(diags), findingsOf(program.diags));
  if (whole.status != ElaborateResult::Right)
    return;
  EXPECT_EQ(parts.agreement, whole.agreement);
  EXPECT_EQ(parts.disagreement, whole.disagreement);
}

/// What a schedule comes to by symmetry, after it is compared with the whole.
static void compare(Elaborating &program, std::vector<uint32_t> dims,
                    Counts &counts) {
  Parameters params;
  params.rankDims = dims;
  DiagnosticEngine quiet(program.sources);
  SymmetryOptions options;
  options.keepSlice = true;
  SymmetryResult slice =
      checkBySymmetry(program.codes.at(0), params, quiet, options);
  ElaborateResult whole = elaborate(program.codes[0], params, program.diags);
  compareParts(program, params, whole);
  if (slice.status == SymmetryResult::Undecided) {
    ++counts.undecided;
    return;
  }
  if (slice.status != SymmetryResult::Right) {
    ++counts.wrong;
    EXPECT_NE(whole.status, ElaborateResult::Right) << "nothing is wrong";
    if (slice.status == SymmetryResult::Wrong) {
      EXPECT_EQ(textOf(quiet), textOf(program.diags));
    }
    return;
  }
  ++counts.right;
  ASSERT_EQ(whole.status, ElaborateResult::Right) << program.errors();
  EXPECT_EQ(numComputed(slice.slice) * slice.numSlices,
            numComputed(whole.graph));
  EXPECT_EQ(slice.agreement, whole.agreement);
  Values turned, all;
  uint64_t numTurns = 0;
  for (uint32_t flat = 0; flat < whole.graph.numRanks(); ++flat) {
    Steps by(dims.size());
    uint32_t rest = flat;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d])
      by[d] = rest % dims[d];
    bool isTurn = true;
    for (size_t d = 0; d < dims.size(); ++d)
      isTurn &= slice.cells->isTurned(d) || by[d] == 0;
    numTurns += isTurn;
    if (isTurn)
      add(turned, slice.slice, slice.cells.get(), by);
  }
  EXPECT_EQ(numTurns, slice.numSlices);
  add(all, whole.graph, nullptr, {});
  EXPECT_TRUE(turned == all) << "a slice is not the first one, turned";
}

static void compareRandom(bool isGrid, uint64_t first, uint64_t count) {
  Counts counts;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = Generator(random, isGrid).run();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    Elaborating program(text);
    ASSERT_EQ(program.codes.size(), 1u) << program.errors();
    uint32_t n = 3 + random() % 4;
    std::vector<uint32_t> dims{n};
    if (isGrid)
      dims.insert(dims.begin(), 2 + random() % 3);
    compare(program, dims, counts);
    if (testing::Test::HasFailure())
      return;
  }
  std::printf("%s: %u slices stand for all, %u refuse all, %u are undecided\n",
              isGrid ? "grids" : "rings", counts.right, counts.wrong,
              counts.undecided);
  // Or nothing is tested.
  EXPECT_GT(counts.right, count / 20);
  EXPECT_GT(counts.undecided, count / 20);
}

namespace {
struct Seeds {
  uint64_t first = 1, count = 400;
  Seeds() {
    if (const char *text = getenv("RANDOM_SYMMETRY"))
      sscanf(text, "%lu:%lu", &first, &count);
  }
};
} // namespace

TEST(Symmetry, RandomRings) {
  compareRandom(false, Seeds().first, Seeds().count);
}
TEST(Symmetry, RandomGrids) {
  compareRandom(true, Seeds().first, Seeds().count);
}

//===----------------------------------------------------------------------===//
// What random schedules seldom are
//===----------------------------------------------------------------------===//

/// By symmetry and as a whole; the words are the same if both refuse.
static SymmetryResult::Status statusOf(const std::string &text) {
  SCOPED_TRACE(text);
  Elaborating program(text);
  EXPECT_EQ(program.codes.size(), 1u) << program.errors();
  Parameters params;
  params.rankDims = {5};
  DiagnosticEngine quiet(program.sources);
  SymmetryResult slice = checkBySymmetry(program.codes.at(0), params, quiet);
  Counts counts;
  compare(program, params.rankDims, counts);
  return slice.status;
}

TEST(Symmetry, IterationsThatTouchTheSame) {
  // The last iteration reads what the first has written, all others do not.
  EXPECT_EQ(statusOf(R"(contract c { in; out }
schedule f(ranks N) : c {
  chunks N
  tmp b = in
  copy in -> out
  for r in all {
    reduce in[r]@r -> b[r]@r
    copy b[(r + 1) % N]@((r + 1) % N) -> out[(r + 1) % N]@((r + 1) % N)
  }
})"),
            SymmetryResult::Undecided);
  // All of them read it, or nobody looks at the order.
  EXPECT_EQ(statusOf(R"(contract c { in; out }
schedule f(ranks N) : c {
  chunks N
  tmp b = in
  copy in -> out
  for r in all {
    reduce in[r]@r -> b[r]@r
    copy in[(r + 1) % N]@((r + 1) % N) -> out[(r + 1) % N]@r
  }
})"),
            SymmetryResult::Right);
}

TEST(Symmetry, MessagesBetweenArraysThatTurnApart) {
  EXPECT_EQ(statusOf(R"(contract c { in[all]; out[all] }
schedule f(ranks N) : c {
  for r in all { copy in[r]@r -> out[(0 - r) % N]@r }
  on r in all { group { send in to (r + 1) % N   recv out from (r - 1) % N } }
})"),
            SymmetryResult::Undecided);
}

TEST(Symmetry, RanksThatArePromisedTheSameInOtherSlices) {
  EXPECT_EQ(statusOf(R"(contract c { in; out
  ensure out@r == reduce(in@all) for r in all }
schedule f(ranks N) : c {
  for r in all { copy reduce_any(in@all) -> out@r }
})"),
            SymmetryResult::Undecided);
  EXPECT_EQ(statusOf(R"(contract c { in; out[all]
  ensure out[q]@r == in@q for r in all, q in all }
schedule f(ranks N) : c {
  tmp t[N]
  tmp u[N]
  for r in all, q in all { copy in@q -> t[q]@r }
  for r in all { copy t[(r + 1) % N]@r -> u[(r + 2) % N]@r }
  copy t -> out
})"),
            SymmetryResult::Undecided);
}

TEST(Symmetry, DeadlocksInTheWordsOfTheWhole) {
  for (const char *body :
       {"send in to (r + 1) % N   recv out from (r - 1) % N",
        "recv out from (r - 1) % N   send in to (r + 1) % N",
        "send in to (r + 2) % N   send in to (r + 2) % N\n"
        "recv out from (r - 2) % N   recv out from (r - 2) % N",
        "group { send in to (r + 1) % N   recv out from (r + 1) % N }",
        "group { send in to (r + 1) % N   send in to (r + 1) % N\n"
        "recv out from (r - 1) % N }"})
    for (const char *buffer : {"", "buffer 1 ", "buffer 2 "}) {
      std::string text = std::string("contract c { in; out }\n"
                                     "schedule f(ranks N) : c {\n"
                                     "  on r in all ") +
                         buffer + "{ " + body + " }\n}\n";
      EXPECT_NE(statusOf(text), SymmetryResult::Undecided);
    }
}
