//===- ElaborateWords.cpp - Findings of the elaboration in words ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Analysis/ElaborateWords.h"
#include "lib/Analysis/MapLimits.h"
#include "lib/Support/Slugs.h"

#include "llvm/ADT/StringExtras.h"

using namespace coll;
using namespace coll::elab;

/// Ranks in a list, operands in a term; more are "and 7 more".
constexpr size_t maxListed = 4;

static std::string str(int64_t x) { return std::to_string(x); }
static std::string plural(int64_t n, const std::string &what) {
  return str(n) + " " + what + (n == 1 ? "" : "s");
}
static std::string quote(const std::string &name) { return "'" + name + "'"; }

//===----------------------------------------------------------------------===//
// Names of things
//===----------------------------------------------------------------------===//

std::string Words::rank(Rank rank) const {
  llvm::ArrayRef<uint32_t> dims = m.graph.rankDims;
  if (dims.size() == 1)
    return str(rank);
  std::string text;
  for (size_t d = dims.size(); d-- > 0; rank /= dims[d])
    text = str(rank % dims[d]) + (text.empty() ? "" : ", ") + text;
  return "(" + text + ")";
}

/// "rank 3", "ranks 1, 2 and 5", "ranks 0 to 6", "every rank".
std::string Words::ranks(std::vector<Rank> ranks) const {
  llvm::sort(ranks);
  if (ranks.size() == 1)
    return "rank " + rank(ranks[0]);
  if (ranks.size() == m.graph.numRanks())
    return "every rank";
  if (ranks.size() > 2 && ranks.back() - ranks.front() + 1 == ranks.size())
    return "ranks " + rank(ranks.front()) + " to " + rank(ranks.back());
  std::string text = "ranks ";
  size_t listed = ranks.size() <= maxListed + 1 ? ranks.size() : maxListed;
  for (size_t i = 0; i < listed; ++i)
    text += (i == 0                                      ? ""
             : i + 1 == listed && listed == ranks.size() ? " and "
                                                         : ", ") +
            rank(ranks[i]);
  if (listed < ranks.size())
    text += " and " + str(ranks.size() - listed) + " more";
  return text;
}

Words::IteratorText Words::iteratorOf(SourceRange domain) const {
  if (!domain.isValid())
    return {};
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  llvm::StringRef before = text({domain.file, 0, domain.begin}).rtrim();
  if (!before.consume_back("in"))
    return {};
  llvm::StringRef rest = before = before.rtrim();
  while (!rest.empty() && isName(rest.back()))
    rest = rest.drop_back();
  IteratorText result{before.drop_front(rest.size()), std::nullopt};
  rest = rest.rtrim();
  if (rest.ends_with("for"))
    result.forBegin = rest.size() - 3;
  return result;
}

/// Loops over lists count members; the value of the iterator is another one.
static bool isCounted(llvm::StringRef domain) {
  return domain == "all" ||
         (domain.contains("..") && domain.find_first_of("[(") > 0 &&
          !domain.starts_with("reversed"));
}

std::string Words::iterations(const Iterations &iterations) const {
  std::string text;
  for (size_t i = 0; i < iterations.size();) {
    SiteId site = m.code.loops[iterations[i].first].site;
    std::string value;
    size_t from = i; // a rank of a grid has a loop for each coordinate
    for (; i < iterations.size() &&
           m.code.loops[iterations[i].first].site == site;
         ++i)
      value += (value.empty() ? "" : ", ") + str(iterations[i].second);
    llvm::StringRef name = iteratorOf(range(site)).name;
    if (name.empty() || !isCounted(this->text(range(site))))
      continue;
    text += (text.empty() ? "" : ", ") + name.str() + " = " +
            (i - from > 1 ? "(" + value + ")" : value);
  }
  return text;
}

std::string Words::location(uint32_t id, uint64_t cell) const {
  const Array &array = m.state.arrays[id];
  std::string text;
  if (array.isBroadcast)
    return array.name;
  for (size_t d = array.dims.size(); d-- > 0; cell /= array.dims[d])
    text = str(cell % array.dims[d]) + (text.empty() ? "" : ", ") + text;
  return array.name + (text.empty() ? "" : "[" + text + "]");
}

std::string Words::place(const Place &place) const {
  return location(place.array, place.cell) + "@" + rank(place.rank);
}

