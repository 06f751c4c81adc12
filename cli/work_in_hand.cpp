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
};
/// The one that is not being written may be read at any time; null: nothing is in hand.
constinit std::array<WorkText, 2> texts{};
constinit std::atomic<const WorkText*> in_hand{nullptr};
static_assert(std::atomic<const WorkText*>::is_always_lock_free);

void put(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void take_in_hand(const std::string& work) {
  WorkText& next = texts[in_hand.load() == &texts[0] ? 1 : 0];
  next.size = std::min(work.size(), kLongest);
  std::copy_n(work.begin(), next.size, next.bytes.begin());
  in_hand.store(work.empty() ? nullptr : &next);
}

void say_interrupted() noexcept {
  const WorkText* text = in_hand.load();
  if (text == nullptr) return;
  if (::isatty(STDERR_FILENO) == 1) put("\n");  // below the line of the progress
  put("interrupted: "), put({text->bytes.data(), text->size}), put(": there is no result\n");
}

}  // namespace plait
