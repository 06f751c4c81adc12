"""README and docs say what the program does: every command in a block of code is run.

    ```console     a line "$ command" is run by a shell; what stands below it is its output, to the
                   letter, where a line "..." stands for any lines
    ```sh          every line is a command that ends with 0 or 1; its output is not looked at.
                   Variables that it sets are there for the rest of the page
    ```text        is not run: what needs a cluster, a GPU or files of the reader's

A block runs in a folder of its own that has the folders of the tree, so files that one of its
commands writes are there for the next. A backslash at the end continues a command; what stands
behind two or more spaces and is no option explains it. PLAIT_UPDATE_DOCS=1 writes the outputs
anew, and draws the pictures."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

PLAIT = Path(os.environ["PLAIT"])
SOURCE = Path(os.environ["PLAIT_SOURCE_DIR"])
UPDATE = os.environ.get("PLAIT_UPDATE_DOCS") == "1"
TIMEOUT_S = 240
# What draws the pictures of the pages that say so, after --svg.
LLAMA = "plait whatif scenarios/llama/llama-3.1-"
PICTURES = {
    "pictures/search.svg": "plait search scenarios/llama/llama-3.1-70b-64xh100.json",
    "pictures/whatif.svg":
        LLAMA + '8b-16xh100-hybrid.json '
        '-L cluster.inter_node.bandwidth="25 Gbit/s","50 Gbit/s","100 Gbit/s","200 Gbit/s","400 Gbit/s" '
        '-L strategy.fsdp=8,16',
    "studies/fsdp.svg":
        "plait whatif scenarios/studies/llama-3.1-405b-4608xgb200.json --set strategy.pp=1 --set strategy.pipeline=1f1b "
        "--set strategy.recompute=full --set strategy.zero_stage=3 --network flow -L strategy.fsdp=9,36,72,144,576 "
        """-L cluster='{"preset":"gb200-nvl72","nodes":64}','{"preset":"hgx-b200","nodes":576}'""",
    "studies/bandwidth.svg":
        LLAMA + '405b-16384xh100.json --set cluster.preset=hgx-h200 --set name=llama-3.1-405b-16384xh200 '
        '-L cluster.inter_node.bandwidth="50 Gbit/s","100 Gbit/s","200 Gbit/s","300 Gbit/s","400 Gbit/s" '
        '-L strategy.zero_stage=2,1',
    "studies/oversubscription.svg":
        LLAMA + "70b-64xh100.json -L cluster.fabric.oversubscription=1,2,4,8 -L cluster.fabric.nodes_per_pod=1,2,4",
}
PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
KINDS = {"console", "sh", "text", "json", "cpp", "cmake", "diff", "python", "csv"}
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"^(\$ )?(plait|mpirun|srun|\./dev)\b", re.M)


class Step:
    """A command of a console block and the lines below it."""

    def __init__(self, command):
        self.command = command
        self.output = []


def steps(block):
    out = []
    for line in block.splitlines():
        if line.startswith("$ "):
            out.append(Step(line[2:]))
        elif out and not out[-1].output and out[-1].command.endswith("\\"):
            out[-1].command += "\n" + line
        elif out:
            out[-1].output.append(line)
    return out


def without_revision(text):
    """The version line as a release says it, whatever was built."""
    return re.sub(r"^(plait [\d.]+) (?:[0-9a-f]+(?:-dirty)?|unknown)(?=  |$)", r"\1", text, flags=re.M)


def matches(expected, actual):
    pattern = "".join(r"(?:.*\n)*" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


class Shell:
    """Runs commands in a folder that looks like the tree."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("scenarios", "docs", "tests", "topologies"):
            (self.folder / name).symlink_to(SOURCE / name)

    def run(self, command):
        path = f"{PLAIT.parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(["bash", "-c", command], cwd=self.folder, text=True, encoding="utf-8",
                              capture_output=True, timeout=TIMEOUT_S, check=False,
                              env={**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"})


def without_explanation(line):
    """"plait run x     what it shows" -> "plait run x"."""
    return re.sub(r"\s{2,}(#|[A-Za-z]).*$", "", re.sub(r"^(plait \w+)\s+", r"\1 ", line))


class Docs(unittest.TestCase):
    maxDiff = None

    def test_every_block_says_what_it_is(self):
        for page in PAGES:
            for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
                with self.subTest(page.name, text=text[:60]):
                    if kind not in KINDS:
                        self.assertIsNone(COMMAND.search(text), "a command in a block of no kind")

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in LINK.findall(page.read_text(encoding="utf-8")):
                if not target.startswith("http"):
                    with self.subTest(page.name, target=target):
                        self.assertTrue((page.parent / target).exists())

    def test_commands_of_sh_blocks_end_well(self):
        for page in PAGES:
            definitions = ""
            for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
                if kind == "sh":
                    definitions = self.run_lines(page, text, definitions)

    def run_lines(self, page, text, definitions):
        """Returns the page's variables after the block."""
        with tempfile.TemporaryDirectory() as folder:
            shell = Shell(folder)
            for line in re.sub(r"\\\n\s*", "", text).splitlines():
                command = without_explanation(line)
                if re.match(r"[A-Z0-9_]+=", command):
                    definitions += command + "\n"
                elif command and not command.startswith("#"):
                    with self.subTest(page.name, command=command):
                        done = shell.run(definitions + command)
                        self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
        return definitions

    def test_outputs_of_console_blocks_are_as_shown(self):
        for page in PAGES:
            before = page.read_text(encoding="utf-8")
            after = BLOCK.sub(lambda m, page=page: self.checked(page, m), before)
            if UPDATE and after != before:
                page.write_text(after, encoding="utf-8")

    def test_pictures_are_as_their_commands_draw_them(self):
        for name, command in PICTURES.items():
            shown = SOURCE / "docs" / name
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = Shell(folder).run(f"{command} --svg drawn.svg")
                self.assertEqual(done.returncode, 0, done.stderr)
                drawn = (Path(folder) / "drawn.svg").read_text(encoding="utf-8")
                if UPDATE:
                    shown.write_text(drawn, encoding="utf-8")
                self.assertEqual(shown.read_text(encoding="utf-8"), drawn, f"PLAIT_UPDATE_DOCS=1 draws {name} anew")

    def checked(self, page, block):
        if block.group(1) != "console":
            return block.group()
        lines = []
        with tempfile.TemporaryDirectory() as folder:
            shell = Shell(folder)
            for step in steps(block.group(2)):
                done = shell.run(step.command)
                text = without_revision(done.stdout).rstrip("\n")
                actual = text.split("\n") if text else []
                same = matches(step.output, actual)
                if UPDATE and not same and "..." not in step.output:
                    step.output = actual
                    same = True
                with self.subTest(page.name, command=step.command):
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if not same:
                        self.assertEqual("\n".join(step.output), "\n".join(actual) + done.stderr)
                lines += ["$ " + step.command, *step.output]
        return "```console\n" + "\n".join(lines) + "\n```"


if __name__ == "__main__":
    unittest.main()