std::string Words::size(uint32_t id) const {
  const SizeSymbol &symbol = m.graph.sizes[id];
  if (symbol.kind == SizeSymbol::Count)
    return "count";
  if (symbol.kind == SizeSymbol::Const)
    return str(symbol.value);
  std::string text;
  uint64_t flat = symbol.value;
  llvm::ArrayRef<uint32_t> dims = m.graph.launchCountDims;
  for (size_t d = dims.size(); d-- > 0; flat /= dims[d])
    text = str(flat % dims[d]) + (text.empty() ? "" : ", ") + text;
  return m.graph.launchCounts + "[" + text + "]";
}

std::string Words::extent(ExtentId id, bool withSize) const {
  const Extent &extent = m.graph.extents[id];
  std::string whole = size(extent.size) + " elements";
  if (m.graph.chunks == 1)
    return whole;
  return "chunk " + str(extent.chunk) + " of " + str(m.graph.chunks) +
         (withSize ? " of " + whole : "");
}

std::string Words::term(TermId term) const {
  unsigned budget = 3 * maxListed;
  return termText(term, budget);
}

/// Roundings are left out.
std::string Words::termText(TermId id, unsigned &budget) const {
  const TermTable &terms = m.builder.terms;
  while (terms[id].kind == Term::Round)
    id = terms.operandsOf(id)[0];
  llvm::ArrayRef<uint32_t> ops = terms.operandsOf(id);
  const Term &term = terms[id];
  if (term.kind == Term::Leaf) {
    for (auto [array, a] : llvm::enumerate(m.state.arrays))
      if (a.buffer == ops[0])
        return place({uint32_t(array),
                      uint64_t(ops[1]) * m.graph.chunks + ops[2], ops[3]});
    return "?";
  }
  if (term.kind == Term::Add)
    return termText(ops[0], budget) + " + " + termText(ops[1], budget);
  std::string text = term.kind == Term::Apply
                         ? m.graph.functions[term.function].name
                     : term.kind == Term::FoldAny ? "reduce_any"
                                                  : "reduce";
  text += "(";
  size_t shown = 0;
  for (; shown < ops.size() && budget > 0; ++shown, budget -= budget > 0)
    text += (shown ? ", " : "") + termText(ops[shown], budget);
  if (shown < ops.size())
    text += (shown ? " and " : "") + str(ops.size() - shown) + " more";
  return text + ")";
}

