"""What is made of the runs: comparisons by hand, records, reports and their figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from bench_helpers import TOY, Silent, made_record, read, run
from click.testing import CliRunner

import windward as ww
from windward.bench import compare, figures, metrics, provenance, records, runner, summary
from windward.bench.experiment import Claim, Curve, Panel
from windward.bench.experiments import experiment, experiments
from windward.cli.main import main


def test_paired_differences_by_hand():
    """Gaps 1, 2, 3: mean 2, s = 1, t(2 degrees) = 4.302653: 2 +- 2.484."""
    rows = [made_record("SBO-KDE", seed, [0.0, 10.0 * seed]) for seed in range(3)]
    rows += [made_record("Random", seed, [0.0, 10.0 * seed + seed + 1]) for seed in range(3)]
    panel = TOY.panels[0]
    runs = compare.runs_of(panel, rows)
    assert runs["SBO-KDE"].mean().tolist() == [0.0, 10.0]
    assert runs["SBO-KDE"].error().tolist() == pytest.approx([0.0, 10.0 / math.sqrt(3)])
    found = compare.difference(Claim("toy", "SBO-KDE", "Random"), panel, runs)
    assert (found.mark, found.pairs, found.mean) == (2, 3, 2.0)
    assert (found.low, found.high) == pytest.approx(
        (2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)), abs=1e-6
    )
    assert found.verdict == "undecided"
    higher = replace(panel, metric=replace(panel.metric, lower=False))
    assert compare.difference(Claim("toy", "SBO-KDE", "Random"), higher, runs).mean == -2.0
    assert compare.difference(Claim("toy", "SBO-KDE", "nobody"), panel, runs).verdict == "not run"


@pytest.mark.parametrize(
    ("relation", "low", "high", "verdict"),
    [
        ("ahead", 0.1, 1.0, "holds"),
        ("ahead", -1.0, -0.1, "does not hold"),
        ("ahead", -1.0, 1.0, "undecided"),
        ("level", -0.4, 0.3, "holds"),
        ("level", 0.1, 0.4, "holds"),
        ("level", -1.0, 1.0, "undecided"),
        ("level", 0.1, 1.0, "undecided"),
        ("level", 0.6, 1.0, "does not hold"),
        ("level", -1.0, -0.6, "does not hold"),
        ("near", -0.4, 9.0, "holds"),
        ("near", -0.6, 9.0, "undecided"),
        ("near", -1.0, -0.6, "does not hold"),
    ],
)
def test_verdicts(relation, low, high, verdict):
    assert compare.judged(Claim("p", "a", "b", relation), low, high, margin=0.5) == verdict


def test_level_is_a_fifth_of_the_size():
    """Means 9 and 11: size 10, margin 2; gaps 2 +- 0 are level, gaps 3 of means 9 and 12 (margin 2.1) are not."""
    panel = TOY.panels[0]
    for other, verdict in ((11.0, "holds"), (12.0, "does not hold")):
        rows = [made_record("SBO-KDE", seed, [9.0]) for seed in range(3)]
        rows += [made_record("Random", seed, [other]) for seed in range(3)]
        claim = Claim("toy", "SBO-KDE", "Random", "level")
        assert compare.difference(claim, panel, compare.runs_of(panel, rows)).verdict == verdict


def test_one_seed_decides_nothing_and_only_common_seeds_are_paired():
    panel = TOY.panels[0]
    rows = [made_record("SBO-KDE", seed, [0.0, 1.0]) for seed in (0, 1)] + [made_record("Random", 1, [0.0, 5.0])]
    found = compare.difference(TOY.claims[0], panel, compare.runs_of(panel, rows))
    assert (found.pairs, found.mean, found.verdict) == (1, 4.0, "undecided")


def test_runs_of_a_quick_look_do_not_mix_with_the_others():
    rows = [made_record("SBO-KDE", 0, [1.0], rounds=1), made_record("SBO-KDE", 0, [1.0, 2.0])]
    assert [record["rounds"] for record in compare.longest(TOY, rows)] == [2]


def test_some_methods_may_have_fewer_rounds_at_full_size():
    brief = replace(TOY, cases=(replace(TOY.cases[0], rounds=9, shorter={"Random": 2}),))
    rows = [
        made_record("SBO-KDE", 0, [0.0] * 9, rounds=9),
        made_record("SBO-KDE", 1, [0.0] * 4, rounds=4),
        made_record("Random", 0, [1.0, 2.0]),
    ]
    assert [(r["method"], r["rounds"]) for r in compare.longest(brief, rows)] == [("SBO-KDE", 9), ("Random", 2)]
    assert [job.rounds for job in runner.sized(brief, runner.RunSettings(out=Path("x"), seeds=(0,)))[1]] == [9, 2]
    # A panel of the first rounds shows both.
    short = replace(TOY.panels[0], marks=(1, 2), upto=2)
    runs = compare.runs_of(short, compare.longest(brief, rows))
    assert {label: found.at for label, found in runs.items()} == {"SBO-KDE": (1, 2), "Random": (1, 2)}


def test_how_many_seeds_would_decide():
    """Gaps of mean 2 and deviation 1 lie across 0 with three seeds: t(n - 1) / sqrt(n) < 2 from n = 4 on (3.182 / 2)."""
    gaps = np.array([1.0, 2.0, 3.0])
    assert compare.seeds_needed(Claim("toy", "a", "b"), gaps, 0.0) == 4
    assert compare.seeds_needed(Claim("toy", "a", "b", "level"), gaps, 1.9) > 100  # 0.1 from the band's edge
    assert compare.seeds_needed(Claim("toy", "a", "b"), np.array([-1.0, 1.0]), 0.0) is None


def test_where_a_record_comes_from(tmp_path, monkeypatch):
    run(TOY, tmp_path, seeds=(0,), rounds=1, cases=("toy",), methods=("Random",))
    (record,) = read(tmp_path)
    assert record["commit"] == provenance.commit() and provenance.outdated(record) == []
    old = record | {"began": "2026-11-01T00:00:00+00:00", "world": "huang2024"}
    del old["commit"]
    change = provenance.Change("2026-11-02T00:00", "a sign", ("huang2024",), ("Ran",))
    monkeypatch.setattr(provenance, "CHANGES", (change,))
    assert provenance.outdated(old) == provenance.since([record, old]) == [change]
    assert provenance.outdated(old | {"method": "SBO-KDE"}) == provenance.outdated(old | {"world": "tay2024"}) == []
    named, without = provenance.commits([record | {"commit": "abc"}, old])
    assert named == ["abc"] and without == 1


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A small run of an experiment that takes no study."""
    out = tmp_path_factory.mktemp("table2")
    before = torch.get_num_threads()
    runner.run_experiment(
        experiment("huang2024-table2"), runner.RunSettings(out=out, seeds=(100, 101, 102), workers=1), Silent()
    )
    torch.set_num_threads(before)
    return out


