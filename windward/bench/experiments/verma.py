"""Verma2022: results that come late; censored methods against those that ignore or imagine what has not arrived.

Settings of Sec. 6 and App. C: delays Poisson(10) with patience m = 20, or fixed at 10 asks with m = 10 (batches of eleven),
worst value 0, 5 initial points that are delayed too and 100 queries after them, nu_t the sum of m deviations with beta_t = B_y
= 1, 10 repeats; regret and error are those of the best value *received*. Hyper-parameters have no priors and the amplitude is
fitted, as the paper's marginal likelihood says; they are learnt from what has arrived. Contextual problems: Poisson(3),
m = 6, the context known before the decision, the sum of regrets. As in the paper a value of delay d is known at the d-th ask
after its own, decisions may repeat, and what comes after the patience is not received. Deviations: hyper-parameters are
searched when the observations have grown by a twentieth (the paper: every ten rounds); the design lasts until a first value
arrives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch

from windward import papers
from windward.beliefs.beliefs import UpperConfidence
from windward.bench.experiment import Case, Claim, Curve, Experiment, Method, Panel, Published, Quick
from windward.bench.experiments.parts import ahead
from windward.bench.metrics import CONTEXTUAL_REGRET, RECEIVED_ERROR, RECEIVED_REGRET, Metric
from windward.bench.problem import Problem
from windward.bench.problems import Fixed, Poisson
from windward.contexts import Empirical
from windward.feedback import Ignore
from windward.papers.settings import TEXTBOOK
from windward.policy import Policy
from windward.search.design import Sobol
from windward.search.multistart import MultiStart

MEAN, PATIENCE = 10, 20
UCB = ("GP-UCB", "GP-BUCB", "GP-UCB-SDF")
THOMPSON = ("asy-TS", "GP-BTS", "GP-TS-SDF")
SEEDS = tuple(range(10))
INITIAL, QUERIES = 5, (20, 30, 50, 100)
ROUNDS, MARKS = INITIAL + QUERIES[-1], tuple(INITIAL + queries for queries in QUERIES)
HYPERPARAMETERS = (
    "length-scales, amplitude and noise of most marginal likelihood, without priors; a length-scale is a third of the usual "
    "gap between neighbouring values at least. The paper does not say from which values: here from those that have arrived, "
    "not from those that count as the worst. They are searched when the observations have grown by 5 %; the paper: every ten "
    "rounds."
)
OTHERWISE = "Otherwise than in the paper the design lasts until a first value arrives, longer than its five points."


@dataclass(frozen=True)
class Sooner:
    """One ask sooner: the bench tells a value of delay d after the d-th ask from its own, the paper before it."""

    delay: Poisson | Fixed

    def __call__(self, generator: torch.Generator) -> int:
        return max(0, self.delay(generator) - 1)


def repeating(method: Method) -> Method:
    """Return the method without Windward's least distance from pending decisions: the paper has none."""

    def made(problem: Problem) -> Policy:
        policy = method(problem)
        return replace(policy, maximize=MultiStart(apart=0.0))

    return made


def ignoring(problem: Problem) -> Policy:
    """Return GP-UCB on what has arrived, of width 1."""
    return Policy(
        context_model=Empirical(),
        belief=UpperConfidence(1.0),
        feedback=Ignore(),
        design=Sobol(INITIAL),
        surrogate=TEXTBOOK,
    )


def patience_of(problem: Problem, patience: int) -> int:
    """Return m: where delays are fixed, what one batch leaves pending; elsewhere `patience`."""
    delay = problem.delay.delay if isinstance(problem.delay, Sooner) else None
    return delay.rounds if isinstance(delay, Fixed) else patience


def censored_ucb(problem: Problem, m: int) -> Policy:
    """Return GP-UCB-SDF with m in the paper's count: our patience is one less, see `Sooner`, and nu_t sums m terms."""
    return papers.gp_ucb_sdf(0.0, m - 1, terms=m, learn_from="arrived", surrogate=TEXTBOOK)


def censored_ts(problem: Problem, m: int) -> Policy:
    """Return GP-TS-SDF in the same way."""
    return papers.gp_ts_sdf(0.0, m - 1, terms=m, learn_from="arrived", surrogate=TEXTBOOK)


def methods(patience: int) -> dict[str, Method]:
    """Return the six methods, with the patience of the censored ones under random delays."""
    published: dict[str, Method] = {
        "GP-UCB": ignoring,
        "GP-BUCB": lambda problem: papers.gp_bucb(surrogate=TEXTBOOK),
        "GP-UCB-SDF": lambda problem: censored_ucb(problem, patience_of(problem, patience)),
        "asy-TS": lambda problem: papers.asy_ts(surrogate=TEXTBOOK),
        "GP-BTS": lambda problem: papers.gp_bts(surrogate=TEXTBOOK),
        "GP-TS-SDF": lambda problem: censored_ts(problem, patience_of(problem, patience)),
    }
    return {name: repeating(method) for name, method in published.items()}


def compared(title: str, case: str, names: Iterable[str], metric: Metric, marks: tuple[int, ...] = MARKS) -> Panel:
    """Return a panel of methods on one case."""
    return Panel(title=title, metric=metric, marks=marks, curves=tuple(Curve(name, case, name) for name in names))


