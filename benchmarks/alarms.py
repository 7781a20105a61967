"""The shift alarm: how often it is false, and how many contexts it takes to notice a change.

    python benchmarks/alarms.py [--runs 1000]
    python benchmarks/alarms.py --late

Still worlds are looked at after each of 200 rounds at level 1 %; an alarm at any of these looks counts. A change comes after 50
or after 100 rounds; the delay is the number of changed contexts up to the alarm. `--late` tells each context up to 20 rounds
late and looks after each: then the order of the rounds is not that in which they are known, and the guarantee is not exact.
"""

from __future__ import annotations

import argparse
import math
import statistics
import zlib
from collections.abc import Callable

import numpy as np

import windward as ww
from windward.basics.streams import hash_seed
from windward.space.parameters import Value
from windward.trials.records import Trial
from windward.trials.shift import Shift, shift_of

ROUNDS, AFTER = 200, 150
NUMBER, SKY = ww.Real(), ww.Categorical(["dry", "wet", "snow"])
Draw = Callable[[np.random.Generator, int], list[Value]]


def normal(mean: float = 0.0, deviation: float = 1.0) -> Draw:
    return lambda g, n: g.normal(mean, deviation, n).tolist()


def skewed(mean: float = 0.0) -> Draw:
    return lambda g, n: np.exp(g.normal(mean, 1.0, n)).tolist()


def spiky(factor: float = 1.0) -> Draw:
    """Nothing on nine of ten days."""
    return lambda g, n: (factor * g.exponential(10.0, n) * (g.random(n) < 0.1)).tolist()


def counts(mean: float = 1.5) -> Draw:
    """Few different numbers, so most ranks are ties."""
    return lambda g, n: g.poisson(mean, n).astype(float).tolist()


def sky(dry: float = 0.6, wet: float = 0.3) -> Draw:
    return lambda g, n: g.choice(["dry", "wet", "snow"], n, p=[dry, wet, 1.0 - dry - wet]).tolist()


def wave(correlation: float) -> Draw:
    """Each context is like the one before."""

    def draw(g: np.random.Generator, n: int) -> list[Value]:
        found = [g.normal()]
        for step in g.normal(0.0, math.sqrt(1.0 - correlation**2), n - 1):
            found.append(correlation * found[-1] + step)
        return found

    return draw


def season(period: float) -> Draw:
    return lambda g, n: (g.normal(size=n) + np.sin(2.0 * math.pi * np.arange(n) / period)).tolist()


STILL = {
    "normal": (normal(),),
    "skewed": (skewed(),),
    "spiky": (spiky(),),
    "many ties": (counts(),),
    "category": (sky(),),
    "three normal": (normal(),) * 3,
    "three skewed": (skewed(),) * 3,
    "three spiky": (spiky(),) * 3,
    "three with ties": (counts(),) * 3,
    "three categories": (sky(),) * 3,
    "normal, spiky and category": (normal(), spiky(), sky()),
}
CORRELATED = {
    "each correlated 0.5 with the one before": (wave(0.5),),
    "each correlated 0.9 with the one before": (wave(0.9),),
    "a season of 50 rounds": (season(50.0),),
}
CHANGES = {
    "one deviation": ((normal(),), (normal(1.0),)),
    "half a deviation": ((normal(),), (normal(0.5),)),
    "two deviations": ((normal(),), (normal(2.0),)),
    "one deviation, skewed": ((skewed(),), (skewed(1.0),)),
    "twice the deviation": ((normal(),), (normal(0.0, 2.0),)),
    "half the deviation": ((normal(),), (normal(0.0, 0.5),)),
    "counts of 1.5 become 3": ((counts(),), (counts(3.0),)),
    "spikes three times as high": ((spiky(),), (spiky(3.0),)),
    "dry from 0.6 to 0.2": ((sky(),), (sky(0.2, 0.7),)),
    "snow from 0.1 to 0.4": ((sky(),), (sky(0.4, 0.2),)),
    "one deviation in all of three": ((normal(),) * 3, (normal(1.0),) * 3),
    "one deviation in one of three": ((normal(),) * 3, (normal(1.0), normal(), normal())),
}


