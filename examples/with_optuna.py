"""Optuna: its study, its storage, its objective; Windward picks the parameters and plans for the context.

python examples/with_optuna.py [--trials 30] [--jobs 2] [--storage sqlite:///optuna.db]
"""

from __future__ import annotations

import argparse
import random

import optuna

import windward as ww
from windward.integrations.optuna import WindwardSampler, reveal


def objective(trial: optuna.Trial) -> float:
    """Return the profit of one day; the weather shows itself after the oven is set."""
    loaves = trial.suggest_int("loaves", 0, 200, step=10)
    recipe = trial.suggest_categorical("recipe", ["plain", "seeds"])
    warmth = trial.suggest_float("warmth", 1.0, 100.0, log=True)
    world = random.Random(trial.number)
    weather = trial.user_attrs.get("weather", world.choice(["sun", "rain"]))  # unless it was known before
    customers = world.gauss(90 if weather == "sun" else 60, 10)
    reveal(trial, {"weather": weather})  # the same as trial.set_user_attr("weather", weather)
    price = 3.0 if recipe == "plain" else 3.4
    return price * max(0.0, min(loaves, customers)) - 1.2 * loaves - abs(warmth - 10.0)


def main() -> None:
    """Optimize for the weather to come, then for a day on which it is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--storage", default="sqlite:///optuna.db")
    arguments = parser.parse_args()
    sampler = WindwardSampler(ww.papers.erbo(), contexts={"weather": ww.Categorical(["sun", "rain"])})
    study = optuna.create_study(
        study_name="bakery", storage=arguments.storage, direction="maximize", sampler=sampler, load_if_exists=True
    )
    study.optimize(objective, n_trials=arguments.trials, n_jobs=arguments.jobs)
    study.enqueue_trial({}, user_attrs={"weather": "rain"})  # a context that is known before the ask
    study.optimize(objective, n_trials=1)
    print("whatever comes:", sampler.recommend(study).decision)
    print("when it rains: ", sampler.recommend(study, context={"weather": "rain"}).decision)


if __name__ == "__main__":
    main()
