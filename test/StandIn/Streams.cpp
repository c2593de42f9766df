//===- Streams.cpp - The stand-in's streams, events and graphs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is a thread that runs its work in order.  While it is captured, its
// work goes into a graph instead, with the edges that the stream's order and
// events give it.  A replay is one piece of work of its stream; inside it every
// node has a thread of its own and begins when those before it are done, so an
// edge that is missing shows.
//
//===----------------------------------------------------------------------===//

#include "test/StandIn/Streams.h"

#include <algorithm>
#include <cstring>

namespace coll::standin {

namespace {
struct Tables {
  std::mutex mutex;
  std::set<StreamState *> streams;
  std::set<EventState *> events;
  std::set<GraphState *> graphs;
  std::set<GraphExecState *> execs;
  uint64_t nextCapture = 1;
};
Tables &tables() {
  static Tables &made = *new Tables;
  return made;
}
thread_local CaptureMode captureMode = captureGlobal;
} // namespace

void listStreamLeaks(World &world) {
  Tables &all = tables();
  std::lock_guard lock(all.mutex);
  for (auto &[what, count] :
       {std::pair("streams", all.streams.size()),
        std::pair("events", all.events.size()),
        std::pair("graphs", all.graphs.size() + all.execs.size())})
    if (count)
      world.leak(std::to_string(count) + " " + what);
}

StreamState::StreamState() : worker([this] { work(); }) {}
StreamState::~StreamState() {
  {
    std::lock_guard lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  worker.join();
}
void StreamState::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return isEnding || !queue.empty(); });
    if (queue.empty())
      return;
    Work next = std::move(queue.front());
    lock.unlock();
    next();
    lock.lock();
    queue.pop_front();
    changed.notify_all();
  }
}
void StreamState::drain() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return queue.empty(); });
}

Result submit(Stream stream, Work work) {
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "work", state))
    return r;
  std::lock_guard lock(state->mutex);
  if (GraphState *graph = state->graph) {
    graph->nodes.push_back({std::move(work), state->last});
    state->last = {graph->nodes.size() - 1};
    return success;
  }
  state->queue.push_back(std::move(work));
  state->changed.notify_all();
  return success;
}

Result findStream(Stream stream, const char *call, StreamState *&state) {
  Tables &all = tables();
  std::lock_guard lock(all.mutex);
  state = reinterpret_cast<StreamState *>(stream);
  if (!stream)
    return wrong(notSupported, "%s on the null stream", call);
  if (!all.streams.count(state))
    return wrong(invalidHandle, "%s on a dead stream", call);
  return success;
}

template <typename State>
static State *stateOf(std::set<State *> &set, void *p) {
  auto *state = static_cast<State *>(p);
  std::lock_guard lock(tables().mutex);
  return set.count(state) ? state : nullptr;
}

static EventState *eventOf(Event event, const char *call) {
  EventState *state = stateOf(tables().events, event);
  if (!state)
    wrong(invalidHandle, "%s of a dead event", call);
  return state;
}

static bool complete(EventState &event, uint64_t record) {
  std::lock_guard lock(event.mutex);
  return event.done >= record;
}
static void await(EventState &event, uint64_t record) {
  std::unique_lock lock(event.mutex);
  event.changed.wait(lock, [&] { return event.done >= record; });
}

void GraphState::run() {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> done(nodes.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i != nodes.size(); ++i)
    threads.emplace_back([&, i] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] {
        return std::all_of(nodes[i].before.begin(), nodes[i].before.end(),
                           [&](size_t b) { return done[b]; });
      });
      lock.unlock();
      nodes[i].work();
      lock.lock();
      done[i] = true;
      changed.notify_all();
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace coll::standin

using namespace coll::standin;

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

