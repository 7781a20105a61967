"""Draw the figures of docs/plots.md and docs/gallery.md, by `python docs/figures/gallery.py [NAME ...]`.

Without names all are drawn: `pages` for the pages of the documentation, and each study of the gallery. An installed Chromium
takes the pictures, without a network.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from look import small
from studies import bakery, campaign, greenhouse, kiosk, mistaken, reminders, series

import windward as ww
from windward import plots

HERE = Path(__file__).parent
GALLERY = HERE / "gallery"
# Pictures of a page fill it; in the gallery two stand beside each other, drawn narrower so that their letters stay as large.
PAGE, HALF = (900, 1.0), (600, 1.25)
GUARDED = ww.auto(ww.Robust(ww.TotalVariation(), radius=0.6))
# What each study of the gallery shows: figures of `windward.plots`, and those with names of their own.
Drawing = Callable[[ww.Study], Any]
EVERY: dict[str, Drawing] = dict(plots.FIGURES)
STUDIES: dict[str, tuple[Callable[[], ww.Study], dict[str, Drawing]]] = {
    "kiosk": (kiosk, {**EVERY, "landscape-context": lambda s: plots.landscape(s, "order", "customers")}),
    "campaign": (
        campaign,
        {
            **EVERY,
            "by_context-two": lambda s: plots.by_context(s, "device", "weekday"),
            "landscape-context": lambda s: plots.landscape(s, "channel", "device"),
        },
    ),
    "greenhouse": (
        greenhouse,
        {
            **EVERY,
            "landscape-one": lambda s: plots.landscape(s, "fertilizer"),
            "landscape-context": lambda s: plots.landscape(s, "lamps", "sun"),
        },
    ),
    "reminders": (reminders, {**EVERY, "landscape-context": lambda s: plots.landscape(s, "discount", "loyalty")}),
    "series": (series, {**EVERY, "landscape-context": lambda s: plots.landscape(s, "loaves", "weekday")}),
}


def draw(made: Any, path: Path, size: tuple[int, float]) -> None:
    width, scale = size
    plots.png(made, path, width=width, scale=scale)
    small(path, 256 if any(trace.type == "heatmap" for trace in made.data) else 128)


def pages() -> None:
    """Draw what the pages of the documentation show: one bakery, guarded where a figure is about that."""
    study = bakery()
    for name in ("by_context", "importance", "effects"):
        draw(plots.FIGURES[name](study), HERE / f"plot-{name}.png", PAGE)
    draw(plots.landscape(study, "loaves"), HERE / "plot-landscape.png", PAGE)
    draw(plots.landscape(study), HERE / "plot-landscape-two.png", PAGE)
    draw(plots.landscape(study, "loaves", "passers"), HERE / "plot-landscape-context.png", PAGE)
    draw(plots.check(study), HERE / "plot-check.png", PAGE)
    draw(plots.check(mistaken()), HERE / "plot-check-mistake.png", PAGE)
    late = bakery(late=True)
    for name in ("history", "delays"):
        draw(plots.FIGURES[name](late), HERE / f"plot-{name}.png", PAGE)
    study.use(GUARDED)
    for name in ("contexts", "price"):
        draw(plots.FIGURES[name](study), HERE / f"plot-{name}.png", PAGE)


def drawn(name: str) -> None:
    """Draw one study of the gallery; say what cannot be drawn of it."""
    play, figures = STUDIES[name]
    study = play()
    GALLERY.mkdir(exist_ok=True)
    for kind, picture in figures.items():
        try:
            draw(picture(study), GALLERY / f"{name}-{kind}.png", HALF)
        except (ww.TrialError, ww.IncompatibleError) as error:
            print(f"{name}: {kind} not drawn: {error}")


def main() -> None:
    """Draw what was named, or all."""
    import kaleido

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="The kopts argument is ignored")  # plotly's, to a server that is running
    kaleido.start_sync_server(silence_warnings=True)  # one browser for all
    try:
        for name in sys.argv[1:] or ["pages", *STUDIES]:
            start = time.monotonic()
            pages() if name == "pages" else drawn(name)
            print(f"{name}: drawn in {time.monotonic() - start:.0f} s")
    finally:
        kaleido.stop_sync_server()


if __name__ == "__main__":
    main()
