"""Huang2024: SBO-KDE and DRBO-KDE against four others on eight problems, their run times, and how good the density is.

Settings of App. B.1: 10 initial Sobol decisions, regret sums include them, sqrt(beta_t) = 1.5, no noise, seeds 100 to 104.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from windward import papers
from windward.bench import laws
from windward.bench.experiment import (
    Case,
    Claim,
    Curve,
    Experiment,
    Method,
    OwnRun,
    Panel,
    Published,
    Quick,
    panel_per_case,
)
from windward.bench.experiments.parts import WITH_PRIORS, ahead, level
from windward.bench.metrics import CUMULATIVE_REGRET, CUMULATIVE_REWARD, SECONDS, Metric, summed_reward
from windward.bench.play import world_seed
from windward.bench.problems.expectations import complicated
from windward.contexts.density import bandwidths
from windward.space.parameters import Real
from windward.space.space import Space

WORLD = "huang2024"
SEEDS = tuple(range(100, 105))
HYPERPARAMETERS = f"{WITH_PRIORS}. The paper: gamma priors, at every step."
# With the paper's kernel. Its hyper-parameters have BoTorch's log-normal priors; the paper's had gamma priors.
FAST: dict[str, Method] = {
    "SBO-KDE": lambda problem: papers.sbo_kde(kernel="matern52"),
    "DRBO-KDE": lambda problem: papers.drbo_kde(kernel="matern52"),
    "StableOpt": lambda problem: papers.stable_opt(kernel="matern52"),
    "GP-UCB": lambda problem: papers.gp_ucb(kernel="matern52"),
}
# Recorded under these names: with the fitted process's kernel, as the released program has it, and with a fixed one. Both stand
# on a process with a squared-exponential kernel: each of their values is a programme.
MMD: dict[str, Method] = {
    "DRBO-MMD fitted": lambda problem: papers.drbo_mmd(length_scale="fitted"),
    "DRBO-MMD-Minimax fitted": lambda problem: papers.drbo_mmd_minimax(length_scale="fitted"),
    "DRBO-MMD": lambda problem: papers.drbo_mmd(),
    "DRBO-MMD-Minimax": lambda problem: papers.drbo_mmd_minimax(),
}
METHODS = {**FAST, **MMD}
# By the names of the page: what the paper calls DRBO-MMD has the fitted kernel.
CURVES = {
    "SBO-KDE": "SBO-KDE",
    "DRBO-KDE": "DRBO-KDE",
    "DRBO-MMD": "DRBO-MMD fitted",
    "DRBO-MMD-Minimax": "DRBO-MMD-Minimax fitted",
    "StableOpt": "StableOpt",
    "GP-UCB": "GP-UCB",
    "DRBO-MMD (length 1)": "DRBO-MMD",
    "DRBO-MMD-Minimax (length 1)": "DRBO-MMD-Minimax",
}
OTHERS = ("DRBO-MMD", "DRBO-MMD-Minimax", "StableOpt", "GP-UCB")
# The paper prints no number of rounds; Table 2 goes to 300, and so do the fast methods in a figure of their own.
SHOWN, ROUNDS = 100, 300
REGRET_CASES = tuple(
    Case(name=name, problem=problem)
    for name, problem in {
        "Ackley": "ackley-2-1",
        "Modified Branin": "branin-2-2",
        "Hartmann": "hartmann-5-1",
        "Newsvendor": "newsvendor",
        "Portfolio (normal)": "portfolio-normal",
        "Portfolio (uniform)": "portfolio-uniform",
    }.items()
)
COMPLICATED = Case(name="Complicated Hartmann", problem="hartmann-complicated")
ACKLEY_4 = Case(name="Ackley 2+4", problem="ackley-2-4")
CASES = (*REGRET_CASES[:3], COMPLICATED, *REGRET_CASES[3:])
MARKS, LATE_MARKS = (25, 50, 75, SHOWN), (SHOWN, 200, ROUNDS)
METRICS = (CUMULATIVE_REGRET, CUMULATIVE_REWARD)
OURS = ("SBO-KDE", "DRBO-KDE")
SYNTHETIC = ("Ackley", "Modified Branin", "Hartmann", "Complicated Hartmann")
REAL = ("Newsvendor", "Portfolio (normal)", "Portfolio (uniform)")
OTHERWISE = (
    "Otherwise than in the paper: 128 even points of the density estimate for its 1024 draws; log-normal priors of the "
    "hyper-parameters for its gamma priors; the MMD methods stand on a process with a squared-exponential kernel for its "
    "Matern-5/2. Their MMD has the fitted process's kernel, as in the released program. With a fixed length-scale of 1, shown "
    "beside it, the worst case comes close to the least value. Rounds and sums count the 10 initial decisions, as in the paper."
)


def _late(names: Iterable[str]) -> tuple[str, ...]:
    """Return the titles of the panels to the last round."""
    return tuple(f"{name}, {ROUNDS} rounds" for name in names)


def _panels(cases: Iterable[Case], curves: Mapping[str, str]) -> tuple[Panel, ...]:
    """Return one panel for each case, to round 100."""
    return tuple(
        Panel(
            title=case.name,
            metric=CUMULATIVE_REWARD if case is COMPLICATED else CUMULATIVE_REGRET,
            curves=tuple(Curve(label, case.name, method) for label, method in curves.items()),
            marks=MARKS,
            upto=SHOWN,
        )
        for case in cases
    )


def _long(panel: Panel) -> Panel:
    """Return a panel's methods that go on to the last round."""
    kept = tuple(curve for curve in panel.curves if curve.method in FAST)
    return replace(panel, title=f"{panel.title}, {ROUNDS} rounds", curves=kept, marks=LATE_MARKS, upto=None)


