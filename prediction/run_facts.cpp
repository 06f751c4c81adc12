#include "prediction/run_facts.h"

#include "core/sha256.h"
#include "plait_version.h"

namespace plait {

RunFacts run_facts(const Scenario& scenario, const std::string& command_line) {
  RunFacts facts;
  facts.version = kVersion;
  facts.revision = kRevision;
  facts.scenario = scenario.name;
  facts.scenario_sha256 = sha256(scenario.canonical_json);
  facts.command = command_line;
  facts.warnings = scenario.warnings;
  return facts;
}

}  // namespace plait
