#include "scenarios/machine.h"

#include "scenarios/file_kind.h"
#include "scenarios/overrides.h"
#include "scenarios/resolve.h"

namespace plait {
namespace {

/// A scenario, or a cluster put where a scenario has it.
JsonDocument document_of(const std::string& text, const std::string& file) {
  JsonDocument document = parse_json(text, file);
  const auto has = [&](const char* key) { return document.root().find(key) != nullptr; };
  if (has("cluster")) return document;
  if (!has("preset") && !has("node") && !has("devices_per_node")) refuse_other_files(text, file);
  document.wrap({}, "cluster");
  return document;
}

}  // namespace

DescribedCluster parse_machine(const std::string& text, const std::string& file,
                               const std::vector<Override>& overrides) {
  Scenario scenario;
  auto document = std::make_shared<JsonDocument>(document_of(text, file));
  scenario.source = document;
  scenario.overrides = overrides;
  for (const Override& o : overrides)
    apply_override(*document, scenario_shape(), o.path, o.value, place_of(o));
  try {
    const Json& json = *document->root().find("cluster");
    ClusterPart part;
    cluster_table().read(json, part);
    DescribedCluster out = {resolve_cluster(json, part), {}};
    warn_of_links(part, out.cluster, out.warnings);
    return out;
  } catch (const InputError& e) {
    throw locate(e, scenario);
  }
}

}  // namespace plait
