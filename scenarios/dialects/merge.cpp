// What a file says over what a base scenario says, as a scenario.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/capped_product.h"
#include "core/json.h"
#include "core/units.h"
#include "scenarios/dialects/base_scenario.h"
#include "scenarios/dialects/batch_sizes.h"
#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/dialects/dialects.h"
#include "scenarios/dialects/hosts.h"
#include "scenarios/dialects/idle_layout.h"
#include "scenarios/dialects/lent_devices.h"
#include "scenarios/dialects/linear_modules.h"
#include "scenarios/dialects/missing_parts.h"
#include "scenarios/dialects/scenario_tree.h"
#include "scenarios/fields.h"
#include "scenarios/machine.h"

namespace plait {
namespace {

using Tree = ScenarioTree::Node;

class Merge {
 public:
  Merge(const Imported& imported, const std::string& file, const BaseScenario& base,
        ScenarioTree tree)
      : imported_(imported), file_(file), base_(base), tree_(std::move(tree)) {
    const bool new_one = base.text.empty();
    const std::string rest = new_one ? "" : ", the rest from " + base.file;
    tree_.root["comment"] = fmt::format("Imported from {}{}.", file, rest);
    tree_.root.erase("name");
    const bool trains = tree_.root.contains("workload") || tree_.root.contains("training");
    serves_ = tree_.root.contains("serving") || (imported.serves && !trains);
    if (serves_ && !imported.serves) refuse_to_train(file, base);
    const bool whole = trains && tree_.root.contains("model") && tree_.root.contains("cluster");
    const bool names_none = !serves_ && !tree_.root.contains("framework");
    if (names_none && !whole && !imported.framework.empty()) {
      tree_.root["framework"] = imported.framework;
    }
    fuses_all_ = names_none && whole && !tree_.root.contains("kernels");
    for (const char* part : {"model", serves_ ? "serving" : "workload", "strategy", "cluster"}) {
      if (!tree_.root.contains(part)) tree_.root[part] = Tree::object();
    }
    // A model that the file describes is no other one changed.
    if (given("model.layers") != nullptr && given("model.vocab") != nullptr) {
      tree_.root["model"] = Tree::object();
    }
    // The sizes that a base's other ranks had need not be those of this file.
    if (!imported.keeps_ranks) {
      tree_.root["strategy"].erase("dp");
      tree_.root["strategy"].erase("fsdp");
    }
    set_given();
  }

  /// `path` relative to the base's folder -> relative to `to`.
  void move_path(const std::string& path, const std::filesystem::path& from,
                 const std::filesystem::path& to) {
    Tree* at = find(path);
    if (at == nullptr || !at->is_string()) return;
    const std::filesystem::path named = from / at->get<std::string>();
    *at = std::filesystem::proximate(named, to.empty() ? "." : to).generic_string();
  }

  /// W013: the program of the file has other kernels than a whole base that names none. W008: what
  /// the file says of the machine is not what the base says.
  void warn(Warnings& warnings) const {
    if (fuses_all_ && !imported_.framework.empty()) {
      warnings.push_back(
          {"W013",
           fmt::format("each op is one kernel, as the base names no framework; what this file "
                       "starts runs the kernels of {0}: set framework to \"{0}\" in the base",
                       imported_.framework)});
    }
    if (!machine_.empty())
      warnings.push_back({"W008", fmt::format("{}", fmt::join(machine_, "; "))});
  }

  /// D005.
  void refuse_missing_parts() {
    std::vector<std::string> missing;
    const auto need = [&](const char* path) {
      if (find(path) == nullptr) missing.emplace_back(path);
    };
    for (const char* key : {"model.layers", "model.hidden", "model.heads", "model.vocab"}) {
      if (!names_model()) need(key);
    }
    if (!serves_) need("workload.sequence_length");
    if (!serves_ && !infers_global_batch()) need("workload.global_batch");
    if (!names_machine()) missing.emplace_back("cluster");
    if (missing.empty()) return;
    refuse_missing(missing, imported_.unknown_model, file_);
  }

