"""Random spaces and values for the fuzzer, good ones and hostile ones, all from an explicit `random.Random`."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import torch

import windward as ww
from windward.space.cyclic import Circular, Cyclic
from windward.space.linear import Linear
from windward.space.parameters import Categorical, Integer, Parameter, Real
from windward.space.space import Space

NAMES = (
    "x",
    "order",
    "order quantity",
    'it\'s "quoted"',
    "naïve Größe 价格 🚀",
    "long " * 30,
    "a.b",
    "part",  # what the codec calls a class
    "id",
    "value",
    "decision",
    "<b>&amp;</b>",
    "{0} %s $x",
    "__class__",
    "=1+1",
    "\u202eright to left",
    "e\u0301 is é",
)
STUDY_NAMES = (*(name.strip() for name in NAMES if "\u202e" not in name), "study", "shop")
CHOICES: tuple[tuple[Any, ...], ...] = (
    ("rail", "road"),
    ("a", "b", "c", "d"),
    ("ünïcode", "价格", "🚀"),
    ("", "quote'\"", "comma,semicolon;"),
    (1, 2, 5),
    (0.5, 1e-9, 1e12),
    (True, False),
    ("1", 1, None.__class__.__name__),
    ("long " * 40, "=1+1"),
)
# Texts that must be refused wherever they enter the log: half a surrogate pair, and controls but newline and tab.
BAD_TEXTS = ("\ud800", "ok\udfff", "nul\0", "bell\x07", "esc\x1b[31m", "del\x7f", "c1\x85", "\r")
REAL_BOUNDS: tuple[tuple[float, float], ...] = (
    (0, 1),
    (-5, 5),
    (0.0, 1e-12),
    (1.0, 1.0 + 1e-12),
    (-1e12, 1e12),
    (1e12, 1e12 + 1),
    (-3.25, -1.5),
    (0, 1e-50),
    (-1e100, 1e100),
)
LOG_BOUNDS: tuple[tuple[float, float], ...] = ((1e-8, 1e3), (0.5, 2.0), (1e-100, 1e100), (3, 4))
INTEGER_BOUNDS: tuple[tuple[int, int], ...] = ((0, 1), (1, 6), (-3, 40), (0, 10**6), (-(10**12), 10**12), (7, 8))
HOSTILE_NUMBERS: tuple[Any, ...] = (
    math.nan,
    math.inf,
    -math.inf,
    1e200,
    10**400,
    -(10**400),
    None,
    "",
    "1",
    "\ud800",
    "a\0b",
    True,
    False,
    [],
    {},
    b"1",
    1j,
    Decimal("0.5"),
    np.float64("nan"),
    np.float32("inf"),
    np.array([1.0, 2.0]),
    np.bool_(True),
    torch.tensor([0.1, 0.2]),
)
HOSTILE_IDS: tuple[Any, ...] = (-1, 10**6, 10**30, True, 0.0, "0", None, [], math.nan, 1j)
HOSTILE_KEYS: tuple[Any, ...] = ("", " ", "a b", "a/b", "ü", "k" * 201, 5, b"k", "tab\t")


def some(chance: Random, entries: Any) -> Any:
    """Return one of some entries, whatever their kind: `Random.choice` on a tuple of arrays would do as well."""
    return entries[chance.randrange(len(entries))]


# -- spaces ----------------------------------------------------------------------------------------------------------


STEPPED = (
    Real(2.5, 6, step=0.05, unit="EUR"),
    Real(0, 1, step=0.5),
    Real(1, 1001, step=10, log=True),
    Integer(-12, 120, step=12, unit="pieces"),
    Real(0, 1, step=1 / 3, outside="clip"),
)


def random_space(chance: Random) -> Space:
    """Return a space that must be accepted."""
    names = list(NAMES) + [f"x{i}" for i in range(8)]
    chance.shuffle(names)
    decision = {names.pop(): _parameter(chance, free=False) for _ in range(chance.choice((1, 1, 2, 2, 3, 4)))}
    context = {names.pop(): _parameter(chance, free=True) for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))}
    constraints = _constraints(chance, decision) if chance.random() < 0.2 else ()
    return Space(decision, context, constraints)


def _parameter(chance: Random, *, free: bool) -> Parameter:
    outside = chance.choice(("keep", "keep", "clip", "error"))
    kind = chance.random()
    if kind < 0.2:
        return Categorical(some(chance, CHOICES))
    if free and kind > 0.85:
        return chance.choice((Cyclic(24), Cyclic(7, whole=True), Cyclic(0.1), Cyclic(360), Cyclic(2, whole=True)))
    log = chance.random() < 0.2
    if free and chance.random() < 0.25:  # a context may lack one bound or both
        low: float | None = None if chance.random() < 0.7 else 1
        return (Integer if kind < 0.4 else Real)(low, None, log=log, outside=outside)  # type: ignore[arg-type]
    if not free and chance.random() < 0.15:
        return chance.choice(STEPPED)
    if kind < 0.4:
        whole = (1, 1000) if log else chance.choice(INTEGER_BOUNDS)
        return Integer(*whole, log=log, outside=outside)
    plain = chance.choice(REAL_BOUNDS[:2] if chance.random() < 0.6 else REAL_BOUNDS)
    return Real(*(chance.choice(LOG_BOUNDS) if log else plain), log=log, outside=outside)


def _constraints(chance: Random, decision: dict[str, Parameter]) -> tuple[Linear, ...]:
    """Return a constraint or two that a decision drawn here satisfies, with room around it."""
    numeric = {n: p for n, p in decision.items() if not isinstance(p, Categorical) and not p.log}
    if not numeric:
        return ()
    inside = {name: float(random_value(chance, parameter)) for name, parameter in numeric.items()}
    made = []
    for _ in range(chance.choice((1, 1, 2))):
        names = chance.sample(sorted(numeric), chance.randint(1, len(numeric)))
        weights = {name: chance.choice((1.0, -1.0, 0.5, 3.0)) for name in names}
        total = sum(weight * inside[name] for name, weight in weights.items())
        room = 0.3 * sum(abs(weight) * _span(numeric[name]) for name, weight in weights.items())
        sides = chance.choice(({"upper": total + room}, {"lower": total - room}))
        if total + room == total or total - room == total:
            return ()
        made.append(Linear(weights, **sides))
    return tuple(made)


def _span(parameter: Real | Integer) -> float:
    assert parameter.low is not None and parameter.high is not None
    return float(parameter.high) - float(parameter.low)


# -- good values -----------------------------------------------------------------------------------------------------


def random_value(chance: Random, parameter: Parameter, *, beyond: bool = False) -> Any:
    """Return a value of a parameter, inside its bounds unless it may go `beyond` them; some in numpy's types."""
    if isinstance(parameter, Categorical):
        return some(chance, parameter.choices)
    if isinstance(parameter, Circular):  # any number is one; it comes round
        turned = parameter.period * chance.choice((0.0, 1.0, -1.0, 3.0, chance.random(), chance.random()))
        return round(turned) if parameter.step else chance.choice((turned, np.float64(turned)))
    low = parameter.low if parameter.low is not None else (0.1 if parameter.log else -3.0)
    high = parameter.high if parameter.high is not None else low + 5.0
    share = chance.choice((0.0, 1.0, chance.random(), chance.random(), chance.random()))
    drawn = low * (high / low) ** share if parameter.log else low + share * (high - low)
    drawn = min(max(drawn, low), high)
    if isinstance(parameter, Integer):
        drawn = min(max(round(drawn), math.ceil(low)), math.floor(high))
    if parameter.step not in (None, 1) and not beyond:  # what is fixed must lie on the steps
        drawn = parameter.from_unit(parameter.to_unit([drawn])[0])
    if beyond:
        step = 1 if isinstance(parameter, Integer) else 0.25 * (high - low)
        moved = high + step if parameter.log or chance.random() < 0.5 else low - step
        drawn = moved
    if isinstance(parameter, Integer):
        return chance.choice((drawn, drawn, np.int64(drawn) if abs(drawn) < 2**62 else drawn, float(drawn)))
    return chance.choice((float(drawn), float(drawn), np.float64(drawn), torch.tensor(drawn, dtype=torch.float64)))


