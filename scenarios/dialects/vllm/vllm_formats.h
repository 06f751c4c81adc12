#pragma once
// How vLLM gets weights that are quantised: as the checkpoint has them, which vLLM sees in its
// config.json and an import in its name, or quantised by itself while it loads them.
// --quantization names the method, which has to be the checkpoint's
// (vllm/config/model.py, _verify_quantization).

#include <string>

#include "scenarios/dialects/arguments.h"

namespace plait::vllm {

/// The model as the command line names it, in its line; "" where it does not. `preset`: it, or "".
struct NamedModel {
  std::string name;
  int line = 0;
  std::string preset;
};

/// What both say of serving.weights and its kin; nothing where neither says any. Throws InputError
/// D004 where they are of different formats, D006 for a method that a scenario cannot say.
void read_quantization(Arguments& args, Imported& out, const NamedModel& model);

}  // namespace plait::vllm
