#include "costmodel/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "costmodel/calibration_fields.h"

namespace plait {

Piecewise::Piecewise(std::vector<Point> points) : points_(std::move(points)) {
  const auto disordered =
      std::ranges::adjacent_find(points_, [](Point a, Point b) { return a.bytes >= b.bytes; });
  PLAIT_CHECK(disordered == points_.end(), "points that do not ascend");
}

Seconds Piecewise::at(Bytes bytes) const {
  if (points_.empty()) return {};
  const auto x = static_cast<double>(bytes.value);
  const auto above = std::ranges::upper_bound(points_, x, {}, &Point::bytes);
  if (above == points_.begin() || points_.size() == 1) return Seconds(points_.front().seconds);
  const Point& b = above == points_.end() ? points_.back() : *above;
  const Point& a = *(&b - 1);
  const double slope = (b.seconds - a.seconds) / (b.bytes - a.bytes);
  // Beyond the last point a table that falls at its end by noise must not go below zero.
  if (x > b.bytes) return Seconds(b.seconds + std::max(slope, 0.0) * (x - b.bytes));
  return Seconds(a.seconds + slope * (x - a.bytes));
}

Calibration parse_calibration(const std::string& text, const std::string& file) {
  const JsonDocument document = parse_json(text, file);
  Calibration out;
  calibration_table().read(document.root(), out);
  return out;
}

Calibration load_calibration(const std::string& path) {
  return parse_calibration(read_text_file(path), path);
}

std::string to_json(const Calibration& calibration) {
  return json_pretty(calibration_table().write(calibration)) + "\n";
}

}  // namespace plait
