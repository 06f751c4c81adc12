// Files as people write them: what is read, what is not, and what is refused at which line.

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/dialects/arguments.h"
#include "scenarios/dialects/dialects.h"
#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

// ---- Shell ----

TEST(ShellWords, VariablesArraysAndQuotesOfTheScriptAreFilledIn) {
  const auto words = shell_words(R"(TP=8  # in a node
ARGS=(
  --tensor-model-parallel-size $TP
  --name "a b"'c' \
  --seed ${SEED:-7}
)
torchrun --nnodes ${NODES} pretrain_gpt.py "${ARGS[@]}")",
                                 "run.sh");
  std::vector<std::string> texts;
  for (const ShellWord& w : words) texts.push_back(w.text);
  const std::vector<std::string> expected = {"--tensor-model-parallel-size",
                                             "8",
                                             "--name",
                                             "a bc",
                                             "--seed",
                                             "7",
                                             "torchrun",
                                             "--nnodes",
                                             "$NODES",
                                             "pretrain_gpt.py"};
  EXPECT_EQ(texts, expected);
  EXPECT_EQ(words[1].line, 3);
  EXPECT_TRUE(words[8].unknown);
}

TEST(ShellWords, AQuotedListOfOptionsStandsForItsWords) {
  const auto words = shell_words("ARGS=\"\n  --bf16 \\\n  --lr 1\n\"\nrun $ARGS", "run.sh");
  ASSERT_EQ(words.size(), 4U);
  EXPECT_EQ(words[0].text, "--bf16");
  EXPECT_EQ(words[2].text, "1");
  EXPECT_EQ(words[3].text, "run");
}

TEST(ShellWords, BehindAnOptionIsItsValueWhateverItLooksLike) {
  const auto words = shell_words("A=1 run -ot exps=CPU --flag\nB=2\n--n $B", "f");
  std::vector<std::string> text;
  for (const ShellWord& w : words) text.push_back(w.text);
  EXPECT_EQ(text, (std::vector<std::string>{"run", "-ot", "exps=CPU", "--flag", "--n", "2"}));
}

TEST(ShellWords, DefaultsAreWithoutTheirQuotes) {
  const auto words = shell_words(R"(A=${A:-"4"} B=${B:='2'} run $A $B ${C:-${D:-"7"}})", "run.sh");
  std::string texts;
  for (const ShellWord& w : words) texts += w.text + ";";
  EXPECT_EQ(texts, "run;4;2;7;");
}

// As ${ARGS[@]} without quotes gives them.
TEST(ShellWords, AnOptionAndItsValueInOneQuoteOfAnArrayAreTwoWords) {
  const auto words = shell_words(R"(ARGS=("--vocab-size 128256" --name "a b"))", "run.sh");
  std::string texts;
  for (const ShellWord& w : words) texts += w.text + ";";
  EXPECT_EQ(texts, "--vocab-size;128256;--name;a b;");
}

// ---- Megatron-LM ----

TEST(ImportMegatron, BothBranchesMaySayTheSame) {
  const std::string branches =
      "if [ $X ]; then\n  A=(--seq-length 64)\nelse\n  A=(--seq-length 64)\nfi\nrun ${A[@]}\n";
  EXPECT_EQ(imported(Dialect::kMegatronCore, branches).workload.sequence_length, 64);
}

constexpr const char* kMegatron = R"(
TP=4
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 \
  --max-position-embeddings 2048 --micro-batch-size 4 --global-batch-size 128 \
  --vocab-size 50257 --bf16 --tensor-model-parallel-size $TP --sequence-parallel \
  --use-distributed-optimizer --lr 1e-4 --train-iters 100
)";

TEST(ImportMegatron, AbsentArgumentsHaveItsDefaults) {
  const Scenario s = imported(Dialect::kMegatronCore, kMegatron);
  EXPECT_EQ(s.model.ffn_hidden, 4 * 2048);
  EXPECT_EQ(s.model.norm, NormKind::kLayerNorm);
  EXPECT_EQ(s.model.positions, PositionKind::kLearned);
  EXPECT_TRUE(s.model.mlp_bias);
  EXPECT_DOUBLE_EQ(s.model.dropout, 0.1);
  // Padded to 128 tp = 512: the next multiple from 50257.
  EXPECT_EQ(s.model.vocab, 50688);
  EXPECT_EQ(s.workload.precision.gradients, DType::kFp32);
  EXPECT_EQ(s.cluster.world_size(), 16);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 16 / 4);
  EXPECT_EQ(s.strategy.zero_stage, 1);
  EXPECT_FALSE(s.strategy.data.overlap);
}

