"""The Optuna sampler: Optuna's own suite where it applies, then contexts, pending trials, storages, several workers."""

from __future__ import annotations

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import TrialState

import windward as ww
from windward.integrations import optuna as integration
from windward.integrations.optuna import WindwardSampler, reveal

optuna.logging.set_verbosity(optuna.logging.WARNING)
QUICK = ww.MultiStart(screen=16, starts=1, evaluations=5)
DEMAND = {"demand": ww.Real(0, 1)}


def small(*, context_model=None, design=3, belief=None, feedback=None):
    return ww.Policy(
        context_model=context_model or ww.NoContext(),
        belief=belief or ww.UpperConfidence(),
        feedback=feedback or ww.Hallucinate(),
        design=ww.Sobol(design),
        maximize=QUICK,
    )


class TestOptunasOwnSuite(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: WindwardSampler(small())


def shop(trial, demand=0.4):
    """Best at an order of the demand, with every kind of parameter in it."""
    order = trial.suggest_float("order", 0.0, 1.0)
    boxes = trial.suggest_int("boxes", 2, 10, step=2)
    rate = trial.suggest_float("rate", 1e-3, 1.0, log=True)
    route = trial.suggest_categorical("route", ["rail", None, True])
    reveal(trial, {"demand": demand})
    return 1 - (order - demand) ** 2 - 0.01 * abs(boxes - 6) - 0.1 * abs(math.log10(rate) + 1) - 0.1 * (route is None)


# -- contexts -----------------------------------------------------------------------------------------------------------


def test_revealed_contexts_reach_the_policy():
    seen = []

    class Spy(ww.Empirical):
        def __call__(self, space, trials, given, generator):
            seen.append((trials, given))
            return ww.Empirical()(space, trials, given, generator)

    study = optuna.create_study(
        direction="maximize", sampler=WindwardSampler(small(context_model=Spy()), DEMAND, seed=1)
    )
    study.optimize(lambda trial: shop(trial, 0.1 * trial.number), n_trials=6)
    trials = seen[-1][0]
    assert [row.context for row in trials] == [{"demand": 0.1 * number} for number in range(5)]
    assert [row.value for row in trials] == [trial.value for trial in study.trials[:5]]
    assert trials.sign == 1.0 and trials.contexts_seen == 5
    assert [set(row.decision) for row in trials] == [{"order", "boxes", "rate", "route"}] * 5
    first = study.trials[0].params
    expected = {"boxes": (first["boxes"] - 2) // 2, "route": ["rail", None, True].index(first["route"])}
    assert {name: trials[0].decision[name] for name in expected} == expected
    assert trials[0].decision["order"] == first["order"] and trials[0].decision["rate"] == first["rate"]


def test_a_context_given_before_the_ask_is_planned_for():
    # What is best depends on the context alone, and is learnt at both of its ends.
    policy = small(context_model=ww.Empirical(), belief=ww.PosteriorMean())
    study = optuna.create_study(direction="maximize", sampler=WindwardSampler(policy, DEMAND))
    for number in range(16):
        study.enqueue_trial({"order": (number // 2) / 7})  # all over the range, whatever the policy would have asked
        trial = study.ask()
        order = trial.suggest_float("order", 0.0, 1.0)
        reveal(trial, {"demand": float(number % 2)})
        study.tell(trial, -((order - (0.2 + 0.6 * (number % 2))) ** 2))
    for demand, best in ((0.0, 0.2), (1.0, 0.8)):
        asked = study.ask()
        asked.set_user_attr("demand", demand)  # the plain way, before anything is suggested
        assert asked.suggest_float("order", 0.0, 1.0) == pytest.approx(best, abs=0.15)
        study.enqueue_trial({}, user_attrs={"demand": demand})
        queued = study.ask({"order": FloatDistribution(0.0, 1.0)})
        assert queued.user_attrs["demand"] == demand and queued.params["order"] == pytest.approx(best, abs=0.15)


def test_recommend_is_of_the_objective_not_of_the_luckiest_trial():
    policy = ww.Policy(context_model=ww.Empirical(), maximize=QUICK)
    sampler = WindwardSampler(policy, DEMAND)
    study = optuna.create_study(direction="minimize", sampler=sampler)

    def objective(trial):
        order, demand = trial.suggest_float("order", 0.0, 1.0), (0.1, 0.3, 0.8)[trial.number % 3]
        reveal(trial, {"demand": demand})
        return (order - demand) ** 2

    study.optimize(objective, n_trials=24)
    found = sampler.recommend(study)
    assert found.decision["order"] == pytest.approx(0.4, abs=0.05)  # the mean of the demands
    assert found.value == pytest.approx(0.26 / 3, abs=0.02)  # their variance
    low, high = (sampler.recommend(study, context={"demand": d}).decision["order"] for d in (0.1, 0.8))
    assert low < 0.3 and high > 0.5  # what is known of the context moves it


def test_a_value_without_its_context_is_refused_when_it_is_told():
    study = optuna.create_study(sampler=WindwardSampler(small(context_model=ww.Empirical()), DEMAND))
    with pytest.raises(ww.ArgumentError, match=r"trial 0 has a value but no 'demand'.*reveal\(trial"):
        study.optimize(lambda trial: trial.suggest_float("order", 0, 1), n_trials=1)
    assert study.trials[0].state == TrialState.COMPLETE  # and is left out
    study.optimize(lambda trial: shop(trial), n_trials=4)


def test_a_context_that_cannot_be_read_ends_no_other_trial(caplog):
    study = optuna.create_study(sampler=WindwardSampler(small(context_model=ww.Empirical()), DEMAND))
    study.optimize(shop, n_trials=2)
    trial = study.ask()
    trial.suggest_float("order", 0.0, 1.0)
    trial.set_user_attr("demand", "plenty")  # past `reveal`, which would refuse it
    study.tell(trial, 100.0)
    study.optimize(shop, n_trials=3)
    assert [each.state for each in study.trials] == [TrialState.COMPLETE] * 6
    said = [record.getMessage() for record in caplog.records if record.name == "windward"]
    assert len(said) == 1 and "trial 2" in said[0] and "'plenty'" in said[0]
    assert study.sampler.recommend(study).value < 10  # the value of the trial without a context is left out


@pytest.mark.parametrize(
    ("context", "error", "says"),
    [
        ({"demnd": 0.5}, ww.SpaceError, "unknown context 'demnd'"),
        ({"demand": math.nan}, ww.SpaceError, "got nan"),
        (0.5, ww.SpaceError, "got 0.5"),
    ],
)
def test_a_wrong_context_is_refused(context, error, says):
    trial = optuna.create_study(sampler=WindwardSampler(contexts=DEMAND)).ask()
    with pytest.raises(error, match=says):
        reveal(trial, context)
    assert trial.user_attrs == {}


def test_reveal_says_what_is_wrong_with_its_trial():
    with pytest.raises(ww.ArgumentError, match="give it a WindwardSampler"):
        reveal(optuna.create_study(sampler=optuna.samplers.RandomSampler()).ask(), {"demand": 0.5})
    trial = optuna.create_study(sampler=WindwardSampler(contexts=DEMAND)).ask()
    reveal(trial, {"demand": 0.5})
    reveal(trial, {"demand": 0.5})
    with pytest.raises(ww.TrialError, match=r"trial 0 has demand=0\.5 already, got 0\.6"):
        reveal(trial, {"demand": 0.6})


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: WindwardSampler("sbo"), "policy='sbo'"),
        (lambda: WindwardSampler(contexts={"demand": 1}), "demand"),
        (lambda: WindwardSampler(contexts=5), "context=5"),
        (lambda: WindwardSampler(seed=-1), "seed=-1"),
    ],
)
def test_wrong_arguments(make, says):
    with pytest.raises(ww.WindwardError, match=says):
        make()


def test_a_rule_chooses_the_context_of_the_trial():
    folds = ww.Known({"fold": ["a", "b", "c"]})
    policy = ww.Policy(
        context_model=folds, context_rule=ww.MostUncertain(), design=ww.Sobol(3), maximize=QUICK, belief=ww.Thompson()
    )
    sampler = WindwardSampler(policy, {"fold": ww.Categorical(["a", "b", "c"])})
    study = optuna.create_study(direction="maximize", sampler=sampler)
    used = []

    def objective(trial):
        order = trial.suggest_float("order", 0, 1)
        if "fold" not in trial.user_attrs:  # the first trial, drawn at random
            reveal(trial, {"fold": "a"})
        used.append(trial.user_attrs["fold"])
        return -((order - 0.1 * "abc".index(used[-1])) ** 2)

    study.optimize(objective, n_trials=9)
    assert [trial.user_attrs["fold"] for trial in study.trials] == used and set(used) == {"a", "b", "c"}


# -- pending trials -----------------------------------------------------------------------------------------------------


def test_running_trials_are_pending_with_their_start_times():
    seen = []

    class Spy(ww.Hallucinate):
        def __call__(self, trials, surrogate, now, start):
            seen.append(trials)
            return ww.Hallucinate()(trials, surrogate, now, start)

    study = optuna.create_study(sampler=WindwardSampler(small(feedback=Spy())))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
    space = {"x": FloatDistribution(0, 1)}
    running = [study.ask(space), study.ask(space)]
    study.tell(running[0], state=TrialState.FAIL)
    last = study.ask(space)
    pending = seen[-1].pending
    assert [row.decision["x"] for row in pending] == [running[1].params["x"]]
    assert abs(pending[0].asked_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert pending[0].asked_at == running[1].datetime_start.astimezone(UTC)
    assert [row.lost for row in seen[-1] if row.lost] == ["fail"]
    places = [running[0].params["x"], running[1].params["x"], last.params["x"]]
    assert min(abs(a - b) for i, a in enumerate(places) for b in places[:i]) >= 0.0125
    assert [row.delay for row in seen[-1].arrived] == [0, 0, 0, 0]


def test_values_that_are_not_finite_are_lost():
    study = optuna.create_study(sampler=WindwardSampler(small()))
    study.optimize(
        lambda trial: math.inf if trial.suggest_float("x", 0, 1) > 2 or trial.number == 2 else 0.5, n_trials=7
    )
    assert study.trials[2].value == math.inf and len(study.trials) == 7


def test_enqueued_parameters_are_held():
    study = optuna.create_study(sampler=WindwardSampler(small()))
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=4)
    study.enqueue_trial({"y": 0.25})
    trial = study.ask({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
    assert trial.params["y"] == 0.25 and 0 <= trial.params["x"] <= 1


# -- storages and workers -----------------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "sqlite", "journal", pytest.param("postgres", marks=pytest.mark.postgres)])
def storage(request, tmp_path):
    if request.param == "memory":
        yield InMemoryStorage()
        return
    if request.param == "journal":
        yield JournalStorage(JournalFileBackend(str(tmp_path / "optuna.log")))
        return
    url = request.getfixturevalue("postgres") if request.param == "postgres" else f"sqlite:///{tmp_path}/optuna.db"
    storage = RDBStorage(url)
    yield storage
    storage.remove_session()
    storage.engine.dispose()


def test_every_storage_and_several_jobs(storage):
    sampler = WindwardSampler(small(context_model=ww.Empirical(), belief=ww.Thompson()), DEMAND, seed=3)
    study = optuna.create_study(storage=storage, direction="maximize", sampler=sampler, study_name="shop")
    study.optimize(lambda trial: shop(trial, 0.3 + 0.1 * (trial.number % 3)), n_trials=12, n_jobs=2)
    again = optuna.load_study(study_name="shop", storage=storage, sampler=sampler)
    again.optimize(lambda trial: shop(trial, 0.5), n_trials=2)
    assert [trial.state for trial in again.trials] == [TrialState.COMPLETE] * 14
    assert all("demand" in trial.user_attrs for trial in again.trials)
    claimed = [trial for trial in again.trials if integration.CLAIM in trial.system_attrs]
    assert len(claimed) >= 10
    for trial in claimed:
        values = trial.system_attrs[integration.CLAIM]["params"]
        assert {n: trial.distributions[n].to_internal_repr(v) for n, v in trial.params.items()} == values
    assert set(sampler.recommend(again).decision) == {"order", "boxes", "rate", "route"}


def test_trials_that_start_at_once_never_go_to_the_same_place(storage):
    # Each worker has a sampler of its own, as in processes of their own; the policy has no chance in it.
    def sampler():
        return WindwardSampler(small(design=2))

    study = optuna.create_study(storage=storage, sampler=sampler(), study_name="race")
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=4)
    gate, space = threading.Barrier(4), {"x": FloatDistribution(0, 1)}

    def ask(_):
        mine = optuna.load_study(study_name="race", storage=storage, sampler=sampler())
        gate.wait(20)
        return mine.ask(space).params["x"]

    with ThreadPoolExecutor(4) as pool:
        places = sorted(pool.map(ask, range(4)))
    assert min(b - a for a, b in pairwise(places)) >= 0.0125


def test_a_sampler_can_be_pickled():
    sampler = pickle.loads(pickle.dumps(WindwardSampler(small(context_model=ww.Empirical()), DEMAND, seed=5)))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: shop(trial), n_trials=5)
    assert len(study.trials) == 5


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (FloatDistribution(-1.5, 2.5), [-1.5, 0.25, 2.5]),
        (FloatDistribution(1e-5, 1.0, log=True), [1e-5, 0.01, 1.0]),
        (FloatDistribution(-10.2, 10.2, step=0.1), [-10.2, 0.1, 10.2]),
        (IntDistribution(-3, 9), [-3, 0, 9]),
        (IntDistribution(1, 100, log=True), [1, 10, 100]),
        (IntDistribution(3, 9, step=2), [3, 5, 9]),
        (CategoricalDistribution([None, True, 1.5, "a"]), [None, True, 1.5, "a"]),
    ],
)
def test_parameters_go_to_windward_and_back(distribution, values):
    view = integration._View({"x": distribution}, ww.Space(integration._parameters({"x": distribution})), 1.0)
    for value in values:
        internal = view.internal({"x": value})
        decision = view.space.check_decision("test", view.decision(internal))
        x = view.space.encode_decisions([decision])
        assert bool(((x >= 0) & (x <= 1)).all())
        back = view.params(view.space.decode_decision(x[0]))["x"]
        assert back == pytest.approx(value) if isinstance(value, float) else back == value
        assert type(back) is type(value) and distribution._contains(distribution.to_internal_repr(back))


def test_a_distribution_of_another_kind_is_refused():
    class Circle(BaseDistribution):
        def to_external_repr(self, param_value_in_internal_repr):
            return param_value_in_internal_repr

        to_internal_repr = to_external_repr

        def single(self):
            return False

        def _contains(self, param_value_in_internal_repr):
            return True

    study = optuna.create_study(sampler=WindwardSampler(small()))
    study.add_trial(optuna.create_trial(params={"angle": 1.0}, distributions={"angle": Circle()}, value=1.0))
    with pytest.raises(ww.IncompatibleError, match="parameter 'angle' has the unknown distribution"):
        study.ask({"angle": Circle()})
