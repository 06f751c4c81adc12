"""Every bundled scenario works with run, check and compare, and gives the same bytes twice."""

import unittest

from plait_command import SCENARIOS, CommandTest, plait, read_scenario

ENOUGH = 14  # scenarios that the project promises at least


class Scenarios(CommandTest):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(SCENARIOS), ENOUGH)

    def test_each_says_what_it_shows(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                self.assertGreater(len(read_scenario(path).get("comment", "")), 40)

    def test_run_and_check_agree_on_what_fits(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                run = self.run_ok("run", path, "--format", "json")
                check = self.run_ok("check", path)
                report = run.json()
                self.assertEqual(run.code, 0 if report["fits"] else 1)
                self.assertEqual(check.code, run.code)
                self.assertGreater(report["step_time_s"], 0)

    def test_two_runs_give_the_same_bytes(self):
        for path in SCENARIOS:
            for form in ("text", "json", "csv"):
                with self.subTest(path.stem, form=form):
                    first, second = (plait("run", path, "--format", form) for _ in range(2))
                    self.assertEqual(first, second)
                    self.assertTrue(first.out)

    def test_compare_works_on_each(self):
        for path in SCENARIOS:
            with self.subTest(path.stem):
                result = self.run_ok("compare", path, path)
                self.assertTrue(result.out)


if __name__ == "__main__":
    unittest.main()
