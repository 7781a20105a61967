"""Worst cases against references of 80 digits: tiny radii, tiny weights, values with an offset."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import mpmath as mp
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

import windward as ww
from windward.basics.errors import SolverError
from windward.contexts import Contexts
from windward.divergences import MMD, ChiSquare, KullbackLeibler, TotalVariation, Wasserstein

EPSILON = 2.0**-52
DIGITS = 80


def doubles(*values):
    return torch.tensor(values, dtype=torch.float64)


def exactly(numbers):
    return [mp.mpf(float(number)) for number in numbers]


def normalised(weights):
    p = exactly(weights)
    return [share / mp.fsum(p) for share in p]


# -- references -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reference:
    """The answer; `condition`: by how much a relative change of the radius changes log lambda; `turns`: dq / dlog lambda."""

    value: mp.mpf
    weights: list[mp.mpf]
    multiplier: mp.mpf
    condition: mp.mpf | int = 0
    turns: list[mp.mpf] = field(default_factory=list)


def dot(a, b):
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def at_the_least(f, p):
    mass = mp.fsum(share for value, share in zip(f, p, strict=True) if value == min(f))
    return [share / mass if value == min(f) else mp.mpf(0) for value, share in zip(f, p, strict=True)], mass


def kl(q, p):
    """sum q log(q / p) - q + p: the last two cancel for distributions; of weights rounded to doubles they leave no bias."""
    pairs = [(a, b) for a, b in zip(q, p, strict=True) if b > 0]
    return mp.fsum((a * mp.log(a / b) if a > 0 else mp.mpf(0)) - a + b for a, b in pairs)


def kl_reference(f, p, radius):
    """Newton's method for log KL in log theta between bounds, with as many digits as cancel and DIGITS more."""
    f, p, radius = exactly(f), normalised(p), mp.mpf(radius)
    least, mass = at_the_least(f, p)
    if radius >= -mp.log(mass):
        return Reference(min(f), least, mp.mpf(0))
    mean = dot(p, f)
    phi, low, high = mp.log(2 * radius / dot(p, [(value - mean) ** 2 for value in f])) / 2, -mp.inf, mp.inf
    for _ in range(400):
        theta = mp.exp(phi)
        q = [share * mp.exp(-theta * (value - min(f))) for share, value in zip(p, f, strict=True)]
        q = [share / mp.fsum(q) for share in q]
        value, distance = dot(q, f), kl(q, p)
        spread = dot(q, [(each - value) ** 2 for each in f])
        error, rate = mp.log(distance / radius), theta**2 * spread / distance
        if abs(error) < mp.mpf(10) ** -30:
            turns = [abs(theta * share * (each - value)) for share, each in zip(q, f, strict=True)]
            return Reference(value, q, 1 / theta, 1 / rate, turns)
        low, high = (max(low, phi), high) if error < 0 else (low, min(high, phi))
        step = phi - error / rate
        outside = phi + 3 if high == mp.inf else phi - 3 if low == -mp.inf else (low + high) / 2
        phi = step if low < step < high and abs(step - phi) < 5 else outside
    raise AssertionError("the reference was not found")


def chi_square(q, p):
    return mp.fsum((a - b) ** 2 / b for a, b in zip(q, p, strict=True) if b > 0) / 2


def chi_square_reference(f, p, radius):
    """Try every level as the last that keeps mass."""
    f, p, radius = exactly(f), normalised(p), mp.mpf(radius)
    least, mass = at_the_least(f, p)
    if (1 + 2 * radius) * mass >= 1:
        return Reference(min(f), least, mp.mpf(0))
    levels = sorted(set(f))
    for level, following in zip(levels, [*levels[1:], mp.inf], strict=True):
        share = [each if value <= level else mp.mpf(0) for each, value in zip(p, f, strict=True)]
        mass = mp.fsum(share)
        mean = dot(share, f) / mass
        spread = (1 + 2 * radius) * mass - 1
        if spread <= 0:
            continue
        u = mp.sqrt(dot(share, [(value - mean) ** 2 for value in f]) / mass / spread)
        if level < mean + u <= following:
            q = [each * (mean + u - value) / (mass * u) for each, value in zip(share, f, strict=True)]
            turns = [each * abs(value - mean) / (mass * u) for each, value in zip(share, f, strict=True)]
            # d log u / d log r = r P / spread, but a weight's rounding counts too: it is P that is rounded.
            return Reference(dot(q, f), q, mass * u, (1 + 2 * radius) * mass / spread, turns)
    raise AssertionError("no level separates")


REFERENCES = {
    "kl": (KullbackLeibler(), kl_reference, kl),
    "chi_square": (ChiSquare(), chi_square_reference, chi_square),
}


