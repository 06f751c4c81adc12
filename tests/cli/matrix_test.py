"""plait realrun --matrix: all cases of the verified matrix by one command, in fp32."""

import unittest

from plait_command import CommandTest, plait

ENVIRONMENT = 3
QUANTIZED = ("qwZ", "qgZ", "ZeRO++")  # their tolerance is that of the quantiser


class Matrix(CommandTest):
    def test_the_matrix_is_verified(self):
        result = plait("realrun", "--matrix", "--precision", "fp32", "--format", "json")
        if result.code == ENVIRONMENT:
            self.skipTest("this build has no real runs")
        self.assertEqual(result.code, 0, result.out)
        cases = result.json()["cases"]
        self.assertEqual({c["precision"] for c in cases}, {"fp32"})
        self.assertEqual({c["ranks"] for c in cases}, set(range(1, 9)))
        for case in cases:
            with self.subTest(case["strategy"]):
                self.assertLessEqual(case["gradient_error"], case["allowed_gradient_error"])
                self.assertLessEqual(case["worst_error"], case["allowed_error"])
                if not any(word in case["strategy"] for word in QUANTIZED):
                    self.assertEqual(case["allowed_gradient_error"], 1e-5)
                    self.assertAlmostEqual(case["allowed_error"], 1e-4)
                self.assertTrue(case["memory_as_planned"])
                self.assertTrue(case["passed"])


if __name__ == "__main__":
    unittest.main()
