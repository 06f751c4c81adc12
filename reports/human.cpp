#include "reports/human.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace plait {
namespace {

/// Three significant digits without an exponent: 1230, 123, 12.3, 1.23.
std::string three_digits(double v) {
  const double magnitude = std::abs(v);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", v);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", v);
  return fmt::format("{:.2f}", v);
}

/// From ten times on, nobody reads a decimal, and columns have no room for it.
int decimals_of(double fraction, int decimals) { return std::abs(fraction) < 10 ? decimals : 0; }

}  // namespace

std::string human_count(std::int64_t n) {
  const std::string digits = fmt::format("{}", n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string human_plural(std::int64_t n, std::string_view noun) {
  const std::string_view ending = n == 1 ? "" : noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", human_count(n), noun, ending);
}

std::string human_number(double value) { return three_digits(value); }

std::string human_time(double seconds) {
  const double magnitude = std::abs(seconds);
  if (magnitude == 0) return "0 s";
  if (magnitude >= 0.9995) return three_digits(seconds) + " s";
  if (magnitude >= 0.9995e-3) return three_digits(seconds * 1e3) + " ms";
  if (magnitude >= 0.9995e-6) return three_digits(seconds * 1e6) + " us";
  return three_digits(seconds * 1e9) + " ns";
}

std::string human_duration(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 2 * kMinute) return human_time(seconds);
  if (seconds < 2 * kHour) return three_digits(seconds / kMinute) + " min";
  if (seconds < 2 * kDay) return three_digits(seconds / kHour) + " h";
  return three_digits(seconds / kDay) + " days";
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (std::abs(bytes) < 1024) return fmt::format("{} B", bytes);
  double v = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (std::abs(v) >= 1023.95 && unit + 1 < kUnits.size()) v /= 1024, ++unit;
  return fmt::format("{:.1f} {}", v, kUnits[unit]);
}

std::string human_rate(double value) {
  constexpr std::array<std::string_view, 8> kPrefixes = {"",   " k", " M", " G",
                                                         " T", " P", " E", " Z"};
  std::size_t prefix = 0;
  while (std::abs(value) >= 999.5 && prefix + 1 < kPrefixes.size()) value /= 1000, ++prefix;
  return three_digits(value) + std::string(kPrefixes[prefix]);
}

std::string human_money(double value) {
  const double magnitude = std::abs(value);
  constexpr double kMostCounted = 9e18;  // of an integer
  if (magnitude >= kMostCounted) return fmt::format("{:.4g}", value);
  if (magnitude >= 999.5) return human_count(std::llround(value));
  if (magnitude == 0) return "0";
  constexpr int kDigits = 4;  // significant
  const int decimals = kDigits - 1 - static_cast<int>(std::floor(std::log10(magnitude)));
  return fmt::format("{:.{}f}", value, decimals);
}

std::string human_parameters(std::int64_t n) {
  const auto count = static_cast<double>(n);
  return count < 999.5e6 ? human_rate(count) : fmt::format("{:.1f} B", count * 1e-9);
}

std::string human_percent(double fraction, int decimals) {
  return fmt::format("{:.{}f} %", fraction * 100, decimals_of(fraction, decimals));
}

std::string human_change(double fraction, int decimals) {
  const double unit = std::pow(10.0, -decimals);
  const double percent = std::abs(fraction * 100) < unit / 2 ? 0 : fraction * 100;
  const int digits = decimals_of(fraction, decimals);
  if (percent == 0) return fmt::format("{:.{}f} %", percent, digits);  // neither more nor less
  return fmt::format("{:+.{}f} %", percent, digits);
}

std::string human_words(std::string_view identifier) {
  std::string words(identifier);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace plait
