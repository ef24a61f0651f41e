"""Take the picture of the report that the README shows: python docs/make_screenshot.py REPORT.html.

Needs Playwright (the group ``test``) and Chromium.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "report.png"
WIDTH, HEIGHT = 1280, 780


def take_picture(report: Path) -> None:
    """The top of the page as it opens."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.resolve().as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    take_picture(Path(sys.argv[1]))
