#include "reports/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plait {
namespace {

constexpr double kEdge = 20;
constexpr double kEm = 0.62;  // widest mean width of a character, in font sizes

std::string class_of(const Pen& pen) {
  return pen.name.empty() ? "" : fmt::format(R"( class="{}")", pen.name);
}

}  // namespace

std::string xml_text(std::string_view words) {
  std::string out;
  for (const char c : words) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

double round_step(double span, int steps) {
  const double power = std::pow(10.0, std::floor(std::log10(span / steps)));
  for (const double k : {1.0, 2.0, 5.0}) {
    if (k * power * steps >= span * 0.999) return k * power;
  }
  return 10 * power;
}

void Svg::reach(double x, double y) {
  width_ = std::max(width_, x);
  height_ = std::max(height_, y);
}

void Svg::line(double x1, double y1, double x2, double y2, const Pen& pen) {
  reach(std::max(x1, x2), std::max(y1, y2));
  body_ += fmt::format(
      R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{:.1f}"{}/>)"
      "\n",
      x1, y1, x2, y2, pen.color, pen.width, class_of(pen));
}

void Svg::arc(double x1, double x2, double y, double height, const Pen& pen) {
  reach(std::max(x1, x2), y - std::min(0.0, height));
  // The top of a cubic curve is at three quarters of its control points' height.
  body_ += fmt::format(R"(<path d="M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}" )"
                       R"(fill="none" stroke="{}" stroke-width="{:.1f}"{}/>)"
                       "\n",
                       x1, y, x1, y - height / 0.75, x2, y - height / 0.75, x2, y, pen.color,
                       pen.width, class_of(pen));
}

void Svg::box(double x, double y, double width, double height, std::string_view fill,
              const Pen& pen) {
  reach(x + width, y + height);
  body_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" )"
                       R"(fill="{}" stroke="{}" stroke-width="{:.1f}"/>)"
                       "\n",
                       x, y, width, height, fill, pen.color, pen.width);
}

void Svg::marks(std::string_view path, const Pen& pen) {
  body_ += fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="{}"/>)", path,
                       pen.color, pen.width) +
           "\n";
}

void Svg::dashed_box(double x, double y, double width, double height) {
  reach(x + width, y + height);
  body_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="6" )"
                       R"(fill="none" stroke="#888888" stroke-dasharray="5 4"/>)"
                       "\n",
                       x, y, width, height);
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor, double size, bool bold) {
  const double width = width_of(words, size);
  reach(anchor == Anchor::kStart ? x + width : x + width / 2, y);
  body_ +=
      fmt::format(R"(<text x="{:.1f}" y="{:.1f}" font-size="{}"{}{}>{}</text>)"
                  "\n",
                  x, y, size, bold ? R"( font-weight="bold")" : "",
                  anchor == Anchor::kMiddle ? R"( text-anchor="middle")" : "", xml_text(words));
}

std::string Svg::page(std::string_view title) const {
  const double width = width_ + kEdge, height = height_ + kEdge;
  return fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0:.0f}" height="{1:.0f}" )"
                     R"(viewBox="0 0 {0:.0f} {1:.0f}" font-family="system-ui, sans-serif" )"
                     R"(fill="#222222">)"
                     "\n<title>{2}</title>\n"
                     R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#ffffff"/>)"
                     "\n{3}</svg>\n",
                     width, height, xml_text(title), body_);
}

double Svg::width_of(std::string_view words, double size) {
  return static_cast<double>(words.size()) * size * kEm;
}

}  // namespace plait
