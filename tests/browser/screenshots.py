#!/usr/bin/env python3
"""Pictures of every kind of page at two sizes, light and dark: screenshots.py FOLDER [NAME...].
PLAIT is the command to use (default: build/plait)."""

import sys
import tempfile
import time
from pathlib import Path

from browser import Browser
from pages import COMMANDS, make_page

SIZES = {"wide": (1440, 900), "narrow": (420, 800)}
MOST_PIXELS = 12_000  # of height: what Chromium captures in one piece


def capture(browser, page, out):
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            browser.size(width, height)
            browser.media(scheme=scheme)
            browser.open(page)
            whole = browser.run("return document.documentElement.scrollHeight")
            time.sleep(0.3)
            for part, shown in (("first", height), ("whole", min(whole, MOST_PIXELS))):
                if part == "whole":
                    browser.devtools("Emulation.setDeviceMetricsOverride", width=width, height=shown,
                                     deviceScaleFactor=1, mobile=False)
                    time.sleep(0.3)
                browser.screenshot(out / f"{page.stem}-{size}-{scheme}-{part}.png")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(COMMANDS)
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for name in names:
            page, _ = make_page(name, Path(folder))
            capture(browser, page, out)
            print(f"{name}: {page.stat().st_size} bytes")


if __name__ == "__main__":
    main()
