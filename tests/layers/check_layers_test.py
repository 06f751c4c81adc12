"""The layer check accepts a good tree and names each planted offence."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake"))
import check_layers  # noqa: E402


class CheckLayers(unittest.TestCase):
    def offences_of(self, files):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_layers.check(root)[0]

    def test_downward_includes_pass(self):
        self.assertEqual(
            self.offences_of({
                "core/a.h": "#include <vector>\n",
                "plan/b.cpp": '#include "plan/b.h"\n#include "core/a.h"\n',
                "tests/sim/c_test.cpp": '#include "sim/c.h"\n#include "cli/d.h"\n',
                "cli/main.cpp": '#include "plait_version.h"\n',
            }), [])

    def test_upward_include_is_named_with_file_and_line(self):
        (offence,) = self.offences_of({"plan/a.cpp": '\n#include "sim/simulate.h"\n'})
        self.assertTrue(offence.startswith("plan/a.cpp:2: plan may not include sim"), offence)

    def test_subfolders_obey_their_folder(self):
        (offence,) = self.offences_of({"plan/strategies/a.cpp": '  # include "topologies/x.h"\n'})
        self.assertIn("plan may not include topologies", offence)

    def test_relative_include_is_refused(self):
        (offence,) = self.offences_of({"core/a.h": "", "core/a.cpp": '#include "a.h"\n'})
        self.assertIn('core/a.cpp:1: write the path from the root: "core/a.h"', offence)

    def test_circle_between_folders_is_found(self):
        offences = self.offences_of({
            "bench/a.cpp": '#include "tests/x.h"\n',
            "tests/x.h": '#include "bench/y.h"\n',
        })
        self.assertIn("folders include one another in a circle: bench -> tests -> bench", offences)

    def test_table_itself_has_no_circle(self):
        self.assertIsNone(check_layers.find_cycle(check_layers.ALLOWED))

    def test_line_limit(self):
        limit = check_layers.MAX_LINES
        self.assertEqual(self.offences_of({"core/a.cpp": "\n" * limit}), [])
        (offence,) = self.offences_of({"core/a.cpp": "\n" * (limit + 1)})
        self.assertIn(f"core/a.cpp:{limit + 1}: {limit + 1} lines", offence)


if __name__ == "__main__":
    unittest.main()
