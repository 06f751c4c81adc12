#include "scenarios/dialects/gguf_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/spelling.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::llama_cpp {
namespace {

struct Encoding {
  std::string_view begins, weights, head, dtype = {}, experts = {};
};
// "q4_k_m" and "q4_k_s" mix formats; most matrices are in the one that they are named by. The
// output matrix is in Q6_K unless all are in Q8_0 (llama.cpp's src/llama-quant.cpp). Files
// in MXFP4 have experts in it and all else in Q8_0 (gpt-oss-20b-mxfp4.gguf, by
// OpenAgentsInc/openagents issue 3239).
constexpr std::array kEncodings = {
    Encoding{"q2_k", "q2_k", "q6_k"},          Encoding{"q3_k", "q3_k", "q6_k"},
    Encoding{"q4_0", "q4_0", "q6_k"},          Encoding{"q4_k", "q4_k", "q6_k"},
    Encoding{"q5_k", "q5_k", "q6_k"},          Encoding{"q6_k", "q6_k", "q6_k"},
    Encoding{"q8_0", "q8_0", "q8_0"},          Encoding{"bf16", "plain", "plain", "bf16"},
    Encoding{"f16", "plain", "plain", "fp16"}, Encoding{"fp16", "plain", "plain", "fp16"},
    Encoding{"f32", "plain", "plain", "fp32"}, Encoding{"mxfp4", "q8_0", "q8_0", {}, "mxfp4"},
};

bool is_encoding(std::string_view part) {
  const auto digit = [&](std::size_t i) {
    return part.size() > i && std::isdigit(static_cast<unsigned char>(part[i])) != 0;
  };
  if (part.starts_with("q") || part.starts_with("tq")) return digit(part.find('q') + 1);
  if (part.starts_with("iq") || part.starts_with("mxfp")) return true;
  return part == "bf16" || part == "f16" || part == "fp16" || part == "f32";
}

/// Takes `end` off, if it is there.
void drop(std::string& text, std::string_view end) {
  if (text.ends_with(end)) text.resize(text.size() - end.size());
}

}  // namespace

GgufName gguf_name(std::string_view path) {
  std::string name = lower_case(path.substr(path.rfind('/') + 1));
  drop(name, ".gguf");
  const std::size_t behind = name.find_last_of(":.-");
  GgufName out;
  if (behind != std::string::npos && is_encoding(name.substr(behind + 1))) {
    out.encoding = name.substr(behind + 1);
    name.resize(behind);
  }
  drop(name, "-gguf");
  out.preset = preset_of_hub_name(name);
  const auto* known = std::ranges::find_if(
      kEncodings, [&](const Encoding& e) { return out.encoding.starts_with(e.begins); });
  if (known == kEncodings.end()) return out;
  out.weights = known->weights, out.head = known->head, out.dtype = known->dtype;
  out.experts = known->experts;
  return out;
}

}  // namespace plait::llama_cpp
