//===- Wire.h - The one bounds-checked reader -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every message between ranks, in rendezvous or on the control mesh, is written
// with WireWriter and read with WireReader: fixed little-endian fields in a
// fixed order.  A reader never reads past its input: after the first field that
// is not there, all further reads give zero and `finish` is false.  So a parser
// reads all its fields first and asks once.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_RUNTIME_CORE_WIRE_H
#define COLL_RUNTIME_CORE_WIRE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coll {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "wire and shared layouts are little-endian");

class WireReader {
public:
  explicit WireReader(std::span<const std::byte> input) : rest(input) {}

  /// The next integer, or 0 when the input has ended.
  template <typename T> T read() {
    static_assert(std::is_integral_v<T>);
    T value = 0;
    if (std::span<const std::byte> field = take(sizeof(T)); !field.empty())
      std::memcpy(&value, field.data(), sizeof(T));
    return value;
  }
  /// Fills `out`, with zeros when the input has ended.
  void readBytes(std::span<std::byte> out) {
    std::span<const std::byte> field = take(out.size());
    if (field.size() == out.size() && !out.empty())
      std::memcpy(out.data(), field.data(), out.size());
    else if (!out.empty())
      std::memset(out.data(), 0, out.size());
  }
  /// A string of a u32 length and that many bytes, at most `limit`.
  std::string readString(size_t limit) {
    uint32_t length = read<uint32_t>();
    if (length > limit) {
      broken = true;
      return {};
    }
    std::span<const std::byte> field = take(length);
    return {reinterpret_cast<const char *>(field.data()), field.size()};
  }

  size_t remaining() const { return rest.size(); }
  /// Every field was there.
  bool isGood() const { return !broken; }
  /// Every field was there and nothing is left over.
  bool finish() const { return !broken && rest.empty(); }

private:
  std::span<const std::byte> take(size_t bytes) {
    if (broken || bytes > rest.size()) {
      broken = true;
      return {};
    }
    std::span<const std::byte> field = rest.first(bytes);
    rest = rest.subspan(bytes);
    return field;
  }

  std::span<const std::byte> rest;
  bool broken = false;
};

class WireWriter {
public:
  template <typename T> WireWriter &write(std::type_identity_t<T> value) {
    static_assert(std::is_integral_v<T>);
    return writeBytes(std::as_bytes(std::span(&value, 1)));
  }
  WireWriter &writeBytes(std::span<const std::byte> bytes) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    return *this;
  }
  WireWriter &writeString(std::string_view text) {
    write<uint32_t>(uint32_t(text.size()));
    return writeBytes(std::as_bytes(std::span(text.data(), text.size())));
  }

  std::span<const std::byte> bytes() const { return buffer; }

private:
  std::vector<std::byte> buffer;
};

} // namespace coll

#endif // COLL_RUNTIME_CORE_WIRE_H
