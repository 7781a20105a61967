"""The examples run as they are, at a small size, from an empty folder; run again, they go on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import windward as ww

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(folder, name, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(EXAMPLES / name), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(EXAMPLES.parent)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_machine_and_again(tmp_path):
    assert "7 told, 0 pending" in run(tmp_path, "one_machine.py", "--trials", 7, "--workers", 2)
    assert "9 told, 0 pending" in run(tmp_path, "one_machine.py", "--trials", 9, "--workers", 2)


@pytest.mark.postgres
def test_many_workers_on_postgres(tmp_path, postgres):
    assert " 0 pending" in run(tmp_path, "many_workers.py", postgres, "--trials", 8, "--workers", 2)
    study = ww.Study.open("bakery", journal=postgres)
    assert 8 <= len(study.trials) <= 9
    study.ask()  # a worker asks and dies
    said = run(tmp_path, "many_workers.py", postgres, "--trials", 8, "--workers", 1, "--rescue", 0)
    study.sync()
    assert f"{len(study.trials)} told, 0 pending" in said


@pytest.mark.cluster
def test_on_dask(tmp_path):
    assert "7 told, 0 pending" in run(tmp_path, "on_dask.py", "--trials", 7, "--workers", 2)


def test_with_optuna(tmp_path):
    said = run(tmp_path, "with_optuna.py", "--trials", 7, "--jobs", 2)
    assert "whatever comes: {'loaves': " in said and "when it rains:  {'loaves': " in said


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_is_short_and_stands_alone(path):
    text = path.read_text()
    assert len(text.splitlines()) < 60
    assert not any(f"import {other.stem}" in text or f"from {other.stem}" in text for other in EXAMPLES.glob("*.py"))
