"""The reproduction page: verdicts on records made by hand, the text people wrote, and the committed page itself."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from bench_helpers import made
from click.testing import CliRunner

import windward as ww
from windward.bench import verdicts
from windward.bench.experiments import experiment, experiments
from windward.bench.findings import Findings, read_findings
from windward.bench.page import UNSAID, write_page
from windward.bench.records import read_all, write_compact
from windward.cli.main import main

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "benchmarks" / "records"
LIMIT = 20_000_000
LATE = "verma2022-fig5"  # asy-TS, GP-BTS, GP-TS-SDF, on Poisson(10) and fixed 10


def late(values: dict[str, list[float]], *, problem: str = "Poisson(10)", rounds: int = 105) -> list[dict]:
    """Return records of the Thompson methods, a value for each seed."""
    return [
        made(LATE, problem, method, seed, value, rounds=rounds)
        for method, row in values.items()
        for seed, value in enumerate(row)
    ]


def kept(tmp_path: Path, records: list[dict], findings: str = "") -> Path:
    folder = tmp_path / "some" / "records"
    write_compact(records, folder / "made.jsonl.gz")
    (folder / "findings.toml").write_text(findings)
    return folder


@pytest.fixture(scope="module")
def committed():
    """The records that are kept, read once."""
    return read_all([KEPT])


def reported(folder: Path, page: Path, *more: str):
    return CliRunner().invoke(main, ["bench", "report", str(folder), "--page", str(page), "--no-figures", *more])


def verdicts_of(outcome: verdicts.Reproduction) -> dict[tuple[str, str], str]:
    return {(entry.claim.panel, entry.claim.second): entry.verdict for entry in outcome.claims}


def test_an_order_holds_fails_or_stays_open():
    # Lower is better. Against asy-TS: gaps 2, 3, 4, mean 3, half width 4.303 / sqrt(3) = 2.484: [0.52, 5.48].
    # Against GP-BTS: gaps -2, -3, -4: the same on the other side.
    one = late({"GP-TS-SDF": [5.0, 5.0, 5.0], "asy-TS": [7.0, 8.0, 9.0], "GP-BTS": [3.0, 2.0, 1.0]})
    found = verdicts.reproduction_of(experiment(LATE), one)
    told = {entry.claim.second: entry for entry in found.claims if entry.claim.panel == "(a) Poisson(10)"}
    assert told["asy-TS"].verdict == "holds" and told["GP-BTS"].verdict == "does not hold"
    assert told["asy-TS"].mean == pytest.approx(3.0)
    assert told["asy-TS"].low == pytest.approx(3.0 - 4.302653 / 3**0.5)
    assert {v for (panel, _), v in verdicts_of(found).items() if "fixed" in panel} == {"not run"}
    assert found.full and found.word == "partly"
    # Gaps 0, 3, 6: mean 3, half width 7.45: undecided.
    open_ = verdicts.reproduction_of(experiment(LATE), late({"GP-TS-SDF": [5.0] * 3, "asy-TS": [5.0, 8.0, 11.0]}))
    assert verdicts_of(open_)["(a) Poisson(10)", "asy-TS"] == "undecided" and open_.word == "undecided"


@pytest.mark.parametrize(
    ("second", "verdict"),
    [((10.0, 10.1, 9.9), "holds"), ((20.0, 20.1, 19.9), "does not hold"), ((10, 12, 14), "undecided")],
)
def test_level_is_a_fifth_of_the_size(second, verdict):
    name, panel = "huang2024-fig1", "Hartmann"  # SBO-KDE level with DRBO-KDE
    records = [made(name, panel, "SBO-KDE", 100 + place, 10.0) for place in range(3)]
    records += [made(name, panel, "DRBO-KDE", 100 + place, value) for place, value in enumerate(second)]
    found = verdicts.reproduction_of(experiment(name), records)
    told = [entry for entry in found.claims if (entry.claim.panel, entry.claim.relation) == (panel, "level")]
    assert [entry.verdict for entry in told] == [verdict]


def test_a_printed_number_agrees_where_two_means_could_differ_so():
    # Published for normal contexts at 10 samples: 0.3222. Means of 3 and 0.3; errors 1 / sqrt(3) of a spread of 0.1.
    name = "huang2024-table2"
    near = [made(name, "Normal", "as drawn", 100 + s, v, rounds=300) for s, v in enumerate((0.2, 0.3, 0.4))]
    for record in near:
        record |= {"at": [10], "series": {"total_variation": record["series"]["total_variation"][:1]}}
    found = verdicts.reproduction_of(experiment(name), near)
    assert [(entry.mark, entry.published, entry.agrees) for entry in found.agreements] == [(10, 0.3222, True)]
    # The printed error is 0.0327.
    assert found.agreements[0].half == pytest.approx(4.302653 * (0.0327**2 + 0.01 / 3) ** 0.5)
    far = [record | {"series": {"total_variation": [3.0 + 0.01 * record["seed"]]}} for record in near]
    judged = verdicts.reproduction_of(experiment(name), far)
    assert not judged.agreements[0].agrees and judged.word == "differs"


def test_other_data_are_not_compared_with_printed_numbers():
    name = "nguyen2020-table1"
    records = [made(name, "CNN", "MTBO", seed, 1.7, rounds=99) for seed in range(3)]
    assert verdicts.reproduction_of(experiment(name), records).agreements == []


def test_sizes_do_not_mix():
    full = late({"GP-TS-SDF": [5.0, 5.0, 5.0], "asy-TS": [7.0, 8.0, 9.0]})
    quick = late({"GP-TS-SDF": [9.0] * 3, "asy-TS": [1.0] * 3, "GP-BTS": [1.0] * 3}, rounds=40)
    other = late({"GP-TS-SDF": [9.0] * 3, "asy-TS": [1.0] * 3}, problem="fixed 10", rounds=40)
    found = verdicts.reproduction_of(experiment(LATE), [*quick, *other, *full])
    assert {record["rounds"] for record in found.records} == {105} and len(found.records) == 6
    assert verdicts.reproduction_of(experiment(LATE), [*quick, *other]).word == "not run at full size"


def test_a_small_run_is_shown_where_the_full_one_tells_of_no_claim():
    full = late({"asy-TS": [1.0, 1.0]})  # alone: no claim is about it alone
    quick = late({"GP-TS-SDF": [9.0, 9.1], "asy-TS": [1.0, 1.0]}, rounds=40)
    found = verdicts.reproduction_of(experiment(LATE), [*full, *quick])
    assert {record["rounds"] for record in found.records} == {40} and found.word == "not run at full size"
    assert verdicts.reproduction_of(experiment(LATE), full).records == full
    assert verdicts.reproduction_of(experiment(LATE), []).word == "not run"


def test_the_page_is_the_same_twice_and_shows_what_fails_first(tmp_path):
    records = late({"GP-TS-SDF": [5.0, 5.0, 5.0], "asy-TS": [7.0, 8.0, 9.0], "GP-BTS": [3.0, 2.0, 1.0]})
    folder = kept(tmp_path, records, f'[found.{LATE}]\ntext = "Looked for: a *sign*. Found: none."\n')
    page = tmp_path / "docs" / "page.md"
    assert reported(folder, page).exit_code == 0
    first = page.read_bytes()
    write_compact(reversed(read_all([folder])[0]), folder / "made.jsonl.gz")
    assert reported(folder, page).exit_code == 0
    assert page.read_bytes() == first
    text = page.read_text()
    section = text[text.index(f"## {LATE}") :].split("\n## ")[0]
    assert section.index("GP-TS-SDF ahead of GP-BTS") < section.index("GP-TS-SDF ahead of asy-TS")
    assert "| 3 [0.516, 5.48] | holds |" in section and "| -3 [-5.48, -0.516] | **does not hold** |" in section
    assert "Looked for: a *sign*. Found: none." in section
    row = next(line for line in text.splitlines() if line.startswith(f"| [{LATE}]"))
    # Nothing in the paper's text says it of this figure.
    assert "3 of 10 seeds, 105 rounds, 1 of 2 problems" in row and "|  | 1 / 1 / 0 |" in row
    assert "**partly**, before a change" in row and "All of these are our reading." in section
    assert "6 of 6 runs were made before" in section or "9 of 9 runs were made before" in section
    assert str(tmp_path) not in text and "some/records" in text
    assert all(f"| [{name}](#{name}) |" in text and f"\n## {name}\n" in text for name in experiments())


def test_more_seeds_than_the_papers_are_said(tmp_path):
    sentence = made("verma2022-fig1", "Poisson(10)", "GP-UCB-SDF", 0, 1.0)
    records = [
        sentence | {"method": method, "seed": seed, "series": {"received_regret": [value] * 105}}
        for method, value in (("GP-UCB-SDF", 23.81), ("GP-UCB", 30.1), ("GP-BUCB", 40.0))
        for seed in range(12)
    ]
    assert reported(kept(tmp_path, records), tmp_path / "page.md").exit_code == 0
    text = (tmp_path / "page.md").read_text()
    assert "12 seeds (10 in the paper), 105 rounds, 1 of 4 problems" in text
    assert 'All of these are said in Sec. 6.1: "achieves smaller simple regret".' in text
    assert "| 12 | 23.81 (0) | 23.81 (0) |" in text  # no digits of rounding


def test_a_claim_that_fails_needs_a_text(tmp_path):
    records = late({"GP-TS-SDF": [5.0, 5.0, 5.0], "GP-BTS": [3.0, 2.0, 1.0]})
    folder, page = kept(tmp_path, records), tmp_path / "page.md"
    done = reported(folder, page)
    assert done.exit_code == 1 and LATE in done.output and "say what was looked for" in done.output
    assert UNSAID in page.read_text()  # written all the same: the text is written by looking at it
    told = reported(folder, page, "--json")
    assert told.exit_code == 1 and json.loads(told.stdout)["lacking"] == [LATE]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[found.huang2024-fig9]\ntext = 'x'", "no experiment 'huang2024-fig9'; did you mean"),
        ("[found.huang2024-fig1]\ntext = ' '", "must be a text that says something"),
        ("[found.huang2024-fig1]\nwords = 'x'", "no entry 'words'"),
        ("[findings]", "no table 'findings'"),
        ("found = 3", "found must be a table"),
        ("[found", "it must be TOML"),
    ],
)
def test_bad_findings_are_refused(tmp_path, text, message):
    file = tmp_path / "findings.toml"
    file.write_text(text)
    with pytest.raises(ww.ArgumentError, match=re.escape(message)):
        read_findings(file, experiments())


def test_missing_findings_are_named(tmp_path):
    folder = kept(tmp_path, late({"GP-TS-SDF": [1.0]}))
    (folder / "findings.toml").unlink()
    done = reported(folder, tmp_path / "page.md")
    assert done.exit_code == 1 and "findings.toml" in done.output and "--findings" in done.output
    assert not (tmp_path / "page.md").exists()
    assert "goes with --page" in CliRunner().invoke(main, ["bench", "report", str(folder), "--findings", "x"]).output


def test_a_folder_without_records_is_refused(tmp_path):
    with pytest.raises(ww.ArgumentError, match=r"\(nor a \.jsonl\.gz\)"):
        read_all([tmp_path])


def test_figures_are_drawn_beside_the_page(tmp_path):
    pytest.importorskip("matplotlib")
    records = late({"GP-TS-SDF": [5.0, 5.5, 5.2], "asy-TS": [7.0, 8.0, 9.0]})
    write_page(records, Findings(), tmp_path / "page.md")
    png = tmp_path / "figures" / "reproduction" / f"{LATE}.png"
    assert png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 10_000
    assert f"](figures/reproduction/{LATE}.png)" in (tmp_path / "page.md").read_text()


def test_the_committed_page_is_what_its_records_give(tmp_path):
    page = tmp_path / "reproduction.md"
    done = reported(KEPT, page)
    assert done.exit_code == 0, done.output
    assert page.read_text() == (ROOT / "docs" / "reproduction.md").read_text(), (
        "docs/reproduction.md is stale: windward bench report benchmarks/records --page docs/reproduction.md"
    )


def test_a_stale_page_would_be_seen(tmp_path):
    folder = tmp_path / "benchmarks" / "records"
    shutil.copytree(KEPT, folder)
    (folder / "findings.toml").write_text((folder / "findings.toml").read_text().replace("cores", "wheels", 1))
    assert reported(folder, tmp_path / "page.md").exit_code == 0
    assert (tmp_path / "page.md").read_text() != (ROOT / "docs" / "reproduction.md").read_text()


def test_every_experiment_has_records_and_they_are_small(committed):
    records, torn = committed
    assert torn == 0
    lacking = [name for name, found in experiments().items() if not verdicts.reproduction_of(found, records).records]
    assert set(lacking) <= {"huang2024-table1"}, lacking  # a table of seconds is run on a quiet machine
    files = [*KEPT.iterdir(), *(ROOT / "docs" / "figures" / "reproduction").iterdir()]
    assert sum(file.stat().st_size for file in files) < LIMIT
    assert max(file.stat().st_size for file in files if file.suffix == ".png") < 1_000_000


def test_a_longer_figure_of_the_same_world_leaves_a_shorter_one_its_runs():
    def rows(rounds: int) -> list[dict]:
        return [
            made("huang2024-fig1", "Ackley", method, 100 + seed, value + seed, rounds=rounds)
            for method, value in (("SBO-KDE", 1.0), ("GP-UCB", 9.0))
            for seed in range(3)
        ]

    short, long = experiment("huang2024-fig1"), experiment("huang2024-fig1-300")
    both = [verdicts.reproduction_of(each, [*rows(100), *rows(300)]) for each in (short, long)]
    assert [{record["rounds"] for record in one.records} for one in both] == [{100}, {300}]
    assert [one.count("holds") for one in both] == [1, 1] and all(one.full for one in both)
    # Where there are none of its own, it takes what the longer ones began with.
    assert verdicts.reproduction_of(short, rows(300)).shown[0][1]["SBO-KDE"].at[-1] == 100
    assert not verdicts.reproduction_of(long, rows(100)).full


def test_other_data_of_the_same_kind_are_named(tmp_path):
    records = [made("nguyen2020-table1", "CNN", "MTBO", seed, 1.7, rounds=99) for seed in range(3)]
    assert reported(kept(tmp_path, records), tmp_path / "page.md").exit_code == 0
    text = (tmp_path / "page.md").read_text()
    assert "| 3 of 20 seeds, 99 rounds, 1 of 2 problems, digits for MNIST |" in text
    assert "Other data took the place of the paper's: digits for MNIST." in text


def test_other_data_are_never_the_full_size():
    found = experiments()["verma2022-fig3"]
    records = [
        {**made(found.name, case.name, method, seed, 0.1 if "SDF" in method else 0.3 + 0.001 * seed), "stand_in": "toy"}
        for case in found.cases
        for method in found.methods
        for seed in range(10)
    ]
    outcome = verdicts.reproduction_of(found, records)
    assert outcome.word == "not run at full size" and not outcome.agreements


def test_series_of_different_lengths_are_named():
    found = experiments()["verma2022-fig3"]
    first, second = (made(found.name, found.cases[0].name, "GP-UCB", seed, 0.2) for seed in (0, 1))
    name = found.metrics[0].name
    second["series"][name] = second["series"][name][:-1]
    with pytest.raises(ww.ArgumentError, match=r"different lengths, \[104, 105\]"):
        verdicts.reproduction_of(found, [first, second])


def test_a_folder_is_no_findings(tmp_path):
    with pytest.raises(ww.ArgumentError, match="cannot be read"):
        read_findings(tmp_path, ())
