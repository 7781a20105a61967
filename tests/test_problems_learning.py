"""Problems that train models: against scikit-learn's own cross-validation, torch's own Adam, the tables themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_problems import DATA, EXPECTED, row, stored
from test_surface import blocked, run_python

import windward as ww
from windward.bench.problems import Poisson, learning, problem, verma
from windward.bench.problems.best_known import BEST

NOTHING = torch.zeros(0, dtype=torch.float64)
FILES = {"svm-diabetes": "diabetes.csv", "nonstationary-svm": "diabetes.csv"}


def test_diabetes_is_as_described():
    """Almost all of the square has 35.06 % error; the good region is at the edge gamma = 1e-4."""
    task = stored("svm-diabetes", "diabetes.csv")
    generator = torch.Generator().manual_seed(0)
    u = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    inside = row(1e-4, 1e-4) + u * row(100 - 1e-4, 10 - 1e-4)
    errors = 100 * (1 - task.value(inside, NOTHING))
    assert errors.tolist() == pytest.approx([35.06] * 12, abs=5e-3)
    assert 100 * (1 - float(task.value(row(10.0, 1e-4), NOTHING))) < 26
    assert task.delay == Poisson(10.0) and not task.context_first


@pytest.mark.parametrize("name", sorted(BEST))
def test_best_known_values_are_reached_and_hard_to_beat(name):
    """Each stored decision has its stored accuracy, and eight others do not exceed it."""
    task = stored(name, FILES[name]) if name in FILES else problem(name)
    assert set(BEST[name]) == {tuple(point.tolist()) for point in task.truth.points}
    for context in task.truth.points[:: 1 if len(task.truth) == 1 else 6]:
        best = task.optimum(EXPECTED, ww.Contexts.uniform(context[None]))
        assert float(task.value(best.decision, context)) == pytest.approx(best.value, abs=1e-12)
        others = best.decision * torch.linspace(0.5, 1.5, 4, dtype=torch.float64)[:, None]
        low, high = (torch.tensor([getattr(p, s) for p in task.space.decision.values()]) for s in ("low", "high"))
        assert float(task.value(others.clamp(low, high), context).max()) <= best.value


def test_what_stands_for_an_optimum_says_where_it_ends():
    task = problem("nonstationary-svm-breast-cancer")
    with pytest.raises(ww.IncompatibleError, match="best known values are stored, one for each context"):
        task.optimum(EXPECTED)
    one = ww.Contexts.uniform(task.truth.points[:1])
    with pytest.raises(ww.IncompatibleError, match="Sensitivity"):
        task.optimum(ww.Sensitivity(ww.TotalVariation()), one)
    with pytest.raises(ww.IncompatibleError, match=r"judges by problem\.test"):
        problem("svm-wine").optimum(EXPECTED)


def test_network_training_is_adam():
    """The logistic regression, trained again by torch's Adam with the rate set at each step."""
    task = problem("lr-breast-cancer")
    parts = learning.standardized(verma.breast_cancer())
    features, labels = torch.from_numpy(parts.features).float(), torch.from_numpy(parts.labels).long()
    for batch, rate, decay in ((32, 0.01, 1e-3), (100, 0.5, 1.0), (64, 2e-3, 1e-6)):
        generator = torch.Generator().manual_seed(0)
        weights = [torch.zeros(2, 30, requires_grad=True), torch.zeros(2, requires_grad=True)]
        adam, step = torch.optim.Adam(weights, lr=rate), 0
        for _ in range(20):
            order = torch.randperm(len(labels), generator=generator)
            for start in range(0, len(labels), batch):
                rows = order[start : start + batch]
                adam.param_groups[0]["lr"] = rate / (1 + decay * step)
                adam.zero_grad()
                torch.nn.functional.cross_entropy(features[rows] @ weights[0].T + weights[1], labels[rows]).backward()
                adam.step()
                step += 1
        guesses = (torch.from_numpy(parts.held_features).float() @ weights[0].T + weights[1]).argmax(-1).numpy()
        want = (guesses == parts.held_labels).mean()
        assert float(task.value(row(batch, rate, decay), NOTHING)) == pytest.approx(want, abs=1e-12)


def test_networks_on_digits_learn_where_they_should():
    task = problem("cnn-digits")
    values = task.value(torch.stack([row(128, 0.03, 1e-6), row(128, 1e-6, 1.0), row(128, 1.0, 1e-6)]), NOTHING)
    assert float(values[0]) > 0.85 and float(values[1:].max()) < 0.4
    tuned = problem("cnn-cv-digits")
    good = row(0.01, 0.1, 0.1)
    assert float(tuned.value(good, row(2.0))) > 0.9
    assert float(tuned.value(row(1e-5, 0.8, 0.8), row(2.0))) < 0.4
    assert float(tuned.value(good, row(2.0))) == float(tuned.value(good, row(2.0)))


