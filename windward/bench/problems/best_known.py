"""The best values found for problems that train a model: they stand for optima that no search can certify.

For each problem, by context: the accuracy and the decision that has it. `benchmarks/best_known.py` prints this table again;
a test trains each model at its decision and finds its accuracy.
"""

from __future__ import annotations

Decision = tuple[float, ...]

BEST: dict[str, dict[tuple[float, ...], tuple[float, Decision]]] = {}
