"""Saddle-point tails of the sum over a random k-subset, for thousands of values and for many vectors at once."""

import math
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np

from ._certified import lattice_step
from ._checks import FloatArray
from ._normal import permutation_std
from ._tails import Problem, Tails, log_extreme, log_tail

CHUNK_ELEMENTS = 1_000_000
ITERATIONS = 200
CONVERGED = 1e-14
SMALLEST = 1e-300
LARGEST_EXPONENT = 300.0
ALMOST_ONE = 1.0 - 1e-16
# Closer to the mean (in standard deviations) the formula divides by almost zero; the distribution function is a
# straight line there.
CENTRE = 0.02


class _Saddle(NamedTuple):
    """Where the exponentially tilted mean equals the threshold: tilt, convex objective and determinant."""

    tilt: FloatArray
    objective: FloatArray
    determinant: FloatArray


def saddlepoint_tails(problem: Problem) -> Tails:
    """Tails by the double saddle-point approximation, in logarithms.

    Notes
    -----
    A random k-subset is a set of independent Bernoulli draws conditional on their number being k. With
    K(s, t) = Σ log(1 + exp(s + t·z)) the conditional tail is the Lugannani–Rice form of Skovgaard (1987), as applied to
    permutation tests by Robinson (1982) and Booth & Butler (1990):
    P(S ≥ c) ≈ Φ(−w) + φ(w)(1/u − 1/w), w² = 2([K(s₀, 0) − s₀k] − [K(s, t) − sk − tc]),
    u = t·√(det K″(s, t) / K″ₛₛ(s₀, 0)). One vector of values on a lattice gets Daniels' continuity correction:
    half a step off the threshold, and t replaced by (2/step)·sinh(t·step/2).
    """
    rows = max(1, CHUNK_ELEMENTS // problem.n)
    parts = [_chunk_tails(problem.rows(slice(start, start + rows))) for start in range(0, len(problem.z), rows)]
    greater, less, both = (np.concatenate(tail) for tail in zip(*parts, strict=True))
    return Tails(log_tail(greater), log_tail(less), log_tail(both))


def _chunk_tails(problem: Problem) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Natural logarithms of the greater, less and two-sided tails."""
    upward = problem.observed >= 0.0
    sign = np.where(upward, 1.0, -1.0)[:, np.newaxis]
    towards = Problem(problem.z * sign, problem.k, np.abs(problem.observed), problem.tolerance, problem.strict)
    step = _step(problem)
    near = _log_reaching(towards, step=step)
    rest = near if not step.any() else _log_reaching(replace(towards, strict=not problem.strict), step=step)
    far = near if problem.n == 2 * problem.k else _log_reaching(replace(towards, z=-towards.z), step=step)
    both = np.minimum(np.logaddexp(near, far), 0.0)
    if not problem.strict:
        both = np.where(towards.observed <= problem.tolerance, 0.0, both)
    with np.errstate(divide="ignore"):
        other = np.log1p(-np.exp(rest))
    return np.where(upward, near, other), np.where(upward, other, near), both


def _step(problem: Problem) -> FloatArray:
    """Lattice step of a single vector; 0 for values off a lattice and for many vectors, where it is not looked for."""
    if len(problem.z) > 1:
        return np.zeros(len(problem.z))
    z = problem.z[0]
    step = lattice_step(z - z.min(), tolerance=float(problem.tolerance[0]))
    return np.array([step or 0.0])


def _log_reaching(problem: Problem, *, step: FloatArray) -> FloatArray:
    """Log of P(S ≥ observed), or of P(S > observed) if strict; exact where only the largest sum or none is left."""
    log_smallest, largest = log_extreme(problem)
    # On a lattice, reaching a sum and exceeding it lie one step apart: half a step to either side.
    threshold = problem.observed + (0.5 if problem.strict else -0.5) * step
    inside = problem.observed < largest - problem.tolerance
    log_p = _log_survival(problem.z, problem.k, np.where(inside, threshold, 0.5 * largest), step=step)
    reached = ~inside & (problem.observed <= largest + problem.tolerance)
    at_edge = np.where(reached & (not problem.strict), log_smallest, -np.inf)
    return np.where(inside, np.clip(log_p, log_smallest, 0.0), at_edge)


def _log_survival(z: FloatArray, k: int, threshold: FloatArray, *, step: FloatArray) -> FloatArray:
    """Log of P(S ≥ threshold) on either side of the mean, and across it."""
    sign = np.where(threshold >= 0.0, 1.0, -1.0)
    outer = np.maximum(np.abs(threshold), CENTRE * permutation_std(z, k))
    towards = z * sign[:, np.newaxis]
    log_p = _log_tail(towards, k, outer, step=step)
    inner = np.flatnonzero(np.abs(threshold) < outer)
    if inner.size:
        above = np.exp(log_p[inner])
        below = 1.0 - np.exp(_log_tail(-towards[inner], k, outer[inner], step=step[inner]))
        share = np.abs(threshold[inner]) / outer[inner]
        log_p[inner] = np.log(0.5 * ((1.0 + share) * above + (1.0 - share) * below))
    return np.where(sign > 0.0, log_p, np.log1p(-np.minimum(np.exp(log_p), ALMOST_ONE)))


def _log_tail(z: FloatArray, k: int, threshold: FloatArray, *, step: FloatArray) -> FloatArray:
    """Log of P(S ≥ threshold) for thresholds clearly above the mean: the formula of :func:`saddlepoint_tails`."""
    from scipy.special import erfcx, log_ndtr

    n = z.shape[1]
    saddle = _solve(z, k, threshold)
    at_origin = -k * math.log(k / n) - (n - k) * math.log1p(-k / n)
    w = np.sqrt(2.0 * np.maximum(at_origin - saddle.objective, SMALLEST))
    half = np.minimum(0.5 * step * saddle.tilt, LARGEST_EXPONENT)
    correction = np.where(half > 0.0, np.sinh(half) / np.where(half > 0.0, half, 1.0), 1.0)
    u = saddle.tilt * correction * np.sqrt(saddle.determinant / (k * (n - k) / n))
    # φ(w) is taken out of the bracket, so that nothing underflows; where the bracket is not positive (very few values,
    # at the edge), the form of Barndorff-Nielsen, which always is.
    bracket = math.sqrt(math.pi / 2.0) * erfcx(w / math.sqrt(2.0)) + 1.0 / u - 1.0 / w
    series = -0.5 * w**2 - 0.5 * math.log(2.0 * math.pi) + np.log(np.maximum(bracket, SMALLEST))
    modified = log_ndtr(-(w + np.log(u / w) / w))
    return cast(FloatArray, np.where(bracket > 0.0, series, modified))


def _solve(z: FloatArray, k: int, threshold: FloatArray) -> _Saddle:
    """Minimise the convex K(s, t) − sk − t·threshold, all rows at once.

    Newton steps of length log(1 + δ)/δ, where δ is the largest change of s + t·z that the full step would make: the
    curvature of log(1 + exp) changes by at most exp(δ) on the way, so every such step descends, and near the minimum
    it is the full one.
    """
    from scipy.special import expit

    n = z.shape[1]
    scale = np.sqrt(np.einsum("ij,ij->i", z, z) / n)
    unit, target = z / scale[:, np.newaxis], threshold / scale
    s = np.full(len(z), math.log(k / (n - k)))
    t = target * n / (k * (n - k))
    active = np.arange(len(z))
    for _ in range(ITERATIONS):
        rows = unit[active]
        pi = expit(s[active, np.newaxis] + t[active, np.newaxis] * rows)
        gradient_s, gradient_t = pi.sum(axis=1) - k, np.einsum("ij,ij->i", pi, rows) - target[active]
        h_ss, h_st, h_tt = _hessian(pi, rows)
        determinant = np.maximum(h_ss * h_tt - h_st**2, SMALLEST)
        step_s = (h_tt * gradient_s - h_st * gradient_t) / determinant
        step_t = (h_ss * gradient_t - h_st * gradient_s) / determinant
        change = np.abs(step_s[:, np.newaxis] + step_t[:, np.newaxis] * rows).max(axis=1)
        length = np.log1p(change) / np.maximum(change, SMALLEST)
        s[active] -= length * step_s
        t[active] -= length * step_t
        active = active[gradient_s * step_s + gradient_t * step_t > CONVERGED]
        if active.size == 0:
            break
    pi = expit(s[:, np.newaxis] + t[:, np.newaxis] * unit)
    h_ss, h_st, h_tt = _hessian(pi, unit)
    determinant = np.maximum((h_ss * h_tt - h_st**2) * scale**2, SMALLEST)
    objective = np.logaddexp(0.0, s[:, np.newaxis] + t[:, np.newaxis] * unit).sum(axis=1) - s * k - t * target
    return _Saddle(t / scale, objective, determinant)


def _hessian(pi: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    weights = pi * (1.0 - pi)
    weighted = weights * z
    return weights.sum(axis=1), weighted.sum(axis=1), np.einsum("ij,ij->i", weighted, z)