def random_values(chance: Random, parameters: Any, *, partial: bool = False, beyond: float = 0.0) -> dict[str, Any]:
    """Return values of parameters by name, all or some; each goes beyond its bounds with this probability."""
    names = list(parameters)
    if partial and names:
        names = chance.sample(names, chance.randint(1, len(names)))
    return {name: random_value(chance, parameters[name], beyond=chance.random() < beyond) for name in names}


def random_outcome(chance: Random, scale: float) -> Any:
    """Return a value to tell."""
    drawn = scale * chance.gauss(0.0, 1.0)
    return chance.choice(
        (drawn, drawn, drawn, 0.0, scale, round(drawn), np.float64(drawn), np.float32(1.5), Fraction(1, 3))
    )


# -- hostile ones ----------------------------------------------------------------------------------------------------


def spoiled(chance: Random, values: dict[str, Any], *, empty: bool) -> Any:
    """Return values with something wrong in them: a name, a value, the whole; `empty` where {} is wrong, too."""
    whole = [[1], "text", 5, None if empty else (), {"no such name": 1.0}, {**values, "another": 0.5}, {5: 1.0}]
    if not values or chance.random() < 0.4:
        return some(chance, [*whole, {}] if empty else whole)
    name = chance.choice(sorted(values))
    return {**values, name: some(chance, HOSTILE_NUMBERS)}


