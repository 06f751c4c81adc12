"""plait serve: every bundled scenario of serving is answered, the same bytes twice, in time; bad
input is refused with its place."""

import csv
import io
import json
import re
import time
import unittest

from plait_command import SERVING, SOURCE, TINY, CommandTest, changed, plait, read_scenario

MANY = {
    "model": "llama-3.1-70b",
    "serving": {"products": "fp8",
                "requests": {"count": 10000, "rate_per_s": 20,
                             "kinds": [{"prompt_tokens": 512, "output_tokens": 128,
                                        "spread": 0.5}]}},
    "strategy": {"tp": 8, "pp": 2},
    "cluster": {"preset": "hgx-h100", "nodes": 2},
}
SMALL = {
    "model": "llama-3.1-8b",
    "serving": {"requests": {"count": 20, "arrivals": "closed", "concurrency": 4}},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 1},
}


class Serve(CommandTest):
    def serve(self, scenario, *arguments):
        return plait("serve", self.file("s.json", json.dumps(scenario)), *arguments)

    def test_layouts_side_by_side_are_those_alone(self):
        sets = ["strategy.tp=1,2,3", "strategy.pp=1,2"]
        arguments = [word for s in sets for word in ("-L", s)]
        two = changed(SMALL, "cluster.devices_per_node", 4)
        rows = self.serve(two, *arguments, "--format", "json").json()["candidates"]
        self.assertEqual([r["label"] for r in rows],
                         [f"tp={t} pp={p}" for t in (1, 2, 3) for p in (1, 2)])
        self.assertEqual([r["served"] for r in rows], [True] * 4 + [False] * 2)
        alone = self.serve(two, "--set", "strategy.tp=2", "--set", "strategy.pp=1", "--format", "json").json()
        for report in (alone, rows[2]["report"]):
            del report["run"]
        self.assertEqual(rows[2]["report"], alone)
        table = self.serve(two, *arguments)
        self.assertEqual((table.code, len(table.out.splitlines())), (0, 1 + 6 + 3))
        lines = self.serve(two, *arguments, "--format", "csv").out.splitlines()
        self.assertEqual({line.count(",") for line in lines}, {13})

    def test_devices_that_no_layer_is_left_for_change_little(self):
        one = changed(SMALL, "serving.requests.concurrency", 1)
        first = changed(one, "serving.layers", "sequential")
        two = changed(changed(first, "cluster.devices_per_node", 2), "strategy", {"pp": 2})
        for network in ("analytic", "flow"):
            alone, beside = [self.serve(s, "--network", network, "--format", "json").json()["service"]
                             ["all"]["end_to_end"]["mean_s"] for s in (first, two)]
            self.assertAlmostEqual(beside, alone, delta=0.02 * alone)

    def test_models_are_sound(self):
        for change in ({"experts": 4}, {"experts": 4, "experts_per_token": 8, "expert_ffn_hidden": 64},
                       {"qk_norm_across_heads": True}, {"q_lora_rank": 8}):
            with self.subTest(change):
                refused = self.serve(changed(SMALL, "model", {"preset": "llama-3.1-8b", **change}))
                self.assertEqual(refused.code, 2, refused.err)
                self.assertIn("model.", refused.err)

    def test_a_price_is_of_all_devices_for_what_they_answered(self):
        priced = ("--set", "cluster.price_per_device_hour=2.5")
        report = self.serve(SMALL, *priced, "--format", "json").json()
        service = report["service"]
        hours = service["all"]["output_tokens"] / service["output_tokens_per_s"] / 3600
        price = service["price_per_million_output_tokens"]
        self.assertAlmostEqual(price, 2.5 * hours / service["all"]["output_tokens"] * 1e6,
                               delta=1e-9 * price)
        self.assertIn(f"{price:.4g} per 1e6 tokens of output", self.serve(SMALL, *priced).out)
        self.assertIn("per 1e6", self.serve(SMALL, *priced, "-L", "strategy.tp=1").out)
        free = self.serve(SMALL, "--format", "json").json()["service"]
        self.assertNotIn("price_per_million_output_tokens", free)

    def test_a_layout_without_room_is_a_row_and_none_with_room_is_1(self):
        small = changed(SMALL, "cluster.device", {"memory": "18 GB"})
        told = self.serve(small, "-L", "serving.requests.count=20,40")
        self.assertEqual(told.code, 1, told.err)
        self.assertIn("does not fit", told.out)

    def test_each_scenario_is_answered_alike_twice(self):
        self.assertTrue(SERVING)
        for path in SERVING:
            with self.subTest(path.stem):
                self.assertGreater(len(read_scenario(path).get("comment", "")), 40)
                first = self.run_ok("serve", path, "--format", "json")
                self.assertEqual(first.out, plait("serve", path, "--format", "json").out)
                report = first.json()
                self.assertEqual(first.code, 0 if report["fits"] else 1)
                self.assertTrue(self.run_ok("serve", path).out)

    def test_ten_thousand_requests_take_less_than_two_seconds(self):
        start = time.monotonic()
        result = self.serve(MANY, "--format", "json")
        self.assertLess(time.monotonic() - start, 2 * 3)  # thrice: the machine may be busy
        self.assertEqual(result.json()["service"]["all"]["requests"], 10000)

    def test_a_slow_device_slows_its_own_replica(self):
        four = changed(changed(SMALL, "cluster.devices_per_node", 4), "serving.requests.count", 40)
        slow = changed(four, "cluster.slowdowns", [{"device": 2, "factor": 10}])

        def times(scenario):
            """Of answers, by replica."""
            lines = [line.split(",") for line in
                     self.serve(scenario, "--format", "csv").out.splitlines()]
            rows = [dict(zip(lines[0], line)) for line in lines[1:]]
            return {r: [float(row["finish_s"]) - float(row["first_token_s"]) for row in rows
                        if row["replica"] == r] for r in "0123"}
        usual, slowed = times(four), times(slow)
        self.assertGreater(min(slowed["2"]), 5 * max(usual["2"]))
        for replica in "013":
            self.assertLess(max(slowed[replica]), 1.5 * max(usual[replica]))

    def test_a_line_for_each_request(self):
        lines = self.serve(SMALL, "--format", "csv").out.splitlines()
        self.assertEqual(len(lines), 21)
        self.assertEqual(len(lines[0].split(",")), len(lines[1].split(",")))

    def test_an_answer_of_one_token_has_no_time_per_token(self):
        one = {"name": "one", "prompt_tokens": 100, "output_tokens": 1}
        alone = changed(SMALL, "serving.requests.kinds", [one])
        service = self.serve(alone, "--format", "json").json()["service"]
        for quantiles in (service["all"]["tpot"], service["itl"]):
            self.assertEqual(set(quantiles.values()), {None})
        self.assertIsNone(service["output_tokens_per_s_per_user"])
        self.assertGreater(service["all"]["ttft"]["p50_s"], 0)
        out = self.serve(alone).out
        for label in (r"per token \(TPOT\)", r"between tokens \(ITL\)"):
            self.assertRegex(out, label + r"( +-){6}\n")
        self.assertNotIn("per user", out)
        self.assertRegex(self.serve(alone, "-L", "strategy.tp=1").out, r"tp=1 .*s +- +- ")
        row = self.serve(alone, "-L", "strategy.tp=1", "--format", "csv").out.splitlines()[1]
        self.assertEqual(row.split(",")[8:10], ["", ""])
        # Others' are not diluted.
        some = {"name": "some", "prompt_tokens": 100, "output_tokens": 5}
        both = changed(SMALL, "serving.requests.kinds", [one, some])
        service = self.serve(both, "--format", "json").json()["service"]
        self.assertEqual(service["all"]["tpot"], service["kinds"][1]["tpot"])
        self.assertIsNone(service["kinds"][0]["tpot"]["mean_s"])

    def test_a_trace_is_served_as_it_says(self):
        self.file("t.csv", "arrival_s,prompt_tokens,output_tokens,kind\n0,100,10,a\n2.5,50,5,b\n")
        trace = {"arrivals": "trace", "trace": "t.csv"}
        report = self.serve(changed(SMALL, "serving.requests", trace), "--format", "json").json()
        self.assertEqual([k["name"] for k in report["service"]["kinds"]], ["a", "b"])
        self.assertEqual(report["service"]["all"]["output_tokens"], 15)
        self.assertEqual(report["kv_cache"]["max_model_len_tokens"], 110)

    def test_prefixes_are_found_and_reported(self):
        kind = {"prompt_tokens": 200, "output_tokens": 10, "prefix_tokens": 800, "turns": 2}
        off = changed(SMALL, "serving.requests.kinds", [kind])
        on = changed(off, "serving.engine", {"enable_prefix_caching": True})
        cold, warm = (self.serve(s, "--format", "json").json() for s in (off, on))
        self.assertNotIn("prefix_cache_hit_rate", cold["service"]["all"])
        found = warm["service"]["all"]
        # 10 conversations of 1,000 and 1,210 tokens. At most four begin before the prefix is there;
        # others find its 800 tokens, second turns 1,009 of theirs, in blocks of 16.
        self.assertEqual(found["prompt_tokens"], 10 * (1000 + 1210))
        self.assertLessEqual(found["prompt_tokens_cached"], 9 * 800 + 10 * 1008)
        self.assertGreaterEqual(found["prompt_tokens_cached"], 6 * 800 + 10 * 1008)
        self.assertAlmostEqual(found["prefix_cache_hit_rate"],
                               found["prompt_tokens_cached"] / found["prompt_tokens"])
        self.assertLess(found["ttft"]["mean_s"], cold["service"]["all"]["ttft"]["mean_s"])
        self.assertIn("prefix cache", self.serve(on).out)
        lines = self.serve(on, "--format", "csv").out.splitlines()
        self.assertEqual(sum(int(line.split(",")[-1]) for line in lines[1:]),
                         found["prompt_tokens_cached"])

    def test_guesses_shorten_the_time_per_token(self):
        guess = {"method": "eagle", "num_speculative_tokens": 3, "acceptance": 0.8}
        plain = self.serve(SMALL, "--format", "json").json()["service"]
        faster = changed(SMALL, "serving.speculative", guess)
        guessed = self.serve(faster, "--format", "json").json()["service"]
        self.assertNotIn("speculative", plain)
        told = guessed["speculative"]
        self.assertEqual(told["mean_acceptance_length_tokens"],
                         1 + told["accepted_tokens"] / told["checked_sequences"])
        # (1 - 0.8^4) / (1 - 0.8) = 2.95 tokens a step, of which guessing takes less than a third
        self.assertAlmostEqual(told["mean_acceptance_length_tokens"], 2.95, delta=0.2)
        self.assertLess(guessed["all"]["tpot"]["mean_s"], plain["all"]["tpot"]["mean_s"] / 1.8)
        self.assertIn("mean acceptance length", self.serve(faster).out)

    def test_objectives_are_counted_request_by_request(self):
        scenario = changed(SMALL, "serving.requests.kinds",
                           [{"prompt_tokens": 2000, "output_tokens": 20, "spread": 0.9}])
        plain = self.serve(scenario, "--format", "json").json()["service"]
        ttft, tpot = plain["all"]["ttft"]["p50_s"], plain["all"]["tpot"]["p90_s"]
        asked = changed(scenario, "serving.slo", {"ttft": f"{ttft} s", "tpot": f"{tpot} s",
                                                  "attainment": 0})
        told = self.serve(asked, "--format", "json")
        service = told.json()["service"]
        slo = service["slo"]
        self.assertNotIn("slo", plain)
        self.assertEqual(slo["missed"], {"ttft": 0.5, "tpot": 0.1})  # of 20, by the quantiles
        self.assertTrue(0.4 <= slo["attainment"] <= 0.5, slo)
        self.assertEqual(slo["good_requests"], 20 * slo["attainment"])
        self.assertAlmostEqual(slo["goodput_requests_per_s"],
                               slo["good_requests"] / service["makespan_s"])
        lines = [line.split(",") for line in self.serve(asked, "--format", "csv").out.splitlines()]
        self.assertEqual(lines[0][-1], "good")
        self.assertEqual(sum(line[-1] == "true" for line in lines[1:]), slo["good_requests"])
        # What is asked for decides on the exit code, and changes nothing else.
        del service["slo"]
        for group in (service["all"], *service["kinds"]):
            del group["good_requests"], group["attainment"]
        self.assertEqual(service, plain)
        for share, code in ((0, 0), (slo["attainment"], 0), (slo["attainment"] + 0.01, 1)):
            result = self.serve(changed(asked, "serving.slo.attainment", share))
            self.assertEqual(result.code, code, result.out)
            verdict = "SLO MISSED" if code else "SLO MET" if share else "SLO  "
            self.assertIn(verdict, result.out)

    def test_the_highest_rate_is_that_of_a_scenario_of_its_own(self):
        scenario = changed(SMALL, "serving.requests",
                           {"count": 200, "rate_per_s": 3,
                            "kinds": [{"prompt_tokens": 1000, "output_tokens": 50}]})
        scenario = changed(scenario, "serving.slo", {"ttft": "300 ms", "tpot": "30 ms"})
        found = self.serve(scenario, "--max-rate", "--format", "json")
        self.assertEqual(found.code, 0)
        rates = found.json()["max_rate"]
        rate, missed = rates["rate_per_s"], rates["missed_rate_per_s"]
        self.assertTrue(rate < missed <= 1.01 * rate, rates)
        self.assertEqual(rates["requests_per_s_per_device"], rate)  # on one device
        alone = self.serve(changed(changed(scenario, "serving.requests.rate_per_s", rate),
                                   "serving.requests.count", rates["count"]), "--format", "json")
        self.assertEqual(alone.code, 0)
        services = [report.json()["service"] for report in (alone, found)]
        for service in services:
            del service["step_shapes_simulated"]  # of all runs of the search
        self.assertEqual(*services)
        self.assertIn(f"highest rate  {rate:g} requests a second",
                      self.serve(scenario, "--max-rate").out)
        rows = self.serve(changed(scenario, "cluster.devices_per_node", 2), "--max-rate",
                          "-L", "strategy.tp=1,2", "--format", "json").json()["candidates"]
        two, one = rows[0]["report"]["max_rate"], rows[1]["report"]["max_rate"]
        self.assertAlmostEqual(two["requests_per_s_per_device"], two["rate_per_s"] / 2)
        # Two replicas serve more than one does, and each no more than alone but for chance.
        self.assertTrue(rate < two["rate_per_s"] < 2.4 * rate, rows)
        self.assertGreater(one["rate_per_s"], rate)

    def test_the_highest_rate_lasts_however_few_requests_are_asked_for(self):
        """Where nothing misses its limit it is what the machine answers for long."""
        scenario = changed(SMALL, "serving.requests",
                           {"rate_per_s": 3,
                            "kinds": [{"prompt_tokens": 200, "output_tokens": 200}]})
        rates = {}
        for limits in ({"e2el": "1000 s"}, {"ttft": "2 s", "tpot": "60 ms"}):
            for count in (20, 200, 4000):
                asked = changed(scenario, "serving.requests.count", count)
                found = self.serve(changed(asked, "serving.slo", limits), "--max-rate",
                                   "--format", "json").json()
                rates[count] = found["max_rate"]["rate_per_s"]
                self.assertGreaterEqual(found["max_rate"]["count"], count)
            self.assertLess(max(rates.values()), 1.2 * min(rates.values()), rates)
        # All at once: what the machine answers is no less than it holds, within a twentieth.
        closed = changed(scenario, "serving.requests",
                         {"arrivals": "closed", "concurrency": 1024, "count": 6000,
                          "kinds": [{"prompt_tokens": 200, "output_tokens": 200}]})
        answered = self.serve(closed, "--format", "json").json()["service"]["requests_per_s"]
        self.assertLess(max(rates.values()), 1.2 * answered)

    def test_what_has_no_effect_is_said(self):
        for path, value, warning in (
                ("kernels.exchange", "deepep", "W001: kernels.exchange"),
                ("serving.layers", {"gpu_layers": 3}, "W001: serving.layers.gpu_layers"),
                ("serving.layers", {"host_memory": "1 GiB"}, "W001: serving.layers.host_memory"),
                ("network", "flow", "W006: network flow")):
            result = self.serve(changed(SMALL, path, value))
            self.assertEqual(result.code, 0, result.err)
            self.assertIn(warning, result.err)
        self.assertEqual(self.serve(SMALL).err, "")
        self.assertIn("W006", self.serve(SMALL, "--network", "flow").err)

    def test_more_requests_than_memory_holds_are_refused(self):
        many = self.serve(changed(SMALL, "serving.requests.count", 10_000_000))
        self.assertEqual(many.code, 2)
        self.assertIn("R005", many.err)
        self.assertIn("at most 1600000 such requests", many.err)  # 256e6 / (128 + 32)

    def test_reasons_are_the_ones(self):
        seven = self.serve({**SMALL, "model": "qwen-2.5-7b", "cluster": "hgx-h100",
                            "strategy": {"tp": 8}})
        self.assertIn("28", seven.err)
        self.assertIn("tp", seven.err)
        self.assertNotIn("key-value heads", seven.err)
        pool = self.serve(changed(SMALL, "serving.engine", {"max_model_len": 8192,
                                                            "kv_cache_tokens": 5_000_000}))
        self.assertEqual(pool.code, 1)
        self.assertIn("kv_cache_tokens asks for 5,000,000", pool.out)
        self.assertNotIn("max_model_len", pool.out)
        small = self.serve(changed(SMALL, "serving.engine", {"max_model_len": 8192, "kv_cache_tokens": 100}))
        self.assertEqual(small.code, 1)
        said = " ".join(small.out.split())
        self.assertIn("kv_cache_tokens is 100; a sequence has up to 8,192", said)
        self.assertIn("a kv_cache_tokens of 8192 or more takes them", said)
        self.assertNotIn("weights", said)
        rows = self.serve(changed(SMALL, "serving.engine.max_model_len", 8192), "-L",
                          "serving.engine.kv_cache_tokens=100,10000").out
        self.assertIn("does not fit: kv_cache_tokens is 100", " ".join(rows.split()))
        wide = self.serve(changed(SMALL, "model", "gpt-oss-120b"))
        self.assertIn("serving.expert_weights=mxfp4", " ".join(wide.out.split()))
        # 1,024 and 128 tokens, and not one more.
        self.assertIn("for 1,152 tokens per request", self.serve(SMALL).out)
        pools = {"model": "llama-3.1-8b", "cluster": "hgx-h100",
                 "serving": {"engine": {"max_model_len": 100},
                             "disaggregated": {"prefill": {"dp": 4}, "decode": {"dp": 4}},
                             "requests": {"count": 4, "kinds": [{"prompt_tokens": 4000,
                                                                 "output_tokens": 200}]}}}
        self.assertIn("to 4200 or more", self.serve(pools).err)

    def test_a_limit_that_no_rate_keeps_is_a_no(self):
        scenario = changed(SMALL, "serving.requests", {"count": 20, "rate_per_s": 1})
        scenario = changed(scenario, "serving.slo", {"tpot": "1 us"})
        result = self.serve(scenario, "--max-rate")
        self.assertEqual(result.code, 1)
        self.assertIn("none", result.out)
        self.assertIsNone(self.serve(scenario, "--max-rate", "--format", "json")
                          .json()["max_rate"]["rate_per_s"])
        # Nor does it where requests come so seldom that a thousandth of their rate takes years.
        seldom = changed(scenario, "serving.requests.rate_per_s", 0.0002)
        self.assertEqual(self.serve(seldom, "--max-rate").code, 1)

    def test_the_highest_rate_needs_a_rate_and_limits(self):
        poisson = changed(SMALL, "serving.requests", {"count": 20})
        limits = {"ttft": "1 s"}
        for scenario, place in ((changed(SMALL, "serving.slo", limits), "requests.arrivals"),
                                (poisson, "serving"),
                                (changed(poisson, "serving.slo", dict(limits, attainment=0)),
                                 "serving.slo")):
            for arguments in ([], ["-L", "strategy.tp=1"]):
                result = self.serve(scenario, "--max-rate", *arguments)
                self.assertEqual(result.code, 2, result.out)
                self.assertIn("S184", result.err)
                self.assertIn(place, result.err)

    def test_what_vllm_prints_is_printed(self):
        out = self.serve(SMALL).out
        self.assertRegex(out, r"GPU KV cache size: [\d,]+ tokens")
        self.assertRegex(out, r"Maximum concurrency for [\d,]+ tokens per request: [\d.]+x")

    def test_latents_are_cached_and_experts_dealt(self):
        scenario = read_scenario(SOURCE / "scenarios/systems/vllm-deepseek-v3.json")
        requests = {"count": 4, "kinds": [{"prompt_tokens": 100, "output_tokens": 4}]}
        scenario = changed(scenario, "serving.requests", requests)
        report = self.serve(scenario, "--format", "json").json()
        # 61 layers, 512 + 64 numbers of two bytes, the same on every rank.
        self.assertEqual({stage["cache_bytes_per_token"] for stage in report["kv_cache"]["stages"]},
                         {61 * (512 + 64) * 2})
        path = self.file("s.json", json.dumps(scenario))
        self.assertIn("--enable-expert-parallel", plait("export", path, "--to", "vllm").out)

    def test_experts_in_host_memory_are_time_of_the_processor(self):
        path = SOURCE / "scenarios/systems/llama-cpp-gpt-oss-120b-experts.json"
        steps = json.loads(plait("serve", path, "--format", "json").out)["service"]["generation_steps"]
        self.assertGreater(steps["processor_s"], 0.5 * steps["time_s"])
        self.assertIn("the processor", plait("serve", path).out)
        def first_token(pinned):
            found = plait("serve", path, "--set", f"serving.layers.pinned={pinned}", "--format", "json")
            return json.loads(found.out)["service"]["all"]["ttft"]["p50_s"]

        self.assertGreater(first_token("false"), 1.5 * first_token("true"))  # copies are most of it
        none = plait("serve", path, "--set", "serving.layers.host_experts=0")
        self.assertEqual(none.code, 1, none.out)
        self.assertIn("gpu_layers = -1", none.out)  # what llama.cpp has, not vLLM's tp
        self.assertNotIn("larger tp", none.out)

    def test_a_model_that_does_not_fit_is_a_no(self):
        result = self.serve(changed(SMALL, "model", "llama-3.1-70b"))
        self.assertEqual(result.code, 1)
        self.assertIn("DOES NOT FIT", result.out)
        self.assertIn("a larger tp or pp", result.out)
        self.assertNotIn("max_model_len", result.out)

    def test_a_sequence_that_does_not_fit_is_told_how_long_one_may_be(self):
        longest = changed(changed(SMALL, "serving.engine.gpu_memory_utilization", 0.3),
                          "serving.engine.max_model_len", 131072)
        result = self.serve(longest)
        self.assertEqual(result.code, 1, result.out + result.err)
        tokens = re.search(r"max_model_len =\s+(\d+)", result.out)[1]
        self.assertEqual(self.serve(changed(longest, "serving.engine.max_model_len", int(tokens))).code,
                         0)

    def test_a_field_left_open_is_compared(self):
        result = self.serve(SMALL, "--set", "strategy.tp=auto")
        self.assertEqual(result.code, 2)
        self.assertIn("plait serve` with -L strategy.tp=", result.err)

    def test_bad_input_is_refused(self):
        refused = {
            "S061": changed(changed(SMALL, "strategy", {"fsdp": 2}),
                            "cluster.devices_per_node", 2),
            "S062": changed(changed(SMALL, "serving.products", "fp8"),
                            "serving.weights", "int8"),
            "S063": changed(SMALL, "serving.requests", {"arrivals": "trace"}),
            "S064": changed(SMALL, "workload", {"sequence_length": 8, "global_batch": 1}),
            "S128": changed(SMALL, "serving.expert_parallel", True),
            "S180": changed(changed(SMALL, "model", "mistral-7b-v0.1"),
                            "serving.engine", {"enable_prefix_caching": True}),
            "S181": changed(SMALL, "serving.speculative",
                            {"method": "draft_model", "num_speculative_tokens": 2,
                             "acceptance": 0.5}),
            "S182": changed(changed(SMALL, "model", "mistral-7b-v0.1"), "serving.speculative",
                            {"method": "eagle", "num_speculative_tokens": 2, "acceptance": 0.5}),
            "S183": changed(SMALL, "serving.slo", {"attainment": 0.5}),
            "S191": changed(SMALL, "serving.layers", {"host_experts": 2}),
            "S192": changed(changed(changed(SMALL, "serving.layers", {"split": "row"}),
                                    "strategy", {"tp": 2, "pp": 2}), "cluster.devices_per_node", 4),
            "S066": json.loads(TINY.read_text(encoding="utf-8")),
            "S194": changed(SMALL, "serving.engine", {"max_model_len": 131073}),
            "S195": changed(SMALL, "serving.requests.kinds", []),
            "C015": changed(SMALL, "cluster.processor", "h100-sxm"),
            "R003": changed(SMALL, "serving.engine",
                            {"max_num_batched_tokens": 512, "chunked_prefill": False}),
            "R004": changed(SMALL, "serving.engine", {"max_model_len": 1151}),
        }
        for code, scenario in refused.items():
            with self.subTest(code):
                result = self.serve(scenario)
                self.assertEqual(result.code, 2, result.out)
                self.assertIn(code, result.err)

    def test_requests_are_no_longer_than_sequences_and_these_than_the_model(self):
        # Requests of 1,024 + 128 tokens.
        told = self.serve(changed(SMALL, "serving.engine", {"max_model_len": 1151})).err
        self.assertIn("request 0 of 1024 prompt and 128 output tokens", told)
        self.assertIn("raise serving.engine.max_model_len to 1152", told)
        self.assertEqual(self.serve(changed(SMALL, "serving.engine", {"max_model_len": 1152})).code, 0)
        rows = self.serve(SMALL, "-L", "serving.engine.max_model_len=1151,1152", "--format", "json")
        rows = rows.json()["candidates"]
        self.assertEqual([row["served"] for row in rows], [False, True])
        self.assertIn("R004", rows[0]["reason"])
        # In pools a prompt meets its limit with a token, and the decode instance sees all of it.
        apart = changed(changed(SMALL, "serving.engine", {"max_model_len": 1152}),
                        "cluster.devices_per_node", 2)
        apart = changed(apart, "serving.disaggregated", {"prefill": {"dp": 1}, "decode": {}})
        prefill = "serving.disaggregated.prefill.engine"
        self.assertEqual(self.serve(changed(apart, prefill, {"max_model_len": 1025})).code, 0)
        for pool, length in (("prefill", 1024), ("decode", 1151)):
            path = f"serving.disaggregated.{pool}.engine"
            told = self.serve(changed(apart, path, {"max_model_len": length})).err
            self.assertIn("R004", told)
            self.assertIn(f"raise {path}.max_model_len", told)
        # More positions than the preset has.
        scaled = changed(SMALL, "serving.engine", {"max_model_len": 131073})
        scaled = changed(scaled, "model", {"preset": "llama-3.1-8b", "max_positions": 262144})
        self.assertNotIn("S194", self.serve(scaled).err)

    def test_fields_without_effect_are_warned_of(self):
        scenario = changed(SMALL, "serving.requests.rate_per_s", 3)
        self.assertIn("W001: serving.requests.rate_per_s", self.serve(scenario).err)
        kind = {"prompt_tokens": 9, "output_tokens": 2, "prefix_tokens": 9, "prefix_zipf": 1,
                "think_time": "1 s"}
        told = self.serve(changed(SMALL, "serving.requests.kinds", [kind])).err
        self.assertIn("W001: serving.requests.kinds.0.prefix_zipf", told)
        self.assertIn("W001: serving.requests.kinds.0.think_time", told)
        kind = dict(kind, num_prefixes=2, turns=2)
        told = self.serve(changed(SMALL, "serving.requests.kinds", [kind])).err
        self.assertNotIn("W001", told)
        narrow = changed(SMALL, "serving.expert_weights", "int4")
        self.assertIn("W001: serving.expert_weights", self.serve(narrow).err)
        narrow = changed(changed(narrow, "model", "mixtral-8x7b"), "strategy", {"tp": 4})
        narrow = changed(narrow, "cluster.devices_per_node", 4)
        self.assertNotIn("W001", self.serve(narrow).err)
        scenario = changed(SMALL, "strategy", {"zero_stage": 0})
        self.assertIn("W001: strategy.zero_stage", self.serve(scenario).err)
        varied = self.serve(scenario, "-L", "serving.requests.concurrency=2,4")
        self.assertEqual(varied.err.count("W001: strategy.zero_stage"), 1, varied.err)

    def test_check_says_what_has_room(self):
        served = self.serve(SMALL, "--format", "json").json()
        checked = plait("check", self.file("s.json", json.dumps(SMALL)), "--format", "json")
        self.assertEqual(checked.code, 0, checked.err)
        self.assertEqual(checked.json()["kv_cache"], served["kv_cache"])
        self.assertNotIn("service", checked.json())
        text = self.run_ok("check", self.folder / "s.json").out
        for words in ("FITS", "GPU KV cache size", "weight ", "asked "):
            self.assertIn(words, text)
        self.assertNotIn("kv cache  ", text)  # a token's, of the step that is counted
        rows = self.run_ok("check", self.folder / "s.json", "--format", "csv").out
        bytes_of = {row[0]: int(row[1]) for row in list(csv.reader(io.StringIO(rows)))[1:]}
        items = sum(n for item, n in bytes_of.items() if item not in ("used", "cache"))
        self.assertEqual(items, bytes_of["used"])
        spread = changed(SMALL, "serving.requests.kinds", [{"prompt_tokens": 64, "output_tokens": 9, "spread": 0.5}])
        self.assertIn("prompts of 64 tokens, answers of 9, each up to 50 % more or less",
                      " ".join(self.run_ok("check", self.file("k.json", json.dumps(spread))).out.split()))
        large = changed(SMALL, "model", "llama-3.1-405b")
        self.assertEqual(plait("check", self.file("l.json", json.dumps(large))).code, 1)

    def test_one_of_a_thing_is_not_called_several(self):
        alone = changed(changed(SMALL, "serving.requests.concurrency", 1), "serving.requests.count", 1)
        text = self.serve(alone).out
        self.assertIn("steps of 1 token,", text)
        self.assertIn("1 step of ", text)
        ranks = plait("check", TINY, "--set", "cluster.devices_per_node=1", "--set", "strategy.dp=2")
        self.assertIn("the cluster 1 device\n", ranks.err)

    def test_scenarios_are_compared(self):
        one = self.file("one.json", json.dumps(SMALL))
        two = self.file("two.json", json.dumps(changed(SMALL, "serving.requests.concurrency", 2)))
        result = plait("serve", one, two, "--format", "json")
        self.assertEqual(result.code, 0, result.err)
        candidates = result.json()["candidates"]
        self.assertEqual([c["label"] for c in candidates], ["one", "two"])
        for path, candidate in zip((one, two), candidates, strict=True):
            alone = self.run_ok("serve", path, "--format", "json").json()
            self.assertEqual(candidate["report"]["service"], alone["service"])
        varied = self.run_ok("serve", one, two, "-L", "serving.requests.count=3,4", "--format",
                             "json").json()["candidates"]
        self.assertEqual([c["label"] for c in varied],
                         ["one count=3", "one count=4", "two count=3", "two count=4"])

    def test_training_commands_send_it_to_serve(self):
        path = self.file("s.json", json.dumps(SMALL))
        for command in ("run", "search", "plan"):
            with self.subTest(command):
                result = plait(command, path)
                self.assertEqual(result.code, 2)
                self.assertIn("S065", result.err)
        for arguments in (["compare", path], ["whatif", path, "-L", "cluster.nodes=1,2"]):
            result = plait(*arguments)
            self.assertIn("G009", result.err)
            self.assertIn("plait serve", result.err)
            self.assertEqual(result.out, "", "no table of rows that all say so")


if __name__ == "__main__":
    unittest.main()
