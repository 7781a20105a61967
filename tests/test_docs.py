"""Every Python and shell block in README and docs runs, page by page, top to bottom; pages, links and names are there."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from contextlib import nullcontext
from pathlib import Path

import click
import pytest
import yaml
from helpers import with_windward_on_the_path
from warm_windward import command as warm_command

import windward as ww
from windward.cli.main import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^\n]*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
# What a fence may be called. Python and sh blocks run; console blocks show commands that are checked for existence.
LANGUAGES = {"", "python", "sh", "console", "toml", "text", "json"}
REFERRED = re.compile(r"^::: (windward[\w.]*)\.(\w+)$", re.MULTILINE)


def name_of(page):
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@every_page
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    text = page.read_text()
    for match in BLOCK.finditer(text):
        # The line of the block in its page, for a traceback that can be followed.
        padding = "\n" * (text[: match.start(1)].count("\n"))
        exec(compile(padding + match.group(1), str(page), "exec"), names)


@every_page
def test_no_block_escapes_the_tests(page):
    """A fence that is indented, or called `py` or `python title=...`, would be shown and never run."""
    opening = True
    for indent, mark, called in FENCE.findall(page.read_text()):
        if opening:
            assert (indent, mark) == ("", "```") and called in LANGUAGES, f"{page.name}: {mark}{called}"
        opening = not opening
    assert opening, f"{page.name}: a fence is not closed"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if SHELL.search(page.read_text())], ids=name_of)
def test_shell_blocks_run(page, tmp_path):
    environment = with_windward_on_the_path(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "set -eu\n" + "\n".join(SHELL.findall(page.read_text()))
    # The README's commands start as a user's do; the other pages have many, and share the imports.
    cold = page.name == "README.md"
    with nullcontext() if cold else warm_command(tmp_path, environment):
        done = subprocess.run(
            ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if CONSOLE.search(page.read_text())], ids=name_of)
def test_commands_that_are_shown_exist(page):
    lines = [line for block in CONSOLE.findall(page.read_text()) for line in block.splitlines()]
    shown = [line[2:].split("#")[0].strip() for line in lines if line.startswith("$ ")]
    assert shown
    for command in (part.strip() for line in shown for part in re.split(r"&&|;", line)):
        check_command(command.split())


def check_command(words):
    if words[0] == "windward":
        command, rest = main, words[1:]
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            command, rest = command.get_command(click.Context(command), rest[0]), rest[1:]
            assert command is not None, " ".join(words)
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for word in rest:
            assert not word.startswith("-") or word.split("=")[0] in options | {"--help"}, " ".join(words)
    elif words[0] == "make":
        targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        assert {word for word in words[1:] if "=" not in word} <= targets, " ".join(words)
    elif words[0] == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for asked in re.findall(r"(?:windward|\.)\[([\w,]+)\]", " ".join(words)):
            assert set(asked.split(",")) <= set(extras), " ".join(words)
    elif words[0] == "python":
        assert (ROOT / words[1]).exists(), " ".join(words)
    else:
        known = {"curl", "source", "export", "sqlite3", "createdb"}
        assert words[0] in known or (ROOT / words[0]).exists(), " ".join(words)


@every_page
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_says_what_it_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = BLOCK.findall((ROOT / "README.md").read_text())[0]
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == re.search(r"print\(.*#\s*(.*)$", block, re.MULTILINE).group(1)
    assert BLOCK.findall((DOCS / "index.md").read_text())[0] == block  # the first page shows the same


def listed(entries):
    """The pages of a nav, in order."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from [below] if isinstance(below, str) else listed(below)


def test_the_nav_names_every_page_once():
    nav = list(listed(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    assert len(nav) == len(set(nav))
    assert set(nav) == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


def test_the_reference_has_every_public_name_once():
    referred = [
        pair for page in sorted((DOCS / "reference").glob("*.md")) for pair in REFERRED.findall(page.read_text())
    ]
    assert len(referred) == len(set(referred))
    by_name = {name: module for module, name in referred if module != "windward.papers"}
    modules = {"divergences", "papers", "__version__"}
    assert set(ww.__all__) - modules <= set(by_name)
    for name in set(ww.__all__) - modules:
        assert getattr(importlib.import_module(by_name[name]), name) is getattr(ww, name)
    shown = {name for module, name in referred if module == "windward.papers"}
    assert shown == set(ww.papers.__all__)


@pytest.mark.parametrize("name", ["loop", "choosing"])
def test_a_diagram_is_what_its_script_draws(name, tmp_path):
    for script in ("svg.py", f"{name}.py"):
        shutil.copy(DOCS / "figures" / script, tmp_path)
    subprocess.run([sys.executable, str(tmp_path / f"{name}.py")], check=True, timeout=60)
    assert (tmp_path / f"{name}.svg").read_text() == (DOCS / "figures" / f"{name}.svg").read_text()