TEST(ImportMegatron, WhatItDoesNotReadItNames) {
  const auto told = [](const std::string& more) {
    return warnings(Dialect::kMegatronCore, kMegatron + more);
  };
  EXPECT_EQ(told(" --apply-layernorm-1p --manual-gc"),
            "W007: not read: --apply-layernorm-1p, --manual-gc\n");
  EXPECT_EQ(told(" --min-lr 1e-5 --data-path x --save y --eval-iters 10 --node-rank 0"), "");
  EXPECT_EQ(told(" --min-lrs 1e-5"), "W007: not read: --min-lrs (did you mean --min-lr?)\n");
}

// gpt_model.py asserts fp16 of it.
TEST(ImportMegatron, TheLossReadsLogitsInFp16WhereItSaysSo) {
  const auto narrow = [](const std::string& arguments) {
    return imported(Dialect::kMegatronCore, "--micro-batch-size 1 " + arguments)
        .workload.precision.narrow_logits;
  };
  EXPECT_TRUE(narrow("--fp16 --fp16-lm-cross-entropy"));
  EXPECT_FALSE(narrow("--fp16"));
  EXPECT_EQ(refusal(Dialect::kMegatronCore, "--bf16 \\\n--fp16-lm-cross-entropy"), "D004 line 2");
}

// distributed_data_parallel.py: 40 million gradients, a million for each replica beyond 40, or all.
TEST(ImportMegatron, ABucketIsAsLargeAsItMakesIt) {
  const auto bucket = [](const std::string& more, const char* nodes = "1") {
    const std::string base =
        R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 4096, "global_batch": 1024},
            "cluster": {"preset": "hgx-h100", "nodes": )" +
        std::string(nodes) + "}}";
    return imported(Dialect::kMegatronCore, "--bf16 --micro-batch-size 1 " + more, base)
        .strategy.data.bucket;
  };
  EXPECT_EQ(bucket("--overlap-grad-reduce"), Bytes(4 * 40'000'000));
  EXPECT_EQ(bucket("--overlap-grad-reduce --grad-reduce-in-bf16"), Bytes(2 * 40'000'000));
  EXPECT_EQ(bucket("--overlap-grad-reduce", "8"), Bytes(4 * 64'000'000));
  EXPECT_EQ(bucket("--overlap-grad-reduce --tensor-model-parallel-size 2", "8"),
            Bytes(4 * 40'000'000));
  EXPECT_EQ(bucket("--overlap-grad-reduce --ddp-bucket-size 1000"), Bytes(4'000));
  EXPECT_EQ(bucket("--ddp-bucket-size 1000"), Bytes(1'000'000'000'000));
}

TEST(ImportMegatron, AttentionMayDropOutByAnotherProbability) {
  const auto dropouts = [](const std::string& more) {
    const Model m = imported(Dialect::kMegatronCore, std::string(kMegatron) + more).model;
    return std::pair(m.dropout, m.dropout_of_attention());
  };
  EXPECT_EQ(dropouts(" --attention-dropout 0.2 --hidden-dropout 0.2"), std::pair(0.2, 0.2));
  EXPECT_EQ(dropouts(" --attention-dropout 0.2 --hidden-dropout 0"), std::pair(0.0, 0.2));
  EXPECT_EQ(dropouts(" --attention-dropout 0 --hidden-dropout 0.2"), std::pair(0.2, 0.0));
}

TEST(ImportMegatron, WeightsAreGatheredIn8BitsWhereOneFormDoes) {
  const auto narrow = [](const std::string& more) {
    const std::string text = std::string(kMegatron) + " --fp8-format hybrid " + more;
    return imported(Dialect::kMegatronCore, text).workload.precision.narrow_weights;
  };
  EXPECT_EQ(narrow(""), NarrowWeights::kNone);
  EXPECT_EQ(narrow("--fp8-param-gather"), NarrowWeights::kGathered);
  EXPECT_EQ(narrow("--fp8-recipe tensorwise --fp8-param"), NarrowWeights::kGathered);
  const std::string mxfp8 = "--fp8-recipe mxfp8 --reuse-grad-buf-for-mxfp8-param-ag ";
  EXPECT_EQ(narrow(mxfp8), NarrowWeights::kNone);
  EXPECT_EQ(narrow(mxfp8 + "--fp8-param-gather"), NarrowWeights::kKept);
}

TEST(ImportMegatron, RecipesSayWhatScalesFollowFrom) {
  const auto amax = [](const std::string& recipe) {
    const std::string text = std::string(kMegatron) + " --fp8-format hybrid " + recipe;
    return imported(Dialect::kMegatronCore, text).kernels.amax;
  };
  EXPECT_EQ(amax(""), Fusion::kFused);
  EXPECT_EQ(amax("--fp8-recipe delayed"), Fusion::kFused);
  EXPECT_EQ(amax("--fp8-recipe tensorwise"), Fusion::kEager);
  EXPECT_EQ(amax("--fp8-recipe blockwise"), Fusion::kBlocks);
  EXPECT_EQ(amax("--fp8-recipe mxfp8"), Fusion::kBlocks);
}

TEST(ImportMegatron, WindowsAreTheKeysBeforeAQueryAndItsOwn) {
  const auto model = [](const std::string& more) {
    const std::string sizes =
        "--num-layers 4 --hidden-size 1024 --num-attention-heads 16 --padded-vocab-size 512 ";
    return imported(Dialect::kMegatronCore, sizes + more).model;
  };
  EXPECT_EQ(model("").attention_window, 0);
  EXPECT_EQ(model("--window-size 127,0").attention_window, 128);
  EXPECT_EQ(model("--window-size '(127, 0)'").windowed_layers(), 4);
  EXPECT_EQ(model("--window-size -1,0").attention_window, 0);
  const Model every = model("--window-size 127,0 --window-attn-skip-freq 2");
  EXPECT_TRUE(every.has_window(0) && !every.has_window(1) && every.has_window(2));
  const Model listed = model("--window-size 127,0 --window-attn-skip-freq [0,1,1,1]");
  EXPECT_TRUE(!listed.has_window(0) && listed.has_window(1) && listed.has_window(3));
  const auto code = [&](const std::string& more) {
    try {
      model(more);
    } catch (const InputError& e) {
      return e.text().code;
    }
    return std::string();
  };
  EXPECT_EQ(code("--window-size 127"), "D006");
  EXPECT_EQ(code("--window-size 127,3"), "D006");
  EXPECT_EQ(code("--window-size 127,0 --window-attn-skip-freq [1,0]"), "D006");
  EXPECT_EQ(code("--window-size 127,0 --window-attn-skip-freq ([1]*3+[0])"), "D006");
}

TEST(ImportMegatron, ShardsTakeWhatTheOtherAxesLeave) {
  const Scenario s =
      imported(Dialect::kMegatronCore,
               "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
               "--num-distributed-optimizer-instances 2 --tensor-model-parallel-size 2");
  EXPECT_EQ(s.strategy.zero_stage, 3);
  EXPECT_EQ(s.strategy.mesh[Axis::kDp], 2);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 8 / 2 / 2);
}

