#include "core/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace plait {
namespace {

/// Names of unfinished files, which a handler of signals may read at any time; null: free. Of more
/// files at once the rest stays behind.
constinit std::array<std::atomic<const char*>, 32> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free);

void enter(const char* path) {
  for (std::atomic<const char*>& place : unfinished) {
    const char* none = nullptr;
    if (place.compare_exchange_strong(none, path)) return;
  }
}

void leave(const char* path) {
  for (std::atomic<const char*>& place : unfinished) {
    const char* found = path;
    if (place.compare_exchange_strong(found, nullptr)) return;
  }
}

}  // namespace

void remove_unfinished_files() noexcept {
  for (const std::atomic<const char*>& place : unfinished) {
    if (const char* path = place.load()) ::unlink(path);
  }
}

void new_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw EnvironmentError(fmt::format("cannot make {}: {}", path, error.message()));
}

NewFile::NewFile(const std::string& path) : path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  const bool in_the_way =
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  if (std::filesystem::is_regular_file(status)) {
    path_ = std::filesystem::canonical(path, error).string();  // a link stays a link
    if (error) path_ = path;
  }
  if (!in_the_way) partial_ = fmt::format("{}.{}.part", path_, ::getpid());
  // Entered before it is there: a signal between the two finds nothing to remove and leaves
  // nothing.
  if (!partial_.empty()) enter(partial_.c_str());
  file_ = std::fopen((in_the_way ? path_ : partial_).c_str(), "wb");
  if (file_ == nullptr) {
    const std::string why = std::strerror(errno);
    leave(partial_.c_str());
    throw EnvironmentError(fmt::format("cannot write {}: {}", path_, why));
  }
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!partial_.empty()) std::remove(partial_.c_str());
  leave(partial_.c_str());
}

void NewFile::fail(const std::string& what) {
  throw EnvironmentError(fmt::format("cannot {} {}: {}", what, path_, std::strerror(errno)));
}

void NewFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail("write");
}

void NewFile::finish() {
  if (std::fflush(file_) != 0) fail("write");
  std::FILE* const file = file_;
  file_ = nullptr;
  const bool closed = std::fclose(file) == 0;
  if (partial_.empty()) {
    if (!closed) fail("write");
    return;
  }
  const bool whole = closed && std::rename(partial_.c_str(), path_.c_str()) == 0;
  const int error = errno;
  if (!whole) std::remove(partial_.c_str());
  leave(partial_.c_str());
  errno = error;
  if (!whole) fail("write");
}

void write_file(const std::string& path, std::string_view content) {
  NewFile file(path);
  file.write(content);
  file.finish();
}

}  // namespace plait
