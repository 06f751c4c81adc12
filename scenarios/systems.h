#pragma once
// The systems that people come with, by the names that their users know: each has a preset, a
// scenario that runs as it is, and a page that says who holds what and what it costs.

#include <span>
#include <string>

namespace plait {

struct System {
  const char* name;    // "PyTorch FSDP, HYBRID_SHARD"
  const char* preset;  // scenarios/systems/<preset>.json
  const char* page;    // docs/strategies/<page>.md
  const char* splits;  // what is divided over what, in a few words

  std::string preset_path() const;
  std::string page_path() const;
};

/// All of them, training first, kin beside kin.
std::span<const System> systems();

}  // namespace plait
