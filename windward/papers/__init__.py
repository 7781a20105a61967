"""The published methods, one function each: a policy with the paper's parts and settings.

Symbols in the formulas are the papers': x decision, c context, mu_t and sigma_t the posterior mean and deviation at
(x, c), u = mu_t + sqrt(beta_t) sigma_t, p the reference, v(f, r) the worst case min q.f over d(q, p) <= r. Keys:
Huang2024 (SBO-KDE, DRBO-KDE, AAAI), Tay2024 (BOCU, ICLR), Micheli2025 (WDRBO, ERBO, AISTATS), Nguyen2020 (DRBQO,
AISTATS), Verma2022 (delayed feedback, ICML), Bogunovic2018 (StableOpt, NeurIPS), Kirschner2020 (DRBO, AISTATS),
Srinivas2010 (GP-UCB, ICML), Desautels2014 (GP-BUCB, JMLR), Kandasamy2018 (asy-TS, AISTATS). The squared-exponential
kernel stands in for Huang2024's Matern-5/2 throughout.

Each paper has a file, and `settings.py` what they share. Every field of every part is named, so that a later default of
a part changes no published method (`tests/test_papers.py`).
"""

from __future__ import annotations

from windward.papers.huang import drbo_kde, drbo_mmd, drbo_mmd_minimax, gp_ucb, random, sbo_kde, stable_opt
from windward.papers.micheli import erbo, wdrbo, wdrbo_exact
from windward.papers.nguyen import (
    bqo_ei,
    bqo_ei_rand_w,
    bqo_ts,
    bqo_ts_rand_w,
    bqo_ucb,
    drbqo,
    drbqo_rand_w,
    emp_drbqo,
    maximin_bqo_ei,
    maximin_bqo_ts,
    mtbo,
)
from windward.papers.tay import ts_bocu, ucb_bocu_1, ucb_bocu_2, ucb_ro, ucb_so
from windward.papers.verma import asy_ts, gp_bts, gp_bucb, gp_ts_sdf, gp_ucb_sdf

__all__ = [
    "asy_ts",
    "bqo_ei",
    "bqo_ei_rand_w",
    "bqo_ts",
    "bqo_ts_rand_w",
    "bqo_ucb",
    "drbo_kde",
    "drbo_mmd",
    "drbo_mmd_minimax",
    "drbqo",
    "drbqo_rand_w",
    "emp_drbqo",
    "erbo",
    "gp_bts",
    "gp_bucb",
    "gp_ts_sdf",
    "gp_ucb",
    "gp_ucb_sdf",
    "maximin_bqo_ei",
    "maximin_bqo_ts",
    "mtbo",
    "random",
    "sbo_kde",
    "stable_opt",
    "ts_bocu",
    "ucb_bocu_1",
    "ucb_bocu_2",
    "ucb_ro",
    "ucb_so",
    "wdrbo",
    "wdrbo_exact",
]