def test_dropout_keeps_the_mean():
    x = torch.ones(200, 500)
    kept = learning.dropped(x, 0.3, torch.Generator().manual_seed(0))
    assert float((kept == 0).float().mean()) == pytest.approx(0.3, abs=0.01)
    assert float(kept.mean()) == pytest.approx(1.0, abs=0.01)
    assert learning.dropped(x, 0.3, None) is x


@pytest.mark.parametrize("name", ["svm-wine", "svm-glass", "svm-sonar"])
def test_folds_against_cross_validation(name):
    from sklearn.datasets import load_wine
    from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    file = f"{name.removeprefix('svm-')}.csv"
    task = problem(name, 3) if name == "svm-wine" else stored(name, file, 3)
    if name == "svm-wine":
        features, labels = load_wine(return_X_y=True)
    else:
        table = np.genfromtxt(DATA / file, delimiter=",", dtype=str)
        features, labels = table[:, :-1].astype(float), table[:, -1]
    train, held, known, hidden = train_test_split(features, labels, test_size=0.2, random_state=3, stratify=labels)
    model = make_pipeline(StandardScaler(), SVC(C=5.0, gamma=0.05))
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    want = cross_val_score(model, train, known, cv=folds)
    assert task.value(row(5.0, 0.05), task.truth.points).tolist() == pytest.approx(want.tolist(), abs=1e-12)
    assert float(task.test(row(5.0, 0.05))) == pytest.approx(model.fit(train, known).score(held, hidden), abs=1e-12)
    assert float(task.worth(EXPECTED, row(5.0, 0.05))) == pytest.approx(want.mean(), abs=1e-12)


def test_elastic_net_against_scikit_learn():
    from sklearn.linear_model import SGDClassifier
    from sklearn.model_selection import StratifiedKFold

    from windward.bench.problems import nguyen

    task, parts = problem("elastic-net-digits"), nguyen.digits()
    cut = list(StratifiedKFold(10, shuffle=True, random_state=0).split(parts.features, parts.labels))
    train, held = cut[7]
    model = SGDClassifier(penalty="elasticnet", alpha=4e-3, l1_ratio=0.25, max_iter=20, tol=None, random_state=0)
    model.fit(parts.features[train], parts.labels[train])
    want = model.score(parts.features[held], parts.labels[held])
    assert float(task.value(row(1e-3, 3e-3), row(7.0))) == pytest.approx(want, abs=1e-12)
    assert task.space.context["fold"].width == 10


def test_tables_are_looked_up_in_order():
    task = stored("svm-tables", "svm_tables.npz")
    table = np.load(DATA / "svm_tables.npz")
    values = task.value(task.decisions[:, None, :], task.truth.points)
    assert torch.equal(values, torch.from_numpy(table["accuracy"].T))
    assert len(torch.unique(task.truth.points, dim=0)) == 50
    assert float((task.truth.points - torch.from_numpy(table["meta"][:, :6])).abs().max()) <= 2e-6
    assert task.context_first and task.delay == Poisson(3.0)
    generator = torch.Generator().manual_seed(0)
    for turn, index in ((0, 0), (29, 0), (30, 1), (1499, 49), (5000, 49)):
        assert torch.equal(task.draw(turn, generator), task.truth.points[index])
    one = ww.Contexts.uniform(task.truth.points[7:8])
    assert task.optimum(EXPECTED, one).value == table["accuracy"][7].max()


def test_simulated_tables_have_the_layout_and_move_with_the_features():
    task = problem("svm-tables-simulated")
    assert task.decisions.shape == (288, 6) and task.decisions[:, :3].sum(0).tolist() == [12, 108, 168]
    values = task.value(task.decisions[:, None, :], task.truth.points)
    assert 0.5 <= float(values.min()) < float(values.max()) <= 1.0
    assert len(values.argmax(0).unique()) > 15


def test_growing_data_share_their_rows():
    task = problem("nonstationary-svm-breast-cancer")
    whole = problem("svm-breast-cancer")
    x = row(20.0, 2e-4)
    assert float(task.value(x, row(19.0))) == float(whole.value(x, NOTHING))
    parts = verma.breast_cancer()
    small, large = parts.prefix(0.1), parts.prefix(0.15)
    assert np.array_equal(small.features, large.features[: len(small.features)])
    assert len(small.labels) == 40 and len(large.labels) == 60
    assert task.draw(61, torch.Generator()).tolist() == [2.0]


def test_problems_that_train_nothing_need_no_scikit_learn():
    answer = run_python(
        blocked("sklearn") + "from windward.bench.problems import problem\nprint(problem('newsvendor').name)"
    )
    assert answer.stdout.strip() == "newsvendor", answer.stderr