  void share_out_the_ranks(Warnings* warnings) {
    const std::string text = Tree{{"cluster", tree_.root["cluster"]}}.dump();
    const Cluster machine = machine_in(text);
    widen(machine.device, warnings);
    const std::int64_t devices = machine.world_size();
    const auto counted = [&] {
      return capped_product({size("tp"), size("pp"), size("cp"), size("ep")});
    };
    const std::string& axis = imported_.takes_rest;
    if (!axis.empty() && find("strategy." + axis) == nullptr) {
      set("strategy." + axis, std::max<std::int64_t>(devices / counted(), 1));
    }
    const std::int64_t others = counted();
    if (serves_ && imported_.serves && find("serving.disaggregated") == nullptr) {
      return take_devices(tree_, machine, capped_product({others, size("dp")}), warnings);
    }
    const char* named = imported_.rest_shards ? "dp" : "fsdp";
    const std::int64_t rest = devices / capped_product({others, size(named)});
    if (imported_.rest_shards && rest > 0) set("strategy.fsdp", rest);
    if (size("fsdp") == 1) tree_.root["strategy"].erase("fsdp");
    // Over all ranks the secondary shard is the primary one.
    const Tree* secondary = find("strategy.zero_plus_plus.secondary_shard");
    const bool is_primary = !imported_.rest_shards && rest <= 1 && secondary != nullptr &&
                            given("strategy.zero_plus_plus.secondary_shard") != nullptr;
    if (is_primary && *secondary == true) set("strategy.zero_plus_plus.secondary_shard", false);
    const std::int64_t replicas =
        capped_product({size("ep"), size(named), std::max<std::int64_t>(rest, 1)});
    const bool alone = rest >= 1 && replicas == 1 && size("cp") == 1;
    if (alone && given("strategy.zero_stage") != nullptr) keep_whole(tree_, warnings);
    if (!serves_) agree_on_batches(tree_, imported_, file_, replicas, warnings);
    const Imported::Bucket& bucket = imported_.bucket;
    if (bucket.least.value > 0) {
      const std::int64_t of_all = capped_product({bucket.for_each_replica.value, replicas});
      set("strategy.data.bucket", exact_text(Bytes(std::max(bucket.least.value, of_all))));
    }
  }

  /// The training's length, where the file says it in steps.
  void count_tokens() {
    const Tree *batch = find("workload.global_batch"), *length = find("workload.sequence_length");
    if (serves_ || !imported_.steps || batch == nullptr || length == nullptr) return;
    if (!batch->is_number_integer() || !length->is_number_integer()) return;
    set("training.tokens", capped_product({*imported_.steps, batch->get<std::int64_t>(),
                                           length->get<std::int64_t>()}));
  }

  /// Of the file's machine, where it is another than the base's; "": nothing.
  void note_machine(std::string what) {
    if (!what.empty()) machine_.push_back(std::move(what));
  }

  void leave_out_what_is_idle() { leave_out_idle(tree_, imported_.keeps_ranks); }

  /// What parse_scenario says of it points at the line that said so, of the file or the base.
  Scenario check(const std::string& folder) const {
    const std::filesystem::path name = "imported.json";
    try {
      return parse_scenario(text(), (std::filesystem::path(folder) / name).string());
    } catch (const InputError& e) {
      refuse(e.text());
    }
  }

  /// W008 where the model's modules are not known.
  void adapt_all_linear(const Model& model, const std::string& folder, Warnings* warnings) {
    if (!imported_.adapts_all_linear || serves_) return;
    const LinearModules modules = linear_modules(tree_.root["model"], folder, model);
    std::vector<std::string> names;
    for (const AdapterTarget t : modules.targets) names.emplace_back(name_of(t));
    set("workload.lora.targets", names);
    if (!modules.assumed || warnings == nullptr) return;
    warnings->push_back({"W008", fmt::format("\"all-linear\" is read as {} of each layer: which "
                                             "modules such a model has is not known",
                                             fmt::join(names, ", "))});
  }

  std::string text() const { return tree_.root.dump(2) + "\n"; }

 private:
  /// What the file says, over what the base does.
  void set_given() {
    for (const Given& g : imported_.given) {
      if (of_another_task(g) || (serves_ && g.by_default && tree_.states(g.path))) continue;
      if (g.path == "placement.order") tree_.root.erase("placement");
      note_machine(g);
      set(g.path, Tree::parse(g.value));
    }
    if (!imported_.adapted_model.empty() && tree_.root["model"].empty()) {
      tree_.root["model"] = imported_.adapted_model;
    }
    if (imported_.tokenizer_vocab > 0 && !names_model() && find("model.vocab") == nullptr) {
      set("model.vocab", imported_.tokenizer_vocab);
    }
    for (const Imported::OfType& of : imported_.by_type) {
      if (serves_ || of.weights != weights()) continue;
      for (const Given& g : of.given) set(g.path, Tree::parse(g.value));
    }
  }

  [[noreturn]] void refuse(InputError::Text told) const {
    const std::string path = told.where.path;
    told.where = {file_, 0, 0, path};
    if (told.code == "S002" && !machine_.empty()) {
      told.cure = fmt::format("{}: {}", fmt::join(machine_, "; "), told.cure);
    }
    if (told.code == "F002") told.cure += fmt::format(": --base '{}'", said_at(path, told));
    for (const Given& g : imported_.given) {
      const bool same = g.path == path || g.path.starts_with(path + ".");
      if (same && told.where.line == 0) told.where.line = g.line;
    }
    const bool of_file = told.where.line > 0 || given(path) != nullptr;
    if (!of_file) told.where = place_in(base_, told.where);
    throw InputError(std::move(told));
  }

  Cluster machine_in(const std::string& text) const {
    try {
      return parse_machine(text, file_).cluster;
    } catch (const InputError& e) {
      refuse(e.text());
    }
  }

