#include "reports/curve_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "reports/svg.h"
#include "reports/terminal.h"

namespace plait {
namespace {

// Pixels.
constexpr double kWidth = 760, kHeight = 444, kPlotLeft = 72, kPlotTop = 46, kPlotBottom = 362;
constexpr double kCharacter = 6.4;  // of 12 px sans-serif, on average
constexpr double kTitle = 8;        // a character of the title
constexpr double kLeastTilt = 35;   // degrees, of texts that have no room side by side
constexpr double kLine = 16;        // of text
constexpr double kTitleLine = 18;
constexpr double kMark = 5;  // radius

/// Told apart by colour-blind eyes (Okabe and Ito 2008).
constexpr std::array<std::string_view, 7> kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                      "#56B4E9", "#D55E00", "#999999"};
/// Of the curves that colours alone do not tell apart.
constexpr std::array<std::string_view, 4> kDashes = {"", "7 4", "2 3", "12 5"};
constexpr std::string_view kOfAllCurves = "#555555";

std::string_view colour_of(std::size_t curve) { return kColours[curve % kColours.size()]; }

double text_width(const std::string& text) { return kCharacter * static_cast<double>(text.size()); }

std::string text_at(double x, double y, const std::string& text, const char* anchor = "start",
                    const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, xml_text(text));
}

std::string line_at(double x1, double y1, double x2, double y2, std::string_view stroke) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, stroke);
}

/// One coordinate: from values to pixels.
struct Scale {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;
  double at(double v) const {
    const double share = log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
    return from + share * (to - from);
  }
};

class Drawing {
 public:
  explicit Drawing(const CurveChart& chart) : chart_(chart) {
    for (const Curve& c : chart.curves) {
      for (const CurvePoint& p : c.points) {
        ys_.push_back(p.y);
        hollow_ = hollow_ || p.hollow;
        if (std::ranges::find(marks_, p.mark) == marks_.end()) marks_.push_back(p.mark);
      }
    }
    right_ = kWidth - 24 - (chart.curves.size() > 1 ? std::min(name_width(), kWidth / 3) : 0);
    set_scales();
    set_room();
  }

