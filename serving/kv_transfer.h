#pragma once
// What moves when an answer is generated elsewhere than its prompt was computed: the keys and
// values of the prompt's tokens, from each rank of the one instance to those of the other that hold
// the same layers and heads (any tp and pp on either side). Of a token, in all (DistServe, Zhong et
// al. 2024, section 3.3):
//   bytes = 2 layers kv_heads head_dim element     latents: layers (kv_lora_rank + rope_head_dim)
// and as often as the receiving ranks repeat heads, or latents, since each rank reads its own copy.
//
// A rank has a port for its node and one for the fabric, its NIC, which it may share; each carries
// its part of that in either direction. A transfer begins when all of its ports are free, in the
// order in which transfers are asked for; it holds each port as long as its bytes take there, and
// is over when the slowest has passed them on:
//   begin = max(asked, free(p))     free(p) = begin + tokens t(p)
//   end = begin + start + tokens max t(p)
// so that a fast sender serves several slow receivers at a time, and ports never carry more than
// they can. t(p) = bytes / what software reaches of the port (costmodel/transfer.h, measured with
// NCCL's send and receive), or of the NIC's part of an oversubscribed fabric. Transfers begin
// behind the prompt, not layer by layer, and slow no kernels.

#include <cstdint>
#include <vector>

#include "core/time.h"
#include "serving/step_costs.h"

namespace plait {

/// From one instance to another.
struct KvRoute {
  struct Load {
    std::size_t port = 0;
    Seconds per_token;
  };
  SimTime start = 0;  // of an empty message
  std::vector<Load> loads;
};

/// All of them: routes[from][to], instances of prefill and of decode.
struct KvRoutes {
  std::size_t ports = 0;
  std::vector<std::vector<KvRoute>> routes;
  Bytes bytes_per_token;  // that arrive at an instance
};

/// Between pools whose meshes say tp, pp and dp, and whose placements are on the same cluster.
KvRoutes kv_routes(const ServedModel& prefill, const ServedModel& decode);

/// Ports and when each is free.
class KvPorts {
 public:
  /// `routes` outlives it.
  explicit KvPorts(const KvRoutes& routes) : routes_(routes), free_(routes.ports) {}
  /// When the tokens have arrived, asked for at `now`. No tokens arrive at once.
  SimTime send(std::size_t from, std::size_t to, std::int64_t tokens, SimTime now);

 private:
  const KvRoutes& routes_;
  std::vector<SimTime> free_;
};

}  // namespace plait
