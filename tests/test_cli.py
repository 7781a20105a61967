"""The command line: every command, its JSON, its exit codes, and a whole study from a shell script."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from helpers import with_windward_on_the_path
from warm_windward import command as warm_command

import windward as ww
from windward.basics.rephrase import as_command, as_request
from windward.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[1]
DECLARATION = """
name = "shop"
seed = 7
[decision.order]
part = "Real"
low = -1
high = 1
[decision.shelf]
part = "Categorical"
choices = ["top", "low", "2"]
[context.demand]
part = "Real"
[policy]
part = "Policy"
context_model = { part = "KernelDensity", count = 16 }
design = { part = "Sobol", count = 3 }
maximize = { part = "MultiStart", screen = 32, starts = 1, evaluations = 5 }
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A study in a folder of its own, made by `windward new`."""
    monkeypatch.setenv("WINDWARD_JOURNAL", f"sqlite:///{tmp_path}/log.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.toml").write_text(DECLARATION)
    assert run("new", "shop.toml").exit_code == 0
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def data(*arguments):
    answer = run(*arguments, "--json")
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


def test_every_command_has_help_an_example_and_json():
    for name in COMMANDS:
        if not COMMANDS[name].startswith("windward.cli."):
            continue
        answer = run(name, "--help")
        assert answer.exit_code == 0 and "Example" in answer.output and "--json" in answer.output, name
        command = main.get_command(click.Context(main), name)
        assert f"windward {name}" in command.help, name


def test_errors_advise_commands(shop):
    run("ask", "shop")
    run("tell", "shop", "0", "5", "-c", "demand=2")
    said = run("tell", "shop", "0", "99").stderr
    assert said.endswith("the first is kept; to correct it use windward amend shop 0 --value 99.0.\n"), said
    said = run("reveal", "shop", "0", "demand=3").stderr
    assert said.endswith("to correct it use windward amend shop 0 --context demand=3.0.\n"), said
    said = run("tell", "shop", "0", "5", "-d", "order=0.5", "-d", "shelf=low").stderr
    assert "windward amend shop 0 --decision order=0.5 --decision shelf=low." in said
    said = run("new", "shop.toml").stderr
    assert "exists already; continue it with windward ask shop, or choose another name." in said
    run("ask", "shop")
    assert "use windward tell shop 1 VALUE." in run("amend", "shop", "1", "--value", "3").stderr
    assert "use windward reveal shop 1 name=VALUE." in run("amend", "shop", "1", "-c", "demand=3").stderr


def test_a_value_without_its_context_says_how_to_reveal_it(shop):
    run("ask", "shop")
    assert "windward reveal shop 0 demand=VALUE" in run("tell", "shop", "0", "5").stdout
    assert data("status", "shop")["counts"]["arrived"] == 0 and data("status")[0]["awaiting_context"] == 1
    run("reveal", "shop", "0", "demand=2")
    assert "reveal" not in run("tell", "shop", "0", "5").stdout
    assert data("status", "shop")["counts"]["arrived"] == 1 and data("status")[0]["awaiting_context"] == 0


def test_an_empty_study_has_no_ids(shop):
    with pytest.raises(IndexError, match="no trial 0; there are none yet"):
        ww.Study.open("shop", journal=os.environ["WINDWARD_JOURNAL"]).trials[0]


def test_what_only_looks_like_advice_stays():
    for text in ("study.amend(1, value=(.", "study.amend(1, f(2)).", "study.amend(1, value=open('x')).", "x" * 20_000):
        assert as_command(f"no choice {text}", "shop") == f"no choice {text}"
        assert as_request(f"no choice {text}", "shop") == f"no choice {text}"


def test_help_does_not_wait_for_torch():
    for arguments in (["--help"], ["ask", "--help"], ["serve", "--help"], ["--version"]):
        code = f"""
import sys
from windward.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    pass
print([name for name in ("torch", "scipy", "sqlalchemy", "fastapi", "plotly", "numpy") if name in sys.modules])
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.splitlines()[-1] == "[]", done.stdout


