"""How figures look, and how user text goes into them: shown as it is, never read as markup."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windward.basics.errors import ArgumentError, MissingDependency

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Colours that can be told apart on white and on black, and by readers who do not see red from green.
VALUE, ADVERSE, CHOSEN, QUIET = "#3b82c4", "#d9772b", "#1f9d76", "#8a94a3"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
# Longer names would push the plot off a phone.
LONGEST = 48


def graph_objects() -> Any:
    """Return plotly's graph objects, or raise `MissingDependency`."""
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise MissingDependency("windward.plots needs plotly: pip install 'windward[plots]'.") from error
    return go


def plain(text: object) -> str:
    """Return text that plotly shows as it is: plotly reads `<b>` and entities in every label as markup.

    >>> plain("<b>a</b>")
    '&lt;b&gt;a&lt;/b&gt;'
    """
    words = str(text)
    words = words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
    shown = "".join(each if each.isprintable() else " " for each in words)
    return html.escape(shown, quote=False)


def figure(title: str, caption: str) -> go.Figure:
    """Return an empty figure with a title, and a caption for those who show it (`figure.layout.meta`)."""
    made = graph_objects().Figure()
    made.update_layout(
        template="plotly_white",
        title={"text": title, "x": 0.01, "xanchor": "left", "font": {"size": 16}},
        meta={"caption": caption},
        font={"family": FONT, "size": 13},
        margin={"l": 60, "r": 20, "t": 56, "b": 52},
        # Below: on a phone it takes several lines, which must not run into the title.
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.22, "yanchor": "top", "traceorder": "normal"},
        hoverlabel={"align": "left"},
        height=420,
    )
    return made


def band(go: Any, x: list[Any], low: list[float], high: list[float], name: str, color: str) -> Any:
    """Return a shaded band between two curves."""
    return go.Scatter(
        x=[*x, *reversed(x)],
        y=[*high, *reversed(low)],
        fill="toself",
        fillcolor=faint(color),
        line={"width": 0},
        hoverinfo="skip",
        name=name,
    )


def faint(color: str, share: float = 0.25) -> str:
    """Return a hex colour with transparency."""
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


def png(made: go.Figure, path: str | Path, *, width: int = 900, height: int = 480, scale: float = 2.0) -> None:
    """Write a figure as a PNG image; kaleido draws it in an installed Chromium or Chrome, without a network."""
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise ArgumentError(f"png({str(path)!r}): the folder {str(target.parent)!r} does not exist; create it first.")
    try:
        import kaleido  # noqa: F401
    except ImportError as error:
        raise MissingDependency("windward.plots.png needs kaleido: pip install 'windward[plots]'.") from error
    try:
        image = made.to_image(format="png", width=width, height=height, scale=scale)
    except Exception as error:
        if type(error).__name__ in ("ChromeNotFoundError", "BrowserFailedError") or "hrome" in str(error):
            raise MissingDependency(
                f"windward.plots.png needs Chromium or Chrome: apt-get install chromium, or set BROWSER_PATH ({error})."
            ) from error
        raise
    target.write_bytes(image)
