//===- RendezvousProtocol.cpp - What ranks say when they meet -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/core/RendezvousProtocol.h"
#include "runtime/core/Isa.h"
#include "runtime/core/Text.h"
#include "runtime/core/Wire.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace coll {

ProcessName ProcessName::own() {
  struct stat info;
  bool isKnown = stat("/proc/self/ns/pid", &info) == 0;
  return {int(getpid()), isKnown ? uint64_t(info.st_ino) : 0};
}

int ProcessName::visiblePid() const {
  uint64_t here = own().pidNamespace;
  return here != 0 && here == pidNamespace ? pid : 0;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static std::vector<std::byte> takeBytes(const WireWriter &writer) {
  return {writer.bytes().begin(), writer.bytes().end()};
}

static void writeProcess(WireWriter &writer, const ProcessName &process) {
  writer.write<int32_t>(process.pid).write<uint64_t>(process.pidNamespace);
}

static ProcessName readProcess(WireReader &reader) {
  ProcessName process;
  process.pid = reader.read<int32_t>();
  process.pidNamespace = reader.read<uint64_t>();
  return process;
}

Hello Hello::own(const MeetingRequest &request) {
  Hello hello;
  hello.rank = request.rank;
  hello.nranks = request.nranks;
  hello.process = ProcessName::own();
  hello.host = hostId();
  hello.quotaCores = request.env->quotaCores;
  // Without any, this rank's lane will say so.
  (void)chooseIsa(request.env->isa, hello.isa);
  hello.cpus = request.env->cpus;
  hello.selection = request.env->selection.digest();
  return hello;
}

std::vector<std::byte> Hello::encode() const {
  WireWriter writer;
  writer.write<uint32_t>(version).write<int32_t>(rank).write<int32_t>(nranks);
  writeProcess(writer, process);
  writer.writeBytes(host).write<uint32_t>(quotaCores).write<uint32_t>(isa);
  writer.writeBytes(std::as_bytes(std::span(cpus))).write<uint64_t>(selection);
  return takeBytes(writer);
}

bool Hello::decode(std::span<const std::byte> bytes, Hello &hello) {
  WireReader reader(bytes);
  hello.version = reader.read<uint32_t>();
  hello.rank = reader.read<int32_t>();
  hello.nranks = reader.read<int32_t>();
  // Of another version only this much is sure.
  if (reader.isGood() && hello.version != kProtocolVersion)
    return true;
  hello.process = readProcess(reader);
  reader.readBytes(hello.host);
  hello.quotaCores = reader.read<uint32_t>();
  hello.isa = reader.read<uint32_t>();
  reader.readBytes(std::as_writable_bytes(std::span(hello.cpus)));
  hello.selection = reader.read<uint64_t>();
  return reader.finish() && hello.isa < COLL_NUM_ISAS;
}

std::vector<std::byte> Welcome::encode() const {
  WireWriter writer;
  writer.write<uint32_t>(rings.slotBytes)
      .write<uint32_t>(rings.slots)
      .write<uint32_t>(rings.smallBytes)
      .write<uint32_t>(rings.smallSlots)
      .write<uint32_t>(hostCores)
      .write<uint32_t>(commonIsa)
      .write<uint32_t>(streams)
      .write<uint32_t>(remotePays)
      .write<uint64_t>(id);
  return takeBytes(writer);
}

bool Welcome::decode(std::span<const std::byte> bytes, Welcome &welcome) {
  WireReader reader(bytes);
  welcome.rings.slotBytes = reader.read<uint32_t>();
  welcome.rings.slots = reader.read<uint32_t>();
  welcome.rings.smallBytes = reader.read<uint32_t>();
  welcome.rings.smallSlots = reader.read<uint32_t>();
  welcome.hostCores = reader.read<uint32_t>();
  welcome.commonIsa = reader.read<uint32_t>();
  welcome.streams = reader.read<uint32_t>() != 0;
  welcome.remotePays = reader.read<uint32_t>() != 0;
  welcome.id = reader.read<uint64_t>();
  return reader.finish() && welcome.rings.check().isOk() &&
         welcome.hostCores != 0 && welcome.commonIsa < COLL_NUM_ISAS;
}

std::vector<std::byte> PeerNote::encode() const {
  WireWriter writer;
  writer.write<int32_t>(rank);
  writeProcess(writer, process);
  return takeBytes(writer);
}

bool PeerNote::decode(std::span<const std::byte> bytes, PeerNote &note) {
  WireReader reader(bytes);
  note.rank = reader.read<int32_t>();
  note.process = readProcess(reader);
  return reader.finish();
}

static constexpr size_t maxRefusalText = 4096;

std::vector<std::byte> encodeRefusal(const Status &status) {
  WireWriter writer;
  writer.write<int32_t>(status.code())
      .writeString(std::string_view(status.text()).substr(0, maxRefusalText));
  return takeBytes(writer);
}

Status decodeRefusal(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  int32_t code = reader.read<int32_t>();
  std::string text = reader.readString(maxRefusalText);
  if (!reader.finish() || code <= COLL_OK || code > COLL_OVERLAP)
    return Status::error(COLL_SYSTEM, "a malformed refusal arrived");
  return Status::error(coll_status(code), "%s", text.c_str());
}

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

Status putFrame(int socket, uint16_t kind, std::span<const std::byte> bytes,
                std::span<const int> fds, Deadline deadline) {
  Status status;
  switch (sendFrameUntil(socket, kind, 0, bytes, fds, deadline, status)) {
  case FrameResult::Ok:
    return Status::ok();
  case FrameResult::Closed:
    return Status::error(COLL_PEER_LOST, "the connection has closed");
  case FrameResult::Failed:
    return status;
  case FrameResult::WouldBlock:
    break;
  }
  return Status::error(COLL_TIMEOUT, "the other end does not read");
}

Status takeFrame(int socket, Deadline deadline, Frame &frame) {
  constexpr int sliceMs = 1000;
  while (true) {
    Status status;
    switch (receiveFrame(socket, frame, status)) {
    case FrameResult::Ok:
      return Status::ok();
    case FrameResult::Closed:
      return Status::error(COLL_PEER_LOST, "the connection has closed");
    case FrameResult::Failed:
      return status;
    case FrameResult::WouldBlock:
      break;
    }
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT, "no answer");
    pollfd readable = {socket, POLLIN, 0};
    poll(&readable, 1, deadline.pollMs(sliceMs));
  }
}

