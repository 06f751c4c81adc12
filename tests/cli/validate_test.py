"""plait validate: made-up records, the scenarios that they become, and the files it writes."""

import copy
import json
import math
import unittest
import xml.etree.ElementTree as ElementTree

from plait_command import CommandTest, plait

RECORD = {
    "id": "made_up#1", "source": "Megatron-LM, made up", "tier": "A", "task_kind": "pretrain",
    "model": {"name": "GPT-1.3B", "layers": 24, "hidden": 2048, "ffn_hidden": 8192, "heads": 16,
              "kv_heads": 16, "vocab": 50257, "seq_len": 1024, "gated_mlp": False},
    "cluster": {"gpu": "A100-SXM4-80GB", "num_gpus": 8, "gpus_per_node": 8},
    "parallel": {"tp": 2, "pp": 2, "dp": 2, "zero_stage": 1},
    "batch": {"global_batch": 64, "micro_batch": 2},
    "precision": "bf16", "recompute": "none",
    "measured": {"iteration_time_s": 1.0, "peak_memory_gb_nvidia_smi": 20},
}


def changed(number, **parts):
    record = copy.deepcopy(RECORD)
    record["id"] = f"made_up#{number}"
    for key, value in parts.items():
        record[key] = {**record[key], **value} if isinstance(value, dict) else value
    return record