def compare(name, f, p, radius, digits=1e-8):
    """The value, the weights and the multiplier are the reference's; the weights lie in the ball and attain the value."""
    divergence, reference, distance = REFERENCES[name]
    contexts = Contexts(torch.arange(len(p), dtype=torch.float64)[:, None], p / p.sum())
    worst = divergence.worst_case(f, contexts, radius)
    with mp.workdps(DIGITS + max(0, int(-math.log10(radius)))):
        wanted = reference(f, contexts.weights, radius)
        span, size = float(f.max() - f.min()), float(f.abs().max())
        # A sum of rounded products cannot be closer than this, nor can what depends on a radius that is rounded.
        assert abs(float(worst.value) - wanted.value) <= 1e-2 * digits * span + 8 * EPSILON * size
        loose = 64 * EPSILON * wanted.condition
        assert abs(float(worst.multiplier) - wanted.multiplier) <= (digits + loose) * wanted.multiplier
        q = exactly(worst.weights)
        turns = wanted.turns or [0] * len(q)
        for found, right, turn in zip(q, wanted.weights, turns, strict=True):
            assert abs(found - right) <= digits * right + loose * turn + 1e-300
        # Weights are doubles: q / p - 1, of the size of the radius' root, cannot be closer than EPSILON.
        room = 1e-9 * radius + 8 * EPSILON * math.sqrt(radius) + 8 * EPSILON**2
        assert distance(q, normalised(contexts.weights)) <= radius + room
        assert abs(dot(q, exactly(f)) - float(worst.value)) <= 8 * EPSILON * size
    return worst


# -- Kullback-Leibler and chi-square, against the references ------------------------------------------------------------


@pytest.mark.parametrize(
    "radius", [1e-300, 1e-200, 1e-100, 1e-40, 1e-20, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 0.1]
)
@pytest.mark.parametrize("name", REFERENCES)
def test_every_radius_has_its_digits(name, radius):
    p, f = doubles(0.1, 0.2, 0.3, 0.15, 0.25), doubles(0.3, -1.2, 0.8, 2.0, -0.4)
    compare(name, f, p, radius, digits=1e-9)
    compare(name, 1e6 + 1e-3 * f, p, radius, digits=1e-9)


def end_of(name, f, p):
    rest = float((p / p.sum())[f > f.min()].sum())
    mass = float((p / p.sum())[f == f.min()].sum())
    return (
        max(-math.log1p(-rest) if rest < 0.5 else -math.log(mass), 1e-300)
        if name == "kl"
        else max(rest / mass / 2.0, 1e-300)
    )


@pytest.mark.parametrize("share", [0.5, 0.99, 1.0 - 1e-6, 1.0 - 1e-9, 1.0 + 1e-9, 1.5, 1e3])
@pytest.mark.parametrize("weights", [(0.2, 0.5, 0.3), (1e-12, 0.5, 0.5), (1.0, 1e-12, 1e-10), (1e-5, 1.0, 1e-9)])
@pytest.mark.parametrize("name", REFERENCES)
def test_up_to_the_minimum_and_beyond(name, weights, share):
    p, f = doubles(*weights), doubles(-1.0, 0.5, 0.25)
    compare(name, f, p, share * end_of(name, f, p))


instances = st.tuples(
    st.lists(st.tuples(st.floats(-12.0, 0.0), st.integers(-40, 40)), min_size=2, max_size=6),
    st.sampled_from([0.0, 1.0, -1e3, 1e6]),
    st.floats(-4.0, 4.0),
    st.one_of(
        st.floats(-300.0, 1.0).map(lambda power: ("radius", power)),
        st.floats(-9.0, 1.0).map(lambda power: ("end", power)),
    ),
)


def built(name, instance):
    """Values on a grid with ties, an offset and a size; a radius by its power of ten, or at a distance from the minimum's."""
    pairs, offset, size, (kind, power) = instance
    p = doubles(*(10.0**weight for weight, _ in pairs))
    f = offset + 10.0**size * doubles(*(float(value) / 7.0 for _, value in pairs))
    if kind == "radius":
        return f, p, 10.0**power
    end = end_of(name, f, p)
    return f, p, max(end * (1.0 - 10.0**power), 1e-300) if power < 0 else end * (1.0 + 10.0**power)


@settings(max_examples=60)
@given(instances)
@pytest.mark.parametrize("name", REFERENCES)
@example(([(-12.0, 0), (0.0, 7)], 0.0, 0.0, ("radius", 8.0)))  # left the ball by 4e-7 of the radius
@example(([(0.0, 3), (-6.0, -20), (-3.0, 40)], 1e6, -3.0, ("radius", -14.0)))
def test_tiny_weights_offsets_and_any_radius(name, instance):
    compare(name, *built(name, instance))