def test_a_round_by_hand(shop):
    asked = data("ask", "shop", "--fix", "shelf=low", "-c", "demand=0.5")
    assert asked["id"] == 0 and asked["decision"]["shelf"] == "low" and asked["context"] == {"demand": 0.5}
    assert data("tell", "shop", "0", "-1.5", "--noise", "0.1")["value"] == -1.5
    assert run("ask", "shop").output.startswith("Trial 1: order=")
    assert data("reveal", "shop", "1", "demand=-3e-1")["context"] == {"demand": -0.3}
    assert run("tell", "shop", "1", "2", "-d", "order=0.25", "-d", "shelf=2").output == "Trial 1: value 2\n"
    assert data("amend", "shop", "1", "--value", "-0.5", "-c", "demand=0.75")["value"] == -0.5
    data("ask", "shop")
    assert data("lose", "shop", "2", "closed")["lost"] == "closed"
    data("ask", "shop", "--key", "again")
    assert data("ask", "shop", "--key", "again")["id"] == 3
    study = ww.Study.open("shop", journal=os.environ["WINDWARD_JOURNAL"])
    assert [trial.value for trial in study.trials] == [-1.5, -0.5, None, None]
    assert study.trials[1].decision == {"order": 0.25, "shelf": "2"} and study.trials[1].context == {"demand": 0.75}
    assert study.seed == 7


def test_numbers_may_have_a_decimal_comma(shop):
    run("ask", "shop")
    run("tell", "shop", "0", "-35,5", "--noise", "0,125", "--context", "demand=0,25")
    trial = ww.Study.open("shop", journal=os.environ["WINDWARD_JOURNAL"]).trials[0]
    assert (trial.value, trial.noise, trial.context) == (-35.5, 0.125, {"demand": 0.25})
    answer = CliRunner().invoke(main, ["amend", "shop", "0", "--value", "1,200"])
    assert answer.exit_code == 2 and "'1,200' may be 1.200 or 1200; write the one that you mean." in answer.output
    answer = CliRunner().invoke(main, ["tell", "shop", "0", "35,5 EUR"])
    assert answer.exit_code == 2 and "'35,5 EUR' is not a number." in answer.output


def test_what_is_said_of_a_study(shop):
    for id, demand in enumerate((0.2, 0.9, 0.4)):
        data("ask", "shop")
        data("tell", "shop", str(id), str(1.0 - demand), "-c", f"demand={demand}")
    data("ask", "shop")
    said = run("recommend", "shop").output
    assert said.startswith("It is too early for advice") and "With 90 % probability" in said
    assert "3 results that have arrived. 1 result is still on the way" in said
    found = data("recommend", "shop", "-c", "demand=0.5")
    assert found["contexts"] == [{"demand": 0.5}] and found["interval"][0] <= found["interval"][1]
    status = data("status", "shop")
    counts = {"trials": 4, "told": 3, "pending": 1, "lost": 0, "arrived": 3, "awaiting_context": 0}
    assert status["counts"] == counts
    assert "pending 3: order=" in run("status", "shop").output
    assert [row["name"] for row in data("status")] == ["shop"] and "shop" in run("status").output
    assert [row["state"] for row in data("trials", "shop")] == ["told"] * 3 + ["pending"]
    table = run("trials", "shop", "--state", "pending").output
    assert len(re.findall(r"pending", table)) == 1 and "told" not in table


def test_a_damaged_study_does_not_hide_the_others(shop):
    assert run("new", "shop.toml", "--name", "damaged").exit_code == 0
    with closing(sqlite3.connect(shop / "log.db")) as database:
        database.execute("UPDATE events SET body = '{}' WHERE study = 'damaged'")
        database.commit()
    answer = run("status")
    assert answer.exit_code == 0 and "shop" in answer.stdout and "version None" in answer.stderr
    rows = {row["name"]: row for row in data("status")}
    assert "version None" in rows["damaged"]["error"] and rows["shop"]["error"] is None and rows["shop"]["trials"] == 0