class Validate(CommandTest):
    def records(self, *records):
        return self.file("records.json", json.dumps(records))

    def validated(self, *records, more=()):
        return self.run_ok("validate", self.records(*records), "--format", "json", *more).json()

    def test_a_record_is_predicted_as_its_scenario_is(self):
        found = self.validated(RECORD, more=("--write-scenarios", self.folder / "out"))
        (record,) = found["records"]
        (scenario,) = (self.folder / "out").glob("*.json")
        report = self.run_ok("run", scenario, "--format", "json").json()
        self.assertEqual(record["predicted_s"], report["step_time_s"])
        self.assertEqual(record["fits"], report["fits"])
        self.assertTrue(math.isclose(record["error"], report["step_time_s"] - 1))
        self.assertEqual(record["measured_memory_bytes"], 20 * 2**30)
        self.assertEqual(record["predicted_memory_bytes"], report["peak_memory_bytes"],
                         "nvidia-smi counts everything")
        self.assertIs(record["measured_oom"], False)

    def test_what_is_denied_is_off_and_listed(self):
        found = self.validated(changed(1, notes="torch.compile, --overlap-grad-reduce"),
                               changed(2, notes="no torch.compile, without --overlap-grad-reduce"),
                               changed(3))
        asserted, denied, silent = found["records"]
        self.assertNotEqual(asserted["predicted_s"], silent["predicted_s"])
        self.assertEqual(denied["predicted_s"], silent["predicted_s"])
        self.assertIn("read: torch.compile; overlap of gradients", asserted["assumed"])
        self.assertIn("read: no torch.compile; no overlap of gradients", denied["assumed"])

    def test_a_model_is_the_same_in_any_spelling(self):
        falcon = {"layers": 60, "hidden": 8192, "ffn_hidden": 32768, "heads": 128, "kv_heads": 8,
                  "vocab": 65024, "seq_len": 2048}
        found = self.validated(*(changed(n, model={**falcon, "name": name}) for n, name in
                                 enumerate(["Falcon-40B", "falcon 40b", "FALCON_40B", "a model"])))
        *spelled, other = (record["predicted_s"] for record in found["records"])
        self.assertEqual(len(set(spelled)), 1)
        self.assertNotEqual(spelled[0], other)

    def test_what_cannot_be_represented_is_listed_and_not_counted(self):
        found = self.validated(RECORD, changed(2, model={"experts": 8}),
                               changed(3, cluster={"gpu": "abacus"}),
                               changed(4, parallel={"tp": 3}))
        self.assertEqual(found["summary"]["n"], 1)
        self.assertEqual(found["summary"]["not_represented"], 3)
        reasons = {r["id"]: r["reason"] for r in found["not_represented"]}
        self.assertIn("experts", reasons["made_up#2"])
        self.assertIn("abacus", reasons["made_up#3"])
        self.assertRegex(reasons["made_up#4"], r"^S0\d\d: ")

    def test_a_record_with_unreadable_words_is_listed_with_them(self):
        experts = {"experts": 8, "topk": 2, "shared_experts": "some shared experts"}
        found = self.validated(RECORD, changed(2, model=experts),
                               changed(3, extra_args="--mtp-num-layers " + "9" * 30))
        self.assertEqual(found["summary"]["n"], 1)
        reasons = {r["id"]: r["reason"] for r in found["not_represented"]}
        self.assertIn("some shared experts", reasons["made_up#2"])
        self.assertIn("9" * 30, reasons["made_up#3"])

    def test_a_record_without_a_layout_counts_itself_out_alone(self):
        without = {key: value for key, value in changed(2).items() if key != "parallel"}
        found = self.validated(RECORD, without)
        self.assertEqual(found["summary"]["n"], 1)
        self.assertIn("the layout is not published", json.dumps(found))

    def test_scenarios_go_into_a_folder_that_can_be_made(self):
        path = self.records(RECORD)
        refused = plait("validate", path, "--write-scenarios", path / "inside")
        self.assertEqual(refused.code, 3)
        self.assertIn("cannot make", refused.err)

    def test_a_scenario_that_cannot_be_written_is_the_machines_fault(self):
        (self.folder / "out" / "made_up-1.json").mkdir(parents=True)
        refused = plait("validate", self.records(RECORD), "--write-scenarios", self.folder / "out")
        self.assertEqual(refused.code, 3, refused.err)
        self.assertIn("cannot write", refused.err)
        self.assertNotIn("bug", refused.out + refused.err)

    def test_scenarios_of_long_ids_are_written_under_names_that_differ(self):
        path = self.records(dict(RECORD, id="x" * 400 + "a"), dict(RECORD, id="x" * 400 + "b"))
        self.run_ok("validate", path, "--write-scenarios", self.folder / "out")
        names = sorted(p.name for p in (self.folder / "out").iterdir())
        self.assertEqual(names, ["x" * 200 + "-2.json", "x" * 200 + ".json"])

    def test_up_to_three_records_of_which_the_same_is_said_are_named(self):
        abaci = [changed(n, cluster={"gpu": "abacus"}) for n in range(5, 9)]
        text = self.run_ok("validate", self.records(
            *(changed(n, recompute="") for n in range(1, 3)), *abaci)).out
        self.assertIn("2 x  recomputation: none (made_up#1, made_up#2)", text)
        self.assertRegex(text, r'4 x  .*"abacus" \(made_up#5, made_up#6, made_up#7,\s+\.\.\.\)')

    def test_what_is_warned_of_a_scenario_is_told(self):
        (record,) = self.validated(changed(1, cluster={"gpu": "V100-SXM2-32GB"}))["records"]
        self.assertEqual([a[:4] for a in record["assumed"] if a.startswith("W")], ["W014", "W023"])
        (record,) = self.validated(
            changed(1, cluster={"gpu": "V100-SXM2-32GB"}, precision="mixed"))["records"]
        self.assertEqual([a[:4] for a in record["assumed"] if a.startswith("W")], ["W023"])

    def test_runs_of_a_group_are_ranked(self):
        times = (3.0, 2.0, 1.0)
        layouts = ({"tp": 8, "pp": 1, "dp": 1}, {"tp": 4, "pp": 1, "dp": 2},
                   {"tp": 1, "pp": 1, "dp": 8})
        found = self.validated(*(changed(n, parallel=p, measured={"iteration_time_s": t})
                                 for n, (p, t) in enumerate(zip(layouts, times))))
        predicted = [r["predicted_s"] for r in found["records"]]
        agree = sum((1 if predicted[i] > predicted[j] else -1)
                    for i in range(3) for j in range(i + 1, 3))
        self.assertTrue(math.isclose(found["summary"]["kendall_tau"], agree / 3))
        self.assertEqual(found["summary"]["ranked_groups"], 1)

    def test_out_of_memory(self):
        found = self.validated(
            changed(1, batch={"micro_batch": 32}, parallel={"tp": 1, "pp": 1, "dp": 2},
                    cluster={"num_gpus": 2}, model={"layers": 96},
                    measured={"oom": True, "iteration_time_s": None}))
        self.assertEqual(found["summary"]["oom_accuracy"], 1)
        self.assertEqual(found["summary"]["oom_confusion"]["oom_does_not_fit"], 1)

    def test_the_number_of_threads_changes_nothing(self):
        path = self.records(*(changed(n, batch={"micro_batch": n}) for n in (1, 2, 4)))
        texts = []
        for jobs in ("1", "3"):
            out = self.folder / "out.json"
            self.run_ok("validate", path, "-j", jobs, "-o", out)
            found = json.loads(out.read_text(encoding="utf-8"))
            texts.append({**found, "command": ""})
        self.assertEqual(*texts)

    def test_filter_worst_text_and_picture(self):
        path = self.records(RECORD, changed(2, measured={"iteration_time_s": 100.0}))
        found = self.run_ok("validate", path, "--filter", r"#2\b", "--format", "json").json()
        self.assertEqual([r["id"] for r in found["records"]], ["made_up#2"])
        picture = self.folder / "picture.svg"
        text = self.run_ok("validate", path, "--worst", "1", "--svg", picture).out
        self.assertRegex(text, r"(?m)^made_up#2 ")
        self.assertNotRegex(text, r"(?m)^made_up#1 ")
        self.assertTrue(ElementTree.parse(picture).getroot().tag.endswith("svg"))

    def test_the_worst_are_listed_in_every_format(self):
        path = self.records(*(changed(n, measured={"iteration_time_s": 1.0 + n})
                              for n in range(1, 5)))
        rows = self.run_ok("validate", path, "--worst", "2", "--format", "csv").out.splitlines()
        self.assertEqual([row.split(",")[1] for row in rows[1:]], ["made_up#4", "made_up#3"])
        found = self.run_ok("validate", path, "--worst", "1", "--format", "json").json()
        self.assertEqual([r["id"] for r in found["records"]], ["made_up#4"])
        self.assertEqual(found["summary"]["n"], 4)

    def test_scenarios_of_records_with_one_id_all_stand(self):
        path = self.records(RECORD, changed(1, batch={"micro_batch": 1}),
                            changed(1, batch={"micro_batch": 4}))
        self.run_ok("validate", path, "--write-scenarios", self.folder / "out")
        self.assertEqual({p.name: json.loads(p.read_text())["workload"]["micro_batch"]
                          for p in (self.folder / "out").iterdir()},
                         {"made_up-1.json": 2, "made_up-1-2.json": 1, "made_up-1-3.json": 4})

    def test_what_no_gpu_does_is_taken_for_another_unit(self):
        rates = changed(1)
        rates["measured"] = {"tflops_per_gpu": 1.5e14}
        found = self.validated(rates, changed(2, measured={"iteration_time_s": 1e-3}),
                               changed(3, measured={"iteration_time_s": 1000}),
                               changed(4, measured={"peak_memory_gb_nvidia_smi": 20480}))
        told = [[a for a in r["assumed"] if "unit?" in a] for r in found["records"]]
        self.assertEqual([len(t) for t in told], [1, 1, 1, 1], told)
        for number, what in ((0, "TFLOP/s"), (1, "TFLOP/s"), (3, "20.0 TiB")):
            self.assertIn("not counted", told[number][0])
            self.assertIn(what, told[number][0])
        self.assertEqual(found["summary"]["n"], 2)
        self.assertEqual(found["summary"]["memory_n"], 2)

    def test_a_word_that_leaves_a_record_out_is_told(self):
        record = changed(1, batch={"global_batch": "sixty-four"})
        del record["batch"]["micro_batch"]
        (left_out,) = self.validated(record)["not_represented"]
        self.assertIn('"sixty-four" is no number', left_out["reason"])
        (left_out,) = self.validated(changed(2, parallel={"tp": 0}))["not_represented"]
        self.assertRegex(left_out["reason"], r"^S001: .*; not read: parallel.tp \(0 is no number")

    def test_wrong_files_are_refused_with_their_place(self):
        for name, text, code in (("no.json", "{}", "V001"), ("none.json", "[]", "V001"), ("part.json", '[{"id": "x"}]', "V001"),
                                 ("json.json", "[", "J005")):
            result = plait("validate", self.file(name, text))
            self.assertEqual(result.code, 2, result.err)
            self.assertIn(code, result.err)
            self.assertIn(name, result.err)
        result = plait("validate", self.records(RECORD), "--filter", "(")
        self.assertEqual(result.code, 2)
        self.assertIn("V002", result.err)

    def test_a_record_that_cannot_be_read_leaves_the_others(self):
        wrong = [dict(RECORD, id="p", parallel="tp 8"), dict(RECORD, id="s", stage_profile_ms=3),
                 dict(RECORD, id="l", notes="x" * 100000), dict(RECORD, id="a", extra_args=["x " * 9] * 9999),
                 dict(RECORD, id=7)]
        found = plait("validate", self.records(*wrong, RECORD), "--format", "json")
        self.assertEqual(found.code, 0, found.err)
        reasons = {r["id"]: r["reason"] for r in found.json()["not_represented"]}
        self.assertEqual(list(reasons), ["p", "s", "l", "a", "record 5"])
        for name, what in (("p", '"parallel" is no object'), ("s", '"stage_profile_ms" is no'),
                           ("l", "a text of 100000 bytes"), ("a", "a text of "),
                           ("record 5", 'a record without "id"')):
            self.assertRegex(reasons[name], f"^V001 in line \\d+: {what}")
        self.assertEqual(found.json()["summary"]["n"], 1)
        self.assertEqual(plait("validate", self.records(*wrong)).code, 2)  # none is left

    def test_a_part_that_is_a_text_is_not_said_to_be_missing(self):
        refused = plait("validate", self.records(dict(RECORD, cluster="hgx-h100"))).err
        self.assertIn('"cluster" is no object', refused)
        self.assertNotIn("without", refused)

    def test_records_may_be_lines(self):
        listed = [changed(1), changed(2, recompute="full")]
        lines = self.file("lines.jsonl", "\n".join(["", *map(json.dumps, listed), "", ""]))
        alone = self.file("one.jsonl", json.dumps(listed[0]))
        for path, records in ((lines, listed), (alone, listed[:1])):
            found = self.run_ok("validate", path, "--format", "json").json()
            self.assertEqual(found["records"],
                             [{**r, "file": path.stem} for r in self.validated(*records)["records"]])
        told = plait("validate", self.file("cut.jsonl", json.dumps(listed[0]) + "\n{"))
        self.assertEqual(told.code, 2, told.out)
        self.assertRegex(told.err, r"error\[J005\][^$]*cut.jsonl:2")
        third = self.file("part.jsonl", "\n".join([json.dumps(listed[0]), "", '{"id": "x"}']))
        found = self.run_ok("validate", third, "--format", "json").json()
        self.assertRegex(found["not_represented"][0]["reason"], "^V001 in line 3: ")

    def test_files_of_one_name_are_told_apart(self):
        for folder, time in (("one", 1.0), ("two", 2.0)):
            (self.folder / folder).mkdir()
            self.file(f"{folder}/runs.json",
                      json.dumps([changed(1, measured={"iteration_time_s": time})]))
        call = ["validate", "one/runs.json", self.records(RECORD), "two/runs.json"]
        found = plait(*call, "--format", "json", cwd=self.folder).json()
        self.assertEqual([f["file"] for f in found["files"]], ["one/runs", "records", "two/runs"])
        self.assertEqual([f["summary"]["n"] for f in found["files"]], [1, 1, 1])
        self.assertEqual([r["file"] for r in found["records"]],
                         ["one/runs", "records", "two/runs"])

    def test_a_file_counts_once(self):
        path = self.records(RECORD)
        for again in (path, f"{self.folder}/./records.json"):
            told = plait("validate", path, again)
            self.assertEqual(told.code, 2, told.out)
            self.assertIn("error[V004]: the file is named twice", told.err)

    def test_a_filter_is_sought_in_each_name_and_says_when_nothing_has_it(self):
        path = self.records(RECORD, dict(RECORD, id="made_up#21"))
        text = self.run_ok("validate", path, "--filter", RECORD["id"] + "$").out
        self.assertIn(RECORD["id"] + " ", text)
        self.assertNotIn("made_up#21", text)
        result = plait("validate", path, "--filter", "H1000")
        self.assertEqual(result.code, 2)
        self.assertIn("V003", result.err)


if __name__ == "__main__":
    unittest.main()
