"""Wrong calls of divergences, robust objectives, schedules and the methods that stand on them: see `bad_input_cases`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from bad_input_cases import BEYOND, EVERY_NOT_NUMBER, HUGE, NAN, PAIR, Row, each, numbers, shown, wholes, words

import windward as ww
from windward import ArgumentError, IncompatibleError, papers

TV, CHI, MMD = ww.TotalVariation(), ww.ChiSquare(), ww.MMD(0.5)
DIVERGENCES: tuple[Any, ...] = (TV, CHI, ww.KullbackLeibler(), MMD, ww.Wasserstein())
NOT_HALF_LIVES = (0, "soon", timedelta(0), -1.0, NAN, True, "0 days", "9999 weeks 1", f"{10**9} weeks", PAIR)
PLACES = ww.Contexts.uniform(torch.tensor([[0.0], [0.5], [1.0]]))
F = torch.tensor([1.0, 2.0, 3.0])
P = torch.tensor([0.2, 0.3, 0.5])
KNOWN = ww.Known({"demand": [0.2, 0.8]})
LOOSE = ww.Space(  # nothing bounds its demand: no context can be placed before one is seen
    {"order": ww.Real(0, 1)}, {"demand": ww.Real(), "sky": ww.Categorical(["sun", "rain"])}
)


def downhill(situation: ww.Situation) -> float:
    return 0.5 - situation.seen


def silent(situation: ww.Situation) -> None:
    return None


# Wrong wherever a divergence, a radius, contexts or a known distribution is asked for: among them a class in place of
# an instance, a neighbour in the argument list, and parts that can be called as schedules can.
EVERY_NOT_DIVERGENCE = (5, None, "TotalVariation", ww.TotalVariation, 0.1, ww.Decay(0.1), ww.Expected(), TV.on(PLACES))
NOT_DIVERGENCES = (None, ww.TotalVariation, ww.Decay(0.1))
EVERY_NOT_RADIUS = (*EVERY_NOT_NUMBER, None, -1, ww.Decay, TV, ww.Empirical(), KNOWN, print, downhill, silent)
NOT_RADII = (NAN, None, -1, TV)
EVERY_NOT_CONTEXTS = (5, None, F, [[0.0]], PAIR, ww.Contexts, KNOWN)
NOT_CONTEXTS = (F, ww.Contexts)
EVERY_NOT_KNOWN = (5, None, ww.Known, ww.Empirical(), {"demand": [0.2]}, PLACES, 0.1)
NOT_KNOWN = (None, ww.Empirical())

# What is no tensor of values or weights on the three places.
EVERY_NOT_TENSOR: list[tuple[Any, str]] = [
    (5, "=5)"),
    (None, "=None)"),
    ([1.0, 2.0, 3.0], "=[1.0, 2.0, 3.0])"),
    (PAIR, "=array([0.25, 0.5 ]))"),
    (F.numpy(), "=array([1., 2., 3.], dtype=float32))"),
    (1j * F, "=tensor([0.+1.j, 0.+2.j, 0.+3.j]))"),
    (PLACES, "=Contexts("),
    (torch.tensor(1.0), "must have the 3 contexts, got ()"),
    (torch.ones(2), "must have the 3 contexts, got (2,)"),
    (torch.ones(3, 2), "must have the 3 contexts, got (3, 2)"),
    (torch.tensor([1.0, NAN, 3.0]), "must be finite, at most 1e+150 in size, got nan"),
    (torch.tensor([1.0, -HUGE, 3.0]), "got -inf"),
    (torch.tensor([1e200, 0.0, 0.0], dtype=torch.float64), "got 1e+200"),
]
NOT_TENSORS: list[tuple[Any, str]] = [
    ([1.0, 2.0, 3.0], "=[1.0, 2.0, 3.0])"),
    (torch.ones(2), "must have the 3 contexts, got (2,)"),
    (torch.tensor([1.0, NAN, 3.0]), "must be finite, at most 1e+150 in size, got nan"),
]
NOT_WEIGHTS: list[tuple[Any, str]] = [
    (P.numpy(), "=array("),
    (torch.tensor([1.5, -0.5, 0.0]), "weights must be >= 0, got -0.5"),
    (torch.tensor([0.5, 0.25, 0.0]), "weights must sum to 1 over the contexts, got 0.75"),
]
NOT_SHARES: list[tuple[Any, str]] = [
    (P.numpy(), "references=array("),
    (torch.tensor([[1.5, -0.5, 0.0]] * 2), "references must be >= 0, got -0.5"),
    (torch.tensor([[0.5, 0.25, 0.0]] * 2), "references must sum to 1 over the contexts, got 0.75"),
]
EVERY_NOT_WEIGHT = [*EVERY_NOT_TENSOR, *NOT_WEIGHTS, (torch.stack([P, 2.0 * P]), "got 2.")]
EVERY_NOT_REACHED: list[tuple[Any, str]] = [
    *shown(".radius", (NAN, BEYOND, True, "1", 1j, None, -1, -HUGE, [0.1], PAIR, ww.Decay(0.1))),
    (torch.tensor(-0.5), "radius=-0.5"),
    (torch.tensor([0.5, NAN]), "radius=nan"),
    (torch.tensor(1j), "radius=tensor(0.+1.j)"),
    (torch.ones(3), "radius=tensor([1., 1., 1.])): it does not broadcast over (2,)"),
    (torch.ones(2, 2), "it does not broadcast over (2,)"),
]
NOT_REACHED: list[tuple[Any, str]] = [
    *shown(".radius", ("1", -1)),
    (torch.tensor([0.5, NAN]), "radius=nan"),
    (torch.ones(3), "radius=tensor([1., 1., 1.])): it does not broadcast over (2,)"),
]


def around_each_rows() -> list[Row]:
    """The worst values around a reference of each row's own."""
    name, two, shares = "TotalVariation.around_each", torch.stack([F, F]), torch.stack([P, P])
    return [
        *each(f"{name}.values", lambda v: TV.around_each(v, shares, 0.1), ArgumentError, EVERY_NOT_TENSOR),
        Row(f"{name}.values", lambda: TV.around_each(F, shares, 0.1), ArgumentError, "give 2 rows of values, got 1"),
        Row(f"{name}.references", lambda: TV.around_each(two, P, 0.1), ArgumentError, "the 0 contexts, got (3,)"),
        *each(f"{name}.references", lambda v: TV.around_each(two, v, 0.1), ArgumentError, NOT_SHARES),
        *each(f"{name}.radius", lambda v: TV.around_each(two, shares, v), ArgumentError, NOT_REACHED),
    ]