TEST(ImportMegatron, SelectiveRecomputationIsOfAttentionOrOfTheModulesNamed) {
  const auto recompute = [](const std::string& more) {
    return imported(Dialect::kMegatronCore,
                    kMegatron + ("--recompute-granularity selective" + more))
        .strategy.recompute;
  };
  EXPECT_EQ(recompute("").kind, Recompute::kSelective);
  EXPECT_EQ(recompute(" --recompute-modules core_attn").kind, Recompute::kSelective);
  const RecomputeOptions two = recompute(" --recompute-modules layernorm mlp");
  EXPECT_EQ(two.kind, Recompute::kModules);
  EXPECT_EQ(two.modules, (std::vector{RecomputeModule::kNorms, RecomputeModule::kMlp}));
  EXPECT_THROW(recompute(" --recompute-modules layernorm mhc"), InputError);
  EXPECT_EQ(recompute(" --recompute-modules core_attn moe").modules,
            (std::vector{RecomputeModule::kAttention, RecomputeModule::kMoe}));
  // transformer_config.py: it adds moe to what is named, core_attn by default.
  const std::string layers = "--bf16 --micro-batch-size 1 --moe-layer-recompute";
  const RecomputeOptions older = imported(Dialect::kMegatronCore, layers).strategy.recompute;
  EXPECT_EQ(older.modules, (std::vector{RecomputeModule::kAttention, RecomputeModule::kMoe}));
  EXPECT_EQ(refusal(Dialect::kMegatronCore, layers + " --recompute-granularity full"),
            "D004 line 1");
}

