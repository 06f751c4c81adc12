#pragma once
// The commands of containers in Kubernetes' manifests and in compose files: YAML that has options
// as items of a list or as one text.

#include <string>

namespace plait {

bool is_manifest(const std::string& text);
/// Its text as a shell would have it: an item of a list is a word without its dash, bracket and
/// comma. Lines stay where they are. Any other text is itself.
std::string without_items(const std::string& text);

}  // namespace plait
