"""The shape of the code: parts that answer for themselves, one preparation, one cache, rooms of a size."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from helpers import SHOP, quadratic

import windward as ww
from windward import plots, testing
from windward.objectives.protocol import Bound
from windward.parts import OWN_PARTS
from windward.policy import _KINDS
from windward.present.plots.view import view
from windward.present.report import report_html
from windward.search.region import Region

PACKAGE = Path(ww.__file__).parent
TWO = ww.Space({"order": ww.Real(0, 1)}, {"demand": ww.Real(0, 1), "rain": ww.Real(0, 1)})


@dataclass(frozen=True)
class Shortfall:
    """By how much values miss a target, on average: it has an outcome quantity of its own."""

    target: float
    monotone: ClassVar[bool] = True

    def bind(self, situation):
        weights = situation.contexts.weights
        return Bound(lambda values: (values - self.target).clamp_max(0.0) @ weights)


@dataclass(frozen=True)
class TurnedShortfall(Shortfall):
    def oriented(self, sign):
        return replace(self, target=sign * self.target)


def shop(objective, direction, **rest):
    policy = ww.Policy(context_model=ww.Empirical(), objective=objective, design=ww.Sobol(4))
    return ww.Study(SHOP, policy, direction=direction, parts=[Shortfall, TurnedShortfall], **rest)


def test_an_objective_that_cannot_turn_is_refused_where_a_study_minimizes():
    assert shop(Shortfall(0.4), "maximize").direction == "maximize"
    with pytest.raises(
        ww.IncompatibleError, match=r"Shortfall\(target=0.4\): a study that minimizes .* oriented\(self, sign\)"
    ):
        shop(Shortfall(0.4), "minimize")
    study = shop(ww.Expected(), "minimize")
    with pytest.raises(ww.IncompatibleError, match="oriented"):
        study.use(replace(study.policy, report=ww.Report(Shortfall(0.4))))
    assert study.policy.report == ww.Report()


@dataclass(frozen=True)
class Told:
    """A feedback that does not say how it turns."""

    fills_pending: ClassVar[bool] = False
    patience: ClassVar[None] = None

    def dataset(self, trials):
        return ww.Ignore().dataset(trials)

    def __call__(self, trials, surrogate, now, start):
        return ww.Ignore()(trials, surrogate, now, start)


@dataclass(frozen=True)
class Fixed:
    """A guard that does not say how it turns."""

    title: ClassVar[str] = "fixed"
    needs_status_quo: ClassVar[bool] = False

    def check(self, objective, space, sign):
        return None

    def __call__(self, situation):
        return ww.Limits.anywhere(situation.trials.space)

    def sentence(self, speech):
        return "Nothing moves."


def test_a_feedback_or_a_guard_that_cannot_turn_is_refused_too():
    wanting = (ww.Policy(context_model=ww.Empirical(), **part) for part in ({"feedback": Told()}, {"guard": Fixed()}))
    for policy in wanting:
        assert ww.Study(SHOP, policy, parts=[Told, Fixed]).direction == "maximize"
        with pytest.raises(ww.IncompatibleError, match=r"(Told|Fixed)\(\): a study that minimizes .* oriented\(self"):
            ww.Study(SHOP, policy, parts=[Told, Fixed], direction="minimize")


def test_an_objective_of_ones_own_turns_with_the_study():
    def evaluate(suggestion):
        found = quadratic(suggestion)
        return replace(found, value=-found.value)

    up, down = (shop(TurnedShortfall(sign * 0.9), way) for sign, way in ((1.0, "maximize"), (-1.0, "minimize")))
    up.run(quadratic, 8, progress=False)
    down.run(evaluate, 8, progress=False)
    one, other = up.recommend(), down.recommend()
    assert one.decision == other.decision and one.value == pytest.approx(-other.value)


def played(rounds=9):
    study = ww.Study(TWO, ww.Policy(context_model=ww.KernelDensity(32), design=ww.Sobol(4)), seed=5)
    for turn in range(rounds):
        one = study.ask()
        context = {"demand": (0.37 * turn) % 1.0, "rain": (0.61 * turn) % 1.0}
        study.tell(one.id, -((float(one.decision["order"]) - context["demand"]) ** 2), context=context)
    study.ask()  # asked after the last value: it must move no recommendation
    return study


def test_figures_show_the_recommendation_beside_them_from_one_fit(monkeypatch):
    study, searched, fitted = played(), [], ww.GaussianProcess.fitted

    def counted(self, data, start=None):
        searched.append(len(data.y))
        return fitted(self, data, start)

    monkeypatch.setattr(ww.GaussianProcess, "fitted", counted)
    found = study.recommend()
    seen = view(study)
    assert dict(seen.decision) == dict(found.decision)
    assert (seen.value, seen.interval) == (found.value, found.interval)
    assert tuple(seen.adversary.tolist()) == found.adversary
    for draw in plots.FIGURES.values():
        draw(study)
    report_html(study)
    study.assess({"order": 0.5})
    assert searched == [9]
    study.tell(9, -0.3, context={"demand": 0.2, "rain": 0.4})
    assert study.recommend().interval != found.interval and searched == [9, 10]


def test_a_snapshot_does_not_change_with_its_study():
    study = played()
    before = study.snapshot()
    found = before.recommendation("study.recommend")
    study.tell(9, -0.9, context={"demand": 0.9, "rain": 0.9})
    assert study.recommend().value != found.value
    assert before.recommendation("study.recommend") == found and len(before.trials.arrived) == 9


@pytest.mark.parametrize("maximizer", [ww.MultiStart(), ww.OverGrid(33)])
def test_a_decision_keeps_the_margin(maximizer):
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Real(0, 1)})

    def hill(x):
        return -(x - 0.8).square().sum(-1)

    def margin(x):
        return 0.5 - x[:, 0]

    for beside in ({}, {"climb": hill}, {"rank": hill}, {"ceiling": hill}):
        x = maximizer(ww.Acquisition(hill, margin=margin, **beside), Region(space), torch.Generator().manual_seed(0))
        assert float(x[0]) <= 0.5 and float((x - torch.tensor([0.5, 0.8]).double()).abs().max()) < 0.02
    with pytest.raises(ww.SolverError, match="not finite at any"):
        maximizer(ww.Acquisition(hill, margin=lambda x: x[:, 0] - 2.0), Region(space), torch.Generator().manual_seed(0))


@dataclass(frozen=True)
class Aging:
    """A radius that grows with the time of day."""

    def __call__(self, situation):
        return 0.01 if situation.now is None else 0.1 * situation.now.day


def test_what_the_clock_moves_is_not_kept():
    times = [datetime(2026, 5, 1, tzinfo=UTC)]
    policy = ww.Policy(
        context_model=ww.Empirical(), objective=ww.Robust(ww.TotalVariation(), Aging()), design=ww.Sobol(4)
    )
    study = ww.Study(SHOP, policy, parts=[Aging], clock=lambda: times[0])
    study.run(quadratic, 8, progress=False)
    before = study.recommend()
    times[0] = datetime(2026, 5, 11, tzinfo=UTC)
    assert study.recommend().value < before.value


def test_decisions_are_assessed_by_one_prepared_objective():
    study = played()
    for order in (0.1, 0.3, 0.5, 0.7):
        study.assess({"order": order})
        study.assess({"order": order}, context={"rain": order})
    kept = study._kept
    assert len(kept.bases) == 2 and {id(one.reduction) for one in kept.assessments.values()} == {
        id(base.reduction) for base in kept.bases.values()
    }
    fresh = ww.Study(TWO, study.policy, seed=5)
    fresh.add_many([ww.Past(dict(t.decision), float(t.value or 0.0), dict(t.context)) for t in study.trials.arrived])
    assert study.assess({"order": 0.3}) == study.assess({"order": 0.3})


def test_a_radius_is_no_width_and_a_schedule_may_read_what_is_not_there_yet():
    with pytest.raises(ww.ArgumentError, match=r"UpperConfidence\(width=Decay.*this is a radius, not a width"):
        ww.UpperConfidence(ww.Decay(0.3))
    with pytest.raises(ww.ArgumentError, match="this is a width, not a radius"):
        ww.Robust(ww.TotalVariation(), ww.HuangWidth(2))
    with pytest.raises(ww.ArgumentError, match="called with a situation"):
        ww.UpperConfidence(ww.MultiStart())

    for reads in (lambda s: s.posterior.scale, lambda s: s.given["c"], lambda s: 0.1 * s.horizon, lambda s: 1 / s.seen):
        ww.Policy(context_model=ww.Empirical(), objective=ww.Robust(ww.TotalVariation(), reads)).objective  # noqa: B018
    policy = ww.Policy(
        context_model=ww.Empirical(), objective=ww.Robust(ww.TotalVariation(), lambda s: s.posterior.scale)
    )
    policy.check(SHOP)


# -- the house ---------------------------------------------------------------------------------------------------------


@functools.cache
def parsed(path):
    """The nodes of a module, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text())))


