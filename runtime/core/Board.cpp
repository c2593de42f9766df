//===- Board.cpp - What every rank of a host can see of a rank ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/Board.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace coll {

static constexpr uint64_t boardMagic = 0x3130'6472'616f'6263; // "cboard01"

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<uint32_t>::is_always_lock_free,
              "boards lie in memory that processes share");

void copyText(char *field, size_t bytes, std::string_view text) {
  size_t length = std::min(text.size(), bytes - 1);
  std::memcpy(field, text.data(), length);
  std::memset(field + length, 0, bytes - length);
}

std::string SplitRecord::text() const {
  if (launches == 0)
    return format("%s before any launch", call());
  return format("%s after launch %llu", call(), (unsigned long long)launches);
}

/// A text from memory that another process writes: it may lack its end.
static std::string fieldText(const char *field, size_t bytes) {
  return {field, strnlen(field, bytes)};
}

size_t Board::layoutBytes() { return roundToPages(sizeof(Layout)); }

Status Board::create(int rank, int nranks, UniqueFd &fd, Board &board) {
  UniqueFd memory;
  COLL_TRY(
      createSealedMemory("coll-board", pageBytes() + layoutBytes(), memory));
  Board result;
  COLL_TRY(MappedMemory::map(memory, 0, pageBytes(), MappedMemory::ReadWrite,
                             result.abortPage));
  COLL_TRY(MappedMemory::map(memory, pageBytes(), layoutBytes(),
                             MappedMemory::ReadWrite, result.body));
  Layout &layout = *result.layout();
  layout.layoutBytes = sizeof(Layout);
  layout.rank = rank;
  layout.nranks = nranks;
  layout.probeAddress = reinterpret_cast<uint64_t>(&layout.probeValue);
  // Not what another process has there by chance.
  layout.probeValue = layout.probeAddress ^ boardMagic ^ monotonicNs();
  layout.magic = boardMagic;
  board = std::move(result);
  fd = std::move(memory);
  return Status::ok();
}

Status Board::open(const UniqueFd &fd, int rank, int nranks, Board &board) {
  COLL_TRY(checkSealedMemory(fd, pageBytes() + layoutBytes()));
  Board result;
  COLL_TRY(MappedMemory::map(fd, 0, pageBytes(), MappedMemory::ReadWrite,
                             result.abortPage));
  COLL_TRY(MappedMemory::map(fd, pageBytes(), layoutBytes(),
                             MappedMemory::ReadOnly, result.body));
  const Layout &layout = *result.layout();
  if (layout.magic != boardMagic || layout.layoutBytes != sizeof(Layout))
    return Status::error(
        COLL_SYSTEM, "rank %d has a board of another version of coll", rank);
  if (layout.rank != rank || layout.nranks != nranks)
    return Status::error(COLL_SYSTEM,
                         "the board of rank %d of %d came in place of that of "
                         "rank %d of %d",
                         layout.rank, layout.nranks, rank, nranks);
  board = std::move(result);
  return Status::ok();
}

void Board::abort(int originRank) const {
  uint32_t clear = 0;
  // Release: who sees the word must see the error on the origin's board.
  abortWord().compare_exchange_strong(clear, uint32_t(originRank) + 1,
                                      std::memory_order_acq_rel);
}

bool Board::readError(Error &error) const {
  const Layout &page = *layout();
  if (page.hasError.load(std::memory_order_acquire) == 0)
    return false;
  // Checked, since a peer's memory may hold anything.
  bool isKnown = page.errorStatus > COLL_OK && page.errorStatus <= COLL_OVERLAP;
  error.status = isKnown ? coll_status(page.errorStatus) : COLL_SYSTEM;
  error.rank = page.errorRank;
  error.peer = page.errorPeer;
  error.where = fieldText(page.errorWhere, sizeof page.errorWhere);
  error.text = fieldText(page.errorText, sizeof page.errorText);
  return true;
}

