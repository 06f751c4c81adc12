"""What plait says of itself: --help, explain, completion, man."""

import re
import subprocess
import unittest

from plait_command import PLAIT, SOURCE, CommandTest, plait

CODE = re.compile(r"\b[A-Z]\d{3}\b")


def commands():
    """Subcommands, as `plait --help` lists them."""
    text = plait("--help").out.split("Subcommands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in text.splitlines()]


def examples(help_text):
    return [line.strip() for line in help_text.split("Examples:\n")[1].splitlines()
            if line.startswith("  plait")] if "Examples:\n" in help_text else []


class Shell(CommandTest):
    def test_help_is_one_screen_and_its_examples_run(self):
        texts = [plait("--help").out, *(plait(name, "--help").out for name in commands())]
        self.assertLessEqual(len(texts[0].splitlines()), 45)
        for command in {line for text in texts for line in examples(text)}:
            with self.subTest(command):
                done = subprocess.run(["bash", "-c", command.replace("plait", PLAIT, 1)], cwd=SOURCE,
                                      capture_output=True, text=True, timeout=120, check=False)
                self.assertIn(done.returncode, (0, 1, 77), done.stderr)

    def test_help_of_a_command_is_what_its_option_prints(self):
        self.assertEqual(plait("help").out, plait("--help").out)
        self.assertEqual(plait("help", "topology", "show").out, plait("topology", "show", "--help").out)

    def test_lists_begin_with_the_names_and_say_what_they_are(self):
        names = [line.strip() for line in plait("list").out.splitlines()]
        for kind, words in (("devices", "FLOP/s"), ("models", "parameters"), ("clusters", " x "),
                            ("fabrics", "bit/s")):
            rows = plait("list", kind).out.splitlines()
            for row in rows:
                self.assertIn(row.split()[0], names)
                self.assertIn(words, row)

    def test_every_documented_code_is_explained(self):
        rows = [line.split("|")[1] for line in (SOURCE / "docs/errors.md").read_text(
            encoding="utf-8").splitlines() if line.startswith("|")]
        documented = set(CODE.findall(" ".join(rows)))
        listed = {line.split()[0] for line in plait("explain").out.splitlines()}
        self.assertEqual(documented, listed)
        for code in sorted(documented):
            self.assertTrue(plait("explain", code).out.startswith(code + "  "), code)
        self.assertEqual(plait("explain", "s010").out, plait("explain", "S010").out)
        self.assertLessEqual(max(len(line) for line in plait("explain", "S010").out.splitlines()), 100)

    def test_an_unknown_code_is_an_error_with_a_suggestion(self):
        wrong = plait("explain", "S01O")
        self.assertEqual(wrong.code, 2)
        self.assertIn("did you mean S010?", wrong.err)

    def test_completion_knows_commands_options_choices_and_fields(self):
        cases = {("plait", "ru"): "run",
                 ("plait", "topology", "sh"): "show",
                 ("plait", "run", "--format", "j"): "json",
                 ("plait", "run", "--unf"): "--unfold",
                 ("plait", "run", "x.json", "--set", "strategy.zero_s"): "strategy.zero_stage="}
        script = plait("completion", "bash").out
        for words, wanted in cases.items():
            with self.subTest(words):
                run = (f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=({' '.join(words)})\n"
                       f"COMP_CWORD={len(words) - 1}\n_plait\necho \"${{COMPREPLY[@]}}\"")
                done = subprocess.run(["bash", "-c", run], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.strip(), wanted)

    def test_every_command_is_in_the_manual_and_in_every_completion(self):
        manual = plait("man").out
        self.assertTrue(manual.startswith(".TH PLAIT 1"))
        texts = {shell: plait("completion", shell).out for shell in ("bash", "zsh", "fish")}
        for name in commands():
            self.assertIn(f".SS plait {name}\n", manual)
            for shell, text in texts.items():
                self.assertRegex(text, rf"\b{name}\b", shell)


if __name__ == "__main__":
    unittest.main()
