//===- AddressExchange.cpp - A token by way of an address -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/AddressExchange.h"
#include "runtime/core/RendezvousProtocol.h"
#include "runtime/core/Sha256.h"
#include "runtime/core/TcpStream.h"
#include "runtime/core/Text.h"
#include "runtime/core/Wire.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace coll {

namespace {

enum ExchangeKind : uint16_t {
  GreetingKind = 1,
  ChallengeKind,
  AnswerKind,
  TokenKind,
  RefusalKind
};

using Nonce = std::array<std::byte, 16>;

/// What both ends of one connection know; proofs are over it.
struct Session {
  Nonce guest = {}, root = {};

  Digest proof(std::string_view secret, std::string_view role,
               std::span<const std::byte> said) const {
    WireWriter writer;
    writer.writeString(role).writeBytes(guest).writeBytes(root);
    writer.writeBytes(said);
    return hmacSha256(std::as_bytes(std::span(secret.data(), secret.size())),
                      writer.bytes());
  }
};

struct Answer {
  int32_t rank = 0, nranks = 0;
  HostId host = {};
  std::string hostName;
};

constexpr size_t maxHostText = 255;
constexpr size_t maxPending = 256;
constexpr uint64_t maxPendingNs = 5'000'000'000;
constexpr uint64_t lingerNs = 3'000'000'000;
constexpr uint64_t graceNs = 2'000'000'000;

} // namespace

/// A body followed by its proof.
static std::vector<std::byte> seal(const Session &session,
                                   std::string_view secret,
                                   std::string_view role,
                                   std::span<const std::byte> body) {
  std::vector<std::byte> sealed(body.begin(), body.end());
  Digest proof = session.proof(secret, role, body);
  sealed.insert(sealed.end(), proof.begin(), proof.end());
  return sealed;
}

/// The body, if its proof is right.
static bool unseal(const Session &session, std::string_view secret,
                   std::string_view role, std::span<const std::byte> sealed,
                   std::span<const std::byte> &body) {
  if (sealed.size() < sizeof(Digest))
    return false;
  body = sealed.first(sealed.size() - sizeof(Digest));
  return equalInConstantTime(sealed.last(sizeof(Digest)),
                             session.proof(secret, role, body));
}

//===----------------------------------------------------------------------===//
// Guest
//===----------------------------------------------------------------------===//

static Status takeFromRoot(TcpStream &stream, Deadline deadline,
                           TcpMessage &message) {
  Status taken = stream.await(deadline, message);
  if (taken.code() == COLL_PEER_LOST)
    return Status::error(COLL_PEER_LOST, "rank 0 went away during init");
  if (taken.code() == COLL_TIMEOUT)
    return Status::error(COLL_TIMEOUT, "rank 0 does not answer during init");
  COLL_TRY(std::move(taken));
  return message.kind == RefusalKind ? decodeRefusal(message.bytes)
                                     : Status::ok();
}

static Status exchangeAsGuest(const AddressRequest &request,
                              const TcpAddress &address, Token &token) {
  TcpStream stream;
  COLL_TRY(TcpStream::connect(address, request.deadline, stream));
  // The root knows better who is missing, so it gets longer to say so.
  Deadline deadline = request.deadline.later(graceNs);
  Session session;
  COLL_TRY(fillRandom(session.guest));
  (void)stream.send(GreetingKind, session.guest, deadline);
  TcpMessage message;
  COLL_TRY(takeFromRoot(stream, deadline, message));
  if (message.kind != ChallengeKind ||
      message.bytes.size() != sizeof(Nonce) + sizeof(Digest))
    return Status::error(COLL_SYSTEM, "no rank 0 of coll listens at %s",
                         address.text.c_str());
  std::copy_n(message.bytes.begin(), sizeof(Nonce), session.root.begin());
  std::span<const std::byte> body;
  if (!unseal(session, request.secret, "root", message.bytes, body))
    return Status::error(COLL_INVALID,
                         "rank 0 at %s does not have this rank's secret "
                         "(COLL_SECRET or coll_config.secret_file)",
                         address.text.c_str());
  WireWriter answer;
  answer.write<int32_t>(request.rank)
      .write<int32_t>(request.nranks)
      .writeBytes(hostId())
      .writeString(hostName().substr(0, maxHostText));
  // Of a failure to send, what the root says next tells more.
  (void)stream.send(AnswerKind,
                    seal(session, request.secret, "guest", answer.bytes()),
                    deadline);
  COLL_TRY(takeFromRoot(stream, deadline, message));
  if (message.kind != TokenKind ||
      !unseal(session, request.secret, "token", message.bytes, body) ||
      body.size() != token.size())
    return Status::error(COLL_SYSTEM, "rank 0 sent a malformed token");
  std::copy_n(body.begin(), token.size(), token.begin());
  return Status::ok();
}

//===----------------------------------------------------------------------===//
// Root
//===----------------------------------------------------------------------===//

namespace {

class ExchangeRoot {
public:
  ExchangeRoot(const AddressRequest &request, const TcpAddress &address)
      : request(request), address(address), guests(size_t(request.nranks)) {}

