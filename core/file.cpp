#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace plait {
namespace {

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > 2) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void refuse(const std::string& path, int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  const bool directory = reason == EISDIR;
  throw InputError(
      {.code = missing     ? "J001"
               : directory ? "J002"
                           : "J003",
       .problem = missing     ? "there is no file " + path
                  : directory ? path + " is a directory"
                              : fmt::format("{} cannot be read: {}", path, std::strerror(reason)),
       .where = {path, 0, 0, ""},
       .expected = "a readable file",
       .cure = "check the path"});
}

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

std::string read_text_file(const std::string& path) {
  const Descriptor file(path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) refuse(path, errno);
  std::string text;
  std::size_t used = 0;
  while (true) {
    if (used > kMostBytes) {
      throw InputError({.code = "J004",
                        .problem = fmt::format("{} is larger than {} MiB", path, kMostBytes >> 20),
                        .where = {path, 1, 1, ""},
                        .cure = "check that this is the file you mean"});
    }
    constexpr std::size_t kFirst = 16 << 10;
    if (text.size() == used) text.resize(std::max(kFirst, 2 * used));
    const ssize_t got = ::read(file.value(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);
  return text;
}

}  // namespace plait
