#include "topologies/importers/nvidia_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>

#include "core/error.h"
#include "topologies/importers/gpu_list.h"
#include "topologies/importers/lines.h"

namespace plait {
namespace {

constexpr std::string_view kLabels = "X, NV#, PIX, PXB, PHB, NODE or SYS";

[[noreturn]] void refuse(std::string code, std::string problem, const std::string& file, int line,
                         std::string expected, std::string cure) {
  throw InputError({.code = std::move(code),
                    .problem = std::move(problem),
                    .where = {file, line, 0, ""},
                    .expected = std::move(expected),
                    .cure = std::move(cure)});
}

struct Row {
  int line = 0;
  std::vector<std::string> labels;  // one per column
  std::string numa;
};

struct Matrix {
  std::vector<std::string> names;  // of the columns
  std::vector<Row> rows;           // in the order of the columns; line 0: no such row
};

bool is_gpu(const std::string& name) {
  return name.starts_with("GPU") && name.size() > 3 &&
         std::all_of(name.begin() + 3, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The names of the columns, when this is the line above the matrix.
std::vector<std::string> header_names(const std::string& line) {
  std::vector<std::string> names;
  for (const std::string& word : words_of(line)) {
    if (word == "CPU" || word == "NUMA" || word == "GPU") break;  // "CPU Affinity" and so on
    names.push_back(word);
  }
  const bool matrix = !names.empty() && is_gpu(names[0]) &&
                      (line[0] == ' ' || line[0] == '\t' || names.size() > 1) &&
                      (names.size() == 1 || (names[1] != "X" && !names[1].starts_with("NV")));
  return matrix ? names : std::vector<std::string>{};
}

/// Columns behind the matrix: with tabs an empty one keeps its place, else words are counted.
std::string numa_of(const std::string& line, const std::string& header, std::size_t columns) {
  const bool tabs = line.find('\t') != std::string::npos;
  if (tabs) {
    const std::vector<std::string> titles = cells_of(header), cells = cells_of(line);
    for (std::size_t i = 0; i < titles.size() && i < cells.size(); ++i) {
      if (titles[i] == "NUMA Affinity") return cells[i] == "N/A" ? "" : cells[i];
    }
    return "";
  }
  const std::vector<std::string> words = words_of(line);
  const bool has_cpu = header.find("CPU Affinity") != std::string::npos;
  const bool has_numa = header.find("NUMA Affinity") != std::string::npos;
  const std::size_t at = 1 + columns + (has_cpu ? 1 : 0);
  return has_numa && at < words.size() && words[at] != "N/A" ? words[at] : "";
}

Matrix read_matrix(const std::vector<TextLine>& lines, const std::string& file) {
  Matrix out;
  std::string header;
  for (const TextLine& l : lines) {
    if (out.names.empty()) {
      out.names = header_names(l.text);
      out.rows.resize(out.names.size());
      header = l.text;
      continue;
    }
    std::vector<std::string> words = words_of(l.text);
    if (words.empty()) continue;
    const auto at = std::find(out.names.begin(), out.names.end(), words[0]);
    if (at == out.names.end()) continue;
    const std::size_t n = out.names.size();
    if (words.size() < n + 1) {
      refuse("T004",
             fmt::format("the row of {} has {} of {} labels", words[0], words.size() - 1, n), file,
             l.number, "one label for each column", "paste the whole output of nvidia-smi topo -m");
    }
    Row& row = out.rows[static_cast<std::size_t>(at - out.names.begin())];
    row.line = l.number;
    row.numa = numa_of(l.text, header, n);
    row.labels.assign(words.begin() + 1, words.begin() + 1 + static_cast<std::ptrdiff_t>(n));
  }
  return out;
}

/// NVLinks of a label "NV12"; 0 for another.
std::int64_t nvlinks(const std::string& label) {
  std::int64_t links = 0;
  if (!label.starts_with("NV")) return 0;
  std::from_chars(label.data() + 2, label.data() + label.size(), links);
  return links;
}

void check(const Matrix& m, const std::string& file) {
  const auto known = [](const std::string& l) {
    return l == "X" || l == "PIX" || l == "PXB" || l == "PHB" || l == "NODE" || l == "SYS" ||
           (nvlinks(l) > 0 && l == fmt::format("NV{}", nvlinks(l)));
  };
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (m.rows[i].line == 0) {
      refuse("T004", fmt::format("{} has a column and no row", m.names[i]), file, 0,
             "a row for each column", "paste the whole output of nvidia-smi topo -m");
    }
    for (std::size_t j = 0; j < m.names.size(); ++j) {
      const std::string& label = m.rows[i].labels[j];
      if (!known(label) || (label == "X") != (i == j)) {
        refuse("T005", fmt::format("\"{}\" between {} and {}", label, m.names[i], m.names[j]), file,
               m.rows[i].line, std::string(kLabels), "check the row");
      }
      if (j < i && label != m.rows[j].labels[i]) {
        refuse("T006",
               fmt::format("{} to {} is {}, and back it is {}", m.names[i], m.names[j], label,
                           m.rows[j].labels[i]),
               file, m.rows[i].line, "the same in both directions", "check the row");
      }
    }
  }
}

/// Columns that are joined by labels that `joins` accepts, directly or over others: the number of
/// the first of them.
template <class Joins>
std::vector<std::size_t> groups(const Matrix& m, Joins joins) {
  std::vector<std::size_t> group(m.names.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t ours = std::max(group[i], group[j]), theirs = std::min(group[i], group[j]);
      if (ours == theirs || !joins(m.rows[i].labels[j])) continue;
      std::replace(group.begin(), group.end(), ours, theirs);
    }
  }
  return group;
}

std::vector<NodeFacts::Place> places_of(const Matrix& m) {
  const auto below_port = [](const std::string& l) { return l == "PIX" || l == "PXB"; };
  const auto in_numa = [&](const std::string& l) {
    return below_port(l) || l == "PHB" || l == "NODE";
  };
  const std::vector<std::size_t> switches = groups(m, below_port), numa = groups(m, in_numa);
  const bool affinity = std::ranges::any_of(m.rows, [](const Row& r) { return !r.numa.empty(); });
  const bool any_sys = std::ranges::any_of(
      m.rows, [](const Row& r) { return std::ranges::find(r.labels, "SYS") != r.labels.end(); });
  std::vector<NodeFacts::Place> out(m.names.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::ranges::count(switches, switches[i]) > 1) out[i].pcie_switch = m.names[switches[i]];
    if (affinity) out[i].numa = m.rows[i].numa;
    if (!affinity && any_sys) out[i].numa = m.names[numa[i]];
  }
  return out;
}

NodeFacts facts_of(const Matrix& m) {
  const std::vector<NodeFacts::Place> places = places_of(m);
  NodeFacts facts;
  facts.switches_hidden = true;
  std::vector<std::int64_t> device_of(m.names.size(), -1);
  for (std::size_t i = 0; i < m.names.size(); ++i) {
    if (!is_gpu(m.names[i])) {
      facts.nics.push_back(places[i]);
      continue;
    }
    device_of[i] = std::ssize(facts.devices);
    facts.devices.push_back(places[i]);
    for (std::size_t j = 0; j < i; ++j) {
      const std::int64_t links = nvlinks(m.rows[i].labels[j]);
      if (links > 0 && device_of[j] >= 0)
        facts.pairs.push_back({device_of[j], device_of[i], links});
    }
  }
  std::ranges::sort(facts.pairs, {}, [](const MeshLink& p) { return std::pair(p.a, p.b); });
  return facts;
}

}  // namespace

NodeFacts read_nvidia_smi(std::string_view text, const std::string& file) {
  const std::vector<TextLine> lines = lines_of(text);
  const Matrix m = read_matrix(lines, file);
  NodeFacts facts;
  if (!m.names.empty()) {
    check(m, file);
    facts = facts_of(m);
  }
  if (!read_gpu_list(lines, file, facts) && m.names.empty()) {
    refuse(
        "T003", "there is no matrix of nvidia-smi topo -m and no list of GPUs", file, 0,
        "a line of GPU0, GPU1, ... above a row for each; or the output of nvidia-smi alone, with "
        "-q, -L or --query-gpu",
        "paste the whole output");
  }
  return facts;
}

}  // namespace plait
