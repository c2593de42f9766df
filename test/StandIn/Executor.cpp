//===- Executor.cpp - Runs kernels for the stand-in driver ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/StandIn/Executor.h"

#include <cstring>
#include <thread>

namespace coll::standin {

namespace {
/// Functions of this process, a thread for each block.
class HostFunctions final : public Image {
public:
  explicit HostFunctions(const HostImage &image) : image(image) {}

  const void *find(const std::string &symbol) override {
    for (uint32_t i = 0; i != image.count; ++i)
      if (symbol == image.kernels[i].symbol)
        return &image.kernels[i];
    return nullptr;
  }
  size_t parameterBytes(const void *kernel) override {
    return static_cast<const HostImage::Kernel *>(kernel)->parameterBytes;
  }
  bool run(const void *kernel, LaunchShape shape,
           const void *parameters) override {
    auto *block = static_cast<const HostImage::Kernel *>(kernel)->block;
    std::vector<std::thread> blocks;
    for (unsigned b = 0; b != shape.grid; ++b)
      blocks.emplace_back(block, parameters, b);
    for (std::thread &thread : blocks)
      thread.join();
    return true;
  }

private:
  const HostImage &image;
};
} // namespace

std::unique_ptr<Image> loadImage(const void *image) {
  if (std::memcmp(image, HostImage::mark, sizeof HostImage::mark) == 0)
    return std::make_unique<HostFunctions>(
        *static_cast<const HostImage *>(image));
  return loadBitcode(image);
}

} // namespace coll::standin