SourceRange Words::head(SiteId site) const {
  SourceRange all = range(site);
  size_t end = std::min(text(all).find('{'), text(all).find('\n'));
  if (end != llvm::StringRef::npos)
    all.end = all.begin + text(all).take_front(end).rtrim().size();
  return all;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

Words::Message Words::integerMessage(const Failure &f) const {
  switch (f.fault) {
  case Fault::Overflow:
    return {Slug::IntegerOverflow, "the result is beyond 64 bits"};
  case Fault::BadDivisor:
    return {Slug::BadOperand,
            "the divisor is " + str(f.y) + ", which is not positive"};
  case Fault::BadShift:
    return {Slug::BadOperand,
            "a shift by " + str(f.y) + ", which is not in 0 .. 64"};
  case Fault::BadLogarithm:
    return {Slug::BadOperand,
            "the logarithm of " + str(f.x) + ", which is not positive"};
  case Fault::BadLowBit:
    return {Slug::BadOperand,
            "the bits of " + str(f.x) + ", which is negative"};
  case Fault::BadStep:
    return {Slug::BadOperand,
            "the step is " + str(f.x) + ", which is not positive"};
  case Fault::BadExtent:
    return {Slug::BadOperand,
            "a size of " + str(f.x) +
                (f.x < 0 ? ", which is negative"
                         : ", and the largest is " +
                               str(m.params.limits.elements))};
  case Fault::BadChunks:
    return {Slug::BadOperand, "a part cannot be cut into 0 chunks"};
  case Fault::BadCapacity:
    return {Slug::BadOperand,
            "a buffer of " + str(f.x) + ", which is negative"};
  case Fault::BadDirective:
    return {Slug::BadDirective,
            quote(f.text) + " of " + str(f.x) +
                " is out of range: " + describe(mapLimitOf(f.text))};
  case Fault::ListIndex:
    return {Slug::IndexOutOfRange,
            "index " + str(f.x) + " of a list of " + plural(f.y, "member")};
  case Fault::ListTooLong:
    return {Slug::ListTooLong,
            "a list of more than " + plural(maxListMembers, "member")};
  default:
    return arrayMessage(f);
  }
}

Words::Message Words::arrayMessage(const Failure &f) const {
  std::string name =
      f.place.array == kNone ? f.text : m.state.arrays[f.place.array].name;
  switch (f.fault) {
  case Fault::OutOfRange:
    return {Slug::IndexOutOfRange, "index " + str(f.x) + " of " + quote(name) +
                                       ", which has " + str(f.y) + " here"};
  case Fault::ReshapeSize:
    return {Slug::WrongShape,
            plural(f.x, "location") + " of " + quote(name) + " as " + str(f.y)};
  case Fault::TooManyDims:
    return {Slug::TooManyDimensions, plural(f.x, "dimension") +
                                         ", where at most " + str(maxDims) +
                                         " are possible"};
  case Fault::ArrayTooLarge:
    return {Slug::TooMuchMemory,
            "an array of more than " +
                plural(m.params.limits.chunks, "location") + " on each rank"};
  case Fault::NoSuchRank:
    return {Slug::NoSuchRank, "there is no rank " + f.text};
  case Fault::Absent:
    return {Slug::AbsentArray,
            quote(name) + " does not exist on rank " + rank(f.place.rank)};
  case Fault::NotOwnRank:
    return {Slug::NotOwnRank, "the process of rank " + rank(f.other) +
                                  " names " + quote(name) + " of rank " +
                                  rank(f.place.rank)};
  case Fault::TwiceWrittenRank:
    return {Slug::DuplicateRank, "rank " + rank(f.place.rank) +
                                     " is written to twice by one statement"};
  case Fault::ReadOnly:
    return {Slug::ReadOnly, quote(name) + " is read-only"};
  case Fault::InplaceTwice:
    return {Slug::BadContract,
            place(f.place) + " cannot share the memory of two parts"};
  case Fault::SizeConflict:
    return {Slug::BadContract,
            "the size of " + place(f.place) + " is said twice"};
  default:
    return statementMessage(f);
  }
}

Words::Message Words::statementMessage(const Failure &f) const {
  switch (f.fault) {
  case Fault::OneSided:
    return {Slug::OneSided, "one side only names a rank"};
  case Fault::NeedsOneRank:
    return {Slug::NobodyComputes,
            "this value needs one rank to compute it, and goes to " + str(f.x)};
  case Fault::Shape:
    return {Slug::WrongShape, "shapes differ: " + f.text};
  case Fault::EmptyRead:
    return {Slug::EmptyRead, place(f.place) + " holds no value"};
  case Fault::EmptyReduce:
    return {Slug::EmptyRead,
            "this reduces into " + place(f.place) + ", which holds no value"};
  case Fault::PartlyFilled:
    return {Slug::PartlyFilled, place(f.place) + " holds no value, but " +
                                    location(f.place.array, f.x) + " does"};
  case Fault::Extent:
  case Fault::OperandExtent: {
    bool withSize = m.graph.extents[f.x].size != m.graph.extents[f.y].size;
    std::string x = extent(f.x, withSize), y = extent(f.y, withSize);
    if (f.fault == Fault::OperandExtent)
      return {Slug::ExtentMismatch,
              "unequal extents are combined: " + x + " and " + y};
    return {Slug::ExtentMismatch, "unequal extents: " + place(f.place) +
                                      " is " + y + ", this is " + x};
  }
  case Fault::WrittenTwice:
    return {Slug::WrittenTwice,
            place(f.place) + " is written twice in one group"};
  case Fault::UnknownCount:
    return {Slug::Count, "rank " + rank(f.other) + " moves " + size(f.x) +
                             " elements, a count that it is not given"};
  case Fault::EmptyFold:
    return {Slug::EmptySum, "a reduce of no values"};
  case Fault::MessageSize:
    return {Slug::MessageSize,
            "this receives " + plural(f.y, "chunk") + ", and " +
                (f.x == 1 ? "one is" : str(f.x) + " are") + " sent"};
  default:
    return otherMessage(f);
  }
}

Words::Message Words::otherMessage(const Failure &f) const {
  const Limits &limits = m.params.limits;
  switch (f.fault) {
  case Fault::MissingParameter:
    return {Slug::MissingParameter,
            "the parameter " + quote(f.text) + " has no value"};
  case Fault::BadLaunchValue:
    return {Slug::LaunchValue, str(f.x) + " is no value of " + quote(f.text)};
  case Fault::EmptyLaunchDomain:
    return {Slug::LaunchValue, quote(f.text) + " has no values"};
  case Fault::BadRankCount:
    return {Slug::TooManyRanks, "a schedule needs at least one rank"};
  case Fault::TooManyRanks:
    return {Slug::TooManyRanks, "more than " + plural(limits.ranks, "rank")};
  case Fault::Asserted:
    return {findSlug(f.slug).value_or(Slug::BadOperand), f.text};
  case Fault::InplaceShape:
    return {Slug::BadContract,
            "the two sides of this 'inplace' differ in parts"};
  case Fault::InplaceRank:
    return {Slug::BadContract,
            "the two sides of this 'inplace' are on different ranks"};
  case Fault::TooManySteps:
    return {Slug::TooManySteps, "more than " + plural(limits.steps, "step") +
                                    " to execute the schedule"};
  case Fault::TooManyValues:
    return {Slug::TooManyValues, "more than " + plural(limits.values, "value")};
  default:
    return {Slug::TooMuchMemory, "arrays of more than " +
                                     plural(limits.locations, "location") +
                                     " in all"};
  }
}

void Words::report(const Failure &failure) {
  if (failure.fault == Fault::Region)
    return report(*m.regionFault);
  Message message = integerMessage(failure);
  Diagnostic d{Severity::Error,     message.slug, message.text,
               range(failure.site), {},           {}};
  if (failure.site == m.code.site)
    d.range = head(failure.site);
  std::string at = iterations(failure.iterations);
  if (!at.empty())
    d.note(d.range, "at " + at);
  if (failure.fault == Fault::WrittenTwice)
    d.note(range(failure.previous), "it was written here before");
  if (failure.fault == Fault::MessageSize)
    d.note(range(failure.previous), "the message is sent here");
  if (failure.fault == Fault::Absent)
    d.note(range(m.state.arrays[failure.place.array].site),
           quote(m.state.arrays[failure.place.array].name) +
               " is declared here");
  if (failure.fault == Fault::UnknownCount)
    d.note({}, "a rank is given the counts of its own parts; all ranks are "
               "given all of "
               "them if the contract says 'launch " +
                   m.graph.launchCounts + "[...] global'");
  emit(std::move(d), failure.site);
}

void Words::addCalls(Diagnostic &d, SiteId site) const {
  if (site == kNone)
    return;
  for (SiteId at = m.code.siteTable[site].caller; at != kNone;
       at = m.code.siteTable[at].caller)
    d.note(range(at), "in this use");
}

/// "N = 2, root = 0": what was executed when it went wrong.
std::string Words::instance() const {
  std::string text;
  auto add = [&](llvm::StringRef name, uint32_t value) {
    text += ((text.empty() ? "" : ", ") + name + " = ").str() + str(value);
  };
  for (auto [name, dim] : llvm::zip(m.code.rankNames, m.params.rankDims))
    add(name, dim);
  for (auto [name, value] :
       llvm::zip(m.graph.launchNames, m.graph.launchValues))
    add(name, value);
  return text;
}

void Words::emit(Diagnostic d, SiteId site) {
  addCalls(d, site);
  if (d.severity == Severity::Error)
    d.note({}, "seen with " + instance());
  // Members of a family and rank counts say the same again.
  for (const Diagnostic &before : diags.diagnostics())
    if (before.slug == d.slug && before.range == d.range && d.range.isValid())
      return;
  diags.emit(std::move(d));
}

//===----------------------------------------------------------------------===//
// Warnings
//===----------------------------------------------------------------------===//

void Words::report(const DeadTransfers &dead) {
  for (uint32_t id : dead.arrays) {
    const Array &array = m.state.arrays[id];
    emit({Severity::Warning,
          Slug::DeadTransfer,
          quote(array.name) + " is never read",
          range(array.site),
          {},
          {}},
         array.site);
  }
  for (const DeadTransfers::Site &site : dead.sites) {
    std::string text = site.dead == site.total
                           ? "nobody reads what this moves"
                           : "nobody reads what this moves in " +
                                 str(site.dead) + " of " +
                                 plural(site.total, "transfer");
    Diagnostic d{
        Severity::Warning, Slug::DeadTransfer, text, range(site.site), {}, {}};
    d.note(range(site.site), "the first one goes from rank " + rank(site.from) +
                                 " to " + rank(site.to) + "; it is dropped");
    emit(std::move(d), site.site);
  }
}
