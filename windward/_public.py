"""Everything `import windward` offers, imported: `windward/__init__.py` loads this module when a name is first used."""

from typing import TYPE_CHECKING

from windward import divergences, papers
from windward.basics.errors import (
    ArgumentError,
    IncompatibleError,
    JournalError,
    MissingData,
    MissingDependency,
    SolverError,
    SpaceError,
    StudyExists,
    TrialError,
    UnknownStudy,
    WindwardError,
)
from windward.beliefs.beliefs import ExpectedImprovement, PosteriorMean, Thompson, UpperConfidence
from windward.beliefs.overall import OverallConfidence
from windward.beliefs.widths import DelayedWidth, HuangWidth, MicheliWidth, VermaWidth, Wider, delayed_width
from windward.contexts import Box, Contexts, Distribution, Empirical, Grid, KernelDensity, Known, NoContext, Unknown
from windward.default import auto
from windward.divergences import MMD, ChiSquare, KullbackLeibler, TotalVariation, Wasserstein, WorstCase
from windward.feedback import Censor, Hallucinate, Ignore
from windward.journal import MemoryJournal, delete_study, studies
from windward.objectives.confidence import Confidence
from windward.objectives.heuristics import BocuOne, BocuTwo, MidpointRobust
from windward.objectives.plain import CVaR, Expected, MeanVariance, Minimum, VaR
from windward.objectives.radii import Decay, KernelRate, KirschnerRate, MicheliRate
from windward.objectives.robust import LipschitzRobust, MeanRisk, Robust, Sensitivity, Tradeoff
from windward.objectives.satisficing import Satisficing
from windward.objectives.situation import Situation
from windward.parts import from_json, to_json
from windward.policy import Policy, Report
from windward.rules.contexts import HighestImprovement, MostUncertain, Nature, Uniform
from windward.rules.floor import Floor
from windward.rules.guards import Guards, LargestStep, NoGuard
from windward.search.acquisition import Acquisition
from windward.search.design import Central, RandomDesign, Sobol
from windward.search.grid import OverGrid
from windward.search.limits import Limits
from windward.search.multistart import MultiStart
from windward.search.near import NearBest
from windward.space.cyclic import Calendar, Cyclic, calendar
from windward.space.linear import Linear
from windward.space.outcomes import Maximize, Minimize
from windward.space.parameters import Categorical, Integer, Real
from windward.space.space import Space
from windward.study.study import Study
from windward.suggest.checked import CheckedTrial, Coverage, ModelCheck
from windward.suggest.forecasters import Forecaster
from windward.suggest.in_context import ByContext, ContextCell
from windward.suggest.influence import Importance, Influence, Interaction
from windward.suggest.stage import Stage
from windward.surrogate import GaussianProcess, Hyperparameters, SoftClip, Standardize, Unscaled
from windward.trials.foretold import Forecast
from windward.trials.reasons import Beside, Held, Reason
from windward.trials.records import Beyond, Comparison, Past, Recommendation, Result, Settled, Suggestion, Tell, Trial
from windward.trials.shift import Alarm, Shift
from windward.trials.trials import Trials
from windward.version import __version__

if TYPE_CHECKING:
    from windward.journal.sql import SqlJournal  # at run time on first use: it imports SQLAlchemy

__all__ = [
    "MMD",
    "Acquisition",
    "Alarm",
    "ArgumentError",
    "Beside",
    "Beyond",
    "BocuOne",
    "BocuTwo",
    "Box",
    "ByContext",
    "CVaR",
    "Calendar",
    "Categorical",
    "Censor",
    "Central",
    "CheckedTrial",
    "ChiSquare",
    "Comparison",
    "Confidence",
    "ContextCell",
    "Contexts",
    "Coverage",
    "Cyclic",
    "Decay",
    "DelayedWidth",
    "Distribution",
    "Empirical",
    "Expected",
    "ExpectedImprovement",
    "Floor",
    "Forecast",
    "Forecaster",
    "GaussianProcess",
    "Grid",
    "Guards",
    "Hallucinate",
    "Held",
    "HighestImprovement",
    "HuangWidth",
    "Hyperparameters",
    "Ignore",
    "Importance",
    "IncompatibleError",
    "Influence",
    "Integer",
    "Interaction",
    "JournalError",
    "KernelDensity",
    "KernelRate",
    "KirschnerRate",
    "Known",
    "KullbackLeibler",
    "LargestStep",
    "Limits",
    "Linear",
    "LipschitzRobust",
    "Maximize",
    "MeanRisk",
    "MeanVariance",
    "MemoryJournal",
    "MicheliRate",
    "MicheliWidth",
    "MidpointRobust",
    "Minimize",
    "Minimum",
    "MissingData",
    "MissingDependency",
    "ModelCheck",
    "MostUncertain",
    "MultiStart",
    "Nature",
    "NearBest",
    "NoContext",
    "NoGuard",
    "OverGrid",
    "OverallConfidence",
    "Past",
    "Policy",
    "PosteriorMean",
    "RandomDesign",
    "Real",
    "Reason",
    "Recommendation",
    "Report",
    "Result",
    "Robust",
    "Satisficing",
    "Sensitivity",
    "Settled",
    "Shift",
    "Situation",
    "Sobol",
    "SoftClip",
    "SolverError",
    "Space",
    "SpaceError",
    "SqlJournal",
    "Stage",
    "Standardize",
    "Study",
    "StudyExists",
    "Suggestion",
    "Tell",
    "Thompson",
    "TotalVariation",
    "Tradeoff",
    "Trial",
    "TrialError",
    "Trials",
    "Uniform",
    "Unknown",
    "UnknownStudy",
    "Unscaled",
    "UpperConfidence",
    "VaR",
    "VermaWidth",
    "Wasserstein",
    "Wider",
    "WindwardError",
    "WorstCase",
    "__version__",
    "auto",
    "calendar",
    "delayed_width",
    "delete_study",
    "divergences",
    "from_json",
    "papers",
    "studies",
    "to_json",
]
