"""plait export and import: every scenario in every dialect; the formats as their own readers see
them; what is imported predicts the same."""

import json
import shlex
import subprocess
import tomllib
import unittest

from plait_command import SCENARIOS, SERVING, SOURCE, CommandTest, plait

GPT3 = SOURCE / "scenarios/gpt3/gpt3-175b-64xa100.json"
LLAMA = SOURCE / "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json"
DESKTOP = SOURCE / "scenarios/systems/llama-cpp-7b-q4_0.json"
DIALECTS = ["megatron-core", "deepspeed", "torchtitan", "accelerate", "vllm"]
SERVERS = ["vllm", "llama.cpp", "ollama"]


class Export(CommandTest):
    def test_every_scenario_in_every_dialect(self):
        for path in SCENARIOS:
            for dialect in DIALECTS:
                with self.subTest(path=path.name, dialect=dialect):
                    result = plait("export", path, "--to", dialect)
                    if dialect == "accelerate" and result.code == 2:  # state sharded beside tp, pp
                        self.assertIn("error[D009]", result.err)
                        self.assertIn("--to deepspeed", result.err)
                        continue
                    if dialect == "megatron-core" and path.name.startswith("qwen3-next"):
                        self.assertIn("has no layer g", result.err)
                        continue
                    self.assertEqual(result.code, 0, result.err)
                    if dialect == "deepspeed":
                        self.assertEqual(list(result.json())[-1], "_not_represented")
                    else:
                        self.assertTrue(result.out.splitlines()[-1].startswith("# not represented: "))

    def test_a_pattern_of_other_layers_than_the_models_is_refused(self):
        hybrid = SOURCE / "scenarios/qwen/qwen3-next-80b-128xh100.json"
        for dialect in DIALECTS:
            result = plait("export", hybrid, "--set", "model.layer_pattern=Maa", "--to", dialect)
            self.assertEqual(result.code, 2, dialect)
            self.assertIn("error[S150]", result.err)

    def test_what_run_refuses_is_not_exported(self):
        """With the error of run, also of more microbatches than are planned."""
        base = json.dumps({"model": "llama-3.1-8b",
                           "cluster": {"preset": "dgx-a100", "nodes": 2},
                           "framework": "megatron-core",
                           "workload": {"sequence_length": 4096, "global_batch": 64},
                           "strategy": {"tp": 8, "dp": 2}})
        path = self.file("s.json", base)
        pipeline = ["strategy.pp=2", "strategy.dp=1", "strategy.pipeline.schedule=interleaved",
                    "strategy.pipeline.chunks=2", "workload.global_batch=21"]
        for code, changes in {
                "S026": ["strategy.tp=2", "strategy.dp=8", "strategy.tensor.overlap=ring"],
                "S043": ["workload.global_batch=31"],
                "S033": pipeline,
                "S014": ["strategy.cp=2", "strategy.dp=1", "workload.sequence_length=4102"],
        }.items():
            sets = [w for change in changes for w in ("--set", change)]
            run = plait("run", path, *sets)
            self.assertEqual(run.code, 2)
            self.assertIn(f"error[{code}]", run.err)
            for dialect in DIALECTS:
                with self.subTest(code=code, dialect=dialect):
                    result = plait("export", path, *sets, "--to", dialect)
                    self.assertEqual((result.code, result.err), (2, run.err))
        result = plait("export", path, "--set", "workload.global_batch=20001", "--to", "torchtitan")
        self.assertIn("error[S043]", result.err)

    def test_every_scenario_that_serves_in_every_dialect_of_a_server(self):
        for path in SERVING:
            copies = "accelerate" in path.name  # weights, as only Accelerate does
            for dialect in SERVERS:
                with self.subTest(path=path.name, dialect=dialect):
                    result = plait("export", path, "--to", dialect)
                    if copies and dialect != "vllm":
                        self.assertIn("error[D009]", result.err)
                        continue
                    self.assertEqual(result.code, 0, result.err)
                    self.assertTrue(result.out.splitlines()[-1].startswith("# not represented: "))

    def test_what_only_trains_serves_nothing(self):
        for dialect in ["megatron-core", "deepspeed", "torchtitan", "accelerate"]:
            result = plait("export", DESKTOP, "--to", dialect)
            self.assertEqual(result.code, 2)
            self.assertIn("error[D009]", result.err)
            self.assertIn("vllm, llama.cpp, ollama", result.err)

    def test_a_folder_that_cannot_be_made_is_said_to_be_so(self):
        inside = self.file("a", "") / "b"
        result = plait("export", LLAMA, "--to", "chakra", "-o", inside)
        self.assertEqual(result.code, 3)
        self.assertIn("Not a directory", result.err)

    def test_a_server_of_llama_cpp_starts_with_its_arguments(self):
        """The shell takes the command apart as llama-server would see it."""
        command = self.run_ok("export", DESKTOP, "--to", "llama.cpp").out
        stand_in = "llama-server() { printf '%s\n' \"$@\"; }\n"
        run = subprocess.run(["bash", "-c", stand_in + command], capture_output=True, text=True,
                             env={"MODEL": "a b.gguf", "PATH": "/usr/bin:/bin"}, check=True)
        words = run.stdout.splitlines()
        self.assertEqual(words[:4], ["--model", "a b.gguf", "--n-gpu-layers", "20"])
        self.assertEqual(words[words.index("--ctx-size") + 1], "4096")

    def test_no_more_sequences_are_exported_than_their_cache_has_room_for(self):
        scenario = {"model": "llama-3.1-8b", "cluster": "hgx-h100", "strategy": {"tp": 8},
                    "serving": {"engine": {"kernels": "llama_cpp", "max_model_len": 8192, "max_num_seqs": 1024},
                                "weights": "q4_k"}}
        path = self.file("s.json", json.dumps(scenario))
        cache = plait("serve", path, "--set", "serving.requests.count=2", "--format", "json")
        tokens = cache.json()["kv_cache"]["tokens"]
        fit = tokens // 8192
        self.assertLess(fit, 1024)
        result = plait("export", path, "--to", "llama.cpp")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("W011", result.err)
        words = shlex.split(result.out, comments=True)
        self.assertEqual(words[words.index("--ctx-size") + 1], str(fit * 8192))
        self.assertEqual(words[words.index("--parallel") + 1], str(fit))
        ollama = self.run_ok("export", path, "--to", "ollama").out
        self.assertIn(f"OLLAMA_NUM_PARALLEL={fit} ", ollama)
        few = ("--set", "serving.engine.max_num_seqs=4")
        result = plait("export", path, "--to", "llama.cpp", *few)
        self.assertNotIn("W011", result.err)
        self.assertIn("--ctx-size 32768", result.out)

    def test_a_modelfile_has_instructions_and_comments_alone(self):
        lines = self.run_ok("export", DESKTOP, "--to", "ollama").out.splitlines()
        for line in lines:
            self.assertRegex(line, r"^(#.*|FROM \S+|PARAMETER [a-z_]+ -?\d+)$")
        self.assertIn("FROM ./model.gguf", lines)

    def test_formats_are_well_formed(self):
        toml = tomllib.loads(self.run_ok("export", LLAMA, "--to", "torchtitan").out)
        self.assertEqual(toml["parallelism"]["data_parallel_shard_degree"], 8)
        config = self.run_ok("export", LLAMA, "--to", "deepspeed").json()
        self.assertEqual(config["zero_optimization"]["stage"], 3)
        words = shlex.split(self.run_ok("export", GPT3, "--to", "megatron-core").out, comments=True)
        self.assertEqual(words[words.index("--num-layers") + 1], "96")

    def test_a_script_runs_as_far_as_the_launcher(self):
        """The shell takes the script apart as torchrun would see it."""
        script = self.run_ok("export", GPT3, "--to", "megatron-core", "--launcher", "slurm").out
        self.assertIn("#SBATCH --nodes=8\n", script)
        stand_ins = "scontrol() { echo node1; }\nsrun() { printf '%s\\n' \"$@\"; }\n"
        run = subprocess.run(["bash", "-c", stand_ins + script], capture_output=True, text=True,
                             env={"SLURM_JOB_NODELIST": "node[1-8]", "PATH": "/usr/bin:/bin"},
                             check=True)
        words = run.stdout.splitlines()
        self.assertEqual(words[:5], ["torchrun", "--nnodes", "8", "--nproc_per_node", "8"])
        self.assertIn("node1:29500", words)
        self.assertEqual(words[words.index("--tensor-model-parallel-size") + 1], "8")


