"""Between two searches for hyper-parameters: when the next one is due, and the factor that grows row by row."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import torch

import windward as ww
from windward.suggest.prepare import Request
from windward.surrogate import GaussianPosterior, Start

SPACE = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, context={"c": ww.Real(0, 1)})
SMALL = ww.MultiStart(screen=32, starts=2, evaluations=8)


def policy(**changes):
    parts = {"context_model": ww.KernelDensity(16), "maximize": SMALL, "design": ww.Sobol(5)} | changes
    return ww.Policy(**parts)


def value(decision, context):
    return -((decision["a"] - context["c"]) ** 2) + 0.3 * decision["b"]


def bodies(study):
    return [event.body for event in study.journal.read(study.name) if event.kind == "asked"]


def played(rounds, *, seed=0, **changes):
    """Return a study whose values come late and out of order, some contexts long before them."""
    study = ww.Study(SPACE, policy(**changes), seed=seed)
    draws, waiting = torch.Generator().manual_seed(seed), []
    for turn in range(rounds):
        suggestion = study.ask()
        context = {"c": float(torch.rand(1, generator=draws))}
        if turn % 3:
            study.reveal(suggestion.id, context)
        waiting.append((suggestion, context))
        while len(waiting) > 2 + turn % 4:
            ready, its = waiting.pop(0 if turn % 2 else 1)
            study.tell(ready.id, value(ready.decision, its), context=its)
        if turn == rounds - 8:
            study.amend(turn // 2, value=0.1)  # a value alone
        if turn == rounds - 5:
            study.amend(turn // 2 + 1, context={"c": 0.5})  # a row of the factor
    return study


def test_hyperparameters_are_kept_between_searches_and_searched_once_due():
    asked = [body for body in bodies(played(45)) if body["fit"] is not None]
    kept = [body["kept"] for body in asked]
    assert any(kept) and not all(kept) and not kept[0]
    for before, after in itertools.pairwise(asked):
        assert (after["fit"] == before["fit"]) == after["kept"]
        assert after["fitted"] == (before["fitted"] if after["kept"] else after["read"])


@pytest.mark.parametrize("feedback", [ww.Hallucinate(), ww.Ignore(), ww.Censor(-2.0, 6)])
def test_every_suggestion_can_be_made_again_to_the_last_bit(feedback):
    study = played(36, feedback=feedback)
    reopened = ww.Study.open("study", journal=study.journal)
    for trial in study.trials.rows[::2]:
        assert reopened.replay(trial.id).decision == study.trials[trial.id].decision
    # The next ask of a study that lived through it all and of one that has just been opened.
    asked = study.ask().decision
    assert study.replay(len(study.trials) - 1).decision == asked


def test_a_factor_grown_row_by_row_is_the_whole_one():
    study = played(60)
    data, process = study.trials.dataset, ww.GaussianProcess()
    assert list(data.changed) == sorted(data.changed)
    hyperparameters = process.fitted(data.first(20))
    fitted = data.changed[19]
    grown = process.grown(data, hyperparameters, fitted)
    whole = process.at(data, hyperparameters)
    assert grown.base == 20 and grown.size == len(data.y) > 40
    x, points = (
        torch.rand(50, 2, generator=torch.Generator().manual_seed(0)).double(),
        torch.linspace(0, 1, 9).double()[:, None],
    )
    for ours, theirs in zip(grown.marginals(x, points), whole.marginals(x, points), strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-9)
    # An earlier posterior saves work and changes not a bit; one of other data is not used.
    earlier = process.grown(data.first(33), hyperparameters, fitted)
    again = process.grown(data, hyperparameters, fitted, earlier)
    assert torch.equal(again.factor, grown.factor) and torch.equal(again.alpha, grown.alpha)
    other = process.at(data.first(33), hyperparameters)  # factorised at another place
    assert torch.equal(process.grown(data, hyperparameters, fitted, other).factor, grown.factor)


def test_asking_for_many_searches_once(monkeypatch):
    study = ww.Study(SPACE, policy())
    study.run(lambda s: ww.Result(value(s.decision, {"c": 0.4}), {"c": 0.4}), 8, progress=False)
    searches = []
    fitted = ww.GaussianProcess.fitted
    monkeypatch.setattr(ww.GaussianProcess, "fitted", lambda self, *a: searches.append(1) or fitted(self, *a))
    study.ask_many(5)
    assert len(searches) == 1  # nothing arrived in between


@pytest.mark.parametrize(("refit", "searches"), [(0.0, 12), (0.5, 3)])
def test_refit_says_how_often(refit, searches):
    study = ww.Study(SPACE, policy(surrogate=ww.GaussianProcess(refit=refit)))
    study.run(lambda s: ww.Result(value(s.decision, {"c": 0.4}), {"c": 0.4}), 17, progress=False)
    asked = [body for body in bodies(study) if body["fit"] is not None]
    assert len(asked) == 12 and sum(not body["kept"] for body in asked) == searches


def test_given_noise_is_factorised_whole():
    study = ww.Study(SPACE, policy())
    study.run(lambda s: ww.Result(value(s.decision, {"c": 0.3}), {"c": 0.3}, noise=0.1), 12, progress=False)
    data, process = study.trials.dataset, ww.GaussianProcess()
    hyperparameters = process.fitted(data)
    grown = process.grown(data, hyperparameters, data.changed[5])
    assert grown.base == len(data.y) and torch.equal(grown.factor, process.at(data, hyperparameters).factor)


def test_units_of_an_undeclared_context_stay_those_of_the_fit():
    unbounded = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, context={"c": ww.Real()})
    study = ww.Study(unbounded, policy())
    study.run(lambda s: ww.Result(value(s.decision, {"c": s.id}), {"c": 2.0**s.id}), 12, progress=False)
    data, process = study.trials.dataset, ww.GaussianProcess()
    known = data.first(8)
    hyperparameters = process.fitted(known)
    grown = process.grown(data, hyperparameters, known.changed[-1])
    assert torch.equal(grown.inputs.c_rates, process.at(known, hyperparameters).inputs.c_rates)
    exact = grown.covariance(grown.zx, grown.zc, grown.zx, grown.zc) + grown.noise.diag()
    assert torch.allclose(grown.factor @ grown.factor.T, exact, atol=1e-12)


def test_a_previous_posterior_changes_no_suggestion():
    study = played(40)
    data = study.trials.dataset
    hyperparameters = ww.GaussianProcess().fitted(data.first(25))
    previous = ww.GaussianProcess().grown(data.first(30), hyperparameters, data.changed[24])
    assert isinstance(previous, GaussianPosterior)
    from windward.suggest.suggest import suggest

    x = []
    for memory in (None, previous):
        start = Start(hyperparameters, True, data.changed[24], memory)
        x.append(suggest(study.policy, study.trials, Request(start=start), torch.Generator().manual_seed(3)).x)
    assert torch.equal(*x)


def test_a_policy_that_an_ask_did_not_know_fits_anew(tmp_path):
    journal = ww.SqlJournal(f"sqlite:///{tmp_path}/log.db")
    blind = policy(context_model=ww.NoContext())
    first = ww.Study(SPACE, policy(), journal=journal)
    for i in range(24):
        first.add({"a": i / 24, "b": (7 * i % 24) / 24}, float(i % 5), context={"c": (5 * i % 24) / 24})
    other, turned = ww.Study.open("study", journal=journal), []

    def clock():  # asked between the first's reading and its writing
        if len(turned) == 1:
            other.use(blind)
        turned.append(1)
        return datetime(2026, 1, 1, tzinfo=UTC)

    late = ww.Study.open("study", journal=journal, clock=clock)
    late.ask()
    kinds = [event.kind for event in journal.read("study")][-2:]
    assert kinds == ["policy_set", "asked"]
    assert late.policy == blind
    late.ask()  # with the fit of the policy before, it would have a length-scale too many
    assert bodies(late)[-1]["kept"] is False


def test_fixed_hyperparameters_have_the_units_of_what_was_seen():
    unbounded = ww.Space(decision={"a": ww.Real(0, 1), "b": ww.Real(0, 1)}, context={"c": ww.Real()})
    fixed = ww.GaussianProcess(fixed=ww.Hyperparameters(0.0, (0.5,), 1.0, 1e-2))
    study = ww.Study(unbounded, policy(surrogate=fixed))
    generator = torch.Generator().manual_seed(0)
    contexts = (1000 * torch.randn(60, generator=generator)).tolist()
    for i, c in enumerate(contexts):
        study.add({"a": i / 60, "b": 0.5}, i % 7, context={"c": c})
        if i in (6, 20, 59):
            study.ask()
    known = study._asker.posterior
    assert known.base >= 57 and float(known.inputs.c_rates[0]) < 0.01  # in hundreds, not in ones


def test_censored_values_count_for_the_next_search():
    study = ww.Study(SPACE, policy(feedback=ww.Censor(0.0, 0)))
    study.add({"a": 0.5, "b": 0.5}, 1.0, context={"c": 0.5})
    for _ in range(20):
        study.reveal(study.ask().id, {"c": 0.4})
    fits = [body["fit"] for body in bodies(study) if body["fit"] is not None]
    assert len({str(fit) for fit in fits}) > 5


def test_an_amendment_is_fitted_at_once():
    study = played(40)
    study.ask()
    study.amend(3, value=0.2)
    study.ask()
    assert bodies(study)[-1]["kept"] is False
    study.ask()
    assert bodies(study)[-1]["kept"] is True


def test_a_posterior_in_other_units_is_not_taken_for_the_same():
    data = played(30).trials.dataset
    process, base = ww.GaussianProcess(), len(data.y) - 2
    hyperparameters = process.fitted(data)
    earlier = process.grown(data.first(base), hyperparameters, data.changed[base - 1])
    stretched = replace(earlier.inputs, c_rates=2.0 * earlier.inputs.c_rates)
    assert earlier.holds(earlier.kernel, hyperparameters, base, earlier.inputs, earlier.zx, earlier.zc)
    assert not earlier.holds(earlier.kernel, hyperparameters, base, stretched, earlier.zx, earlier.zc)


def test_a_recommendation_stays_while_nothing_comes_in():
    study = played(30)
    first = study.recommend()
    study.ask_many(2)
    assert study.recommend() == first
