#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/human.h"
#include "reports/svg.h"
#include "reports/validate.h"

namespace plait {
namespace {

constexpr double kSide = 520, kSquareLeft = 70, kSquareTop = 40;

// Okabe and Ito's colours, told apart by the colour-blind; with the shape that is 32 marks.
constexpr std::array<std::string_view, 8> kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#E69F00", "#56B4E9", "#000000", "#8C6D31"};

/// Decades from below the least to above the greatest time.
struct LogScale {
  double low = 0, high = 1;  // log10
  double place(double seconds) const { return (std::log10(seconds) - low) / (high - low); }
  double x(double seconds) const { return kSquareLeft + kSide * place(seconds); }
  double y(double seconds) const { return kSquareTop + kSide * (1 - place(seconds)); }
};

LogScale scale_of(const Validation& v) {
  double low = 1e300, high = 0;
  for (const ValidationRecord& r : v.records) {
    if (!r.error()) continue;
    low = std::min({low, *r.measured_s, r.predicted_s});
    high = std::max({high, *r.measured_s, r.predicted_s});
  }
  if (high <= 0) return {};
  return {std::floor(std::log10(low) * 2) / 2, std::ceil(std::log10(high) * 2 + 1e-9) / 2};
}

std::string_view color_of(std::size_t file) { return kColors[file % kColors.size()]; }

/// Path data of a mark: with its colour it tells the file.
std::string mark(double x, double y, std::size_t file) {
  switch ((file / 3) % 4) {
    case 0: return fmt::format("M{:.1f} {:.1f}h6v6h-6z", x - 3, y - 3);
    case 1: return fmt::format("M{:.1f} {:.1f}h6m-3-3v6", x - 3, y);
    case 2: return fmt::format("M{:.1f} {:.1f}l6 6m-6 0l6-6", x - 3, y - 3);
    default: return fmt::format("M{:.1f} {:.1f}l3 3-3 3-3-3z", x, y - 3);
  }
}

/// Powers of ten; where few lie on the scale 1, 2 and 5 times them; else evenly spaced values.
std::vector<double> ticks_of(const LogScale& s) {
  constexpr std::size_t kFew = 3;
  const double low = std::pow(10.0, s.low), high = std::pow(10.0, s.high);
  for (const std::vector<double>& factors : {std::vector{1.0}, {1.0, 2.0, 5.0}}) {
    std::vector<double> out;
    for (int decade = static_cast<int>(std::floor(s.low)); decade <= s.high; ++decade) {
      for (const double f : factors) {
        const double t = f * std::pow(10.0, decade);
        if (t >= low * 0.999 && t <= high * 1.001) out.push_back(t);
      }
    }
    if (out.size() >= kFew) return out;
  }
  std::vector<double> out;
  const double step = round_step(high - low, 6);
  const auto first = static_cast<int>(std::ceil(low / step));
  for (int k = first; k * step <= high * 1.001; ++k) out.push_back(k * step);
  return out;
}

void draw_axes(Svg& svg, const LogScale& s) {
  svg.box(kSquareLeft, kSquareTop, kSide, kSide, "none", {"#888888", 1});
  for (const double t : ticks_of(s)) {
    svg.line(s.x(t), kSquareTop, s.x(t), kSquareTop + kSide, {"#e4e4e4", 1});
    svg.line(kSquareLeft, s.y(t), kSquareLeft + kSide, s.y(t), {"#e4e4e4", 1});
    svg.text(s.x(t), kSquareTop + kSide + 16, human_time(t), Svg::Anchor::kMiddle, 11);
    svg.text(kSquareLeft - 52, s.y(t) + 4, human_time(t), Svg::Anchor::kStart, 11);
  }
  svg.text(kSquareLeft + kSide / 2, kSquareTop + kSide + 36, "measured step time",
           Svg::Anchor::kMiddle);
  svg.text(kSquareLeft, kSquareTop - 22,
           "predicted step time over measured; lines: equal, and 10 % off", Svg::Anchor::kStart, 13,
           true);
}

/// predicted = factor * measured, clipped to the square.
void draw_ray(Svg& svg, const LogScale& s, double factor, const Pen& pen) {
  const double shift = std::log10(factor);
  const double from = std::max(s.low, s.low - shift), to = std::min(s.high, s.high - shift);
  const double a = std::pow(10.0, from), b = std::pow(10.0, to);
  svg.line(s.x(a), s.y(a * factor), s.x(b), s.y(b * factor), pen);
}

}  // namespace

std::string validation_svg(const Validation& v) {
  Svg svg;
  const LogScale s = scale_of(v);
  draw_axes(svg, s);
  draw_ray(svg, s, 1, {"#444444", 1.2});
  draw_ray(svg, s, 1.1, {"#bbbbbb", 1});
  draw_ray(svg, s, 1 / 1.1, {"#bbbbbb", 1});
  const std::vector<std::string> files = v.files();
  double legend = kSquareTop + 14;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const ValidationSummary sum = summarize(v.of_file(files[f]));
    if (sum.n == 0) continue;
    std::string path = mark(kSquareLeft + kSide + 20, legend - 4, f);
    for (const ValidationRecord* r : v.of_file(files[f])) {
      if (r->error()) path += mark(s.x(*r->measured_s), s.y(r->predicted_s), f);
    }
    svg.marks(path, {color_of(f), 1.2});
    svg.text(kSquareLeft + kSide + 32, legend,
             fmt::format("{}: {} records, mean {}", files[f], human_count(sum.n),
                         human_percent(*sum.mape)),
             Svg::Anchor::kStart, 11);
    legend += 18;
  }
  return svg.page("Predicted and measured step times");
}

}  // namespace plait
