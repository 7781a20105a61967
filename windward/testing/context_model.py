"""The laws of a context model: weighted points that agree with what is given and lie where contexts may be."""

from __future__ import annotations

import torch
from torch import Tensor

from windward.contexts import ContextModel, Contexts, Judging
from windward.space import Parameter, Space, Value
from windward.testing.holding import even, require, require_own_randomness
from windward.trials.records import Trial
from windward.trials.trials import Trials

# How many contexts have been seen: none, too few to learn from, two, enough.
SEEN = (0, 1, 2, 12)
# Rounding of a value on its way to a column and back.
ROUNDING = 1e-9


def check_context_model(model: ContextModel, space: Space, *, seed: int = 0) -> None:
    """Hold a context model to its laws on a space, with nothing seen, with a little and with more.

    The points are finite, one column each, inside the declared bounds, whole where a context is a whole number, one choice
    where it is a category, on its circle where it comes round; the weights are a distribution; the same generator gives the
    same points, and no other is drawn from; every point agrees with what is given, and a context that is given whole is one
    point of weight one. Where nothing has been seen and something has no bounds, the model may return None. It makes no more
    points than `most_points` says. A `blind` model keeps that promise alone. The contexts that decisions are judged on
    (`judged`), where the model says, keep the same laws, and what is unknown of their weights is drawn as distributions.

    >>> import windward as ww
    >>> space = ww.Space({"x": ww.Real(0, 1)}, {"demand": ww.Real(0, 9), "visits": ww.Integer(0, 5)})
    >>> check_context_model(ww.Empirical(), space)
    """
    for count in SEEN:
        rows = _rows(space, count, torch.Generator().manual_seed(seed + count))
        trials = _trials(space, rows)
        contexts = _made(model, space, trials, None, seed)
        if contexts is None:
            bounded = all(bool(torch.isfinite(bound).all()) for bound in space.context_bounds)
            require(
                count == 0 and not bounded,
                f"{model!r} gave None after {count} contexts; there is somewhere to put points.",
            )
            continue
        most = model.most_points(space, count)
        require(len(contexts) <= most, f"{model!r} made {len(contexts)} points, and most_points says {most}.")
        if model.blind:  # its points mean nothing
            continue
        _check_points(model, space, contexts)
        again = _made(model, space, trials, None, seed)
        same = again is not None and torch.equal(again.points, contexts.points)
        require(
            same and again is not None and torch.equal(again.weights, contexts.weights),
            f"{model!r} gave other points for the same generator.",
        )
        _check_given(model, space, trials, seed)
        _check_judged(model, space, trials, seed)


def _rows(space: Space, count: int, generator: torch.Generator) -> list[dict[str, Value]]:
    """Return contexts inside the declared bounds, or in 0 to 10 where there are none."""
    low, high = space.context_bounds
    low = torch.where(torch.isfinite(low), low, torch.where(torch.isfinite(high), high - 10.0, 0.0))
    high = torch.where(torch.isfinite(high), high, low + 10.0)
    rows = []
    for _ in range(count):
        point = low + (high - low) * even(generator, space.context_width)
        rows.append(space.decode_context(_legal(space, point)))
    return rows


def _legal(space: Space, point: Tensor) -> Tensor:
    """Return the point with one choice of each category and whole numbers where they are due."""
    point = point.clone()
    for name, parameter in space.context.items():
        columns = space.context_columns[name]
        if parameter.choices:
            chosen = int(point[columns].argmax())
            point[columns] = torch.eye(parameter.width, dtype=torch.float64)[chosen]
        elif name in space.circles:
            value = parameter.from_own(point[columns].numpy())
            point[columns] = torch.from_numpy(parameter.to_own([value])[0])
        elif parameter.step == 1 and not parameter.log:
            point[columns] = point[columns].round()
    return point


def _trials(space: Space, rows: list[dict[str, Value]]) -> Trials:
    decision = space.decode_decision(torch.full((space.decision_width,), 0.5, dtype=torch.float64))
    return Trials(
        space,
        tuple(
            Trial(id, decision, context=row, context_source="revealed" if row else None, value=0.0)
            for id, row in enumerate(rows)
        ),
    )


def _made(
    model: ContextModel, space: Space, trials: Trials, given: dict[str, Value] | None, seed: int
) -> Contexts | None:
    generator = torch.Generator().manual_seed(seed)
    found: Contexts | None = require_own_randomness(
        model, lambda: model(space, trials, space.encode_given(given), generator)
    )
    return found


