// Options of MindSpeed-LLM that Megatron-LM has under other names: mindspeed_llm/training/
// arguments.py of github.com/Ascend/MindSpeed-LLM, _add_mla_args and _add_deepseek_moe_args. And
// --encoder-seq-length, which Megatron-LM takes as --seq-length where that is absent
// (megatron/training/arguments.py, validate_args).
#include "scenarios/dialects/megatron/megatron.h"

namespace plait::megatron {
namespace {

constexpr Alias kNamesOfForks[] = {
    {"--moe-intermediate-size", "--moe-ffn-hidden-size"},
    {"--multi-head-latent-attention", "--multi-latent-attention"},
    {"--qk-nope-head-dim", "--qk-head-dim"},
    {"--qk-rope-head-dim", "--qk-pos-emb-head-dim"},
    {"--encoder-seq-length", "--seq-length"},
};

}  // namespace

std::vector<ShellWord> with_names_of_forks(std::vector<ShellWord> words) {
  return with_names(std::move(words), kNamesOfForks);
}

}  // namespace plait::megatron
