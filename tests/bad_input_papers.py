"""Wrong calls of the published methods that stand on divergences and known distributions: see `bad_input_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bad_input_cases import Row, each, numbers, wholes, words
from bad_input_robust import CHI, EVERY_NOT_KNOWN, KNOWN, MMD, NOT_KNOWN, NOT_RADII, STEEP, TV, ball_rows

import windward as ww
from windward import ArgumentError, IncompatibleError, papers


def bocu_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """A method of Tay2024: `call(reference, **parts)`."""
    return [
        *words(f"papers.{name}.reference", call, *NOT_KNOWN),
        *words(
            f"papers.{name}.surrogate",
            lambda v: call(KNOWN, surrogate=v),
            *(ww.GaussianProcess, MMD),
            error=IncompatibleError,
        ),
        *words(
            f"papers.{name}.maximize",
            lambda v: call(KNOWN, maximize=v),
            *(32, ww.Thompson()),
            error=IncompatibleError,
        ),
    ]


def tradeoff_rows(name: str, call: Callable[..., Any]) -> list[Row]:
    """A method with the parameters of a tradeoff: `call(reference, divergence, radius, **more)`."""
    return [
        *ball_rows(f"papers.{name}", lambda d, r: call(KNOWN, d, r)),
        *bocu_rows(name, lambda p, **parts: call(p, TV, 0.1, **parts)),
        *numbers(f"papers.{name}.alpha", lambda v: call(KNOWN, TV, 0.1, alpha=v), None, -1),
        *numbers(f"papers.{name}.beta", lambda v: call(KNOWN, TV, 0.1, beta=v), None, -1),
        Row(f"papers.{name}.reference", lambda: call(TV, KNOWN, 0.1), ArgumentError, "divergence=Known("),
    ]


def quadrature_rows(name: str, *more: float, rule: bool = True) -> list[Row]:
    """A method of Nguyen2020: `name(samples, *more, rule=...)`, where `more` is its radius if it has one."""
    call = getattr(papers, name)
    rows = words(f"papers.{name}.samples", lambda v: call(v, *more), *NOT_KNOWN)
    if more:
        rows += words(f"papers.{name}.radius", lambda v: call(KNOWN, v), *NOT_RADII)
        rows.append(Row(f"papers.{name}.samples", lambda: call(0.1, KNOWN), ArgumentError, "=Known("))
    if rule:
        wrong = (ww.Uniform, ww.Thompson())
        rows += words(f"papers.{name}.rule", lambda v: call(KNOWN, *more, rule=v), *wrong, error=IncompatibleError)
    return rows


def elsewhere_rows(name: str) -> list[Row]:
    """A method whose context model places points elsewhere: its own message comes before the model's."""
    values = [(v, f"{name}(elsewhere={v}): elsewhere must be") for v in (1.5, True, None, -1)]
    return each(f"papers.{name}.elsewhere", lambda v: getattr(papers, name)(elsewhere=v), ArgumentError, values)


