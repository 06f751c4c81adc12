// Which dialect a file is in, by its content.

#include <gtest/gtest.h>

#include <utility>

#include "tests/scenarios/dialects/imported.h"

namespace plait::import_test {

TEST(Import, NamesProgramsWhoseYamlIsNotRead) {
  for (const auto& [text, program] :
       {std::pair("a: 1\nbase_model: b\n", "of axolotl"),
        std::pair("model_name_or_path: b\n", "of LLaMA-Factory"),
        std::pair("a:\n  tensor_model_parallel_size: 4\n", "of NeMo")}) {
    try {
      detect_dialect(text, "f");
      ADD_FAILURE() << "accepted " << text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D001");
      EXPECT_NE(e.text().problem.find(program), std::string::npos) << e.text().problem;
    }
  }
}

TEST(Import, TellsDialectsApart) {
  EXPECT_EQ(detect_dialect("pretrain_gpt.py --num-layers 2", "f"), Dialect::kMegatronCore);
  EXPECT_EQ(detect_dialect(" {\"zero_optimization\": {}}", "f"), Dialect::kDeepSpeed);
  EXPECT_EQ(detect_dialect("distributed_type: FSDP", "f"), Dialect::kAccelerate);
  EXPECT_EQ(detect_dialect("vllm serve x", "f"), Dialect::kVllm);
  EXPECT_EQ(detect_dialect(R"({"peft_type": "LORA"})", "f"), Dialect::kPeft);
  for (const char* text : {"", " \n", "hello", R"({"model_type": "llama"})", kBase}) {
    try {
      detect_dialect(text, "f");
      ADD_FAILURE() << "accepted " << text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D001");
    }
  }
}

TEST(DetectDialect, Utf16IsNamed) {
  for (const char* start : {"\xFF\xFEv", "\xFE\xFFv"}) {
    EXPECT_EQ(refusal(Dialect::kVllm, start), "D001 line 0");
    try {
      detect_dialect(start, "f");
      ADD_FAILURE() << "accepted";
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().problem, "the file is in UTF-16");
    }
  }
}

InputError::Text undetected(const std::string& script) {
  try {
    detect_dialect(script, "run.sh");
  } catch (const InputError& e) {
    return e.text();
  }
  ADD_FAILURE() << "accepted: " << script;
  return {};
}

TEST(DetectDialect, OtherServersAreNamed) {
  for (const auto& [script, program] :
       {std::pair("ollama run llama3.1:8b", "starts Ollama"),
        std::pair("sglang serve --model-path a/b", "starts SGLang"),
        std::pair("python3 -m sglang.launch_server --model-path a/b --tp 4", "starts SGLang"),
        std::pair("trtllm-serve a/b --tp_size 4", "starts TensorRT-LLM")}) {
    const InputError::Text said = undetected(script);
    EXPECT_EQ(said.code, "D001");
    EXPECT_NE(said.problem.find(program), std::string::npos);
  }
  EXPECT_NE(undetected("trtllm-serve a/b").cure.find("--tensor-parallel-size"), std::string::npos);
}

TEST(DetectDialect, AScriptThatNamesAFileOfSettingsIsTold) {
  for (const auto& [script, cure] :
       {std::pair("# of two\ndeepspeed train.py --deepspeed ds.json --bf16",
                  "import the file that --deepspeed names: ds.json"),
        std::pair("\naccelerate launch --config_file fsdp.yaml train.py",
                  "import the file that --config_file names: fsdp.yaml")}) {
    try {
      detect_dialect(script, "run.sh");
      ADD_FAILURE() << script;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D001");
      EXPECT_EQ(e.text().where.line, 2);
      EXPECT_EQ(e.text().cure, cure);
    }
  }
}

TEST(DetectDialect, AScriptThatStartsAnotherNamesIt) {
  const auto told = [](const std::string& script) -> std::string {
    try {
      detect_dialect(script, "run.sh");
    } catch (const InputError& e) {
      return e.text().problem;
    }
    return "";
  };
  EXPECT_EQ(told("source env.sh\nsrun bash -c 'cd x; TP=1 bash examples/train.sh | tee log'"),
            "the script starts another one, examples/train.sh");
  EXPECT_EQ(told("./train.sh"), "the script starts another one, ./train.sh");
  EXPECT_EQ(told("source env.sh"), "the content is of no format that can be imported");
}

// Its file has DeepSpeed's keys among its own, as JSON or as YAML with True in it.
TEST(DetectDialect, GptNeoxIsNamed) {
  for (const char* text : {"{\"zero_optimization\": {\"stage\": 1},\n\"pipe_parallel_size\": 1}",
                           "{\n\"model_parallel_size\": 2, \"overlap_comm\": True}",
                           "train_batch_size: 4\npipe-parallel-size: 1\n"}) {
    try {
      detect_dialect(text, "neox.yml");
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_EQ(e.text().code, "D001");
      EXPECT_EQ(e.text().where.line, 2) << text;
      EXPECT_NE(e.text().problem.find("GPT-NeoX"), std::string::npos);
    }
  }
}

TEST(DetectDialect, WordsThatAreNoCommandDecideNothing) {
  const std::string run = "torchrun pretrain_gpt.py --num-layers 2 --hidden-size 64\n";
  for (const char* before :
       {"# later served with vllm serve\n", "conda activate vllm-env\n",
        "cat <<EOF\nvllm serve MODEL --tensor-parallel-size 2\nEOF\n", "# distributed_type: FSDP\n",
        ": <<'NOTE'\ndistributed_type: FSDP\nNOTE\n",
        "cat > a.yaml <<EOF\ndistributed_type: FSDP\nEOF\n", "# llama-server -m x.gguf\n"}) {
    EXPECT_EQ(detect_dialect(before + run, "run.sh"), Dialect::kMegatronCore) << before;
  }
  EXPECT_EQ(detect_dialect("vllm serve a/b --max-model-len 8 # not --num-layers 2", "run.sh"),
            Dialect::kVllm);
}

TEST(Import, WhatACallerPassesCanBeSaidInTheScript) {
  const std::string run = "torchrun pretrain_gpt.py --micro-batch-size $1\n";
  try {
    read_settings(run, "run.sh", Dialect::kMegatronCore);
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_NE(e.text().cure.find("set -- VALUE"), std::string::npos) << e.text().cure;
  }
  EXPECT_EQ(imported(Dialect::kMegatronCore, "set -- 4\n" + run).workload.micro_batch, 4);
}

}  // namespace plait::import_test