def divergence_rows(divergence: Any) -> list[Row]:
    """Every method of a divergence, each argument given wrongly."""
    name, two = type(divergence).__name__, torch.stack([F, F])
    worst, distance, first = divergence.worst_case, divergence.distance, divergence is TV
    tensors, reached = (EVERY_NOT_TENSOR, EVERY_NOT_REACHED) if first else (NOT_TENSORS, NOT_REACHED)
    weights, contexts = (EVERY_NOT_WEIGHT, EVERY_NOT_CONTEXTS) if first else (NOT_WEIGHTS, NOT_CONTEXTS)
    return [
        *each(f"{name}.worst_case.values", lambda v: worst(v, PLACES, 0.1), ArgumentError, tensors),
        *words(f"{name}.worst_case.contexts", lambda v: worst(F, v, 0.1), *contexts),
        *each(f"{name}.worst_case.radius", lambda v: worst(two, PLACES, v), ArgumentError, reached),
        Row(f"{name}.worst_case.values", lambda: worst(PLACES, F, 0.1), ArgumentError, "contexts=tensor([1., 2., 3.])"),
        Row(f"{name}.worst_case.radius", lambda: worst(F, PLACES, two), ArgumentError, "does not broadcast over ()"),
        *each(f"{name}.distance.weights", lambda v: distance(v, PLACES), ArgumentError, weights),
        *words(f"{name}.distance.contexts", lambda v: distance(P, v), *contexts),
        *words(f"{name}.on.contexts", divergence.on, *contexts),
        *(around_each_rows() if first else []),
        *each(f"{name}.on.contexts", lambda v: divergence.on(PLACES)(v, 0.1), ArgumentError, NOT_TENSORS),
    ]


