"""Wrong calls: which argument of which callable, the call, the exact error, and a piece of its message.

`PARTS` are calls that need nothing; `STUDY` are calls on a study that `prepared` made, which must leave it as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import torch

import windward as ww
from windward import ArgumentError, IncompatibleError, JournalError, SpaceError, TrialError

NAN, HUGE, BEYOND = math.nan, 1e400, 10**400  # HUGE reads as infinity, BEYOND is a whole number no float can hold
PAIR = np.array([0.25, 0.5])
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Row(NamedTuple):
    where: str  # callable.parameter
    call: Callable[..., Any]
    error: type[Exception]
    says: str


def prepared(journal: Any = None, name: str = "shop") -> ww.Study:
    """Trials 0 and 1 told, 2 lost, 3 pending with a part of its context, 4 added."""
    study = ww.Study(SPACE, POLICY, journal=journal, name=name, clock=lambda: NOON)
    for value in (1.0, 2.0):
        study.tell(study.ask().id, value, context=CONTEXT, noise=0.1)
    study.lose(study.ask().id, "the van broke down")
    study.reveal(study.ask().id, {"demand": 0.5})
    study.add(DECISION, 3.0, context=CONTEXT | {"demand": 0.75})
    return study


SPACE = ww.Space(
    decision={
        "order": ww.Real(0, 1),
        "boxes": ww.Integer(1, 9, outside="error"),
        "route": ww.Categorical(["rail", "road"]),
    },
    context={"demand": ww.Real(0, 1), "cover": ww.Real(0, 1, outside="error"), "sky": ww.Categorical(["sun", "rain"])},
    constraints=[ww.Linear({"order": 1, "boxes": 0.1}, upper=1.5)],
)
DECISION = {"order": 0.5, "boxes": 3, "route": "rail"}
CONTEXT = {"demand": 0.25, "cover": 0.5, "sky": "sun"}
POLICY = ww.Policy(
    context_model=ww.KernelDensity(8),
    design=ww.Sobol(2),
    maximize=ww.MultiStart(screen=16, starts=1, evaluations=5),
)


@dataclass(frozen=True)
class Mine(ww.Empirical):
    """A part of one's own."""


Box = dataclass(frozen=True)(type("Box", (), {}))  # a part of one's own with the name of another
MINE = ww.Policy(context_model=Mine())
ELSEWHERE = ww.Policy(context_model=ww.Known({"rain": [0.5]}))
THREE_SCALES = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5, 0.5, 0.5), 1.0, 0.1))
TOO_MANY = ww.Policy(context_model=ww.Empirical(), surrogate=THREE_SCALES)
ONE = torch.ones(1, dtype=torch.float64)

# -- values that are wrong wherever a number, an id, a decision or a context is asked for ------------------------------

NOT_NUMBERS = (NAN, HUGE, -HUGE, BEYOND, True, "1", 1j, [1.0], PAIR, torch.ones(2))
NOT_WHOLE = (NAN, HUGE, 1.5, 2.0, True, "1", [1], PAIR)
NOT_IDS = (-1, 5, 10**30, "0", 0.0, True, None, NAN, [0], {})
NOT_CONTEXTS: list[tuple[Any, str]] = [
    (5, "got 5"),
    ([0.5], "got [0.5]"),
    ({"demnd": 0.5}, "unknown context 'demnd'"),
    ({"order": 0.5}, "unknown context 'order'"),
    ({"demand": NAN}, "got nan"),
    ({"demand": HUGE}, "got inf"),
    ({"demand": BEYOND}, "must be finite"),
    ({"demand": True}, "got True"),
    ({"demand": "0.5"}, "got '0.5'"),
    ({"demand": None}, "got None"),
    ({"demand": PAIR}, "got array([0.25, 0.5 ])"),
    ({"cover": 1.5}, "'cover' must lie in [0, 1], got 1.5"),
    ({"sky": "snow"}, "must be one of ['sun', 'rain'], got 'snow'"),
    ({"sky": ["sun"]}, "got ['sun']"),
]
NOT_DECISIONS: list[tuple[Any, str]] = [
    (5, "got 5"),
    ({"ordr": 0.5}, "unknown decision 'ordr'"),
    (DECISION | {"demand": 0.5}, "unknown decision 'demand'"),
    (DECISION | {"order": NAN}, "got nan"),
    (DECISION | {"order": HUGE}, "got inf"),
    (DECISION | {"order": True}, "got True"),
    (DECISION | {"order": torch.ones(2)}, "got tensor([1., 1.])"),
    (DECISION | {"boxes": 2.5}, "must be a whole number, got 2.5"),
    (DECISION | {"boxes": 10}, "'boxes' must lie in [1, 9], got 10"),
    (DECISION | {"route": "air"}, "got 'air'"),
]
LACKING = [({"order": 0.5, "boxes": 3}, "lacks 'route'"), (None, "got None")]