  Status run(Token &token);

private:
  struct Guest {
    TcpStream stream;
    Session session;
    uint64_t sinceNs = 0;
    bool isGreeted = false, isIn = false;
    Answer answer;
  };
  enum class Heard { Waiting, Dropped, Answered };

  Status gather();
  Status acceptGuests();
  Heard hear(Guest &guest);
  Status hearPending();
  Status admit(Guest &&guest);
  Status checkHosts() const;
  Status neverCame() const;
  void refuseAll(const Status &status);

  const AddressRequest &request;
  const TcpAddress &address;
  UniqueFd listener;
  std::vector<Guest> pending, guests;
  int numIn = 1;
};

} // namespace

/// Out of descriptors, the door would stay open and nobody come in.
Status ExchangeRoot::acceptGuests() {
  while (pending.size() < maxPending) {
    UniqueFd fd(accept4(listener.get(), nullptr, nullptr,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.isValid())
      return acceptStatus(errno);
    Guest guest;
    guest.stream = TcpStream(std::move(fd));
    guest.sinceNs = monotonicNs();
    pending.push_back(std::move(guest));
  }
  return Status::ok();
}

/// One step of the conversation with a connection that is not in yet.  Whoever
/// errs is dropped without a word: he may be anyone.
ExchangeRoot::Heard ExchangeRoot::hear(Guest &guest) {
  TcpMessage message;
  switch (guest.stream.receive(message)) {
  case TcpStream::Received::Message:
    break;
  case TcpStream::Received::Nothing:
    return monotonicNs() - guest.sinceNs < maxPendingNs ? Heard::Waiting
                                                        : Heard::Dropped;
  default:
    return Heard::Dropped;
  }
  if (!guest.isGreeted) {
    if (message.kind != GreetingKind || message.bytes.size() != sizeof(Nonce) ||
        !fillRandom(guest.session.root).isOk())
      return Heard::Dropped;
    std::copy_n(message.bytes.begin(), sizeof(Nonce),
                guest.session.guest.begin());
    guest.isGreeted = true;
    // It fits into an empty socket, or the other end plays games.
    Status sent = guest.stream.send(
        ChallengeKind,
        seal(guest.session, request.secret, "root", guest.session.root),
        Deadline::at(0));
    return sent.isOk() ? Heard::Waiting : Heard::Dropped;
  }
  std::span<const std::byte> body;
  if (message.kind != AnswerKind ||
      !unseal(guest.session, request.secret, "guest", message.bytes, body))
    return Heard::Dropped;
  WireReader reader(body);
  guest.answer.rank = reader.read<int32_t>();
  guest.answer.nranks = reader.read<int32_t>();
  reader.readBytes(guest.answer.host);
  guest.answer.hostName = reader.readString(maxHostText);
  return reader.finish() ? Heard::Answered : Heard::Dropped;
}

Status ExchangeRoot::admit(Guest &&guest) {
  const Answer &answer = guest.answer;
  Status refusal;
  if (answer.nranks != request.nranks)
    refusal = Status::error(COLL_INVALID,
                            "rank %d on host '%s' says that there are %d "
                            "ranks, rank 0 says %d",
                            answer.rank, answer.hostName.c_str(), answer.nranks,
                            request.nranks);
  else if (answer.rank < 1 || answer.rank >= request.nranks)
    refusal =
        Status::error(COLL_INVALID,
                      "a process on host '%s' says that it is rank %d of "
                      "%d",
                      answer.hostName.c_str(), answer.rank, answer.nranks);
  else if (guests[size_t(answer.rank)].isIn)
    refusal = Status::error(
        COLL_INVALID,
        "two processes say that they are rank %d: on host '%s' and on host "
        "'%s'",
        answer.rank, guests[size_t(answer.rank)].answer.hostName.c_str(),
        answer.hostName.c_str());
  if (!refusal.isOk()) {
    pending.push_back(std::move(guest)); // to be told with all others
    return refusal;
  }
  guest.isIn = true;
  guests[size_t(answer.rank)] = std::move(guest);
  ++numIn;
  return Status::ok();
}

Status ExchangeRoot::hearPending() {
  std::vector<Guest> heard = std::move(pending);
  pending.clear();
  Status result;
  for (Guest &guest : heard) {
    Heard how = result.isOk() ? hear(guest) : Heard::Waiting;
    if (how == Heard::Waiting)
      pending.push_back(std::move(guest));
    else if (how == Heard::Answered)
      result = admit(std::move(guest));
  }
  return result;
}

Status ExchangeRoot::neverCame() const {
  std::vector<int> missing;
  for (int rank = 1; rank != request.nranks; ++rank)
    if (!guests[size_t(rank)].isIn)
      missing.push_back(rank);
  return Status::error(COLL_TIMEOUT, "%s of %d never came to %s",
                       ranksText(missing).c_str(), request.nranks,
                       address.text.c_str())
      .withPeer(missing.front());
}

Status ExchangeRoot::gather() {
  constexpr int sliceMs = 1000; // pending connections grow old without events
  while (numIn != request.nranks) {
    short open = pending.size() < maxPending ? POLLIN : 0;
    std::vector<pollfd> ready = {{listener.get(), open, 0}};
    for (const Guest &guest : pending)
      ready.push_back({guest.stream.socket(), POLLIN, 0});
    poll(ready.data(), ready.size(), request.deadline.pollMs(sliceMs));
    COLL_TRY(acceptGuests());
    COLL_TRY(hearPending());
    for (int rank = 1; rank != request.nranks; ++rank) {
      Guest &guest = guests[size_t(rank)];
      TcpMessage message;
      if (guest.isIn &&
          guest.stream.receive(message) != TcpStream::Received::Nothing)
        return Status::error(COLL_PEER_LOST,
                             "rank %d on host '%s' went away during init", rank,
                             guest.answer.hostName.c_str())
            .withPeer(rank);
    }
    if (numIn != request.nranks && request.deadline.hasPassed())
      return neverCame();
  }
  return Status::ok();
}

Status ExchangeRoot::checkHosts() const {
  std::map<std::string, std::vector<int>> others;
  HostId here = hostId();
  for (int rank = 1; rank != request.nranks; ++rank) {
    const Answer &answer = guests[size_t(rank)].answer;
    if (answer.host != here)
      others[answer.hostName].push_back(rank);
  }
  if (others.empty())
    return Status::ok();
  std::string text;
  for (const auto &[host, ranks] : others)
    text += format("%s on host '%s', ", ranksText(ranks).c_str(), host.c_str());
  return Status::error(COLL_INVALID,
                       "%srank 0 on host '%s': ranks on several hosts are not "
                       "supported yet",
                       text.substr(0, 2048).c_str(), hostName().c_str());
}

void ExchangeRoot::refuseAll(const Status &status) {
  std::vector<std::byte> refusal = encodeRefusal(status);
  int numTold = 0;
  auto refuse = [&](std::vector<Guest> &list) {
    for (Guest &guest : list)
      if (guest.stream.socket() >= 0) {
        (void)guest.stream.send(RefusalKind, refusal, Deadline::at(0));
        // Closed at once it would be reset under what the guest still sends,
        // and the refusal lost.
        shutdown(guest.stream.socket(), SHUT_WR);
        ++numTold;
      }
  };
  refuse(guests);
  refuse(pending);
  Deadline end = Deadline::after(lingerNs);
  while (numTold < request.nranks - 1 && !end.hasPassed() &&
         !request.deadline.hasPassed()) {
    pollfd someone = {listener.get(), POLLIN, 0};
    poll(&someone, 1, end.pollMs(100));
    std::vector<Guest> told = std::move(pending);
    pending.clear();
    (void)acceptGuests();
    refuse(pending);
    pending.insert(pending.end(), std::make_move_iterator(told.begin()),
                   std::make_move_iterator(told.end()));
  }
}

Status ExchangeRoot::run(Token &token) {
  COLL_TRY(listenTcp(address, listener));
  Status status = gather();
  if (status.isOk())
    status = checkHosts();
  if (status.isOk())
    status = fillRandom(token);
  if (!status.isOk()) {
    refuseAll(status);
    return status;
  }
  for (int rank = 1; rank != request.nranks; ++rank) {
    Guest &guest = guests[size_t(rank)];
    // Who has gone since will be missed when the ranks meet.
    (void)guest.stream.send(TokenKind,
                            seal(guest.session, request.secret, "token", token),
                            request.deadline);
  }
  return Status::ok();
}

//===----------------------------------------------------------------------===//

Status exchangeToken(const AddressRequest &request, Token &token) {
  TcpAddress address;
  COLL_TRY(TcpAddress::resolve(request.address, address)
               .withContext("COLL_ADDRESS"));
  if (request.secret.empty() && !request.trustedNetwork && !address.isLoopback)
    return Status::error(COLL_INVALID,
                         "COLL_ADDRESS=%s can be reached from other hosts: "
                         "give all ranks a secret (COLL_SECRET or "
                         "coll_config.secret_file), or set "
                         "COLL_TRUSTED_NETWORK=1",
                         request.address.c_str());
  return request.rank == 0 ? ExchangeRoot(request, address).run(token)
                           : exchangeAsGuest(request, address, token);
}

Status readSecretFile(const std::string &path, std::string &secret) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!fd.isValid() || fstat(fd.get(), &info) != 0)
    return Status::error(COLL_INVALID, "secret file %s cannot be opened",
                         path.c_str());
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0)
    return Status::error(COLL_INVALID,
                         "secret file %s is not a file that only this user can "
                         "read (chmod 600)",
                         path.c_str());
  char buffer[1024];
  ssize_t got = read(fd.get(), buffer, sizeof buffer);
  std::string_view text(buffer, size_t(std::max<ssize_t>(got, 0)));
  text = text.substr(0, text.find('\n'));
  if (text.empty())
    return Status::error(COLL_INVALID, "secret file %s is empty", path.c_str());
  secret = text;
  return Status::ok();
}

} // namespace coll
