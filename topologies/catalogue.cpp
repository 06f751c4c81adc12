#include "topologies/catalogue.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "core/embedded_file.h"
#include "core/error.h"
#include "core/json.h"
#include "core/spelling.h"

namespace plait {

std::vector<EmbeddedFile> catalogue_files();  // topologies/catalogue/*/*.json

namespace {

/// How messages speak of a kind of entry.
struct EntryKind {
  std::string_view folder, noun, code;
};
constexpr EntryKind kClusters = {"clusters", "cluster", "C001"};
constexpr EntryKind kDevices = {"devices", "device", "C002"};
constexpr EntryKind kFabrics = {"fabrics", "fabric", "C003"};

std::vector<std::string> names(const EntryKind& kind) {
  std::vector<std::string> out;
  for (const CatalogueEntry& e : catalogue()) {
    if (e.kind == kind.folder) out.emplace_back(e.name);
  }
  return out;
}

/// Each entry is read once: importers and searches look at most of them again and again.
template <class T>
T find(const EntryKind& kind, const std::string& name, const Table<T>& table) {
  static std::mutex mutex;
  static std::map<std::string, T> entries;
  const std::lock_guard lock(mutex);
  if (const auto at = entries.find(name); at != entries.end()) return at->second;
  for (const CatalogueEntry& e : catalogue()) {
    if (e.kind != kind.folder || e.name != name) continue;
    T out;
    table.read(parse_json(e.json, fmt::format("catalogue {}/{}.json", kind.folder, name)).root(),
               out);
    return entries.emplace(name, std::move(out)).first->second;
  }
  const std::vector<std::string> known = names(kind);
  const std::string meant = did_you_mean(name, known);
  throw InputError(
      {.code = std::string(kind.code),
       .problem = fmt::format("the catalogue has no {} \"{}\"", kind.noun, name),
       .expected = fmt::format("one of {}", fmt::join(known, ", ")),
       .cure = meant.empty()
                   ? fmt::format("choose one of these, or write out your own {}", kind.noun)
                   : meant});
}

}  // namespace

std::vector<CatalogueEntry> catalogue() {
  std::vector<CatalogueEntry> out;
  for (const EmbeddedFile& file : catalogue_files()) {
    const std::size_t slash = file.path.find('/'), dot = file.path.rfind('.');
    out.push_back(
        {file.path.substr(0, slash), file.path.substr(slash + 1, dot - slash - 1), file.text});
  }
  return out;
}

Device find_device(const std::string& name) { return find(kDevices, name, device_table()); }
NodeSpec find_node(const std::string& name) { return find(kClusters, name, node_table()); }
Fabric find_fabric(const std::string& name) { return find(kFabrics, name, fabric_table()); }

std::vector<std::string> device_names() { return names(kDevices); }
std::vector<std::string> cluster_names() { return names(kClusters); }
std::vector<std::string> fabric_names() { return names(kFabrics); }

}  // namespace plait
