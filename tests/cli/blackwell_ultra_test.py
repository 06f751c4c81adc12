"""Published steps of GB300 and B300, whose kernels were not measured and to which nothing was fitted: what the
data sheet, B200's kernels and half of the cost of an exponential say of them."""

import unittest

from plait_command import SOURCE, CommandTest

# docs/performance-summary.md of Megatron-Bridge, releases 25.11 to 26.02.01.
RECORDS = SOURCE / "tests" / "cli" / "blackwell_ultra.json"


class BlackwellUltra(CommandTest):
    def found(self, *more):
        return self.run_ok("validate", RECORDS, "--format", "json", *more).json()

    def test_published_steps_are_met(self):
        summary = self.found()["summary"]
        self.assertEqual(summary["not_represented"], 0)
        self.assertLess(summary["mape"], 0.11)
        self.assertLess(abs(summary["bias"]), 0.05)
        self.assertGreater(summary["in_band"], 0.85)

    def test_dense_models_are_met_closer_than_mixtures(self):
        dense = self.found("--filter", "LLAMA")["summary"]
        self.assertGreaterEqual(dense["n"], 14)
        self.assertLess(dense["mape"], 0.07)
        self.assertEqual(dense["in_band"], 1)

    def test_no_kernel_claims_to_be_measured(self):
        for record in self.found()["records"]:
            self.assertEqual(record["provenance"]["measured"], 0, record["id"])


if __name__ == "__main__":
    unittest.main()
