#include "reports/training.h"

#include <fmt/format.h>

#include "reports/human.h"
#include "reports/text.h"

namespace plait {
namespace {

std::string checkpoint_words(const TrainingReport& t) {
  std::string out = fmt::format(
      "{} checkpoints of {}, one every {} ({} steps), {} each", human_count(t.checkpoints),
      human_bytes(t.checkpoint_bytes), human_duration(t.checkpoint_interval_s),
      human_count(t.checkpoint_interval_steps), human_duration(t.checkpoint_stall_s));
  if (t.checkpoint_write_s > 0) {
    out += fmt::format(" and {} beside training", human_duration(t.checkpoint_write_s));
  }
  return out;
}

std::string failure_words(const TrainingReport& t) {
  if (t.machine_mtbf_s <= 0) return "none";
  return fmt::format("{} failures, one every {}, {} until training goes on", human_rate(t.failures),
                     human_duration(t.machine_mtbf_s), human_duration(t.restart_s));
}

}  // namespace

std::vector<Line> training_lines(const TrainingReport& t, int width) {
  std::vector<Line> out = {
      {},
      {{"the whole training", Ink::kBold},
       {fmt::format(": {} tokens, {} steps", human_rate(t.tokens), human_count(t.steps))}}};
  const auto part = [&](const char* name, double time_s) {
    if (time_s > 0)
      out.push_back(bar_line(name, human_duration(time_s), time_s / t.total_s, width));
  };
  part("steps (goodput)", t.steps_s);
  part("done again after failures", t.lost_s);
  part("restarts", t.restarts_s);
  part("checkpoints", t.checkpoints_s);
  std::string total = human_duration(t.total_s);
  if (t.price > 0) total += fmt::format(", {} in all", human_money(t.price));
  append(out, labelled_lines("  total", total, width));
  if (t.energy_kwh > 0) {
    const std::string energy = human_rate(1000 * t.energy_kwh) + "Wh at the devices' rated power";
    append(out, labelled_lines("", energy, width));
  }
  append(out, labelled_lines("", failure_words(t), width));
  append(out, labelled_lines("", checkpoint_words(t), width));
  return out;
}

nlohmann::ordered_json json_tree(const TrainingReport& t) {
  nlohmann::ordered_json out = {{"tokens", t.tokens},
                                {"steps", t.steps},
                                {"total_s", t.total_s},
                                {"goodput", t.goodput()},
                                {"steps_s", t.steps_s},
                                {"lost_s", t.lost_s},
                                {"restarts_s", t.restarts_s},
                                {"checkpoints_s", t.checkpoints_s},
                                {"failures", t.failures},
                                {"machine_mtbf_s", t.machine_mtbf_s},
                                {"restart_s", t.restart_s},
                                {"checkpoints", t.checkpoints},
                                {"checkpoint_bytes", t.checkpoint_bytes},
                                {"checkpoint_interval_s", t.checkpoint_interval_s},
                                {"checkpoint_interval_steps", t.checkpoint_interval_steps},
                                {"checkpoint_stall_s", t.checkpoint_stall_s},
                                {"checkpoint_write_s", t.checkpoint_write_s}};
  if (t.price > 0) out["price"] = t.price;
  if (t.energy_kwh > 0) out["energy_kwh"] = t.energy_kwh;
  return out;
}

}  // namespace plait
