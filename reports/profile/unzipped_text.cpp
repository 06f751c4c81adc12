#include "reports/profile/unzipped_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"

#if PLAIT_HAS_ZLIB
#include <zlib.h>
#endif

namespace plait {
namespace {

constexpr std::size_t kPartOfText = 256 << 10;

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& reason) {
  throw InputError({.code = "K011",
                    .problem = fmt::format("a gzip file that is damaged or not whole: {}", reason),
                    .where = {path, 0, 0, ""},
                    .expected = "the file as torch.profiler wrote it",
                    .cure = "copy it again, or profile again: the job may have ended before it was "
                            "written"});
}

/// An open file, or standard input. Throws where it cannot be read.
int opened(const std::string& path) {
  if (path == "-") return ::dup(STDIN_FILENO);
  struct stat status = {};
  const bool directory = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  const int fd = directory ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) read_text_file(path);  // says why
  return fd;
}

}  // namespace

#if PLAIT_HAS_ZLIB

// zlib tells gzip by its first two bytes and passes anything else on as it is.
struct UnzippedText::Source {
  explicit Source(const std::string& path) : file(::gzdopen(opened(path), "rb")) {
    if (file == nullptr) throw std::bad_alloc();
    ::gzbuffer(file, 128 << 10);
  }
  ~Source() { ::gzclose(file); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t read(char* to, std::size_t most, const std::string& path) {
    const int got = ::gzread(file, to, static_cast<unsigned>(most));
    int code = Z_OK;
    const char* reason = ::gzerror(file, &code);
    // A file that ends within its last block is Z_BUF_ERROR after what could be had of it.
    if (got < 0 || (got == 0 && code != Z_OK && code != Z_STREAM_END)) {
      if (code == Z_ERRNO) reason = std::strerror(errno);
      refuse_damaged(path, *reason != '\0' ? reason : "unexpected end of file");
    }
    return static_cast<std::size_t>(got);
  }
  std::int64_t done() const { return ::gzoffset(file); }

  gzFile file;
};

#else

struct UnzippedText::Source {
  explicit Source(const std::string& path) : fd(opened(path)) {}
  ~Source() { ::close(fd); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t read(char* to, std::size_t most, const std::string& path) {
    ssize_t got = 0;
    do got = ::read(fd, to, most);
    while (got < 0 && errno == EINTR);
    if (got < 0) refuse_damaged(path, std::strerror(errno));
    constexpr std::string_view kGzip = "\x1f\x8b";
    if (total == 0 && std::string_view(to, static_cast<std::size_t>(got)).starts_with(kGzip)) {
      throw EnvironmentError(
          "this build has no zlib: install it (Debian: zlib1g-dev) and build again, or gunzip " +
          path);
    }
    total += got;
    return static_cast<std::size_t>(got);
  }
  std::int64_t done() const { return total; }

  int fd;
  std::int64_t total = 0;
};

#endif

UnzippedText::UnzippedText(const std::string& path, Watch watch)
    : path_(path),
      watch_(std::move(watch)),
      source_(std::make_unique<Source>(path)),
      part_(kPartOfText) {
  struct stat status = {};
  if (path != "-" && ::stat(path.c_str(), &status) == 0) size_ = status.st_size;
  fill();
}

UnzippedText::~UnzippedText() = default;

void UnzippedText::fill() {
  const std::size_t got = source_->read(part_.data(), part_.size(), path_);
  setg(part_.data(), part_.data(), part_.data() + got);
  if (watch_ && size_ > 0) watch_(std::min(source_->done(), size_), size_);
}

UnzippedText::int_type UnzippedText::underflow() {
  if (gptr() == egptr()) fill();
  return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

}  // namespace plait
