"""The site's own steps: a page for every example, and links to files outside docs/ that lead to those pages.

In the repository a page links to `../examples/one_machine.py`; on the site that file is a page with its text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

LANGUAGES = {".py": "python", ".sh": "sh", ".toml": "toml", ".csv": "text"}
LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)")
# Files of the repository that the site shows as pages of their own.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every example."""
    for path in sorted((root(config) / "examples").glob("*")):
        if path.suffix in LANGUAGES:
            text = f"# {path.name}\n\n````{LANGUAGES[path.suffix]}\n{path.read_text()}````\n"
            files.append(File.generated(config, page_of(path.name), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links that leave docs/ to the site's page of the same file."""
    here = PurePosixPath(page.file.src_uri).parent

    def led(match: re.Match[str]) -> str:
        target = PurePosixPath(os.path.normpath(PurePosixPath("docs") / here / match[2]))
        if target.parts[0] == "docs":
            return match[0]
        shown = page_of(target.name) if target.parts[0] == "examples" else PAGES.get(str(target))
        if shown is None:
            raise ValueError(f"{page.file.src_uri} links to {target}, which the site does not have.")
        return match[1] + os.path.relpath(shown, here)

    return LINK.sub(led, markdown)


def page_of(name: str) -> str:
    """Return where the page of an example is."""
    return f"examples/{name.replace('.', '-')}.md"


def root(config: MkDocsConfig) -> Path:
    """Return the repository's root."""
    return Path(config.config_file_path).parent
