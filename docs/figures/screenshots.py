"""Draw the report and every state of the page for the docs, by `python docs/figures/screenshots.py [NAME ...]`.

Names are `report` and those of the states in page_states.py; without one all are drawn. gallery.py draws the figures. The
pictures are taken in the distribution's Chromium, without a network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from look import small
from page_states import prepare, shoot
from studies import bakery

from windward.present.report import write_report

HERE = Path(__file__).parent
TOKEN = "token-for-the-screenshots"


def serve(url: str) -> tuple[subprocess.Popen[str], str]:
    """Start the service on a journal; return its process and its address."""
    command = [sys.executable, "-m", "windward", "serve", "--port", "0", "--journal", url, "--json"]
    environment = {**os.environ, "WINDWARD_ADMIN_TOKEN": TOKEN}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    said = ""
    while not said.rstrip().endswith("}"):
        said += process.stdout.readline()  # type: ignore[union-attr]
    return process, json.loads(said)["url"]


def shoot_report(report: Path) -> None:
    """Draw the beginning of a report."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1500})
        page.goto(f"file://{report}")
        page.wait_for_selector("#figure-delays.js-plotly-plot")
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "report.png")
        browser.close()
    small(HERE / "report.png")


def main() -> None:
    """Draw what was named, or all."""
    torch.set_num_threads(1)
    names = tuple(sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        url, report = f"sqlite:///{folder}/states.db", Path(folder) / "report.html"
        if not names or "report" in names:
            write_report(bakery(late=True), report)
            shoot_report(report)
        if not names or set(names) - {"report"}:
            prepare(url)
            process, address = serve(url)
            try:
                shoot(address, TOKEN, names)
            finally:
                process.terminate()
                process.wait(60)
    print(f"drawn into {HERE}")


if __name__ == "__main__":
    main()
