"""What the published methods have in common, every setting named: a later default of a part changes no published method."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from windward.basics.errors import ArgumentError
from windward.basics.speech import shown
from windward.beliefs.beliefs import Belief
from windward.contexts import ContextModel, Known
from windward.feedback import Feedback, Hallucinate
from windward.objectives.plain import Expected
from windward.objectives.protocol import Objective
from windward.policy import Policy, Report
from windward.rules.contexts import ContextRule, Nature
from windward.rules.guards import NoGuard
from windward.search.acquisition import Maximizer
from windward.search.design import Design
from windward.search.multistart import MultiStart
from windward.surrogate import GaussianProcess, Standardize, Surrogate
from windward.surrogate.kernel import KernelName

# sqrt(beta_t) of Huang2024, App. B.1, and beta_t of Micheli2025, Sec. 5.
WIDTH = 1.5
# Initial Sobol decisions of Huang2024 and Micheli2025.
INITIAL = 10
# What most of them have. All report by the posterior mean, without caution.
SEARCH = MultiStart(screen=512, starts=8, evaluations=None, tolerance=1e-6, apart=0.0125)
AVERAGE, IMAGINED, NATURE = Expected(), Hallucinate(), Nature()
BY_MEAN = Report(objective=None, candidates="space", caution=0.0)


def process(kernel: KernelName = "squared_exponential", *, tasks: bool = False) -> GaussianProcess:
    """Return the process of the published methods: hyper-parameters with BoTorch's priors, of standardised outcomes."""
    return GaussianProcess(
        kernel,
        outcome=Standardize(),
        fixed=None,
        tasks=tasks,
        refit=0.05,
        parts=False,
        drift=None,
        priors="dimension_scaled",
        amplitude="one",
    )


# What papers mean by hyper-parameters of maximal marginal likelihood: no priors, the amplitude among them.
TEXTBOOK = replace(process(), priors=None, amplitude="fitted")


def among_evaluated(objective: Objective | None = None) -> Report:
    """Return the report of one of the evaluated decisions, by an objective (left out: the policy's)."""
    return Report(objective=objective, candidates="evaluated", caution=0.0)


def published(
    *,
    context_model: ContextModel,
    belief: Belief,
    design: Design,
    objective: Objective = AVERAGE,
    feedback: Feedback = IMAGINED,
    context_rule: ContextRule = NATURE,
    surrogate: Surrogate | None = None,
    maximize: Maximizer = SEARCH,
    report: Report = BY_MEAN,
) -> Policy:
    """Return a policy with every part named; what is left out is what most of the papers have."""
    return Policy(
        context_model=context_model,
        objective=objective,
        belief=belief,
        feedback=feedback,
        context_rule=context_rule,
        surrogate=process() if surrogate is None else surrogate,
        maximize=maximize,
        design=design,
        guard=NoGuard(),
        report=report,
    )


def known(call: str, name: Literal["reference", "samples", "folds"], contexts: object) -> Known:
    """Return known contexts, or raise `ArgumentError` where something else was given."""
    if not isinstance(contexts, Known):
        raise ArgumentError(f"{call}({name}={shown(contexts)}): give Known(...), the contexts and their weights.")
    return contexts
