#include "serving/handover_summary.h"

namespace plait {

const char* HandoverSummary::bottleneck() const {
  const double prefill = prefill_wait.mean.value, decode = decode_wait.mean.value;
  const bool pool_is_prefill = prefill >= decode;
  if (transfer.mean.value > (pool_is_prefill ? prefill : decode)) return "transfer";
  return pool_is_prefill ? "prefill" : "decode";
}

HandoverSummary summarize_handovers(const Service& service, Bytes bytes_per_token,
                                    std::int64_t prefill_replicas, std::int64_t decode_replicas) {
  HandoverSummary out;
  std::vector<SimTime> first, then, sent;
  for (std::size_t i = 0; i < service.handovers.size(); ++i) {
    const Handover& h = service.handovers[i];
    first.push_back(h.begun - service.requests[i].arrival);
    if (h.resumed < 0) continue;
    then.push_back(h.asked - h.prefilled + h.resumed - h.received);
    sent.push_back(h.received - h.asked);
    out.tokens += h.tokens;
  }
  out.transfers = std::ssize(sent);
  out.bytes = bytes_per_token * out.tokens;
  out.prefill_wait = quantiles(std::move(first));
  out.decode_wait = quantiles(std::move(then));
  out.transfer = quantiles(std::move(sent));
  out.prefill_busy = busy_share(*service.prefill_pool, prefill_replicas, service.makespan);
  out.decode_busy = busy_share(service, decode_replicas, service.makespan);
  return out;
}

}  // namespace plait