def pairs(title: str, names: tuple[str, ...], said: str = "") -> tuple[Claim, ...]:
    """Return the claim that the last of the methods, the censored one, is ahead of the others."""
    return ahead([title], [names[-1]], names[:-1], said)


DELAYS = {"Poisson(10)": Sooner(Poisson(MEAN)), "fixed 10": Sooner(Fixed(MEAN))}

LARGER, SMALLER = 'Sec. 6.1: "larger delays"', 'Sec. 6.1: "achieves smaller simple regret"'
TUNED = 'Sec. 6.2: "consistently outperform the corresponding baselines"'
LATER = 'Sec. 6.3: "smaller regrets than the other baselines"'
PATIENCES = (5, 10, 20, 40)
SYNTHETIC = "gp-1"


def _patient(patience: int) -> Method:
    return repeating(lambda problem: censored_ucb(problem, patience))


FIGURE_1_METHODS = {**methods(PATIENCE), **{f"GP-UCB-SDF m={m}": _patient(m) for m in (5, 10, 40)}}
COMPARED = (*UCB, *THOMPSON)
LATE = (
    Case(
        name="Poisson(10)",
        problem=SYNTHETIC,
        delay=DELAYS["Poisson(10)"],
        methods=(*COMPARED, "GP-UCB-SDF m=5", "GP-UCB-SDF m=10", "GP-UCB-SDF m=40"),
    ),
    Case(name="fixed 10", problem=SYNTHETIC, delay=DELAYS["fixed 10"], methods=COMPARED),
    Case(name="Poisson(5)", problem=SYNTHETIC, delay=Sooner(Poisson(5)), methods=("GP-UCB-SDF m=10",)),
    Case(name="Poisson(20)", problem=SYNTHETIC, delay=Sooner(Poisson(20)), methods=("GP-UCB-SDF m=40",)),
)
FIGURE_1 = Experiment(
    name="verma2022-fig1",
    source="Verma2022, Fig. 1",
    shows="Simple regret of received values on a draw of a Gaussian process: by delay, by patience, against baselines.",
    world="verma2022-synthetic",
    cases=tuple(
        replace(case, methods=tuple(name for name in case.methods or () if name not in THOMPSON)) for case in LATE
    ),
    methods=FIGURE_1_METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=ROUNDS,
    metrics=(RECEIVED_REGRET,),
    panels=(
        Panel(
            title="(a) by delay, m twice its mean",
            metric=RECEIVED_REGRET,
            marks=MARKS,
            curves=(
                Curve("mean 5", "Poisson(5)", "GP-UCB-SDF m=10"),
                Curve("mean 10", "Poisson(10)", "GP-UCB-SDF"),
                Curve("mean 20", "Poisson(20)", "GP-UCB-SDF m=40"),
            ),
        ),
        Panel(
            title="(b) by patience, Poisson(10)",
            metric=RECEIVED_REGRET,
            marks=MARKS,
            curves=tuple(
                Curve(f"m = {m}", "Poisson(10)", "GP-UCB-SDF" if m == PATIENCE else f"GP-UCB-SDF m={m}")
                for m in PATIENCES
            ),
        ),
        compared("(c) Poisson(10)", "Poisson(10)", UCB, RECEIVED_REGRET),
        compared("(d) fixed 10", "fixed 10", UCB, RECEIVED_REGRET),
    ),
    claims=(
        Claim("(a) by delay, m twice its mean", "mean 5", "mean 10", said=LARGER),
        Claim("(a) by delay, m twice its mean", "mean 10", "mean 20", said=LARGER),
        Claim("(b) by patience, Poisson(10)", "m = 20", "m = 5"),  # "overly small", Sec. 6.1, has no number
        Claim("(b) by patience, Poisson(10)", "m = 20", "m = 40", "level", 'Sec. 6.1: "comparable performances"'),
        *pairs("(c) Poisson(10)", UCB, SMALLER),
        *pairs("(d) fixed 10", UCB, SMALLER),
    ),
    notes="The means of (a) and the patiences of (b) are read from the text as far as it names them (m = 20 and 40). "
    + OTHERWISE,
    quick=Quick(2, 40),
)
FIGURE_5 = replace(
    FIGURE_1,
    name="verma2022-fig5",
    source="Verma2022, Fig. 5",
    shows="Simple regret of received values on a draw of a Gaussian process: Thompson sampling.",
    cases=tuple(replace(case, methods=THOMPSON) for case in LATE[:2]),
    panels=(
        compared("(a) Poisson(10)", "Poisson(10)", THOMPSON, RECEIVED_REGRET),
        compared("(b) fixed 10", "fixed 10", THOMPSON, RECEIVED_REGRET),
    ),
    claims=(*pairs("(a) Poisson(10)", THOMPSON), *pairs("(b) fixed 10", THOMPSON)),
    notes=OTHERWISE,
    quick=Quick(2, 40),
)

