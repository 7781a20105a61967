"""The page: three files of our own and plotly's script, named one by one, so that no path leads anywhere else."""

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
pages = APIRouter(include_in_schema=False)


@pages.get("/")
def index() -> Response:
    """Return the page."""
    return _file("index.html", None)


@pages.get("/page.css")
def style(accept_encoding: Annotated[str | None, Header()] = None) -> Response:
    """Return the page's style."""
    return _file("page.css", accept_encoding)


@pages.get("/page.js")
def script(accept_encoding: Annotated[str | None, Header()] = None) -> Response:
    """Return the page's script."""
    return _file("page.js", accept_encoding)


@pages.get("/plotly.js")
def plotly(accept_encoding: Annotated[str | None, Header()] = None) -> Response:
    """Return plotly's script, packed: it is large."""
    return _file("plotly.js", accept_encoding)


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
    headers = {"cache-control": "no-cache" if name != "plotly.js" else "max-age=86400", "vary": "accept-encoding"}
    if "gzip" in (accept_encoding or ""):
        return Response(_packed(name), media_type=kind, headers={**headers, "content-encoding": "gzip"})
    return Response(_content(name), media_type=kind, headers=headers)


@cache
def _content(name: str) -> bytes:
    if name != "plotly.js":
        return resources.files("windward.present.pages").joinpath(name).read_bytes()
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingDependency("the page's figures need plotly: pip install 'windward[service]'.") from error
    return str(get_plotlyjs()).encode()


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(_content(name), 6)
