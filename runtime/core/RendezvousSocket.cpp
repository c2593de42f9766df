//===- RendezvousSocket.cpp - The door at which ranks meet ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The directory is locked while its sockets are examined and a new one is bound
// and listens, so that a socket that refuses connections is surely a dead
// root's.  Such leftovers are removed, whichever job they were of.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RendezvousProtocol.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace coll {

/// The directory, made if need be, which must be the user's own and closed to
/// others.
static Status openDirectory(const std::string &path, UniqueFd &result) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::system(errno, "cannot create %s for rendezvous",
                          path.c_str());
  UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.isValid())
    return Status::system(errno, "cannot open %s for rendezvous", path.c_str());
  struct stat info;
  if (fstat(fd.get(), &info) != 0)
    return Status::system(errno, "cannot examine %s", path.c_str());
  if (info.st_uid != geteuid())
    return Status::error(COLL_SYSTEM,
                         "%s belongs to user %u, not %u: remove it or set "
                         "COLL_DIR",
                         path.c_str(), unsigned(info.st_uid),
                         unsigned(geteuid()));
  if ((info.st_mode & 077) != 0)
    return Status::error(COLL_SYSTEM,
                         "%s is open to other users (mode %03o): chmod 700 it "
                         "or set COLL_DIR",
                         path.c_str(), unsigned(info.st_mode & 0777));
  result = std::move(fd);
  return Status::ok();
}

static Status lockDirectory(const UniqueFd &directory, Deadline deadline) {
  while (flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return Status::system(errno, "cannot lock the rendezvous directory");
    if (deadline.hasPassed())
      return Status::error(COLL_TIMEOUT,
                           "the rendezvous directory stays locked");
    usleep(1000);
  }
  return Status::ok();
}

/// Who listens at a socket of the directory: its pid (0: invisible), or -1 when
/// its root is dead.
static int listenerOf(const sockaddr_un &address) {
  UniqueFd probe(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), reinterpret_cast<const sockaddr *>(&address),
              sizeof address) != 0)
    return errno == ECONNREFUSED ? -1 : 0;
  unsigned uid;
  int pid = 0;
  return peerCredentials(probe.get(), uid, pid).isOk() ? pid : 0;
}

/// Removes what roots that were killed have left.
static void removeStaleSockets(const UniqueFd &directory,
                               const std::string &path) {
  constexpr int maxEntries = 1024;
  UniqueFd copy(fcntl(directory.get(), F_DUPFD_CLOEXEC, 0));
  // It holds the lock as well, so it must not be left open.
  std::unique_ptr<DIR, int (*)(DIR *)> entries(
      copy.isValid() ? fdopendir(copy.get()) : nullptr, closedir);
  if (!entries)
    return; // a leftover of our own name is an error of bind
  copy.release();
  rewinddir(entries.get());
  for (int i = 0; i != maxEntries; ++i) {
    const dirent *entry = readdir(entries.get());
    if (!entry)
      break;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::string file = path + "/" + entry->d_name;
    if (entry->d_type != DT_SOCK || file.size() >= sizeof address.sun_path)
      continue;
    file.copy(address.sun_path, file.size());
    if (listenerOf(address) == -1)
      unlinkat(directory.get(), entry->d_name, 0);
  }
}

Status openListener(const MeetingRequest &request, sockaddr_un &address,
                    UniqueFd &listener) {
  COLL_TRY(socketAddress(request, address));
  UniqueFd directory; // closing it unlocks it
  COLL_TRY(openDirectory(request.env->directory, directory));
  COLL_TRY(lockDirectory(directory, request.deadline));
  removeStaleSockets(directory, request.env->directory);
  UniqueFd socket(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.isValid())
    return Status::system(errno, "cannot create a unix socket");
  if (bind(socket.get(), reinterpret_cast<sockaddr *>(&address),
           sizeof address) != 0) {
    if (errno != EADDRINUSE)
      return Status::system(errno, "cannot bind %s", address.sun_path);
    return Status::error(COLL_INVALID,
                         "process %d already waits as rank 0 of %s at %s: two "
                         "processes have rank 0, or two jobs the same name",
                         listenerOf(address), request.job.c_str(),
                         address.sun_path);
  }
  if (listen(socket.get(), SOMAXCONN) != 0) {
    int failure = errno;
    unlink(address.sun_path);
    return Status::system(failure, "cannot listen at %s", address.sun_path);
  }
  listener = std::move(socket);
  return Status::ok();
}

} // namespace coll
