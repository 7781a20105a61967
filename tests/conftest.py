"""Shared pieces of the tests; nothing here may change what is tested.

Windward and torch are imported where they are used: the process that hands the tests out needs neither.
"""

from __future__ import annotations

import gc
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from postgres_server import Server, programs

# One derandomised profile: a property that fails, fails every time. No deadline: a busy machine is not a failure.
settings.register_profile(
    "windward", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("windward")

# One thread for each process that the tests start, their own worker processes among them: more only wait for each other.
for setting in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(setting, "1")

NUMBERS = itertools.count()

# The files that take longest, by their time on one core: with `--dist loadfile` each goes whole to one process, and a long
# one that came last would leave the other processes idle. A file that is not named here takes less than these.
LONGEST = (
    "test_docs",
    "test_page",
    "test_serving",
    "test_plots",
    "test_examples",
    "test_suite",
    "test_optuna",
    "test_surrogate",
    "test_delays",
    "test_advice",
    "test_bench_cli",
    "test_objectives",
    "test_bench_experiments",
    "test_botorch",
    "test_methods",
    "test_worst_cases",
    "test_cli",
    "test_hardened",
    "test_surface",
    "test_guards",
    "test_fuzz",
    "test_model_check",
    "test_importance",
    "test_confidence",
    "test_settled",
    "test_chaos",
    "test_postgres",
    "test_budget",
    "test_dask",
    "test_refits",
    "test_service_fits",
    "test_service",
    "test_advice_shown",
    "test_report",
    "test_problems",
    "test_bad_input",
    "test_moving_bench",
    "test_bench_run",
    "test_bench_runs",
    "test_light_commands",
)


def pytest_configure(config):
    """Keep the order above; pytest-xdist would begin with the files of the most tests, which are not the longest."""
    config.option.loadscopereorder = False
    if config.option.dist == "no":  # here tests run; the process that hands them out loads nothing, and starts at once
        import coarse_figures  # noqa: F401

        gc.disable()  # what is loaded and collected stays: looking through it for rubbish takes a third of the time
    gone = [name for name in LONGEST if not Path(__file__).with_name(f"{name}.py").exists()]
    assert not gone, f"LONGEST names files that are not there: {gone}"


def pytest_collection_modifyitems(items):
    """The longest files first; within a file, and among the others, as they were."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


def pytest_collection_finish():
    """What is there now stays to the end, and is not looked through again."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item):
    """A test that needs a browser is skipped without one; in CI, which installs it, that is a failure."""
    if item.get_closest_marker("browser") is None:
        return
    from service_helpers import chromium

    if chromium() is None:
        reason = "no Chromium on the path: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def one_thread():
    """A test process for each core, and one for when others wait: more threads each would only wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def fitting_processes_load_nothing():
    """Those of a service in this process are forked from what the tests have loaded; `windward serve` loads its own."""
    from forked import context

    from windward.service import fitter

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitter, "_context", context)
        yield


@pytest.fixture(autouse=True)
def global_randomness_untouched():
    """Windward draws only from generators it is given."""
    import torch

    before = torch.get_rng_state()
    yield
    if "oracle" not in os.environ.get("PYTEST_CURRENT_TEST", ""):
        assert torch.equal(before, torch.get_rng_state()), "the global generator was used"


@pytest.fixture
def generator():
    import torch

    return torch.Generator().manual_seed(0)


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, tmp_path):
    """A journal in memory, and one in a file."""
    import windward as ww

    return ww.MemoryJournal() if request.param == "memory" else ww.SqlJournal(f"sqlite:///{tmp_path}/study.db")


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server of this test run alone; without one a skip, and a failure where CI is set."""
    if programs() is None:
        reason = "no PostgreSQL server: initdb and pg_ctl are neither on the path nor under /usr/lib/postgresql"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    with Server(flush=False) as server:  # tests end processes, not the power
        yield server


@pytest.fixture
def postgres(postgres_server):
    """The URL of an empty PostgreSQL database."""
    return postgres_server.database()


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """The journal of the service that tests share; each makes studies of its own."""
    return f"sqlite:///{tmp_path_factory.mktemp('service')}/studies.db"


@pytest.fixture(scope="session")
def client(url):
    """A client of that service, with the administrator's token."""
    from fastapi.testclient import TestClient  # here: most tests need no service
    from service_helpers import ADMIN, LARGEST_BODY, bearer

    from windward.service.app import create_app
    from windward.service.settings import Settings

    # Tests that send wrong tokens share it: how many an address may send has tests with a service of their own.
    settings = Settings(url, ADMIN, largest_body=LARGEST_BODY, wrong_tokens=10_000)
    with TestClient(create_app(settings), raise_server_exceptions=False) as made:
        made.headers.update(bearer(ADMIN))
        yield made


@pytest.fixture
def shop(client):
    """A study of its own per test, three trials asked, one of them told."""
    from service_helpers import SHOP

    name = f"shop {next(NUMBERS)}"
    made = client.post("/api/studies", json={**SHOP, "name": name})
    assert made.status_code == 201, made.text
    for _ in range(3):
        assert client.post(f"/api/studies/{name}/ask", json={}).status_code == 201
    told = client.post(f"/api/studies/{name}/trials/0/tell", json={"value": 1.5, "context": {"demand": 0.4}})
    assert told.status_code == 200, told.text
    return name, made.json()["tokens"]


@pytest.fixture(params=["split", "direct"])
def both_ways(request, monkeypatch):
    """Posteriors that split the contexts for any number of decisions, and that do not for a few."""
    from windward.surrogate import posterior

    if request.param == "split":
        monkeypatch.setattr(posterior, "FEW", 0)