def space_of(values: list[list[Value]]) -> ww.Space:
    contexts = {f"c{place}": SKY if isinstance(each[0], str) else NUMBER for place, each in enumerate(values)}
    return ww.Space({"x": ww.Real(0, 1)}, contexts)


def rows_of(values: list[list[Value]]) -> list[Trial]:
    return [
        Trial(
            id, {"x": 0.5}, context={f"c{place}": value for place, value in enumerate(row)}, context_source="revealed"
        )
        for id, row in enumerate(zip(*values, strict=True))
    ]


def looked(values: list[list[Value]], seed: int) -> Shift:
    """Return what is said after the last round; the alarms of all earlier looks are among those of the last."""
    return shift_of(space_of(values), rows_of(values), seed)


def still(name: str, draws: tuple[Draw, ...], seed: int) -> bool:
    """Return whether there was an alarm in a run."""
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return bool(looked([draw(generator, ROUNDS) for draw in draws], seed).alarms)


def late(name: str, draws: tuple[Draw, ...], seed: int, latest: int = 20) -> bool:
    """Return whether there was an alarm at a look, where contexts come late."""
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    values = [draw(generator, ROUNDS) for draw in draws]
    space, rows = space_of(values), rows_of(values)
    order = np.argsort(np.arange(ROUNDS) + generator.uniform(0.0, latest, ROUNDS))
    known: list[Trial] = []
    for place in order:
        known.append(rows[place])
        if shift_of(space, known, seed).alarms:
            return True
    return False


def delay(name: str, draws: tuple[tuple[Draw, ...], tuple[Draw, ...]], at: int, seed: int) -> tuple[float, float]:
    """Return how many changed contexts the alarm took, infinite where it did not come, and by how much `since` is wrong."""
    generator = np.random.default_rng([seed, at, zlib.crc32(name.encode())])
    values = [before(generator, at) + after(generator, AFTER) for before, after in zip(*draws, strict=True)]
    alarms = [alarm for alarm in looked(values, seed).alarms if alarm.raised >= at]
    return (alarms[0].raised - at + 1, abs(alarms[0].since - at)) if alarms else (math.inf, math.nan)


def shown_delay(name: str, draws: tuple[tuple[Draw, ...], tuple[Draw, ...]], at: int, runs: int) -> tuple[str, str]:
    """Return the median delay with the share of runs in which the alarm came, and the median error of `since`."""
    found = [delay(name, draws, at, hash_seed(seed, at)) for seed in range(runs)]
    median, share = statistics.median(each for each, _ in found), sum(each < math.inf for each, _ in found) / runs
    errors = [error for _, error in found if not math.isnan(error)]
    said = f"more than {AFTER}" if median == math.inf else f"{median:.0f}"
    return f"{said} ({share:.0%})", f"{statistics.median(errors):.0f}" if errors else ""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--late", action="store_true")
    arguments = parser.parse_args()
    runs = arguments.runs
    if arguments.late:
        print(f"| contexts up to 20 rounds late, {runs} runs | alarms |\n| --- | --- |")
        for name in ("normal", "three normal"):
            print(f"| {name} | {sum(late(name, STILL[name], seed) for seed in range(runs))} |", flush=True)
        return
    print(f"| {runs} runs of {ROUNDS} rounds | with an alarm |\n| --- | --- |")
    for name, draws in {**STILL, **CORRELATED}.items():
        print(f"| {name} | {sum(still(name, draws, seed) for seed in range(runs))} |", flush=True)
    print("\n| change | delay after 50 | after 100 | `since` is off by |\n| --- | --- | --- | --- |")
    for name, change in CHANGES.items():
        early, _ = shown_delay(name, change, 50, runs // 2)
        later, error = shown_delay(name, change, 100, runs // 2)
        print(f"| {name} | {early} | {later} | {error} |", flush=True)
    long, _ = shown_delay("one deviation", CHANGES["one deviation"], 1000, runs // 10)
    print(f"\nOne deviation after 1000 rounds: {long}")


if __name__ == "__main__":
    main()