@pytest.fixture(scope="module", autouse=True)
def parsed_for_these_tests_alone():
    yield
    parsed.cache_clear()


def called(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def modules(*rooms):
    for room in rooms:
        path = PACKAGE / room
        yield from [path] if path.suffix else sorted(path.rglob("*.py"))


# What may be named all the same: a policy's defaults, and the record of a fit, which is data and no choice of anybody's.
DEFAULTS = {field.default_factory.__name__ for field in fields(ww.Policy) if field.default_factory is not MISSING}
NAMED = {
    "policy.py": {*DEFAULTS, "PosteriorMean"},
    "suggest/suggest.py": {"Hyperparameters"},
    "study/ask.py": {"Hyperparameters"},
    "study/reading.py": {"Hyperparameters"},
}


def test_no_class_of_part_is_named_outside_its_room():
    own = {part.__name__ for part in OWN_PARTS} - {"Policy", "Report", "Space", "Linear"}
    wrong = []
    for path in modules("policy.py", "suggest", "present", "study"):
        place = str(path.relative_to(PACKAGE))
        nodes = parsed(path)
        named = {node.id for node in nodes if isinstance(node, ast.Name)}
        named |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        wrong += [f"{place} names {name}" for name in sorted(named & own - NAMED.get(place, set()))]
    assert wrong == []


# Who may ask all the same of which class a part is.
TOLD_APART = {
    "papers/settings.py": {"Known"},  # it makes policies, so it names parts; an argument may be one kind alone
    "objectives/heuristics.py": {"MMD"},  # a published bound of that divergence's own matrix
    "integrations/botorch.py": {"PosteriorMean", "Thompson", "UpperConfidence"},  # there is no study to ask a belief in
    "bench/gridded.py": {"GaussianProcess"},  # a quicker way to the same numbers, which holds for that process alone
    "bench/problems/learning.py": {
        "CVaR",
        "Expected",
        "Minimum",
        "Robust",
        "VaR",
    },  # a table of what was found by these
}


def test_nobody_asks_of_which_class_a_part_is():
    """A ladder of classes would miss the next part; what others need to know of a part, it says. Parameters are parts too."""
    home = {part.__name__: part.__module__.split(".")[1] for part in OWN_PARTS}
    records = {"Hyperparameters", "Linear", "Policy", "Report", "Space"}  # they are data, of one class each
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        place, nodes = path.relative_to(PACKAGE), parsed(path)
        imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module != "numbers"]
        local = {each.asname or each.name: each.name for node in imported for each in node.names}
        for node in nodes:
            if not (isinstance(node, ast.Call) and called(node.func) in ("isinstance", "issubclass")):
                continue
            asked = {local.get(called(each), "") for each in ast.walk(node.args[1])} & set(home) - records
            asked = {name for name in asked if place.parts[0].removesuffix(".py") != home[name]}
            if asked:
                found.setdefault(str(place), set()).update(asked)
    assert found == TOLD_APART


