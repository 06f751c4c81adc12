#pragma once
// A network of hosts with one link out and one link in each, and nothing between.

#include <string>

#include "topologies/network.h"

namespace plait {

class Crossbar : public Network {
 public:
  Crossbar(std::int64_t hosts, BytesPerSecond bandwidth, Seconds latency) : hosts_(hosts) {
    links_.assign(static_cast<std::size_t>(2 * hosts),
                  {LinkClass::kInfiniband, bandwidth, latency * 0.5, 1});
  }
  std::string name_of(LinkId link) const override {
    return (link < hosts_ ? "out of " : "into ") + std::to_string(link % hosts_);
  }
  void route(std::int64_t from, std::int64_t to, std::uint64_t,
             std::vector<LinkId>& links) const override {
    if (from == to) return;
    links.push_back(static_cast<LinkId>(from));
    links.push_back(static_cast<LinkId>(hosts_ + to));
  }

 private:
  std::int64_t hosts_;
};

}  // namespace plait
