// Prefill and decode apart against one engine for both, beside what NVIDIA reports of Dynamo.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "serving/kv_transfer.h"
#include "serving/priced_pool.h"
#include "serving/summary.h"
#include "tests/serving/served.h"

namespace plait::published_pools_test {

constexpr std::int64_t kDevices = 8;

/// `dp` replicas of tp on an HGX H100, from device `first` on.
ServedModel placed(std::int64_t tp, std::int64_t dp, std::int64_t first) {
  ServedModel s = served({.tp = kDevices, .model = "llama-3.1-70b"});
  s.layout.mesh[Axis::kTp] = tp, s.layout.mesh[Axis::kDp] = dp;
  s.placement.resize(static_cast<std::size_t>(tp * dp));
  std::iota(s.placement.begin(), s.placement.end(), first);
  s.precision.products = DType::kFp8;
  s.costs.engine_all_reduce = EngineReduce::kVllm;
  return s;
}

EngineLimits limits() {
  EngineLimits out;
  out.max_context = 4096;
  return out;
}

/// So many users, 3,000 prompt and 150 output tokens each, out of step.
Load closed(std::int64_t users) {
  Load load;
  load.arrivals = Arrivals::kClosed, load.concurrency = users, load.count = 6 * users;
  load.ramp = Seconds(6 / static_cast<double>(users));
  load.kinds = {{"all", 1, 3000, 150, 0}};
  return load;
}

/// Both on each of `dp` replicas.
class Together {
 public:
  Together(std::int64_t tp, std::int64_t dp)
      : pool_(placed(tp, dp, 0), limits(), {}, {}), dp_(dp) {}
  ServiceSummary operator()(const Load& load) {
    const std::vector<Request> requests = draw_requests(load);
    const StepPrice price = [this](const Step& s, std::size_t) -> const StepTime& {
      return pool_.price(s);
    };
    return summarize(serve(requests, load, pool_.options(1), price), requests, load.kinds, kDevices,
                     dp_);
  }

 private:
  PricedPool pool_;
  std::int64_t dp_;
};

/// `dp` instances of tp for prompts, one of `decode` to generate.
class Apart {
 public:
  Apart(std::int64_t tp, std::int64_t dp, std::int64_t decode)
      : prefill_(placed(tp, dp, 0), limits(), {}, {}),
        decode_(placed(decode, 1, tp * dp), limits(), {}, {}),
        routes_(kv_routes(prefill_.model(), decode_.model())) {}
  ServiceSummary operator()(const Load& load) {
    const std::vector<Request> requests = draw_requests(load);
    const StepPrice first = [this](const Step& s, std::size_t) -> const StepTime& {
      return prefill_.price(s);
    };
    const StepPrice then = [this](const Step& s, std::size_t) -> const StepTime& {
      return decode_.price(s);
    };
    const ServerOptions a = prefill_.options(1), b = decode_.options(1);
    const DisaggregatedServer server = {a, b, first, then, routes_, FirstToken::kDecode};
    return summarize(serve(requests, load, server), requests, load.kinds, kDevices, 1);
  }

 private:
  PricedPool prefill_, decode_;
  KvRoutes routes_;
};

/// The most output tokens a second of a device, with so many a second for each user at least and
/// half of the first tokens within a second; over the number of users.
template <class Engine>
double most_per_device(Engine& engine, double per_user) {
  double most = 0;
  for (const std::int64_t users : {2, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64}) {
    const ServiceSummary s = engine(closed(users));
    const bool is_fast = s.tokens_per_s_per_user >= per_user && s.all.first_token.p50.value <= 1;
    if (is_fast) most = std::max(most, s.tokens_per_s_per_device);
  }
  return most;
}

// NVIDIA Dynamo, docs/architecture/architecture.md: Llama 70B fp8 on one node of H100s, 3,000
// prompt and 150 output tokens: 30 % more throughput per GPU with prefill and decode apart. At how
// many tokens a second for a user is not said. Apart: the split of Dynamo's recipe for one such
// node (recipes/llama-3-70b/vllm/disagg-single-node), 2 x tp 2 and tp 4.
TEST(PublishedServing, ThroughputPerDeviceOfPrefillAndDecodeApart) {
  Together two(2, 4), four(4, 2), eight(8, 1);
  Apart apart(2, 2, 4);
  double least = 1e9, most = 0;
  for (const double user : {30, 40, 50, 60, 70}) {
    const double together = std::max(
        {most_per_device(two, user), most_per_device(four, user), most_per_device(eight, user)});
    const double gain = most_per_device(apart, user) / together;
    fmt::print("{:.0f} tokens/s a user: together {:5.1f} tokens/s a device, apart {:+.0f} %\n",
               user, together, 100 * (gain - 1));
    least = std::min(least, gain), most = std::max(most, gain);
  }
  EXPECT_LT(least, 1.3);  // what is reported lies within
  EXPECT_GT(most, 1.3);
}

}  // namespace plait::published_pools_test
