"""Nguyen2020: DRBQO and its baselines where n samples of the context are given and the simulator's context is chosen.

Settings of Sec. 6 and App. C: 12 initial points (cross-validation: fewer), n = 10 or 5 samples or folds, rho of the chi-square
ball, 30 repeats (Table 1: 20). Report points differ from sampled points: after each round one of the evaluated decisions is
reported by the empirical expectation or by its robust value. BQO and Maximin-BQO sample alike and report differently, as
do DRBQO and Emp-DRBQO: each pair is one run with both reports.
"""

from __future__ import annotations

import math
from dataclasses import replace

from windward import papers
from windward.bench.experiment import Case, Claim, Curve, Experiment, Method, Panel, Published, Quick
from windward.bench.experiments.parts import ahead, told
from windward.bench.metrics import Goal, Metric, best_reported, error_on_test, reported
from windward.bench.problem import Problem
from windward.divergences import ChiSquare
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.objectives.robust import Robust
from windward.policy import Policy
from windward.search.design import Sobol

RADII = (0.1, 0.3, 0.5, 1.0, 3.0)
EXPECTATION = Goal(over="reference")
CROSS_VALIDATED_RADII = (0.1, 0.3, 0.5, 1.0, 3.0, 5.0)


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


def _drbqo(rho: float) -> Method:
    return lambda problem: papers.drbqo(told(problem), rho)


BASELINES: dict[str, Method] = {
    "BQO-EI": lambda problem: papers.bqo_ei(told(problem)),
    "BQO-TS": lambda problem: papers.bqo_ts(told(problem)),
}
METHODS: dict[str, Method] = {**BASELINES, **{drbqo_name(rho): _drbqo(rho) for rho in RADII}}
LOGISTIC = Case(name="Logistic", problem="logistic")
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

RANDOM_W: dict[str, Method] = {
    "BQO-EI": BASELINES["BQO-EI"],
    "BQO-TS": BASELINES["BQO-TS"],
    "BQO-EI-RandW": lambda problem: papers.bqo_ei_rand_w(told(problem)),
    "BQO-TS-RandW": lambda problem: papers.bqo_ts_rand_w(told(problem)),
    "DRBQO 1": _drbqo(1.0),
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

SHIFTED = tuple(
    Case(name=name, problem=problem)
    for name, problem in {"Beale": "beale", "Eggholder": "eggholder", "Hartmann": "hartmann-6", "Levy": "levy"}.items()
)
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
    methods={**BASELINES, "DRBQO 1": _drbqo(1.0)},
    seeds=tuple(range(30)),
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
            ["Beale", "Hartmann", "Levy"],
            ["DRBQO"],
            ["BQO-EI", "BQO-TS", "Maximin-BQO-EI", "Maximin-BQO-TS"],
            'App. C: "higher rho-robust values"',
        ),
        *ahead(["Eggholder"], ["DRBQO"], ["BQO-TS", "Maximin-BQO-TS"], 'App. C: "outperforms the other algorithms"'),
        Claim("Eggholder", "DRBQO", "BQO-EI", "level", 'App. C: "compatible with BQO-EI"'),
    ),
    quick=Quick(2, 24, cases=("Beale", "Levy")),
)


def started(method: Method) -> Method:
    """Return the method with the initial points of the cross-validation: three for each decision."""

    def policy(problem: Problem) -> Policy:
        return replace(method(problem), design=Sobol(3 * len(problem.space.decision)))

    return policy


