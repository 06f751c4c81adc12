"""What Plait predicts for every bundled scenario, compared with tests/golden/predictions.json digit
by digit. PLAIT_UPDATE_GOLDEN=1 writes that file anew; the commit then says what moved and why."""

import concurrent.futures
import json
import os
import unittest

from plait_command import SCENARIOS, SOURCE, CommandTest, plait

GOLDEN = SOURCE / "tests" / "golden" / "predictions.json"
KEYS = ["step_time_s", "peak_memory_bytes", "fits"]
TO_ACCEPT = ("If that is meant, accept it with\n"
             "  PLAIT_UPDATE_GOLDEN=1 ctest --test-dir build -R cli_predictions\n"
             "and say in the commit what moved and why.")


def prediction(path):
    result = plait("run", path, "--format", "json")
    if result.code not in (0, 1):
        raise RuntimeError(f"{path}: exit code {result.code}\n{result.err}")
    report = result.json()
    return {key: report[key] for key in KEYS}


def predictions():
    """By path of the scenario below scenarios/, in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(prediction, SCENARIOS)
        return {path.relative_to(SOURCE / "scenarios").as_posix(): values
                for path, values in zip(SCENARIOS, found)}


def moves(old, new):
    """A line for each number that is not what it was."""
    out = [f"{name}: no golden prediction" for name in new.keys() - old.keys()]
    out += [f"{name}: no such scenario any more" for name in old.keys() - new.keys()]
    for name in old.keys() & new.keys():
        for key in KEYS:
            before, after = old[name][key], new[name][key]
            if before == after:
                continue
            change = "" if key == "fits" else f" ({100 * (after / before - 1):+.3g} %)"
            out.append(f"{name}: {key} {before} -> {after}{change}")
    return sorted(out)


class Predictions(CommandTest):
    def test_no_prediction_moves_unsaid(self):
        new = predictions()
        if "PLAIT_UPDATE_GOLDEN" in os.environ:
            GOLDEN.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        old = json.loads(GOLDEN.read_text(encoding="utf-8"))
        moved = moves(old, new)
        if moved:
            self.fail("\n".join(["predictions moved:", *moved, TO_ACCEPT]))

    def test_a_move_names_scenario_old_new_and_change(self):
        value = {"step_time_s": 2.0, "peak_memory_bytes": 100, "fits": True}
        self.assertEqual(moves({"a": value}, {"a": dict(value)}), [])
        self.assertEqual(moves({"a": value}, {"a": {**value, "step_time_s": 2.5, "fits": False}}),
                         ["a: fits True -> False", "a: step_time_s 2.0 -> 2.5 (+25 %)"])
        self.assertEqual(moves({"gone": value}, {"new": value}),
                         ["gone: no such scenario any more", "new: no golden prediction"])


if __name__ == "__main__":
    unittest.main()
