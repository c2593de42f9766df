//===- InterpreterArith.h - Element arithmetic on blocks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over blocks of elements, in the accumulation type: float, double or the
// integer itself. One operation a loop, so that nothing can be contracted.
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_ANALYSIS_INTERPRETERARITH_H
#define COLL_LIB_ANALYSIS_INTERPRETERARITH_H

#include "coll/coll.h"
#include "lib/Analysis/ChunkGraph.h"
#include "lib/Support/FloatFormats.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace coll::interpreter {

/// What `type` is when T is `dtype`; integers have no other type.
inline coll_dtype resolve(ElemType type, coll_dtype dtype) {
  switch (type) {
  case ElemType::F16:
    return COLL_F16;
  case ElemType::BF16:
    return COLL_BF16;
  case ElemType::F32:
    return COLL_F32;
  case ElemType::F64:
    return COLL_F64;
  case ElemType::E4M3:
    return COLL_E4M3;
  case ElemType::E5M2:
    return COLL_E5M2;
  case ElemType::Accum:
    return dtype == COLL_F16 || dtype == COLL_BF16 || dtype == COLL_E4M3 ||
                   dtype == COLL_E5M2
               ? COLL_F32
               : dtype;
  default:
    return dtype;
  }
}

/// A number of the compute type C as it is after a stay in `storage`.
template <class C>
void roundBlock(const C *in, C *out, size_t n, coll_dtype storage) {
  auto through = [&]<class Format>(Format) {
    for (size_t i = 0; i < n; ++i)
      out[i] = C(decode<Format>(encode<Format>(in[i])));
  };
  if constexpr (std::is_floating_point_v<C>) {
    switch (storage) {
    case COLL_F16:
      return through(F16());
    case COLL_BF16:
      return through(BF16());
    case COLL_E4M3:
      return through(E4M3());
    case COLL_E5M2:
      return through(E5M2());
    case COLL_F32:
      for (size_t i = 0; i < n; ++i)
        out[i] = C(float(in[i]));
      return;
    default:
      break;
    }
  }
  std::memcpy(out, in, n * sizeof(C));
}

template <class C>
void loadBlock(const void *from, C *to, size_t n, coll_dtype dtype) {
  auto from16 = [&]<class Format>(Format) {
    const char *bytes = static_cast<const char *>(from);
    for (size_t i = 0; i < n; ++i) {
      typename Format::Storage code;
      std::memcpy(&code, bytes + i * sizeof code, sizeof code);
      to[i] = C(decode<Format>(code));
    }
  };
  if constexpr (std::is_same_v<C, float>) {
    switch (dtype) {
    case COLL_F16:
      return from16(F16());
    case COLL_BF16:
      return from16(BF16());
    case COLL_E4M3:
      return from16(E4M3());
    case COLL_E5M2:
      return from16(E5M2());
    default:
      break;
    }
  }
  std::memcpy(to, from, n * sizeof(C));
}

/// Of numbers that are of type dtype already.
template <class C>
void storeBlock(const C *from, void *to, size_t n, coll_dtype dtype) {
  auto to16 = [&]<class Format>(Format) {
    char *bytes = static_cast<char *>(to);
    for (size_t i = 0; i < n; ++i) {
      typename Format::Storage code = encode<Format>(from[i]);
      std::memcpy(bytes + i * sizeof code, &code, sizeof code);
    }
  };
  if constexpr (std::is_same_v<C, float>) {
    switch (dtype) {
    case COLL_F16:
      return to16(F16());
    case COLL_BF16:
      return to16(BF16());
    case COLL_E4M3:
      return to16(E4M3());
    case COLL_E5M2:
      return to16(E5M2());
    default:
      break;
    }
  }
  std::memcpy(to, from, n * sizeof(C));
}

/// Sums and products of integers wrap. Unsigned short would be promoted to int.
template <class C> struct Wrapping {
  using U = std::conditional_t<
      (sizeof(C) < 4), uint32_t,
      std::make_unsigned_t<std::conditional_t<std::is_integral_v<C>, C, int>>>;
  static C add(C a, C b) { return C(U(a) + U(b)); }
  static C mul(C a, C b) { return C(U(a) * U(b)); }
};

template <class C> C addOne(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return Wrapping<C>::add(a, b);
  else
    return a + b;
}
template <class C> C mulOne(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return Wrapping<C>::mul(a, b);
  else
    return a * b;
}
/// A NaN wins, and -0 < +0.
template <class C> C minOne(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return b < a ? b : a;
  } else {
    C smaller = b < a ? b : a;
    smaller = a == b && std::signbit(b) ? b : smaller;
    smaller = b != b ? b : smaller;
    return a != a ? a : smaller;
  }
}
template <class C> C maxOne(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return a < b ? b : a;
  } else {
    C larger = a < b ? b : a;
    larger = a == b && !std::signbit(b) ? b : larger;
    larger = b != b ? b : larger;
    return a != a ? a : larger;
  }
}

/// acc = acc op in.
template <class C>
void combineBlock(C *acc, const C *in, size_t n, coll_op op) {
  switch (op) {
  case COLL_PROD:
    for (size_t i = 0; i < n; ++i)
      acc[i] = mulOne(acc[i], in[i]);
    return;
  case COLL_MIN:
    for (size_t i = 0; i < n; ++i)
      acc[i] = minOne(acc[i], in[i]);
    return;
  case COLL_MAX:
    for (size_t i = 0; i < n; ++i)
      acc[i] = maxOne(acc[i], in[i]);
    return;
  default:
    for (size_t i = 0; i < n; ++i)
      acc[i] = addOne(acc[i], in[i]);
  }
}

/// premul_sum's factor in the compute type, once.
template <class C> C factorOf(double factor) {
  if constexpr (std::is_same_v<C, double>)
    return factor;
  else if constexpr (std::is_same_v<C, float>)
    return float(factor);
  else if constexpr (std::is_signed_v<C>)
    return C(int64_t(factor));
  else
    return C(uint64_t(factor));
}

} // namespace coll::interpreter

#endif // COLL_LIB_ANALYSIS_INTERPRETERARITH_H
