#include "reports/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace plait {

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
  file_ = std::fopen((in_the_way ? path_ : partial_).c_str(), "wb");
  if (file_ == nullptr) {
    const std::string why = std::strerror(errno);
    throw EnvironmentError(fmt::format("cannot write {}: {}", path_, why));
  }
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  if (!partial_.empty()) std::remove(partial_.c_str());
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
  if (!closed || std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    std::remove(partial_.c_str());
    errno = error;
    fail("write");
  }
}

}  // namespace plait