def test_a_report_from_records_alone(table, tmp_path):
    answer = CliRunner().invoke(main, ["bench", "report", str(table), "--out", str(tmp_path / "page")])
    assert answer.exit_code == 0, answer.output
    page = (tmp_path / "page" / "huang2024-table2.md").read_text()
    rows = read(table)
    values = [r["series"]["total_variation"][-1] for r in rows if (r["problem"], r["method"]) == ("Normal", "as drawn")]
    assert summary.number(float(np.mean(values))) in page and "0.0962" in page
    assert "12 of the paper's 80 runs" in page
    png = (tmp_path / "page" / "huang2024-table2.png").read_bytes()
    assert png.startswith(b"\x89PNG") and len(png) > 10_000
    html = (tmp_path / "page" / "huang2024-table2.html").read_text()
    assert "plotly.min.js" in html and "as drawn" in html
    assert '"text":"samples"' in html and '"text":"round"' not in html and '"mode":"lines"' in html
    assert (tmp_path / "page" / "plotly.min.js").exists()


def test_the_compact_form_gives_the_same_report(table, tmp_path):
    small = tmp_path / "kept" / "runs.jsonl.gz"
    folders = [str(tmp_path / name) for name in ("a", "b")]
    first = ["bench", "report", str(table), "--compact", str(small), "--out", folders[0], "--no-figures"]
    assert CliRunner().invoke(main, first).exit_code == 0
    assert CliRunner().invoke(main, ["bench", "report", str(small), "--out", folders[1], "--no-figures"]).exit_code == 0
    pages = [Path(folder, "huang2024-table2.md").read_text() for folder in folders]
    assert pages[0] == pages[1]
    written = small.read_bytes()
    records.write_compact(records.read_all([table])[0], small)
    assert small.read_bytes() == written  # the same records, the same bytes


def test_a_compact_study_record_keeps_decisions_and_series(tmp_path):
    run(TOY, tmp_path, cases=("toy",), seeds=(0,))
    record = read(tmp_path)[0]
    small = records.compact(record)
    assert small["decisions"] == [[float(f"{x:.5g}")] for (x,) in record["decisions"]]
    assert len(small["series"]["regret"]) == 6 and "ask_seconds" not in small and small["ask_total"] > 0


def test_a_long_run_keeps_every_fifth_round_in_the_compact_form():
    record = made_record("SBO-KDE", 0, [float(place) for place in range(1, 503)], rounds=502)
    small = records.compact(record)
    assert small["at"][:2] == [5, 10] and small["at"][-2:] == [500, 502]
    assert small["series"]["cumulative_regret"] == [float(at) for at in small["at"]]
    panel = replace(TOY.panels[0], marks=(3, 100, 502))
    runs = compare.runs_of(panel, [small, made_record("Random", 0, [0.0] * 502, rounds=502)])
    assert compare.marks_of(panel, runs) == [100, 502]


