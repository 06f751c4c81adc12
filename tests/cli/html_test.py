"""--html: one file, whole or not at all, the same bytes always, and read back by compare."""

import collections
import json
import re
import unittest

from plait_command import SOURCE, TINY, CommandTest, plait

DOCUMENT = re.compile(r'<script type="application/json" id="plait-document">(.*?)</script>', re.S)


class Html(CommandTest):
    def page(self, name, *arguments):
        path = self.folder / name
        result = self.run_ok(*arguments, "--html", path, "--format", "json")
        return path, result.json(), json.loads(DOCUMENT.search(path.read_text("utf-8"))[1])

    def test_a_page_holds_what_is_printed(self):
        for arguments in (("run", TINY), ("compare", TINY, SOURCE / "scenarios/tiny/tiny-cpu.json"),
                          ("whatif", TINY, "-L", "strategy.tp=1,2"), ("search", TINY)):
            with self.subTest(arguments[0]):
                _, printed, document = self.page("page.html", *arguments)
                self.assertEqual(document["kind"], arguments[0])
                self.assertEqual(document["result"], printed)

    def test_the_same_command_writes_the_same_bytes(self):
        path, _, _ = self.page("page.html", "run", TINY)
        first = path.read_bytes()
        self.page("page.html", "run", TINY)
        self.assertEqual(path.read_bytes(), first)

    def test_compare_reads_pages_back(self):
        path, printed, _ = self.page("page.html", "run", TINY)
        compared = self.run_ok("compare", TINY, path, "--format", "json").json()
        self.assertEqual(compared["candidates"][1]["step_time_difference"], 0)
        self.assertEqual(compared["candidates"][1]["report"]["step_time_s"], printed["step_time_s"])

    def test_what_is_asked_of_results_alone_is_said_to_change_nothing(self):
        page, _, _ = self.page("page.html", "run", TINY)
        json_file = self.folder / "run.json"
        self.run_ok("run", TINY, "-o", json_file)
        asked = ["--set", "network=analytic", "--price", "2"]
        told = self.run_ok("compare", page, json_file, TINY, *asked).err
        self.assertEqual(told, "warning: W002: results stand as they are, whatever --set or --price says: "
                               f"{page}, {json_file}\n")
        self.assertEqual(self.run_ok("compare", page, json_file).err, "")
        self.assertEqual(self.run_ok("compare", TINY, *asked).err, "")

    def test_a_change_that_helps_does_what_a_run_with_it_says(self):
        for options in ([], ["--network", "flow"]):
            with self.subTest(options):
                _, printed, document = self.page("page.html", "run", TINY, *options)
                changes = document["changes_that_help"]
                self.assertEqual(changes["step_time_s"], printed["step_time_s"])
                self.assertGreater(len(changes["best"]), 0)
                self.assertLessEqual(changes["fit"], changes["planned"])
                self.assertLessEqual(changes["planned"], changes["tried"])
                times = [c["step_time_s"] for c in changes["best"]]
                self.assertEqual(times, sorted(times))
                for change in changes["best"]:
                    sets = [w for f, v in change["set"].items() for w in ("--set", f"{f}={v}")]
                    with_it = self.run_ok("run", TINY, *options, *sets, "--format", "json").json()
                    self.assertEqual(with_it["step_time_s"], change["step_time_s"])
                    self.assertTrue(with_it["fits"])
                    self.assertLess(change["step_time_s"], printed["step_time_s"])
                    self.assertAlmostEqual(change["step_time_change"],
                                           change["step_time_s"] / printed["step_time_s"] - 1)

    def test_what_does_not_fit_has_changes_that_make_it_fit_instead(self):
        scenario = SOURCE / "scenarios/llama/llama-3.1-8b-8xh100-fsdp.json"
        _, _, document = self.page("page.html", "run", scenario, "--set", "workload.micro_batch=2")
        self.assertNotIn("changes_that_help", document)
        self.assertGreater(len(document["changes_that_fit"]), 0)

    def test_links_are_as_busy_as_their_bytes_say(self):
        _, printed, document = self.page("page.html", "run", TINY)
        self.assertGreater(len(document["link_use"]), 0)
        for use in document["link_use"]:
            seconds = use["bytes"] / use["bandwidth_bytes_per_s"]
            self.assertAlmostEqual(use["utilisation"], seconds / printed["step_time_s"], places=6)
            self.assertLessEqual(use["mean_utilisation"], use["utilisation"])
            self.assertLessEqual(use["message_bytes"], use["bytes"])
        # One stage sends nothing to another.
        _, _, alone = self.page("alone.html", "run", TINY, "--set", "strategy.pp=1",
                                "--set", "strategy.dp=4")
        self.assertTrue(all(use["message_bytes"] == 0 for use in alone["link_use"]))
        self.assertTrue(any(use["message_bytes"] > 0 for use in document["link_use"]))

    def test_memory_curves_of_pages_and_scenarios_are_compared(self):
        path, _, page = self.page("page.html", "run", TINY)
        _, _, document = self.page("both.html", "compare", TINY, path)
        fresh, stored = document["memories"]
        self.assertEqual((fresh["candidate"], stored["candidate"]), (0, 1))
        self.assertEqual(fresh["ranks"], stored["ranks"])
        self.assertEqual(stored["ranks"], page["memory"])

    def test_a_page_without_one_prediction_is_refused(self):
        path, _, _ = self.page("page.html", "whatif", TINY, "-L", "strategy.tp=1,2")
        result = plait("compare", path, TINY)
        self.assertEqual(result.code, 2)
        self.assertIn("G018", result.err)

    def test_damaged_pages_are_errors_of_the_user(self):
        path, _, _ = self.page("page.html", "run", TINY)
        text = path.read_text("utf-8")
        begin, end = DOCUMENT.search(text).span(1)
        for damaged in (text[:end], text[:begin] + text[end:], text[:begin] + "[1]" + text[end:],
                        text[:begin] + '{"kind": 3, "result": [], "timelines": 7}' + text[end:]):
            with self.subTest(len(damaged)):
                result = plait("compare", self.file("bad.html", damaged), TINY)
                self.assertEqual(result.code, 2, result.err)

    def test_a_place_that_cannot_be_written_is_said_and_nothing_stays(self):
        path = self.folder / "missing" / "page.html"
        result = plait("run", TINY, "--html", path)
        self.assertEqual(result.code, 3)
        self.assertIn(str(path), result.err)
        self.assertEqual(list(self.folder.iterdir()), [])


    def test_what_holds_text_is_not_named_as_a_picture_or_page(self):
        for suffix in ("svg", "html"):
            path = self.folder / f"result.{suffix}"
            result = plait("run", TINY, "-o", path)
            self.assertEqual(result.code, 2)
            self.assertIn(f"--{suffix} FILE", result.err)
            self.assertFalse(path.exists())

    def test_the_page_names_every_part_of_a_serving_step(self):
        serving = self.run_ok("serve", SOURCE / "scenarios/systems/llama-cpp-7b-q4_0.json", "--format", "json").json()
        parts = {key for key in serving["service"]["generation_steps"] if key.endswith("_s")} - {"time_s"}
        script = (SOURCE / "reports/html/page/serve.js").read_text("utf-8")
        drawn = re.search(r"const stepParts = (.*?);", script, re.S)[1]
        self.assertEqual(set(re.findall(r"\['(\w+_s)'", drawn)), parts)


class Scripts(unittest.TestCase):
    def test_no_name_is_defined_by_two_files(self):
        """They are one script on every page: the later definition would take the earlier's place."""
        files = sorted((SOURCE / "reports" / "html" / "page").glob("*.js"))
        names = [name for file in files for name in re.findall(
            r"^(?:async )?(?:function\*?|const|let|class) (\w+)", file.read_text(encoding="utf-8"), re.M)]
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name, count in collections.Counter(names).items() if count > 1], [])


if __name__ == "__main__":
    unittest.main()
