#include "topologies/max_flow.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include "core/error.h"

namespace plait {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
struct Pipe {
  std::int64_t capacity = 0, residual = 0;
  Traits::edge_descriptor reverse = {};
};
using Pipes =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Pipe>;

void add(Pipes& pipes, const Arc& arc) {
  const auto forth = boost::add_edge(arc.from, arc.to, Pipe{arc.capacity, 0, {}}, pipes).first;
  const auto back = boost::add_edge(arc.to, arc.from, Pipe{}, pipes).first;
  pipes[forth].reverse = back;
  pipes[back].reverse = forth;
}

/// What can still be reached from `source` over pipes that are not full.
std::vector<bool> reached(const Pipes& pipes, std::size_t source) {
  std::vector<bool> seen(boost::num_vertices(pipes));
  std::vector<std::size_t> open = {source};
  seen[source] = true;
  while (!open.empty()) {
    const std::size_t v = open.back();
    open.pop_back();
    for (auto [e, end] = boost::out_edges(v, pipes); e != end; ++e) {
      const std::size_t to = boost::target(*e, pipes);
      if (pipes[*e].residual == 0 || seen[to]) continue;
      seen[to] = true;
      open.push_back(to);
    }
  }
  return seen;
}

}  // namespace

MaxFlow max_flow(std::size_t vertices, std::span<const Arc> arcs, std::size_t source,
                 std::size_t sink) {
  PLAIT_CHECK(source < vertices && sink < vertices && source != sink, "two vertices of the graph");
  Pipes pipes(vertices);
  for (const Arc& arc : arcs) add(pipes, arc);
  MaxFlow out;
  out.value =
      boost::push_relabel_max_flow(pipes, source, sink,
                                   boost::capacity_map(boost::get(&Pipe::capacity, pipes))
                                       .residual_capacity_map(boost::get(&Pipe::residual, pipes))
                                       .reverse_edge_map(boost::get(&Pipe::reverse, pipes))
                                       .vertex_index_map(boost::get(boost::vertex_index, pipes)));
  out.source_side = reached(pipes, source);
  return out;
}

}  // namespace plait