void Board::publishError(const Error &error) {
  Layout &page = *layout();
  assert(page.hasError.load(std::memory_order_relaxed) == 0 &&
         "only the first error is published");
  page.errorStatus = error.status;
  page.errorRank = error.rank;
  page.errorPeer = error.peer;
  copyText(page.errorWhere, sizeof page.errorWhere, error.where);
  copyText(page.errorText, sizeof page.errorText, error.text);
  page.hasError.store(1, std::memory_order_release);
}

uint64_t Board::finished() const {
  return layout()->finished.load(std::memory_order_acquire);
}

uint64_t Board::finishedNs() const {
  return layout()->finishedNs.load(std::memory_order_relaxed);
}

Board::Read Board::readLaunch(uint64_t launch, LaunchRecord &record) const {
  if (launch == 0 || launch > entered())
    return Read::Absent;
  if (!layout()->records[launch % kBoardRecords].read(record))
    return Read::Torn;
  // The fields are a peer's: make sure that its texts end.
  record.plan[sizeof record.plan - 1] = 0;
  record.contract[sizeof record.contract - 1] = 0;
  record.nlaunch = std::min<uint8_t>(record.nlaunch, COLL_MAX_LAUNCH);
  return record.launch == launch ? Read::Ok : Read::Absent;
}

Board::Read Board::readPosition(uint32_t block, Position &position) const {
  assert(block < kMaxBlocks);
  if (!layout()->positions[block].read(position))
    return Read::Torn;
  position.where[sizeof position.where - 1] = 0;
  position.what[sizeof position.what - 1] = 0;
  return position.state == COLL_STATE_IDLE ? Read::Absent : Read::Ok;
}

Board::Read Board::readSplit(SplitRecord &record) const {
  if (!layout()->split.read(record))
    return Read::Torn;
  return record.number == 0 ? Read::Absent : Read::Ok;
}

uint64_t Board::progress(uint32_t block) const {
  assert(block < kMaxBlocks);
  return __atomic_load_n(&layout()->blocks[block].progress, __ATOMIC_RELAXED);
}

DeviceMark Board::deviceMark() const {
  DeviceMark mark;
  mark.kind = layout()->deviceKind.load(std::memory_order_acquire);
  std::memcpy(mark.uuid, layout()->deviceUuid, sizeof mark.uuid);
  return mark;
}

void Board::publishDevice(const DeviceMark &mark) {
  std::memcpy(layout()->deviceUuid, mark.uuid, sizeof mark.uuid);
  layout()->deviceKind.store(mark.kind, std::memory_order_release);
}

Board::Probe Board::probe() const {
  return {layout()->probeAddress, layout()->probeValue};
}

bool Board::reachesAll() const {
  return layout()->reachesAll.load(std::memory_order_acquire) != 0;
}

void Board::publishReach() {
  layout()->reachesAll.store(1, std::memory_order_release);
}

Board::Lines Board::lines() const {
  return Lines(layout()->lines.load(std::memory_order_acquire));
}

void Board::publishLines(bool has) {
  layout()->lines.store(uint32_t(has ? Lines::Yes : Lines::No),
                        std::memory_order_release);
}

std::span<std::byte> Board::abortMemory() const {
  return {static_cast<std::byte *>(abortPage.get()), abortPage.size()};
}

std::span<std::byte> Board::bodyMemory() const {
  return {static_cast<std::byte *>(body.get()), body.size()};
}

void Board::enterLaunch(const LaunchRecord &record) {
  Layout &page = *layout();
  assert(record.launch == page.entered.load(std::memory_order_relaxed) + 1 &&
         "launches are numbered without gaps");
  page.records[record.launch % kBoardRecords].write(record);
  page.entered.store(record.launch, std::memory_order_release);
}

void Board::enterSplit(const SplitRecord &record) {
  layout()->split.write(record);
}

void Board::publishPosition(uint32_t block, const Position &position) {
  assert(block < kMaxBlocks);
  layout()->positions[block].write(position);
}

} // namespace coll
