"""The pictures of docs/scaling.md: who talks to whom in each of the four set-ups.

python docs/figures/scaling.py        writes docs/figures/scaling.png
"""

from __future__ import annotations

from pathlib import Path

from look import INK, SIZE, drawn, dressed, plt
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch, Rectangle

# Fill and edge of: a process with a study, a process that only evaluates, a part of another system, a store.
LOOK = {
    "study": ("#d6e8f4", "#0072B2"),
    "worker": ("#fbe3d6", "#D55E00"),
    "other": ("#eeeeee", "#777777"),
    "store": ("#fbf0d4", "#B07A00"),
}


def box(axes: Axes, x: float, y: float, text: str, kind: str, *, width: float = 2.3, height: float = 0.95) -> None:
    """Draw a process, centred at (x, y)."""
    fill, edge = LOOK[kind]
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0,rounding_size=0.14"
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, fc=fill, ec=edge, lw=1.4))
    axes.text(x, y, text, ha="center", va="center", fontsize=SIZE, color=INK, linespacing=1.25)


def store(axes: Axes, x: float, y: float, text: str, *, width: float = 2.6, height: float = 1.2) -> None:
    """Draw a database or file, centred at (x, y)."""
    fill, edge = LOOK["store"]
    cap = 0.34
    axes.add_patch(Ellipse((x, y - height / 2), width, cap, fc=fill, ec=edge, lw=1.4))
    axes.add_patch(Rectangle((x - width / 2, y - height / 2), width, height, fc=fill, ec="none"))
    for side in (-1, 1):
        edges = [x + side * width / 2] * 2
        axes.plot(edges, [y - height / 2, y + height / 2], color=edge, lw=1.4)
    axes.add_patch(Ellipse((x, y + height / 2), width, cap, fc=fill, ec=edge, lw=1.4))
    axes.text(x, y - 0.1, text, ha="center", va="center", fontsize=SIZE, color=INK, linespacing=1.25)


def arrow(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    *,
    shift: tuple[float, float] = (0, 0),
) -> None:
    """Draw who talks to whom, both ways, with what they say beside the middle."""
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="<|-|>", mutation_scale=11, color=INK, lw=1.1))
    middle = ((start[0] + end[0]) / 2 + shift[0], (start[1] + end[1]) / 2 + shift[1])
    if text:
        axes.text(*middle, text, ha="center", va="center", fontsize=SIZE, color=INK, style="italic", linespacing=1.2)


def one_machine(axes: Axes) -> None:
    """One process with the study, processes that evaluate, a file."""
    box(axes, 5, 4.6, "driver\nstudy.run(...)", "study", width=2.8)
    for x, name in ((1.8, "process 1"), (5, "process 2"), (8.2, "process n")):
        box(axes, x, 1.0, f"{name}\nevaluate", "worker")
    arrow(axes, (4.1, 4.1), (2.0, 1.5), "suggestion,\noutcome", shift=(-1.0, 0.3))
    arrow(axes, (5, 4.1), (5, 1.5))
    arrow(axes, (5.9, 4.1), (8.0, 1.5))
    store(axes, 9.3, 4.6, "shop.db\n(SQLite, WAL)", width=2.4)
    arrow(axes, (6.4, 4.6), (8.08, 4.6), "events", shift=(0, 0.28))
    axes.set_title("1  One machine", loc="left", fontweight="bold")


def many_workers(axes: Axes) -> None:
    """Every worker has the study; the database decides."""
    for x, name in ((1.8, "machine 1"), (5, "machine 2"), (8.2, "machine n")):
        box(axes, x, 4.5, f"worker, {name}\nask, evaluate, tell", "study", width=2.9)
    store(axes, 5, 1.1, "PostgreSQL\nthe log decides", width=3.4)
    arrow(axes, (2.0, 4.0), (3.7, 1.95), "ask, reveal, tell:\none transaction each", shift=(-1.75, -0.1))
    arrow(axes, (5, 4.0), (5, 1.95))
    arrow(axes, (8.0, 4.0), (6.3, 1.95))
    axes.text(
        8.35,
        2.9,
        "nobody in charge;\nworkers do not\nknow each other",
        fontsize=SIZE,
        color=INK,
        va="center",
        ha="left",
    )
    axes.set_title("2  One PostgreSQL, many workers", loc="left", fontweight="bold")


def on_dask(axes: Axes) -> None:
    """The driver has the study, dask moves evaluations."""
    box(axes, 2.3, 4.6, "driver\nstudy.run(executor=...)", "study", width=3.5)
    box(axes, 7.3, 4.6, "dask scheduler", "other", width=2.4)
    for x, name in ((4.6, "worker 1"), (7.3, "worker 2"), (10.0, "worker n")):
        box(axes, x, 1.0, f"{name}\nevaluate", "worker", width=2.2)
    arrow(axes, (4.05, 4.6), (6.1, 4.6), "tasks,\nresults", shift=(0, 0.42))
    arrow(axes, (6.8, 4.1), (4.9, 1.5))
    arrow(axes, (7.3, 4.1), (7.3, 1.5))
    arrow(axes, (7.8, 4.1), (9.7, 1.5))
    store(axes, 1.5, 1.1, "SQLite or\nPostgreSQL", width=2.4)
    arrow(axes, (1.5, 4.1), (1.5, 1.95), "events", shift=(-0.6, 0))
    axes.set_title("3  Dask", loc="left", fontweight="bold")


def with_optuna(axes: Axes) -> None:
    """Optuna's processes and storage; the sampler is Windward's."""
    for x in (2.6, 8.0):
        box(axes, x, 4.55, "", "other", width=4.4, height=1.7)
        axes.text(x, 5.12, "study.optimize(objective)", ha="center", va="center", fontsize=SIZE, color=INK)
        box(axes, x, 4.3, "WindwardSampler(policy)", "study", width=3.9, height=0.7)
    store(axes, 5.3, 1.1, "Optuna's storage\nSQLite, PostgreSQL,\njournal file", width=3.6, height=1.4)
    arrow(axes, (3.0, 3.68), (4.4, 2.05), "trials, attributes,\nclaims", shift=(-1.35, -0.1))
    arrow(axes, (7.6, 3.68), (6.2, 2.05))
    axes.text(8.0, 2.5, "contexts: user\nattributes of\nthe trial", fontsize=SIZE, color=INK, va="center", ha="left")
    axes.set_title("4  Optuna", loc="left", fontweight="bold")


def main() -> None:
    """Draw all four."""
    dressed()
    figure, grid = plt.subplots(2, 2, figsize=(12, 7.4), layout="constrained")
    for axes, draw in zip(grid.flat, (one_machine, many_workers, on_dask, with_optuna), strict=True):
        draw(axes)
        axes.set(xlim=(0, 11.3), ylim=(0, 5.8), aspect="equal")
        axes.axis("off")
    words = {"study": "has the study", "worker": "evaluates", "other": "another system", "store": "keeps the log"}
    marks = [Rectangle((0, 0), 1, 1, fc=LOOK[kind][0], ec=LOOK[kind][1], lw=1.2) for kind in words]
    figure.legend(marks, words.values(), loc="outside lower center", ncols=4)
    drawn(figure, Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