def test_a_report_that_cannot_be_written_is_an_error(shop, monkeypatch):
    def full(self, *arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    answer = run("report", "shop", "-o", "report.html")
    assert answer.exit_code == 1 and "'report.html': cannot be written (No space left" in answer.stderr


def test_csv_goes_out_and_comes_in_again(shop):
    for id, demand in enumerate((0.2, 0.9)):
        data("ask", "shop")
        data("tell", "shop", str(id), str(demand / 3), "-c", f"demand={demand}")
    data("ask", "shop")
    (shop / "trials.csv").write_text(run("trials", "shop", "--csv").output)
    assert run("new", "shop.toml", "--name", "copy").exit_code == 0
    counts = {"already_there": 0, "without_value": 1, "notes": []}
    assert data("import", "copy", "trials.csv") == {"added": [0, 1], **counts}
    answer = run("import", "copy", "trials.csv")
    assert answer.exit_code == 0 and answer.output == "2 already there, 0 added, 1 without a value.\n"
    old, new = (ww.Study.open(name, journal=os.environ["WINDWARD_JOURNAL"]).trials for name in ("shop", "copy"))
    for before, after in zip(old.arrived, new.arrived, strict=True):
        assert (before.decision, before.context, before.value) == (after.decision, after.context, after.value)
    assert data("import", "copy", "trials.csv", "--again")["added"] == [2, 3]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("order,shelf,demand,value\n0.5,top,1,2\n0.5,top,x,2\n", "line 3: context 'demand' must be a number"),
        ("order,shelf,demand,value\n0.5,top,1\n", "line 2: it has more or fewer cells"),
        ("order,shelf,demand,value\n0.5,side,1,2\n", "'side' is none of its choices: top, low, 2"),
        ("order,shelf,demand,value\n0.5,top,1,nan\n", "line 2"),
        ("order,shelf,demand,value,noise\n0.5,top,1,2,-1\n", "noise must be >= 0"),
        ("order,shelf,value\n0.5,top,2\n", "no column 'demand'"),
        ("order,shelf,demand\n0.5,top,2\n", "no column 'value'"),
        (
            "order,shelf,demand,value,price\n0.5,top,1,2,3\n",
            "column 'price' is neither a decision nor a context; needed are order, shelf, demand, value",
        ),
        (
            "order;shelf;demand;value\n0,5;top;1;2\n0.5;top;1;2\n",
            "line 3: '0.5' has a point, and numbers above it",
        ),
        ("order;shelf;demand;value\n0,5;top;1;1.000,5\n", "'1.000,5' has a sign between thousands"),
        ("", "the file is empty"),
    ],
)
def test_a_wrong_row_adds_nothing(shop, text, says):
    (shop / "bad.csv").write_text(text)
    answer = run("import", "shop", "bad.csv")
    assert answer.exit_code == 1 and says in answer.stderr and "Nothing was added" in answer.stderr
    assert data("status", "shop")["counts"]["trials"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["ask", "shpo"], 1, "no study named 'shpo'"),
        (["new", "shop.toml"], 1, "exists already"),
        (["tell", "shop", "9", "1.0"], 1, "has no trial 9"),
        (["tell", "shop", "0", "nan"], 1, "must be finite"),
        (["reveal", "shop", "0", "demand"], 1, "write NAME=VALUE"),
        (["reveal", "shop", "0", "sky=1"], 1, "unknown context 'sky'"),
        (["reveal", "shop", "0", "demand=1", "demand=2"], 1, "given twice"),
        (["ask", "shop", "-f", "order=7"], 1, "must lie in [-1, 1]"),
        (["ask", "shop", "-f", "order=x"], 1, "must be a number"),
        (["ask", "shop", "--key", "a b"], 1, "printable ASCII"),
        (["recommend", "shop"], 1, "nothing has arrived"),
        (["report", "shop", "-o", "no/such/folder.html"], 1, "folder that exists"),
        (["serve", "--host", "0.0.0.0"], 1, "WINDWARD_ADMIN_TOKEN"),
        (["tell", "shop", "0"], 2, "Missing argument"),
        (["tell", "shop", "zero", "1"], 2, "not a valid integer"),
        (["trials", "shop", "--csv", "--json"], 2, "not both"),
        (["recomend", "shop"], 2, "No such command 'recomend' (did you mean 'recommend'?)."),
        (["new", "missing.toml"], 2, "does not exist"),
        (["ask", "shop", "--no-such-option"], 2, "No such option"),
        (["ask", "shop", "--journal", "sqlite:////no/such/folder/x.db"], 3, "does not exist"),
        (["ask", "shop", "--journal", "mystery://x"], 3, "not a usable database URL"),
        (["serve", "--journal", "sqlite:////no/such/folder/x.db"], 3, "does not exist"),
    ],
)
def test_exit_codes(shop, monkeypatch, arguments, code, says):
    monkeypatch.delenv("WINDWARD_ADMIN_TOKEN", raising=False)
    run("ask", "shop")
    answer = run(*arguments)
    assert answer.exit_code == code, answer.output
    assert says in answer.stderr and answer.stdout == "" and "Traceback" not in answer.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 5\n[decision.a]\npart='Real'\nlow=0\nhigh=1", "name=5"),
        ("[decision.a]\npart='Real'\nlow=0\nhigh=1", 'needs a name: write name = "shop" at the top'),
        ("[decision.a]\npart='Real'\nlow=0\nhigh=1\nname='x'", "the name 'x' is inside the table [decision.a]"),
        ("name='x'", "needs a decision"),
        ("name='x'\n[decision.a]\npart='real'\nlow=0\nhigh=1", "(did you mean 'Real'?)"),
        ("name='x'\n[decision.a]\npart='Real'\nlow=0\nhigh=1\n[policy]\nmethod='sbo-kde'", "(did you mean 'sbo_kde'"),
        ("name='x'\nnonsense=1\n[decision.a]\npart='Real'\nlow=0\nhigh=1", "no field 'nonsense'"),
        ("name='x'\n[decision.a]\npart='Reel'\nlow=0\nhigh=1", "unknown part 'Reel'"),
        ("name='x'\n[decision.a]\npart='Real'\nlow=0\nhigh=1\n[policy]\nmethod='magic'", "unknown method 'magic'"),
        ("name='x'\n[decision.a]\npart='Real'\nlow=0\nhigh=1\n[policy]\nmethod='sbo_kde'\ncolour=1", "colour"),
        ("name='x'\n[decision.a]\npart='Real'\nlow=2024-01-01\nhigh=1", "must be a number"),
        ("name = ", "cannot be read"),
    ],
)
def test_declarations_that_are_wrong(tmp_path, text, says):
    (tmp_path / "bad.toml").write_text(text)
    answer = run("new", str(tmp_path / "bad.toml"), "--journal", f"sqlite:///{tmp_path}/x.db")
    assert answer.exit_code == 1 and "bad.toml" in answer.stderr and says in answer.stderr, answer.stderr


