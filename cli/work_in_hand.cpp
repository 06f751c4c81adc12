#include "cli/work_in_hand.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

namespace plait {
namespace {

constexpr std::size_t kLongest = 200;  // bytes of a text
struct WorkText {
  std::array<char, kLongest> bytes = {};
  std::size_t size = 0;
  void hold(const std::string& text) {
    size = std::min(text.size(), kLongest);
    std::copy_n(text.begin(), size, bytes.begin());
  }
  std::string_view said() const { return {bytes.data(), size}; }
};
/// The one that is not being written may be read at any time; null: nothing is in hand.
constinit std::array<WorkText, 2> texts{};
constinit WorkText rows_file{};  // empty: none
constinit std::atomic<bool> has_rows_file{false};
constinit std::atomic<const WorkText*> in_hand{nullptr};
static_assert(std::atomic<const WorkText*>::is_always_lock_free);

void put(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void take_in_hand(const std::string& work) {
  WorkText& next = texts[in_hand.load() == &texts[0] ? 1 : 0];
  next.hold(work);
  in_hand.store(work.empty() ? nullptr : &next);
}

void keeps_rows_in(const std::string& file) {
  rows_file.hold(file);
  has_rows_file.store(true);
}

void say_interrupted() noexcept {
  const WorkText* text = in_hand.load();
  if (text == nullptr) return;
  if (::isatty(STDERR_FILENO) == 1) put("\n");  // below the line of the progress
  put("interrupted: "), put(text->said());
  if (!has_rows_file.load()) return put(": there is no result\n");
  put(": its rows are in "), put(rows_file.said()), put("; the same command goes on\n");
}

}  // namespace plait
