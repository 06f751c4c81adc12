#include "realrun/shaped/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "core/error.h"
#include "realrun/shaped/not_permitted.h"
#include "realrun/transport/tcp.h"

// POSIX has programs declare it; glibc does so too.
extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace plait {
namespace {

/// Where the child reads (nothing) and writes.
class Streams {
 public:
  explicit Streams(int out) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, out, STDERR_FILENO);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() { posix_spawn_file_actions_destroy(&actions_); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string read_all(const Descriptor& from) {
  std::string out;
  std::array<char, 512> part{};
  while (true) {
    const ssize_t n = read(from.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    out.append(part.data(), static_cast<std::size_t>(n));
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace

std::string find_program(const std::string& name, const std::string& package) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    folder.append("/").append(name);
    if (access(folder.c_str(), X_OK) == 0) return folder;
  }
  throw NotPermitted("the program '" + name + "' is missing; install the package " + package);
}

ProgramEnd run_program(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw EnvironmentError(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const Streams streams(write_end.get());
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], streams.get(), nullptr, argv.data(), environ);
  if (error != 0) throw EnvironmentError("cannot run " + words[0] + ": " + std::strerror(error));
  write_end = Descriptor();  // reading ends when the program has closed the other one
  ProgramEnd out;
  out.said = read_all(read_end);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return out;
}

}  // namespace plait