# Each must be refused with a `WindwardError` when it is made.
BAD_SPACES: tuple[Callable[[], object], ...] = (
    lambda: Space({}),
    lambda: Space({"x": Real(0, 1)}, {"x": Real()}),
    lambda: Space({"": Real(0, 1)}),
    lambda: Space({5: Real(0, 1)}),
    lambda: Space({"\ud800": Real(0, 1)}),
    lambda: Space({"x": Real()}),
    lambda: Space({"x": Real}),
    lambda: Space([Real(0, 1)]),
    lambda: Space({"x": Real(0, 1)}, [1]),
    lambda: Space({"x": Real(0, 1)}, {}, "constraint"),
    lambda: Space({"x": Real(0, 1)}, {}, [Linear({"y": 1.0}, upper=1)]),
    lambda: Space({"x": Real(0, 1)}, {}, [Linear({"x": 1.0}, lower=2)]),
    lambda: Real(1, 0),
    lambda: Real(0, 0),
    lambda: Real(0, math.nan),
    lambda: Real(0, math.inf),
    lambda: Real(0, 10**400),
    lambda: Real("0", 1),
    lambda: Real(True, 2),
    lambda: Real(0, 1, log=True),
    lambda: Real(1, 2, log="yes"),
    lambda: Real(1, 2, outside="away"),
    lambda: Integer(0.5, 2),
    lambda: Integer(0, 10**400),
    lambda: Integer(True, 3),
    lambda: Space({"x": Cyclic(24)}),
    lambda: Cyclic(0),
    lambda: Cyclic(-7),
    lambda: Cyclic(math.nan),
    lambda: Cyclic("day"),
    lambda: Cyclic(True),
    lambda: Cyclic(7.5, whole=True),
    lambda: Cyclic(1, whole=True),
    lambda: Cyclic(7, whole="yes"),
    lambda: ww.calendar("week"),
    lambda: ww.calendar(5),
    lambda: ww.calendar(["weekday"]),
    lambda: ww.calendar("weekday", zone="Mars/Phobos"),
    lambda: ww.calendar("weekday", zone="../etc/passwd"),
    lambda: ww.calendar("weekday", zone=""),
    lambda: ww.calendar("weekday", zone=None),
    lambda: Categorical([]),
    lambda: Categorical(["a"]),
    lambda: Categorical("ab"),
    lambda: Categorical(["a", "a"]),
    lambda: Categorical([1, True]),
    lambda: Categorical([math.nan, 1.0]),
    lambda: Categorical(["\ud800", "b"]),
    lambda: Categorical([None, "b"]),
    lambda: Categorical(5),
    lambda: Linear({}, upper=1),
    lambda: Linear({"x": 0.0}, upper=1),
    lambda: Linear({"x": 1.0}),
    lambda: Linear({"x": math.nan}, upper=1),
    lambda: Linear({"x": 1.0}, lower=2, upper=1),
    lambda: ww.Study({"x": Real(0, 1)}),
    lambda: ww.Study(Space({"x": Real(0, 1)}), name=""),
    lambda: ww.Study(Space({"x": Real(0, 1)}), name="\ud800"),
    lambda: ww.Study(Space({"x": Real(0, 1)}), name="n" * 201),
    lambda: ww.Study(Space({"x": Real(0, 1)}), name="two\nlines"),
    lambda: ww.Study(Space({"x": Real(0, 1)}), name="bell\x07"),
    lambda: ww.Study(Space({"bell\x07": Real(0, 1)})),
    lambda: ww.Study(Space({"x": Real(0, 1)}, {"c1\x85": Real(0, 1)})),
    lambda: ww.Study(Space({"x": Categorical(["a", "nul\0"])})),
    lambda: ww.Study(Space({" ": Real(0, 1)})),
    lambda: ww.Study(Space({"x": Real(0, 1)}), seed=-1),
    lambda: ww.Study(Space({"x": Real(0, 1)}), seed=True),
    lambda: ww.Study(Space({"x": Real(0, 1)}), direction="up"),
    lambda: ww.Study(Space({"x": Real(0, 1)}), journal=5),
    lambda: ww.Study(Space({"x": Real(0, 1)}), journal="sqlite:///"),
    lambda: ww.Study(Space({"x": Real(0, 1)}), clock=5),
    lambda: ww.Study(Space({"x": Real(0, 1)}), parts=[5]),
)
