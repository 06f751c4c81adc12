#include "scenarios/dialects/llama_cpp/gguf_names.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/spelling.h"
#include "model/presets.h"
#include "scenarios/dialects/checkpoint_names.h"
#include "scenarios/dialects/hub_names.h"

namespace plait::llama_cpp {
namespace {

struct Encoding {
  std::string_view begins, weights, head, dtype = {}, experts = {};
};
// "q4_k_s" and "q3_k_m" mix formats too; most matrices are in the one that they are named by, or
// else in that of llama_ftype_get_default_type. The output matrix is in Q6_K unless all are in
// Q8_0, of the narrowest ones in Q5_K (llama.cpp's src/llama-quant.cpp). Files in MXFP4 have
// experts in it and all else in Q8_0. "q8_k_xl" and "q6_k_l" are Unsloth's and others' for wider
// mixes. The first row that a name begins with counts.
constexpr std::array kEncodings = {
    Encoding{"q4_k_m", "q4_k_m", "q6_k"},      Encoding{"q5_k_m", "q5_k_m", "q6_k"},
    Encoding{"q2_k", "q2_k", "q6_k"},          Encoding{"q3_k", "q3_k", "q6_k"},
    Encoding{"q4_0", "q4_0", "q6_k"},          Encoding{"q4_1", "q4_1", "q6_k"},
    Encoding{"q4_k", "q4_k", "q6_k"},          Encoding{"q5_0", "q5_0", "q6_k"},
    Encoding{"q5_1", "q5_1", "q6_k"},          Encoding{"q5_k", "q5_k", "q6_k"},
    Encoding{"q6_k", "q6_k", "q6_k"},          Encoding{"q8_", "q8_0", "q8_0"},
    Encoding{"iq4_nl", "iq4_nl", "q6_k"},      Encoding{"iq4_xs", "iq4_xs", "q6_k"},
    Encoding{"iq3_xxs", "iq3_xxs", "q5_k"},    Encoding{"iq3_", "iq3_s", "q6_k"},
    Encoding{"iq2_xxs", "iq2_xxs", "q5_k"},    Encoding{"iq2_m", "iq2_s", "q5_k"},
    Encoding{"iq2_", "iq2_xs", "q5_k"},        Encoding{"iq1_m", "iq1_m", "q5_k"},
    Encoding{"iq1_s", "iq1_s", "q5_k"},        Encoding{"tq1_", "iq1_m", "q5_k"},
    Encoding{"tq2_", "iq2_xxs", "q5_k"},       Encoding{"bf16", "plain", "plain", "bf16"},
    Encoding{"f16", "plain", "plain", "fp16"}, Encoding{"fp16", "plain", "plain", "fp16"},
    Encoding{"f32", "plain", "plain", "fp32"}, Encoding{"mxfp4", "q8_0", "q8_0", {}, "mxfp4"},
};

bool is_encoding(std::string_view part) {
  const auto digit = [&](std::size_t i) {
    return part.size() > i && std::isdigit(static_cast<unsigned char>(part[i])) != 0;
  };
  if (part.starts_with("q") || part.starts_with("tq")) {
    const std::size_t number = part.find('q') + 1;
    return digit(number) && part.size() > number + 1 && part[number + 1] == '_';
  }
  if (part.starts_with("iq")) return digit(2);
  return part.starts_with("mxfp") || part == "bf16" || part == "f16" || part == "fp16" ||
         part == "f32";
}

/// Takes `end` off, if it is there.
void drop(std::string& text, std::string_view end) {
  if (text.ends_with(end)) text.resize(text.size() - end.size());
}

/// "-00001-of-00003", behind the encoding of a file that is one of several.
void drop_shard(std::string& name) {
  constexpr std::string_view kLike = "-00000-of-00000";
  if (name.size() < kLike.size()) return;
  const std::string_view end = std::string_view(name).substr(name.size() - kLike.size());
  const auto same = [](char like, char c) {
    return like == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : like == c;
  };
  if (std::ranges::equal(kLike, end, same)) name.resize(name.size() - kLike.size());
}

/// Takes the last encoding out of the name, with "ud-", Unsloth's mark, in front of it.
std::string take_encoding(std::string& name) {
  constexpr std::string_view kJoints = ":.-";
  for (std::size_t end = name.size(); end != std::string::npos && end > 0;) {
    const std::size_t joint = name.find_last_of(kJoints, end - 1);
    const std::size_t begin = joint == std::string::npos ? 0 : joint + 1;
    std::string part = name.substr(begin, end - begin);
    if (is_encoding(part)) {
      name.erase(joint == std::string::npos ? 0 : joint, end - joint);
      if (joint != std::string::npos && std::string_view(name).substr(0, joint).ends_with("-ud")) {
        name.erase(joint - 3, 3);
      }
      return part;
    }
    end = joint;
  }
  return "";
}

/// Experts of gpt-oss are in MXFP4 whatever else is in: in F16 files too, and in Q4_K_M ones, as
/// its width, 2,880, is no multiple of 256 (ggml-org/llama.cpp issue 15117; the card of
/// bartowski/openai_gpt-oss-20b-GGUF).
bool has_mxfp4_experts(std::string_view preset) {
  const CheckpointFormat* published = published_format(preset);
  return published != nullptr && published->experts == "mxfp4";
}

struct Fallback {
  std::string_view type, instead;
};
// llama.cpp's src/llama-quant.cpp, of rows that are no multiple of 256.
constexpr Fallback kFallbacks[] = {
    {"q4_k", "q5_0"}, {"q4_k_m", "q5_0"}, {"q5_k", "q5_1"}, {"q5_k_m", "q5_1"}, {"q6_k", "q8_0"}};
constexpr std::string_view kOfBlocksOf32[] = {"q4_0", "q4_1",   "q5_0", "q5_1",
                                              "q8_0", "iq4_nl", "plain"};

/// What most matrices have where the model's width is no multiple of 256, and so its rows.
std::string_view stored(std::string_view type, std::int64_t width) {
  constexpr std::int64_t kSuperBlock = 256;
  const bool whole = width % kSuperBlock == 0 || std::ranges::count(kOfBlocksOf32, type) != 0;
  if (whole) return type;
  const auto* found = std::ranges::find(kFallbacks, type, &Fallback::type);
  return found == std::end(kFallbacks) ? "iq4_nl" : found->instead;
}

}  // namespace

GgufName gguf_name(std::string_view path, std::string_view encoding) {
  std::string name = lower_case(path.substr(path.rfind('/') + 1));
  drop(name, ".gguf");
  drop_shard(name);
  GgufName out;
  out.encoding = take_encoding(name);
  drop(name, "-gguf");
  out.preset = preset_of_hub_name(name), out.positions = positions_of_hub_name(name);
  const bool mxfp4 = has_mxfp4_experts(out.preset);
  if (out.encoding.empty()) out.encoding = mxfp4 ? "mxfp4" : encoding;
  const auto* known = std::ranges::find_if(
      kEncodings, [&](const Encoding& e) { return out.encoding.starts_with(e.begins); });
  if (known != kEncodings.end()) {
    const Model* model = find_preset(out.preset);
    const std::int64_t width = model == nullptr ? 0 : model->hidden;
    const std::string_view head = stored(known->head, width);
    out.weights = stored(known->weights, width), out.dtype = known->dtype;
    out.head = head == known->head ? head : "q8_0", out.experts = known->experts;
  }
  if (mxfp4) out.experts = "mxfp4";
  return out;
}

}  // namespace plait::llama_cpp