STANDIN_EXPORT Result cuStreamCreate(Stream *stream, unsigned) {
  STANDIN_CALL("cuStreamCreate");
  auto *state = new StreamState;
  std::lock_guard lock(tables().mutex);
  tables().streams.insert(state);
  *stream = reinterpret_cast<Stream>(state);
  return success;
}
STANDIN_EXPORT Result cuStreamDestroy_v2(Stream stream) {
  STANDIN_CALL("cuStreamDestroy_v2");
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "cuStreamDestroy", state))
    return r;
  {
    std::lock_guard lock(tables().mutex);
    tables().streams.erase(state);
  }
  delete state;
  return success;
}
STANDIN_EXPORT Result cuStreamSynchronize(Stream stream) {
  STANDIN_CALL("cuStreamSynchronize");
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "cuStreamSynchronize", state))
    return r;
  if (state->graph)
    return wrong(captureUnsupported, "cuStreamSynchronize during a capture");
  state->drain();
  return World::get().sticky;
}
STANDIN_EXPORT Result cuCtxSynchronize() {
  STANDIN_CALL("cuCtxSynchronize");
  std::vector<StreamState *> all;
  {
    std::lock_guard lock(tables().mutex);
    all.assign(tables().streams.begin(), tables().streams.end());
  }
  for (StreamState *state : all)
    state->drain();
  return World::get().sticky;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

STANDIN_EXPORT Result cuEventCreate(Event *event, unsigned) {
  STANDIN_CALL("cuEventCreate");
  auto *state = new EventState;
  std::lock_guard lock(tables().mutex);
  tables().events.insert(state);
  *event = reinterpret_cast<Event>(state);
  return success;
}
STANDIN_EXPORT Result cuEventDestroy_v2(Event event) {
  STANDIN_CALL("cuEventDestroy_v2");
  EventState *state = eventOf(event, "cuEventDestroy");
  if (!state)
    return invalidHandle;
  await(*state, state->recorded);
  std::lock_guard lock(tables().mutex);
  tables().events.erase(state);
  delete state;
  return success;
}
STANDIN_EXPORT Result cuEventRecord(Event event, Stream stream) {
  STANDIN_CALL("cuEventRecord");
  EventState *state = eventOf(event, "cuEventRecord");
  StreamState *source = nullptr;
  if (!state)
    return invalidHandle;
  if (Result r = findStream(stream, "cuEventRecord", source))
    return r;
  if (source->graph) {
    state->graph = source->graph;
    state->nodes = source->last;
    return success;
  }
  state->graph = nullptr;
  uint64_t record;
  {
    std::lock_guard lock(state->mutex);
    record = ++state->recorded;
  }
  return submit(stream, [state, record] {
    std::lock_guard lock(state->mutex);
    state->done = std::max(state->done, record);
    state->changed.notify_all();
  });
}
STANDIN_EXPORT Result cuEventQuery(Event event) {
  STANDIN_CALL("cuEventQuery");
  EventState *state = eventOf(event, "cuEventQuery");
  if (!state)
    return invalidHandle;
  if (state->graph)
    return wrong(captureUnsupported, "cuEventQuery of a captured event");
  if (World::get().sticky)
    return World::get().sticky;
  return complete(*state, state->recorded) ? success : notReady;
}
STANDIN_EXPORT Result cuStreamWaitEvent(Stream stream, Event event,
                                        unsigned flags) {
  STANDIN_CALL("cuStreamWaitEvent");
  EventState *state = eventOf(event, "cuStreamWaitEvent");
  StreamState *waiter = nullptr;
  if (!state)
    return invalidHandle;
  if (Result r = findStream(stream, "cuStreamWaitEvent", waiter))
    return r;
  if (flags != 0)
    return wrong(invalidValue, "cuStreamWaitEvent with flags");
  if (waiter->graph && waiter->graph != state->graph)
    return wrong(captureIsolation, "a captured stream waits for an event from "
                                   "outside of the capture");
  if (state->graph) { // the event brings the stream into the capture
    if (!waiter->graph) {
      waiter->graph = state->graph;
      waiter->last.clear();
    }
    for (size_t node : state->nodes)
      if (std::find(waiter->last.begin(), waiter->last.end(), node) ==
          waiter->last.end())
        waiter->last.push_back(node);
    return success;
  }
  uint64_t record = state->recorded;
  return submit(stream, [state, record] { await(*state, record); });
}

//===----------------------------------------------------------------------===//
// Captures and graphs
//===----------------------------------------------------------------------===//

STANDIN_EXPORT Result cuThreadExchangeStreamCaptureMode(CaptureMode *mode) {
  STANDIN_CALL("cuThreadExchangeStreamCaptureMode", false);
  std::swap(*mode, captureMode);
  return success;
}
STANDIN_EXPORT Result cuStreamGetCaptureInfo_v2(Stream stream,
                                                CaptureStatus *status,
                                                uint64_t *id, Graph *graph,
                                                const GraphNode **nodes,
                                                size_t *count) {
  STANDIN_CALL("cuStreamGetCaptureInfo_v2");
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "cuStreamGetCaptureInfo", state))
    return r;
  *status = state->graph ? captureActive : captureNone;
  if (id && state->graph)
    *id = state->graph->capture;
  if (graph)
    *graph = reinterpret_cast<Graph>(state->graph);
  if (nodes)
    *nodes = nullptr;
  if (count)
    *count = 0;
  return success;
}
STANDIN_EXPORT Result cuStreamBeginCapture_v2(Stream stream, CaptureMode) {
  STANDIN_CALL("cuStreamBeginCapture_v2");
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "cuStreamBeginCapture", state))
    return r;
  if (state->graph)
    return wrong(captureUnmatched, "the stream is being captured already");
  auto *graph = new GraphState;
  graph->origin = state;
  std::lock_guard lock(tables().mutex);
  graph->capture = tables().nextCapture++;
  state->last.clear();
  state->graph = graph;
  return success;
}
STANDIN_EXPORT Result cuStreamEndCapture(Stream stream, Graph *result) {
  STANDIN_CALL("cuStreamEndCapture");
  StreamState *state = nullptr;
  if (Result r = findStream(stream, "cuStreamEndCapture", state))
    return r;
  GraphState *graph = state->graph;
  if (!graph || graph->origin != state)
    return wrong(captureUnmatched, "no capture has begun on the stream");
  std::lock_guard lock(tables().mutex);
  bool isJoined = true;
  for (StreamState *other : tables().streams)
    if (other != state && other->graph == graph) {
      for (size_t node : other->last)
        isJoined &= std::find(state->last.begin(), state->last.end(), node) !=
                        state->last.end() ||
                    graph->leadsTo(node, state->last);
      other->graph = nullptr;
    }
  state->graph = nullptr;
  if (!isJoined) {
    delete graph;
    return wrong(captureUnjoined, "work of another stream was not joined");
  }
  tables().graphs.insert(graph);
  *result = reinterpret_cast<Graph>(graph);
  return success;
}
STANDIN_EXPORT Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph,
                                                  unsigned long long) {
  STANDIN_CALL("cuGraphInstantiateWithFlags");
  GraphState *state = stateOf(tables().graphs, graph);
  if (!state)
    return wrong(invalidHandle, "cuGraphInstantiate of a dead graph");
  auto *made = new GraphExecState{*state};
  std::lock_guard lock(tables().mutex);
  tables().execs.insert(made);
  *exec = reinterpret_cast<GraphExec>(made);
  return success;
}
STANDIN_EXPORT Result cuGraphLaunch(GraphExec exec, Stream stream) {
  STANDIN_CALL("cuGraphLaunch");
  GraphExecState *state = stateOf(tables().execs, exec);
  if (!state)
    return wrong(invalidHandle, "cuGraphLaunch of a dead graph");
  return submit(stream, [state] { state->graph.run(); });
}
STANDIN_EXPORT Result cuGraphExecDestroy(GraphExec exec) {
  STANDIN_CALL("cuGraphExecDestroy");
  GraphExecState *state = stateOf(tables().execs, exec);
  if (!state)
    return wrong(invalidHandle, "cuGraphExecDestroy of a dead graph");
  std::lock_guard lock(tables().mutex);
  tables().execs.erase(state);
  delete state;
  return success;
}
STANDIN_EXPORT Result cuGraphDestroy(Graph graph) {
  STANDIN_CALL("cuGraphDestroy");
  GraphState *state = stateOf(tables().graphs, graph);
  if (!state)
    return wrong(invalidHandle, "cuGraphDestroy of a dead graph");
  std::lock_guard lock(tables().mutex);
  tables().graphs.erase(state);
  delete state;
  return success;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

static bool isDeviceMemory(DevicePtr address, size_t bytes, const char *call) {
  World &world = World::get();
  std::lock_guard lock(world.mutex);
  if (world.isDeviceRange(address, bytes))
    return true;
  wrong(invalidValue,
        "%s of %zu bytes at %llx, which is not in one piece of "
        "accessible device memory",
        call, bytes, address);
  return false;
}

static void *pointer(DevicePtr address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

STANDIN_EXPORT Result cuMemcpyHtoDAsync_v2(DevicePtr to, const void *from,
                                           size_t bytes, Stream stream) {
  STANDIN_CALL("cuMemcpyHtoDAsync_v2");
  if (!isDeviceMemory(to, bytes, "copy to the device"))
    return invalidValue;
  return submit(stream, [=] { std::memcpy(pointer(to), from, bytes); });
}
STANDIN_EXPORT Result cuMemcpyDtoHAsync_v2(void *to, DevicePtr from,
                                           size_t bytes, Stream stream) {
  STANDIN_CALL("cuMemcpyDtoHAsync_v2");
  if (!isDeviceMemory(from, bytes, "copy from the device"))
    return invalidValue;
  return submit(stream, [=] { std::memcpy(to, pointer(from), bytes); });
}
STANDIN_EXPORT Result cuMemcpyDtoDAsync_v2(DevicePtr to, DevicePtr from,
                                           size_t bytes, Stream stream) {
  STANDIN_CALL("cuMemcpyDtoDAsync_v2");
  if (!isDeviceMemory(to, bytes, "copy on the device") ||
      !isDeviceMemory(from, bytes, "copy on the device"))
    return invalidValue;
  return submit(stream,
                [=] { std::memmove(pointer(to), pointer(from), bytes); });
}
STANDIN_EXPORT Result cuMemsetD8Async(DevicePtr to, unsigned char value,
                                      size_t bytes, Stream stream) {
  STANDIN_CALL("cuMemsetD8Async");
  if (!isDeviceMemory(to, bytes, "cuMemsetD8"))
    return invalidValue;
  return submit(stream, [=] { std::memset(pointer(to), value, bytes); });
}