def _orders(late: bool) -> tuple[Claim, ...]:
    """Return the orders that the paper claims, at round 100 or at the last one, where the MMD methods are not."""
    titled = _late if late else tuple
    others = [name for name in OTHERS if not late or name in FAST]
    competitive = ("Portfolio (normal)", "DRBO-KDE", "DRBO-MMD")
    return (
        *ahead(titled(SYNTHETIC), OURS, others, 'Sec. 4.2: "outperform all the other baselines"'),
        *(
            claim
            for claim in ahead(titled(REAL), OURS, others, 'Sec. 4.3: "still outperform all the other baselines"')
            if (claim.panel, claim.first, claim.second) != competitive
        ),
        *(() if late else level(["Portfolio (normal)"], "DRBO-KDE", "DRBO-MMD", 'Sec. 4.3: "is competitive with"')),
        *ahead(titled(["Complicated Hartmann"]), ["DRBO-KDE"], ["SBO-KDE"], 'Sec. 4.2: "DRBO-KDE performs better"'),
        *ahead(titled(["Ackley"]), ["SBO-KDE"], ["DRBO-KDE"], 'Sec. 4.2: "slightly better"'),
        *ahead(titled(REAL), ["SBO-KDE"], ["DRBO-KDE"], 'Sec. 4.3: "demonstrating better performance"'),
        *level(titled(["Modified Branin", "Hartmann"]), "SBO-KDE", "DRBO-KDE", 'Sec. 4.2: "very close"'),
        # Sec. 4.3 says of these only that they do not outperform GP-UCB.
        *ahead(titled(["Newsvendor"]), ["GP-UCB"], [name for name in others if name != "GP-UCB"]),
    )


FIGURE_1 = Experiment(
    name="huang2024-fig1",
    source="Huang2024, Fig. 1",
    shows="Cumulative regret (Complicated Hartmann: reward) of SBO-KDE and DRBO-KDE against four baselines.",
    world=WORLD,
    cases=CASES,
    methods=METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=SHOWN,
    metrics=METRICS,
    panels=_panels(CASES, CURVES),
    claims=_orders(late=False),
    notes=OTHERWISE,
    quick=Quick(2, 25, cases=("Ackley", "Newsvendor"), methods=tuple(FAST)),
)
FIGURE_1_LONG = replace(
    FIGURE_1,
    name="huang2024-fig1-300",
    source="Huang2024, Fig. 1, as far as Table 2 goes",
    shows="The same sums after 300 rounds, of the methods that are fast. The paper prints no number of rounds.",
    methods={name: METHODS[name] for name in FAST},
    rounds=ROUNDS,
    panels=tuple(map(_long, _panels(CASES, CURVES))),
    claims=_orders(late=True),
    quick=Quick(1, 40, cases=("Newsvendor",), methods=OURS),
)

FIGURE_2 = Experiment(
    name="huang2024-fig2",
    source="Huang2024, Fig. 2",
    shows="Cumulative regret on Ackley with two decisions and four contexts.",
    world=WORLD,
    cases=(ACKLEY_4,),
    methods=METHODS,
    seeds=SEEDS,
    hyperparameters=HYPERPARAMETERS,
    rounds=SHOWN,
    metrics=METRICS,
    panels=_panels([ACKLEY_4], CURVES),
    claims=ahead(["Ackley 2+4"], OURS, OTHERS, 'App. D: "still outperform other methods"'),
    notes=OTHERWISE,
    quick=Quick(2, 25, methods=("SBO-KDE", "DRBO-KDE", "GP-UCB")),
)

