#include "realrun/launch/mpirun.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "core/error.h"
#include "realrun/transport/plugin.h"

namespace plait {
namespace {

constexpr int kNoMpirun = 127;  // as a shell says "command not found"
constexpr int kHighestOwnCode = 4;
constexpr std::chrono::milliseconds kLookAgain{20};
// mpirun ends within milliseconds of its last rank.
constexpr std::chrono::seconds kMpirunGrace{5};

[[noreturn]] void be_mpirun(std::vector<std::string> words) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // mpirun then ends its ranks
  if (geteuid() == 0) {
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  }
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(kNoMpirun);
}

bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.substr(name_end, 3) != ") Z";
}

/// The ranks of an mpirun, which are its children where all are on this machine.
class Ranks {
 public:
  Ranks(pid_t mpirun, std::int64_t ranks)
      : children_("/proc/" + std::to_string(mpirun) + "/task/" + std::to_string(mpirun) +
                  "/children"),
        ranks_(static_cast<std::size_t>(ranks)) {}

  /// True when all have been seen and none has been alive for kMpirunGrace.
  bool long_gone() {
    const auto now = std::chrono::steady_clock::now();
    bool alive = false;
    std::ifstream file(children_);
    for (pid_t pid = 0; file >> pid;) {
      seen_.insert(pid);
      alive = alive || is_alive(pid);
    }
    if (alive || seen_.size() < ranks_) last_alive_ = now;
    return now - last_alive_ > kMpirunGrace;
  }

 private:
  std::string children_;
  std::size_t ranks_;
  std::set<pid_t> seen_;
  std::chrono::steady_clock::time_point last_alive_ = std::chrono::steady_clock::now();
};

/// The status of an mpirun when it has ended. After an abort, Open MPI 4.1's at times never does:
/// its PMIx server waits for a thread that waits for a lock.
int wait_for(pid_t mpirun, std::int64_t ranks) {
  Ranks its(mpirun, ranks);
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(mpirun, &status, WNOHANG);
    if (ended == mpirun) return status;
    if (ended < 0 && errno != EINTR)
      throw InternalError(std::string("waitpid: ") + std::strerror(errno));
    if (its.long_gone()) {
      kill(mpirun, SIGKILL);
      waitpid(mpirun, &status, 0);
      throw EnvironmentError("mpirun went on for " + std::to_string(kMpirunGrace.count()) +
                             " s after its ranks had ended, and was killed");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

int run_mpirun(std::int64_t ranks, const std::vector<std::string>& command) {
  if (!has_mpi_transport()) load_mpi_transport(1);  // throws what is missing
  std::vector<std::string> words = {
      "mpirun", "--oversubscribe",    "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
      "-n",     std::to_string(ranks)};
  words.insert(words.end(), command.begin(), command.end());
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw EnvironmentError(std::string("cannot start mpirun: ") + std::strerror(errno));
  if (pid == 0) be_mpirun(words);
  const int status = wait_for(pid, ranks);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == kNoMpirun) {
    throw EnvironmentError(
        "mpirun was not found: install it (Debian: openmpi-bin), or use --transport tcp");
  }
  if (code > kHighestOwnCode) {
    throw EnvironmentError(
        "a rank under mpirun ended with code " + std::to_string(code) +
        (code > 128 ? " (killed by signal " + std::to_string(code - 128) + ")" : ""));
  }
  return code;
}

}  // namespace plait
