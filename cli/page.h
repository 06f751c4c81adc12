#pragma once
// --html FILE: the result as one HTML page, for every subcommand that has one.

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "prediction/prediction.h"
#include "reports/html/page.h"

namespace plait {

/// --html FILE.
Option add_html_option(Subcommand command, std::string& file);

/// A page without pictures yet; `result` is what --format json prints.
Page page_of(const std::string& kind, const RunFacts& facts, std::string result);

/// The timeline, the memory (where `prediction` has its curve) and the machine of one scenario.
void add_pictures(Page& page, const Scenario& scenario, const Prediction& prediction);

/// The machine, and where on it the ranks run.
void add_machine(Page& page, const Scenario& scenario);

/// Whole or not at all; nothing when `file` is empty. Throws EnvironmentError.
void save_page(const std::string& file, const Page& page);

}  // namespace plait
