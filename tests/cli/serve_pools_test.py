"""plait serve with prefill and decode on pools of their own: what is reported of either, what is sent
between them, and what is refused."""

import json
import unittest

from plait_command import CommandTest, changed, plait

APART = {
    "model": "llama-3.1-8b",
    "serving": {"requests": {"count": 20, "rate_per_s": 20},
                "disaggregated": {"prefill": {"dp": 2}, "decode": {}, "first_token": "prefill"}},
    "cluster": {"preset": "hgx-h100"},
}


def unsaid_line(exported):
    """What an export says that it does not represent."""
    return next(line for line in exported.splitlines() if line.startswith("# not represented"))


class Pools(CommandTest):
    def serve(self, scenario, *arguments):
        return plait("serve", self.file("s.json", json.dumps(scenario)), *arguments)

    def test_pools_share_the_devices(self):
        pools = {"prefill": {"tp": 2, "dp": 2}, "decode": {"tp": 2}, "first_token": "prefill"}
        apart = changed(APART, "serving.disaggregated", pools)
        empty = {"strategy": {}, "placement": {}}  # as a file from elsewhere may have them
        report = self.serve({**apart, **empty}, "--format", "json").json()
        prefill, decode = report["pools"]["prefill"], report["pools"]["decode"]
        self.assertEqual((prefill["devices"], prefill["replicas"]), (4, 2))
        self.assertEqual((decode["devices"], decode["replicas"]), (4, 2))  # what is left
        self.assertEqual(report["kv_cache"], decode["kv_cache"])
        service = report["service"]
        handovers = service["handovers"]
        self.assertEqual(handovers["transfers"], 20)
        self.assertEqual(handovers["tokens"], service["all"]["prompt_tokens"])
        # Llama 3.1 8B: keys and values of 32 layers, 8 heads of 128 numbers of two bytes.
        self.assertEqual(handovers["bytes"], handovers["tokens"] * 2 * 32 * 8 * 128 * 2)
        self.assertEqual(service["prompt_steps"]["steps"], 0)
        self.assertGreater(prefill["use"]["prompt_steps"]["steps"], 0)
        busy = (prefill["use"]["devices_busy"] + decode["use"]["devices_busy"]) / 2
        self.assertAlmostEqual(service["devices_busy"], busy)
        lines = [line.split(",") for line in self.serve(apart, "--format", "csv").out.splitlines()]
        rows = [dict(zip(lines[0], line)) for line in lines[1:]]
        self.assertEqual(sum(int(row["tokens_sent"]) for row in rows), handovers["tokens"])
        for row in rows:
            self.assertLess(float(row["first_token_s"]), float(row["received_s"]))
        out = self.serve(apart).out
        self.assertIn("bottleneck", out)
        self.assertIn("2 instances of tp 2 on 4 devices", out)

    def test_engines_of_pools_are_as_serving_engine_but_for_what_they_say(self):
        apart = changed(APART, "serving.engine", {"max_num_seqs": 7, "block_size": 32})
        apart = changed(apart, "serving.disaggregated.decode.engine", {"block_size": 16})
        out = plait("export", self.file("s.json", json.dumps(apart)), "--to", "vllm").out
        prefill, decode = out.split("# the decode instances")
        for command, size, role in ((prefill, 32, "kv_producer"), (decode, 16, "kv_consumer")):
            self.assertIn("--max-num-seqs 7", command)
            self.assertIn(f"--block-size {size}", command)
            self.assertIn(f'{{"kv_connector":"NixlConnector","kv_role":"{role}"}}', command)
        self.assertIn("first_token", unsaid_line(out))
        recompute = changed(apart, "serving.disaggregated.first_token", "decode")
        out = plait("export", self.file("s.json", json.dumps(recompute)), "--to", "vllm").out
        self.assertNotIn("first_token", unsaid_line(out))

    def test_a_first_token_of_decode_comes_behind_the_transfer(self):
        later = changed(APART, "serving.disaggregated.first_token", "decode")
        by_decode = self.serve(later, "--format", "csv").out.splitlines()
        received = by_decode[0].split(",").index("received_s")
        for line in by_decode[1:]:
            self.assertGreater(float(line.split(",")[2]), float(line.split(",")[received]))

    def test_pools_of_all_sizes_stand_side_by_side(self):
        rows = self.serve(APART, "-L", "serving.disaggregated.prefill.dp=2,4,8",
                          "-L", "serving.disaggregated.decode.tp=1,2", "--format", "json").json()
        rows = {row["label"]: row for row in rows["candidates"]}
        self.assertEqual(list(rows), [f"dp={p} tp={t}" for p in (2, 4, 8) for t in (1, 2)])
        self.assertEqual([row["served"] for row in rows.values()], [True] * 4 + [False] * 2)
        self.assertIn("S185", rows["dp=8 tp=2"]["reason"])
        self.assertEqual(rows["dp=2 tp=2"]["report"]["pools"]["decode"]["replicas"], 3)
        both = self.serve(APART, "-L", "serving.disaggregated.prefill.tp=1,2",
                          "-L", "serving.disaggregated.decode.tp=1,2")
        self.assertIn("prefill.tp=2 decode.tp=1", both.out)
        self.assertIn("that requests wait longest for", " ".join(both.out.split()))

    def test_what_requests_wait_longest_for_is_the_bottleneck(self):
        # Requests of 128 MiB, one at a time, from a node to the other.
        alone = changed(changed(APART, "cluster", {"preset": "hgx-h100", "nodes": 2,
                                                   "devices_per_node": 1}),
                        "serving.disaggregated.prefill.dp", 1)
        alone = changed(alone, "serving.requests", {"count": 5, "rate_per_s": 0.01})
        slow = changed(alone, "cluster.fabric", {"bandwidth": "1 Gbit/s"})
        handovers = self.serve(slow, "--format", "json").json()["service"]["handovers"]
        self.assertEqual(handovers["bottleneck"], "transfer")
        self.assertGreater(handovers["time"]["mean_s"], handovers["wait_for_prefill"]["mean_s"])
        self.assertGreater(handovers["time"]["mean_s"], handovers["wait_for_decode"]["mean_s"])
        self.assertIn("transfer: requests wait", self.serve(slow).out)
        table = self.serve(slow, "-L", "serving.requests.rate_per_s=0.01,0.02").out
        self.assertEqual(len([row for row in table.splitlines() if row.endswith("  transfer")]), 2)
        # As many at once as make them wait for prompts of others, over the network as it is.
        many = changed(alone, "serving.requests", {"count": 50, "rate_per_s": 1000})
        handovers = self.serve(many, "--format", "json").json()["service"]["handovers"]
        self.assertEqual(handovers["bottleneck"], "prefill")

    def test_prefixes_are_found_where_prompts_are_computed(self):
        kind = {"prompt_tokens": 200, "output_tokens": 10, "prefix_tokens": 800}
        apart = changed(APART, "serving.requests.kinds", [kind])
        apart = changed(apart, "serving.disaggregated.prefill.engine",
                        {"enable_prefix_caching": True})
        report = self.serve(apart, "--format", "json").json()["service"]
        self.assertGreater(report["all"]["prefix_cache_hit_rate"], 0.5)
        self.assertEqual(report["handovers"]["tokens"], 20 * 1000)
        # With a cache of prefixes there too, only what it does not have is sent.
        both = changed(apart, "serving.disaggregated.decode.engine", {"enable_prefix_caching": True})
        sent = self.serve(both, "--format", "json").json()["service"]["handovers"]["tokens"]
        self.assertLess(sent, 20 * 1000 - 10 * 800)
        self.assertGreaterEqual(sent, 20 * 200)

    def test_pools_that_do_not_fit_or_are_not_described_are_refused(self):
        refused = [
            ("S185", changed(APART, "serving.disaggregated.prefill.dp", 8)),
            ("S185", changed(APART, "serving.disaggregated", {"prefill": {}, "decode": {}})),
            ("S185", changed(changed(APART, "serving.disaggregated.prefill.dp", 1),
                             "serving.disaggregated.decode.dp", 1)),
            ("U004", changed(APART, "serving.disaggregated.prefill", {"tp": 2**32, "pp": 2**32})),
            ("S186", changed(APART, "strategy", {"tp": 2})),
            ("S186", changed(APART, "placement", {"order": ["tp", "pp", "dp"]})),
            ("S187", changed(APART, "model", "mistral-7b-v0.1")),
            ("S187", changed(APART, "serving.speculative",
                             {"method": "eagle", "num_speculative_tokens": 2, "acceptance": 0.5})),
            ("S187", changed(APART, "serving.layers", {"deal": "sequential"})),
        ]
        for code, scenario in refused:
            with self.subTest(code):
                result = self.serve(scenario)
                self.assertEqual(result.code, 2, result.out)
                self.assertIn(code, result.err)
        guessed = changed(APART, "serving.speculative",
                          {"method": "ngram", "num_speculative_tokens": 2, "acceptance": 0.5})
        self.assertEqual(self.serve(guessed).code, 0)

    def test_what_a_layout_cannot_is_said_of_its_pool(self):
        pools = {"prefill": {"dp": 5}, "decode": {"tp": 3}}
        told = self.serve(changed(APART, "serving.disaggregated", pools))
        self.assertEqual(told.code, 2, told.out)
        self.assertIn("serving.disaggregated.decode.tp", told.err)
        self.assertNotIn("strategy", told.err)

    def test_a_pool_without_room_is_a_no(self):
        apart = changed(APART, "serving.disaggregated.prefill.engine",
                        {"gpu_memory_utilization": 0.21})
        result = self.serve(apart)
        self.assertEqual(result.code, 1, result.out)
        self.assertEqual(result.out.count("DOES NOT FIT"), 1)
        self.assertIn("does not fit", self.serve(apart, "-L", "serving.requests.count=2").out)


if __name__ == "__main__":
    unittest.main()
