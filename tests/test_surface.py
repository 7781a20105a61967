"""What a user meets first: names, imports, the command line, the demo."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from missing_packages import NEEDS, PACKAGES

import windward as ww
from windward.cli import demo
from windward.cli.main import main
from windward.parts import OWN_PARTS

ROOT = Path(__file__).parents[1]


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, timeout=240
    )


def test_all_is_sorted_and_complete():
    def order(name):  # the linter's: constants, classes, the rest
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    public = importlib.import_module("windward._public")
    imported = {name for name in vars(public) if not name.startswith("_")} - {"TYPE_CHECKING"}
    assert list(ww.__all__) == sorted(set(ww.__all__), key=order)
    assert set(ww.__all__) == imported | {"SqlJournal", "__version__"}  # that one is loaded on first use
    assert {part.__name__ for part in OWN_PARTS} <= set(ww.__all__)
    for name in ww.__all__:
        assert getattr(ww, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ww.nothing  # noqa: B018


def test_import_stays_light():
    answer = run_python(
        "import sys, windward; heavy = ['sqlalchemy', 'click', 'rich', 'pandas', 'scipy.stats', 'scipy.optimize',"
        " 'botorch', 'gpytorch', 'cvxpy', 'plotly', 'matplotlib', 'psycopg', 'optuna', 'distributed'];"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert answer.stdout.strip() == "[]", answer.stderr


def blocked(*packages):
    """Return code after which none of these can be imported."""
    return f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {packages!r}:
            raise ImportError(f'{{name}} is blocked')
sys.meta_path.insert(0, Blocked())
import windward as ww
"""


def test_the_core_needs_torch_numpy_and_scipy_alone():
    code = blocked("sqlalchemy", "click", "rich", *PACKAGES) + (
        "study = ww.Study(ww.Space({'a': ww.Real(0, 1)}, {'c': ww.Real(0, 1)}), ww.Policy(context_model="
        "ww.KernelDensity(16), design=ww.Sobol(3)))\n"
        "study.run(lambda s: ww.Result(-(s.decision['a'] - .4)**2, context={'c': .1 * s.id}), 5, progress=False)\n"
        "print(len(study.trials))"
    )
    answer = run_python(code)
    assert answer.stdout.strip() == "5", answer.stderr


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("ww.Study(ww.Space({'a': ww.Real(0, 1)}), journal='sqlite:///x.db')", "pip install 'sqlalchemy>=2.0'"),
        ("import windward.cli.main", "pip install 'click>=8.1' 'rich>=13'"),
    ],
)
def test_a_dependency_that_was_left_out_is_named_with_its_command(code, command):
    answer = run_python(blocked("sqlalchemy", "click", "rich") + code)
    assert answer.returncode != 0
    assert "MissingDependency" in answer.stderr and command in answer.stderr


def test_a_missing_package_is_named_with_the_extra_that_brings_it():
    tests = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    answer = run_python(
        blocked(*PACKAGES) + "import missing_packages\nprint(missing_packages.failures())", PYTHONPATH=tests
    )
    assert answer.stdout.strip() == "[]", answer.stdout + answer.stderr


def test_extras_that_messages_name_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    files = [*(ROOT / "windward").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {name for file in files for name in re.findall(r"windward\[(\w+)\]'", file.read_text())}
    assert named >= {extra for _, extra in NEEDS} and named <= set(extras)


def test_newsvendor_by_hand():
    """The optimum by independent quadrature, 0.46394 at 0.188; the closed form against a sum over quantiles."""
    assert demo.best_order() == pytest.approx(0.188, abs=5e-4)
    assert demo.expected_profit(demo.best_order()) == pytest.approx(0.46394, abs=1e-5)
    quantiles = [(i + 0.5) / 20000 for i in range(20000)]
    by_quantiles = sum(demo.profit(0.25, demo.demand_at(q)) for q in quantiles) / 20000
    assert demo.expected_profit(0.25) == pytest.approx(by_quantiles, abs=1e-5)
    assert demo.profit(0.5, 0.2) == pytest.approx(9 * 0.2 + 0.3 - 2.5)


def test_demo_prints_a_table_and_writes_a_report(tmp_path):
    answer = CliRunner().invoke(main, ["demo", "--rounds", "12", "-o", str(tmp_path / "demo.html")])
    assert answer.exit_code == 0, answer.output
    for word in ("default", "SBO-KDE", "GP-UCB", "optimum", "0.4639", "12/12"):
        assert word in answer.output
    assert f"to open in a browser: {tmp_path}/demo.html" in answer.output
    assert "Set order to" in (tmp_path / "demo.html").read_text()


def test_command_line_usage_errors():
    assert CliRunner().invoke(main, ["demo", "--rounds", "3"]).exit_code == 2
    assert CliRunner().invoke(main, ["no-such"]).exit_code == 2
    assert CliRunner().invoke(main, ["--version"]).output.strip() == f"windward, version {ww.__version__}"
