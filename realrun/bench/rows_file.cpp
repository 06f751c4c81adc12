#include "realrun/bench/rows_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/file.h"

namespace plait {
namespace {

/// --quick is of the command alone: it measures other sizes, fewer times.
bool is_quick(const RunRow& run) {
  return (run.command + " ").find(" --quick ") != std::string::npos;
}

/// Rows of other options would be mixed, as one file says only once what it was measured with.
void check_options(const std::string& path, const RunRow& begun, const RunRow& run) {
  const auto check = [&](const char* option, const std::string& there, const std::string& here) {
    if (there == here) return;
    throw InputError(
        {.code = "K004",
         .problem =
             fmt::format("{} was begun with {} {}, and this is {}", path, option, there, here),
         .where = {path, 1, 1, ""},
         .expected = fmt::format("the options that the file was begun with: {}", begun.command),
         .cure = "name another file, or give the same options"});
  };
  const auto on = [](const RunRow& r) { return is_quick(r) ? "on" : "off"; };
  check("--threads", std::to_string(begun.threads), std::to_string(run.threads));
  check("--quick", on(begun), on(run));
}

bool is_file(int fd) {
  struct stat status = {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

RowsFile::RowsFile(const std::string& path, const RunRow& run) : path_(path) {
  if (path_.empty() || path_ == "-") {
    path_ = "standard output";
    fd_ = ::dup(STDOUT_FILENO);
  } else {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno == EACCES) fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ >= 0 && is_file(fd_)) keep_whole_rows(run);
  }
  if (fd_ < 0) {
    throw EnvironmentError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
  }
  if (known_.empty()) add(run);
}

RowsFile::~RowsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void RowsFile::keep_whole_rows(const RunRow& run) {
  const std::string text = read_text_file(path_);
  const std::size_t end = text.rfind('\n');
  whole_ = end == std::string::npos ? 0 : static_cast<std::int64_t>(end) + 1;
  if (whole_ > 0) {
    const std::vector<Row> rows = parse_rows(text, path_);
    const RunRow& begun = std::get<RunRow>(rows.front());
    if (begun.bench != run.bench || begun.processor != run.processor || begun.host != run.host) {
      throw InputError(
          {.code = "K004",
           .problem = fmt::format("{} holds measurements of {} on {} ({})", path_, begun.bench,
                                  begun.host, begun.processor),
           .where = {path_, 1, 1, ""},
           .expected = fmt::format("those of {} on {} ({})", run.bench, run.host, run.processor),
           .cure = "name another file"});
    }
    check_options(path_, begun, run);
    for (const Row& row : rows) known_.insert(identity_of(row));
    found_ = rows.size();
  }
  if (::ftruncate(fd_, whole_) != 0 || ::lseek(fd_, whole_, SEEK_SET) < 0) fail(errno);
}

void RowsFile::fail(int reason) {
  // What went out of the last row is taken back; of a pipe or a device nothing can be.
  const bool taken_back = is_file(fd_) && ::ftruncate(fd_, whole_) == 0;
  throw EnvironmentError(fmt::format(
      "cannot write {}: {}{}", path_, std::strerror(reason),
      taken_back ? "; its rows are whole, and the same command goes on from them" : ""));
}

void RowsFile::add(const Row& row) {
  const std::string line = to_json(row) + "\n";
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t put = ::write(fd_, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(errno);
    done += static_cast<std::size_t>(put);
  }
  whole_ += static_cast<std::int64_t>(line.size());
  known_.insert(identity_of(row));
}

}  // namespace plait