class Import(CommandTest):
    def test_what_is_imported_predicts_the_same(self):
        for path in [GPT3, SOURCE / "scenarios/megatron/megatron-22b-8xa100.json"]:
            script = self.file("run.sh", self.run_ok("export", path, "--to", "megatron-core",
                                                     "--launcher", "torchrun").out)
            back = self.folder / "back.json"
            result = self.run_ok("import", script, "--base", path, "-o", back)
            self.assertEqual([line[:13] for line in result.err.splitlines()], ["warning: W013"])
            step = [self.run_ok("run", file, "--format", "json").json()["step_time_s"]
                    for file in (path, back)]
            self.assertEqual(step[0], step[1])

    def test_a_server_that_is_imported_serves_the_same(self):
        command = self.file("serve.sh", self.run_ok("export", DESKTOP, "--to", "llama.cpp").out)
        back = self.folder / "back.json"
        self.assertEqual(self.run_ok("import", command, "--base", DESKTOP, "-o", back).err, "")
        served = [self.run_ok("serve", file, "--format", "json").json()["service"]
                 for file in (DESKTOP, back)]
        self.assertEqual(served[0], served[1])

    def test_servers_as_people_start_them_are_served(self):
        """A machine is all that the base says; at home one user is served."""
        for line, base in [
                ("llama-server -hf unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF:UD-Q4_K_XL -ot exps=CPU",
                 "rtx-4090-8"),
                ("CUDA_VISIBLE_DEVICES=0 llama-server -m Llama-3.1-8B-Q4_K_M.gguf -c 32768", "rtx-4090-8"),
                ("llama-bench -m gpt-oss-20b-F16.gguf -p 512 -n 128 -dev CUDA0", "rtx-4090-8"),
                ("vllm serve openai/gpt-oss-20b", "hgx-h100"),
                ("vllm serve Qwen/Qwen2.5-72B-Instruct-AWQ", "hgx-h100"),
                ("vllm serve Qwen/Qwen3-8B-FP8", "dgx-a100")]:
            with self.subTest(line):
                command, out = self.file("serve.sh", line), self.folder / "out.json"
                self.run_ok("import", command, "--base", json.dumps({"cluster": {"preset": base,
                                                                                    "processor": "cpu-host"}}), "-o", out)
                served = self.run_ok("serve", out, "--set", "serving.requests.count=4").out
                self.assertNotIn("layers on the processor", served)

    def test_paths_of_the_base_are_found_from_the_new_place(self):
        config = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 512,
                  "num_attention_heads": 4, "intermediate_size": 128, "torch_dtype": "bfloat16",
                  "max_position_embeddings": 512, "hidden_act": "silu", "rms_norm_eps": 1e-5,
                  "num_key_value_heads": 4, "tie_word_embeddings": False, "attention_bias": False,
                  "mlp_bias": False}
        self.file("config.json", json.dumps(config))
        base = self.file("base.json", json.dumps(
            {"model": {"hf_config": "config.json"}, "cluster": "hgx-h100",
             "workload": {"sequence_length": 512, "global_batch": 8}}))
        (self.folder / "elsewhere").mkdir()
        out = self.folder / "elsewhere/new.json"
        given = self.file("ds.json", '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}')
        self.run_ok("import", given, "--base", base, "-o", out)
        self.assertEqual(json.loads(out.read_text())["model"]["hf_config"], "../config.json")
        self.run_ok("run", out)

    def test_the_base_may_stand_on_the_command_line(self):
        base = '{"model": "llama-3.1-8b", "workload": {"sequence_length": 512, "global_batch": 8}, ' \
               '"cluster": "hgx-h100"}'
        given = self.file("ds.json", '{"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}')
        from_file = self.run_ok("import", given, "--base", self.file("base.json", base)).json()
        from_line = self.run_ok("import", given, "--base", base).json()
        del from_file["comment"], from_line["comment"]
        self.assertEqual(from_file, from_line)

    def test_refusals(self):
        nothing = self.file("nothing.txt", "hello\n")
        short = self.file("short.args", "--num-layers 2\n--tensor-model-parallel-size 2\n")
        for arguments, code in [(("import", nothing), "D001"), (("import", short), "D005"),
                                (("import", self.folder / "none"), "J001"),
                                (("import", nothing, "--from", "torchtitan"), "D002"),
                                (("import", nothing, "--from", "ollama"), "G001"),
                                (("export", GPT3, "--to", "llama.cpp"), "D009"),
                                (("export", GPT3, "--to", "ollama"), "D009"),
                                (("search", GPT3, "--export", "llama.cpp"), "G001"),
                                (("export", GPT3, "--to", "vllm", "--launcher", "slurm"), "D007"),
                                (("export", GPT3), "G001")]:
            with self.subTest(arguments):
                result = plait(*arguments)
                self.assertEqual(result.code, 2)
                self.assertIn(f"error[{code}]", result.err)

    def test_what_is_only_written_is_said_to_be(self):
        written = self.file("written", self.run_ok("export", DESKTOP, "--to", "ollama").out)
        refused = plait("import", written, "--base", LLAMA)
        self.assertEqual(refused.code, 2)
        self.assertIn("error[D001]: the file is Ollama's, which is written and not read", refused.err)

    def test_what_is_not_read_is_said_in_front_of_an_error(self):
        args = self.file("run.sh", "run --num-layers 2 --tensor-model-parallel-size 2 $MODEL\n")
        refused = plait("import", args)
        self.assertIn("W008: read as nothing, since the script does not say what it is: $MODEL",
                      refused.err.splitlines()[0])
        self.assertIn("error[D005]", refused.err)

    def test_options_that_are_not_read_are_listed(self):
        args = self.file("run.args", "--bf16\n--manual-gc\n--tensor-model-parallel-size 2\n")
        result = self.run_ok("import", args, "--base", LLAMA)
        self.assertIn("W007: not read: --manual-gc\n", result.err)

    def test_a_slip_in_an_option_is_said_to_be_one(self):
        args = self.file("run.args", "--num-layer 4\n--bf16\n--manual-gc\n")
        result = self.run_ok("import", args, "--from", "megatron-core", "--base", LLAMA)
        self.assertIn("W007: not read: --num-layer (did you mean --num-layers?), --manual-gc\n",
                      result.err)


if __name__ == "__main__":
    unittest.main()