// DeepSeek's scripts give --kv-channels too, which latent attention has no use for.
TEST(ImportMegatron, ReadsLatentAttention) {
  const std::string sizes =
      "--num-layers 2 --hidden-size 256 --num-attention-heads 4 --padded-vocab-size 512"
      " --position-embedding-type rope --kv-channels 128 ";
  const std::string latents =
      "--multi-latent-attention --q-lora-rank 96 --kv-lora-rank 64 --qk-pos-emb-head-dim 32"
      " --v-head-dim 48";
  const Model m = imported(Dialect::kMegatronCore, sizes + latents + " --qk-layernorm").model;
  EXPECT_EQ(m.head_dim, 128 + 32);
  EXPECT_EQ(m.rope_head_dim, 32);
  EXPECT_EQ(m.q_lora_rank, 96);
  EXPECT_EQ(m.kv_lora_rank, 64);
  EXPECT_EQ(m.v_head_dim, 48);
  EXPECT_EQ(m.kv_heads, 4);
  EXPECT_FALSE(m.qk_norm);
  EXPECT_NE(warnings(Dialect::kMegatronCore, sizes + latents).find("norms of its latents"),
            std::string::npos);
  const Model plain = imported(Dialect::kMegatronCore, sizes + "--rotary-percent 0.25").model;
  EXPECT_EQ(plain.head_dim, 128);
  EXPECT_EQ(plain.rope_head_dim, 32);
  EXPECT_EQ(plain.kv_lora_rank, 0);
}

TEST(ImportMegatron, TheScriptSaysWhatItTrains) {
  const std::string sizes =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --padded-vocab-size 512";
  const auto model = [&](const std::string& script) {
    return imported(Dialect::kMegatronCore, "torchrun " + script + " " + sizes).model;
  };
  EXPECT_TRUE(model("pretrain_gpt.py").causal);
  const Model bert = model("./pretrain_bert.py");
  EXPECT_FALSE(bert.causal);
  EXPECT_TRUE(bert.masked_lm_head);
  EXPECT_EQ(bert.token_types, 2);
  EXPECT_EQ(refusal(Dialect::kMegatronCore, "--bf16\ntorchrun pretrain_t5.py"), "D006 line 2");
}

TEST(ImportMegatron, RefusesAtTheLine) {
  const auto refused = [](const std::string& text) {
    return refusal(Dialect::kMegatronCore, text);
  };
  EXPECT_EQ(refused("--bf16\n--fp16"), "D004 line 1");
  EXPECT_EQ(refused("--bf16\n--seq-length many"), "D003 line 2");
  EXPECT_EQ(refused("--seq-length"), "D003 line 1");
  EXPECT_EQ(refused("--seq-length $LENGTH"), "D003 line 1");
  EXPECT_EQ(refused("--bf16 \"\n--seq-length 1"), "D002 line 1");
  EXPECT_EQ(refused("--num-layers 1\n--multi-latent-attention\n--group-query-attention"),
            "D004 line 3");
  EXPECT_EQ(refused("--seq-length 64\n--max-position-embeddings 32\n--num-layers 1"),
            "D004 line 2");
  EXPECT_EQ(refused("--use-torch-fsdp2\n--pipeline-model-parallel-size 2"), "D004 line 1");
  EXPECT_EQ(refused("--recompute-granularity selective\n--recompute-method block"), "D004 line 2");
  // 8 devices: what parse_scenario refuses points at the argument.
  EXPECT_EQ(refused("--bf16\n--tensor-model-parallel-size 3"), "S002 line 2");
}

TEST(Import, NamesAllThatNobodySays) {
  try {
    imported(Dialect::kMegatronCore, "--num-layers 4 --hidden-size 64", "");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_EQ(e.text().code, "D005");
    for (const char* path : {"model.heads", "model.vocab", "workload.sequence_length",
                             "workload.global_batch", "cluster"}) {
      EXPECT_NE(e.text().problem.find(path), std::string::npos) << path;
    }
    EXPECT_EQ(e.text().problem.find("model.layers"), std::string::npos);
  }
}

