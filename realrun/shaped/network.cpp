#include "realrun/shaped/network.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "core/error.h"
#include "realrun/shaped/program.h"

namespace plait {
namespace {

constexpr Seconds kBurstTime{2e-3};
// What the shaper may have waiting before it drops: 5 MB at 100 Mbit/s, more than Linux lets one
// connection have under way on its own (4 MB, tcp_wmem). Measured: three senders of 8 MB each into
// one link of 100 Mbit/s take what the bucket says to 0.3 %.
constexpr const char* kQueueLatency = "400ms";

const std::string kSwitchName = "switch", kLinkName = "eth0";

using Words = std::vector<std::string>;

/// The programs that lay links out, from the package iproute2.
class Tools {
 public:
  Tools() : ip_(find_program("ip", "iproute2")), tc_(find_program("tc", "iproute2")) {}

  void ip(const Words& words) const { must(run(ip_, words), words); }
  /// As the above, for what not every kernel has or allows.
  void ip_if_able(const Words& words, const std::string& what) const {
    able(run(ip_, words), what);
  }
  void tc_if_able(const Words& words, const std::string& what) const {
    able(run(tc_, words), what);
  }

 private:
  static ProgramEnd run(const std::string& program, Words words) {
    words.insert(words.begin(), program);
    return run_program(words);
  }
  static void must(const ProgramEnd& end, const Words& words) {
    if (end.code == 0) return;
    std::string command = "ip";
    for (const std::string& word : words) command += " " + word;
    throw EnvironmentError("'" + command + "' failed: " + end.said);
  }
  static void able(const ProgramEnd& end, const std::string& what) {
    if (end.code == 0) return;
    throw NotPermitted("this machine makes no " + what + ": " + end.said +
                       "; it takes a kernel with bridge, veth and sch_tbf, and the right to use "
                       "them (CAP_NET_ADMIN)");
  }

  std::string ip_, tc_;
};

/// One direction of a link: what leaves the host, or what leaves the switch for it.
void shape(const Tools& tools, const std::string& device, const ShapedLinks& links) {
  if (links.rate == BytesPerSecond{}) return;
  const std::string bits = std::to_string(std::llround(links.rate.value * 8));
  const Bytes burst = links.burst == Bytes{} ? default_burst(links.rate) : links.burst;
  tools.tc_if_able({"qdisc", "add", "dev", device, "root", "tbf", "rate", bits + "bit", "burst",
                    std::to_string(burst.value), "latency", kQueueLatency},
                   "token bucket");
}

void join_to_switch(const Tools& tools, const Descriptor& host, const std::string& port) {
  const std::string there =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(host.get());
  tools.ip_if_able({"link", "add", port, "type", "veth", "peer", "name", kLinkName, "netns", there},
                   "veth pair");
  tools.ip({"link", "set", port, "master", kSwitchName, "up"});
}

void write_setting(const std::string& path, const std::string& value) {
  std::ofstream out(path);
  out << value << std::flush;
  if (!out) throw EnvironmentError("cannot write '" + value + "' to " + path);
}

/// Lets the shaper alone say how fast bytes leave. Reno sends more until packets are lost, while
/// the machine's own choice may seek a rate by itself: with BBR, two directions at once were 8 to
/// 35 % slower than the bucket, from run to run. Reno is in every kernel, and every namespace may
/// choose it. Connections that rested, as between steps, go on where they were.
void steady_tcp() {
  write_setting("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
  write_setting("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
}

void set_up_host(const Tools& tools, const std::string& address, const ShapedLinks& links) {
  tools.ip({"link", "set", "lo", "up"});
  tools.ip({"address", "add", address + "/24", "dev", kLinkName});
  tools.ip({"link", "set", kLinkName, "up"});
  shape(tools, kLinkName, links);
  steady_tcp();
}

}  // namespace

Bytes default_burst(BytesPerSecond rate) {
  const Bytes steady(std::llround(rate.value * kBurstTime.value));
  return std::max(steady, kFrame * 2);
}

ShapedNetwork::ShapedNetwork(const ShapedLinks& links) {
  PLAIT_CHECK(links.hosts >= 1 && links.hosts <= kMostHosts, std::to_string(links.hosts));
  PLAIT_CHECK(links.rate >= BytesPerSecond{} && links.burst >= Bytes{}, "rates are not negative");
  const Tools tools;
  enter_own_network();
  tools.ip_if_able({"link", "add", kSwitchName, "type", "bridge"}, "bridge");
  tools.ip({"link", "set", kSwitchName, "up"});
  for (std::int64_t host = 0; host < links.hosts; ++host) {
    hosts_.push_back(make_network());
    const std::string port = "port" + std::to_string(host);
    join_to_switch(tools, hosts_.back(), port);
    shape(tools, port, links);
    inside_network(hosts_.back(), [&] { set_up_host(tools, address(host), links); });
  }
}

void ShapedNetwork::enter(std::int64_t host) const { enter_network(at(host)); }

std::string ShapedNetwork::address(std::int64_t host) const {
  at(host);
  return "10.77.0." + std::to_string(host + 1);
}

const Descriptor& ShapedNetwork::at(std::int64_t host) const {
  PLAIT_CHECK(host >= 0 && host < std::ssize(hosts_), std::to_string(host));
  return hosts_[static_cast<std::size_t>(host)];
}

}  // namespace plait
