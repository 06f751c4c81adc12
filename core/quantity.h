#pragma once
// Quantities with units: a value that is not a ratio or a count carries its unit in its type.
// Bytes are exact integers; everything else is a double in SI base units. Rates are per second and,
// for links, per direction. Mixed arithmetic exists only where physics has it:
// Bytes / BytesPerSecond -> Seconds, Flops / FlopsPerSecond -> Seconds.

#include <compare>
#include <cstdint>

namespace plait {

template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(value + o.value); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(value - o.value); }
  constexpr Quantity operator*(double k) const { return Quantity(value * k); }
  constexpr Quantity operator/(double k) const { return Quantity(value / k); }
  constexpr double operator/(Quantity o) const { return value / o.value; }
  constexpr Quantity& operator+=(Quantity o) { return value += o.value, *this; }
  constexpr Quantity& operator*=(double k) { return value *= k, *this; }
};
template <class Tag>
constexpr Quantity<Tag> operator*(double k, Quantity<Tag> q) {
  return q * k;
}

using Seconds = Quantity<struct SecondsTag>;
using Flops = Quantity<struct FlopsTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using Watts = Quantity<struct WattsTag>;

struct Bytes {
  std::int64_t value = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t v) : value(v) {}
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes operator+(Bytes o) const { return Bytes(value + o.value); }
  constexpr Bytes operator-(Bytes o) const { return Bytes(value - o.value); }
  constexpr Bytes operator*(std::int64_t k) const { return Bytes(value * k); }
  constexpr Bytes& operator+=(Bytes o) { return value += o.value, *this; }
  constexpr Bytes& operator-=(Bytes o) { return value -= o.value, *this; }
};

constexpr Seconds operator/(Bytes b, BytesPerSecond r) {
  return Seconds(static_cast<double>(b.value) / r.value);
}
constexpr Seconds operator/(Flops f, FlopsPerSecond r) { return Seconds(f.value / r.value); }
constexpr FlopsPerSecond operator/(Flops f, Seconds t) { return FlopsPerSecond(f.value / t.value); }
constexpr BytesPerSecond operator/(Bytes b, Seconds t) {
  return BytesPerSecond(static_cast<double>(b.value) / t.value);
}

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
/// a rounded up to a multiple of b.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace plait