def test_a_step_of_newton_does_not_leave_for_where_the_distance_is_rounding_alone():
    """At 37 spans KL is flat: from there a step went to exp(-354) spans, and 200 more of 2e-8 each did not come back."""
    pairs = [
        (0.6889211395309278, 0.0597823031630582),
        (0.6867127693991429, 0.11863301587562607),
        (0.521560620933022, 1.9659673570143644e-06),
        (0.8058925397935602, 0.18742211865895253),
        (0.55324480509823, 1.1127126740205112e-10),
        (0.5231649194092052, 2.081396485359085e-12),
        (0.7838236227374944, 0.155772814184834),
        (0.4827809189738479, 0.005291859869956401),
        (0.0, 9.7051883916539e-07),
        (1.0, 0.030550482938884165),
        (0.8516411011249058, 0.09417620903203407),
        (0.19579814664717843, 1.1418461749668046e-12),
        (0.907249675784152, 0.19492285578105653),
        (0.7446099161601464, 0.05228078791964011),
        (0.7035442968326583, 9.505252358497784e-10),
        (0.6436792351716883, 9.155341667714748e-09),
        (0.656447300045335, 4.899878559831679e-07),
        (0.6403512091794221, 0.1011631499984217),
        (0.5608927268066835, 9.65883122618455e-07),
    ]
    f, p = doubles(*(value for value, _ in pairs)), doubles(*(weight for _, weight in pairs))
    compare("kl", f, p, 6.4)


def test_values_of_many_magnitudes_leave_a_distribution():
    """The mean under the weights was rounded to below the least value, by many lambdas: no weight was left."""
    f = doubles(
        5.99066997710022e-181,
        1.9911796264297904e-181,
        2.7968898015341604e-187,
        5.193664706462445e-152,
        7.057550887228049e-176,
    )
    p = doubles(
        1.2337831813765922e-08,
        0.9966424017635956,
        0.003357580572125977,
        3.9334218578035136e-09,
        1.3930246125805374e-09,
    )
    compare("kl", f, p, 6.052024359670455e-06)


