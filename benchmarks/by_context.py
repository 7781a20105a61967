"""How often the intervals of `study.by_context` hold the truth: `python benchmarks/by_context.py [STUDIES]`.

A bakery whose profit is known in full: results are noisy, the weather changes what passers-by buy. Each study gets a history
of 40 days or asks for 30 of them; every cell's true average is computed from 40,000 days that fall into it.
"""

from __future__ import annotations

import random
import sys

import torch

import windward as ww

SPACE = ww.Space(
    decision={"loaves": ww.Integer(20, 120), "price": ww.Real(2.0, 4.0)},
    context={"weather": ww.Categorical(["dry", "rain"]), "passers": ww.Real(0, 400)},
)
DAYS = 40_000


def profit(loaves: float, price: float, weather: str, passers: float) -> float:
    """Return what a day brings, without noise."""
    wanted = passers * (0.5 if weather == "dry" else 0.25) * (1.7 - 0.3 * price)
    return price * min(loaves, wanted) - 1.2 * loaves


def day(chance: random.Random) -> dict[str, str | float]:
    """Return the contexts of a day."""
    return {"weather": chance.choice(["dry", "dry", "rain"]), "passers": chance.uniform(100, 300)}


def played(seed: int, asked: bool) -> ww.Study:
    """Return a study of 30 days that it asked for, or with 40 days of history."""
    chance = random.Random(seed)
    study = ww.Study(SPACE, seed=seed)
    for _ in range(30 if asked else 40):
        context = day(chance)
        suggestion = study.ask() if asked else None
        decision = {"loaves": chance.randint(20, 120), "price": chance.uniform(2, 4)}
        decision = decision if suggestion is None else dict(suggestion.decision)
        value = profit(decision["loaves"], decision["price"], context["weather"], context["passers"]) + chance.gauss(
            0, 5
        )
        if suggestion is None:
            study.add(decision, value, context=context)
        else:
            study.tell(suggestion.id, value, context=context)
    return study


def main(studies: int) -> None:
    """Print how many intervals held, and how wide they were."""
    torch.set_num_threads(1)
    chance = random.Random(0)
    days = [day(chance) for _ in range(DAYS)]
    for asked in (False, True):
        held, cells, widths = 0, 0, 0.0
        for seed in range(studies):
            found = played(seed, asked).by_context()
            decision = found.decision
            for cell in found.cells:
                inside = [each for each in days if all(_in(each[name], part) for name, part in cell.where.items())]
                if not inside:
                    continue
                values = [profit(decision["loaves"], decision["price"], **each) for each in inside]
                truth, (low, high) = sum(values) / len(values), cell.interval
                held, cells, widths = held + (low <= truth <= high), cells + 1, widths + high - low
        kind = "30 days asked for" if asked else "40 days of history"
        print(
            f"{kind}: {held} of {cells} intervals held ({held / cells:.0%}); mean width {widths / cells:.1f}",
            flush=True,
        )


def _in(value: object, part: object) -> bool:
    if not isinstance(part, tuple):
        return value == part
    low, high = part
    return (low is None or value > low) and (high is None or value <= high)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
