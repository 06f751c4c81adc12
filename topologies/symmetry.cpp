#include "topologies/symmetry.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plait {
namespace {

/// One end of a link as its vertex sees it.
struct End {
  bool incoming = false;
  LinkClass link = LinkClass::kNvlink;
  double bandwidth = 0, latency = 0;
  std::uint32_t colour = 0;  // of the vertex at the other end
  auto operator<=>(const End&) const = default;
};

struct Signature {
  std::uint32_t colour = 0;
  VertexKind kind = VertexKind::kDevice;
  std::vector<End> ends;  // sorted
  auto operator<=>(const Signature&) const = default;
};

std::vector<Signature> signatures(const LinkGraph& graph,
                                  const std::vector<std::uint32_t>& colours) {
  std::vector<Signature> out(boost::num_vertices(graph));
  for (VertexId v = 0; v < out.size(); ++v) {
    out[v].colour = colours[v];
    out[v].kind = graph[v].kind;
    for (auto [e, end] = boost::out_edges(v, graph); e != end; ++e) {
      const Link& l = graph[*e];
      const VertexId to = boost::target(*e, graph);
      out[v].ends.push_back({false, l.link, l.bandwidth.value, l.latency.value, colours[to]});
      out[to].ends.push_back({true, l.link, l.bandwidth.value, l.latency.value, colours[v]});
    }
  }
  for (Signature& s : out) std::sort(s.ends.begin(), s.ends.end());
  return out;
}

/// Numbers of the different signatures, in their order; `count` of them.
std::vector<std::uint32_t> ranks_of(const std::vector<Signature>& all, std::size_t& count) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return all[a] < all[b]; });
  std::vector<std::uint32_t> out(all.size());
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && all[order[i]] != all[order[i - 1]]) ++rank;
    out[order[i]] = rank;
  }
  count = order.empty() ? 0 : rank + std::size_t{1};
  return out;
}

}  // namespace

std::vector<std::uint32_t> refine_colours(const LinkGraph& graph,
                                          const std::vector<std::uint32_t>& colours) {
  std::vector<std::uint32_t> now = colours;
  // Each round splits a colour or ends the search; signatures contain the colour, so none merge.
  for (std::size_t before = 0, count = 0;; before = count) {
    now = ranks_of(signatures(graph, now), count);
    if (count == before) return now;
  }
}

}  // namespace plait
