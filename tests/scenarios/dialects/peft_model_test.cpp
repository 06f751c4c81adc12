// The model of adapter_config.json of PEFT.
#include "tests/scenarios/dialects/imported.h"

namespace plait::peft_model_test {

using import_test::imported;
using import_test::refusal;

TEST(Peft, ItsModelIsThatOfABaseWithoutOne) {
  const auto model = [](const std::string& base, const std::string& name) {
    return imported(Dialect::kPeft,
                    R"({"target_modules": ["q_proj"], "base_model_name_or_path": ")" + name + "\"}",
                    base)
        .model.name;
  };
  const std::string rest =
      R"("workload": {"sequence_length": 4096, "global_batch": 64}, "cluster": "hgx-h100"})";
  EXPECT_EQ(model("{" + rest, "meta-llama/Llama-3.1-8B-Instruct"), "llama-3.1-8b");
  EXPECT_EQ(model(R"({"model": "qwen3-8b", )" + rest, "meta-llama/Llama-3.1-8B"), "qwen3-8b");
  EXPECT_EQ(
      refusal(Dialect::kPeft,
              R"({"target_modules": ["q_proj"], "base_model_name_or_path": "a/none"})", "{" + rest),
      "D005 line 0");
}

}  // namespace plait::peft_model_test