@dataclass(frozen=True)
class OnTheSafeSide:
    monotone = True

    def bind(self, situation):
        return ww.Minimum().bind(situation)


def test_a_study_with_parts_of_ones_own_is_opened_from_python(tmp_path):
    url = f"sqlite:///{tmp_path}/own.db"
    policy = ww.Policy(context_model=ww.Empirical(), objective=OnTheSafeSide())
    space = ww.Space({"order": ww.Real(0, 1)}, {"demand": ww.Real(0, 1)})
    ww.Study(space, policy, journal=url, name="own", parts=[OnTheSafeSide])
    asked = run("ask", "own", "--journal", url)
    said = asked.stderr
    assert asked.exit_code == 1  # the storage was reached
    assert (
        "unknown part 'OnTheSafeSide'; with a class of your own, open the study from Python with parts=[...]." in said
    )
    assert len(said) < 300
    with pytest.raises(ww.JournalError, match=r"pass a class of your own with parts=\[...\]"):
        ww.Study.open("own", journal=url)


def test_names_cannot_steer_a_terminal(shop):
    # Such names are refused today; an older study may have them.
    name, choice = "[red]\x1b[2Jx[/red]", "\x1b]0;title\x07"
    refused = run("new", "shop.toml", "--name", name)
    assert refused.exit_code == 1 and "no newlines, tabs or other control characters" in refused.stderr
    with closing(sqlite3.connect(shop / "log.db")) as database:
        database.execute("UPDATE studies SET name = ?", (name,))
        written = json.dumps(choice)[1:-1]
        database.execute("UPDATE events SET study = ?, body = replace(body, '\"top\"', ?)", (name, f'"{written}"'))
        database.commit()
    outputs = [run("ask", name).output, run("status").output, run("trials", name).output, refused.stderr]
    assert all("\x1b" not in output and "\x07" not in output for output in outputs)
    assert "[red]\\x1b[2Jx[/red]" in outputs[1]


