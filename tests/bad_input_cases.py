"""Wrong calls: which argument of which callable, the call, the exact error, and a piece of its message.

`prepared` is the study that wrong calls are made on; `PARTS` are the wrong calls that need none. What a shared check
refuses is tried in full once (`EVERY_...`; plain arguments in `test_arguments`); every parameter that uses the check
has a wrong type, a value beyond its bound and what has a message of its own, so that a missing check is found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import windward as ww
from windward import ArgumentError, IncompatibleError, SpaceError
from windward.basics.speech import shown as in_message

NAN, HUGE, BEYOND = math.nan, 1e400, 10**400  # HUGE reads as infinity, BEYOND is a whole number no float can hold
PAIR = np.array([0.25, 0.5])


class Row(NamedTuple):
    where: str  # callable.parameter
    call: Callable[..., Any]
    error: type[Exception]
    says: str


def raised(row: Row, *arguments: Any) -> None:
    with pytest.raises(Exception) as caught:
        row.call(*arguments)
    assert type(caught.value) is row.error, repr(caught.value)
    assert row.says in str(caught.value)


@dataclass(frozen=True)
class Mine(ww.Empirical):
    """A part of one's own."""


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
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
QUICK = ww.MultiStart(screen=16, starts=1, evaluations=5)
POLICY = ww.Policy(context_model=ww.KernelDensity(8), design=ww.Sobol(2), maximize=QUICK)


def prepared(journal: Any = None, name: str = "shop") -> ww.Study:
    """Trials 0 and 1 told, 2 lost, 3 pending with a part of its context, 4 added."""
    study = ww.Study(SPACE, POLICY, journal=journal, name=name, clock=lambda: NOON)
    for value in (1.0, 2.0):
        study.tell(study.ask().id, value, context=CONTEXT, noise=0.1)
    study.lose(study.ask().id, "the van broke down")
    study.reveal(study.ask().id, {"demand": 0.5})
    study.add(DECISION, 3.0, context=CONTEXT | {"demand": 0.75})
    return study


Box = dataclass(frozen=True)(type("Box", (), {}))  # a part of one's own with the name of another
ONE = torch.ones(1, dtype=torch.float64)

