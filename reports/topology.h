#pragma once
// A machine for people and programs: its summary as text and JSON, its graph as DOT and its picture
// as SVG.

#include <string>
#include <vector>

#include "reports/terminal.h"
#include "topologies/summary.h"

namespace plait {

/// "32 x h100-sxm", of several kinds "16 x h100-sxm + 16 x a100-80-sxm".
std::string devices_in_words(const TopologySummary& summary);

std::vector<Line> topology_lines(const TopologySummary& summary);
/// Keys in docs/topology.md.
std::string topology_json(const TopologySummary& summary);
/// Every vertex and link, for Graphviz: one edge per link, bandwidth per direction.
std::string topology_dot(const Machine& machine, const std::string& name);
/// One node of each kind from the inside, the fabric between them with alike switches drawn once
/// where there are many, and what the lines mean.
std::string topology_svg(const Cluster& cluster, const TopologySummary& summary);

}  // namespace plait