# Validation error of the SVM in percent at 20, 30, 50 and 100 queries, as the authors recorded it (mean of 10).
SVM_RECORDED = {
    "Poisson(10)": {
        "GP-UCB-SDF": (31.5, 27.1, 24.8, 24.3),
        "GP-UCB": (34.9, 33.1, 29.2, 29.0),
        "GP-BUCB": (32.9, 28.8, 27.8, 26.7),
        "GP-TS-SDF": (26.1, 23.8, 23.6, 23.3),
        "asy-TS": (30.6, 26.1, 24.9, 24.2),
        "GP-BTS": (29.7, 25.3, 23.8, 23.2),
    },
    "fixed 10": {
        "GP-UCB-SDF": (32.9, 27.4, 24.1, 23.6),
        "GP-UCB": (35.1, 33.4, 30.7, 28.5),
        "GP-BUCB": (35.0, 32.0, 28.0, 27.8),
        "GP-TS-SDF": (29.6, 27.3, 23.6, 23.3),
        "asy-TS": (31.5, 26.8, 25.6, 23.2),
        "GP-BTS": (33.9, 25.4, 24.1, 23.9),
    },
}


def tuning_cases(model: str, problem: str, instead: str = "") -> tuple[Case, ...]:
    """Return a model's tuning under both delays; `instead` names data that stand in for the paper's."""
    return tuple(
        Case(name=f"{model} {name}", problem=problem, delay=delay, instead=instead) for name, delay in DELAYS.items()
    )


def tuning_panels(model: str) -> tuple[Panel, ...]:
    """Return four panels: the UCB methods and the Thompson methods, each under both delays."""
    return tuple(
        compared(f"{model}, {kind}, {delay}", f"{model} {delay}", names, RECEIVED_ERROR)
        for kind, names in (("UCB", UCB), ("TS", THOMPSON))
        for delay in DELAYS
    )


def tuning_claims(model: str) -> tuple[Claim, ...]:
    """Return the claims that the censored methods are ahead."""
    return tuple(
        claim
        for kind, names in (("UCB", UCB), ("TS", THOMPSON))
        for delay in DELAYS
        for claim in pairs(f"{model}, {kind}, {delay}", names, TUNED)
    )


FIGURE_2 = Experiment(
    name="verma2022-fig2",
    source="Verma2022, Fig. 2",
    shows="Validation error of the best result received: tuning an SVM (diabetes) and a CNN (digits for MNIST).",
    cases=(*tuning_cases("SVM", "svm-diabetes"), *tuning_cases("CNN", "cnn-digits", "digits for MNIST")),
    methods=methods(PATIENCE),
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=ROUNDS,
    metrics=(RECEIVED_ERROR,),
    panels=(*tuning_panels("SVM"), *tuning_panels("CNN")),
    claims=(*tuning_claims("SVM"), *tuning_claims("CNN")),
    published=tuple(
        Published(f"SVM, {kind}, {delay}", name, dict(zip(MARKS, SVM_RECORDED[delay][name], strict=True)))
        for kind, names in (("UCB", UCB), ("TS", THOMPSON))
        for delay in DELAYS
        for name in names
    ),
    notes=f"Published numbers are the authors' recorded runs; the paper prints curves alone. {OTHERWISE}",
    quick=Quick(2, 30, cases=("SVM Poisson(10)",)),
)
FIGURE_3 = Experiment(
    name="verma2022-fig3",
    source="Verma2022, Fig. 3",
    shows="Validation error of the best result received: tuning logistic regression (breast cancer).",
    cases=tuning_cases("LR", "lr-breast-cancer"),
    methods=methods(PATIENCE),
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=ROUNDS,
    metrics=(RECEIVED_ERROR,),
    panels=tuning_panels("LR"),
    claims=tuning_claims("LR"),
    notes=OTHERWISE,
    quick=Quick(2, 30, cases=("LR Poisson(10)",)),
)

CONTEXTUAL = (
    Case(name="Multi-task", problem="svm-tables", delay=Sooner(Poisson(3)), rounds=1500),
    Case(name="Non-stationary", problem="nonstationary-svm", delay=Sooner(Poisson(3)), rounds=600),
)
FIGURE_4 = Experiment(
    name="verma2022-fig4",
    source="Verma2022, Fig. 4",
    shows="Cumulative regret where the context is known before the decision: 50 tasks in turn, a data set that grows.",
    cases=CONTEXTUAL,
    methods=methods(6),
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=1500,
    metrics=(CONTEXTUAL_REGRET,),
    panels=tuple(
        compared(f"{case.name}, {kind}", case.name, names, CONTEXTUAL_REGRET, (150, 300, 600, case.rounds or 1500))
        for case in CONTEXTUAL
        for kind, names in (("UCB", UCB), ("TS", THOMPSON))
    ),
    claims=tuple(
        claim
        for case in CONTEXTUAL
        for kind, names in (("UCB", UCB), ("TS", THOMPSON))
        for claim in pairs(f"{case.name}, {kind}", names, LATER)
    ),
    notes=OTHERWISE,
    quick=Quick(2, 60, cases=("Multi-task",), methods=("GP-UCB", "GP-UCB-SDF", "GP-TS-SDF")),
)

EXPERIMENTS = (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5)
