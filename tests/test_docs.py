"""Every Python block in README and docs runs, page by page, top to bottom."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from helpers import with_windward_on_the_path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = page.read_text()
    for match in BLOCK.finditer(text):
        # The line of the block in its page, for a traceback that can be followed.
        padding = "\n" * (text[: match.start(1)].count("\n"))
        exec(compile(padding + match.group(1), str(page), "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if SHELL.search(page.read_text())], ids=lambda page: page.name)
def test_shell_blocks_run(page, tmp_path):
    environment = with_windward_on_the_path(tmp_path)
    script = "set -eu\n" + "\n".join(SHELL.findall(page.read_text()))
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_says_what_it_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = BLOCK.findall((ROOT / "README.md").read_text())[0]
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == re.search(r"print\(.*#\s*(.*)$", block, re.MULTILINE).group(1)
