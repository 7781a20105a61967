"""What a decision is worth on each kind of day.

    V(x | A) = sum_i w_i f(x, c_i) 1[c_i in A] / sum_i w_i 1[c_i in A]

A is a cell of the contexts (`cells.py`), and the weights are those that advice is judged by, drawn with all else that is
unknown (`unknown.py`). So f, its hyper-parameters and the weights within the cell are in each interval, and where the study
looks at the plain average, the cells of one context average to the value that `recommend` states.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from windward.basics import cards, streams
from windward.basics.errors import ArgumentError, IncompatibleError, did_you_mean
from windward.basics.speech import and_list, percent, shown
from windward.contexts import Contexts
from windward.objectives.plain import AVERAGE
from windward.objectives.protocol import Averaging
from windward.space import Outcome, Space, Value
from windward.suggest.assess import INTERVAL, Assessment, Base, central
from windward.suggest.cells import Division, Part, cell_of_each, divided
from windward.suggest.unknown import Unknowns, unknowns
from windward.trials.trials import Trials

Values = Mapping[str, Value]
# A cell that is taken to come less often than this cannot be said anything about.
LEAST_SHARE = 1e-9
# An outcome that nobody named.
UNNAMED = Outcome()


@dataclass(frozen=True)
class ContextCell:
    """One kind of context, and what a decision is worth in it on average, in the study's units.

    `where` has a choice, a section of what comes round, or from which number, left out, to which a context reaches; None where
    that is open. `labels` say it in words. `share` is how often such contexts are taken to come, `seen` how many have come.
    `interval` holds the value with 90 % probability. `status_quo` and `status_quo_interval` are the same of the status quo.
    """

    where: Mapping[str, Value | Part]
    labels: Mapping[str, str]
    share: float
    seen: int
    value: float
    interval: tuple[float, float]
    status_quo: float | None = None
    status_quo_interval: tuple[float, float] | None = None
    outcome: Outcome = field(default=Outcome(), repr=False)

    @property
    def words(self) -> str:
        """Which contexts these are."""
        spans = {name: isinstance(self.where[name], tuple) for name in self.labels}
        return and_list([f"{name}{' ' if spans[name] else ' = '}{label}" for name, label in self.labels.items()])

    @property
    def sentence(self) -> str:
        """What the decision is worth here, in words."""
        said, span = self.outcome.text(self.value), self.outcome.span(*self.interval)
        text = f"{self.words} ({often(self.share)}): {said}, with 90 % probability between {span}."
        if self.status_quo is not None:
            text += f" The status quo brings {self.outcome.text(self.status_quo)}."
        return text if self.seen else f"{text} It has not been seen yet, so this is a guess."


@dataclass(frozen=True)
class ByContext:
    """What a decision is worth on each kind of day: cells of each context by itself, or of two together.

    `status_quo` is set beside it where there is one and it is another decision. `average` is False where the study looks at
    more than the plain average: values of cells are plain averages all the same.
    """

    decision: Values
    names: tuple[str, ...]
    cells: tuple[ContextCell, ...]
    status_quo: Values | None = None
    average: bool = True
    called: str = field(default="", repr=False)  # the decision in words
    outcome: Outcome = field(default=Outcome(), repr=False)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each cell is worth, in words."""
        return (
            f"This is what {self.called} is worth on average, by context.",
            *(c.sentence for c in self.cells),
            *self.notes,
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a table of the cells."""
        heads = ["when", "how often", "seen", self.outcome.head, "90 % between"]
        heads += ["status quo"] * (self.status_quo is not None)
        rows = [
            [
                each.words,
                often(each.share).removesuffix(" of the time"),
                str(each.seen or "never: a guess"),
                self.outcome.measure.bare(each.value),
                f"{self.outcome.measure.bare(each.interval[0])} and {self.outcome.measure.bare(each.interval[1])}",
                *([] if each.status_quo is None else [self.outcome.measure.bare(each.status_quo)]),
            ]
            for each in self.cells
        ]
        return cards.card(self.sentences[0], cards.table(heads, rows), cards.lines(self.notes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a reader must know."""
        if self.average:
            return ()
        return ("These are plain averages. The study's objective is another one, so they do not average to its value.",)


def often(share: float) -> str:
    """Return how often something comes.

    >>> often(0.25), often(0.001)
    ('25 % of the time', 'less than 1 % of the time')
    """
    return "less than 1 % of the time" if share < 0.01 else f"{percent(share)} of the time"


def by_context(
    call: str,
    found: Assessment,
    trials: Trials,
    over: tuple[str, ...] | None,
    status_quo: Values | None,
    decision: Values | None = None,
) -> ByContext:
    """Return what an assessed decision is worth in each cell of each context, or of the contexts `over` together.

    `decision` is the assessed one as it was typed, where it was.
    """
    base = found.base
    decision = trials.space.decode_decision(found.x) if decision is None else decision
    groups = _groups(call, base, trials.space, over)
    drawn, space = plain(base), base.situation.trials.space
    contexts = drawn.contexts
    points = [space.decode_context(point) for point in contexts.points]
    came = [t.context for t in trials if t.context_source != "chosen"]
    quo = None if status_quo is None or dict(status_quo) == dict(decision) else status_quo
    x = found.x[None]
    if quo is not None:
        x = torch.cat([x, space.encode_decisions([quo]).to(x)])
    cells: list[ContextCell] = []
    for names in groups:
        divisions = [divided(space, name, contexts, base.situation.seen, together=len(names)) for name in names]
        places = cell_of_each(divisions, points)
        whole = [context for context in came if all(name in context for name in names)]
        seen = cell_of_each(divisions, whole) if whole else []
        for place in itertools.product(*(range(len(one.where)) for one in divisions)):
            inside = torch.tensor([each == place for each in places], device=contexts.weights.device)
            if float(contexts.weights[inside].sum()) >= LEAST_SHARE:
                values = trials.sign * within(drawn, inside).values(x)
                share = float(contexts.weights[inside].sum())
                cells.append(_cell(divisions, place, share, seen.count(place), values, trials.outcome))
    names = tuple(dict.fromkeys(itertools.chain.from_iterable(groups)))
    average, called = isinstance(base.policy.reported, Averaging), trials.space.named(decision)
    return ByContext(dict(decision), names, tuple(cells), quo, average, called, trials.outcome)


def across_decisions(found: Assessment, name: str, x: Tensor) -> list[tuple[str, float, Tensor]]:
    """Return for each cell of a context what it is called, how often it comes, and the mean of decisions `"m d"` in it."""
    base = found.base
    drawn, space = plain(base), base.situation.trials.space
    division = divided(space, name, drawn.contexts, base.situation.seen)
    places = division.places([space.decode_context(point)[name] for point in drawn.contexts.points])
    rows = []
    for place, label in enumerate(division.labels):
        inside = torch.tensor([each == place for each in places], device=drawn.contexts.weights.device)
        share = float(drawn.contexts.weights[inside].sum())
        if share >= LEAST_SHARE:
            rows.append((label, share, central(within(drawn, inside).values(x.to(found.x)))))
    return rows


def _cell(
    divisions: Sequence[Division],
    place: tuple[int, ...],
    share: float,
    seen: int,
    values: Tensor,
    outcome: Outcome = UNNAMED,
) -> ContextCell:
    where = {one.name: one.where[at] for one, at in zip(divisions, place, strict=True)}
    labels = {one.name: one.labels[at] for one, at in zip(divisions, place, strict=True)}
    levels = torch.tensor(INTERVAL, dtype=values.dtype, device=values.device)
    means, (low, high) = central(values).tolist(), values.quantile(levels, dim=0).tolist()
    quo, quo_interval = (means[1], (low[1], high[1])) if len(means) > 1 else (None, None)
    return ContextCell(where, labels, share, seen, means[0], (low[0], high[0]), quo, quo_interval, outcome)


def plain(base: Base) -> Unknowns:
    """Return what is unknown behind plain averages: that of the base, or where its objective is another one drawn anew."""
    if isinstance(base.policy.reported, Averaging):
        return base.unknowns
    generator = streams.resumed(base.state)
    return unknowns(base.situation, AVERAGE, base.policy.surrogate, base.unknowns.contexts, generator)


def within(drawn: Unknowns, inside: Tensor) -> Unknowns:
    """Return what is unknown where only some contexts come, `"n"`: their weights are what they are among each other."""
    reference = drawn.contexts.weights[inside]
    reference = reference / reference.sum()
    weights = drawn.weights[..., inside]
    total = weights.sum(-1, keepdim=True)
    # A draw may give nothing to contexts that have hardly any weight.
    weights = torch.where(total > LEAST_SHARE**2, weights / total.clamp_min(LEAST_SHARE**2), reference)
    return replace(drawn, contexts=Contexts(drawn.contexts.points[inside], reference), weights=weights)


def names_over(call: str, over: object) -> tuple[str, ...] | None:
    """Return the names of contexts to look at, or raise `ArgumentError` for what names none."""
    names = (over,) if isinstance(over, str) else over
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{call}(over={shown(over)}): give the name of a context, or a list of two names.")
    return tuple(names)


def _groups(call: str, base: Base, space: Space, over: tuple[str, ...] | None) -> list[tuple[str, ...]]:
    """Return the contexts to look at, each by itself or those named together."""
    seen = base.situation.trials.space
    if not seen.context:
        raise IncompatibleError(
            f"{call}: this study's {'policy ignores contexts' if space.context else 'space has no contexts'}; there is no "
            "kind of day to tell apart."
        )
    open_names = [name for name in seen.context if name not in base.situation.given]
    if not open_names:
        raise ArgumentError(f"{call}: every context is given; leave out the ones to look at.")
    if over is None:
        return [(name,) for name in open_names]
    for name in over:
        if name not in open_names:
            why = "it is given" if name in base.situation.given else f"the study has {_listed(seen.context)}"
            raise ArgumentError(
                f"{call}(over={shown(name)}): no such context is open{did_you_mean(name, open_names)}; {why}."
            )
    if not 1 <= len(over) <= 2 or len(set(over)) < len(over):
        raise ArgumentError(
            f"{call}(over={shown(list(over))}): give one or two different contexts of {_listed(open_names)}."
        )
    return [over]


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    return ", ".join(repr(name) for name in names)
