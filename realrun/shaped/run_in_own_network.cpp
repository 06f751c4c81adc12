#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "core/error.h"
#include "realrun/shaped/namespaces.h"
#include "realrun/shaped/not_permitted.h"
#include "realrun/transport/tcp_sockets.h"

namespace plait {
namespace {

enum class OwnNetworkFault : char { kMachine = 'm', kNotPermitted = 'p', kInternal = 'i' };

void report(int fd, OwnNetworkFault fault, const std::string& text) {
  const std::string all = static_cast<char>(fault) + text;
  static_cast<void>(!write(fd, all.data(), all.size()));
}

[[noreturn]] void be_resident(int words, const std::function<int()>& body) {
  int code = EXIT_FAILURE;
  try {
    code = body();
  } catch (const NotPermitted& e) {
    report(words, OwnNetworkFault::kNotPermitted, e.what());
  } catch (const InternalError& e) {
    report(words, OwnNetworkFault::kInternal, e.what());
  } catch (const std::exception& e) {
    report(words, OwnNetworkFault::kMachine, e.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

/// Until the child, and all that it has started, have closed the pipe.
std::string read_words(const Descriptor& words) {
  std::string out;
  std::array<char, 512> part{};
  while (true) {
    const ssize_t n = read(words.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    out.append(part.data(), static_cast<std::size_t>(n));
  }
}

void rethrow(const std::string& said) {
  if (said.empty()) return;
  const std::string text = said.substr(1);
  switch (static_cast<OwnNetworkFault>(said[0])) {
    case OwnNetworkFault::kNotPermitted: throw NotPermitted(text);
    case OwnNetworkFault::kInternal: throw InternalError(text);
    case OwnNetworkFault::kMachine: throw EnvironmentError(text);
  }
}

}  // namespace

int run_in_own_network(const std::function<int()>& body) {
  std::fflush(nullptr);  // what is buffered must not be written once more by the child
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw EnvironmentError("cannot make a pipe: " + system_error());
  }
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) throw EnvironmentError("cannot start a process: " + system_error());
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(EXIT_FAILURE);  // it died before we could ask to die with it
    be_resident(write_end.get(), body);
  }
  write_end = Descriptor();
  const std::string said = read_words(read_end);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  rethrow(said);
  if (WIFSIGNALED(status)) {
    throw EnvironmentError("the process that held the shaped links was killed by signal " +
                           std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
                           ")");
  }
  return WEXITSTATUS(status);
}

}  // namespace plait
