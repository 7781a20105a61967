"""Observations of the problems that suggestions are timed on, and every method of the papers for them."""

from __future__ import annotations

from functools import cache

import torch

import windward as ww
from windward.bench.problems import problem

PROBLEMS = ("ackley-2-1", "branin-2-2", "hartmann-5-1")
TV = ww.TotalVariation()


@cache
def observed(name: str, n: int, seed: int) -> ww.Trials:
    """Return n observations at Sobol decisions, contexts drawn from the truth."""
    world = problem(name)
    generator = torch.Generator().manual_seed(seed)
    engine = torch.quasirandom.SobolEngine(len(world.space.decision), scramble=True, seed=seed)
    x = engine.draw(n, dtype=torch.float64)
    c = torch.stack([world.draw(turn, generator) for turn in range(n)])
    y = world.value(x, c).tolist()
    rows = [
        ww.Trial(
            i,
            dict(zip(world.space.decision, x[i].tolist(), strict=True)),
            context=dict(zip(world.space.context, c[i].tolist(), strict=True)),
            context_source="revealed",
            value=y[i],
            changed=i,
        )
        for i in range(n)
    ]
    return ww.Trials(world.space, rows)


def known(name: str, count: int) -> ww.Known:
    """Return even contexts over the unit cube, as a reference that is given."""
    labels = list(problem(name).space.context)
    side = max(2, round(count ** (1 / len(labels))))
    axes = torch.meshgrid(*[torch.linspace(0, 1, side, dtype=torch.float64)] * len(labels), indexing="ij")
    return ww.Known({label: axis.flatten().tolist() for label, axis in zip(labels, axes, strict=True)})


def methods(name: str) -> dict[str, ww.Policy]:
    """Return every method of the papers, for a problem."""
    reference, folds = known(name, 64), known(name, 10)
    paper = ww.papers
    return {
        "sbo_kde": paper.sbo_kde(),
        "gp_ucb": paper.gp_ucb(),
        "erbo": paper.erbo(),
        "stable_opt": paper.stable_opt(),
        "drbo_kde": paper.drbo_kde(),
        "wdrbo": paper.wdrbo(),
        "wdrbo_exact": paper.wdrbo_exact(),
        "drbo_mmd": paper.drbo_mmd(),
        "drbo_mmd_minimax": paper.drbo_mmd_minimax(),
        "ts_bocu": paper.ts_bocu(reference, ww.Robust(TV, 0.157617)),
        "ucb_bocu_1": paper.ucb_bocu_1(reference, TV, 0.157617),
        "ucb_bocu_2": paper.ucb_bocu_2(reference, TV, 0.157617),
        "ucb_so": paper.ucb_so(reference),
        "ucb_ro": paper.ucb_ro(reference),
        "drbqo": paper.drbqo(folds, 1.0),
        "emp_drbqo": paper.emp_drbqo(folds, 1.0),
        "drbqo_rand_w": paper.drbqo_rand_w(folds, 1.0),
        "bqo_ts": paper.bqo_ts(folds),
        "bqo_ts_rand_w": paper.bqo_ts_rand_w(folds),
        "maximin_bqo_ts": paper.maximin_bqo_ts(folds, 1.0),
        "bqo_ei": paper.bqo_ei(folds),
        "bqo_ei_rand_w": paper.bqo_ei_rand_w(folds),
        "maximin_bqo_ei": paper.maximin_bqo_ei(folds, 1.0),
        "mtbo": paper.mtbo(folds),
        "gp_ucb_sdf": paper.gp_ucb_sdf(-30.0, 20),
        "gp_ts_sdf": paper.gp_ts_sdf(-30.0, 20),
        "gp_bucb": paper.gp_bucb(),
        "gp_bts": paper.gp_bts(),
        "asy_ts": paper.asy_ts(),
    }
