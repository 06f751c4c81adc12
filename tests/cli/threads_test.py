"""The number of threads does not change a byte of the result."""

import unittest

from plait_command import TINY, CommandTest


class Threads(CommandTest):
    def test_comparisons_do_not_depend_on_the_number_of_threads(self):
        varied = ["-L", "workload.micro_batch=1,2", "-L", "strategy.recompute=none,selective,full",
                  "-L", "workload.flash_attention=true,false"]
        for form in ("text", "json", "csv"):
            one = self.run_ok("compare", TINY, *varied, "--format", form, "-j", "1").out
            two = self.run_ok("compare", TINY, *varied, "--format", form, "-j", "2").out
            self.assertTrue(one)
            self.assertEqual(one.replace("-j 1", "-j N"), two.replace("-j 2", "-j N"), form)


if __name__ == "__main__":
    unittest.main()
