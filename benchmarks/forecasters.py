"""What pooling does to the score of good and bad forecasters: its mean CRPS divided by that of the forecasts as given.

    python benchmarks/forecasters.py

Each day has a level, normal around 50 with deviation 12, and what comes is normal around the level with deviation 4. A
forecaster gives 40 samples. Every fourth of 100 rounds is scored, with all earlier rounds known.
"""

from __future__ import annotations

import argparse
import math

import torch
from torch import Tensor

import windward as ww
from windward.contexts.forecast import PastForecasts, crps, levels, pooled, table, weighted_quantiles

ROUNDS, SAMPLES, EVERY, EARLY = 100, 40, 4, 30
DEMAND = ww.Real(None, None)
# How much each says too much, and the deviation of its samples.
KINDS = {
    "good": (0.0, 4.0),
    "skewed": (0.0, 4.0),
    "slightly too high": (2.0, 4.0),
    "too high and too sure": (10.0, 2.0),
    "too sure": (0.0, 2.0),
    "too unsure": (0.0, 8.0),
    "a guess": (0.0, 4.0),
}


def course(kind: str, seed: int) -> tuple[Tensor, Tensor]:
    """Return what came, `"rounds"`, and the samples of a forecaster, `"rounds samples"`."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    bias, spread = KINDS[kind]
    level = 50.0 + 12.0 * normal(ROUNDS)
    came = 50.0 + math.hypot(12.0, 4.0) * normal(ROUNDS) if kind == "a guess" else level + 4.0 * normal(ROUNDS)
    samples = level[:, None] + bias + spread * normal(ROUNDS, SAMPLES)
    return (torch.exp(came / 20.0), torch.exp(samples / 20.0)) if kind == "skewed" else (came, samples)


def ratios(kind: str, seeds: int) -> tuple[float, float]:
    """Return the score of the pool divided by that of the forecasts, in the first rounds and in all."""
    totals = torch.zeros(2, 2, dtype=torch.float64)
    for seed in range(seeds):
        came, samples = course(kind, seed)
        forecasts = [ww.Forecast(samples=row.tolist()) for row in samples]
        tables = torch.stack([table(DEMAND, forecast) for forecast in forecasts])
        for turn in range(1, ROUNDS, EVERY):
            past = PastForecasts(DEMAND, False, tables[:turn], came[:turn], came[:turn])
            usual = weighted_quantiles(came[:turn], torch.full((turn,), 1.0 / turn, dtype=torch.float64), levels())
            made = pooled(forecasts[turn], past, usual)
            scores = crps(torch.stack([made.table, tables[turn]]), came[turn].expand(2))
            totals[1] += scores
            totals[0] += scores if turn < EARLY else 0.0
    early, every = (totals[:, 0] / totals[:, 1]).tolist()
    return early, every


def main() -> None:
    """Print the ratios of each forecaster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)
    print(f"| forecaster | first {EARLY} rounds | {ROUNDS} rounds |\n| --- | --- | --- |")
    for kind in KINDS:
        early, every = ratios(kind, seeds)
        print(f"| {kind} | {early:.2f} | {every:.2f} |")


if __name__ == "__main__":
    main()
