"""Nguyen2020: hyper-parameters tuned by cross-validation, whose folds are the contexts (Fig. 7, Table 1).

Fewer initial points, n = 5 or 10 folds; models are judged on data that no fold holds.
"""

from __future__ import annotations

import math
from dataclasses import replace

from windward import papers
from windward.bench.experiment import Case, Curve, Experiment, Method, Panel, Published, Quick
from windward.bench.experiments.nguyen import BASELINES, HYPERPARAMETERS, by, drbqo, drbqo_name, robust
from windward.bench.experiments.parts import ahead, told
from windward.bench.metrics import Metric, error_on_test
from windward.bench.problem import Problem
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.policy import Policy
from windward.search.design import Sobol

CROSS_VALIDATED_RADII = (0.1, 0.3, 0.5, 1.0, 3.0, 5.0)


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
    methods={name: started(method) for name, method in {**FOLDS, "DRBQO 1": drbqo(1.0)}.items()},
    seeds=tuple(range(30)),
    hyperparameters=HYPERPARAMETERS,
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
    Case(name="ElasticNet", problem="elastic-net-digits", rounds=66, instead="digits for MNIST"),
    Case(name="CNN", problem="cnn-cv-digits", rounds=99, instead="digits for MNIST"),
)
TABLE_METHODS = {**FOLDS, **{drbqo_name(rho): drbqo(rho) for rho in CROSS_VALIDATED_RADII}}
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
    hyperparameters=HYPERPARAMETERS,
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

EXPERIMENTS = (FIGURE_7, TABLE_1)
