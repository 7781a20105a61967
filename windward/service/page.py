"""The page: files of our own and plotly's script, named one by one, so that no path leads anywhere else."""

from __future__ import annotations

import gzip
import inspect
from functools import cache
from importlib import resources
from typing import Annotated

from fastapi import APIRouter, Header, Response

from windward.basics.errors import MissingDependency
from windward.study.declare import methods

TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
# The page's own files beside `index.html`, and the script that draws its figures.
SCRIPTS = ("base", "figures", "fit", "history", "known", "new", "page", "study", "trials", "whatif")
FILES, PLOTLY = ("page.css", *(f"{name}.js" for name in SCRIPTS)), "plotly.js"
pages = APIRouter(include_in_schema=False)


@pages.get("/")
def index() -> Response:
    """Return the page."""
    return _file("index.html", None)


def _serve(name: str) -> None:
    """Give a file a route of its own; plotly's script is packed where the browser takes that, for it is large."""

    @pages.get(f"/{name}", name=name)
    def file(accept_encoding: Annotated[str | None, Header()] = None) -> Response:
        return _file(name, accept_encoding)


for each in (*FILES, PLOTLY):
    _serve(each)


def offered_methods() -> list[dict[str, str]]:
    """Return the methods that need no arguments, with the first line of what they do."""
    found = []
    for name, method in sorted(methods().items()):
        needed = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
        if not needed:
            found.append({"name": name, "about": (inspect.getdoc(method) or "").split("\n")[0]})
    return found


def _file(name: str, accept_encoding: str | None) -> Response:
    kind = TYPES[name.rsplit(".", 1)[1]]
    # Our own files change with the version; the browser asks again each time.
    headers = {"cache-control": "no-cache" if name != PLOTLY else "max-age=86400", "vary": "accept-encoding"}
    if "gzip" in (accept_encoding or ""):
        return Response(_packed(name), media_type=kind, headers={**headers, "content-encoding": "gzip"})
    return Response(_content(name), media_type=kind, headers=headers)


@cache
def _content(name: str) -> bytes:
    if name != PLOTLY:
        return resources.files("windward.present.pages").joinpath(name).read_bytes()
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingDependency("the page's figures need plotly: pip install 'windward[service]'.") from error
    return str(get_plotlyjs()).encode()


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(_content(name), 6)
