//===- ElementMath.h - exp, tanh and rsqrt, defined once --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of `fn` must give the same bits on every target, so they are
// our own sequences of correctly rounded operations and no library's. They are
// written once, over an Arithmetic policy: instantiated with plain floats they
// are the interpreter's meaning, with an IR builder they are the generated
// code. No operation may be contracted or reassociated.
//
// Coefficients: S. L. Moshier, Cephes Mathematical Library (expf, exp, tanhf,
// tanh), www.netlib.org/cephes. Errors against the exact value are below 2
// units in the last place (test/Unit/Support/ElementMathTest.cpp measures
// them).
//
// A policy A has: V (value), I (integer value of the same width), `static
// constexpr bool wide` (f64), and
//   V c(double); V add, sub, mul, div (V, V); V sqrt(V); V abs(V); V copysign(V
//   magnitude, V sign); V min(V, V), max(V, V) (a NaN wins); V roundEven(V); V
//   pow2(V integral, in the normal exponent range, or NaN); V selectLess(V a, V
//   b, V ifLess, V ifNot).
//
//===----------------------------------------------------------------------===//
#ifndef COLL_LIB_SUPPORT_ELEMENTMATH_H
#define COLL_LIB_SUPPORT_ELEMENTMATH_H

#include <initializer_list>

namespace coll::elementmath {

/// c0 x^n + c1 x^(n-1) + ..., by Horner's rule.
template <class A>
typename A::V polynomial(A &a, typename A::V x,
                         std::initializer_list<double> coefficients) {
  auto it = coefficients.begin();
  typename A::V y = a.c(*it);
  for (++it; it != coefficients.end(); ++it)
    y = a.add(a.mul(y, x), a.c(*it));
  return y;
}

/// e^x = 2^n e^r with |r| <= ln 2 / 2; ln 2 is subtracted in two parts so that
/// r is exact. 2^n is applied in two halves, so that results may be subnormal
/// or overflow to infinity.
template <class A> typename A::V exp(A &a, typename A::V x) {
  using V = typename A::V;
  x = a.min(a.max(x, a.c(A::wide ? -746.0 : -104.0)),
            a.c(A::wide ? 710.0 : 89.0));
  V n = a.roundEven(a.mul(x, a.c(1.44269504088896340736)));
  V r = a.sub(x, a.mul(n, a.c(A::wide ? 6.93145751953125e-1 : 0.693359375)));
  r = a.sub(
      r, a.mul(n, a.c(A::wide ? 1.42860682030941723212e-6 : -2.12194440e-4)));
  V square = a.mul(r, r), y;
  if constexpr (A::wide) {
    V p = a.mul(
        r, polynomial(a, square,
                      {1.26177193074810590878e-4, 3.02994407707441961300e-2,
                       9.99999999999999999910e-1}));
    V q = polynomial(a, square,
                     {3.00198505138664455042e-6, 2.52448340349684104192e-3,
                      2.27265548208155028766e-1, 2.0});
    y = a.add(a.c(1.0), a.mul(a.c(2.0), a.div(p, a.sub(q, p))));
  } else {
    V p = polynomial(a, r,
                     {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                      4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
    y = a.add(a.add(a.mul(p, square), r), a.c(1.0));
  }
  V half = a.roundEven(a.mul(n, a.c(0.5)));
  return a.mul(a.mul(y, a.pow2(half)), a.pow2(a.sub(n, half)));
}

/// Near zero a polynomial (the formula would cancel), else 1 - 2 / (e^(2|x|) +
/// 1).
template <class A> typename A::V tanh(A &a, typename A::V x) {
  using V = typename A::V;
  V z = a.abs(x), square = a.mul(x, x), near;
  if constexpr (A::wide) {
    V p = polynomial(a, square,
                     {-9.64399179425052238628e-1, -9.92877231001918586564e1,
                      -1.61468768441708447952e3});
    V q = polynomial(a, square,
                     {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3,
                      4.84406305325125486048e3});
    near = a.add(x, a.mul(a.mul(x, square), a.div(p, q)));
  } else {
    V p = polynomial(a, square,
                     {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                      1.33314422036e-1, -3.33332819422e-1});
    near = a.add(x, a.mul(a.mul(p, square), x));
  }
  V far =
      a.sub(a.c(1.0), a.div(a.c(2.0), a.add(exp(a, a.add(z, z)), a.c(1.0))));
  return a.selectLess(z, a.c(0.625), near, a.copysign(far, x));
}

template <class A> typename A::V rsqrt(A &a, typename A::V x) {
  return a.div(a.c(1.0), a.sqrt(x));
}

} // namespace coll::elementmath
#endif // COLL_LIB_SUPPORT_ELEMENTMATH_H
