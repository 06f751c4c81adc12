#include "scenarios/published/attention_of.h"

#include <regex>

#include "core/spelling.h"

namespace plait {
namespace {

/// The version that is named, "1" to "4"; empty where none is.
std::string version_of(const std::string& words) {
  static const std::regex kVersion(R"((?:flash[ _-]?att(?:entio)?n|\bfa)[ _-]?v?([1-4])\b)");
  std::smatch found;
  return std::regex_search(words, found, kVersion) ? found[1].str() : "";
}

bool denies(const std::string& words) {
  static const std::regex kNone(R"(\b(?:no|not|non|without)[ _-](?:flash|fa\b))");
  return std::regex_search(words, kNone);
}

}  // namespace

AttentionWords attention_of(const PublishedRun& run) {
  const std::string words = lower_case(run.kernel);
  AttentionWords out;
  const std::string version = version_of(words);
  const bool flash = mentions(words, "flash") || !version.empty();
  if (flash && !denies(words)) {
    out.flash = true;
    // The third is what "newest" stands for on Hopper.
    if (!version.empty() && version != "3") out.kernel = "flash" + version;
  } else if (mentions(run.arguments, "--attention-backend flash")) {
    out.flash = true;
  } else if (!words.empty() || mentions(run.arguments, "--attention-backend unfused")) {
    out.flash = false;
    out.eager_softmax = words == "torch";
  } else if (mentions(run.notes, "transformer_impl=local")) {
    // Megatron-Core's own layers, without Transformer Engine, multiply scores and values apart.
    out.flash = false;
  }
  return out;
}

}  // namespace plait
