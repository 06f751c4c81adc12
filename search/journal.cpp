#include "search/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/error.h"
#include "core/sha256.h"

namespace plait {
namespace {

constexpr std::string_view kTitle = "plait search journal 1 ";
constexpr std::size_t kSumDigits = 8;

std::string sum_of(std::string_view text) { return sha256(text).substr(0, kSumDigits); }

/// "0 4711 4970000000000 81000000000 900000000 1f2e3d4c"
std::string line_of(const JournalEntry& e) {
  const Answer& a = e.answer;
  const std::string text =
      fmt::format("{} {} {} {} {} ", e.space, e.layout, a.step, a.memory, a.room);
  return text + sum_of(text) + "\n";
}

template <class T>
bool take(std::string_view& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

/// Nothing where the line is not as it was written.
std::optional<JournalEntry> entry_of(std::string_view line) {
  if (line.size() <= kSumDigits) return std::nullopt;
  std::string_view rest = line.substr(0, line.size() - kSumDigits);
  if (line.substr(rest.size()) != sum_of(rest)) return std::nullopt;
  JournalEntry e;
  Answer& a = e.answer;
  const bool whole = take(rest, e.space) && take(rest, e.layout) && take(rest, a.step) &&
                     take(rest, a.memory) && take(rest, a.room) && rest.empty();
  return whole ? std::optional(e) : std::nullopt;
}

}  // namespace

Journal::Journal(const std::string& path, const std::string& fingerprint) : path_(path) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) fail("open");
  try {
    if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) fail("lock");
      throw EnvironmentError(path + " is being written by another search");
    }
    read(fingerprint);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

Journal::~Journal() {
  ::fdatasync(file_);
  ::close(file_);
}

void Journal::fail(const char* what) const {
  throw EnvironmentError(fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno)));
}

void Journal::read(const std::string& fingerprint) {
  std::string text;
  char buffer[1 << 16];
  ssize_t got = 0;
  while ((got = ::read(file_, buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (got < 0) fail("read");
  const std::string title = std::string(kTitle) + fingerprint + "\n";
  if (title.starts_with(text)) {  // new, or ended before it had begun
    if (::ftruncate(file_, 0) != 0) fail("write");
    return write(title);
  }
  if (!text.starts_with(title)) {
    const bool journal = text.starts_with(kTitle);
    throw InputError(
        {.code = "G020",
         .problem = path_ + (journal ? " is the journal of another search" : " is no journal"),
         .expected = "a journal of the same scenario, fields left open and version of plait",
         .cure = journal ? "repeat that search as it was, or begin a journal in a new file"
                         : "name a new file"});
  }
  const std::size_t end = read_entries(text, title.size());
  if (end < text.size() && ::ftruncate(file_, static_cast<off_t>(end)) != 0) fail("write");
}

std::size_t Journal::read_entries(const std::string& text, std::size_t begin) {
  for (int number = 2; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos || end + 1 == text.size();
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::optional<JournalEntry> entry =
        end == std::string::npos ? std::nullopt : entry_of(line);
    if (!entry && last) return begin;  // cut off
    if (!entry) {
      throw InputError({.code = "G021",
                        .problem = fmt::format("the journal is damaged: \"{}\"", line),
                        .where = {path_, number, 1, ""},
                        .expected = "what a search wrote",
                        .cure = fmt::format("keep the {} lines before it", number - 1)});
    }
    entries_.push_back(*entry);
    begin = end + 1;
  }
  return begin;
}

void Journal::add(const JournalEntry& entry) {
  write(line_of(entry));
  const auto now = std::chrono::steady_clock::now();
  if (now < synced_ + std::chrono::seconds(1)) return;
  synced_ = now;
  if (::fdatasync(file_) != 0 && errno != EINVAL) fail("write");  // EINVAL: not a file on a disk
}

void Journal::write(const std::string& text) {
  const ssize_t written = ::write(file_, text.data(), text.size());
  if (written < 0) fail("write");
  if (written != static_cast<ssize_t>(text.size())) {
    errno = ENOSPC;
    fail("write");
  }
}

}  // namespace plait