@pytest.mark.slow
def test_the_example_script_runs_a_whole_study(tmp_path):
    environment = with_windward_on_the_path(tmp_path)
    script = [str(ROOT / "examples" / "shop.sh"), str(tmp_path)]
    with warm_command(tmp_path, environment):
        done = subprocess.run(script, capture_output=True, text=True, env=environment, timeout=280)
        again = subprocess.run(script, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Set order to" in done.stdout and "13 told, 0 pending, 1 lost" in done.stdout
    study = ww.Study.open("shop", journal=f"sqlite:///{tmp_path}/shop.db")
    assert study.trials[0].value == 81.5 and study.trials[12].lost == "the till was broken"
    first = study.trials[10]
    order, demand = first.decision["order"], first.context["demand"]
    assert first.value == pytest.approx(9 * min(order, demand) + max(0, order - demand) - 5 * order, rel=1e-4)
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 15
    assert "What to do now" in (tmp_path / "report.html").read_text()
    assert again.returncode == 1 and "exists already" in again.stderr  # it stops at the first error


def test_delete_asks_for_the_name(shop):
    answer = CliRunner().invoke(main, ["delete", "shop"], input="shp\n")
    assert answer.exit_code == 1 and "'shp' is not the study's name, 'shop'; nothing was deleted." in answer.output
    assert "This deletes 'shop' for good: 0 told" in answer.output and "shop" in run("status").output
    assert run("delete", "shop", "--yes", "no").exit_code == 1
    assert CliRunner().invoke(main, ["delete", "shop"], input="\n").exit_code == 1
    answer = CliRunner().invoke(main, ["delete", "shop"], input="shop\n")
    assert answer.exit_code == 0 and answer.output.endswith("Deleted 'shop'.\n")
    assert run("delete", "shop", "--yes", "shop").exit_code == 1  # it is gone
    assert "shop" not in run("status").output


def test_whatif_says_what_another_decision_would_be_worth(shop):
    for place, order in enumerate((-0.5, 0.1, 0.8, 0.3)):
        assert run("ask", "shop", "--fix", f"order={order}").exit_code == 0
        assert run("tell", "shop", str(place), str(-((order - 0.2) ** 2)), "-c", f"demand={place}").exit_code == 0
    best = data("recommend", "shop")["decision"]["shelf"]
    said = run("whatif", "shop", "order=0.5").output
    assert (
        said.startswith(f"This is what order 0.5 and shelf {best} would be worth.\n")
        and "Its estimated value is " in said
    )
    assert data("whatif", "shop", "order=-0.5", "shelf=top")["decision"] == {"order": -0.5, "shelf": "top"}
    assert "unknown decision 'ordr'" in run("whatif", "shop", "ordr=55").output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_names(shop, shell, monkeypatch):
    monkeypatch.setenv("_WINDWARD_COMPLETE", f"{shell}_source")
    assert "_WINDWARD_COMPLETE" in CliRunner().invoke(main, prog_name="windward").output
    monkeypatch.setenv("_WINDWARD_COMPLETE", f"{shell}_complete")
    for words, there in (("windward reco", "recommend"), ("windward recommend sh", "shop")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")) if shell != "fish" else words.split(" ")[-1])
        assert there in CliRunner().invoke(main, prog_name="windward").output, words
    monkeypatch.setenv("WINDWARD_JOURNAL", "sqlite:////nowhere/at/all.db")
    assert CliRunner().invoke(main, prog_name="windward").output.strip() == ""  # a shell shows no errors