# Who makes a generator elsewhere, and why.
GENERATORS = {
    "contexts/weighted.py": "Sobol points are scrambled by a number that their generator draws",
    "integrations/botorch_models.py": "BoTorch draws from the global generator and takes no other; it is put back as it was",
    "journal/database.py": "the length of a pause, which no seed is to make equal in two processes",
    "study/ask.py": "the length of a pause",
}


def test_one_module_owns_the_streams():
    """Seeds of streams are derived in one place, generators are made there, and nothing is drawn but from one of these.

    The worlds of the bench and the suites of laws are no part of a study: they have seeds of their own.
    """
    streams, draws = {"hash_seed", "RECOMMENDATIONS", "DESIGN", "CHECKS"}, {"rand", "randn", "randint", "randperm"}
    makers = {"Generator", "manual_seed", "set_state", "SobolEngine", "default_rng", "RandomState", "Random"}
    wrong, excused = [], set()
    for path in PACKAGE.rglob("*.py"):
        place = str(path.relative_to(PACKAGE))
        own = path.name == "streams.py" or path.relative_to(PACKAGE).parts[0] in ("bench", "testing")
        for node in parsed(path):
            if called(node) in streams and path.name != "streams.py":
                wrong.append(f"{place}:{node.lineno} {called(node)}")
            if not isinstance(node, ast.Call):
                continue
            if called(node.func) in makers and not own:
                excused.add(place)
                wrong += [] if place in GENERATORS else [f"{place}:{node.lineno} {called(node.func)}"]
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in draws | {"multinomial"}:
                continue
            if "generator" not in {each.arg for each in node.keywords}:
                wrong.append(f"{place}:{node.lineno} {node.func.attr}")
    assert wrong == [] and excused == set(GENERATORS)