def matrix(*rows: tuple[float, ...]) -> ww.MMD:
    return ww.MMD(matrix=rows)


MATRICES: list[Row] = [
    *each(
        "MMD.matrix",
        lambda v: ww.MMD(matrix=v),
        ArgumentError,
        [
            (5, "MMD(matrix=5): give a square matrix, got shape ()"),
            ([1.0, 2.0], "MMD(matrix=[1.0, 2.0])"),
            ([], "got shape (0,)"),
            ([[]], "got shape (1, 0)"),
            ([[1.0, 0.0]], "got shape (1, 2)"),
            ([[1.0], [0.0, 1.0]], "MMD(matrix=[[1.0], [0.0, 1.0]])"),
            ([["1"]], "MMD(matrix=[['1']])"),
            ("identity", "MMD(matrix='identity')"),
            ([[1j]], "MMD(matrix=[[1j]])"),
            ([[True]], "MMD(matrix=[[True]])"),
            ([[None]], "MMD(matrix=[[None]])"),
            ([[NAN]], "MMD(matrix=[[nan]])"),
            ([[HUGE]], "MMD(matrix=[[inf]])"),
            ([[1.0, 0.5], [0.25, 1.0]], "must be symmetric, but (0, 1) has 0.5 and (1, 0) 0.25"),
            ([[1.0, 2.0], [2.0, 1.0]], "must be positive semi-definite, its least eigenvalue is -1"),
            (torch.tensor([[0.0, 1.0], [1.0, 0.0]]), "its least eigenvalue is -1"),
            (torch.tensor([[1.0, 0.5], [0.0, 1.0]], requires_grad=True), "must be symmetric"),
            (ww.MMD, "<class 'windward.divergences.mmd.MMD'>"),
        ],
    ),
    Row(
        "MMD.matrix", lambda: ww.MMD(0.5, matrix=[[1.0]]), ArgumentError, "MMD(length_scale=0.5, matrix=...): give one"
    ),
    *each(
        "MMD.kernel.contexts",
        lambda call: call(matrix((1.0, 0.0), (0.0, 1.0))),
        IncompatibleError,
        [
            (lambda mmd: mmd.kernel(PLACES), "the matrix is 2 x 2, there are 3 contexts"),
            (lambda mmd: mmd.on(PLACES), "the matrix is 2 x 2, there are 3 contexts"),
            (lambda mmd: mmd.worst_case(F, PLACES, 0.1), "the matrix is 2 x 2, there are 3 contexts"),
            (lambda mmd: mmd.distance(P, PLACES), "the matrix is 2 x 2, there are 3 contexts"),
            (lambda mmd: ww.Robust(mmd, 0.1).bind(ww.Situation(PLACES)), "the matrix is 2 x 2, there are 3 contexts"),
        ],
    ),
    *words("MMD.kernel.contexts", MMD.kernel, *NOT_CONTEXTS),
    *words("MMD.on.kernel", lambda v: ww.MMD("fitted").on(ALIKE, v), 5, "rbf"),
    Row(
        "MMD.on.kernel", lambda: ww.MMD("fitted").on(ALIKE, lambda c: c), ArgumentError, "got a matrix of shape (3, 1)"
    ),
    Row(
        "MMD.nugget",
        lambda: ww.Sensitivity(MMD).bind(ww.Situation(ALIKE))(F),
        IncompatibleError,
        "the slope of its worst case is not finite",
    ),
    Row("MMD.length_scale", ww.MMD, ArgumentError, "MMD(length_scale=None, matrix=None): give one of the two"),
    *numbers("MMD.length_scale", ww.MMD, 0),
    *words("MMD.length_scale", ww.MMD, [[1.0]], TV, "fit"),
    Row(
        "MMD.length_scale",
        lambda: ww.MMD("fitted").on(ww.Contexts.uniform(torch.zeros(2, 1))),
        IncompatibleError,
        "MMD(length_scale='fitted'): its kernel is that of a fitted process, and none is given here",
    ),
    *numbers("MMD.nugget", lambda v: ww.MMD(0.5, v), None, -1),
    *numbers("MMD.tolerance", lambda v: ww.MMD(0.5, tolerance=v), None, 0),
]
ALIKE = ww.Contexts.uniform(torch.tensor([[0.0], [0.0], [1.0]]))  # two contexts in one place: a singular kernel


