"""Every problem of the papers, by name, and wrappers that change the world around one."""

from windward.bench.problems import drawn, expectations, invented, nguyen, portfolio, simulated, tay, third, verma
from windward.bench.problems.delays import Fixed, Lossy, Poisson
from windward.bench.problems.registry import Data, entry, problem, problems, register
from windward.bench.problems.wrappers import Delayed, Noisy, Shifted

__all__ = [
    "Data",
    "Delayed",
    "Fixed",
    "Lossy",
    "Noisy",
    "Poisson",
    "Shifted",
    "drawn",
    "entry",
    "expectations",
    "invented",
    "nguyen",
    "portfolio",
    "problem",
    "problems",
    "register",
    "simulated",
    "tay",
    "third",
    "verma",
]
