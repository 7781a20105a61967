"""Wrong calls of divergences, robust objectives, schedules and the methods that stand on them: see `bad_input_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from bad_input_cases import BEYOND, HUGE, NAN, NOT_NUMBERS, PAIR, Row, each, numbers, shown, wholes, words

import windward as ww
from windward import ArgumentError, IncompatibleError, papers

TV, CHI, MMD = ww.TotalVariation(), ww.ChiSquare(), ww.MMD(0.5)
DIVERGENCES: tuple[Any, ...] = (TV, CHI, ww.KullbackLeibler(), MMD, ww.Wasserstein())
PLACES = ww.Contexts.uniform(torch.tensor([[0.0], [0.5], [1.0]]))
F = torch.tensor([1.0, 2.0, 3.0])
P = torch.tensor([0.2, 0.3, 0.5])
KNOWN = ww.Known({"demand": [0.2, 0.8]})
LOOSE = ww.Space(  # nothing bounds its demand: no context can be placed before one is seen
    {"order": ww.Real(0, 1)}, {"demand": ww.Real(), "sky": ww.Categorical(["sun", "rain"])}
)


def downhill(t: int, k: int) -> float:
    return 0.5 - t


def silent(t: int, k: int) -> None:
    return None


# Wrong wherever a divergence, a radius, contexts or a known distribution is asked for: among them a class in place of
# an instance, a neighbour in the argument list, and parts that can be called as schedules can.
NOT_DIVERGENCES = (5, None, "TotalVariation", ww.TotalVariation, 0.1, ww.Decay(0.1), ww.Expected(), TV.on(PLACES))
NOT_RADII = (*NOT_NUMBERS, None, -1, ww.Decay, TV, ww.Empirical(), KNOWN, print, downhill, silent)
NOT_CONTEXTS = (5, None, F, [[0.0]], PAIR, ww.Contexts, KNOWN)
NOT_KNOWN = (5, None, ww.Known, ww.Empirical(), {"demand": [0.2]}, PLACES, 0.1)

# What is no tensor of values or weights on the three places.
NOT_TENSORS: list[tuple[Any, str]] = [
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
NOT_WEIGHTS: list[tuple[Any, str]] = [
    *NOT_TENSORS,
    (torch.tensor([1.5, -0.5, 0.0]), "weights must be >= 0, got -0.5"),
    (torch.tensor([0.5, 0.25, 0.0]), "weights must sum to 1 over the contexts, got 0.75"),
    (torch.stack([P, 2.0 * P]), "got 2."),
]
NOT_REACHED: list[tuple[Any, str]] = [
    *shown(".radius", (NAN, BEYOND, True, "1", 1j, None, -1, -HUGE, [0.1], PAIR, ww.Decay(0.1))),
    (torch.tensor(-0.5), "radius=-0.5"),
    (torch.tensor([0.5, NAN]), "radius=nan"),
    (torch.tensor(1j), "radius=tensor(0.+1.j)"),
    (torch.ones(3), "radius=tensor([1., 1., 1.])): it does not broadcast over (2,)"),
    (torch.ones(2, 2), "it does not broadcast over (2,)"),
]


def divergence_rows(divergence: Any) -> list[Row]:
    """Every method of a divergence, each argument given wrongly."""
    name, two = type(divergence).__name__, torch.stack([F, F])
    worst, distance = divergence.worst_case, divergence.distance
    return [
        *each(f"{name}.worst_case.values", lambda v: worst(v, PLACES, 0.1), ArgumentError, NOT_TENSORS),
        *words(f"{name}.worst_case.contexts", lambda v: worst(F, v, 0.1), *NOT_CONTEXTS),
        *each(f"{name}.worst_case.radius", lambda v: worst(two, PLACES, v), ArgumentError, NOT_REACHED),
        Row(f"{name}.worst_case.values", lambda: worst(PLACES, F, 0.1), ArgumentError, "contexts=tensor([1., 2., 3.])"),
        Row(f"{name}.worst_case.radius", lambda: worst(F, PLACES, two), ArgumentError, "does not broadcast over ()"),
        *each(f"{name}.distance.weights", lambda v: distance(v, PLACES), ArgumentError, NOT_WEIGHTS),
        *words(f"{name}.distance.contexts", lambda v: distance(P, v), *NOT_CONTEXTS),
        *words(f"{name}.on.contexts", divergence.on, *NOT_CONTEXTS),
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
    Row(
        "MMD.nugget",
        lambda: ww.Sensitivity(MMD).bind(ww.Situation(ALIKE))(F),
        IncompatibleError,
        "the slope of its worst case is not finite",
    ),
    Row("MMD.length_scale", ww.MMD, ArgumentError, "MMD(length_scale=None, matrix=None): give one of the two"),
    *numbers("MMD.length_scale", ww.MMD, 0, -1),
    *words("MMD.length_scale", ww.MMD, [[1.0]], TV),
    *numbers("MMD.nugget", lambda v: ww.MMD(0.5, v), None, -1),
    *numbers("MMD.tolerance", lambda v: ww.MMD(0.5, tolerance=v), None, 0, -1),
]
ALIKE = ww.Contexts.uniform(torch.tensor([[0.0], [0.0], [1.0]]))  # two contexts in one place: a singular kernel


def ball_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """An objective or a method with a divergence and a radius: each wrong, and the two swapped."""
    return [
        *words(f"{name}.divergence", lambda v: call(v, 0.1), *NOT_DIVERGENCES),
        *words(f"{name}.radius", lambda v: call(TV, v), *NOT_RADII),
        Row(f"{name}.divergence", lambda: call(0.1, TV), ArgumentError, "divergence=0.1"),
        Row(f"{name}.radius", lambda: call(TV, downhill), ArgumentError, "the schedule gave -0.5 for t=1; it must be"),
        Row(f"{name}.radius", lambda: call(TV, silent), ArgumentError, "the schedule gave None for t=1"),
        Row(f"{name}.radius", lambda: call(TV, KNOWN), ArgumentError, "a schedule is called with t and k"),
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
    *words(
        "MidpointRobust.divergence", lambda v: ww.MidpointRobust(v, 0.1), *NOT_DIVERGENCES, *DIVERGENCES[:3], ww.MMD
    ),
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
    *numbers("BocuOne.step", lambda v: ww.BocuOne(TV, 0.1, step=v), None, 0, -1),
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
    *numbers("VaR.tail", ww.VaR, None, 0, -1, 1.5),
    *numbers("CVaR.tail", ww.CVaR, None, 0, -1, 1.5),
    *numbers("Decay.scale", ww.Decay, None, -1),
    *numbers("Decay.power", lambda v: ww.Decay(0.3, v), None, -1),
    *numbers("KernelRate.scale", ww.KernelRate, None, -1),
    *numbers("KirschnerRate.risk", ww.KirschnerRate, None, 0, -1, 1.5),
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
    *wholes("Empirical.elsewhere", ww.Empirical, None, -1),
    *wholes("KernelDensity.elsewhere", lambda v: ww.KernelDensity(8, v), None, -1),
    *numbers("GaussianProcess.refit", lambda v: ww.GaussianProcess(refit=v), None, -0.1),
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


def bocu_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """A method of Tay2024: `call(reference, **parts)`."""
    return [
        *words(f"papers.{name}.reference", call, *NOT_KNOWN),
        *words(
            f"papers.{name}.surrogate",
            lambda v: call(KNOWN, surrogate=v),
            *(5, ww.GaussianProcess, "gp", MMD),
            error=IncompatibleError,
        ),
        *words(
            f"papers.{name}.maximize",
            lambda v: call(KNOWN, maximize=v),
            *(5, ww.OverGrid, 32, ww.Thompson()),
            error=IncompatibleError,
        ),
    ]


def tradeoff_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """A method with the parameters of a tradeoff: `call(reference, divergence, radius, **more)`."""
    return [
        *ball_rows(f"papers.{name}", lambda d, r: call(KNOWN, d, r)),
        *bocu_rows(name, lambda p, **parts: call(p, TV, 0.1, **parts)),
        *numbers(f"papers.{name}.alpha", lambda v: call(KNOWN, TV, 0.1, alpha=v), None, -1),
        *numbers(f"papers.{name}.beta", lambda v: call(KNOWN, TV, 0.1, beta=v), None, -1),
        Row(f"papers.{name}.reference", lambda: call(TV, KNOWN, 0.1), ArgumentError, "divergence=Known("),
    ]


def quadrature_rows(name: str, *more: float, rule: bool = True) -> list[Row]:
    """A method of Nguyen2020: `name(samples, *more, rule=...)`, where `more` is its radius if it has one."""
    call = getattr(papers, name)
    rows = words(f"papers.{name}.samples", lambda v: call(v, *more), *NOT_KNOWN)
    if more:
        rows += words(f"papers.{name}.radius", lambda v: call(KNOWN, v), *NOT_RADII)
        rows.append(Row(f"papers.{name}.samples", lambda: call(0.1, KNOWN), ArgumentError, "=Known("))
    if rule:
        wrong = (5, "uniform", ww.Uniform, ww.Thompson(), ww.Empirical(), ww.Decay(0.1))
        rows += words(f"papers.{name}.rule", lambda v: call(KNOWN, *more, rule=v), *wrong, error=IncompatibleError)
    return rows


METHODS: list[Row] = [
    *numbers("papers.drbo_kde.width", lambda v: papers.drbo_kde(width=v), None, -1),
    *wholes("papers.drbo_kde.samples", lambda v: papers.drbo_kde(samples=v), None, 0),
    *wholes("papers.drbo_kde.elsewhere", lambda v: papers.drbo_kde(elsewhere=v), None, -1),
    *numbers("papers.drbo_mmd.width", lambda v: papers.drbo_mmd(width=v), None, -1),
    *numbers("papers.drbo_mmd.length_scale", lambda v: papers.drbo_mmd(length_scale=v), None, 0),
    *wholes("papers.drbo_mmd.points", lambda v: papers.drbo_mmd(points=v), None, 0),
    *numbers("papers.drbo_mmd_minimax.width", lambda v: papers.drbo_mmd_minimax(width=v), None, -1),
    *numbers("papers.drbo_mmd_minimax.length_scale", lambda v: papers.drbo_mmd_minimax(length_scale=v), None, 0),
    *wholes("papers.drbo_mmd_minimax.points", lambda v: papers.drbo_mmd_minimax(points=v), None, 0),
    *numbers("papers.drbo_mmd_minimax.nugget", lambda v: papers.drbo_mmd_minimax(nugget=v), None, -1),
    *numbers("papers.wdrbo.width", lambda v: papers.wdrbo(width=v), None, -1),
    *words("papers.wdrbo.radius", lambda v: papers.wdrbo(radius=v), *(v for v in NOT_RADII if v is not None)),
    *wholes("papers.wdrbo.elsewhere", lambda v: papers.wdrbo(elsewhere=v), None, -1),
    *numbers("papers.wdrbo_exact.width", lambda v: papers.wdrbo_exact(width=v), None, -1),
    *words(
        "papers.wdrbo_exact.radius", lambda v: papers.wdrbo_exact(radius=v), *(v for v in NOT_RADII if v is not None)
    ),
    *wholes("papers.wdrbo_exact.elsewhere", lambda v: papers.wdrbo_exact(elsewhere=v), None, -1),
    *bocu_rows("ts_bocu", lambda p, **parts: papers.ts_bocu(p, ww.Sensitivity(TV), **parts)),
    *words(
        "papers.ts_bocu.objective",
        lambda v: papers.ts_bocu(KNOWN, v),
        *(5, None, ww.Sensitivity, TV, KNOWN, 0.1),
        error=IncompatibleError,
    ),
    Row("papers.ts_bocu.reference", lambda: papers.ts_bocu(ww.Minimum(), KNOWN), ArgumentError, "reference=Minimum()"),
    *tradeoff_rows("ucb_bocu_1", papers.ucb_bocu_1),
    *tradeoff_rows("ucb_bocu_2", papers.ucb_bocu_2),
    Row("papers.ucb_bocu_2.radius", lambda: papers.ucb_bocu_2(KNOWN, CHI, 0), IncompatibleError, STEEP),
    *bocu_rows("ucb_so", papers.ucb_so),
    *bocu_rows("ucb_ro", papers.ucb_ro),
    *quadrature_rows("drbqo", 0.1),
    *quadrature_rows("emp_drbqo", 0.1),
    *quadrature_rows("bqo_ts"),
    *quadrature_rows("bqo_ei"),
    *quadrature_rows("maximin_bqo_ts", 0.1),
    *quadrature_rows("maximin_bqo_ei", 0.1),
    *quadrature_rows("drbqo_rand_w", 0.1, rule=False),
    *quadrature_rows("bqo_ts_rand_w", rule=False),
    *quadrature_rows("bqo_ei_rand_w", rule=False),
    *words("papers.mtbo.folds", papers.mtbo, *NOT_KNOWN),
]

ROBUST: list[Row] = [
    *(row for divergence in DIVERGENCES for row in divergence_rows(divergence)),
    *MATRICES,
    *OBJECTIVES,
    *POLICIES,
    *UNPLACED,
    *METHODS,
]