def test_programs_beside_the_package_use_names_that_exist():
    root = PACKAGE.parent
    programs = [
        path for folder in (".ci", "benchmarks", "examples", "docs") for path in sorted((root / folder).rglob("*.py"))
    ]
    assert any(path.name == "package.py" for path in programs)
    for path in programs:
        for name in set(re.findall(r"\bww\.([A-Za-z]\w*)", path.read_text())):
            assert hasattr(ww, name), f"{path.relative_to(root)} uses ww.{name}, which does not exist"


def test_nothing_looks_at_signatures():
    looking = [p.name for p in modules("policy.py", "suggest", "objectives", "beliefs") if "inspect" in p.read_text()]
    assert looking == []


def test_rooms_are_few_and_files_are_short():
    marks = ("__pycache__", "py.typed")
    entries = [path.name for path in PACKAGE.iterdir() if path.name not in marks]
    assert len(entries) <= 28
    long = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in long.items() if lines >= 400} == {}
    functions = [
        (f"{path.relative_to(PACKAGE)}: {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for path in PACKAGE.rglob("*.py")
        for node in parsed(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert [one for one in functions if one[1] > 60] == []


def test_there_are_thirteen_layers():
    contracts = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if "containers" not in each)
    named = {name.strip() for layer in layers for name in layer.replace("|", ":").split(":")}
    rooms = {
        f"windward.{path.stem}" for path in PACKAGE.iterdir() if path.stem not in ("__init__", "__pycache__", "py")
    }
    assert len(layers) == 13 and named == rooms
    written = (PACKAGE.parent / "pyproject.toml").read_text().splitlines()
    for layer in layers:
        assert re.fullmatch(r'\s+"[^"]+", # .{10,}', next(line for line in written if f'"{layer}"' in line)), layer


def test_one_class_one_name():
    names = [node.name for path in PACKAGE.rglob("*.py") for node in parsed(path) if isinstance(node, ast.ClassDef)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_module_is_named_like_another_files_function():
    """Within a room. Commands and routes are named as they are typed, and the bench's `problem(name)` returns a Problem."""
    wrong = []
    for room in (path for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("bench", "cli", "service")):
        files = [path for path in room.rglob("*.py") if path.stem != "__init__"]
        for path in files:
            for node in parsed(path)[0].body:
                if isinstance(node, ast.FunctionDef) and node.name in {one.stem for one in files} - {path.stem}:
                    wrong.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert wrong == []


def test_every_kind_of_part_has_laws_and_a_skeleton():
    """A suite in `windward.testing`, and on the page on extending a section that calls it."""
    page = (PACKAGE.parent / "docs" / "extending.md").read_text()
    kinds = {kind.__name__ for name, (kind, _) in _KINDS.items() if name != "report"}
    for kind in (*sorted(kinds), "Divergence", "Parameter", "Scaling", "Journal"):
        words = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
        assert f"check_{words}" in testing.__all__
        section = re.search(rf"^## An? {words.replace('_', ' ')}\b.*?^## ", page, re.MULTILINE | re.DOTALL)
        assert section and f"testing.check_{words}(" in section[0] and "@dataclass" in section[0], kind
    assert len(testing.__all__) == len(kinds) + 4