TIMED = (Case(name="Ackley", problem="ackley-2-1"),)
TABLE_1 = Experiment(
    name="huang2024-table1",
    source="Huang2024, Table 1",
    shows="Seconds for 100 evaluations on Ackley, one thread; the paper's are from its authors' machine.",
    cases=TIMED,
    methods={label: METHODS[CURVES[label]] for label in (*OURS, *OTHERS)},
    seeds=tuple(range(100, 110)),
    hyperparameters=HYPERPARAMETERS,
    rounds=100,
    metrics=(SECONDS,),
    panels=panel_per_case(TIMED, (*OURS, *OTHERS), SECONDS, (100,)),
    published=tuple(
        Published("Ackley", name, {100: seconds}, errors={100: error})
        for name, (seconds, error) in {
            "SBO-KDE": (30.57, 1.06),
            "DRBO-KDE": (180.61, 6.90),
            "DRBO-MMD": (5254.65, 356.32),
            "DRBO-MMD-Minimax": (119.04, 2.61),
            "StableOpt": (32.75, 1.35),
            "GP-UCB": (11.35, 0.40),
        }.items()
    ),
    timing=True,
    quick=Quick(1, 20, methods=("SBO-KDE", "DRBO-KDE", "StableOpt", "GP-UCB")),
)

SAMPLES = (10, 100, 200, 300)
LAWS = {"Normal": laws.normal(0.5, 0.1), "Complicated": complicated()}
DISTANCE = Metric("total_variation", "total variation to the truth", summed_reward)  # its series are made by `density`
# The density lies in [-0.5, 1.5] but for the Cauchys' tails, whose mass outside is 0.0016; estimates smeared by an outlier
# reach farther and are counted there too. Steps of 2.5e-4 against a least bandwidth of 0.01.
LINE = torch.linspace(-3.0, 4.0, 28001, dtype=torch.float64)


def distance_to_truth(seen: Tensor, law: laws.Law) -> float:
    """Return the integral of |estimate - truth|, the estimate being Huang2024's Eq. 2 from samples `"t"`."""
    space = Space({"x": Real(0, 1)}, {"c": Real(0, 1)})
    width = float(bandwidths(space, seen[:, None])[0])
    estimate = torch.zeros_like(LINE)
    for centre in seen:
        estimate += laws.normal(float(centre), width).density(LINE)
    step = float(LINE[1] - LINE[0])
    gap = float((estimate / len(seen) - law.density(LINE)).abs().sum()) * step
    # What lies off the line: the truth's own tails, and the estimate's mass that was not summed.
    outside = float(law.cumulative(LINE[0])) + 1.0 - float(law.cumulative(LINE[-1]))
    return gap + abs(1.0 - float(estimate.sum()) / len(seen) * step) + outside


def density(case: Case, method: str, seed: int, rounds: int) -> OwnRun:
    """Return the distance of the density estimate to the truth at some numbers of samples, up to `rounds`."""
    law = LAWS[case.name]
    generator = torch.Generator().manual_seed(world_seed("huang2024-table2", case.name, seed, "contexts"))
    drawn = torch.stack([law.draw(generator) for _ in range(rounds)])
    seen = drawn.clamp(0.0, 1.0) if method == "clipped" else drawn
    marks = tuple(mark for mark in SAMPLES if mark <= rounds)
    return OwnRun({DISTANCE.name: [distance_to_truth(seen[:mark], law) for mark in marks]}, marks)


def _no_policy(problem: object) -> None:
    raise AssertionError("this experiment makes no study")


# Means of 20 runs, and what is printed after them.
PRINTED_DISTANCES = {
    "Normal": ((0.3222, 0.1315, 0.1156, 0.0962), (0.0327, 0.0088, 0.0079, 0.0083)),
    "Complicated": ((0.6216, 0.5380, 0.4853, 0.4724), (0.0190, 0.0333, 0.0233, 0.0258)),
}

TABLE_2 = Experiment(
    name="huang2024-table2",
    source="Huang2024, Table 2",
    shows="Total variation (full L1) between the kernel density estimate and the true distribution of contexts.",
    cases=(Case(name="Normal", problem="hartmann-5-1"), Case(name="Complicated", problem="hartmann-complicated")),
    methods={"as drawn": _no_policy, "clipped": _no_policy},  # type: ignore[dict-item]
    seeds=tuple(range(100, 120)),
    hyperparameters="none: there is no surrogate.",
    rounds=300,
    metrics=(DISTANCE,),
    panels=panel_per_case(
        [Case(name="Normal", problem=""), Case(name="Complicated", problem="")],
        ("as drawn", "clipped"),
        DISTANCE,
        SAMPLES,
    ),
    published=tuple(
        Published(panel, method, dict(zip(SAMPLES, means, strict=True)), errors=dict(zip(SAMPLES, errors, strict=True)))
        for method in ("as drawn", "clipped")
        for panel, (means, errors) in PRINTED_DISTANCES.items()
        if (panel, method) != ("Normal", "clipped")  # the same samples: nothing of that normal lies outside [0, 1]
    ),
    notes="The paper does not say whether contexts were clipped to [0, 1] before the estimate: both are shown. For the normal "
    "both are the same samples, so its printed numbers are counted once. What the table prints after its means is read as "
    "their standard errors: as deviations of single runs they would be a quarter of those here.",
    own=density,
    quick=Quick(5, 300),
)

EXPERIMENTS = (FIGURE_1, FIGURE_1_LONG, FIGURE_2, TABLE_1, TABLE_2)