FOLDS: dict[str, Method] = {"MTBO": lambda problem: papers.mtbo(told(problem)), **BASELINES}
FOLD_REPORTS: dict[str, Objective] = {by(None): Expected(), **{by(rho): robust(rho) for rho in CROSS_VALIDATED_RADII}}
ROUND_ERRORS = {r: Metric(f"test error by {r}", "test error, %", error_on_test(r)) for r in FOLD_REPORTS}
FINAL_ERRORS = {r: Metric(f"test error by {r}", "test error, %", error_on_test(r, last=True)) for r in FOLD_REPORTS}
SVM_CASES = (Case(name="Glass", problem="svm-glass"), Case(name="Sonar", problem="svm-sonar"))
FIGURE_7 = Experiment(
    name="nguyen2020-fig7",
    source="Nguyen2020, Fig. 7",
    shows="Test error of an SVM tuned by five-fold cross-validation (the paper plots accuracy).",
    cases=SVM_CASES,
    methods={name: started(method) for name, method in {**FOLDS, "DRBQO 1": _drbqo(1.0)}.items()},
    seeds=tuple(range(30)),
    rounds=66,
    metrics=(ROUND_ERRORS[by(None)], ROUND_ERRORS[by(1.0)]),
    reports={by(None): Expected(), by(1.0): robust(1.0)},
    panels=tuple(
        Panel(
            title=case.name,
            metric=ROUND_ERRORS[by(None)],
            marks=(20, 40, 66),
            curves=(
                *(Curve(name, case.name, name) for name in FOLDS),
                Curve("DRBQO", case.name, "DRBQO 1", ROUND_ERRORS[by(1.0)].name),
            ),
        )
        for case in SVM_CASES
    ),
    claims=ahead(
        [case.name for case in SVM_CASES], ["DRBQO"], list(FOLDS), 'App. C: "DRBQO outperforms the baselines"'
    ),
    notes="The paper prints neither rho nor the number of rounds: rho = 1, 6 initial points and 60 rounds here.",
    quick=Quick(2, 12),
)

TABLE_CASES = (
    Case(name="ElasticNet", problem="elastic-net-digits", rounds=66),
    Case(name="CNN", problem="cnn-cv-digits", rounds=99),
)
TABLE_METHODS = {**FOLDS, **{drbqo_name(rho): _drbqo(rho) for rho in CROSS_VALIDATED_RADII}}
# Mean and standard deviation (Sec. 6) of 20 repeats.
PUBLISHED_ERRORS = {
    "MTBO": ((8.576, 0.080), (1.712, 0.263)),
    "BQO-EI": ((9.166, 0.433), (1.634, 0.157)),
    "BQO-TS": ((8.625, 0.116), (1.820, 0.227)),
    "DRBQO 0.1": ((8.450, 0.022), (1.968, 0.310)),
    "DRBQO 0.3": ((8.505, 0.082), (1.495, 0.106)),
    "DRBQO 0.5": ((8.515, 0.075), (1.869, 0.232)),
    "DRBQO 1": ((8.526, 0.065), (1.444, 0.071)),
    "DRBQO 3": ((8.387, 0.013), (1.374, 0.066)),
    "DRBQO 5": ((8.380, 0.022), (1.321, 0.061)),
}
TABLE_1 = Experiment(
    name="nguyen2020-table1",
    source="Nguyen2020, Table 1",
    shows="Test error of models tuned by ten-fold cross-validation, at the decision reported last.",
    cases=TABLE_CASES,
    methods={name: started(method) for name, method in TABLE_METHODS.items()},
    seeds=tuple(range(20)),
    rounds=66,
    metrics=tuple(FINAL_ERRORS.values()),
    reports=FOLD_REPORTS,
    panels=tuple(
        Panel(
            title=case.name,
            metric=FINAL_ERRORS[by(None)],
            marks=(case.rounds or 66,),
            curves=(
                *(Curve(name, case.name, name) for name in FOLDS),
                *(
                    Curve(drbqo_name(rho), case.name, drbqo_name(rho), FINAL_ERRORS[by(rho)].name)
                    for rho in CROSS_VALIDATED_RADII
                ),
            ),
        )
        for case in TABLE_CASES
    ),
    claims=ahead(
        ["ElasticNet", "CNN"],
        ["DRBQO 1", "DRBQO 3", "DRBQO 5"],
        list(FOLDS),
        'Sec. 6: "especially for large values of rho"',
    ),
    published=tuple(
        Published(
            case.name,
            name,
            {case.rounds or 66: values[place][0]},
            same_data=False,
            errors={case.rounds or 66: values[place][1] / math.sqrt(20)},
        )
        for name, values in PUBLISHED_ERRORS.items()
        for place, case in enumerate(TABLE_CASES)
    ),
    notes="Digits in place of MNIST: the published numbers are for other data.",
    quick=Quick(2, 10, cases=("ElasticNet",), methods=("MTBO", "BQO-TS", "DRBQO 1")),
)

EXPERIMENTS = (FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, TABLE_1)
