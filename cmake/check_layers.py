#!/usr/bin/env python3
"""Checks the house rules that a compiler does not: which folder may include which, that includes
name their path from the root, that no folders include one another in a circle, and that no file
grows past the line limit. Usage: check_layers.py [ROOT]. Exit code 1 and one line per offence."""

import re
import sys

from run_check import run_check

# Folder -> the other folders whose headers it may include. Folders of ANYTHING see all of them.
CORE = {"core"}
PLANNING = CORE | {"model", "plan", "topologies"}
ALLOWED = {
    "core": set(),
    "model": CORE,
    "kernels": CORE,
    "topologies": CORE | {"model"},
    "plan": CORE | {"model"},
    "scenarios": PLANNING,
    "costmodel": PLANNING,
    "sim": PLANNING | {"costmodel"},
    "serving": PLANNING | {"costmodel", "sim"},
    "search": PLANNING | {"costmodel", "sim", "scenarios"},
    "realrun": CORE | {"model", "plan", "kernels"},
    "reports": PLANNING | {"costmodel", "serving"},
    "prediction": PLANNING | {"costmodel", "sim", "serving", "scenarios", "search", "reports"},
}
ANYTHING = {"cli", "bench", "tests"}
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
MAX_LINES = 400
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def source_files(root):
    for folder in sorted(ALLOWED.keys() | ANYTHING):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SOURCE_SUFFIXES and path.is_file():
                yield folder, path


def included_folder(root, path, include):
    """The folder that an include names, and what is wrong with the way it is written."""
    folder, slash, _ = include.partition("/")
    if slash and (folder in ALLOWED or folder in ANYTHING):
        return folder, ""
    if (path.parent / include).exists():
        full = (path.parent / include).resolve().relative_to(root.resolve())
        return "", f'write the path from the root: "{full}"'
    return "", ""  # a generated header


def include_offence(folder, target):
    if not target or target == folder or folder in ANYTHING or target in ALLOWED[folder]:
        return ""
    allowed = ", ".join(sorted(ALLOWED[folder])) or "no other folder"
    return f"{folder} may not include {target} (allowed: {allowed})"


def find_cycle(edges):
    """A list of folders that include one another in a circle, or None."""
    done, trail = set(), []

    def visit(folder):
        if folder in trail:
            return trail[trail.index(folder):] + [folder]
        if folder in done:
            return None
        trail.append(folder)
        for target in sorted(edges.get(folder, ())):
            if cycle := visit(target):
                return cycle
        done.add(trail.pop())
        return None

    for folder in sorted(edges):
        if cycle := visit(folder):
            return cycle
    return None


def check(root):
    """All offences in the tree under root, as "file:line: text"."""
    offences, edges, files = [], {}, 0
    for folder, path in source_files(root):
        files += 1
        name = path.relative_to(root)
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            offences.append(f"{name}:{MAX_LINES + 1}: {len(lines)} lines, limit {MAX_LINES}")
        for number, line in enumerate(lines, 1):
            if not (match := INCLUDE.match(line)):
                continue
            target, problem = included_folder(root, path, match.group(1))
            if problem := problem or include_offence(folder, target):
                offences.append(f"{name}:{number}: {problem}")
            if target and target != folder:
                edges.setdefault(folder, set()).add(target)
    if cycle := find_cycle(edges):
        offences.append("folders include one another in a circle: " + " -> ".join(cycle))
    return offences, files


if __name__ == "__main__":
    sys.exit(run_check(check, "layers: {} files keep to the rules", "source files"))
