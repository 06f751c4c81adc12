#include "scenarios/varied_fields.h"

#include <gmock/gmock.h>
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

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<VariedField> varied(const std::string& text) { return varied_fields(text, "x.json"); }

TEST(VariedFields, HaveListsWhereOneValueBelongs) {
  EXPECT_THAT(varied(R"({"workload": {"sequence_length": [2048, 4096]},
                         "kernels": {"attention": ["flash2", "cudnn"]},
                         "cluster": {"fabric": "ndr400", "node": {"nics": [4, 8]}}})"),
              ElementsAre(VariedField{"workload.sequence_length", {"2048", "4096"}},
                          VariedField{"kernels.attention", {"flash2", "cudnn"}},
                          VariedField{"cluster.node.nics", {"4", "8"}}));
}

TEST(VariedFields, AreNotThoseThatASearchChooses) {
  EXPECT_THAT(
      varied(R"({"strategy": {"tp": [1, 2], "pp": "auto", "recompute": ["none", "full"]}})"),
      IsEmpty());
}

TEST(VariedFields, MayHaveListsAsValues) {
  EXPECT_THAT(varied(R"({"strategy": {"pipeline": {"stage_layers": [3, 5]}}})"), IsEmpty());
  EXPECT_THAT(varied(R"({"strategy": {"pipeline": {"stage_layers": [[3, 5], [4, 4]]}}})"),
              ElementsAre(VariedField{"strategy.pipeline.stage_layers", {"[3,5]", "[4,4]"}}));
}

TEST(VariedFields, TakeWordsAsTheyAreAndQuoteWhatIsNone) {
  EXPECT_THAT(varied(R"({"name": ["a", "true", "4 GB"], "interference": [true, false]})"),
              ElementsAre(VariedField{"name", {"a", R"("true")", R"("4 GB")"}},
                          VariedField{"interference", {"true", "false"}}));
}

TEST(VariedFields, OfSomeAutoSaysWhich) {
  EXPECT_THAT(varied(R"({"strategy": {"offload": {"activations": "auto"}}})"),
              ElementsAre(VariedField{"strategy.offload.activations", {"none", "cpu"}}));
  EXPECT_THAT(varied(R"({"strategy": {"offload": "auto"}})"),
              ElementsAre(VariedField{"strategy.offload.optimizer", {"none", "cpu"}}));
  const std::vector<VariedField> order = varied(R"({"placement": {"order": "auto"}})");
  ASSERT_EQ(order.size(), 1U);
  EXPECT_EQ(order[0].values.size(), 2U);
  EXPECT_THAT(varied(R"({"workload": {"precision": "auto"}})"), IsEmpty());
}

TEST(VariedFields, WantAtLeastOneValue) {
  EXPECT_THROW(varied(R"({"interference": []})"), InputError);
}

}  // namespace
}  // namespace plait
