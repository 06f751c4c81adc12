#include "scenarios/varied_fields.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace plait {

void PrintTo(const VariedField& f, std::ostream* out) {
  *out << f.path << " = " << testing::PrintToString(f.values);
}
bool operator==(const VariedField& a, const VariedField& b) {
  return a.path == b.path && a.values == b.values;
}

namespace {

using Fields = std::vector<VariedField>;

Fields varied(const std::string& text) { return varied_fields(text, "x.json"); }

TEST(VariedFields, HaveListsWhereOneValueBelongs) {
  EXPECT_EQ(varied(R"({"workload": {"sequence_length": [2048, 4096]},
                         "kernels": {"attention": ["flash2", "cudnn"]},
                         "cluster": {"fabric": "ndr400", "node": {"nics": [4, 8]}}})"),
            Fields({{"workload.sequence_length", {"2048", "4096"}},
                    {"kernels.attention", {"flash2", "cudnn"}},
                    {"cluster.node.nics", {"4", "8"}}}));
}

TEST(VariedFields, AreNotThoseThatASearchChooses) {
  EXPECT_EQ(varied(R"({"strategy": {"tp": [1, 2], "pp": "auto", "recompute": ["none", "full"]}})"),
            Fields());
}

TEST(VariedFields, MayHaveListsAsValues) {
  EXPECT_EQ(varied(R"({"strategy": {"pipeline": {"stage_layers": [3, 5]}}})"), Fields());
  EXPECT_EQ(varied(R"({"strategy": {"pipeline": {"stage_layers": [[3, 5], [4, 4]]}}})"),
            Fields({{"strategy.pipeline.stage_layers", {"[3,5]", "[4,4]"}}}));
}

TEST(VariedFields, TakeWordsAsTheyAreAndQuoteWhatIsNone) {
  EXPECT_EQ(
      varied(R"({"name": ["a", "true", "4 GB"], "interference": [true, false]})"),
      Fields({{"name", {"a", R"("true")", R"("4 GB")"}}, {"interference", {"true", "false"}}}));
}

TEST(VariedFields, OfSomeAutoSaysWhich) {
  EXPECT_EQ(varied(R"({"strategy": {"offload": {"activations": "auto"}}})"),
            Fields({{"strategy.offload.activations", {"none", "cpu"}}}));
  EXPECT_EQ(
      varied(R"({"strategy": {"offload": "auto"}})"),
      Fields({{"strategy.offload", {"none", "cpu", R"({"optimizer":"cpu","parameters":"cpu"})"}}}));
  EXPECT_EQ(varied(R"({"strategy": {"offload": {"optimizer": "auto"}}})"),
            Fields({{"strategy.offload.optimizer", {"none", "cpu"}}}));
  const std::vector<VariedField> order = varied(R"({"placement": {"order": "auto"}})");
  ASSERT_EQ(order.size(), 1U);
  EXPECT_EQ(order[0].values.size(), 2U);
  EXPECT_EQ(varied(R"({"workload": {"precision": "auto"}})"), Fields());
}

TEST(VariedFields, WantAtLeastOneValue) {
  EXPECT_THROW(varied(R"({"interference": []})"), InputError);
}

}  // namespace
}  // namespace plait
