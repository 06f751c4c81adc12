// Shaped links leave nothing behind, and say why they are not permitted.
#include <dirent.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <set>
#include <thread>

#include "core/error.h"
#include "realrun/launch/processes.h"
#include "realrun/shaped/program.h"
#include "tests/realrun/shaped.h"

namespace plait::shaped_crash_test {

ino_t current_network() {
  struct stat s {};
  stat("/proc/self/ns/net", &s);
  return s.st_ino;
}

std::set<std::string> interfaces() {
  std::set<std::string> names;
  struct if_nameindex* all = if_nameindex();
  for (auto* i = all; i->if_index != 0; ++i) names.insert(i->if_name);
  if_freenameindex(all);
  return names;
}

TEST_F(Shaped, TheCallersNetworkStaysAsItWas) {
  const auto interfaces_before = interfaces();
  const auto network_before = current_network();
  EXPECT_EQ(
      run_in_own_network([&] {
        const ShapedNetwork shaped({.hosts = 2, .rate = kRate});
        // Loopback, the bridge and a port for each host.
        return interfaces() == std::set<std::string>{"lo", "switch", "port0", "port1"} ? 5 : 6;
      }),
      5);
  EXPECT_EQ(interfaces(), interfaces_before);
  EXPECT_EQ(current_network(), network_before);
}

// What remains after a crash.

struct Remains {
  std::atomic<pid_t> holder, rank[2];
  std::atomic<ino_t> network[3];  // the switch's and the hosts'
};

/// Lays links out, and has a rank sit on each.
void sit_in(Remains& remains) {
  run_in_own_network([&] {
    const ShapedNetwork network({.hosts = 2, .rate = kRate});
    remains.holder = getpid(), remains.network[2] = current_network();
    return run_processes(2, [&](std::int64_t rank) {
      network.enter(rank);
      remains.network[rank] = current_network();
      remains.rank[rank] = getpid();
      while (true) pause();
      return 0;
    });
  });
}

bool running(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return in >> number >> name >> state && state != "Z" && state != "X";
}

/// Processes that are in the namespace, or hold it by a descriptor.
int holders(ino_t network) {
  const std::string wanted = "net:[" + std::to_string(network) + "]";
  int found = 0;
  const auto look = [&](const std::string& link) {
    std::array<char, 64> to{};
    if (readlink(link.c_str(), to.data(), to.size() - 1) > 0 && to.data() == wanted) ++found;
  };
  const auto entries = [](const std::string& folder) {
    std::vector<std::string> out;
    DIR* all = opendir(folder.c_str());
    if (all == nullptr) return out;
    while (const dirent* e = readdir(all)) out.emplace_back(e->d_name);
    closedir(all);
    return out;
  };
  for (const std::string& pid : entries("/proc")) {
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    look("/proc/" + pid + "/ns/net");
    for (const std::string& fd : entries("/proc/" + pid + "/fd"))
      look("/proc/" + pid + "/fd/" + fd);
  }
  return found;
}

/// Mounted namespaces (what `ip netns add` would leave) are of type nsfs.
std::string mounted_namespaces() {
  std::ifstream in("/proc/self/mountinfo");
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.find(" - nsfs ") != std::string::npos) out += line + "\n";
  }
  return out;
}

template <class Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Makes this process that of a user without rights, as far as it is not one already.
void give_up_rights() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0) {
    _exit(EXIT_FAILURE);
  }
  prctl(PR_SET_DUMPABLE, 1);  // as after logging in: /proc/self is its own again
}

struct Crash {
  std::string name;
  bool as_user;      // in a user namespace
  bool kill_caller;  // else the process that holds the links
};
class AfterACrash : public Shaped, public testing::WithParamInterface<Crash> {};

