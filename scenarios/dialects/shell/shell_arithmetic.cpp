#include "scenarios/dialects/shell/shell_arithmetic.h"

#include <array>
#include <cctype>
#include <charconv>

namespace plait {
namespace {

using Value = std::optional<std::int64_t>;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The longer of two that begin alike stands first.
struct Operator {
  std::string_view text;
  int binds;  // the more, the tighter
};
constexpr std::array<Operator, 13> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"==", 3},
                                                  {"!=", 3},
                                                  {"<=", 4},
                                                  {">=", 4},
                                                  {"<", 4},
                                                  {">", 4},
                                                  {"+", 5},
                                                  {"-", 5},
                                                  {"*", 6},
                                                  {"/", 6},
                                                  {"%", 6}}};

Value difference(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_sub_overflow(a, b, &out) ? Value() : out;
}

Value quotient(std::string_view by, std::int64_t a, std::int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return by == "/" ? difference(0, a) : 0;  // the least integer has no opposite
  return by == "/" ? a / b : a % b;
}

Value combined(std::string_view by, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (by == "+") return __builtin_add_overflow(a, b, &out) ? Value() : out;
  if (by == "-") return difference(a, b);
  if (by == "*") return __builtin_mul_overflow(a, b, &out) ? Value() : out;
  if (by == "/" || by == "%") return quotient(by, a, b);
  if (by == "==") return a == b ? 1 : 0;
  if (by == "!=") return a != b ? 1 : 0;
  if (by == "<") return a < b ? 1 : 0;
  if (by == "<=") return a <= b ? 1 : 0;
  if (by == ">") return a > b ? 1 : 0;
  if (by == ">=") return a >= b ? 1 : 0;
  if (by == "&&") return a != 0 && b != 0 ? 1 : 0;
  return a != 0 || b != 0 ? 1 : 0;
}

class Expression {
 public:
  Expression(std::string_view text, const ShellVariable& variable)
      : text_(text), variable_(variable) {}

  Value all() {
    const Value value = chosen();
    skip_spaces();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 64;  // brackets and signs

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool takes(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// The operator that stands next, where it binds more than `than`.
  const Operator* next(int than) {
    skip_spaces();
    for (const Operator& o : kOperators) {
      if (text_.substr(at_).starts_with(o.text)) return o.binds > than ? &o : nullptr;
    }
    return nullptr;
  }

  /// A, or A ? B : C.
  Value chosen() {
    const Value test = joined(0);
    if (!test || !takes('?')) return test;
    const Value if_true = one_of_two();
    if (!takes(':')) return std::nullopt;
    const Value if_false = one_of_two();
    return *test != 0 ? if_true : if_false;
  }
  Value one_of_two() {
    if (++depth_ > kDeepest) return std::nullopt;
    const Value out = chosen();
    --depth_;
    return out;
  }

  Value joined(int than) {
    Value left = one();
    for (const Operator* by = next(than); left && by != nullptr; by = next(than)) {
      at_ += by->text.size();
      const Value right = joined(by->binds);
      left = right ? combined(by->text, *left, *right) : std::nullopt;
    }
    return left;
  }

  Value one() {
    if (++depth_ > kDeepest) return std::nullopt;
    const Value out = sign_or_bracket();
    --depth_;
    return out;
  }
  Value sign_or_bracket() {
    if (takes('(')) {
      const Value inner = chosen();
      return takes(')') ? inner : std::nullopt;
    }
    if (takes('-')) {
      const Value of = one();
      return of ? difference(0, *of) : std::nullopt;
    }
    if (takes('!')) {
      const Value of = one();
      return of ? Value(*of == 0 ? 1 : 0) : std::nullopt;
    }
    return number_or_name();
  }
  /// 8, NAME, $NAME or ${NAME}.
  Value number_or_name() {
    const bool names = takes('$'), bracket = names && takes('{');
    skip_spaces();
    const std::size_t begin = at_;
    const auto in_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    while (at_ < text_.size() && in_name(static_cast<unsigned char>(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty() || (bracket && !takes('}'))) return std::nullopt;
    const bool digits = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (digits && !names) return number_in(word);
    const std::optional<std::string> held = variable_(word);
    return held ? number_in(*held) : std::nullopt;
  }

  std::string_view text_;
  const ShellVariable& variable_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellVariable& variable) {
  return Expression(text, variable).all();
}

}  // namespace plait
