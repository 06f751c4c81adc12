#pragma once
// The commands of containers in Kubernetes' manifests and in compose files: YAML that has options
// as items of a list or as one text.

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/dialects/shell/program_words.h"

namespace plait {

bool is_manifest(const std::string& text);
struct ManifestReplicas {
  std::int64_t count = 1;
  int line = 0;
};
/// How many pods a manifest asks for; one where it is none, or does not say.
ManifestReplicas replicas_of_manifest(const std::string& text);
/// Its text as a shell would have it: an item of a list is a word without its dash, bracket and
/// comma. Lines stay where they are. Any other text is itself.
std::string without_items(const std::string& text);
/// Of a manifest's words (without_items) those of the container that starts the program and of no
/// container; all where none does. Throws InputError D004 where several do, with different words.
std::vector<ShellWord> words_of_container(std::vector<ShellWord> words, const std::string& manifest,
                                          const StartedProgram& program, const std::string& file);

}  // namespace plait
