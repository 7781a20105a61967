"""Telling and reading need no torch, which takes seconds to import: neither in their modules nor on the command line."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers import SHOP, policy

import windward as ww
from windward.cli.main import main
from windward.journal.sql import SqlJournal

ROOT = Path(ww.__file__).parent
MODULES = sorted(
    {f"windward.journal.{path.stem}".removesuffix(".__init__") for path in (ROOT / "journal").glob("*.py")}
    | {"windward.trials", "windward.trials.records", "windward.trials.ledger"}
    | {"windward.study", "windward.study.log", "windward.study.tell", "windward.study.run"}
    | {"windward.present.records", "windward.cli.rounds", "windward.cli.studies", "windward.cli.history"}
)
# Runs a command as `windward` does, then says on the last line of stderr whether torch was imported.
COMMAND = """
import sys
from windward.cli.main import main

code = 0
try:
    main(sys.argv[1:], standalone_mode=False)
except SystemExit as end:
    code = end.code
print("torch" in sys.modules, file=sys.stderr)
sys.exit(code)
"""


# Loads the command line and its database once, without torch, then is `python -c CODE ARGUMENTS` in one fork after another:
# what it has loaded has not loaded torch, and what a fork loads besides is seen in that fork.
FORKING = """
import json, os, sys, traceback
import rich.console, rich.table, sqlalchemy.dialects.sqlite, windward.cli.main, windward.journal.sql

