"""How often the intervals of `study.importance` hold, and its time: `python benchmarks/importance.py [SEEDS]`.

Two functions whose indices are known in closed form, by histories of two lengths with a little noise: Ishigami's, of which one
variable is a context, and the g-function of Sobol with two decisions and two contexts. Times are of the processor, after the
recommendation is known.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

import windward as ww

G = (0.0, 1.0, 4.5, 9.0)
LENGTHS = (40, 100, 160)
# A share that is off by no more than this is right.
RIGHT = 0.01


@dataclass(frozen=True)
class Known:
    """A function of the unit cube, its decisions and contexts, its noise, and its indices by name."""

    name: str
    decisions: str
    contexts: str
    function: Callable[[Tensor], Tensor]
    noise: float
    first: dict[str, float]
    total: dict[str, float]


def ishigami(rows: Tensor) -> Tensor:
    """Return Ishigami's function with a = 7 and b = 0.1."""
    a, b, c = ((2 * rows - 1) * math.pi).unbind(1)
    return a.sin() + 7 * b.sin() ** 2 + 0.1 * c**4 * a.sin()


def g_function(rows: Tensor) -> Tensor:
    """Return the g-function."""
    flat = torch.tensor(G, dtype=torch.float64)
    return (((4 * rows - 2).abs() + flat) / (1 + flat)).prod(1)


def g_indices() -> tuple[dict[str, float], dict[str, float]]:
    """Return the first and the total indices of the g-function."""
    alone = [1 / 3 / (1 + each) ** 2 for each in G]
    whole = math.prod(1 + each for each in alone) - 1
    first = {name: each / whole for name, each in zip("abcd", alone, strict=True)}
    rest = [math.prod(1 + other for at, other in enumerate(alone) if at != place) for place in range(4)]
    return first, {name: first[name] * times for name, times in zip("abcd", rest, strict=True)}


FUNCTIONS = (
    Known(
        "Ishigami",
        "ab",
        "c",
        ishigami,
        0.1,
        {"a": 0.3139, "b": 0.4424, "c": 0.0},
        {"a": 0.5576, "b": 0.4424, "c": 0.2437},
    ),
    Known("g-function", "ab", "cd", g_function, 0.05, *g_indices()),
)


def history(known: Known, count: int, seed: int) -> ww.Study:
    """Return a study with a history of the function."""
    generator = torch.Generator().manual_seed(1000 + seed)
    names = known.decisions + known.contexts
    rows = torch.rand(count, len(names), generator=generator, dtype=torch.float64)
    noise = known.noise * torch.randn(count, generator=generator, dtype=torch.float64)
    values = known.function(rows) + noise
    space = ww.Space({n: ww.Real(0, 1) for n in known.decisions}, {n: ww.Real(0, 1) for n in known.contexts})
    study, width = ww.Study(space, seed=seed), len(known.decisions)
    study.add_many(
        [
            ww.Past(
                dict(zip(known.decisions, row[:width], strict=True)),
                value,
                dict(zip(known.contexts, row[width:], strict=True)),
            )
            for row, value in zip(rows.tolist(), values.tolist(), strict=True)
        ]
    )
    return study


def main(seeds: int) -> None:
    """Print, for each function and length, how far off the indices are, how many intervals held, and the time."""
    torch.set_num_threads(1)
    for known in FUNCTIONS:
        for count in LENGTHS:
            held, indices, off, spent = 0, 0, 0.0, 0.0
            for seed in range(seeds):
                study = history(known, count, seed)
                study.recommend()
                start = time.process_time()
                found = study.importance()
                spent += time.process_time() - start
                for one in found.inputs:
                    for share, (low, high), truth in (
                        (one.first, one.first_interval, known.first[one.names[0]]),
                        (one.total, one.total_interval, known.total[one.names[0]]),
                    ):
                        held, indices = held + (low - RIGHT <= truth <= high + RIGHT), indices + 1
                        off += abs(share - truth)
            print(
                f"{known.name}, {count} results: off by {off / indices:.3f} on average; {held} of {indices} intervals held "
                f"({held / indices:.0%}); {spent / seeds:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