def _check_points(model: ContextModel, space: Space, contexts: Contexts) -> None:
    points, weights = contexts.points, contexts.weights
    shape = (len(weights), space.context_width)
    require(tuple(points.shape) == shape, f"{model!r} gave points of shape {tuple(points.shape)} instead of {shape}.")
    require(torch.isfinite(points).all(), f"{model!r} gave a point that is not finite.")
    total = float(weights.sum())
    require(float(weights.min()) >= 0.0 and abs(total - 1.0) <= 1e-9, f"{model!r}: the weights sum to {total!r}.")
    low, high = space.context_bounds
    room = ROUNDING * (1.0 + points.abs())
    require(
        ((points >= low - room) & (points <= high + room)).all(), f"{model!r} gave a point outside the declared bounds."
    )
    for name, parameter in space.context.items():
        column = points[:, space.context_columns[name]]
        if parameter.choices:
            chosen = ((column == 0.0) | (column == 1.0)).all() and (column.sum(-1) == 1.0).all()
            require(chosen, f"{model!r} gave a point that is not one choice of {name!r}.")
        elif name in space.circles:
            _check_circle(f"{model!r} gave a point", name, parameter, column)
        elif parameter.step == 1 and not parameter.log:
            require((column == column.round()).all(), f"{model!r} gave a point where {name!r} is not a whole number.")


def _check_circle(said: str, name: str, parameter: Parameter, column: Tensor) -> None:
    """Points of a circle are those of the values that they stand for."""
    values = [parameter.from_own(row) for row in column.numpy()]
    there = torch.from_numpy(parameter.to_own(values))
    room = ROUNDING * float(column.abs().max())
    what = "is not on its circle" if parameter.continuous else "is not a whole number of its circle"
    require((column - there).abs().max() <= room, f"{said} where {name!r} {what}.")


def _check_given(model: ContextModel, space: Space, trials: Trials, seed: int) -> None:
    (context,) = _rows(space, 1, torch.Generator().manual_seed(seed + 100))
    column = space.encode_contexts([context])[0]
    whole = _made(model, space, trials, context, seed)
    one = whole is not None and torch.equal(whole.points, column[None]) and whole.weights.tolist() == [1.0]
    require(one, f"{model!r}: a context that is given whole must be one point of weight one; got {whole}.")
    for name in space.context if len(space.context) > 1 else ():
        part = _made(model, space, trials, {name: context[name]}, seed)
        if part is None:  # the rest has no bounds and has not been seen
            continue
        columns = space.context_columns[name]
        agree = bool((part.points[:, columns] == column[columns]).all())
        require(agree, f"{model!r}: {name} was given as {context[name]!r}, and a point has another value.")
        _check_points(model, space, part)


def _check_judged(model: ContextModel, space: Space, trials: Trials, seed: int) -> None:
    """The contexts that decisions are judged on, where the model says which."""
    if not isinstance(model, Judging):
        return
    (context,) = _rows(space, 1, torch.Generator().manual_seed(seed + 100))
    parts: list[dict[str, Value]] = [{}, context]
    parts += [{name: context[name]} for name in space.context if len(space.context) > 1]
    for given in parts:
        known = space.encode_given(given)
        found = require_own_randomness(model, lambda known=known: model.judged(space, trials, known))  # type: ignore[misc]
        require(found is not None, f"{model!r}.judged() gave None after {len(trials.rows)} contexts.")
        _check_points(model, space, found)
        agree = bool(torch.where(known.known, found.points == known.values, True).all())
        require(agree, f"{model!r}.judged(): {given!r} was given, and a point has another value.")
        again = model.judged(space, trials, known)
        same = again is not None and torch.equal(again.points, found.points)
        require(same, f"{model!r}.judged() gave other points the second time.")
        if given == context:
            one = len(found) == 1 and found.unknown is None
            require(one, f"{model!r}.judged(): a context that is given whole must be one certain point.")
        drawn = found.redrawn(16, torch.Generator().manual_seed(seed))
        sums = bool((drawn.sum(-1) - 1.0).abs().max() <= 1e-9) and float(drawn.min()) >= 0.0
        require(sums, f"{model!r}.judged(): weights that were drawn are no distribution.")
        off = (found.redrawn(2000, torch.Generator().manual_seed(seed)).mean(0) - found.weights).abs().max()
        require(off <= 0.1, f"{model!r}.judged(): the weights are not the mean of what is drawn.")