def each(where: str, call: Callable[..., Any], error: type[Exception], values: Iterable[tuple[Any, str]]) -> list[Row]:
    """One row for each wrong value; `call` takes what the table's calls take, and the value."""
    return [Row(where, lambda *study, value=value: call(*study, value), error, says) for value, says in values]


def shown(where: str, values: Iterable[Any]) -> list[tuple[Any, str]]:
    """Wrong values with the message in the words typed: `argument=value`."""
    return [(value, f"{where.rsplit('.', 1)[1]}={value!r}") for value in values]


def numbers(where: str, call: Callable[..., Any], *more: Any, error: type[Exception] = ArgumentError) -> list[Row]:
    return each(where, call, error, shown(where, (*NOT_NUMBERS, *more)))


def wholes(where: str, call: Callable[..., Any], *more: Any) -> list[Row]:
    return each(where, call, ArgumentError, shown(where, (*NOT_WHOLE, *more)))


def fixed(**changed: Any) -> ww.GaussianProcess:
    fields = {"mean": 0.0, "length_scales": (0.5,), "amplitude": 1.0, "noise": 0.1}
    return ww.GaussianProcess(fixed=ww.Hyperparameters(**(fields | changed)))


def policy_rows() -> list[Row]:
    rows = []
    for name in ww.Policy.__dataclass_fields__:
        wrong = (5, "KernelDensity", None, ww.Empirical, object, ww.Space({"x": ww.Real(0, 1)}))
        call = lambda part, name=name: ww.Policy(**({"context_model": ww.Empirical()} | {name: part}))  # noqa: E731
        rows += each(f"Policy.{name}", call, IncompatibleError, shown(f"Policy.{name}", wrong))
        for part in (ww.Empirical(), ww.Thompson(), ww.Expected(), ww.Ignore(), ww.Nature(), ww.Sobol(), ww.OverGrid()):
            if name != HOME[type(part)]:
                rows += each(f"Policy.{name}", call, IncompatibleError, shown(f"Policy.{name}", [part]))
    return rows


HOME = {
    ww.Empirical: "context_model",
    ww.Thompson: "belief",
    ww.Expected: "objective",
    ww.Ignore: "feedback",
    ww.Nature: "context_rule",
    ww.Sobol: "design",
    ww.OverGrid: "maximize",
}