assert "torch" not in sys.modules
for line in sys.stdin:
    code, arguments, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        sys.argv, ended = ["-c", *arguments], 0
        try:
            exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
            ended = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return what runs code in a process without torch, and returns its exit code and what it wrote."""
    out, err = (tmp_path_factory.mktemp("said") / name for name in ("out", "err"))
    command = [sys.executable, "-c", FORKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:

        def run(code, *arguments):
            process.stdin.write(json.dumps([code, arguments, str(out), str(err)]) + "\n")
            process.stdin.flush()
            ended = int(process.stdout.readline())
            return subprocess.CompletedProcess(
                code, ended, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
            )

        yield run
        process.stdin.close()


def test_a_cold_command_needs_no_torch(url):
    """As a person starts it; the tests below fork it."""
    command = [sys.executable, "-c", COMMAND, "status", "shop", "--journal", url]
    answer = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert (answer.returncode, answer.stderr.splitlines()) == (0, ["False"])


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop")
    for _ in range(3):
        study.ask()
    study.tell(2, 0.5)
    return url


@pytest.mark.parametrize("module", MODULES)
def test_imports_without_torch(python, module):
    answer = python(f"import sys, {module}; print('torch' in sys.modules)")
    assert answer.stdout.strip() == "False", answer.stderr


@pytest.mark.parametrize("room", ["basics", "space"])
def test_a_room_imports_without_torch(python, room):
    files = [
        path for path in (ROOT / room).glob("*.py") if path.stem != "polytope"
    ]  # tensors; loaded where they are needed
    names = sorted(f"windward.{room}.{path.stem}".removesuffix(".__init__") for path in files)
    answer = python(f"import sys, {', '.join(names)}; print('torch' in sys.modules)")
    assert answer.stdout.strip() == "False", answer.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tell", "shop", "0", "1.5", "--context", "demand=0.25"], "Trial 0: value 1.5"),
        (["tell", "shop", "0", "1.5", "--json"], '"value": 1.5'),
        (["tell", "shop", "0", "1.5"], "windward reveal shop 0 demand=VALUE"),
        (["reveal", "shop", "0", "demand=0.25"], "Trial 0: context demand=0.25"),
        (["lose", "shop", "1", "closed"], "Trial 1: lost, closed"),
        (["amend", "shop", "2", "--value", "0.75"], "Trial 2: amended"),
        (["trials", "shop"], "pending"),
        (["trials", "shop", "--json"], '"state": "pending"'),
        (["trials", "shop", "--csv"], "id,decision.order,context.demand,value"),
        (["status", "shop"], "1 told (1 awaiting context), 2 pending, 0 lost"),
        (["status"], "maximize"),
        (["status", "--json"], '"trials": 3'),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_command_needs_no_torch(python, url, arguments, says):
    answer = python(COMMAND, *arguments, "--journal", url)
    assert answer.returncode == 0, answer.stderr
    assert says in answer.stdout
    assert answer.stderr.splitlines() == ["False"]


def test_a_tell_under_constraints_needs_no_torch(python, tmp_path):
    url = f"sqlite:///{tmp_path}/log.db"
    space = ww.Space({"a": ww.Real(0, 1), "b": ww.Integer(0, 5)}, constraints=[ww.Linear({"a": 1, "b": 1}, upper=3)])
    ww.Study(space, journal=url, name="mix").ask()
    answer = python(COMMAND, "tell", "mix", "0", "1.5", "--decision", "a=0.5", "--decision", "b=2", "--journal", url)
    assert (answer.returncode, answer.stderr.splitlines()) == (0, ["False"])


def test_an_import_needs_no_torch(python, url, tmp_path):
    file = tmp_path / "past.csv"
    file.write_text("order,demand,value\n0.5,0.25,1.5\n")
    for option, says in (("--preview", "1 would be added"), ("--json", '"already_there": 0')):
        answer = python(COMMAND, "import", "shop", str(file), option, "--journal", url)
        assert answer.returncode == 0 and says in answer.stdout, answer.stderr
        assert answer.stderr.splitlines() == ["False"]
    assert ww.Study.open("shop", journal=url).trials[3].value == 1.5


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["tell", "shop", "9", "1.5"], 1, "study 'shop' has no trial 9; ids go from 0 to 2."),
        (["tell", "shop", "0", "nan"], 1, "use windward lose shop 0 why."),
        (["tell", "shop", "0", "1", "-c", "wind=3"], 1, "unknown context 'wind'"),
        (["tell", "ship", "0", "1.5"], 1, "no study named 'ship' in this journal; it has 'shop'."),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_without_torch(python, url, arguments, code, says):
    answer = python(COMMAND, *arguments, "--journal", url)
    *said, torch = answer.stderr.splitlines()
    assert (answer.returncode, torch) == (code, "False")
    assert says in "\n".join(said)


def test_what_was_told_without_torch_is_what_a_study_tells(python, url):
    told = ["tell", "shop", "0", "1.5", "-c", "demand=0.25", "--noise", "0.5", "-d", "order=0.75", "--key", "k"]
    assert python(COMMAND, *told, "--journal", url).returncode == 0
    study = ww.Study.open("shop", journal=url)
    study.tell(0, 1.5, context={"demand": 0.25}, noise=0.5, decision={"order": 0.75}, key="k")  # the same call again
    study.tell(1, 1.5, context={"demand": 0.25}, noise=0.5, decision={"order": 0.75}, key="l")
    written = [(event.kind, event.body) for event in study.journal.read("shop")]
    assert written[-2:] == written[-4:-2] and [kind for kind, _ in written[-2:]] == ["context_seen", "told"]


def test_a_policy_of_own_parts_does_not_stop_a_tell(tmp_path):
    """The command line cannot know a user's own parts; a tell does not need them, and an ask names them."""
    url = f"sqlite:///{tmp_path}/log.db"
    study = ww.Study(SHOP, policy(), journal=url, name="shop")
    study.ask()
    study.journal.close()
    with closing(sqlite3.connect(tmp_path / "log.db")) as database:
        database.execute("UPDATE events SET body = replace(body, '\"KernelDensity\"', '\"Mine\"') WHERE seq = 1")
        database.commit()
    answer = CliRunner().invoke(main, ["tell", "shop", "0", "1.5", "--journal", url])
    assert answer.exit_code == 0, answer.output
    answer = CliRunner().invoke(main, ["ask", "shop", "--journal", url])
    assert answer.exit_code == 1 and "event 1 (created): unknown part 'Mine'" in answer.stderr


def test_an_ask_opens_the_log_once(url, monkeypatch):
    opened, whole = [], []
    begin, read = SqlJournal.__init__, SqlJournal.read

    def counted(self, *arguments, **named):
        opened.append(arguments)
        begin(self, *arguments, **named)

    def from_where(self, study, after=0, **named):
        whole.extend([after] if after == 0 else [])
        return read(self, study, after, **named)

    monkeypatch.setattr(SqlJournal, "__init__", counted)
    monkeypatch.setattr(SqlJournal, "read", from_where)
    answer = CliRunner().invoke(main, ["ask", "shop", "--json", "--journal", url])
    assert json.loads(answer.output)["id"] == 3
    assert (len(opened), whole) == (1, [0])