METHODS: list[Row] = [
    *(
        row
        for name in ("gp_ucb", "sbo_kde", "drbo_kde", "stable_opt")
        for row in words(
            f"papers.{name}.kernel",
            lambda v, name=name: getattr(papers, name)(kernel=v),
            "matern",
            None,
            error=ArgumentError,
        )
    ),
    *numbers("papers.gp_ucb.width", lambda v: papers.gp_ucb(width=v), None, -1),
    *words("auto.objective", ww.auto, 5, "cvar", ww.CVaR, TV, error=IncompatibleError),
    *numbers("papers.sbo_kde.width", lambda v: papers.sbo_kde(width=v), None, -1),
    *wholes("papers.sbo_kde.samples", lambda v: papers.sbo_kde(samples=v), None, 0),
    *numbers("papers.erbo.width", lambda v: papers.erbo(width=v), None, -1),
    *numbers("papers.stable_opt.width", lambda v: papers.stable_opt(width=v), None, -1),
    *numbers("papers.stable_opt.spread", lambda v: papers.stable_opt(spread=v), None, -1),
    *wholes("papers.stable_opt.points", lambda v: papers.stable_opt(points=v), None, 0),
    *numbers("papers.drbo_kde.width", lambda v: papers.drbo_kde(width=v), None, -1),
    *wholes("papers.drbo_kde.samples", lambda v: papers.drbo_kde(samples=v), None, 0),
    *elsewhere_rows("drbo_kde"),
    *numbers("papers.drbo_mmd.width", lambda v: papers.drbo_mmd(width=v), None, -1),
    *numbers("papers.drbo_mmd.length_scale", lambda v: papers.drbo_mmd(length_scale=v), None, 0),
    *wholes("papers.drbo_mmd.points", lambda v: papers.drbo_mmd(points=v), None, 0),
    *numbers("papers.drbo_mmd_minimax.width", lambda v: papers.drbo_mmd_minimax(width=v), None, -1),
    *numbers("papers.drbo_mmd_minimax.length_scale", lambda v: papers.drbo_mmd_minimax(length_scale=v), None, 0),
    *wholes("papers.drbo_mmd_minimax.points", lambda v: papers.drbo_mmd_minimax(points=v), None, 0),
    *numbers("papers.drbo_mmd_minimax.nugget", lambda v: papers.drbo_mmd_minimax(nugget=v), None, -1),
    *numbers("papers.wdrbo.width", lambda v: papers.wdrbo(width=v), None, -1),
    *words("papers.wdrbo.radius", lambda v: papers.wdrbo(radius=v), *(v for v in NOT_RADII if v is not None)),
    *elsewhere_rows("wdrbo"),
    *numbers("papers.wdrbo_exact.width", lambda v: papers.wdrbo_exact(width=v), None, -1),
    *words(
        "papers.wdrbo_exact.radius", lambda v: papers.wdrbo_exact(radius=v), *(v for v in NOT_RADII if v is not None)
    ),
    *elsewhere_rows("wdrbo_exact"),
    *bocu_rows("ts_bocu", lambda p, **parts: papers.ts_bocu(p, ww.Sensitivity(TV), **parts)),
    *words(
        "papers.ts_bocu.objective",
        lambda v: papers.ts_bocu(KNOWN, v),
        *(5, None, ww.Sensitivity, TV, KNOWN, 0.1),
        error=IncompatibleError,
    ),
    Row("papers.ts_bocu.reference", lambda: papers.ts_bocu(ww.Minimum(), KNOWN), ArgumentError, "reference=Minimum()"),
    *tradeoff_rows("ucb_bocu_1", papers.ucb_bocu_1),
    *tradeoff_rows("ucb_bocu_2", papers.ucb_bocu_2),
    Row("papers.ucb_bocu_2.radius", lambda: papers.ucb_bocu_2(KNOWN, CHI, 0), IncompatibleError, STEEP),
    *bocu_rows("ucb_so", papers.ucb_so),
    *bocu_rows("ucb_ro", papers.ucb_ro),
    *quadrature_rows("drbqo", 0.1),
    *quadrature_rows("emp_drbqo", 0.1),
    *quadrature_rows("bqo_ts"),
    *quadrature_rows("bqo_ei"),
    *quadrature_rows("bqo_ucb"),
    *numbers("papers.bqo_ucb.width", lambda v: papers.bqo_ucb(KNOWN, width=v), None, -1),
    *quadrature_rows("maximin_bqo_ts", 0.1),
    *quadrature_rows("maximin_bqo_ei", 0.1),
    *quadrature_rows("drbqo_rand_w", 0.1, rule=False),
    *quadrature_rows("bqo_ts_rand_w", rule=False),
    *quadrature_rows("bqo_ei_rand_w", rule=False),
    *words("papers.mtbo.folds", papers.mtbo, *EVERY_NOT_KNOWN),
]
