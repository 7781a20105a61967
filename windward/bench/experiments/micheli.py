"""Micheli2025: WDRBO and ERBO with a wrong centre, and against six others where the distribution is learnt.

Settings of Sec. 5 and 9: 10 initial decisions, 100 iterations, 15 seeds, beta_t = 1.5, contexts of standard deviation 0.2.
WDRBO-exact is not in the paper: the Wasserstein worst case by its dual in place of the Lipschitz bound.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from windward import papers
from windward.bench.experiment import Case, Curve, Experiment, Method, Panel, Published, Quick, panel_per_case
from windward.bench.experiments.huang import CURVES, MMD
from windward.bench.experiments.parts import WITH_PRIORS, ahead, level, thinned, told
from windward.bench.metrics import CUMULATIVE_REGRET, REGRET, SECONDS, Metric
from windward.bench.problem import Problem
from windward.bench.problems import problem
from windward.policy import Policy

SEEDS = tuple(range(15))
HYPERPARAMETERS = f"{WITH_PRIORS}. The paper: the same priors, at every step."
MARKS = (25, 50, 75, 100)
# The radius of the general setting, and the points over which the Lipschitz constant is taken (Sec. 5).
RADIUS, ELSEWHERE = 0.1, 100
FEWER = "The density estimate has 128 even points for the paper's 512 draws."
OURS = "WDRBO-exact is not in the paper: the Wasserstein worst case by its dual, in place of the Lipschitz bound."


def _centred(policy: Policy, problem: Problem, elsewhere: int) -> Policy:
    return replace(policy, context_model=told(problem, elsewhere))


FIGURE_1_METHODS: dict[str, Method] = {
    "WDRBO": lambda problem: _centred(papers.wdrbo(radius=RADIUS), problem, ELSEWHERE),
    "ERBO": lambda problem: _centred(papers.erbo(), problem, 0),
    "WDRBO-exact": lambda problem: _centred(papers.wdrbo_exact(radius=RADIUS), problem, ELSEWHERE),
}
AT_ASKS_METHODS: dict[str, Method] = {
    "WDRBO at asks": lambda problem: papers.wdrbo(),
    "ERBO at asks": lambda problem: papers.erbo(),
}
GENERAL = Case(name="General setting", problem="micheli-general")


def told_at_asks(seed: int, data: Path | None) -> Problem:
    """Return the general setting with the centre and the radius told anew at each ask, not fixed in the policy."""
    found = problem("micheli-general", seed=seed, data=data)
    assert found.reference is not None
    centre = thinned(found.reference)
    return replace(found, foretold=lambda turn: (centre, RADIUS))


# Its learners have no centre and no radius of their own, but for WDRBO's, which the ask's replaces.
AT_ASKS = Case(
    name="General setting, told at each ask", problem=told_at_asks, methods=("WDRBO at asks", "ERBO at asks")
)
FIGURE_1 = Experiment(
    name="micheli2025-fig1",
    source="Micheli2025, Fig. 1",
    shows="Cumulative expected regret where the learner's distribution is fixed and wrong: N(0.5, 0.1) for N(0.6, 0.2).",
    cases=(replace(GENERAL, methods=tuple(FIGURE_1_METHODS)), AT_ASKS),
    methods={**FIGURE_1_METHODS, **AT_ASKS_METHODS},
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(CUMULATIVE_REGRET, REGRET),
    panels=(
        *panel_per_case([GENERAL], FIGURE_1_METHODS, CUMULATIVE_REGRET, MARKS),
        Panel(
            title=AT_ASKS.name,
            metric=CUMULATIVE_REGRET,
            marks=MARKS,
            curves=(Curve("WDRBO", AT_ASKS.name, "WDRBO at asks"), Curve("ERBO", AT_ASKS.name, "ERBO at asks")),
        ),
    ),
    claims=(
        *ahead(["General setting"], ["WDRBO"], ["ERBO"], 'Sec. 5: "a lower cumulative regret than ERBO"'),
        *ahead([AT_ASKS.name], ["WDRBO"], ["ERBO"]),
    ),
    notes=f"The paper does not print the domain of x: [-1, 1] here. {OURS} In the second panel centre and radius come with "
    "each ask, as in the paper's Algorithm 1, by `ask(context=Forecast(...), radius=...)`. A forecast is judged by what "
    "comes and is corrected from the fifth on, so that a centre that is wrong does not stay wrong, as the paper's does.",
    quick=Quick(3, 30),
)

METHODS: dict[str, Method] = {
    "WDRBO": lambda problem: papers.wdrbo(),
    "ERBO": lambda problem: papers.erbo(),
    "GP-UCB": lambda problem: papers.gp_ucb(),
    "SBO-KDE": lambda problem: papers.sbo_kde(),
    "DRBO-KDE": lambda problem: papers.drbo_kde(),
    "WDRBO-exact": lambda problem: papers.wdrbo_exact(),
}
MORE_METHODS: dict[str, Method] = {
    **METHODS,
    **MMD,
    "StableOpt": lambda problem: papers.stable_opt(),
}
CASES = tuple(
    Case(name=name, problem=problem)
    for name, problem in {
        "Ackley": "ackley-2-1-wide",
        "Modified Branin": "branin-2-2-wide",
        "Hartmann": "hartmann-5-1-wide",
        "Three-Humps Camel": "three-humps",
        "Newsvendor": "newsvendor",
        "Portfolio (normal)": "portfolio-normal-wide",
        "Portfolio (uniform)": "portfolio-uniform",
    }.items()
)
NAMES = tuple(case.name for case in CASES)
# What the papers call DRBO-MMD has the fitted process's kernel, see Huang2024.
LABELS = {method: label for label, method in CURVES.items()}
BEST = ("WDRBO", "ERBO", "SBO-KDE")
LEFT_OUT = ("DRBO-MMD", "DRBO-MMD-Minimax", "StableOpt")
WORLD = "micheli2025"
QUICK = Quick(2, 25, cases=("Three-Humps Camel", "Newsvendor"), methods=("WDRBO", "ERBO", "StableOpt", "GP-UCB"))


def _all_methods(metric: Metric) -> tuple[Panel, ...]:
    """Return a panel of all methods for each problem, by the page's names of them."""
    return tuple(
        replace(
            panel, curves=tuple(replace(curve, label=LABELS.get(curve.label, curve.label)) for curve in panel.curves)
        )
        for panel in panel_per_case(CASES, MORE_METHODS, metric, MARKS)
    )


