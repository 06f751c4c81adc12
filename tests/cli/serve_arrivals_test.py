"""plait serve: which requests arrive, as a scenario or a trace says, and what of them is told."""

import csv
import json
import unittest

from plait_command import CommandTest, changed, plait

ONE_GPU = {
    "model": "llama-3.1-8b",
    "serving": {"requests": {"count": 200, "rate_per_s": 4}},
    "cluster": {"preset": "hgx-h100", "devices_per_node": 1},
}


class ServeArrivals(CommandTest):
    def serve(self, scenario, *arguments):
        return plait("serve", self.file("s.json", json.dumps(scenario)), *arguments)

    def traced(self, text, *arguments, name="t.csv"):
        self.file(name, text)
        return self.serve(changed(ONE_GPU, "serving.requests", {"trace": name}), *arguments)

    def rows(self, text, name="t.csv"):
        result = self.traced(text, "--format", "csv", name=name)
        self.assertEqual((result.code, result.err), (0, ""), result.err)
        return list(csv.DictReader(result.out.splitlines()))

    def test_a_trace_or_a_number_of_users_says_which_arrivals_are_meant(self):
        rows = self.rows("arrival_s,prompt_tokens,output_tokens,kind\n0,100,20,chat\n1,50,5,code\n")
        self.assertEqual([(r["arrival_s"], r["kind"], r["prompt_tokens"], r["output_tokens"])
                          for r in rows], [("0", "chat", "100", "20"), ("1", "code", "50", "5")])
        users = changed(ONE_GPU, "serving.requests", {"count": 20, "concurrency": 4})
        meant = changed(users, "serving.requests.arrivals", "closed")
        found, written = (self.serve(s, "--format", "csv") for s in (users, meant))
        self.assertEqual((found.out, found.err), (written.out, ""))
        both = changed(users, "serving.requests.rate_per_s", 3)
        self.assertIn("W001: serving.requests.concurrency", self.serve(both).err)

    def test_traces_of_others_are_read_as_they_are(self):
        usual = self.rows("arrival_s,prompt_tokens,output_tokens\n0,100,20\n1.5,50,5\n")
        for text in (
                "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.5,100,20\n"
                "2023-11-16 18:17:05.0,50,5\n",
                "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:59.000000+00:00,100,20\n"
                "2024-05-11 00:00:00.500000+00:00,50,5\n",
                "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                "0,ChatGPT,100,20,120,Conversation log\n1.5,GPT-4,50,5,55,API log\n",
                "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,20\n1.5,50,5\n",
                "\ufeffarrival_s;prompt_tokens;output_tokens\r\n0;100;20\r\n1.5;50;5\r\n",
                "arrival_s\tprompt_tokens\toutput_tokens\n0\t100\t20\n1.5\t50\t5\n",
                '{"arrival_s": 0, "prompt_tokens": 100, "output_tokens": 20}\n'
                '{"arrival_s": 1.5, "prompt_tokens": 50, "output_tokens": 5}\n'):
            with self.subTest(text):
                self.assertEqual(self.rows(text), usual)

    def test_failures_of_a_trace_are_left_out_and_told(self):
        header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        lines = "0,ChatGPT,100,20,120,API log\n1,ChatGPT,70,0,70,API log\n1.5,GPT-4,50,5,55,API log\n"
        told = self.traced(header + lines, "--format", "json", name="t\x1b[31m.csv")
        self.assertEqual(told.json()["service"]["all"]["requests"], 2)
        self.assertIn("W024", told.err)
        self.assertIn("1 request without", told.err)
        self.assertIn("\\x1b", told.err)
        self.assertNotIn("\x1b", told.err)

    def test_what_is_wrong_in_a_trace_is_named(self):
        header = "arrival_s,prompt_tokens,output_tokens\n"
        for text, words in (
                ("arrival_s,in,out\n", ["t.csv:1", 'arrival_s,in,out', "prompt_tokens, output_tokens"]),
                (header + "0,1,2\n0,1e2,3\n", ["t.csv:3", 'prompt_tokens is "1e2"', "an integer"]),
                (header + "2023-13-16 18:17:03,100,20\n", ["t.csv:2", "arrival_s is"]),
                (header + "2023-11-16 18:17:03,100,20\n5,1,2\n", ["days and seconds"])):
            with self.subTest(text):
                result = self.traced(text)
                self.assertEqual(result.code, 2, result.out)
                for word in ["R001", *words]:
                    self.assertIn(word, result.err)

    def test_requests_are_no_longer_than_the_model_has_positions(self):
        kind = {"prompt_tokens": 131072, "output_tokens": 1}
        long = changed(ONE_GPU, "serving.requests", {"kinds": [kind], "count": 2})
        told = self.serve(long)
        self.assertEqual(told.code, 2, told.out)
        for word in ("S194", "request 0 of 131072 prompt", "serving.requests.kinds"):
            self.assertIn(word, told.err)
        fits = changed(long, "serving.requests.kinds", [dict(kind, prompt_tokens=131071)])
        self.assertEqual(self.serve(fits).code, 0)
        scaled = changed(long, "model", {"preset": "llama-3.1-8b", "max_positions": 262144})
        self.assertEqual(self.serve(scaled).code, 0)
        traced = self.traced("arrival_s,prompt_tokens,output_tokens\n0,131072,1\n")
        self.assertIn("serving.requests.trace", traced.err)

    def test_learned_positions_end_sequences_as_others_do(self):
        for model, positions in (("opt-13b", 2050), ("gpt2", 1024)):
            kind = {"prompt_tokens": positions, "output_tokens": 1}
            long = changed(changed(ONE_GPU, "model", model), "serving.requests",
                           {"kinds": [kind], "count": 2})
            with self.subTest(model):
                told = self.serve(long)
                self.assertEqual(told.code, 2, told.out)
                self.assertIn("S194", told.err)
                self.assertIn("serving.requests.kinds", told.err)
                limited = changed(long, "serving.engine", {"max_model_len": positions + 1})
                self.assertIn("--> serving.engine.max_model_len", self.serve(limited).err)
                fits = changed(long, "serving.requests.kinds",
                               [dict(kind, prompt_tokens=positions - 1)])
                self.assertEqual(self.serve(fits).code, 0)

    def test_states_have_no_positions(self):
        states = changed(changed(ONE_GPU, "model", "mamba2-2.7b"), "serving.requests",
                         {"kinds": [{"prompt_tokens": 8000, "output_tokens": 1}], "count": 2})
        for scenario in (states, changed(states, "serving.engine", {"max_model_len": 8192})):
            told = self.serve(scenario)
            self.assertEqual(told.code, 0, told.err)

    def test_a_queue_that_grows_is_told(self):
        self.assertEqual(self.serve(ONE_GPU).err, "")
        self.assertIn("W019", self.serve(changed(ONE_GPU, "serving.requests.rate_per_s", 100)).err)
        # Users of a closed loop wait for their answers; what is asked at once is no rate.
        at_once = changed(ONE_GPU, "serving.requests.rate_per_s", 1e9)
        self.assertEqual(self.serve(at_once).err, "")
        varied = self.serve(ONE_GPU, "-L", "serving.requests.rate_per_s=4,100").err
        self.assertIn("[rate_per_s=100]", varied)

    def test_a_model_that_is_published_narrower_is_told(self):
        wide = changed(ONE_GPU, "model", "gpt-oss-20b")
        self.assertIn("W020", self.serve(wide).err)
        for fields in ({"expert_weights": "mxfp4"}, {"weights": "plain"}):
            served = {**wide, "serving": {**wide["serving"], **fields}}
            self.assertNotIn("W020", self.serve(served).err)

    def test_without_a_share_of_good_requests_there_is_no_highest_rate(self):
        anyhow = changed(ONE_GPU, "serving.slo", {"ttft": "1 s", "attainment": 0})
        told = self.serve(anyhow, "--max-rate").err
        for word in ("S184", "serving.slo.attainment", "above 0"):
            self.assertIn(word, told)


if __name__ == "__main__":
    unittest.main()
