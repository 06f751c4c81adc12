// The step time of a scenario, by the installed library: scenario -> plan -> timeline -> report.
#include <cstdio>

#include "core/error.h"
#include "prediction/prediction.h"
#include "prediction/run_facts.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const plait::Scenario scenario = plait::load_scenario(argv[1]);
    const plait::Prediction p = plait::predict(scenario, {}, plait::run_facts(scenario, "example"));
    std::printf("%.6f s\n", p.report.step_time_s);
  } catch (const plait::InputError& error) {
    std::fprintf(stderr, "%s", error.what());
    return 2;
  }
}
