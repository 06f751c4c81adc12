"""The result goes to standard output, everything else to standard error."""

import unittest

from plait_command import TINY, CommandTest, plait

ESCAPE = "\x1b["


class Streams(CommandTest):
    def test_result_on_stdout_and_nothing_else(self):
        result = plait("run", TINY)
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("step", result.out)

    def test_errors_on_stderr_with_code_and_place(self):
        result = plait("run", TINY, "--set", "strategy.tp=-1")
        self.assertEqual((result.code, result.out), (2, ""))
        self.assertRegex(result.err, r"^error\[[A-Z]\d{3}\]: ")
        self.assertIn("strategy.tp", result.err)

    def test_output_file_gets_what_stdout_would(self):
        path = self.folder / "report.txt"
        self.assertEqual(plait("run", TINY, "-o", path).out, "")
        self.assertEqual(path.read_text(encoding="utf-8"), plait("run", TINY).out)

    def test_suffix_of_output_file_chooses_the_format(self):
        path = self.folder / "report.json"
        plait("run", TINY, "-o", path)
        self.assertTrue(path.read_text(encoding="utf-8").startswith("{"))

    def test_scenario_from_stdin(self):
        text = TINY.read_text(encoding="utf-8")
        piped = self.run_ok("run", "-", "--format", "csv", stdin=text)
        self.assertEqual(piped.out.splitlines()[0],
                         plait("run", TINY, "--format", "csv").out.splitlines()[0])

    def test_colour_only_where_asked_for(self):
        self.assertNotIn(ESCAPE, plait("run", TINY).out)
        self.assertIn(ESCAPE, plait("run", TINY, "--color", "always").out)
        self.assertNotIn(ESCAPE, plait("run", TINY, "--color", "never").out)

    def test_ascii_where_the_locale_is_c(self):
        result = plait("run", TINY, env={"LC_ALL": "C"})
        self.assertTrue(result.out.isascii())

    def test_set_without_effect_is_a_warning(self):
        plain = plait("run", TINY)
        same = plait("run", TINY, "--set", "strategy.tp=2")
        self.assertEqual(same.code, plain.code)
        self.assertIn("warning", same.err)
        self.assertIn("strategy.tp", same.err)

    def test_set_with_effect_is_no_warning(self):
        changed = plait("run", TINY, "--set", "workload.sequence_length=64")
        self.assertNotIn("warning", changed.err)
        self.assertNotEqual(changed.out, plait("run", TINY).out)


if __name__ == "__main__":
    unittest.main()
