#include "costmodel/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
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

namespace {

/// What plait bench writes: JSON lines, each with its kind.
void refuse_measurements(const std::string& text, const std::string& file) {
  if (text.substr(0, text.find('\n')).find("\"kind\"") == std::string::npos) return;
  throw InputError(
      {.code = "K007",
       .problem = "the file holds measurements, which are not yet fitted",
       .where = {file, 0, 0, ""},
       .expected = "a calibration",
       .cure = fmt::format("plait calibrate {} -o fit.json, and name fit.json", file)});
}

}  // namespace

Calibration parse_calibration(const std::string& text, const std::string& file) {
  refuse_measurements(text, file);
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