  /// Weights of products that the device does not have.
  void widen(const Device& device, Warnings* warnings) {
    const std::pair<const char*, const char*> layers[] = {
        {"serving.products", "serving.weights"},
        {"serving.expert_products", "serving.expert_weights"}};
    for (const auto& [products, weights] : layers) {
      const Given* type = given(products);
      if (!serves_ || type == nullptr) continue;
      const std::string dtype = Tree::parse(type->value).get<std::string>();
      const std::optional<WeightFormat> widened = widened_on(device, dtype);
      if (!widened) continue;
      set(products, "plain");
      set(weights, name_of(*widened));
      if (warnings == nullptr) continue;
      warnings->push_back(
          {"W008",
           fmt::format("{} has no products in {}: weights for them are read as widened by products",
                       device.name, dtype)});
      warnings = nullptr;
    }
  }

  /// The type of weights, of the file or the base.
  std::string weights() {
    const Tree* at = find("workload.precision.weights");
    if (at == nullptr) at = find("workload.precision");
    return at != nullptr && at->is_string() ? at->get<std::string>() : "bf16";
  }

  /// Training's in a scenario that serves, or serving's in one that trains.
  bool of_another_task(const Given& g) const {
    if (serves_) {
      return g.path.starts_with("workload.") || g.path.starts_with("training.") ||
             g.path == "strategy.zero_stage";
    }
    if (!g.path.starts_with("serving.")) return false;
    if (g.line == 0) return true;
    throw InputError(
        {"D008",
         fmt::format("the file says {}, and the base is a scenario of training", g.path),
         {file_, g.line, 0, g.path},
         "a base with a section serving",
         "give such a base, or none"});
  }

  void note_machine(const Given& g) {
    if (g.path == "cluster.devices_per_node") note_devices(g);
    const Tree* base = find(g.path);
    if (!g.path.starts_with("cluster.") || base == nullptr || base->dump() == g.value) return;
    const std::string by = g.line > 0 ? fmt::format("line {}", g.line) : "the program's default";
    machine_.push_back(
        fmt::format("{} is {} ({}), not {} as in the base", g.path, g.value, by, base->dump()));
  }

  /// Where the base names a machine with fewer.
  void note_devices(const Given& g) {
    if (!names_machine() || tree_.states(g.path)) return;
    const std::int64_t there =
        machine_in(Tree{{"cluster", tree_.root["cluster"]}}.dump()).devices_per_node;
    if (Tree::parse(g.value) <= there) return;
    machine_.push_back(
        fmt::format("cluster.devices_per_node is {} (line {}), more than the {} of "
                    "the base's machine",
                    g.value, g.line, there));
  }

  bool names_machine() {
    return tree_.root["cluster"].is_string() || find("cluster.preset") || find("cluster.node");
  }

  /// By a preset or a config.json, which have all of its sizes.
  bool names_model() {
    return tree_.root["model"].is_string() || find("model.preset") || find("model.hf_config");
  }

  Tree* find(const std::string& path) { return tree_.find(path); }
  void set(const std::string& path, Tree value) { tree_.set(path, std::move(value)); }
  std::int64_t size(const std::string& axis) { return tree_.size(axis); }

  const Given* given(std::string_view path) const {
    const auto found = std::ranges::find(imported_.given, path, &Given::path);
    return found == imported_.given.end() ? nullptr : &*found;
  }

  bool infers_global_batch() {
    const Tree* micro = find("workload.micro_batch");  // of the file, or the base
    return accumulation_steps(imported_) > 0 && micro != nullptr && micro->is_number_integer();
  }

  const Imported& imported_;
  const std::string& file_;
  const BaseScenario& base_;
  ScenarioTree tree_;
  bool serves_ = false;               // or trains
  bool fuses_all_ = false;            // the base, which says all but which kernels there are
  std::vector<std::string> machine_;  // where the file's is another than the base's
};

}  // namespace

std::string scenario_json(const Imported& imported, const std::string& file,
                          const BaseScenario& base, const std::string& folder, Warnings* warnings) {
  if (!base.text.empty()) check_base(base);
  ScenarioTree tree = tree_of(base);
  const Imported counted = in_nodes(imported, tree, file);
  Merge merge(counted, file, base, tree);
  merge.note_machine(note_of_other_hosts(imported, tree));
  const std::filesystem::path from = std::filesystem::path(base.file).parent_path();
  merge.move_path("model.hf_config", from, folder);
  merge.move_path("calibration", from, folder);
  merge.refuse_missing_parts();
  if (!imported.keeps_ranks) merge.share_out_the_ranks(warnings);
  merge.count_tokens();
  merge.leave_out_what_is_idle();
  const Scenario checked = merge.check(folder);
  merge.adapt_all_linear(checked.model, folder, warnings);
  if (warnings != nullptr) merge.warn(*warnings), warn_of_processor(checked, *warnings);
  return merge.text();
}

}  // namespace plait
