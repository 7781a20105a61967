"""Nguyen2020: DRBQO and its baselines where n samples of the context are given and the simulator's context is chosen.

Cross-validation is in `nguyen_tuning.py`.

Settings of Sec. 6 and App. C: 12 initial points (cross-validation: fewer), n = 10 or 5 samples or folds, rho of the chi-square
ball, 30 repeats (Table 1: 20). Report points differ from sampled points: after each round one of the evaluated decisions is
reported by the empirical expectation or by its robust value. BQO and Maximin-BQO sample alike and report differently, as
do DRBQO and Emp-DRBQO: each pair is one run with both reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from windward import papers
from windward.bench.experiment import Case, Claim, Curve, Experiment, Method, Panel, Quick
from windward.bench.experiments.parts import WITH_PRIORS, ahead, level, told
from windward.bench.metrics import Goal, Metric, at_reports, best_reported, reported
from windward.bench.problem import Problem
from windward.bench.problems import problem
from windward.bench.problems.nguyen import expected_logistic
from windward.divergences import ChiSquare
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.objectives.robust import Robust

HYPERPARAMETERS = f"{WITH_PRIORS}. The paper: most marginal likelihood of values scaled to [0, 1], at every step."
RADII = (0.1, 0.3, 0.5, 1.0, 3.0)
EXPECTATION = Goal(over="reference")


def robust(rho: float) -> Objective:
    """Return the worst expectation over the chi-square ball of radius rho."""
    return Robust(ChiSquare(), rho)


def robust_goal(rho: float) -> Goal:
    """Return the robust value over the given samples as what decisions are judged by."""
    return Goal(lambda problem: robust(rho), "reference")


def by(rho: float | None) -> str:
    """Return the name of a report: by the expectation, or by the robust value."""
    return "expected" if rho is None else f"robust {rho:g}"


def drbqo_name(rho: float) -> str:
    """Return the name DRBQO is recorded under."""
    return f"DRBQO {rho:g}"


def drbqo(rho: float) -> Method:
    """Return DRBQO for a radius."""
    return lambda problem: papers.drbqo(told(problem), rho)


BASELINES: dict[str, Method] = {
    "BQO-EI": lambda problem: papers.bqo_ei(told(problem)),
    "BQO-TS": lambda problem: papers.bqo_ts(told(problem)),
}
METHODS: dict[str, Method] = {**BASELINES, **{drbqo_name(rho): drbqo(rho) for rho in RADII}}
LOGISTIC = Case(name="Logistic", problem="logistic")


def one_set(seed: int, data: Path | None) -> Problem:
    """Return the logistic problem with the same ten samples for every seed."""
    return problem("logistic", seed=ONE_SET)


def _from_origin(x: Tensor) -> Tensor:
    return x.square().sum(-1).sqrt()


ONE_SET_CASE = Case(name="One set of samples", problem=one_set)
REPORTS: dict[str, Objective] = {by(None): Expected(), **{by(rho): robust(rho) for rho in RADII}}


def regret_metric(rho: float, report: str) -> Metric:
    """Return the best rho-regret so far of what a report reported."""
    label = f"best-so-far {rho:g}-regret"
    return Metric(f"regret {rho:g} by {report}", label, best_reported(robust_goal(rho), report), log=True)


def expectation_metric(report: str) -> Metric:
    """Return the empirical expectation at what a report reported."""
    return Metric(
        f"expectation by {report}", "empirical expectation at the report", reported(EXPECTATION, report), lower=False
    )


REGRETS = {(rho, report): regret_metric(rho, report) for rho in RADII for report in (by(None), by(rho))}
EXPECTATIONS = {report: expectation_metric(report) for report in REPORTS}
MARKS = (25, 50, 75, 112)
WORLD = "nguyen2020"


def _regret_panel(rho: float) -> Panel:
    plain, guarded = REGRETS[rho, by(None)].name, REGRETS[rho, by(rho)].name
    own = drbqo_name(rho)
    return Panel(
        title=f"rho = {rho:g}",
        metric=REGRETS[rho, by(rho)],
        marks=MARKS,
        curves=(
            Curve("BQO-EI", "Logistic", "BQO-EI", plain),
            Curve("BQO-TS", "Logistic", "BQO-TS", plain),
            Curve("Maximin-BQO-EI", "Logistic", "BQO-EI", guarded),
            Curve("Maximin-BQO-TS", "Logistic", "BQO-TS", guarded),
            Curve("Emp-DRBQO", "Logistic", own, plain),
            Curve("DRBQO", "Logistic", own, guarded),
        ),
    )


FIGURE_3 = Experiment(
    name="nguyen2020-fig3",
    source="Nguyen2020, Fig. 3",
    shows="Best-so-far rho-regret of the reported decisions on the logistic function, ten given samples.",
    world=WORLD,
    cases=(LOGISTIC,),
    methods=METHODS,
    seeds=tuple(range(30)),
    hyperparameters=HYPERPARAMETERS,
    rounds=112,
    metrics=(*REGRETS.values(), *EXPECTATIONS.values()),
    reports=REPORTS,
    panels=tuple(_regret_panel(rho) for rho in RADII),
    claims=ahead(
        [f"rho = {rho:g}" for rho in RADII],
        ["DRBQO"],
        ["BQO-EI", "BQO-TS", "Maximin-BQO-EI", "Maximin-BQO-TS", "Emp-DRBQO"],
        'Sec. 6: "significantly outperforms the baselines"',
    ),
    notes="12 initial points, then 100 rounds. The ten samples are drawn anew for each seed; the paper fixes one set.",
    quick=Quick(2, 24, methods=("BQO-EI", "BQO-TS", "DRBQO 1")),
)

FIGURE_4 = replace(
    FIGURE_3,
    name="nguyen2020-fig4",
    source="Nguyen2020, Fig. 4",
    shows="Empirical expectation at the reported decisions: DRBQO beside the baselines, and DRBQO by rho.",
    panels=(
        Panel(
            title="(a) DRBQO and baselines",
            metric=EXPECTATIONS[by(None)],
            marks=MARKS,
            curves=(
                Curve("BQO-EI", "Logistic", "BQO-EI"),
                Curve("BQO-TS", "Logistic", "BQO-TS"),
                Curve("DRBQO", "Logistic", drbqo_name(1.0), EXPECTATIONS[by(1.0)].name),
            ),
        ),
        Panel(
            title="(b) DRBQO by rho",
            metric=EXPECTATIONS[by(None)],
            marks=MARKS,
            curves=tuple(
                Curve(f"rho = {rho:g}", "Logistic", drbqo_name(rho), EXPECTATIONS[by(rho)].name) for rho in RADII
            ),
        ),
    ),
    claims=ahead(["(a) DRBQO and baselines"], ["BQO-EI", "BQO-TS"], ["DRBQO"], 'Sec. 6: "achieve higher values"'),
    notes="The paper does not print the rho of panel (a): 1 here.",
)

# The paper shows one set of ten samples, for which the largest empirical expectation is -0.59; this seed's is nearest of
# the first hundred. At the true optimum, x = 0, it is -0.69, whatever the samples.
ONE_SET = 71
STANDARD = ("BQO-EI", "BQO-TS", "BQO-UCB")
TRUE_VALUE, DISTANCE = (
    {
        report: Metric(f"{name} by {report}", label, at_reports(function, report), lower=lower)
        for report in (by(None), by(1.0))
    }
    for name, label, function, lower in (
        ("true expectation", "true expectation at the report", expected_logistic, False),
        ("distance", "distance of the report from the true optimum", _from_origin, True),
    )
)


def _column(axis: int) -> Callable[[Tensor], Tensor]:
    return lambda x: x[..., axis]


# Where the reported decision lies: for the picture.
PLACES = tuple(
    Metric(f"x{axis + 1} by {report}", f"x{axis + 1}", at_reports(_column(axis), report))
    for report in (by(None), by(1.0))
    for axis in range(2)
)
FIGURE_1 = replace(
    FIGURE_3,
    name="nguyen2020-fig1",
    source="Nguyen2020, Fig. 1",
    shows="Where the reported decisions go on one set of ten samples: to the optimum of their average, or to the true one.",
    world="nguyen2020-fig1",
    cases=(ONE_SET_CASE,),
    methods={
        **BASELINES,
        "BQO-UCB": lambda problem: papers.bqo_ucb(told(problem)),
        drbqo_name(1.0): drbqo(1.0),
    },
    metrics=(
        *(EXPECTATIONS[report] for report in (by(None), by(1.0))),
        *TRUE_VALUE.values(),
        *DISTANCE.values(),
        *PLACES,
    ),
    reports={by(None): Expected(), by(1.0): robust(1.0)},
    panels=tuple(
        Panel(
            title=title,
            metric=metric[by(None)],
            marks=MARKS,
            curves=(
                *(Curve(name, ONE_SET_CASE.name, name) for name in STANDARD),
                Curve("DRBQO", ONE_SET_CASE.name, drbqo_name(1.0), metric[by(1.0)].name),
            ),
        )
        for title, metric in (
            ("(a) true expectation", TRUE_VALUE),
            ("(b) average over the samples", EXPECTATIONS),
            ("trajectories", DISTANCE),
        )
    ),
    claims=(
        *ahead(["(a) true expectation"], ["DRBQO"], STANDARD),
        *ahead(
            ["(b) average over the samples"],
            STANDARD[:2],
            ["DRBQO"],
            'Sec. 3: "converges to the optimum of the spurious expected objective"',
        ),
    ),
    notes="One set of samples for all repeats, as in the paper, whose set is not printed: the one of a hundred whose "
    "largest average is nearest to the paper's -0.59. The paper shows one standard baseline and does not say which; BQO-UCB "
    "is GP-UCB by Eqs. 5 and 6, which it names and does not run. rho is not printed: 1 here.",
    quick=Quick(2, 24, methods=("BQO-TS", "DRBQO 1")),
)

RANDOM_W: dict[str, Method] = {
    "BQO-EI": BASELINES["BQO-EI"],
    "BQO-TS": BASELINES["BQO-TS"],
    "BQO-EI-RandW": lambda problem: papers.bqo_ei_rand_w(told(problem)),
    "BQO-TS-RandW": lambda problem: papers.bqo_ts_rand_w(told(problem)),
    "DRBQO 1": drbqo(1.0),
    "DRBQO-RandW 1": lambda problem: papers.drbqo_rand_w(told(problem), 1.0),
}
HURT = 'Sec. 6: "can hurt the convergence"'
FIGURE_5 = replace(
    FIGURE_3,
    name="nguyen2020-fig5",
    source="Nguyen2020, Fig. 5",
    shows="The most uncertain context against a random one: BQO by the empirical expectation, DRBQO by its rho-regret.",
    methods=RANDOM_W,
    panels=(
        Panel(
            title="(a) BQO",
            metric=EXPECTATIONS[by(None)],
            marks=MARKS,
            curves=tuple(Curve(name, "Logistic", name) for name in tuple(RANDOM_W)[:4]),
        ),
        Panel(
            title="(b) DRBQO",
            metric=REGRETS[1.0, by(1.0)],
            marks=MARKS,
            curves=(Curve("DRBQO", "Logistic", "DRBQO 1"), Curve("DRBQO-RandW", "Logistic", "DRBQO-RandW 1")),
        ),
    ),
    claims=(
        Claim("(a) BQO", "BQO-EI", "BQO-EI-RandW", said=HURT),
        Claim("(a) BQO", "BQO-TS", "BQO-TS-RandW", said=HURT),
        Claim("(b) DRBQO", "DRBQO", "DRBQO-RandW", said=HURT),
    ),
    notes="The paper does not print the rho of panel (b): 1 here.",
    quick=Quick(2, 24, methods=("BQO-TS", "BQO-TS-RandW", "DRBQO 1", "DRBQO-RandW 1")),
)

# App. C has x in the unit cube and f(x + w): w is added in the function's own units, or there. Hartmann's are the same.
UNIT = ", w in the unit cube"
SHIFTED = tuple(
    Case(name=name, problem=problem)
    for name, problem in {
        "Beale": "beale",
        "Eggholder": "eggholder",
        "Hartmann": "hartmann-6",
        "Levy": "levy",
        f"Beale{UNIT}": "beale-unit",
        f"Eggholder{UNIT}": "eggholder-unit",
        f"Levy{UNIT}": "levy-unit",
    }.items()
)
EGGS = ("Eggholder", f"Eggholder{UNIT}")
SHIFTED_REPORTS = {by(None): Expected(), by(1.0): robust(1.0)}
VALUES = {
    report: Metric(f"robust value by {report}", "robust value", reported(robust_goal(1.0), report), lower=False)
    for report in SHIFTED_REPORTS
}
FIGURE_6 = Experiment(
    name="nguyen2020-fig6",
    source="Nguyen2020, Fig. 6",
    shows="Robust value (rho = 1) at the reported decisions on functions of x + w, ten given samples of w.",
    cases=SHIFTED,
    methods={**BASELINES, "DRBQO 1": drbqo(1.0)},
    seeds=tuple(range(30)),
    hyperparameters=HYPERPARAMETERS,
    rounds=112,
    metrics=tuple(VALUES.values()),
    reports=SHIFTED_REPORTS,
    panels=tuple(
        Panel(
            title=case.name,
            metric=VALUES[by(1.0)],
            marks=MARKS,
            curves=(
                Curve("BQO-EI", case.name, "BQO-EI", VALUES[by(None)].name),
                Curve("BQO-TS", case.name, "BQO-TS", VALUES[by(None)].name),
                Curve("Maximin-BQO-EI", case.name, "BQO-EI"),
                Curve("Maximin-BQO-TS", case.name, "BQO-TS"),
                Curve("DRBQO", case.name, "DRBQO 1"),
            ),
        )
        for case in SHIFTED
    ),
    claims=(
        *ahead(
            ["Beale", "Hartmann", "Levy", f"Beale{UNIT}", f"Levy{UNIT}"],
            ["DRBQO"],
            ["BQO-EI", "BQO-TS", "Maximin-BQO-EI", "Maximin-BQO-TS"],
            'App. C: "higher rho-robust values"',
        ),
        *ahead(EGGS, ["DRBQO"], ["BQO-TS", "Maximin-BQO-TS"], 'App. C: "outperforms the other algorithms"'),
        *level(EGGS, "DRBQO", "BQO-EI", 'App. C: "compatible with BQO-EI"'),
    ),
    notes="The paper writes f(x + w) with x in the unit cube. Both readings are shown: w added in the function's own units, "
    "and w added in the unit cube, where one deviation is as wide as the whole range. For Hartmann they are the same.",
    quick=Quick(2, 24, cases=("Beale", "Levy")),
)


EXPERIMENTS = (FIGURE_1, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6)
