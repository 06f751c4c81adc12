#include "realrun/launch/processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/error.h"
#include "realrun/transport/tcp.h"
#include "realrun/transport/tcp_sockets.h"

namespace plait {
namespace {

enum class Fault : char { kNone = '-', kMachine = 'm', kInternal = 'i' };

// Exit codes of a child whose fault is on its pipe.
constexpr int kFailed = 99;
// The others notice a dead rank by themselves and say what they waited for; then they are ended.
constexpr double kGrace = 1.0;  // seconds
// So many ranks are quoted beside the one that failed.
constexpr int kMostQuoted = 7;

struct Child {
  pid_t pid = -1;
  Descriptor words;  // what went wrong is written here
  bool ended = false;
  int stopped_by = 0;  // signal, while it is stopped
  int status = 0;      // when it has ended by itself
  std::string said;
};

void say(int fd, Fault fault, const std::string& text) {
  const std::string all = static_cast<char>(fault) + text;
  static_cast<void>(!write(fd, all.data(), all.size()));
}

[[noreturn]] void be_child(std::int64_t rank, int words,
                           const std::function<int(std::int64_t)>& body) {
  int code = kFailed;
  name_process(rank);
  try {
    code = body(rank);
  } catch (const std::bad_alloc&) {
    say(words, Fault::kMachine, "rank " + std::to_string(rank) + " ran out of memory");
  } catch (const EnvironmentError& e) {
    say(words, Fault::kMachine, e.what());
  } catch (const InputError& e) {
    say(words, Fault::kMachine, e.what());
  } catch (const std::system_error& e) {
    say(words, Fault::kMachine, e.what());
  } catch (const std::exception& e) {
    say(words, Fault::kInternal, e.what());
  }
  std::fflush(nullptr);
  _exit(code);
}

class Family {
 public:
  Family() = default;
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  ~Family() { end_all(); }

  void start(std::int64_t rank, const std::function<int(std::int64_t)>& body) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw EnvironmentError("cannot make a pipe: " + system_error());
    Descriptor read_end(ends[0]), write_end(ends[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0)
      throw EnvironmentError("cannot start rank " + std::to_string(rank) + ": " + system_error());
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kFailed);  // it died before we could ask to die with it
      be_child(rank, write_end.get(), body);
    }
    children_.emplace_back();
    children_.back().pid = pid;
    children_.back().words = std::move(read_end);
  }

  /// Until all have ended, or one has failed and the others have had time to notice.
  void wait() {
    std::chrono::steady_clock::time_point failed_at = {};
    while (!std::ranges::all_of(children_, &Child::ended)) {
      const bool changed = collect();
      const auto now = std::chrono::steady_clock::now();
      if (first_failed_ >= 0 && failed_at == std::chrono::steady_clock::time_point{}) {
        failed_at = now;
      }
      const bool late =
          first_failed_ >= 0 && now - failed_at > std::chrono::duration<double>(kGrace);
      if (late) return end_all();
      if (!changed) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  int result() const {
    if (first_failed_ >= 0) throw_failure();
    return WEXITSTATUS(children_.front().status);
  }

 private:
  /// Takes the ends of children that have ended; true when there were any.
  bool collect() {
    bool any = false;
    for (std::size_t r = 0; r < children_.size(); ++r) {
      Child& c = children_[r];
      int status = 0;
      if (c.ended || waitpid(c.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) != c.pid) continue;
      c.stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
      if (WIFSTOPPED(status) || WIFCONTINUED(status)) continue;
      c.status = status;
      c.ended = any = true;
      c.said = read_words(c);
      const bool well = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
      // A rank that was killed is the cause of what the others say.
      const bool worse =
          first_failed_ < 0 || (WIFSIGNALED(status) && !WIFSIGNALED(failed().status));
      if (!well && worse) first_failed_ = static_cast<std::int64_t>(r);
    }
    return any;
  }
  const Child& failed() const { return children_[static_cast<std::size_t>(first_failed_)]; }
  static std::string read_words(const Child& c) {
    std::string out;
    std::array<char, 512> part{};
    while (true) {
      pollfd p{c.words.get(), POLLIN, 0};
      if (poll(&p, 1, 0) <= 0) return out;
      const ssize_t n = read(c.words.get(), part.data(), part.size());
      if (n <= 0) return out;
      out.append(part.data(), static_cast<std::size_t>(n));
    }
  }
  void end_all() {
    for (Child& c : children_) {
      if (c.ended) continue;
      kill(c.pid, SIGKILL);
      while (waitpid(c.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      c.ended = true;
    }
  }
  [[noreturn]] void throw_failure() const {
    const Child& c = failed();
    if (!c.said.empty() && c.said[0] == static_cast<char>(Fault::kInternal)) {
      throw InternalError(c.said.substr(1));
    }
    throw EnvironmentError(end_of(c) + words_of_others());
  }
  std::string name(const Child& c) const { return "rank " + std::to_string(&c - children_.data()); }
  std::string end_of(const Child& c) const {
    if (WIFSIGNALED(c.status)) {
      return name(c) + " was killed by signal " + std::to_string(WTERMSIG(c.status)) + " (" +
             strsignal(WTERMSIG(c.status)) + ")";
    }
    if (!c.said.empty()) return c.said.substr(1);
    return name(c) + " ended with exit code " + std::to_string(WEXITSTATUS(c.status));
  }
  std::string words_of_others() const {
    std::string text;
    int quoted = 0;
    for (const Child& c : children_) {
      if (c.stopped_by != 0) {
        text += "\n  " + name(c) + " was stopped by signal " + std::to_string(c.stopped_by) + " (" +
                strsignal(c.stopped_by) + ")";
      }
      if (&c == &failed() || c.said.empty() || ++quoted > kMostQuoted) continue;
      text += "\n  " + c.said.substr(1);
    }
    return text;
  }

  std::vector<Child> children_;
  std::int64_t first_failed_ = -1;
};

}  // namespace

void name_process(std::int64_t rank) {
  prctl(PR_SET_NAME, ("plait rank " + std::to_string(rank)).c_str());  // 15 characters are kept
}

int run_processes(std::int64_t ranks, const std::function<int(std::int64_t)>& body) {
  std::fflush(nullptr);  // what is buffered must not be written once more by every child
  Family family;
  for (std::int64_t r = 0; r < ranks; ++r) family.start(r, body);
  family.wait();
  return family.result();
}

}  // namespace plait