def ball_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """An objective or a method with a divergence and a radius: each wrong, and the two swapped."""
    divergences, radii = (EVERY_NOT_DIVERGENCE, EVERY_NOT_RADIUS) if name == "Robust" else (NOT_DIVERGENCES, NOT_RADII)
    return [
        *words(f"{name}.divergence", lambda v: call(v, 0.1), *divergences),
        *words(f"{name}.radius", lambda v: call(TV, v), *radii),
        Row(f"{name}.divergence", lambda: call(0.1, TV), ArgumentError, "divergence=0.1"),
        Row(f"{name}.radius", lambda: call(TV, downhill), ArgumentError, "the schedule gave -0.5 for t=1; it must be"),
        Row(f"{name}.radius", lambda: call(TV, silent), ArgumentError, "the schedule gave None for t=1"),
        Row(f"{name}.radius", lambda: call(TV, KNOWN), ArgumentError, "a schedule is called with a situation"),
    ]


STEEP = "its worst case has an infinite slope at radius 0; use TotalVariation()"


def steep(where: str, call: Callable[..., Any]) -> list[Row]:
    says = [(d, f"{where}(divergence={d!r}): {STEEP}") for d in (CHI, ww.KullbackLeibler())]
    return each(f"{where}.divergence", call, IncompatibleError, says)