/// The machine is what launch scripts do not say: it alone is enough of a base.
TEST(Import, PartsOfAScenarioAreABase) {
  const Scenario s = imported(
      Dialect::kDeepSpeed, R"({"train_batch_size": 64})",
      R"({"model": "llama-3.1-8b", "workload": {"sequence_length": 4096, "global_batch": 8},
                                  "cluster": {"preset": "hgx-h100", "nodes": 2}})");
  EXPECT_EQ(s.cluster.world_size(), 16);
  for (const char* base : {R"({"clutser": "hgx-h100"})", "[]", "{"}) {
    EXPECT_THROW(imported(Dialect::kMegatronCore, kMegatron, base), InputError) << base;
  }
}

// ---- DeepSpeed ----

TEST(ImportDeepSpeed, WhatIsAutomaticComesFromTheBase) {
  const Scenario s = imported(Dialect::kDeepSpeed, R"({"train_batch_size": "auto",
    "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}})");
  EXPECT_EQ(s.workload.global_batch, 64);
  EXPECT_EQ(s.strategy.mesh[Axis::kFsdp], 8);
  EXPECT_TRUE(s.strategy.data.overlap);  // the default of stage 3
}

/// The files of the Hugging Face Trainer leave nearly everything to it.
TEST(ImportDeepSpeed, AnAutomaticPrecisionIsNotThePlainOne) {
  constexpr const char* kAuto = R"({"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
    "gradient_clipping": "auto", "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}})";
  const Scenario s = imported(Dialect::kDeepSpeed, kAuto);
  const Scenario base = parse_scenario(kBase, "base.json");
  EXPECT_EQ(s.workload.precision.weights, base.workload.precision.weights);
  EXPECT_EQ(s.workload.gradient_clipping, base.workload.gradient_clipping);
  EXPECT_EQ(s.strategy.data.bucket, base.strategy.data.bucket);
  EXPECT_EQ(warnings(Dialect::kDeepSpeed, kAuto),
            "W008: as in the base, or by default, since the file leaves it to a launcher: "
            "gradient_clipping, bf16.enabled, fp16.enabled, "
            "zero_optimization.reduce_bucket_size\n");
}

TEST(ImportDeepSpeed, TheBatchIsTheProductOfItsParts) {
  const Scenario s =
      imported(Dialect::kDeepSpeed,
               R"({"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3})");
  EXPECT_EQ(s.workload.global_batch, 2 * 3 * 8);
  EXPECT_EQ(refusal(Dialect::kDeepSpeed, R"({"train_batch_size": 50,
    "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3})"),
            "D004 line 1");
}

TEST(ImportDeepSpeed, ReadsWhereStateIs) {
  const Scenario infinity = imported(Dialect::kDeepSpeed, R"({"train_batch_size": 64,
    "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3,
    "offload_optimizer": {"device": "nvme", "nvme_path": "/drives", "pin_memory": true},
    "offload_param": {"device": "cpu"}}})");
  EXPECT_EQ(infinity.strategy.offload.optimizer, Offload::kNvme);
  EXPECT_EQ(infinity.strategy.offload.parameters, Offload::kCpu);
  EXPECT_TRUE(infinity.strategy.keep_weight_shard);
}

TEST(ImportDeepSpeed, RefusesAtTheLine) {
  const auto refused = [](const std::string& text) { return refusal(Dialect::kDeepSpeed, text); };
  EXPECT_EQ(refused("{\"bf16\": {\"enabled\": true},\n\"fp16\": {\"enabled\": true}}"),
            "D004 line 2");
  EXPECT_EQ(refused("{\"zero_optimization\":\n{\"stage\": \"three\"}}"), "F003 line 2");
  EXPECT_EQ(refused("{\n"), "J005 line 2");
}

TEST(Import, AnotherWordIsNoSlip) {
  EXPECT_EQ(warnings(Dialect::kMegatronCore, "--vocab-size 100 --num-layers 2 --vocab-kind v"),
            "W007: not read: --vocab-kind\n");
  EXPECT_EQ(warnings(Dialect::kMegatronCore, "--vocab-sise 100 --num-layers 2"),
            "W007: not read: --vocab-sise (did you mean --vocab-size?)\n");
}

TEST(Import, AsksForTheVocabularyAloneWhereItIsAllThatIsMissing) {
  try {
    imported(Dialect::kMegatronCore,
             "--num-layers 2 --hidden-size 64 --num-attention-heads 2 --seq-length 64 "
             "--micro-batch-size 1 --global-batch-size 8",
             R"({"cluster": "hgx-h100"})");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_NE(e.text().cure.find(R"({"model": {"vocab": 50304}})"), std::string::npos);
  }
}

}  // namespace plait::import_test
