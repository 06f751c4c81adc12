#pragma once
// A line chart as SVG: y over x, a line for each curve, each point marked by a class. Lines are
// told apart by their dashes and a label at their end, classes by the shape and colour of the
// marks, so that neither needs colour alone.

#include <cstddef>
#include <string>
#include <vector>

namespace plait {

struct CurvePoint {
  double x = 0;
  double y = 0;
  std::string mark;     // class of the point, named in the legend
  bool hollow = false;  // `hollow_title` says what that means
};

struct Curve {
  std::string name;
  std::vector<CurvePoint> points;  // by ascending x
  std::vector<double> gaps = {};   // x of what has no y, where the line breaks
};

struct CurveChart {
  std::string title, x_title, y_title, mark_title, hollow_title;
  /// Where x has a tick, and its text. Without numbers x counts categories: 0, 1, ...
  std::vector<double> ticks;
  std::vector<std::string> tick_texts;
  bool log_x = false;
  bool categories = false;  // x counts them: each has its text
  std::vector<Curve> curves;
};

/// y begins at 0, or is logarithmic when it spans a factor of more than 8.
std::string curve_svg(const CurveChart& chart);

/// True when positive values span a factor of more than 8, so that an axis should be logarithmic.
bool spans_widely(const std::vector<double>& values);

}  // namespace plait
