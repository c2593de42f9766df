//===- CommunicatorFactory.h - Making communicators -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_RUNTIME_CORE_COMMUNICATORFACTORY_H
#define COLL_RUNTIME_CORE_COMMUNICATORFACTORY_H

#include "runtime/core/Rendezvous.h"

namespace coll {

class CommunicatorFactory {
public:
  /// coll_comm_init: meets the others under the id's name.
  static Status fromId(int nranks, const coll_id &id, int rank,
                       const coll_config *config,
                       std::unique_ptr<coll_comm> &result);
  /// coll_comm_init_env.
  static Status fromEnvironment(const coll_config *config,
                                std::unique_ptr<coll_comm> &result);
  /// coll_comm_dup. Collective; an error where others split.
  static Status duplicate(Communicator &parent,
                          std::unique_ptr<coll_comm> &result);
  /// coll_comm_split. Collective; null when color is negative.
  static Status split(Communicator &parent, int color, int key,
                      std::unique_ptr<coll_comm> &result);
  /// The same from boards and links that stand: starts the monitor and makes
  /// the lane.
  /// Collective: what ranks do when all of them have assembled theirs.
  static Status complete(coll_comm &comm);
  static Status assemble(const Environment &env, uint64_t waitNs,
                         uint64_t initNs, Meeting &&meeting,
                         std::unique_ptr<coll_comm> &result);

private:
  struct Settings;
  static Status derive(Communicator &parent, int color, int key,
                       std::unique_ptr<coll_comm> &result);
  static void probePeers(Communicator &comm);
  static void findReach(Communicator &comm);
  static Status initialize(MeetingRequest &request, const Settings &settings,
                           std::unique_ptr<coll_comm> &result);
};

/// Ids, as coll_make_id makes them and coll_comm_init checks them.
Status makeId(coll_id &id);
Status readId(const coll_id &id, Token &token);
/// The token of a job that a launcher names.
Token tokenOf(std::string_view kind, std::string_view name);

} // namespace coll

#endif // COLL_RUNTIME_CORE_COMMUNICATORFACTORY_H