  std::string run() {
    out_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
        "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
        kWidth + beside_, kHeight + above_ + below_, xml_text(chart_.title));
    for (std::size_t k = 0; k < title_.size(); ++k) {
      out_ += text_at(kPlotLeft, 22 + kTitleLine * static_cast<double>(k), title_[k], "start",
                      " font-size=\"14\" font-weight=\"600\"");
    }
    out_ += fmt::format("<g transform=\"translate(0 {})\">\n", above_);
    draw_axes();
    for (std::size_t c = 0; c < chart_.curves.size(); ++c) draw_line(c);
    for (std::size_t c = 0; c < chart_.curves.size(); ++c) {
      for (const CurvePoint& p : chart_.curves[c].points) {
        draw_mark(p.mark, colour_of(c), x_.at(p.x), y_.at(p.y), p.hollow);
      }
    }
    if (chart_.curves.size() > 1) draw_names();
    draw_legend();
    return out_ + "</g>\n</svg>\n";
  }

 private:
  double name_width() const {
    double widest = 0;
    for (const Curve& c : chart_.curves) widest = std::max(widest, text_width(c.name));
    return widest + 6;
  }
  /// What does not fit between the usual edges: a long title, texts of many categories, names.
  void set_room() {
    title_ = wrap(chart_.title, static_cast<int>((kWidth - kPlotLeft) / kTitle));
    above_ = kTitleLine * static_cast<double>(title_.size() - 1);
    if (chart_.curves.size() > 1) beside_ = std::max(0.0, name_width() - kWidth / 3);
    double widest = 0, last = -1e9;
    for (std::size_t k = 0; k < chart_.ticks.size(); ++k) {
      const double width = text_width(chart_.tick_texts[k]), x = x_.at(chart_.ticks[k]);
      const bool outside = x < width / 2 || x + width / 2 > kWidth;
      tilted_ = tilted_ || (chart_.categories && (outside || x - width / 2 < last + 6));
      last = x + width / 2, widest = std::max(widest, width);
    }
    if (!tilted_) return;
    constexpr double kDegree = std::numbers::pi / 180;
    const double room = x_.at(chart_.ticks.front()) - 4;  // left of the first, which ends there
    tilt_ = std::max(kLeastTilt, std::acos(std::min(1.0, room / widest)) / kDegree);
    below_ = widest * std::sin(tilt_ * kDegree);
  }
  void set_scales() {
    const auto [x_low, x_high] = std::ranges::minmax(chart_.ticks);
    x_ = {x_low, x_high, kPlotLeft + 24, right_ - 18, chart_.log_x};
    if (x_low == x_high) x_ = {x_low - 1, x_high + 1, kPlotLeft, right_, false};
    const auto [y_low, y_high] =
        ys_.empty() ? std::ranges::minmax_result<double>{0, 1} : std::ranges::minmax(ys_);
    y_ = {0, y_high > 0 ? 1.08 * y_high : 1, kPlotBottom, kPlotTop, spans_widely(ys_)};
    if (y_.log) y_.low = 0.8 * y_low, y_.high = 1.25 * y_high;
  }
  std::vector<double> y_ticks() const {
    std::vector<double> out;
    if (!y_.log) {
      const double step = round_step(y_.high, 5);
      for (int k = 0; k * step <= y_.high; ++k) out.push_back(k * step);
      return out;
    }
    for (double power = std::pow(10.0, std::floor(std::log10(y_.low))); power <= y_.high;
         power *= 10) {
      for (const double k : {1.0, 2.0, 5.0}) {
        if (k * power >= y_.low && k * power <= y_.high) out.push_back(k * power);
      }
    }
    return out;
  }
  void draw_axes() {
    for (const double v : y_ticks()) {
      out_ += line_at(kPlotLeft, y_.at(v), right_, y_.at(v), v == 0 ? "#444444" : "#e4e4e4");
      out_ += text_at(kPlotLeft - 8, y_.at(v) + 4, fmt::format("{:.6g}", v), "end");
    }
    double last = -1e9;  // right end of the text before
    for (std::size_t k = 0; k < chart_.ticks.size(); ++k) {
      const double x = x_.at(chart_.ticks[k]), half = text_width(chart_.tick_texts[k]) / 2;
      out_ += line_at(x, kPlotBottom, x, kPlotBottom + 5, "#444444");
      if (tilted_) {
        const std::string turn =
            fmt::format(" transform=\"rotate(-{:.0f} {:.1f} {:.1f})\"", tilt_, x, kPlotBottom + 14);
        out_ += text_at(x, kPlotBottom + 14, chart_.tick_texts[k], "end", turn.c_str());
        continue;
      }
      if (x - half < last + 6) continue;
      last = x + half;
      out_ += text_at(x, kPlotBottom + 19, chart_.tick_texts[k], "middle");
    }
    if (y_.log) out_ += line_at(kPlotLeft, kPlotBottom, right_, kPlotBottom, "#444444");
    out_ += text_at((kPlotLeft + right_) / 2, kPlotBottom + 40 + below_, chart_.x_title, "middle");
    out_ += text_at(
        0, 0, chart_.y_title, "middle",
        fmt::format(" transform=\"translate(18 {:.1f}) rotate(-90)\"", (kPlotTop + kPlotBottom) / 2)
            .c_str());
  }
  void draw_line(std::size_t c) {
    const Curve& curve = chart_.curves[c];
    std::string points;
    const auto draw = [&] {
      out_ += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" "
          "stroke-dasharray=\"{}\"/>\n",
          points, colour_of(c), kDashes[c / kColours.size() % kDashes.size()]);
      points.clear();
    };
    for (std::size_t k = 0; k < curve.points.size(); ++k) {
      const CurvePoint& p = curve.points[k];
      const auto between = [&](double x) { return k > 0 && x > curve.points[k - 1].x && x < p.x; };
      if (std::ranges::any_of(curve.gaps, between)) draw();
      points += fmt::format("{:.1f},{:.1f} ", x_.at(p.x), y_.at(p.y));
    }
    draw();
  }
  std::size_t class_of(const std::string& mark) const {
    return static_cast<std::size_t>(std::ranges::find(marks_, mark) - marks_.begin());
  }
  /// Circle, square, diamond, triangle, ... : polygons of 4 to 6 corners after the circle.
  void draw_mark(const std::string& mark, std::string_view colour, double x, double y,
                 bool hollow) {
    const std::size_t k = class_of(mark);
    const std::string paint = fmt::format("fill=\"{}\" stroke=\"{}\" stroke-width=\"1.5\"",
                                          hollow ? "#ffffff" : colour, colour);
    if (k % 6 == 0) {
      out_ +=
          fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" {}/>\n", x, y, kMark, paint);
      return;
    }
    struct Shape {
      int corners;
      double turn;  // of a full circle
    };
    constexpr std::array<Shape, 5> kShapes = {{{4, 0.125}, {3, 0.25}, {4, 0}, {3, -0.25}, {6, 0}}};
    const Shape shape = kShapes[k % 6 - 1];
    std::string corners;
    for (int i = 0; i < shape.corners; ++i) {
      const double angle =
          2 * std::numbers::pi * (shape.turn + static_cast<double>(i) / shape.corners);
      corners += fmt::format("{:.1f},{:.1f} ", x + 1.25 * kMark * std::cos(angle),
                             y - 1.25 * kMark * std::sin(angle));
    }
    out_ += fmt::format("<polygon points=\"{}\" {}/>\n", corners, paint);
  }
  /// At the right end of each line, pushed apart where they would overlap.
  void draw_names() {
    struct Name {
      double y, x, line_y;
      std::string text;
      std::string_view colour;
    };
    std::vector<Name> names;
    for (std::size_t c = 0; c < chart_.curves.size(); ++c) {
      const Curve& curve = chart_.curves[c];
      if (curve.points.empty()) continue;
      const double y = y_.at(curve.points.back().y);
      names.push_back({y, x_.at(curve.points.back().x), y, curve.name, colour_of(c)});
    }
    std::ranges::stable_sort(names, {}, &Name::y);
    for (std::size_t k = 1; k < names.size(); ++k) {
      names[k].y = std::max(names[k].y, names[k - 1].y + kLine);
    }
    double limit = kPlotBottom + kLine / 2;
    for (std::size_t k = names.size(); k-- > 0; limit -= kLine)
      names[k].y = std::min(names[k].y, limit);
    for (const Name& n : names) {
      out_ += line_at(n.x + 7, n.line_y, right_ + 2, n.y, n.colour);
      out_ += text_at(right_ + 5, n.y + 4, n.text);
    }
  }
  void draw_legend() {
    double x = kPlotLeft;
    const double y = kHeight - 14 + below_;
    out_ += text_at(x, y, chart_.mark_title);
    x += text_width(chart_.mark_title) + 16;
    const auto entry = [&](const std::string& mark, const std::string& text, bool hollow) {
      draw_mark(mark, kOfAllCurves, x, y - 4, hollow);
      out_ += text_at(x + 11, y, text);
      x += text_width(text) + 36;
    };
    for (const std::string& mark : marks_) entry(mark, mark, false);
    if (hollow_) entry(marks_.front(), chart_.hollow_title, true);
  }

  const CurveChart& chart_;
  std::vector<double> ys_;
  std::vector<std::string> marks_;
  bool hollow_ = false;
  double right_ = kWidth;
  std::vector<std::string> title_;             // by lines
  double above_ = 0, below_ = 0, beside_ = 0;  // pixels more than usual
  bool tilted_ = false;                        // texts of the categories
  double tilt_ = 0;                            // degrees
  Scale x_, y_;
  std::string out_;
};

}  // namespace

bool spans_widely(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [low, high] = std::ranges::minmax(values);
  return low > 0 && high > 8 * low;
}

std::string curve_svg(const CurveChart& chart) { return Drawing(chart).run(); }

}  // namespace plait