# Wrong wherever a number, a whole one, an id, a context or a decision is asked for.
EVERY_NOT_NUMBER = (NAN, HUGE, -HUGE, BEYOND, True, "1", 1j, [1.0], PAIR, torch.ones(2))
NOT_NUMBERS = (NAN, "1")
EVERY_NOT_WHOLE = (NAN, HUGE, 1.5, 2.0, True, "1", [1], PAIR)
NOT_WHOLE = (1.5, True)
EVERY_NOT_ID = (-1, 5, 10**30, "0", 0.0, True, None, NAN, [0], {})
NOT_IDS = (-1, 5, "0")
EVERY_NOT_CONTEXT: list[tuple[Any, str]] = [
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
NOT_CONTEXTS: list[tuple[Any, str]] = [
    (5, "got 5"),
    ({"order": 0.5}, "unknown context 'order'"),
    ({"demand": "0.5"}, "got '0.5'"),
    ({"cover": 1.5}, "'cover' must lie in [0, 1], got 1.5"),
]
EVERY_NOT_DECISION: list[tuple[Any, str]] = [
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
NOT_DECISIONS: list[tuple[Any, str]] = [
    (5, "got 5"),
    (DECISION | {"demand": 0.5}, "unknown decision 'demand'"),
    (DECISION | {"order": True}, "got True"),
    (DECISION | {"boxes": 10}, "'boxes' must lie in [1, 9], got 10"),
]
LACKING = ({"order": 0.5, "boxes": 3}, "lacks 'route'")


def each(where: str, call: Callable[..., Any], error: type[Exception], values: Iterable[tuple[Any, str]]) -> list[Row]:
    """One row for each wrong value; `call` takes what the table's calls take, and the value."""
    return [Row(where, lambda *study, value=value: call(*study, value), error, says) for value, says in values]


def shown(where: str, values: Iterable[Any]) -> list[tuple[Any, str]]:
    """Wrong values with the message in the words typed: `argument=value`."""
    return [(value, f"{where.rsplit('.', 1)[1]}={in_message(value)}") for value in values]


def words(where: str, call: Callable[..., Any], *values: Any, error: type[Exception] = ArgumentError) -> list[Row]:
    return each(where, call, error, shown(where, values))


def numbers(where: str, call: Callable[..., Any], *more: Any, error: type[Exception] = ArgumentError) -> list[Row]:
    return words(where, call, *NOT_NUMBERS, *more, error=error)


def wholes(where: str, call: Callable[..., Any], *more: Any, error: type[Exception] = ArgumentError) -> list[Row]:
    return words(where, call, *NOT_WHOLE, *more, error=error)


def misfits(where: str, call: Callable[..., Any], values: Iterable[tuple[Any, str]]) -> list[Row]:
    return each(where, call, SpaceError, values)


def fixed(**changed: Any) -> ww.GaussianProcess:
    fields = {"mean": 0.0, "length_scales": (0.5,), "amplitude": 1.0, "noise": 0.1}
    return ww.GaussianProcess(fixed=ww.Hyperparameters(**(fields | changed)))


def policy_rows() -> list[Row]:
    """Every field with what is no part, and with each part that belongs in another field."""
    rows = []
    for name in ww.Policy.__dataclass_fields__:
        where, wrong = f"Policy.{name}", (None, ww.Empirical)
        call = lambda part, name=name: ww.Policy(**({"context_model": ww.Empirical()} | {name: part}))  # noqa: E731
        strangers = [part for home, part in HOMES.items() if home != name]
        rows += words(where, call, *wrong, *strangers, error=IncompatibleError)
    return rows


HOMES = {
    "context_model": ww.Empirical(),
    "belief": ww.Thompson(),
    "objective": ww.Expected(),
    "feedback": ww.Ignore(),
    "context_rule": ww.Nature(),
    "surrogate": ww.GaussianProcess(),
    "design": ww.Sobol(),
    "maximize": ww.OverGrid(),
    "guard": ww.LargestStep(0.1),
    "report": ww.Report(),
}

NOT_UNITS = (5, "", " ", " EUR", "a\nb", "x" * 31, "[EUR]", "\ud800", True)

PARTS: list[Row] = [
    *words("Real.low", lambda v: ww.Real(v, 9), *EVERY_NOT_NUMBER, error=SpaceError),
    *numbers("Real.high", lambda v: ww.Real(-9, v), error=SpaceError),
    Row("Real.low", lambda: ww.Real(2, 1), SpaceError, "Real(2.0, 1.0)"),
    Row("Real.low", lambda: ww.Real(0, 1, log=True), SpaceError, "low=0.0"),
    Row("Real.high", lambda: ww.Real(None, -1, log=True), SpaceError, "high=-1.0"),
    Row("Real.high", lambda: ww.Real(0, 1e308), SpaceError, "1e+308"),
    *numbers("LargestStep.step", ww.LargestStep, 0.0, -0.1, 1.5, None),
    Row("LargestStep.step", lambda: ww.LargestStep({"order": -1.0}), ArgumentError, "must be >= 0"),
    Row("LargestStep.step", lambda: ww.LargestStep({}), ArgumentError, "name at least one decision"),
    *words("LargestStep.of", lambda v: ww.LargestStep(0.1, v), "first", None, 1),
    *numbers("Floor.value", ww.Floor),
    Row("Floor.value", lambda: ww.Floor(), ArgumentError, "give either a value, or a slack"),
    *numbers("Floor.slack", lambda v: ww.Floor(slack=v), 0.0, -1.0),
    Row("Floor.slack", lambda: ww.Floor(1.0, 1.0), ArgumentError, "give either a value, or a slack"),
    *numbers("Floor.confidence", lambda v: ww.Floor(1.0, confidence=v), 0.0, 1.0, None),
    Row("Guards.guards", lambda: ww.Guards(()), ArgumentError, "Guards(()): give several guards"),
    Row("Guards.guards", lambda: ww.Guards(5), ArgumentError, "Guards(5): give several guards"),
    Row("Guards.guards", lambda: ww.Guards([ww.Expected()]), ArgumentError, "Expected() is no guard"),
    *words("Real.log", lambda v: ww.Real(1, 2, log=v), 1, "yes", None, error=SpaceError),
    *words("Real.outside", lambda v: ww.Real(outside=v), "drop", None, 1, PAIR, error=SpaceError),
    *words("Integer.low", lambda v: ww.Integer(v, 9), *EVERY_NOT_WHOLE, BEYOND, error=SpaceError),
    *wholes("Integer.high", lambda v: ww.Integer(-9, v), BEYOND, error=SpaceError),
    Row("Integer.high", lambda: ww.Integer(3, 3), SpaceError, "Integer(3, 3)"),
    *words("Integer.log", lambda v: ww.Integer(1, 2, log=v), 1, "yes", None, error=SpaceError),
    *words("Integer.outside", lambda v: ww.Integer(outside=v), "drop", None, error=SpaceError),
    *words(
        "Real.step",
        lambda v: ww.Real(0, 9, step=v),
        "a",
        True,
        0.0,
        -1.0,
        NAN,
        PAIR,
        error=SpaceError,
    ),
    Row(
        "Real.step",
        lambda: ww.Real(0, 9, step=2),
        SpaceError,
        "Real(0, 9, step=2): high must lie a whole number of steps",
    ),
    Row("Real.step", lambda: ww.Real(0, 9, step=1e-12), SpaceError, "step=1e-12"),
    Row("Real.step", lambda: ww.Real(0, step=0.5), SpaceError, "give both bounds"),
    *words("Integer.step", lambda v: ww.Integer(0, 9, step=v), "a", None, True, 0, -1, 0.5, PAIR, error=SpaceError),
    *words("Real.unit", lambda v: ww.Real(unit=v), *NOT_UNITS, error=SpaceError),
    *words("Integer.unit", lambda v: ww.Integer(unit=v), *NOT_UNITS, error=SpaceError),
    *words("Categorical.unit", lambda v: ww.Categorical([1, 2], unit=v), *NOT_UNITS, error=SpaceError),
    *words("Maximize.unit", lambda v: ww.Maximize(unit=v), *NOT_UNITS),
    *words("Minimize.unit", lambda v: ww.Minimize(unit=v), *NOT_UNITS),
    *words("Cyclic.period", ww.Cyclic, "day", None, True, 0, -7, NAN, BEYOND, PAIR, error=SpaceError),
    *words("Cyclic.whole", lambda v: ww.Cyclic(7, whole=v), 1, "yes", None, error=SpaceError),
    Row("Cyclic.whole", lambda: ww.Cyclic(7.5, whole=True), SpaceError, "a whole number >= 2"),
    *words("Calendar.cycle", ww.Calendar, "week", None, 5, PAIR, error=SpaceError),
    *words("Calendar.zone", lambda v: ww.Calendar("weekday", v), "Mars", "", "../x", None, 5, PAIR, error=SpaceError),
    Row("calendar.cycle", lambda: ww.calendar("Weekday"), SpaceError, "Calendar(cycle='Weekday')"),
    Row("calendar.zone", lambda: ww.calendar("weekday", "Mars"), SpaceError, "Calendar(zone='Mars')"),
    *misfits(
        "Categorical.choices",
        ww.Categorical,
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
    *misfits(
        "Linear.coefficients",
        lambda v: ww.Linear(v, upper=1),
        [
            (5, "Linear(5)"),
            ({}, "Linear({})"),
            ({"x": 0}, "'x': 0"),
            ({"x": NAN}, "'x': nan"),
            ({"x": "1"}, "'x': '1'"),
        ],
    ),
    *words("Linear.lower", lambda v: ww.Linear({"x": 1}, lower=v), *EVERY_NOT_NUMBER, error=SpaceError),
    *numbers("Linear.upper", lambda v: ww.Linear({"x": 1}, upper=v), error=SpaceError),
    Row("Linear.lower", lambda: ww.Linear({"x": 1}), SpaceError, "lower=None, upper=None"),
    Row("Linear.upper", lambda: ww.Linear({"x": 1}, lower=2, upper=1), SpaceError, "lower=2, upper=1"),
    *misfits(
        "Space.decision",
        ww.Space,
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
    *misfits(
        "Space.context",
        lambda v: ww.Space({"x": ww.Real(0, 1)}, v),
        [(5, "context=5"), (None, "context=None"), ({"c": 1}, "'c': 1"), ({"x": ww.Real()}, "['x']")],
    ),
    *misfits(
        "Space.constraints",
        lambda v: ww.Space({"x": ww.Real(0, 1), "n": ww.Real(1, 9, log=True)}, constraints=v),
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
    *each("Distribution.name", ww.Distribution, ArgumentError, [(5, "(5)"), ("normal", "'normal'"), ("beta", "beta")]),
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
            ([1.5, -0.5], "weights[1]=-0.5"),
            ("ab", "one per point; got str"),
            (torch.eye(2), "one per point; got Tensor"),
            (b"\x00\x01", "give 2 weights"),
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
            ({"sky": ["x"]}, "distributions['sky'][0]='x'"),
            ({"sky": b"\x01"}, "'sky': b'"),
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
    *wholes("MultiStart.evaluations", lambda v: ww.MultiStart(evaluations=v), 0),
    *numbers("MultiStart.tolerance", lambda v: ww.MultiStart(tolerance=v), None, 0),
    *numbers("MultiStart.apart", lambda v: ww.MultiStart(apart=v), None, -0.1, 1.5),
    *numbers("OverGrid.apart", lambda v: ww.OverGrid(apart=v), None, -0.1, 1.5),
    *wholes("OverGrid.per_parameter", ww.OverGrid, None, 1),
    *numbers("UpperConfidence.width", ww.UpperConfidence, None, -1),
    *numbers("Thompson.width", ww.Thompson, None, -1),
    *numbers("SoftClip.limit", ww.SoftClip, None, 0),
    *words("GaussianProcess.kernel", ww.GaussianProcess, "rbf", None, 5, ["matern52"], PAIR),
    *words("GaussianProcess.parts", lambda v: ww.GaussianProcess(parts=v), None, 1, "yes"),
    *words("GaussianProcess.outcome", lambda v: ww.GaussianProcess(outcome=v), 5, None, ww.Standardize, ww.Expected()),
    *words("GaussianProcess.fixed", lambda v: ww.GaussianProcess(fixed=v), 5, {}, ww.Hyperparameters, ww.Expected()),
    *numbers("Hyperparameters.mean", lambda v: fixed(mean=v), None),
    *numbers("Hyperparameters.amplitude", lambda v: fixed(amplitude=v), None, 0),
    *numbers("Hyperparameters.noise", lambda v: fixed(noise=v), None, 0),
    *numbers("Hyperparameters.drift", lambda v: fixed(drift=v), 0),
    *numbers("Hyperparameters.still", lambda v: fixed(still=v), -0.1, 1.1),
    *each(
        "Hyperparameters.length_scales",
        lambda v: fixed(length_scales=v),
        ArgumentError,
        [*shown(".length_scales", (0.5, (), "ab", PAIR)), ((0.5, NAN), "scales=nan"), ((0.5, 0), "scales=0")],
    ),
    *each(
        "Hyperparameters.shares",
        lambda v: fixed(shares=v),
        ArgumentError,
        [*shown(".shares", (0.5, (0.5,), "ab", PAIR)), ((0.5, NAN), "shares=nan"), ((1.5, 0.5), "shares=1.5")],
    ),
    *words("Report.objective", ww.Report, 5, ww.Expected, ww.Thompson(), error=IncompatibleError),
    *words("Report.candidates", lambda v: ww.Report(None, v), "all", None, 5),
    *policy_rows(),
    *words("Contexts.points", lambda v: ww.Contexts(v, ONE), 5, [[1.0]], PAIR),
    *words("Contexts.weights", lambda v: ww.Contexts(ONE[:, None], v), 5, [1.0], 1j * ONE),
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
        [*shown(".parts", (5, None, Mine)), ([5], "parts=[5]"), ([Mine()], "parts=[Mine("), ([Box], "parts=[Box]")],
    ),
]
