//===- Gloo.cpp - The collectives of Host.cpp by Gloo ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: gloo RANKS BATCHES OPERATIONS BYTES...   (see Host.cpp)
//
// The same batches and the same lines, over Gloo's TCP transport, the only one
// between processes that it has on Linux. Its all-reduce is the faster of its
// two algorithms at each size; it has no reduce-scatter of the same form.
//
//===----------------------------------------------------------------------===//

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr double batchSeconds = 0.002;
using Reduce = void (*)(void *, const void *, const void *, size_t);

double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void pin(int rank) {
  cpu_set_t usable, own;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0)
    return;
  int skip = rank % CPU_COUNT(&usable), cpu = 0;
  while (!CPU_ISSET(cpu, &usable) || skip-- != 0)
    ++cpu;
  CPU_ZERO(&own);
  CPU_SET(cpu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

bool isListed(const std::string &list, const std::string &name) {
  return list == "all" ||
         ("," + list + ",").find("," + name + ",") != std::string::npos;
}

class Rank {
public:
  Rank(std::shared_ptr<gloo::Context> context, int batches, size_t most)
      : context(std::move(context)), batches(batches), in(most), out(most) {}
  void measure(const std::string &list, size_t bytes);

private:
  using Operations = std::map<std::string, std::function<void()>>;
  void addReductions(Operations &all, size_t count);
  void addMoves(Operations &all, size_t count);
  double slowest(double own);
  double batch(const std::function<void()> &once, int iterations);
  double time(const std::function<void()> &once);

  std::shared_ptr<gloo::Context> context;
  int batches;
  std::vector<float> in, out;
};

} // namespace

double Rank::slowest(double own) {
  gloo::AllreduceOptions options(context);
  options.setTag(100);
  options.setOutput(&own, 1);
  options.setReduceFunction(static_cast<Reduce>(&gloo::max<double>));
  gloo::allreduce(options);
  return own;
}

double Rank::batch(const std::function<void()> &once, int iterations) {
  gloo::BarrierOptions barrier(context);
  barrier.setTag(101);
  gloo::barrier(barrier);
  double start = now();
  for (int i = 0; i != iterations; ++i)
    once();
  return slowest((now() - start) / iterations);
}

double Rank::time(const std::function<void()> &once) {
  double each = std::max(batch(once, 2), 1e-8);
  int iterations = std::clamp(int(batchSeconds / each), 1, 20000);
  std::vector<double> seconds;
  for (int b = 0; b != batches; ++b)
    seconds.push_back(batch(once, iterations));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 5];
}

void Rank::addReductions(Operations &all, size_t count) {
  auto sum = static_cast<Reduce>(&gloo::sum<float>);
  using Algorithm = gloo::AllreduceOptions::Algorithm;
  for (auto [name, algorithm] : {std::pair("ring", Algorithm::RING),
                                 std::pair("bcube", Algorithm::BCUBE)})
    all[std::string("allreduce/") + name] = [=, this, algorithm = algorithm] {
      gloo::AllreduceOptions options(context);
      options.setAlgorithm(algorithm);
      options.setInput(in.data(), count);
      options.setOutput(out.data(), count);
      options.setReduceFunction(sum);
      options.setTag(1);
      gloo::allreduce(options);
    };
  all["reduce"] = [=, this] {
    gloo::ReduceOptions options(context);
    options.setInput(in.data(), count);
    options.setOutput(out.data(), count);
    options.setReduceFunction(sum);
    options.setRoot(0);
    options.setTag(2);
    gloo::reduce(options);
  };
}

void Rank::addMoves(Operations &all, size_t count) {
  size_t n = size_t(context->size), part = count / n;
  if (part == 0)
    return;
  all["allgather"] = [=, this] {
    gloo::AllgatherOptions options(context);
    options.setInput(in.data(), part);
    options.setOutput(out.data(), part * n);
    options.setTag(3);
    gloo::allgather(options);
  };
  all["broadcast"] = [=, this] {
    gloo::BroadcastOptions options(context);
    options.setOutput(out.data(), count);
    options.setRoot(0);
    options.setTag(4);
    gloo::broadcast(options);
  };
  all["alltoall"] = [=, this] {
    gloo::AlltoallOptions options(context);
    options.setInput(in.data(), part * n);
    options.setOutput(out.data(), part * n);
    options.setTag(5);
    gloo::alltoall(options);
  };
  all["gather"] = [=, this] {
    gloo::GatherOptions options(context);
    options.setInput(in.data(), part);
    if (context->rank == 0)
      options.setOutput(out.data(), part * n);
    options.setRoot(0);
    options.setTag(6);
    gloo::gather(options);
  };
  all["scatter"] = [=, this] {
    gloo::ScatterOptions options(context);
    std::vector<float *> parts;
    for (size_t r = 0; r != n && context->rank == 0; ++r)
      parts.push_back(in.data() + r * part);
    if (context->rank == 0)
      options.setInputs(parts, part);
    options.setOutput(out.data(), part);
    options.setRoot(0);
    options.setTag(7);
    gloo::scatter(options);
  };
}

void Rank::measure(const std::string &list, size_t bytes) {
  Operations all;
  addReductions(all, bytes / sizeof(float));
  addMoves(all, bytes / sizeof(float));
  std::map<std::string, double> best;
  for (auto &[name, once] : all) {
    std::string operation = name.substr(0, name.find('/'));
    if (!isListed(list, operation))
      continue;
    double seconds = time(once);
    auto [it, isNew] = best.insert({operation, seconds});
    it->second = std::min(it->second, seconds);
  }
  for (auto &[name, seconds] : best)
    if (context->rank == 0)
      printf("%s,%d,%zu,%.4f\n", name.c_str(), context->size, bytes,
             seconds * 1e6);
  fflush(stdout);
}

int main(int argc, char **argv) {
  int numRanks = argc > 1 ? atoi(argv[1]) : 0,
      batches = argc > 2 ? atoi(argv[2]) : 0;
  std::vector<size_t> sizes;
  for (int i = 4; i < argc; ++i)
    sizes.push_back(strtoull(argv[i], nullptr, 10));
  if (numRanks < 1 || batches < 1 || sizes.empty()) {
    fprintf(stderr, "usage: gloo RANKS BATCHES OPERATIONS BYTES...\n");
    return 2;
  }
  char store[] = "/tmp/gloo.XXXXXX";
  if (!mkdtemp(store)) {
    perror("rendezvous");
    return 1;
  }
  for (int rank = 0; rank != numRanks; ++rank)
    if (fork() == 0) {
      pin(rank);
      auto device = gloo::transport::tcp::CreateDevice("localhost");
      gloo::rendezvous::FileStore files(store);
      auto context =
          std::make_shared<gloo::rendezvous::Context>(rank, numRanks);
      context->setTimeout(std::chrono::seconds(120));
      context->connectFullMesh(files, device);
      Rank self(context, batches,
                *std::max_element(sizes.begin(), sizes.end()) / sizeof(float));
      for (size_t bytes : sizes)
        self.measure(argv[3], bytes);
      _exit(0); // its threads are not waited for
    }
  bool good = true;
  for (int status; wait(&status) > 0;)
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::filesystem::remove_all(store);
  return good ? 0 : 1;
}
