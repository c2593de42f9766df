//===- Streams.h - The stand-in's streams, events and graphs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COLL_TEST_STANDIN_STREAMS_H
#define COLL_TEST_STANDIN_STREAMS_H

#include "test/StandIn/StandIn.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

namespace coll::standin {

using Work = std::function<void()>;
struct StreamState;

struct GraphNodeState {
  Work work;
  std::vector<size_t> before; ///< nodes that end first
};
struct GraphState {
  std::vector<GraphNodeState> nodes;
  StreamState *origin = nullptr;
  uint64_t capture = 0;

  void run();
  /// Does one of `later` come behind `node`?
  bool leadsTo(size_t node, const std::vector<size_t> &later) const {
    for (size_t at : later)
      for (size_t before : nodes[at].before)
        if (before == node || leadsTo(node, {before}))
          return true;
    return false;
  }
};
struct GraphExecState {
  GraphState graph;
};

struct StreamState {
  StreamState();
  ~StreamState();
  void work();
  void drain();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Work> queue; ///< its front is running
  bool isEnding = false;
  GraphState *graph = nullptr; ///< being captured into
  std::vector<size_t> last;    ///< nodes that the next one comes behind
  std::thread worker;          ///< begun last
};

struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, done = 0;
  GraphState *graph = nullptr; ///< recorded in this capture
  std::vector<size_t> nodes;
};

Result findStream(Stream stream, const char *call, StreamState *&state);
/// Queues work, or adds it to the graph that is being captured.
Result submit(Stream stream, Work work);

} // namespace coll::standin

#endif // COLL_TEST_STANDIN_STREAMS_H
