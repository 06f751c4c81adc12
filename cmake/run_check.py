"""What the checks of the tree do on a command line: check_layers.py [ROOT]."""

import sys
from pathlib import Path


def run_check(check, kept, things):
    """check(root) gives all offences and how many things there are. Prints a line for each offence, or what is kept of
    so many ("layers: {} files keep to the rules"); 1 where there are offences, or no things at all, and else 0."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    offences, count = check(root)
    if count == 0:
        offences.append(f"{root}: no {things} found")
    for offence in offences:
        print(offence)
    if not offences:
        print(kept.format(count))
    return 1 if offences else 0
