"""What is installed works where it is put: the command, its manual page and completions, and the
library in another CMake project. Environment: PLAIT_BUILD_DIR, PLAIT_SOURCE_DIR."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["PLAIT_BUILD_DIR"])
SOURCE = Path(os.environ["PLAIT_SOURCE_DIR"])
SCENARIO = "plait/scenarios/llama/llama-3.1-70b-64xh100.json"


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, encoding="utf-8",
                          capture_output=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        # Relocatable: nothing may remember where it was installed.
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)

    def test_the_command_predicts_an_installed_scenario(self):
        report = json.loads(run(self.prefix / "bin/plait", "run", self.prefix / "share" / SCENARIO,
                                "--format", "json"))
        self.assertTrue(report["fits"])

    def test_plugins_are_found(self):
        if not list((self.prefix / "lib/plait").glob("libplait_mpi.so")):
            self.skipTest("built without MPI")
        listed = run(self.prefix / "bin/plait", "realrun", "--help")
        self.assertIn("mpi", listed)

    def test_shell_files_are_installed(self):
        manual = (self.prefix / "share/man/man1/plait.1").read_text(encoding="utf-8")
        for command in ("run", "search", "topology show"):
            self.assertIn(f".SS plait {command}", manual)
        script = (self.prefix / "share/bash-completion/completions/plait").read_text("utf-8")
        completed = run("bash", "-c", script + "\nCOMP_WORDS=(plait ru); COMP_CWORD=1; _plait; "
                                               "echo ${COMPREPLY[@]}")
        self.assertEqual(completed, "run\n")

    def test_another_project_builds_with_the_library(self):
        build = self.folder / "example"
        run("cmake", "-S", SOURCE / "tests/package/example", "-B", build,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", build)
        scenario = self.prefix / "share" / SCENARIO
        step = re.fullmatch(r"(\d+\.\d+) s\n", run(build / "example", scenario)).group(1)
        report = json.loads(run(self.prefix / "bin/plait", "run", scenario, "--format", "json"))
        self.assertAlmostEqual(float(step), report["step_time_s"], places=6)

    def test_tarball_and_debian_package_hold_the_same_files(self):
        made = self.folder / "packages"
        made.mkdir()
        generators = "TGZ;DEB" if shutil.which("dpkg-shlibdeps") else "TGZ"
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", generators, "-B", made)
        tarball = next(made.glob("*.tar.gz"))
        files = set(run("tar", "-tzf", tarball).split())
        self.assertTrue(any(name.endswith("bin/plait") for name in files))
        if generators == "TGZ":
            self.skipTest("dpkg-shlibdeps is not installed: no Debian package")
        package = next(made.glob("*.deb"))
        run("dpkg-deb", "-x", package, self.folder / "deb")
        self.assertIn("plait", run(self.folder / "deb/usr/bin/plait", "version"))
        depends = run("dpkg-deb", "-f", package, "Depends")
        self.assertIn("libc6", depends)
        inside = {path.relative_to(self.folder / "deb/usr").as_posix()
                  for path in (self.folder / "deb/usr").rglob("*") if path.is_file()}
        top = tarball.name.removesuffix(".tar.gz")
        self.assertEqual(inside, {name.removeprefix(top + "/") for name in files
                                  if not name.endswith("/")})


if __name__ == "__main__":
    unittest.main()
