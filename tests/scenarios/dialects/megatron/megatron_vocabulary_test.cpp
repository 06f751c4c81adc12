// How many rows the embedding has that Megatron-LM's arguments describe.
#include "tests/scenarios/dialects/imported.h"

namespace plait::megatron_vocabulary_test {

using import_test::imported;
using import_test::refusal;

constexpr const char* kMachine = R"({"cluster": "hgx-h100"})";

std::string script(const std::string& more) {
  return "pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
         "--seq-length 1024 --micro-batch-size 1 --global-batch-size 8 " +
         more;
}

std::int64_t vocab(const std::string& more, const std::string& base = kMachine) {
  return imported(Dialect::kMegatronCore, script(more), base).model.vocab;
}

// 50,257 tokens, up to a multiple of 128 tp (megatron/training/tokenizer/tokenizer.py,
// _vocab_size_with_padding).
TEST(MegatronVocabulary, IsThatOfGpt2sTokenizerWhereNothingElseSaysIt) {
  const std::string gpt2 = "--tokenizer-type GPT2BPETokenizer ";
  EXPECT_EQ(vocab(gpt2), 393 * 128);
  EXPECT_EQ(vocab(gpt2 + "--tensor-model-parallel-size 8"), 50 * 128 * 8);
  EXPECT_EQ(vocab(gpt2 + "--make-vocab-size-divisible-by 1"), 50257);
  EXPECT_EQ(vocab(gpt2 + "--vocab-size 1000"), 8 * 128);
  EXPECT_EQ(vocab(gpt2, R"({"cluster": "hgx-h100", "model": {"vocab": 60000}})"), 60000);
  EXPECT_EQ(vocab(gpt2, R"({"cluster": "hgx-h100", "model": "llama-3.1-8b"})"), 128256);
}

// pretrain_gpt.py: args_defaults has tokenizer_type.
TEST(MegatronVocabulary, IsThatOfGpt2sTokenizerByDefault) {
  EXPECT_EQ(vocab("--vocab-file v.json --merge-file m.txt"), 393 * 128);
  EXPECT_EQ(refusal(Dialect::kMegatronCore, script("--vocab-file v.json"), kMachine),
            "D005 line 0");
  EXPECT_EQ(refusal(Dialect::kMegatronCore,
                    script("--vocab-file v.json --merge-file m.txt --tokenizer-type SentencePiece"),
                    kMachine),
            "D005 line 0");
}

TEST(MegatronVocabulary, OfOtherTokenizersHasToBeSaid) {
  EXPECT_EQ(refusal(Dialect::kMegatronCore, script("--tokenizer-type Llama2Tokenizer"), kMachine),
            "D005 line 0");
}

}  // namespace plait::megatron_vocabulary_test