FIGURE_2 = Experiment(
    name="micheli2025-fig2",
    source="Micheli2025, Fig. 2",
    shows="Cumulative expected regret where the distribution is learnt from the contexts seen.",
    world=WORLD,
    cases=CASES,
    methods=METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(CUMULATIVE_REGRET, REGRET),
    panels=panel_per_case(CASES, METHODS, CUMULATIVE_REGRET, MARKS),
    claims=(
        *level(NAMES, "WDRBO", "ERBO"),
        *level(NAMES, "WDRBO", "SBO-KDE"),
        *level(NAMES, "ERBO", "SBO-KDE"),
        *ahead(NAMES, BEST, ["GP-UCB", "DRBO-KDE"]),
    ),
    notes=f"{OURS} {FEWER}",
    quick=Quick(2, 25, cases=("Three-Humps Camel", "Newsvendor"), methods=("WDRBO", "ERBO", "SBO-KDE", "GP-UCB")),
)

FIGURE_3 = Experiment(
    name="micheli2025-fig3",
    source="Micheli2025, Fig. 3",
    shows="Cumulative expected regret of all methods, the robust baselines among them.",
    world=WORLD,
    cases=CASES,
    methods=MORE_METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(CUMULATIVE_REGRET, REGRET),
    panels=_all_methods(CUMULATIVE_REGRET),
    claims=ahead(NAMES, BEST, LEFT_OUT, 'Sec. 5: "not competitive with the other methods"'),
    notes=f"{OURS} {FEWER}",
    quick=QUICK,
)
FIGURE_4 = Experiment(
    name="micheli2025-fig4",
    source="Micheli2025, Fig. 4",
    shows="Instantaneous expected regret of all methods, of the runs whose sums Fig. 3 shows.",
    world=WORLD,
    cases=CASES,
    methods=MORE_METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(CUMULATIVE_REGRET, REGRET),
    panels=_all_methods(REGRET),
    claims=ahead(NAMES, BEST, LEFT_OUT),
    notes=f"{OURS} {FEWER} The paper's sentence about these methods is judged by the sums of Fig. 3.",
    quick=QUICK,
)

TIMED = (Case(name="Ackley", problem="ackley-1-1-wide"), Case(name="Modified Branin", problem="branin-2-2-wide"))
# Mean and standard error.
TIMED_METHODS = {
    LABELS.get(name, name): method for name, method in MORE_METHODS.items() if "length 1" not in LABELS.get(name, name)
}
SECONDS_PUBLISHED = {
    "WDRBO": ((44.3, 2.2), (54.5, 2.6)),
    "ERBO": ((43.8, 1.6), (45.2, 2.5)),
    "GP-UCB": ((15.7, 1.4), (15.1, 1.0)),
    "SBO-KDE": ((46.7, 0.7), (49.7, 1.5)),
    "DRBO-KDE": ((599.7, 33.0), (525.0, 71.7)),
    "DRBO-MMD": ((644.9, 45.6), (131.6, 9.6)),
    "DRBO-MMD-Minimax": ((104.8, 3.9), (21.1, 1.8)),
    "StableOpt": ((77.6, 2.4), (64.7, 4.2)),
}
TABLE_2 = Experiment(
    name="micheli2025-table2",
    source="Micheli2025, Table 2",
    shows="Seconds for 100 evaluations, one thread; the paper's are from an Intel i9-9900K at 3.6 GHz.",
    cases=TIMED,
    methods=TIMED_METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(SECONDS,),
    panels=panel_per_case(TIMED, TIMED_METHODS, SECONDS, (100,)),
    published=tuple(
        Published(case.name, name, {100: seconds[place][0]}, errors={100: seconds[place][1]})
        for name, seconds in SECONDS_PUBLISHED.items()
        for place, case in enumerate(TIMED)
    ),
    notes=f"Ackley with one decision and one context, as the table's caption says. {OURS}",
    timing=True,
    quick=Quick(1, 20, methods=("WDRBO", "ERBO", "GP-UCB", "SBO-KDE", "DRBO-KDE")),
)

EXPERIMENTS = (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, TABLE_2)
