#include "reports/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/units.h"
#include "reports/human.h"
#include "reports/json_tree.h"

namespace plait {
namespace {

using Tree = nlohmann::ordered_json;

/// "nvlink 1.8 TB/s, pcie 22 GB/s"
std::string classes_text(const Cut& cut) {
  std::vector<std::string> out;
  for (std::size_t c = 0; c < cut.by_class.size(); ++c) {
    if (cut.by_class[c].value <= 0) continue;
    out.push_back(
        fmt::format("{} {}", name_of(static_cast<LinkClass>(c)), to_text(cut.by_class[c])));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

std::vector<Line> link_lines(const TopologySummary& s) {
  std::vector<Line> out = {{}, {{"links, bandwidth per direction", Ink::kBold}}};
  for (const LinkCount& l : s.links) {
    out.push_back(
        {{fmt::format("  {:<11} {:<26} {:>9} x {:>10} = {:>10}  {:>8}", name_of(l.link),
                      fmt::format("{} - {}", name_of(l.from), name_of(l.to)), human_count(l.count),
                      to_text(l.bandwidth), to_text(l.total()), to_text(l.latency))}});
  }
  return out;
}

std::vector<Line> cut_lines(const TopologySummary& s) {
  if (s.cuts.empty()) return {};
  std::vector<Line> out = {{}, {{"bisection, one direction", Ink::kBold}}};
  for (const Cut& cut : s.cuts) {
    std::string text =
        fmt::format("  {:<24} {:>10}  {}", cut.name, to_text(cut.bandwidth), classes_text(cut));
    if (cut.oversubscription() > 0) {
      text += fmt::format("; NICs / bisection {:.3g}", cut.oversubscription());
    }
    out.push_back({{std::move(text)}});
  }
  return out;
}

std::vector<Line> way_lines(const TopologySummary& s) {
  if (s.diversity.empty()) return {};
  std::vector<Line> out = {{}, {{"equally short ways", Ink::kBold}}};
  for (const Diversity& d : s.diversity) {
    std::string text =
        fmt::format("  {:<24} {:>3} to {:<6} {:>2} hops {:>8}  {:>7}, {} link-disjoint", d.scope,
                    d.from, human_count(d.to), d.ways.hops, to_text(d.ways.latency),
                    human_plural(d.ways.ways, "way"), human_count(d.ways.disjoint));
    if (d.ways.disjoint_in_fabric > 0) {
      text += fmt::format(", {} in fabric", human_count(d.ways.disjoint_in_fabric));
    }
    out.push_back({{std::move(text)}});
  }
  return out;
}

Tree tree_of(const Cut& cut) {
  Tree by_class = Tree::object();
  for (std::size_t c = 0; c < cut.by_class.size(); ++c) {
    if (cut.by_class[c].value <= 0) continue;
    by_class[std::string(name_of(static_cast<LinkClass>(c))) + "_Bps"] = cut.by_class[c].value;
  }
  return {{"name", cut.name},
          {"devices", cut.devices},
          {"bandwidth_Bps", cut.bandwidth.value},
          {"by_link_class", by_class},
          {"nic_injection_Bps", cut.injection.value},
          {"oversubscription", cut.oversubscription()}};
}

Tree tree_of(const LinkCount& l) {
  return {{"class", name_of(l.link)},
          {"from", name_of(l.from)},
          {"to", name_of(l.to)},
          {"count", l.count},
          {"bandwidth_Bps", l.bandwidth.value},
          {"total_Bps", l.total().value},
          {"latency_s", l.latency.value}};
}

Tree tree_of(const Diversity& d) {
  return {{"scope", d.scope},
          {"from", d.from},
          {"to", d.to},
          {"hops", d.ways.hops},
          {"latency_s", d.ways.latency.value},
          {"shortest_ways", d.ways.ways},
          {"link_disjoint_ways", d.ways.disjoint},
          {"link_disjoint_ways_between_switches", d.ways.disjoint_in_fabric}};
}

template <class T>
Tree list_of(const std::vector<T>& values) {
  Tree out = Tree::array();
  for (const T& v : values) out.push_back(tree_of(v));
  return out;
}

}  // namespace

std::string devices_in_words(const TopologySummary& s) {
  std::vector<std::string> parts;
  for (const auto& [device, count] : s.kinds) {
    parts.push_back(fmt::format("{} x {}", human_count(count), device));
  }
  if (parts.empty()) parts.push_back(fmt::format("{} x {}", human_count(s.devices), s.device));
  return fmt::format("{}", fmt::join(parts, " + "));
}

std::vector<Line> topology_lines(const TopologySummary& s) {
  std::vector<std::string> kinds;
  for (const VertexCount& v : s.vertices) kinds.push_back(human_plural(v.count, name_of(v.kind)));
  std::vector<Line> out;
  out.push_back({{s.name, Ink::kBold},
                 {fmt::format("  {}, {}", devices_in_words(s), human_plural(s.nodes, "node"))}});
  out.push_back({{fmt::format("{}", fmt::join(kinds, ", "))}});
  const auto append = [&out](std::vector<Line> lines) {
    for (Line& l : lines) out.push_back(std::move(l));
  };
  append(link_lines(s));
  append(cut_lines(s));
  append(way_lines(s));
  out.emplace_back();
  out.push_back(
      {{"diameter", Ink::kBold},
       {fmt::format("  {} hops; {}, device {} to {}", s.diameter.hops, to_text(s.diameter.latency),
                    human_count(s.diameter.from), human_count(s.diameter.to))}});
  if (!s.fabric.empty()) out.push_back({{"fabric", Ink::kBold}, {"  " + s.fabric}});
  for (const LevelRatio& r : s.oversubscription) {
    std::string text = fmt::format("  {} switches: {:.3g} down to 1 up", name_of(r.level), r.ratio);
    if (std::abs(r.ratio / r.full - 1) > 0.005)
      text += fmt::format(", {:.3g} when their ports are all taken", r.full);
    out.push_back({{"oversubscription", Ink::kBold}, {std::move(text)}});
  }
  return out;
}

std::string topology_json(const TopologySummary& s) {
  Tree vertices = Tree::object(), levels = Tree::object();
  for (const VertexCount& v : s.vertices) {
    std::string key(name_of(v.kind));
    std::replace(key.begin(), key.end(), ' ', '_');
    vertices[key] = v.count;
  }
  for (const LevelRatio& r : s.oversubscription) levels[std::string(name_of(r.level))] = r.ratio;
  return json_text({{"schema_version", 1},
                    {"name", s.name},
                    {"device", s.device},
                    {"devices", s.devices},
                    {"fabric", s.fabric.empty() ? "none" : s.fabric},
                    {"nodes", s.nodes},
                    {"devices_per_node", s.devices_per_node},
                    {"vertices", vertices},
                    {"links", list_of(s.links)},
                    {"bisection", list_of(s.cuts)},
                    {"diameter",
                     {{"hops", s.diameter.hops},
                      {"latency_s", s.diameter.latency.value},
                      {"from", s.diameter.from},
                      {"to", s.diameter.to}}},
                    {"path_diversity", list_of(s.diversity)},
                    {"oversubscription", levels}});
}

std::string topology_dot(const Machine& machine, const std::string& name) {
  const LinkGraph& g = machine.links;
  std::vector<std::int64_t> device_of(boost::num_vertices(g), -1);
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    device_of[machine.devices[d]] = static_cast<std::int64_t>(d);
  }
  std::string out = fmt::format("graph {} {{\n", json_quote(name));
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    const std::int64_t index = device_of[v] >= 0 ? device_of[v] : g[v].index;
    out += fmt::format("  v{} [label=\"{} {}\"];\n", v, name_of(g[v].kind), index);
  }
  for (VertexId v = 0; v < boost::num_vertices(g); ++v) {
    for (auto [e, end] = boost::out_edges(v, g); e != end; ++e) {
      const VertexId to = boost::target(*e, g);
      if (v > to && boost::edge(to, v, g).second) continue;
      out += fmt::format("  v{} -- v{} [class=\"{}\", label=\"{}\"];\n", v, to, name_of(g[*e].link),
                         to_text(g[*e].bandwidth));
    }
  }
  return out + "}\n";
}

}  // namespace plait
