"""Pictures of the problems of two figures: what is optimised, where its optima lie, and where the runs went.

`micheli_function` is Micheli2025's Fig. 1a, `nguyen_surfaces` Nguyen2020's Fig. 1. They are drawn for the reproduction page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from windward.basics.errors import MissingDependency
from windward.bench.experiment import Record
from windward.bench.experiments.nguyen import one_set
from windward.bench.figures import BLUE, GREEN, ORANGE, RED
from windward.bench.problems import problem
from windward.bench.problems.nguyen import expected_logistic
from windward.objectives.plain import Expected

TICKS = 101  # along each axis of a surface
# Light to dark, so that lines and marks upon it are seen.
COLOURS = "Greys"


def micheli_function(records: Sequence[Record], file: Path) -> None:
    """Draw f(x, c), the two distributions of contexts, and the best decision under each."""
    figure, (surface, curves) = _figure(2)
    task = problem("micheli-general")
    x, c = np.linspace(-1.0, 1.0, TICKS), np.linspace(0.0, 1.2, TICKS)
    decisions, contexts = torch.from_numpy(x)[:, None, None], torch.from_numpy(c)[:, None]
    values = task.value(decisions, contexts).numpy()
    drawn = surface.contourf(x, c, values.T, levels=14, cmap=COLOURS, alpha=0.75)
    _scale(figure, drawn, surface, "value")
    assert task.reference is not None
    told = (
        ("told to the learner, N(0.5, 0.1²)", task.reference, BLUE, "solid"),
        ("the truth, N(0.6, 0.2²)", task.truth, RED, "dashed"),
    )
    for name, law, colour, dash in told:
        worth = task.worth(Expected(), torch.from_numpy(x)[:, None], law).numpy()
        best = abs(float(task.optimum(Expected(), law).decision[0]))
        surface.axvline(best, color=colour, linestyle=dash, linewidth=1.5)
        surface.axvline(-best, color=colour, linestyle=dash, linewidth=1.5)
        curves.plot(x, worth, color=colour, linestyle=dash, linewidth=1.5, label=name)
        top = float(task.worth(Expected(), torch.tensor([[best]], dtype=torch.float64), law)[0])
        curves.scatter([-best, best], [top, top], s=26, color=colour, zorder=3)
    surface.set_title("f(x, c); lines: the best decisions", fontsize=9)
    surface.set_xlabel("decision x")
    surface.set_ylabel("context c")
    curves.set_title("expectation over contexts", fontsize=9)
    curves.set_xlabel("decision x")
    curves.grid(alpha=0.25, linewidth=0.5)
    _finish(figure, "Micheli2025, Fig. 1a: one function, two distributions of its context", file)


def nguyen_surfaces(records: Sequence[Record], file: Path) -> None:
    """Draw the expectation and the average over ten samples, and where the reported decisions go on the mean."""
    if not records:
        return
    figure, axes = _figure(2)
    task = one_set(0, None)
    ladder = np.linspace(-1.0, 1.0, TICKS)
    points = torch.from_numpy(np.stack(np.meshgrid(ladder, ladder, indexing="ij"), axis=-1)).reshape(-1, 2)
    average = task.worth(Expected(), points)
    surfaces = (("(a) expectation over all w", expected_logistic(points)), ("(b) average over ten samples", average))
    paths = (("BQO-TS", "expected", ORANGE, "dashed"), ("DRBQO 1", "robust 1", BLUE, "solid"))
    for axis, (title, values) in zip(axes, surfaces, strict=True):
        at = values.reshape(TICKS, TICKS).numpy()
        drawn = axis.contourf(ladder, ladder, at.T, levels=14, cmap=COLOURS, alpha=0.75)
        _scale(figure, drawn, axis)
        top = points[int(values.argmax())]
        axis.scatter(*top[:, None], marker="*", s=110, color=GREEN, edgecolors="white", zorder=4, label="its optimum")
        for method, report, colour, dash in paths:
            trail = _mean_trail(records, method, report)
            if trail is not None:
                axis.plot(*trail.T, color=colour, linestyle=dash, linewidth=1.6, label=method.removesuffix(" 1"))
                axis.scatter(*trail[-1][:, None], s=26, color=colour, zorder=3)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("x1")
        axis.set_ylabel("x2")
    _finish(figure, "Nguyen2020, Fig. 1: where the reported decisions go, mean over seeds; a dot is the last one", file)


def _mean_trail(records: Sequence[Record], method: str, report: str) -> Any:
    """Return the mean over seeds of the decisions reported after each round; `"t 2"`, None where there are none."""
    runs = [record["series"] for record in records if record["method"] == method]
    if not runs:
        return None
    rounds = min(len(series[f"x1 by {report}"]) for series in runs)
    every = [[series[f"{axis} by {report}"][:rounds] for axis in ("x1", "x2")] for series in runs]
    trail = np.array(every, dtype=np.float64).mean(0).T
    return trail[np.isfinite(trail).all(1)]


def _figure(columns: int) -> tuple[Any, Any]:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependency("figures need matplotlib: pip install 'windward[bench]'.") from error
    with rc_context({"font.size": 8.5, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(3.7 * columns, 3.4), layout="constrained")
        return figure, figure.subplots(1, columns)


def _scale(figure: Any, drawn: Any, axis: Any, label: str = "") -> None:
    bar = figure.colorbar(drawn, ax=axis)
    bar.set_label(label, fontsize=8.5)
    bar.ax.tick_params(labelsize=8.5)


def _finish(figure: Any, title: str, file: Path) -> None:
    handles = {
        name: handle for axis in figure.axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8.5
    )
    figure.suptitle(title, fontsize=10)
    figure.savefig(file, dpi=150, metadata={"Software": None})


PICTURES: dict[str, Callable[[Sequence[Record], Path], None]] = {
    "micheli2025-fig1": micheli_function,
    "nguyen2020-fig1": nguyen_surfaces,
}
