#include "realrun/launch/mpirun.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "realrun/transport/plugin.h"

namespace plait {
namespace {

constexpr int kNoMpirun = 127;  // as a shell says "command not found"
constexpr int kHighestOwnCode = 4;

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
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
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
