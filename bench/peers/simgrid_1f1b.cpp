// A 1F1B pipeline with data parallel replicas on SimGrid's S4U interface: one actor per rank,
// computation as executions, activations and gradients as messages through mailboxes, one exchange
// with the next replica at the end for the gradient reduction.
// Usage: simgrid_1f1b [STAGES MICROBATCHES REPLICAS] [SimGrid options]

#include <algorithm>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "bench/peers/row.h"

namespace {

namespace s4u = simgrid::s4u;
using plait::PipelineSizes;

// A forward pass of 1 ms and a backward pass of 2 ms on hosts of 1 TFLOP/s; 16 MB of activations;
// 1 GB of gradients; links of 50 GB/s and 1 us. Only the number of activities matters here.
constexpr double kHostFlops = 1e12, kForwardFlops = 1e9, kBackwardFlops = 2e9;
constexpr double kLinkBandwidth = 50e9, kLinkLatency = 1e-6;
constexpr unsigned kActivationBytes = 16'000'000, kGradientBytes = 1'000'000'000;
constexpr unsigned kHostsPerLeaf = 8;

s4u::Mailbox* mailbox(const char* kind, int replica, int stage) {
  return s4u::Mailbox::by_name(fmt::format("{} {} {}", kind, replica, stage));
}

class Rank {
 public:
  Rank(PipelineSizes sizes, int replica, int stage, std::int64_t& activities)
      : sizes_(sizes), replica_(replica), stage_(stage), activities_(activities) {}

  void operator()() {
    const int warm_up = std::min(sizes_.stages - stage_ - 1, sizes_.microbatches);
    for (int i = 0; i < warm_up; ++i) forward();
    for (int i = warm_up; i < sizes_.microbatches; ++i) {
      forward();
      backward();
    }
    for (int i = 0; i < warm_up; ++i) backward();
    for (const s4u::CommPtr& message : sent_) message->wait();
    if (sizes_.replicas > 1) reduce_gradients();
  }

 private:
  bool first() const { return stage_ == 0; }
  bool last() const { return stage_ == sizes_.stages - 1; }

  void forward() {
    if (!first()) mailbox("forward", replica_, stage_)->get<int>();
    execute(kForwardFlops);
    if (!last()) send("forward", stage_ + 1);
  }

  void backward() {
    if (!last()) mailbox("backward", replica_, stage_)->get<int>();
    execute(kBackwardFlops);
    if (!first()) send("backward", stage_ - 1);
  }

  void execute(double flops) {
    s4u::this_actor::execute(flops);
    ++activities_;
  }

  void send(const char* kind, int to) {
    sent_.push_back(mailbox(kind, replica_, to)->put_async(&token_, kActivationBytes));
    ++activities_;
  }

  void reduce_gradients() {
    int* received = nullptr;
    const int next = (replica_ + 1) % sizes_.replicas;
    auto from = mailbox("gradients", replica_, stage_)->get_async<int>(&received);
    auto to = mailbox("gradients", next, stage_)->put_async(&token_, kGradientBytes);
    from->wait();
    to->wait();
    ++activities_;
  }

  PipelineSizes sizes_;
  int replica_, stage_;
  std::int64_t& activities_;
  int token_ = 0;
  std::vector<s4u::CommPtr> sent_;
};

std::vector<s4u::Host*> make_fat_tree(unsigned hosts) {
  std::vector<s4u::Host*> made;
  const auto make_host = [&made](s4u::NetZone* zone, const std::vector<unsigned long>&,
                                 unsigned long id) {
    s4u::Host* host = zone->create_host(fmt::format("host {}", id), kHostFlops)->seal();
    made.push_back(host);
    return std::pair<simgrid::kernel::routing::NetPoint*, simgrid::kernel::routing::NetPoint*>(
        host->get_netpoint(), nullptr);
  };
  const unsigned leaves = (hosts + kHostsPerLeaf - 1) / kHostsPerLeaf;
  s4u::create_fatTree_zone(
      "machine", nullptr,
      s4u::FatTreeParams(2, {kHostsPerLeaf, leaves}, {1, kHostsPerLeaf}, {1, 1}),
      s4u::ClusterCallbacks(make_host), kLinkBandwidth, kLinkLatency,
      s4u::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  const PipelineSizes sizes = plait::sizes_from(argc, argv);
  const auto hosts = make_fat_tree(static_cast<unsigned>(sizes.ranks()));
  std::int64_t activities = 0;
  for (int replica = 0; replica < sizes.replicas; ++replica) {
    for (int stage = 0; stage < sizes.stages; ++stage) {
      s4u::Host* host = hosts[static_cast<std::size_t>(replica * sizes.stages + stage)];
      s4u::Actor::create("rank", host, Rank(sizes, replica, stage, activities));
    }
  }
  const double seconds = plait::seconds_of([&] { engine.run(); });
  plait::print_row("simgrid", sizes.ranks(), activities, seconds, s4u::Engine::get_clock());
}