Status socketAddress(const MeetingRequest &request, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string &directory = request.env->directory;
  std::string path =
      directory + "/" + hexText(request.token.data(), request.token.size());
  if (path.size() >= sizeof address.sun_path)
    return Status::error(COLL_INVALID,
                         "COLL_DIR=%s is too long for a unix socket: more than "
                         "%zu bytes",
                         directory.c_str(),
                         sizeof address.sun_path - 2 -
                             2 * request.token.size());
  path.copy(address.sun_path, path.size());
  return Status::ok();
}

Status peerCredentials(int socket, unsigned &uid, int &pid) {
  ucred credentials = {};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0)
    return Status::system(errno, "cannot tell who is at the other end");
  uid = credentials.uid;
  pid = credentials.pid;
  return Status::ok();
}

Status acceptStatus(int errnoValue) {
  switch (errnoValue) {
  case EMFILE:
  case ENFILE:
  case ENOBUFS:
  case ENOMEM:
    return Status::system(errnoValue, "rank 0 cannot let more ranks in");
  default:
    return Status::ok();
  }
}

UniqueFd openOwnPidfd() {
#ifdef SYS_pidfd_open
  return UniqueFd(int(syscall(SYS_pidfd_open, getpid(), 0)));
#else
  return UniqueFd();
#endif
}

Status meet(const MeetingRequest &request) {
  return request.rank == 0 ? meetAsRoot(request) : meetAsGuest(request);
}

} // namespace coll
