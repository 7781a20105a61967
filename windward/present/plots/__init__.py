"""Figures of a study, as plotly figures: each function takes a study and returns one.

    history(study)      what came back, trial by trial, and the best so far as it is judged today; pending and lost marked
    contexts(study)     the contexts seen, how likely the model takes each, and what the recommendation is guarded against
    landscape(study)    what each decision is worth, with its interval, over one or two of them
    by_context(study)   what the recommended decision is worth on each kind of day, beside the status quo
    importance(study)   how much of the variation each decision and context accounts for
    effects(study)      the average value at each level of a decision or context
    check(study)        every result beside its prediction from the others: does the model deserve belief?
    price(study)        what protection costs: value against how far the contexts may drift
    delays(study)       what arrived, what is pending, what was lost, over time

`png(figure, path)` writes one as an image. They need plotly, and images a Chromium: `pip install 'windward[plots]'`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from windward.present.plots.context import contexts
from windward.present.plots.days import by_context
from windward.present.plots.delay import delays
from windward.present.plots.matter import effects, importance
from windward.present.plots.past import history
from windward.present.plots.robustness import price
from windward.present.plots.style import png
from windward.present.plots.trust import check
from windward.present.plots.worth import landscape
from windward.present.snapshot import Source

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = [
    "FIGURES",
    "by_context",
    "check",
    "contexts",
    "delays",
    "effects",
    "history",
    "importance",
    "landscape",
    "png",
    "price",
]

FIGURES: dict[str, "Callable[[Source], go.Figure]"] = {
    "landscape": landscape,
    "by_context": by_context,
    "importance": importance,
    "effects": effects,
    "history": history,
    "check": check,
    "contexts": contexts,
    "price": price,
    "delays": delays,
}
