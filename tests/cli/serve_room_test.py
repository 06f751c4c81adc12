"""plait serve: what host memory holds, what would make a model fit, and loads that are too much."""

import csv
import json
import unittest

from plait_command import CommandTest, changed, plait

ONE_GPU = {
    "model": "llama-3.1-8b",
    "serving": {"engine": {"max_model_len": 8192},
                "requests": {"count": 40, "concurrency": 1,
                             "kinds": [{"prompt_tokens": 1024, "output_tokens": 64}]}},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 1},
}
# 431 GB of weights, all of them on a processor with 64 GiB.
ON_PROCESSOR = {
    "model": "llama-3.1-405b",
    "serving": {"dtype": "fp16", "weights": "q8_0",
                "layers": {"deal": "gpu_layers", "gpu_layers": 0},
                "engine": {"max_num_seqs": 1, "max_num_batched_tokens": 512,
                           "max_model_len": 131072},
                "requests": {"concurrency": 1, "count": 2,
                             "kinds": [{"prompt_tokens": 512, "output_tokens": 8}]}},
    "cluster": {"preset": "rtx-4090-8", "devices_per_node": 1, "processor": "core-i7-8700"},
}


class ServeRoom(CommandTest):
    def serve(self, scenario, *arguments):
        return plait("serve", self.file("s.json", json.dumps(scenario)), *arguments)

    def test_weights_that_host_memory_cannot_hold_are_read_again_or_do_not_fit(self):
        mapped = self.serve(ON_PROCESSOR)
        self.assertEqual(mapped.code, 0, mapped.out)
        self.assertIn("W029: ", mapped.err)
        self.assertIn("cache         in host memory: 131,072 tokens", mapped.out)
        self.assertNotIn("0 B", mapped.out)
        host = self.serve(ON_PROCESSOR, "--format", "json").json()["kv_cache"]["host"]
        self.assertGreater(host["used_bytes"], 6 * host["capacity_bytes"])
        pinned = self.serve(changed(ON_PROCESSOR, "serving.layers.pinned", True))
        self.assertEqual(pinned.code, 1, pinned.out)
        self.assertIn("of cache in host memory, which has 64.0 GiB", " ".join(pinned.out.split()))
        small = self.serve(changed(ON_PROCESSOR, "model", "llama-3.1-8b"))
        self.assertEqual((small.code, small.err), (0, ""))

    def test_a_check_refuses_number_formats_that_the_devices_lack(self):
        old = changed(ONE_GPU, "cluster.preset", "dgx-a100")
        for field, scenario in (
                ("products", changed(ONE_GPU, "serving.products", "nvfp4")),
                ("products", changed(old, "serving.products", "fp8")),
                ("expert_products", changed(changed(changed(
                    old, "model", "qwen3-30b-a3b"), "serving.products", "plain"),
                    "serving.expert_products", "fp8"))):
            with self.subTest(field):
                for command in ("check", "serve"):
                    result = plait(command, self.file("s.json", json.dumps(scenario)))
                    self.assertEqual(result.code, 2, result.out)
                    self.assertIn("C005", result.err)
        fits = changed(ONE_GPU, "serving.products", "fp8")
        self.assertEqual(plait("check", self.file("s.json", json.dumps(fits))).code, 0)

    def test_changes_that_make_it_fit_are_tried_and_named(self):
        tight = changed(ONE_GPU, "serving.engine.gpu_memory_utilization", 0.22)
        report = self.serve(tight, "--format", "json")
        self.assertEqual(report.code, 1, report.out)
        cures = report.json()["cures"]
        self.assertIn("serving.engine.gpu_memory_utilization=0.95", cures)
        self.assertIn("it fits with serving.engine.gpu_memory_utilization=0.95",
                      " ".join(self.serve(tight).out.split()))
        for cure in cures:
            with self.subTest(cure):
                self.assertEqual(self.serve(tight, "--set", cure).code, 0)
        eight = changed(changed(ONE_GPU, "model", "mixtral-8x22b"), "cluster.devices_per_node", 8)
        mixture = self.serve(changed(eight, "strategy", {"dp": 8}), "--format", "json").json()
        self.assertIn("serving.expert_parallel=true", mixture["cures"])
        self.assertNotIn("cures", self.serve(ONE_GPU, "--format", "json").json())

    def test_a_column_that_has_no_room_is_not_explained(self):
        paths = [self.file(name, json.dumps(ONE_GPU)) for name in ("a.json", "b.json")]
        for columns, shown in (("100", True), ("60", False)):
            table = plait("serve", *paths, "--price", "2", env={"COLUMNS": columns}).out
            self.assertEqual("cache: " in table, shown, table)

    def test_programs_read_the_same_reason_and_cure_as_people(self):
        tight = changed(ONE_GPU, "serving.engine.gpu_memory_utilization", 0.205)
        told = " ".join(self.serve(tight).out.split())
        lack = self.serve(tight, "--format", "json").json()
        self.assertIn("DOES NOT FIT " + lack["reason"], told)
        self.assertIn(lack["cure"], told)
        varied = self.serve(tight, "-L", "serving.engine.max_num_seqs=128,256", "--format", "csv").out
        reasons = [row["reason"] for row in csv.DictReader(varied.splitlines())]
        for reason in reasons:
            self.assertIn("of weights, activations and process leave room for", reason)

    def test_an_overload_is_told_however_great_it_is(self):
        rate = changed(ONE_GPU, "serving.requests", {"count": 200, "rate_per_s": 1})
        rate = changed(rate, "serving.engine.max_num_seqs", 1)
        for per_second in (8, 64, 1000):
            with self.subTest(per_second):
                told = self.serve(changed(rate, "serving.requests.rate_per_s", per_second)).err
                self.assertIn("W019: ", told)

    def test_the_highest_rate_is_not_above_what_is_answered(self):
        asked = changed(ONE_GPU, "serving.requests",
                        {"count": 500, "rate_per_s": 16,
                         "kinds": [{"prompt_tokens": 256, "output_tokens": 32, "spread": 0.5}]})
        asked = changed(asked, "serving.engine.max_num_seqs", 16)
        asked = changed(asked, "serving.slo", {"e2el": "1000 s"})
        found = self.serve(asked, "--max-rate", "--format", "json").json()["max_rate"]["rate_per_s"]
        overload = changed(asked, "serving.requests.rate_per_s", 10000)
        overload = changed(overload, "serving.requests.count", 5000)
        answered = self.serve(overload, "--format", "json").json()["service"]["requests_per_s"]
        self.assertLess(found, 1.02 * answered)
        self.assertGreater(found, 0.85 * answered)

    def test_without_a_share_that_is_asked_for_there_is_no_verdict(self):
        none = changed(ONE_GPU, "serving.slo", {"ttft": "1 us", "attainment": 0})
        said = self.serve(none)
        self.assertEqual(said.code, 0, said.out)
        self.assertRegex(said.out, r"SLO +0.0 % of requests are good\n")
        self.assertNotIn("SLO MET", said.out)
        self.assertNotIn("asked for", said.out)
        slo = self.serve(none, "--format", "json").json()["service"]["slo"]
        self.assertIsNone(slo["attained"])

    def test_layouts_that_are_not_served_are_told_what_is(self):
        split = self.serve(changed(changed(ONE_GPU, "model", "minimax-m2"), "strategy", {"tp": 8}),
                           "--set", "cluster.devices_per_node=8").err
        self.assertIn("S147", split)
        self.assertIn("strategy.dp with serving.expert_parallel", split)
        dealt = self.serve(changed(changed(ONE_GPU, "model", "mixtral-8x7b"), "strategy", {"ep": 8}),
                           "--set", "cluster.devices_per_node=8").err
        self.assertIn("S061", dealt)
        self.assertIn("serving.expert_parallel = true", dealt)

    def test_words_of_engines_are_understood(self):
        for sets, words in (("serving.lora.rank=8", "adapters are not described in serving"),
                            ("serving.quantization=awq", "serving.weights=int4"),
                            ("serving.quantization=gptq", "serving.weights=int4")):
            with self.subTest(sets):
                refused = self.serve(ONE_GPU, "--set", sets)
                self.assertEqual(refused.code, 2)
                self.assertIn(words, refused.err)
                self.assertNotIn("workload.lora", refused.err)
        narrow = self.serve(ONE_GPU, "--set", "cluster.preset=dgx-a100", "--set",
                            "serving.products=fp8").err
        self.assertIn("serving.products=plain", narrow)
        self.assertIn("fp8_weights", narrow)


if __name__ == "__main__":
    unittest.main()