OBJECTIVES: list[Row] = [
    *ball_rows("Robust", ww.Robust),
    *ball_rows("Tradeoff", ww.Tradeoff),
    *ball_rows("BocuOne", ww.BocuOne),
    *ball_rows("BocuTwo", ww.BocuTwo),
    *words("LipschitzRobust.radius", ww.LipschitzRobust, *NOT_RADII),
    *words("MidpointRobust.divergence", lambda v: ww.MidpointRobust(v, 0.1), *NOT_DIVERGENCES, *DIVERGENCES[:3]),
    *words("MidpointRobust.radius", lambda v: ww.MidpointRobust(MMD, v), *NOT_RADII),
    Row("MidpointRobust.divergence", lambda: ww.MidpointRobust(0.1, MMD), ArgumentError, "divergence=0.1"),
    Row(
        "MidpointRobust.divergence",
        lambda: ww.MidpointRobust(MMD, 0.1).bind(ww.Situation(ALIKE))(F.double()),
        IncompatibleError,
        "give a nugget",
    ),
    *numbers("Tradeoff.alpha", lambda v: ww.Tradeoff(TV, 0.1, v), None, -1),
    *numbers("Tradeoff.beta", lambda v: ww.Tradeoff(TV, 0.1, 1.0, v), None, -1),
    *numbers("BocuOne.alpha", lambda v: ww.BocuOne(TV, 0.1, v), None, -1),
    *numbers("BocuOne.beta", lambda v: ww.BocuOne(TV, 0.1, 1.0, v), None, -1),
    *numbers("BocuOne.step", lambda v: ww.BocuOne(TV, 0.1, step=v), None, 0),
    *numbers("BocuTwo.alpha", lambda v: ww.BocuTwo(TV, 0.1, v), None, -1),
    *numbers("BocuTwo.beta", lambda v: ww.BocuTwo(TV, 0.1, 1.0, v), None, -1),
    Row("BocuTwo.alpha", lambda: ww.BocuTwo(TV, 0.1, -1), ArgumentError, "BocuTwo(alpha=-1)"),
    *words("Sensitivity.divergence", ww.Sensitivity, *NOT_DIVERGENCES),
    *words("MeanRisk.divergence", ww.MeanRisk, *NOT_DIVERGENCES),
    *steep("Sensitivity", ww.Sensitivity),
    *steep("MeanRisk", ww.MeanRisk),
    *steep("Tradeoff", lambda d: ww.Tradeoff(d, 0.0, 1, 1)),
    *steep("Tradeoff", lambda d: ww.Tradeoff(d, ww.Decay(0.0), 1, 1).bind(ww.Situation(PLACES))),
    *steep("BocuTwo", lambda d: ww.BocuTwo(d, 0)),
    *numbers("MeanRisk.weight", lambda v: ww.MeanRisk(TV, v), None, -1),
    *numbers("MeanVariance.weight", ww.MeanVariance, None, -1),
    *words("MeanVariance.weight", ww.MeanVariance, TV),
    *words("Satisficing.divergence", lambda v: ww.Satisficing(v, 0.5), *NOT_DIVERGENCES),
    *numbers("Satisficing.target", lambda v: ww.Satisficing(TV, v), None),
    Row("Satisficing.divergence", lambda: ww.Satisficing(0.5, TV), ArgumentError, "divergence=0.5"),
    *numbers("VaR.tail", ww.VaR, None, 0, 1.5),
    *numbers("CVaR.tail", ww.CVaR, None, 0, 1.5),
    *numbers("Decay.scale", ww.Decay, None, -1),
    *numbers("Decay.power", lambda v: ww.Decay(0.3, v), None, -1),
    *numbers("Confidence.level", ww.Confidence, None, 0, 1),
    Row("LipschitzRobust.radius", lambda: ww.LipschitzRobust(ww.Confidence()), ArgumentError, "Robust(divergence"),
    Row("BocuOne.radius", lambda: ww.BocuOne(TV, ww.Confidence()), ArgumentError, "Robust(divergence"),
    *numbers("KernelRate.scale", ww.KernelRate, None, -1),
    *numbers("KirschnerRate.risk", ww.KirschnerRate, None, 0, 1.5),
    *numbers("MicheliRate.context_diameter", lambda v: ww.MicheliRate(v, 2), None, -1),
    *wholes("MicheliRate.decisions", lambda v: ww.MicheliRate(1.0, v), None, 0),
    *numbers("MicheliRate.decision_diameter", lambda v: ww.MicheliRate(1.0, 2, v), None, -1),
    *numbers("MicheliRate.log_covering", lambda v: ww.MicheliRate(1.0, 2, 1.0, v), None, -1),
    *numbers("MicheliRate.risk", lambda v: ww.MicheliRate(1.0, 2, risk=v), None, 0, 1.5),
    *wholes("HuangWidth.decisions", ww.HuangWidth, None, 0),
    *numbers("HuangWidth.constant", lambda v: ww.HuangWidth(2, v), None, 0),
    *numbers("MicheliWidth.bound", ww.MicheliWidth, None, -1),
    *numbers("MicheliWidth.noise", lambda v: ww.MicheliWidth(1.0, v), None, -1),
    *numbers("MicheliWidth.risk", lambda v: ww.MicheliWidth(1.0, 0.1, v), None, 0, 1.5),
    *numbers("VermaWidth.bound", ww.VermaWidth, None, -1),
    *numbers("VermaWidth.noise", lambda v: ww.VermaWidth(1.0, v), None, -1),
    *numbers("VermaWidth.most", lambda v: ww.VermaWidth(1.0, 0.1, v), None, -1),
    *numbers("VermaWidth.risk", lambda v: ww.VermaWidth(1.0, 0.1, 1.0, v), None, 0, 1.5),
    *wholes("Empirical.elsewhere", ww.Empirical, None, -1),
    *words("Empirical.half_life", lambda v: ww.Empirical(half_life=v), *NOT_HALF_LIVES),
    *words("KernelDensity.half_life", lambda v: ww.KernelDensity(half_life=v), *NOT_HALF_LIVES[:3]),
    *wholes("KernelDensity.elsewhere", lambda v: ww.KernelDensity(8, v), None, -1),
    *numbers("GaussianProcess.refit", lambda v: ww.GaussianProcess(refit=v), None, -0.1),
    *words("GaussianProcess.drift", lambda v: ww.GaussianProcess(drift=v), *NOT_HALF_LIVES),
    *words("GaussianProcess.priors", lambda v: ww.GaussianProcess(priors=v), "botorch", 1, True, PAIR),
    *words("GaussianProcess.amplitude", lambda v: ww.GaussianProcess(amplitude=v), None, 2.0, "free", PAIR),
    Row(
        "GaussianProcess.amplitude",
        lambda: ww.GaussianProcess(amplitude="fitted", fixed=ww.Hyperparameters(0.0, (0.5,), 1.0, 0.1)),
        ArgumentError,
        "leave out one of the two",
    ),
    *words("GaussianProcess.tasks", lambda v: ww.GaussianProcess(tasks=v), 1, "yes", None, PAIR),
]


