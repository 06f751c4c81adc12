#include "realrun/shaped/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <string_view>

#include "core/error.h"
#include "realrun/shaped/not_permitted.h"
#include "realrun/transport/tcp_sockets.h"

namespace plait {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw NotPermitted(
      "cannot " + what + ": " + system_error() +
      "; run as root (in a container: with --privileged), or let users make namespaces (sysctl "
      "user.max_user_namespaces above 0, kernel.apparmor_restrict_unprivileged_userns=0 where "
      "there is one)");
}

void write_own(const char* file, std::string_view text) {
  const std::string path = std::string("/proc/self/") + file;
  const Descriptor out(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!out.open() || write(out.get(), text.data(), text.size()) < 0) refuse("write " + path);
}

/// user_namespaces(7): the maps must hold our own ids, and supplementary groups must stay.
void become_root_of_own_users() {
  const std::string uid = std::to_string(geteuid()), gid = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER) != 0) refuse("make a user namespace");
  write_own("setgroups", "deny");
  write_own("uid_map", "0 " + uid + " 1");
  write_own("gid_map", "0 " + gid + " 1");
}

Descriptor current_network() {
  // Of this thread: /proc/self would be the main thread's.
  Descriptor out(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!out.open()) throw EnvironmentError("cannot open the network namespace: " + system_error());
  return out;
}

}  // namespace

void enter_own_network() {
  if (unshare(CLONE_NEWNET) == 0) return;
  if (errno != EPERM) refuse("make a network namespace");
  become_root_of_own_users();
  if (unshare(CLONE_NEWNET) != 0) refuse("make a network namespace");
}

Descriptor make_network() {
  const Descriptor here = current_network();
  if (unshare(CLONE_NEWNET) != 0) refuse("make a network namespace");
  Descriptor made = current_network();
  enter_network(here);
  return made;
}

void enter_network(const Descriptor& network) {
  if (setns(network.get(), CLONE_NEWNET) != 0) {
    throw EnvironmentError("cannot enter a network namespace: " + system_error());
  }
}

void inside_network(const Descriptor& network, const std::function<void()>& body) {
  const Descriptor here = current_network();
  enter_network(network);
  try {
    body();
  } catch (...) {
    enter_network(here);
    throw;
  }
  enter_network(here);
}

}  // namespace plait
