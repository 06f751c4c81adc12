// plait version: what is installed.

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "plait_version.h"

namespace plait {

void add_version(Command& command) {
  auto json = std::make_shared<bool>(false);
  Subcommand sub = command.program.subcommand("version", "Print the version");
  sub.flag("--json", *json, "As JSON");
  sub.runs([json] {
    const std::string text =
        *json ? fmt::format("{{\"version\": \"{}\", \"revision\": \"{}\"}}\n", kVersion, kRevision)
              : fmt::format("plait {} ({})\n", kVersion, kRevision);
    print_result({}, text);
    return kYes;
  });
}

}  // namespace plait
