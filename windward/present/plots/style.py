"""How figures look, and how user text goes into them: shown as it is, never read as markup."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windward.basics.errors import ArgumentError, MissingDependency
from windward.basics.speech import number, percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Okabe and Ito's blue, vermilion and green: readers with any colour vision tell them apart, on white and on a dark page.
VALUE, ADVERSE, CHOSEN, QUIET = "#0072B2", "#D55E00", "#009E73", "#6B7684"
# Marks on a heat map stand out from every colour of it by their edges: what was tried, what is best.
TRIED = {"color": "#FFFFFF", "size": 6, "line": {"color": "#1d2733", "width": 1}}
SPOT = {"color": ADVERSE, "size": 11, "line": {"color": "#FFFFFF", "width": 1.5}}
STAR = {**SPOT, "size": 18, "symbol": "star"}
# One size for all that is read, and a larger one for the title.
SIZE, TITLE = 13, 16
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
# Longer names would push the plot off a phone.
LONGEST = 48
# With fewer trials than this side by side an axis would be given ticks between them.
FEW = 10
# Distances between ticks of shares.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25)


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


def plain_words(text: str) -> str:
    """Return words that plotly shows as they are, however many.

    >>> plain_words("price <b>")
    'price &lt;b&gt;'
    """
    return " ".join(plain(word) for word in text.split(" "))


def figure(title: str, caption: str, note: str = "") -> go.Figure:
    """Return an empty figure with a title, and a caption for those who show it (`figure.layout.meta`).

    A note stands below the title, for what the picture cannot be read without.
    """
    made = graph_objects().Figure()
    heading = {"text": title, "x": 0.01, "xanchor": "left", "font": {"size": TITLE}}
    heading |= {"y": 1.0, "yref": "container", "yanchor": "top", "pad": {"t": 14}}
    if note:
        heading["subtitle"] = {"text": note, "font": {"size": SIZE}}
    made.update_layout(
        template="plotly_white",
        title=heading,
        meta={"caption": caption},
        font={"family": FONT, "size": SIZE},
        margin={"l": 60, "r": 30, "t": 78 if note else 56, "b": 52},
        # Below: on a phone it takes several lines, which must not run into the title.
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -0.22, "yanchor": "top", "traceorder": "normal"},
        showlegend=True,  # of a single curve too: its name says what it is
        hoverlabel={"align": "left"},
        height=420,
    )
    for axes in (made.layout.template.layout.xaxis, made.layout.template.layout.yaxis):
        axes.title.font.size = SIZE
    return made


def panels(made: go.Figure, rows: int, columns: int, *, titles: Sequence[str] = (), **spacing: float) -> None:
    """Divide a figure into panels; their titles are of the size of everything else."""
    made.set_subplots(rows=rows, cols=columns, subplot_titles=list(titles) or None, **spacing)
    made.update_annotations(font={"size": SIZE})


def whole_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return the ticks of an axis that counts: never between two whole numbers.

    >>> whole_ticks([58, 61]), whole_ticks([0, 40])
    ({'dtick': 1}, {})
    """
    return {"dtick": 1} if max(values) - min(values) < FEW else {}


def share_ticks(most: float) -> dict[str, Any]:
    """Return the ticks of an axis of shares from 0 to `most`, written as percentages are everywhere else.

    >>> share_ticks(0.5)["ticktext"]
    ['0 %', '10 %', '20 %', '30 %', '40 %', '50 %']
    """
    step = next(step for step in STEPS if most <= 6 * step)
    places = [step * place for place in range(math.floor(most / step + 1e-9) + 1)]
    return {"tickvals": places, "ticktext": [percent(place) for place in places]}


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """Return the ticks of a log axis: as many as can be read beside each other, each written in full.

    >>> log_ticks(0.1, 10)["ticktext"], log_ticks(1e-6, 1)["ticktext"]
    (['0.1', '0.2', '0.5', '1', '2', '5', '10'], ['1e-06', '0.0001', '0.01', '1'])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = math.log10(high / low)
    heads = (1, 2, 5) if decades <= 2 else (1, 3) if decades <= 3 else (1,)
    powers = range(first, last + 1) if decades <= 5 else range(last, first - 1, -2)
    places = sorted(head * 10.0**power for power in powers for head in heads)
    room = 1.0 + 1e-9
    shown = [place for place in places if low / room <= place <= high * room]
    return {"type": "log", "tickvals": shown, "ticktext": [number(place) for place in shown]}


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


def png(made: go.Figure, path: str | Path, *, width: int = 900, height: int | None = None, scale: float = 2.0) -> None:
    """Write a figure as a PNG image; kaleido draws it in an installed Chromium or Chrome, without a network.

    Without a height it is as high as the figure says: one with six panels needs more than one with a single curve.
    """
    target = Path(path)
    if not target.absolute().parent.is_dir():
        raise ArgumentError(f"png({str(path)!r}): the folder {str(target.parent)!r} does not exist; create it first.")
    try:
        import kaleido  # noqa: F401
    except ImportError as error:
        raise MissingDependency("windward.plots.png needs kaleido: pip install 'windward[plots]'.") from error
    try:
        image = made.to_image(format="png", width=width, height=height or made.layout.height, scale=scale)
    except Exception as error:
        if type(error).__name__ in ("ChromeNotFoundError", "BrowserFailedError") or "hrome" in str(error):
            raise MissingDependency(
                f"windward.plots.png needs Chromium or Chrome: apt-get install chromium, or set BROWSER_PATH ({error})."
            ) from error
        raise
    target.write_bytes(image)