def together(objective: Any = None, belief: Any = None, **more: Any) -> ww.Policy:
    return ww.Policy(
        context_model=ww.Empirical(),
        objective=objective or ww.Expected(),
        belief=belief or ww.UpperConfidence(),
        **more,
    )


FALLING = (ww.Sensitivity(TV), ww.MeanRisk(MMD), ww.MeanVariance(), ww.Tradeoff(TV, 0.1), ww.Tradeoff(CHI, 0.1, 0, 2))
POLICIES: list[Row] = [
    *words("Policy.objective", together, *FALLING, error=IncompatibleError),
    *each("Policy.belief", together, IncompatibleError, [(o, "rise; use belief=Thompson()") for o in FALLING]),
    *words(
        "Policy.objective",
        lambda v: together(v, ww.ExpectedImprovement()),
        *(ww.Minimum(), ww.Robust(TV, 0.1), ww.VaR(0.1), ww.MeanVariance()),
        error=IncompatibleError,
    ),
    Row(
        "Policy.belief",
        lambda: together(ww.Minimum(), ww.ExpectedImprovement()),
        IncompatibleError,
        "for Expected() alone; use belief=Thompson()",
    ),
    *words(
        "Policy.objective", together, ww.Robust, TV, ww.Decay(0.1), ww.ExpectedImprovement(), error=IncompatibleError
    ),
    *words("Policy.belief", lambda v: together(None, v), ww.ExpectedImprovement, ww.Uniform(), error=IncompatibleError),
    *words("Report.objective", ww.Report, ww.Robust, TV, ww.Uniform(), error=IncompatibleError),
    *words(
        "Policy.context_rule",
        lambda v: together(context_rule=v),
        *(ww.MostUncertain, ww.HighestImprovement, ww.Uniform, ww.Decay(0.1), ww.ExpectedImprovement(), max),
        error=IncompatibleError,
    ),
    *words(
        "Policy.context_model",
        lambda v: ww.Policy(context_model=v),
        *(ww.Decay(0.1), ww.MostUncertain(), ww.Distribution("norm"), downhill),
        error=IncompatibleError,
    ),
]

# Policies that are sound in themselves and do not go with `SPACE`, whose context 'sky' is a category.
SLOPES = "LipschitzRobust(radius=0.1): the slope in the context 'sky' has no meaning, it is a category; use Robust(Wass"
LIPSCHITZ = ww.LipschitzRobust(0.1)
ROBUST_UNFIT = [
    (together(LIPSCHITZ), SLOPES),
    (together(report=ww.Report(LIPSCHITZ)), SLOPES),
    (papers.wdrbo(radius=0.1), SLOPES),
    (together(ww.Robust(matrix((1.0, 0.0), (0.0, 1.0)), 0.1)), "the matrix is 2 x 2, there are 128 contexts"),
    (together(ww.BocuTwo(CHI, ww.Decay(0.0))), STEEP),
    (papers.mtbo(KNOWN), "['demand'], the space has ['cover', 'demand', 'sky']"),
]
UNPLACED: list[Row] = each("Study.policy", lambda v: ww.Study(LOOSE, v), IncompatibleError, ROBUST_UNFIT[:3])


ROBUST: list[Row] = [
    *(row for divergence in DIVERGENCES for row in divergence_rows(divergence)),
    *MATRICES,
    *OBJECTIVES,
    *POLICIES,
    *UNPLACED,
]
