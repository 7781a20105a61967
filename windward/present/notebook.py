"""What a study shows of itself in a notebook: how it stands, and its figures by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windward.basics import arguments, cards
from windward.basics.speech import counted
from windward.present import plots
from windward.present.sentences import objective_name
from windward.present.snapshot import Snapshot, Source

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Figures:
    """The figures of a study, by name: `study.plots.history()` is a plotly figure, and a notebook shows it.

    `study.plots.png("history", "history.png")` writes one as an image. They need plotly: `pip install 'windward[plots]'`.
    """

    def __init__(self, study: Source) -> None:
        self._study = study

    def landscape(self, *names: str) -> go.Figure:
        """Return what decisions are worth with the 90 % interval, over one or two of them, or over a decision and a context."""
        return plots.landscape(self._study, *names)

    def by_context(self, *names: str) -> go.Figure:
        """Return what the recommended decision is worth on each kind of day; of two contexts together, a heat map."""
        return plots.by_context(self._study, *names)

    def importance(self) -> go.Figure:
        """Return how much of the variation each decision and context accounts for."""
        return plots.importance(self._study)

    def effects(self) -> go.Figure:
        """Return the average value at each level of each decision and context."""
        return plots.effects(self._study)

    def history(self) -> go.Figure:
        """Return what came back, trial by trial, and the best so far."""
        return plots.history(self._study)

    def check(self) -> go.Figure:
        """Return every result beside its prediction from the others."""
        return plots.check(self._study)

    def contexts(self) -> go.Figure:
        """Return the contexts seen, expected, and guarded against."""
        return plots.contexts(self._study)

    def price(self) -> go.Figure:
        """Return what protection costs: value against how far the contexts may drift."""
        return plots.price(self._study)

    def delays(self) -> go.Figure:
        """Return what arrived, what is pending and what was lost, over time."""
        return plots.delays(self._study)

    def png(self, figure: str, path: str | Path, *names: str, width: int = 900, height: int = 480) -> Path:
        """Write a figure, by its name, as an image, and return where it is; `names` as for `landscape` and `by_context`."""
        arguments.choice("study.plots.png", "figure", figure, tuple(plots.FIGURES))
        plots.png(getattr(self, figure)(*names), path, width=width, height=height)
        return Path(path)

    def __repr__(self) -> str:
        return f"the figures of a study: {', '.join(f'{name}()' for name in plots.FIGURES)}"


def study_card(study: Source) -> str:
    """Return how a study stands, as HTML: what is decided, what came back, what comes next."""
    seen = study.snapshot()
    space = seen.space
    rows = [(name, parameter.in_words()) for name, parameter in space.decision.items()]
    rows += [(f"{name} (context)", parameter.in_words()) for name, parameter in space.context.items()]
    goal = "the highest" if seen.direction == "maximize" else "the lowest"
    looks = objective_name(seen.policy.reported, seen.outcome)
    wanted = f"{goal} is wanted" + (f"; the study looks at the {looks}" if space.context else "")
    rows.append((seen.outcome.head, wanted))
    if seen.status_quo is not None:
        rows.append(("status quo", space.named(seen.status_quo)))
    return cards.card(
        f"Study {seen.name!r}: {counted(len(seen.trials), 'trial')}", cards.lines(_standing(seen)), cards.pairs(rows)
    )


def _standing(seen: Snapshot) -> list[str]:
    return [*seen.stage().sentences, f"Trials: {seen.trials.counts()}."]
