#pragma once
// Lines of styled text for a terminal: colour only where wanted, block characters only where they
// can be shown, nothing wider than the window.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

enum class Ink : std::uint8_t { kPlain, kBold, kDim, kGood, kBad, kBar };

struct Span {
  std::string text;  // UTF-8; control characters are not passed on
  Ink ink = Ink::kPlain;
};
using Line = std::vector<Span>;
/// The second lines behind the first.
void append(std::vector<Line>& to, std::vector<Line> lines);

struct TerminalStyle {
  int width = 100;  // columns
  bool color = false;
  bool unicode = true;
};

enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };

/// What the process sees of its terminal; empty where it is not set.
struct TerminalFacts {
  bool is_tty = false;
  int window_columns = 0;  // as the terminal driver says; 0 unknown
  std::optional<std::string> columns, no_color, term, locale;
};

/// NO_COLOR (any value but the empty one, no-color.org) and TERM=dumb switch colour off, an
/// explicit choice wins over both. Width: COLUMNS, else the window, else 100; between 40 and 100.
TerminalStyle terminal_style(ColorChoice choice, const TerminalFacts& facts);

/// Columns that `text` takes: one per code point.
int display_width(std::string_view text);

/// `text` in `width` columns, on the left or on the right.
std::string pad_right(std::string text, int width);
std::string pad_left(std::string text, int width);

/// A horizontal bar of at most `cells` columns, to an eighth of a column.
std::string bar(double fraction, int cells);

/// `text` broken at spaces into lines of at most `width` columns.
std::vector<std::string> wrap(const std::string& text, int width);

/// Breaks lines that are too wide at spaces, replaces what ASCII cannot show, colours. Each line
/// ends with "\n".
std::string render(const std::vector<Line>& lines, const TerminalStyle& style);

}  // namespace plait