@pytest.mark.parametrize("name", REFERENCES)
def test_laws_hold_across_every_radius(name):
    """Falling and convex from 1e-300 to beyond the minimum; the multiplier lies between the slopes, and a batch is its rows."""
    divergence = REFERENCES[name][0]
    p, f = doubles(0.4, 0.3, 1e-12, 0.3 - 1e-12), doubles(0.7, -0.2, -3.0, 1.1)
    contexts = Contexts(torch.zeros(4, 1).double(), p)
    radii = 10.0 ** torch.linspace(-300.0, 13.0, 900, dtype=torch.float64)
    worst = divergence.worst_case(f.expand(900, -1), contexts, radii)
    fall, step = -worst.value.diff(), radii.diff()
    assert bool((worst.multiplier.diff() <= 1e-9 * worst.multiplier[:-1]).all())
    assert bool((fall <= worst.multiplier[:-1] * step * (1 + 1e-8) + 1e-15).all())
    assert bool((fall >= worst.multiplier[1:] * step * (1 - 1e-8) - 1e-15).all())
    assert float(worst.multiplier[-1]) == 0.0 and float(worst.value[-1]) == -3.0
    alone = torch.stack([divergence.worst_case(f, contexts, float(radius)).multiplier for radius in radii[::30]])
    assert torch.allclose(worst.multiplier[::30], alone, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("radius", [1e-14, 1e-9, 1e-3, 0.5])
@pytest.mark.parametrize("name", REFERENCES)
def test_gradients_of_value_and_multiplier_at_tiny_radii(name, radius):
    contexts = Contexts(torch.zeros(4, 1).double(), doubles(0.4, 0.3, 1e-6, 0.3 - 1e-6))
    f = doubles(0.7, -0.2, -1.0, 1.1).requires_grad_()
    size = float(REFERENCES[name][0].worst_case(f.detach(), contexts, radius).multiplier)

    def answers(values):
        worst = REFERENCES[name][0].worst_case(values, contexts, radius)
        return worst.value, worst.multiplier / size

    assert torch.autograd.gradcheck(answers, f, eps=1e-6, atol=1e-6, rtol=1e-5)


def test_the_distance_of_kullback_leibler_keeps_its_digits():
    p = doubles(0.5, 0.3, 0.2)
    contexts = Contexts(torch.zeros(3, 1).double(), p)
    for power in range(-14, 0):
        moved = p + 10.0**power * doubles(1.0, -0.5, -0.5)
        with mp.workdps(60):
            wanted = kl(exactly(moved), exactly(p))
            assert abs(float(KullbackLeibler().distance(moved, contexts)) - wanted) <= 1e-9 * wanted


# -- every divergence: the adversary stays in the ball -----------------------------------------------------------------

# MMD is solved by an interior point method, to 1e-9 of the kernel's scale; the others are exact.
OTHERS = {
    "total_variation": (TotalVariation(), 1e-15),
    "mmd": (MMD(0.3), 1e-9),
    "mmd_nugget": (MMD(0.3, nugget=1e-4), 1e-9),
    "wasserstein": (Wasserstein(), 1e-15),
}


@settings(max_examples=30)
@given(instances)
@pytest.mark.parametrize("name", OTHERS)
def test_the_adversary_stays_in_the_ball_of_every_divergence(name, instance):
    pairs, offset, size, (_, power) = instance
    p = doubles(*(10.0**weight for weight, _ in pairs))
    f = offset + 10.0**size * doubles(*(float(value) / 7.0 for _, value in pairs))
    contexts = Contexts(torch.linspace(0.0, 1.0, len(p), dtype=torch.float64)[:, None], p / p.sum())
    radius = 10.0 ** max(power, -14.0)
    divergence, slack = OTHERS[name]
    try:
        worst = divergence.worst_case(f, contexts, radius)
    except SolverError:  # MMD refuses what it cannot certify, such as a radius far below the weights' rounding
        assert name.startswith("mmd") and radius < 1e-6
        return
    assert float(worst.weights.min()) >= 0.0
    assert float(divergence.distance(worst.weights, contexts)) <= radius * (1 + 1e-9) + slack


@pytest.mark.parametrize(
    "divergence", [KullbackLeibler(), ChiSquare(), *(each for each, _ in OTHERS.values())], ids=repr
)
def test_no_rows_with_a_gradient_have_no_worst_case(divergence):
    """Their range was read from a sum with its graph, of which torch warns."""
    contexts = Contexts(doubles(0.0, 1.0)[:, None], doubles(0.5, 0.5))
    values = torch.zeros(0, 2, dtype=torch.float64, requires_grad=True)
    assert divergence.worst_case(values, contexts, 0.1).value.shape == (0,)


@pytest.mark.parametrize("rest", [1e-5, 1e-6, 1e-7, 1e-8])
def test_mmd_knows_how_far_a_minimum_is_that_has_nearly_all_mass(rest):
    """|e - p| for p = (1 - rest, rest) is rest |e_1 - e_2|: as a difference of sums it had no digits left."""
    contexts = Contexts(doubles(0.0, 1.0)[:, None], doubles(1.0 - rest, rest))
    ball = MMD(0.3, nugget=1e-4).on(contexts)
    reach, _ = ball.reach_of_minimum(doubles(0.0, 1.0)[None])
    apart = math.sqrt(2.0 + 2e-4 - 2.0 * math.exp(-0.5 / 0.3**2))
    assert float(reach) == pytest.approx(rest * apart, rel=1e-7)


def test_a_slope_that_scipy_does_not_find_is_a_solver_error(monkeypatch):
    import scipy.optimize

    def endless(*arguments):
        raise RuntimeError("Maximum number of iterations reached.")

    contexts = ww.Contexts(torch.tensor([[0.0], [0.5], [1.0]]), torch.tensor([0.5, 0.5, 0.0]))
    objective = ww.Sensitivity(ww.MMD(0.3, nugget=1e-6)).bind(ww.Situation(contexts, 2))
    values = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    assert torch.isfinite(objective(values)).all()
    monkeypatch.setattr(scipy.optimize, "nnls", endless)
    with pytest.raises(ww.SolverError, match="slope at radius 0 could not be found"):
        objective(values)


def test_newton_that_goes_to_and_fro_is_ended():
    """KL rises in two stages here: Newton's steps for log KL in log theta jump from one to the other and back for ever."""
    values = doubles(
        0.0, 0.3896941728522094, 0.040113738702216815, 0.3723777292949443, 1.0, 0.29925236920706894, 0.25353900277399266
    )
    masses = doubles(
        0.0005431835619702695,
        0.03058691435508641,
        0.0004599275078979785,
        0.5032710045984968,
        0.00010711029836053579,
        0.1315259006281362,
        0.3335059590500517,
    )
    contexts = Contexts(torch.zeros(7, 1, dtype=torch.float64), masses / masses.sum())
    found = KullbackLeibler().worst_case(values, contexts, 6.32)
    assert float(KullbackLeibler().distance(found.weights, contexts)) == pytest.approx(6.32, rel=1e-11)
    # Tilted by one theta: the logarithms of the weights' ratios fall with the values along one line.
    line = (found.weights / contexts.weights).log()
    slopes = (line - line[0])[1:] / (values - values[0])[1:]
    torch.testing.assert_close(slopes, slopes[:1].expand(6), rtol=1e-9, atol=0.0)
    assert float(slopes[0]) == pytest.approx(-1.0 / float(found.multiplier), rel=1e-9)
