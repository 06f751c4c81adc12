#pragma once
// Boxes, lines and texts in SVG. Coordinates in pixels, y downwards; the page grows with what is
// drawn on it.

#include <string>
#include <string_view>

namespace plait {

/// `words` as they stand between tags or in an attribute; control characters become spaces.
std::string xml_text(std::string_view words);

/// 1, 2 or 5 times a power of ten, so that about `steps` of them cover `span`.
double round_step(double span, int steps);

struct Pen {
  std::string_view color = "#444444";
  double width = 1;
  std::string_view name = {};  // class of the line, for pages that colour it anew
};

class Svg {
 public:
  void line(double x1, double y1, double x2, double y2, const Pen& pen);
  /// From (x1, y) to (x2, y), bulging up by `height` (down when negative).
  void arc(double x1, double x2, double y, double height, const Pen& pen);
  void box(double x, double y, double width, double height, std::string_view fill,
           const Pen& pen = {});
  /// Path data (SVG 1.1, section 8.3) of what lies on the page already: many small marks at once.
  void marks(std::string_view path, const Pen& pen);
  void dashed_box(double x, double y, double width, double height);
  enum class Anchor { kStart, kMiddle };
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::kStart,
            double size = 12, bool bold = false);
  /// The whole file.
  std::string page(std::string_view title) const;

  /// Upper bound of the width of `words` in a usual sans-serif font.
  static double width_of(std::string_view words, double size = 12);

 private:
  void reach(double x, double y);

  std::string body_;
  double width_ = 0, height_ = 0;
};

}  // namespace plait