TEST_P(AfterACrash, NothingRemains) {
  Shared<Remains> remains;
  const std::string mounted = mounted_namespaces();
  const pid_t caller = fork();
  if (caller == 0) {
    if (GetParam().as_user) give_up_rights();
    try {
      sit_in(*remains);
    } catch (const NotPermitted&) {
      _exit(77);
    } catch (const EnvironmentError&) {
      _exit(3);
    }
    _exit(EXIT_SUCCESS);
  }
  int status = 0;
  pid_t ended = 0;
  ASSERT_TRUE(soon([&] {
    if (ended == 0) ended = waitpid(caller, &status, WNOHANG);
    return ended != 0 || (remains->rank[0] != 0 && remains->rank[1] != 0);
  }));
  if (ended != 0 && WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "users may not make namespaces here";
  }
  ASSERT_EQ(ended, 0) << "it ended by itself, status " << status;
  for (const auto& network : remains->network) EXPECT_GT(holders(network), 0);

  kill(GetParam().kill_caller ? caller : remains->holder.load(), SIGKILL);
  ASSERT_EQ(waitpid(caller, &status, 0), caller);
  // The caller of a holder that was killed says so.
  const bool killed = WIFSIGNALED(status), said = WIFEXITED(status) && WEXITSTATUS(status) == 3;
  EXPECT_TRUE(GetParam().kill_caller ? killed : said) << status;
  for (const pid_t pid :
       {remains->holder.load(), remains->rank[0].load(), remains->rank[1].load()}) {
    EXPECT_TRUE(soon([&] { return !running(pid); }));
  }
  for (const auto& network : remains->network) EXPECT_EQ(holders(network), 0);
  EXPECT_EQ(mounted_namespaces(), mounted);
}
INSTANTIATE_TEST_SUITE_P(Of, AfterACrash,
                         testing::Values(Crash{"TheCaller", false, true},
                                         Crash{"TheHolder", false, false},
                                         Crash{"AUsersCaller", true, true},
                                         Crash{"AUsersHolder", true, false}),
                         [](const auto& p) { return p.param.name; });

// What is not permitted.

/// Exit code and text of what laying links out throws in a child process prepared by `prepare`.
std::string refusal(const std::function<void()>& prepare) {
  try {
    run_in_own_network([&] {
      prepare();
      const ShapedNetwork network({.hosts = 2, .rate = kRate});
      return 0;
    });
  } catch (const NotPermitted& e) {
    return e.what();
  }
  return "";
}

TEST(NotPermittedIsSaid, WhereContainersForbidNamespaces) {
  // As container runtimes do: unshare fails with EPERM.
  const std::string said = refusal([] {
    std::array filter{sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(EXIT_FAILURE);
  });
  EXPECT_NE(said.find("cannot make a user namespace: Operation not permitted"), std::string::npos)
      << said;
  EXPECT_NE(said.find("run as root"), std::string::npos) << said;
}

TEST(NotPermittedIsSaid, InIpsWordsWhereNetworksMayNotBeChanged) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can have one right and lack the other";
  constexpr int kCapNetAdmin = 12;  // linux/capability.h
  const std::string said = refusal([] { prctl(PR_CAPBSET_DROP, kCapNetAdmin, 0, 0, 0); });
  EXPECT_NE(said.find("Operation not permitted"), std::string::npos) << said;
  EXPECT_NE(said.find("CAP_NET_ADMIN"), std::string::npos) << said;
}

TEST(NotPermittedIsSaid, ToUsersUnlessUserNamespacesDo) {
  const std::string said = refusal(give_up_rights);
  EXPECT_TRUE(said.empty() || said.find("run as root") != std::string::npos) << said;
}

TEST(NotPermittedIsSaid, WithThePackageOfAMissingProgram) {
  try {
    find_program("no-such-program", "iproute2");
    FAIL() << "found it";
  } catch (const NotPermitted& e) {
    EXPECT_STREQ(e.what(),
                 "the program 'no-such-program' is missing; install the package iproute2");
  }
}

TEST(RunInOwnNetwork, PassesOnWhatEndsIt) {
  EXPECT_EQ(run_in_own_network([] { return 77; }), 77);
  EXPECT_THROW(run_in_own_network([]() -> int { throw NotPermitted("no"); }), NotPermitted);
  EXPECT_THROW(run_in_own_network([]() -> int { throw InternalError("bug"); }), InternalError);
  EXPECT_THROW(run_in_own_network([]() -> int { throw EnvironmentError(""); }), EnvironmentError);
  try {
    run_in_own_network([] { return raise(SIGKILL); });
    FAIL() << "went on";
  } catch (const EnvironmentError& e) {
    EXPECT_STREQ(e.what(),
                 "the process that held the shaped links was killed by signal 9 (Killed)");
  }
}

}  // namespace plait::shaped_crash_test
