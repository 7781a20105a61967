"""The documentation site: search without a server and without a network, and a gallery that leaves no figure out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from service_helpers import chromium

from windward import plots

ROOT = Path(__file__).parents[1]
SHIM = ROOT / "docs" / "assets" / "iframe-worker.js"
WORKER = "addEventListener('message', (event) => postMessage({ twice: 2 * event.data, name: location.protocol }));"
PAGE = """<!doctype html><script src="shim.js"></script><body><script>
const worker = new Worker("worker.js");
worker.addEventListener("message", (event) => { document.title = JSON.stringify(event.data.twice); });
worker.postMessage(21);
</script>"""


def test_the_plugin_that_writes_the_index_loads_nothing_from_elsewhere():
    """mkdocs-material's plugin adds a script of another host unless one of this name is there."""

    class Plain(yaml.SafeLoader):
        pass

    Plain.add_multi_constructor("tag:", lambda loader, suffix, node: None)
    settings = yaml.load((ROOT / "mkdocs.yml").read_text(), Plain)
    assert "offline" in settings["plugins"] and settings["use_directory_urls"] is False
    named = settings["extra"]["polyfills"]
    assert [ROOT / "docs" / each for each in named] == [SHIM] and "iframe-worker" in named[0]


def test_the_gallery_has_every_figure_of_every_study():
    pictures = ROOT / "docs" / "figures" / "gallery"
    shown = re.findall(
        r"!\[([^]]+)\]\(figures/gallery/((\w+)-([\w-]+)\.png)\)", (ROOT / "docs" / "gallery.md").read_text()
    )
    studies = {study for _, _, study, _ in shown}
    assert len(studies) == 5
    assert {(study, kind) for _, _, study, kind in shown} >= {
        (study, kind) for study in studies for kind in plots.FIGURES
    }
    assert {name for _, name, _, _ in shown} == {path.name for path in pictures.glob("*.png")}
    assert sum(path.stat().st_size for path in pictures.glob("*.png")) < 3_000_000


@pytest.mark.browser
@pytest.mark.parametrize("with_the_shim", [True, False])
def test_a_worker_starts_on_a_page_from_the_disk(tmp_path, with_the_shim):
    from playwright.sync_api import sync_playwright

    if chromium() is None:
        pytest.skip("there is no browser")
    (tmp_path / "shim.js").write_text(SHIM.read_text() if with_the_shim else "")
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "page.html").write_text(PAGE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        if with_the_shim:
            page.wait_for_function("document.title === '42'", timeout=20_000)
        else:  # why it is there: browsers refuse this
            page.wait_for_timeout(300)
            assert page.title() == ""
        browser.close()