PARTS: list[Row] = [
    *numbers("Real.low", lambda v: ww.Real(v, 9), error=SpaceError),
    *numbers("Real.high", lambda v: ww.Real(-9, v), error=SpaceError),
    Row("Real.low", lambda: ww.Real(2, 1), SpaceError, "Real(2.0, 1.0)"),
    Row("Real.low", lambda: ww.Real(0, 1, log=True), SpaceError, "low=0.0"),
    Row("Real.high", lambda: ww.Real(None, -1, log=True), SpaceError, "high=-1.0"),
    Row("Real.high", lambda: ww.Real(-1e308, 1e308), SpaceError, "too far apart"),
    *each("Real.log", lambda v: ww.Real(1, 2, log=v), SpaceError, shown("Real.log", (1, "yes", None))),
    *each("Real.outside", lambda v: ww.Real(outside=v), SpaceError, shown("Real.outside", ("drop", None, 1, PAIR))),
    *each("Integer.low", lambda v: ww.Integer(v, 9), SpaceError, shown("Integer.low", (*NOT_WHOLE, BEYOND))),
    *each("Integer.high", lambda v: ww.Integer(-9, v), SpaceError, shown("Integer.high", (*NOT_WHOLE, BEYOND))),
    Row("Integer.high", lambda: ww.Integer(3, 3), SpaceError, "Integer(3, 3)"),
    *each("Integer.log", lambda v: ww.Integer(1, 2, log=v), SpaceError, shown("Integer.log", (1, "yes", None))),
    *each("Integer.outside", lambda v: ww.Integer(outside=v), SpaceError, shown("Integer.outside", ("drop", None))),
    *each(
        "Categorical.choices",
        ww.Categorical,
        SpaceError,
        [
            (5, "Categorical(5)"),
            ("rail", "Categorical('rail')"),
            (["rail"], "['rail']"),
            (["rail", None], "choice None"),
            (["rail", ["road"]], "choice ['road']"),
            ([1.0, NAN], "choice nan"),
            ([1, True], "[1, True]"),
        ],
    ),
    *each(
        "Linear.coefficients",
        lambda v: ww.Linear(v, upper=1),
        SpaceError,
        [
            (5, "Linear(5)"),
            ({}, "Linear({})"),
            ({"x": 0}, "'x': 0"),
            ({"x": NAN}, "'x': nan"),
            ({"x": "1"}, "'x': '1'"),
        ],
    ),
    *numbers("Linear.lower", lambda v: ww.Linear({"x": 1}, lower=v), error=SpaceError),
    *numbers("Linear.upper", lambda v: ww.Linear({"x": 1}, upper=v), error=SpaceError),
    Row("Linear.lower", lambda: ww.Linear({"x": 1}), SpaceError, "lower=None, upper=None"),
    Row("Linear.upper", lambda: ww.Linear({"x": 1}, lower=2, upper=1), SpaceError, "lower=2, upper=1"),
    *each(
        "Space.decision",
        ww.Space,
        SpaceError,
        [
            (5, "decision=5"),
            ({}, "decision={}"),
            ({1: ww.Real(0, 1)}, "{1: ...}"),
            ({"": ww.Real(0, 1)}, "{'': ...}"),
            ({"x": (0, 1)}, "'x': (0, 1)"),
            ({"x": ww.Real}, "'x': <class"),
            ({"x": ww.Real(0)}, "'x': Real(low=0.0, high=None"),
        ],
    ),
    *each(
        "Space.context",
        lambda v: ww.Space({"x": ww.Real(0, 1)}, v),
        SpaceError,
        [(5, "context=5"), (None, "context=None"), ({"c": 1}, "'c': 1"), ({"x": ww.Real()}, "['x']")],
    ),
    *each(
        "Space.constraints",
        lambda v: ww.Space({"x": ww.Real(0, 1), "n": ww.Real(1, 9, log=True)}, constraints=v),
        SpaceError,
        [
            (5, "constraints=5"),
            (None, "constraints=None"),
            (ww.Linear({"x": 1}, upper=1), "constraints=Linear("),
            (["x <= 1"], "'x <= 1'"),
            ([ww.Linear({"y": 1}, upper=1)], "no decision 'y'"),
            ([ww.Linear({"n": 1}, upper=1)], "'n'"),
            ((c for c in [ww.Linear({"x": 1}, lower=2)]), "no decision satisfies"),
        ],
    ),
    *each(
        "Distribution.name", ww.Distribution, ArgumentError, [(5, "(5)"), ("normal", "'normal'"), ("beta", "'beta'")]
    ),
    *each(
        "Distribution.parameters",
        lambda v: ww.Distribution("norm", v),
        ArgumentError,
        [
            (5, "parameters=5"),
            ({"loc": NAN}, "loc=nan"),
            ({"loc": "0"}, "loc='0'"),
            ({"scale": -1}, "'scale': -1.0"),
            ({"shape": 1}, "'shape'"),
            ({1: 1}, "{1: 1.0}"),
        ],
    ),
    *each(
        "Known.points",
        ww.Known,
        ArgumentError,
        [
            (None, "give either points"),
            (5, "Known(5)"),
            ({}, "Known({})"),
            ({1: [0.5]}, "{1: ...}"),
            ({"demand": 0.5}, "'demand': 0.5"),
            ({"demand": np.array(0.5)}, "'demand': array(0.5)"),
            ({"demand": torch.ones(1, 1)}, "'demand': tensor"),
            ({"demand": []}, "{'demand': 0}"),
            ({"demand": [1, 2], "cover": [1]}, "'cover': 1"),
        ],
    ),
    *each(
        "Known.weights",
        lambda v: ww.Known({"demand": [0.2, 0.8]}, v),
        ArgumentError,
        [
            (5, "weights=5"),
            ([1.0], "weights=[1.0]"),
            ([1.5, -0.5], "weight=-0.5"),
            ([NAN, 1], "nan"),
            (["a", "b"], "'a'"),
            ([0.5, 0.25], "got 0.75"),
        ],
    ),
    Row("Known.weights", lambda: ww.Known(weights=[1.0], distributions={"a": [1.0]}), ArgumentError, "weights=..."),
    *each(
        "Known.distributions",
        lambda v: ww.Known(distributions=v),
        ArgumentError,
        [
            (5, "distributions=5"),
            ({}, "distributions={}"),
            ({1: [1.0]}, "{1: ...}"),
            ({"demand": "norm"}, "'demand': 'norm'"),
            ({"sky": []}, "'sky': []"),
            ({"sky": [0.5, 0.75]}, "got 1.25"),
        ],
    ),
    *wholes("Known.count", lambda v: ww.Known({"demand": [0.5]}, count=v), None, 0),
    *wholes("KernelDensity.count", ww.KernelDensity, None, 0),
    *wholes("Grid.count", ww.Grid, None, 0),
    *numbers("Box.spread", ww.Box, None, -1),
    *wholes("Box.count", lambda v: ww.Box(1.0, v), None, 0),
    *wholes("Sobol.count", ww.Sobol, -1),
    *wholes("MultiStart.screen", lambda v: ww.MultiStart(screen=v), None, 0),
    *wholes("MultiStart.starts", lambda v: ww.MultiStart(starts=v), None, 0),
    *wholes("MultiStart.evaluations", lambda v: ww.MultiStart(evaluations=v), None, 0),
    *numbers("MultiStart.tolerance", lambda v: ww.MultiStart(tolerance=v), None, 0),
    *wholes("OverGrid.per_parameter", ww.OverGrid, None, 1),
    *numbers("UpperConfidence.width", ww.UpperConfidence, None, -1),
    *numbers("Thompson.width", ww.Thompson, None, -1),
    *numbers("SoftClip.limit", ww.SoftClip, None, 0),
    *each(
        "GaussianProcess.kernel",
        ww.GaussianProcess,
        ArgumentError,
        shown(".kernel", ("rbf", None, 5, ["matern52"], PAIR)),
    ),
    *each(
        "GaussianProcess.outcome",
        lambda v: ww.GaussianProcess(outcome=v),
        ArgumentError,
        shown(".outcome", (5, None, "Standardize", ww.Standardize, ww.Expected())),
    ),
    *each(
        "GaussianProcess.fixed",
        lambda v: ww.GaussianProcess(fixed=v),
        ArgumentError,
        shown(".fixed", (5, {"noise": 0.1}, ww.Hyperparameters, ww.Expected())),
    ),
    *numbers("Hyperparameters.mean", lambda v: fixed(mean=v), None),
    *numbers("Hyperparameters.amplitude", lambda v: fixed(amplitude=v), None, 0),
    *numbers("Hyperparameters.noise", lambda v: fixed(noise=v), None, 0),
    *each(
        "Hyperparameters.length_scales",
        lambda v: fixed(length_scales=v),
        ArgumentError,
        [
            *shown(".length_scales", (0.5, (), "ab", PAIR)),
            ((0.5, NAN), "length_scales=nan"),
            ((0.5, 0), "length_scales=0"),
        ],
    ),
    *each("Report.objective", ww.Report, IncompatibleError, shown(".objective", (5, ww.Expected, ww.Thompson()))),
    *each("Report.candidates", lambda v: ww.Report(None, v), ArgumentError, shown(".candidates", ("all", None, 5))),
    *policy_rows(),
    *each("Contexts.points", lambda v: ww.Contexts(v, ONE), ArgumentError, shown(".points", (5, [[1.0]], PAIR))),
    *each(
        "Contexts.weights",
        lambda v: ww.Contexts(ONE[:, None], v),
        ArgumentError,
        shown(".weights", (5, [1.0], 1j * ONE)),
    ),
    Row("Contexts.points", lambda: ww.Contexts(ONE, ONE), ArgumentError, "got shapes (1,) and (1,)"),
    Row("Contexts.points", lambda: ww.Contexts(NAN * ONE[:, None], ONE), ArgumentError, "must be finite"),
    Row("Contexts.points", lambda: ww.Contexts.uniform(torch.zeros(0, 1)), ArgumentError, "got shapes (0, 1)"),
    Row("Contexts.points", lambda: ww.Contexts.uniform(5), ArgumentError, "points=5"),
    Row("Contexts.weights", lambda: ww.Contexts(ONE[:, None], torch.ones(2)), ArgumentError, "(2,)"),
    Row("Contexts.weights", lambda: ww.Contexts(ONE[:, None], 2 * ONE), ArgumentError, "a sum of 2"),
    Row("Contexts.weights", lambda: ww.Contexts(ONE[:, None], HUGE * ONE), ArgumentError, "must be finite"),
    *each(
        "to_json.part",
        ww.to_json,
        ArgumentError,
        [(NAN, "nan"), (HUGE, "inf"), ({1}, "{1}"), (PAIR, "array("), ({"part": "Real"}, "'part'"), (ww.Real, "Real")],
    ),
    *each(
        "from_json.text",
        ww.from_json,
        ArgumentError,
        [
            (5, "from_json(5)"),
            ('{"part":', "not JSON"),
            ('{"part":"Reel"}', "unknown part 'Reel'"),
            ('{"part":"Real","lwo":1}', "'lwo'"),
            ('{"part":"Policy"}', "context_model"),
            ('{"part":"timedelta","sconds":1}', "'sconds'"),
            ('{"part":"timedelta","seconds":1e400}', "infinity"),
            ("[" * 100_000, "[[[["),
            ("[" * 900 + "]" * 900, "nested too deeply"),
        ],
    ),
    Row("from_json.text", lambda: ww.from_json('{"part":"Real","low":1e400}'), SpaceError, "low=inf"),
    *each(
        "from_json.parts",
        lambda v: ww.from_json("1", parts=v),
        ArgumentError,
        [*shown(".parts", (5, None, Mine)), ([5], "parts=[5]"), ([Mine()], "parts=[Mine()]"), ([Box], "parts=[Box]")],
    ),
    *numbers("papers.gp_ucb.width", lambda v: ww.papers.gp_ucb(width=v), None, -1),
    *numbers("papers.sbo_kde.width", lambda v: ww.papers.sbo_kde(width=v), None, -1),
    *wholes("papers.sbo_kde.samples", lambda v: ww.papers.sbo_kde(samples=v), None, 0),
    *numbers("papers.erbo.width", lambda v: ww.papers.erbo(width=v), None, -1),
    *numbers("papers.stable_opt.width", lambda v: ww.papers.stable_opt(width=v), None, -1),
    *numbers("papers.stable_opt.spread", lambda v: ww.papers.stable_opt(spread=v), None, -1),
    *wholes("papers.stable_opt.points", lambda v: ww.papers.stable_opt(points=v), None, 0),
    *each(
        "SqlJournal.url",
        ww.SqlJournal,
        JournalError,
        [
            ("nonsense", "'nonsense'"),
            ("mystery://host/shop", "mystery"),
            ("postgresql://me:secret@host:port/shop", "me:***@host:port"),
            ("sqlite:///a\0b", "a\\x00b"),
            ("sqlite:////nowhere/at/all/shop.db", "/nowhere/at/all/shop.db"),
        ],
    ),
    *each("SqlJournal.url", ww.SqlJournal, ArgumentError, [(5, "5"), ("sqlite://", "name a file")]),
    *each("studies.journal", ww.studies, ArgumentError, shown(".journal", (None, 5, ww.MemoryJournal))),
    *each(
        "delete_study.journal",
        lambda v: ww.delete_study("shop", journal=v),
        ArgumentError,
        shown(".journal", (None, 5, ww.MemoryJournal)),
    ),
]
