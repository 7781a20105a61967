"""Random policies for the fuzzer: every published method that needs no data, and any combination of parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from fuzz_spaces import random_value

import windward as ww
from windward.policy import Policy
from windward.space.parameters import Categorical
from windward.space.space import Space
from windward.study.declare import methods

# The smallest radius that is drawn, besides 0.
SMALLEST = 1e-9


def random_policy(chance: Random, space: Space, scale: float) -> Policy:
    """Return a policy, or raise what its parts raise when they are put together; quick enough for many asks."""
    if chance.random() < 0.35:
        return _published(chance, space, scale)
    objective, feedback = _objective(chance, scale), _feedback(chance, scale)
    return Policy(
        context_model=_context_model(chance, space),
        objective=objective,
        belief=_belief(chance, objective, feedback),
        feedback=feedback,
        context_rule=_rule(chance),
        surrogate=_surrogate(chance, space),
        maximize=_maximizer(chance),
        design=_design(chance),
        guard=_guard(chance, space, scale),
        report=_report(chance, scale),
    )


def _published(chance: Random, space: Space, scale: float) -> Policy:
    known = methods()
    name = chance.choice(sorted(known))
    arguments: dict[str, Any] = {}
    if name in ("ts_bocu", "ucb_bocu_1", "ucb_bocu_2", "ucb_so", "ucb_ro"):
        arguments["reference"] = _known(chance, space)
    if name == "ts_bocu":
        arguments["objective"] = _objective(chance, scale)
    if name in ("ucb_bocu_1", "ucb_bocu_2"):
        radius = _radius(chance)
        arguments |= {"divergence": _divergence(chance, radius, slopes=True), "radius": radius}
    if "bqo" in name:
        arguments["samples"] = _known(chance, space)
        if name.startswith(("drbqo", "emp_drbqo", "maximin")):
            arguments["radius"] = chance.choice((0.0, 0.1, 1.0))
    if name == "mtbo":
        arguments["folds"] = _known(chance, space)
    if name in ("gp_ucb_sdf", "gp_ts_sdf"):
        arguments |= {"worst": -scale, "patience": _patience(chance)}
    small = {"sbo_kde": "samples", "drbo_kde": "samples", "drbo_mmd": "points", "drbo_mmd_minimax": "points"}
    if name in small or name == "stable_opt":
        arguments[small.get(name, "points")] = chance.randint(4, 16)
    policy = known[name](**arguments)
    return replace(policy, maximize=_maximizer(chance), design=_design(chance))


def _context_model(chance: Random, space: Space) -> Any:
    elsewhere = chance.choice((0, 0, 5))
    return chance.choice(
        (
            ww.NoContext,
            lambda: ww.Empirical(elsewhere, _half_life(chance)),
            lambda: ww.KernelDensity(chance.randint(1, 16), elsewhere, _half_life(chance)),
            lambda: ww.KernelDensity(12),
            lambda: ww.Box(chance.choice((0.0, 1.0, 2.0)), chance.randint(1, 12)),
            lambda: ww.Grid(chance.randint(1, 12)),
            lambda: _known(chance, space),
        )
    )()


def _half_life(chance: Random) -> Any:
    return chance.choice((None, None, "learnt", 0.1, 7, "30 days", timedelta(seconds=1)))


def _known(chance: Random, space: Space) -> ww.Known:
    if not space.context:
        return ww.Known({"demand": [0.1, 0.9]})  # describes a context that the space has not: refused
    if chance.random() < 0.2:
        return ww.Known(distributions={n: _law(chance, p) for n, p in space.context.items()}, count=8)
    count = chance.randint(1, 6)
    points = {n: [random_value(chance, p) for _ in range(count)] for n, p in space.context.items()}
    plain = {n: [v.item() if hasattr(v, "item") else v for v in column] for n, column in points.items()}
    weights = [1.0 / count] * count if chance.random() < 0.5 else None
    return ww.Known(plain, weights)


def _law(chance: Random, parameter: Any) -> Any:
    if isinstance(parameter, Categorical):
        return [1.0 / parameter.width] * parameter.width
    low = 1.0 if parameter.low is None else float(parameter.low)
    span = 1.0 if parameter.high is None else float(parameter.high) - low
    return ww.Distribution("uniform", {"loc": low, "scale": span})


def _divergence(chance: Random, radius: Any, *, slopes: bool = False) -> Any:
    """Return a divergence whose worst case is certified at this radius, with its slope where `slopes` are needed.

    MMD says that it is not at so small a radius as the smallest; without a nugget its slope may not exist.
    """
    smooth = ww.MMD(0.5, 1e-6, 1e-6)
    kernels = () if radius == SMALLEST else (smooth, smooth if slopes else ww.MMD(1.0, tolerance=1e-6))
    if radius != SMALLEST and chance.random() < 0.2:
        return ww.MMD("fitted", 1e-6, 1e-6)
    return chance.choice((ww.TotalVariation(), ww.ChiSquare(), ww.KullbackLeibler(), ww.Wasserstein(), *kernels))


def _radius(chance: Random) -> Any:
    return chance.choice(
        (0.0, SMALLEST, 0.1, 0.5, 3.0, ww.Decay(0.3), ww.KernelRate(), ww.KirschnerRate(0.1), ww.MicheliRate(1.0, 2))
    )


def _objective(chance: Random, scale: float) -> Any:
    radius = _radius(chance)
    divergence, smooth = _divergence(chance, radius), _divergence(chance, radius, slopes=True)
    return chance.choice(
        (
            ww.Expected,
            ww.Minimum,
            lambda: ww.Robust(divergence, radius),
            lambda: ww.Robust(divergence, chance.choice((radius, ww.Confidence(0.9), ww.Confidence(0.3)))),
            lambda: ww.LipschitzRobust(radius),
            lambda: ww.Tradeoff(smooth, radius, chance.choice((0.0, 1.0)), chance.choice((0.0, 1.0, 3.0))),
            lambda: ww.Sensitivity(smooth),
            lambda: ww.MeanRisk(smooth, chance.choice((0.0, 1.0))),
            lambda: ww.MeanVariance(chance.choice((0.0, 0.5))),
            lambda: ww.Satisficing(divergence, chance.choice((0.0, scale, -scale))),
            lambda: ww.VaR(chance.choice((0.05, 0.5))),
            lambda: ww.CVaR(chance.choice((0.05, 0.5, 1.0))),
            lambda: ww.BocuOne(divergence, radius),
            lambda: ww.BocuTwo(smooth, radius),
            lambda: ww.MidpointRobust(ww.MMD(1.0, 1e-6), 0.1 if radius == SMALLEST else radius),
        )
    )()


def _belief(chance: Random, objective: Any, feedback: Any) -> Any:
    """Return a belief, most often one that goes with the objective and the feedback."""
    any_one = chance.random() < 0.1
    delayed = (
        (ww.delayed_width(), ww.delayed_width(1.0, ww.VermaWidth(), 3))
        if any_one or isinstance(feedback, ww.Censor)
        else ()
    )
    width = chance.choice(
        (0.0, 1.0, 1.5, ww.HuangWidth(1), ww.MicheliWidth(), ww.VermaWidth(), ww.Wider(0.5, 1.0, 2), *delayed)
    )
    beliefs = [ww.Thompson(width), ww.Thompson(), ww.PosteriorMean()]
    beliefs += [ww.OverallConfidence(width, chance.choice((0, 1, 4))), ww.OverallConfidence(doubts=4)]
    if any_one or objective.monotone:
        beliefs += [ww.UpperConfidence(width), ww.UpperConfidence(width), ww.UpperConfidence()]
    if any_one or isinstance(objective, ww.Expected):
        beliefs.append(ww.ExpectedImprovement())
    return chance.choice(beliefs)


def _patience(chance: Random) -> Any:
    return chance.choice((0, 1, 5, timedelta(0), timedelta(minutes=1), timedelta(days=3)))


def _feedback(chance: Random, scale: float) -> Any:
    worst, late = chance.choice((-scale, 0.0, -5 * scale)), chance.choice(("use", "drop"))
    censor = ww.Censor(worst, _patience(chance), late, chance.choice(("all", "all", "arrived")))
    return chance.choice((ww.Ignore(), ww.Hallucinate(), ww.Hallucinate(), censor))


def _rule(chance: Random) -> Any:
    chosen = chance.choice((ww.MostUncertain(), ww.HighestImprovement(), ww.Uniform()))
    return ww.Nature() if chance.random() < 0.7 else chosen


def _surrogate(chance: Random, space: Space) -> Any:
    each = (0.4,) * (len(space.decision) + len(space.context))
    fixed = chance.choice(
        (None, None, None, ww.Hyperparameters(0.0, (0.5,), 1.0, 0.01), ww.Hyperparameters(0.1, each, 2.0, 0.1))
    )
    outcome = chance.choice((ww.Standardize(), ww.Standardize(), ww.SoftClip(2.0), ww.Unscaled()))
    kernel = chance.choice(("squared_exponential", "squared_exponential", "matern52"))
    refit = chance.choice((0.0, 0.05, 0.5, 5.0))
    tasks, parts = chance.random() < 0.15, kernel == "squared_exponential" and chance.random() < 0.25
    drift = chance.choice((None, None, None, 2, 25.0, "30 days", timedelta(seconds=1), None if fixed else "learnt"))
    fitted = {
        "priors": chance.choice(("dimension_scaled", "dimension_scaled", None)),
        "amplitude": "one" if fixed else chance.choice(("one", "one", "fitted")),
    }
    return ww.GaussianProcess(
        kernel, outcome=outcome, fixed=fixed, tasks=tasks, refit=refit, parts=parts, drift=drift, **fitted
    )


def _maximizer(chance: Random) -> Any:
    if chance.random() < 0.15:
        return ww.OverGrid(chance.randint(2, 5))
    apart = chance.choice((0.0, 0.0125, 0.0125, 0.2))
    search = ww.MultiStart(chance.randint(1, 48), chance.randint(1, 3), chance.choice((1, 5, 8)), apart=apart)
    if chance.random() < 0.25:
        return ww.NearBest(
            chance.choice((1e-6, 0.25, 1.0)), chance.randint(1, 3), chance.choice((0, 3, 30)), search=search
        )
    return search


def _design(chance: Random) -> Any:
    if chance.random() < 0.2:
        return ww.Central(chance.choice((1, 2, 4)), chance.choice((0.1, 0.6, 1.0)))
    return ww.RandomDesign() if chance.random() < 0.05 else ww.Sobol(chance.choice((0, 1, 2, 3, 4)))


def _guard(chance: Random, space: Space, scale: float) -> Any:
    """Return a guard, most often none: a study without a status quo refuses the others."""
    if chance.random() < 0.7:
        return ww.NoGuard()
    name = chance.choice(sorted(space.decision))
    size = 0.0 if isinstance(space.decision[name], Categorical) else chance.choice((0.0, 0.1, 2.0))
    steps = (
        ww.LargestStep(chance.choice((0.01, 0.3, 1.0)), chance.choice(("status_quo", "last"))),
        ww.LargestStep({name: size}),
    )
    floors = (
        ww.Floor(chance.choice((-scale, 0.0, 2 * scale))),
        ww.Floor(slack=scale, confidence=chance.choice((0.2, 0.9))),
    )
    return chance.choice((*steps, *floors, ww.Guards((steps[0], floors[1]))))


def _report(chance: Random, scale: float) -> Any:
    objective = _objective(chance, scale) if chance.random() < 0.3 else None
    return ww.Report(objective, chance.choice(("space", "space", "evaluated")))


# Each must be refused with a `WindwardError` when it is made.
BAD_PARTS: tuple[Callable[[], object], ...] = (
    lambda: ww.Policy(context_model=None),
    lambda: ww.Policy(context_model=ww.KernelDensity),
    lambda: ww.Policy(context_model=ww.Expected()),
    lambda: ww.Policy(context_model=ww.Empirical(), objective=ww.Empirical()),
    lambda: ww.Policy(context_model=ww.Empirical(), belief=ww.Sobol()),
    lambda: ww.Policy(context_model=ww.Empirical(), objective=ww.Sensitivity(ww.ChiSquare())),
    lambda: ww.Policy(context_model=ww.NoContext(), context_rule=ww.Uniform()),
    lambda: ww.KernelDensity(0),
    lambda: ww.KernelDensity(True),
    lambda: ww.KernelDensity(1.5),
    lambda: ww.Empirical(-1),
    lambda: ww.Box(-1.0),
    lambda: ww.Box(math.nan),
    lambda: ww.Grid("9"),
    lambda: ww.Known(),
    lambda: ww.Known({"c": []}),
    lambda: ww.Known({"c": [1, 2]}, [0.5]),
    lambda: ww.Known({"c": [1, 2]}, [0.9, 0.9]),
    lambda: ww.Known({"c": [1, 2]}, [math.nan, 1.0]),
    lambda: ww.Robust(ww.ChiSquare(), -0.1),
    lambda: ww.Robust(ww.ChiSquare(), math.inf),
    lambda: ww.Robust(ww.ChiSquare, 0.1),
    lambda: ww.Confidence(1.0),
    lambda: ww.LipschitzRobust(ww.Confidence()),
    lambda: ww.Robust(5, 0.1),
    lambda: ww.CVaR(0.0),
    lambda: ww.CVaR(1.5),
    lambda: ww.VaR(math.nan),
    lambda: ww.Satisficing(ww.ChiSquare(), math.nan),
    lambda: ww.Satisficing(ww.ChiSquare(), 10**400),
    lambda: ww.UpperConfidence(-1.0),
    lambda: ww.UpperConfidence("1"),
    lambda: ww.Censor(math.nan, 1),
    lambda: ww.Censor(0.0, -1),
    lambda: ww.Censor(0.0, timedelta(-1)),
    lambda: ww.Censor(0.0, 1, "later"),
    lambda: ww.GaussianProcess("cubic"),
    lambda: ww.GaussianProcess(refit=-1.0),
    lambda: ww.GaussianProcess("matern52", parts=True),
    lambda: ww.GaussianProcess(drift=0.0),
    lambda: ww.GaussianProcess(amplitude=2.0),
    lambda: ww.MultiStart(0),
    lambda: ww.MultiStart(tolerance=0.0),
    lambda: ww.OverGrid(1),
    lambda: ww.NearBest(0.0),
    lambda: ww.NearBest(search=ww.OverGrid(3)),
    lambda: ww.Central(0),
    lambda: ww.Wider(-1.0, 1.0),
    lambda: ww.Wider(0.5, 1.0, -1),
    lambda: ww.Central(3, 1.5),
    lambda: ww.OverallConfidence(-1.0),
    lambda: ww.OverallConfidence(doubts=-1),
    lambda: ww.Sobol(-1),
    lambda: ww.LargestStep(-0.1),
    lambda: ww.LargestStep({"x": -1.0}),
    lambda: ww.LargestStep(0.1, "first"),
    lambda: ww.Floor(),
    lambda: ww.Floor(math.nan),
    lambda: ww.Floor(0.0, confidence=1.0),
    lambda: ww.Floor(slack=0.0),
    lambda: ww.Guards([ww.Expected()]),
    lambda: ww.Report("mean"),
    lambda: ww.Report(candidates="all"),
    lambda: ww.from_json("{"),
    lambda: ww.from_json('{"part":"Nothing"}'),
    lambda: ww.from_json('{"part":"Real","low":"x"}'),
    lambda: ww.from_json('{"part":"Real","width":2}'),
    lambda: ww.from_json("[" * 100_000),
    lambda: ww.papers.sbo_kde(samples=0),
    lambda: ww.papers.ts_bocu(None, ww.Expected()),
)