def test_a_record_of_a_later_format_is_refused(tmp_path):
    (tmp_path / records.FILE).write_text(json.dumps({"format": 99}) + "\n")
    with pytest.raises(ww.ArgumentError, match="use a newer windward"):
        records.read_all([tmp_path])
    with pytest.raises(ww.ArgumentError, match=r"there is no runs\.jsonl there"):
        records.read_all([tmp_path / "nowhere"])


def test_ties_are_all_bold():
    """1.00001 and 1 are both printed as 1."""
    ends = {"SBO-KDE": 1.0, "Random": 1.00001, "GP-UCB": 1.1}
    curves = tuple(Curve(name, "toy", name) for name in ends)
    panel = replace(TOY.panels[0], curves=curves)
    rows = [made_record(name, seed, [0.0, end]) for name, end in ends.items() for seed in range(2)]
    lines = summary.table(TOY, panel, compare.runs_of(panel, rows))
    assert [line.split(" | ")[0] for line in lines[-4:-1]] == ["| **SBO-KDE**", "| **Random**", "| GP-UCB"]


def test_styles_are_those_of_the_method_and_differ():
    labels = ["SBO-KDE", *(f"mine {i}" for i in range(20)), "GP-UCB"]
    styles = figures.styles_of(labels)
    assert styles["SBO-KDE"] == figures.STYLES["SBO-KDE"] and len(set(styles.values())) == len(labels)
    both = figures.styles_of(["GP-UCB-SDF", "SBO-KDE"])  # of two papers, and each its paper's blue
    assert both["SBO-KDE"] == figures.STYLES["SBO-KDE"] != both["GP-UCB-SDF"]


def test_no_two_methods_of_a_figure_look_alike():
    for each in experiments().values():
        labels = list(dict.fromkeys(curve.label for panel in each.panels for curve in panel.curves))
        own = [figures.STYLES[label] for label in labels if label in figures.STYLES]
        assert len(set(own)) == len(own), each.name
        assert len(set(figures.styles_of(labels).values())) == len(labels)


def test_a_panel_that_shows_what_another_does_is_drawn_once():
    metric = replace(metrics.REGRET, name="cumulative_regret")
    first = Panel(title="100 rounds", metric=metric, marks=(2,), curves=(Curve("mine", "toy", "SBO-KDE"),))
    rows = [made_record("SBO-KDE", 0, [1.0, 0.5])]
    shown = [(panel, compare.runs_of(panel, rows)) for panel in (first, replace(first, title="300 rounds"))]
    other = replace(first, curves=(Curve("other", "toy", "SBO-KDE"),))
    shown.append((other, compare.runs_of(other, rows)))
    assert [panel for panel, _ in figures._each_once(shown)] == [first, other]


def test_a_long_title_stays_in_its_picture(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    saved = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (saved(self, *a, **k), drawn.append(self)))
    metric = replace(metrics.REGRET, name="cumulative_regret")
    panel = Panel(title="one", metric=metric, marks=(2,), curves=(Curve("mine", "toy", "SBO-KDE"),))
    shown = [(panel, compare.runs_of(panel, [made_record("SBO-KDE", 0, [1.0, 0.5])]))]
    title = "Huang2024, Fig. 2: mean and one standard error (5 of 5 seeds, 100 rounds)"
    figures.draw_png(shown, title, tmp_path / "one.png")
    wide = drawn[0]._suptitle.get_window_extent(dpi=150).width
    assert wide <= 150 * drawn[0].get_figwidth() and drawn[0].get_suptitle().replace("\n", " ") == title


@pytest.mark.parametrize(("low", "high"), [(0.11, 0.9), (2e-4, 0.3), (3.0, 3e6)])
def test_labels_of_a_log_axis_do_not_clash(low, high):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.3, 2.75), dpi=150)
    axis = figure.subplots()
    axis.set_yscale("log")
    axis.set_ylim(low, high)
    figures._log_ticks(axis.yaxis, low, high)
    figure.draw_without_rendering()
    boxes = [
        text.get_window_extent()
        for text in axis.get_yticklabels(which="both")
        if text.get_text() and low <= text.get_position()[1] <= high
    ]
    assert len(boxes) >= 2
    heights = sorted((box.y0, box.y1) for box in boxes)
    assert all(below[1] <= above[0] for below, above in pairwise(heights))


def test_a_log_axis_and_curves_that_begin_late(tmp_path):
    metric = replace(metrics.REGRET, name="cumulative_regret")
    panel = Panel(title="late", metric=metric, marks=(2,), curves=(Curve("mine", "toy", "SBO-KDE"),))
    rows = [made_record("SBO-KDE", seed, [None, 1.0 + seed, 0.5], rounds=3) for seed in range(2)]
    shown = [(panel, compare.runs_of(panel, rows))]
    figures.draw_png(shown, "late", tmp_path / "late.png")
    figures.draw_html(shown, "late", tmp_path / "late.html")
    assert (tmp_path / "late.png").stat().st_size > 5_000
    assert summary.table(TOY, panel, shown[0][1])[-2] == "| **mine** | 2 | 1.5 (0.5) | 0.5 (0) |"
