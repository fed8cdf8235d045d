"""The inner kernel of CEAT: thousands of WEATs, each on one drawn context a stimulus.

Every row is read once a sample, straight from its block, into a small buffer that stays in the cache. Norms are not
divided out of the vectors: they enter the weights of the attribute direction and scale the finished associations.
Products are made in the precision of the blocks; everything from s(w, A, B) on is double.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._checks import ROUNDING, FloatArray, culprit, one_of
from .errors import EmptySetError, NotFiniteError, OptionError, ShapeError, ZeroVarianceError, ZeroVectorError

Sampling = Literal["published", "with"]
Seed = int | np.random.Generator | None
Blocks = Sequence[NDArray[Any]]

# About 32 samples of 25 + 25 words in 768 dimensions: larger buffers leave the cache, smaller ones cost calls.
BUFFER_BYTES = 5_000_000
NORM_ROWS = 4_096


class Drawn(NamedTuple):
    """Which context each sample takes of each stimulus: four integer arrays of shape (samples, stimuli)."""

    x: NDArray[np.intp]
    y: NDArray[np.intp]
    a: NDArray[np.intp]
    b: NDArray[np.intp]


@dataclass(frozen=True)
class CeatSamples:
    """Effect size and in-sample variance of every sample; ``s`` holds the associations of X then Y, if kept."""

    d: FloatArray
    v: FloatArray
    s: FloatArray | None


@dataclass(frozen=True)
class CeatLevels:
    """All three levels of ML-EAT on every sample.

    Attributes
    ----------
    d, v, s : array
        Level 1, as in :class:`CeatSamples`.
    d_x, d_y : array, shape (samples,)
        Level 2 effect sizes of both targets.
    u_x, u_y : array, shape (samples, n_a + n_b)
        Mean cosine of each attribute word (A then B) with the target: what a level 2 permutation moves.
    cosine_mean, cosine_std : array, shape (samples, 4)
        Level 3, in the order (X, A), (X, B), (Y, A), (Y, B).
    """

    d: FloatArray
    v: FloatArray
    s: FloatArray
    d_x: FloatArray
    d_y: FloatArray
    u_x: FloatArray
    u_y: FloatArray
    cosine_mean: FloatArray
    cosine_std: FloatArray


def sample_indices(
    counts: ArrayLike, n_samples: int, *, sampling: Sampling = "published", rng: Seed = None
) -> NDArray[np.intp]:
    """Draw one context of every stimulus for every sample.

    Parameters
    ----------
    counts : array_like of int, shape (stimuli,)
        Contexts of each stimulus.
    n_samples : int
        N of CEAT.
    sampling : {"published", "with"}
        ``published``: without replacement where a stimulus has at least N contexts, else with replacement (guo2021).
        ``with``: always with replacement (its public code).
    rng : int or numpy.random.Generator, optional
        Seed or generator; ``None`` draws fresh entropy.

    Returns
    -------
    array of int, shape (n_samples, stimuli)
    """
    one_of(sampling, get_args(Sampling), name="sampling")
    if n_samples < 1:
        raise OptionError(f"n_samples={n_samples} must be at least 1.")
    sizes = np.asarray(counts)
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer):
        raise ShapeError(f"counts must be one row of whole numbers; it is {sizes.dtype} of shape {sizes.shape}.")
    if sizes.size == 0:
        raise EmptySetError("counts is empty: there is no stimulus to draw contexts for.")
    if sizes.min() < 1:
        raise EmptySetError(f"counts[{int(np.argmin(sizes))}] is {sizes.min()}: a stimulus without contexts; drop it.")
    generator = np.random.default_rng(rng)
    drawn = np.empty((sizes.size, n_samples), dtype=np.intp)
    for row, count in zip(drawn, sizes.tolist(), strict=True):
        replace = sampling == "with" or count < n_samples
        row[:] = generator.integers(0, count, n_samples) if replace else generator.permutation(count)[:n_samples]
    return drawn.T


def draw(
    X: Blocks, Y: Blocks, A: Blocks, B: Blocks, n_samples: int, *, sampling: Sampling = "published", rng: Seed = None
) -> Drawn:
    """Draw the contexts of all four sets from one generator, in the order X, Y, A, B."""
    generator = np.random.default_rng(rng)
    return Drawn(
        *(
            sample_indices([len(block) for block in blocks], n_samples, sampling=sampling, rng=generator)
            for blocks in (X, Y, A, B)
        )
    )


def ceat_samples(
    X: Blocks,
    Y: Blocks,
    A: Blocks,
    B: Blocks,
    drawn: Drawn,
    *,
    ddof: int = 1,
    keep_s: bool = False,
    workers: int | None = None,
) -> CeatSamples:
    """Measure WEAT on every sample of contexts (guo2021, CEAT).

    Parameters
    ----------
    X, Y, A, B : sequence of arrays, each of shape (contexts, dim)
        One block a stimulus; blocks may be memory-mapped and differ in their number of contexts.
    drawn : Drawn
        The context of each stimulus in each sample; see :func:`draw`.
    ddof : int
        Of the standard deviation over X ∪ Y.
    keep_s : bool
        Return s(w, A, B) of every sample too, which permutation p-values need.
    workers : int, optional
        Threads; by default one a processor.

    Notes
    -----
    s(w, A, B) = ŵ · (mean â − mean b̂), so a sample costs one weighted sum of attribute rows and one product a target
    word. V is the variance of s over X ∪ Y (guo2021, "Random-Effects Model Details").

    Raises
    ------
    ZeroVarianceError, ZeroVectorError, NotFiniteError, EmptySetError, ShapeError, OptionError
    """
    targets, attributes, n_x, n_a = _prepare(X, Y, A, B, drawn, ddof=ddof)
    samples, dim = targets.samples, targets.dim
    n_b = attributes.stimuli - n_a
    share = np.repeat([1.0 / n_a, -1.0 / n_b], [n_a, n_b])
    weights = (attributes.scale * share).astype(attributes.dtype)
    scores = _Scores(samples, n_x=n_x)
    s = np.empty((samples, targets.stimuli)) if keep_s else None
    width = max(targets.stimuli, attributes.stimuli)

    def work(starts: range) -> None:
        buffer = np.empty((width, starts.step, dim), dtype=targets.dtype)
        for start in starts:
            stop = min(start + starts.step, samples)
            direction = weights[start:stop, np.newaxis] @ attributes.gather(start, stop, buffer)
            products = targets.gather(start, stop, buffer) @ direction.transpose(0, 2, 1)
            part = products[:, :, 0] * targets.scale[start:stop]
            scores.put(start, stop, part, ddof=ddof)
            if s is not None:
                s[start:stop] = part

    _run(work, samples, bytes_a_sample=width * dim * targets.dtype.itemsize, workers=workers)
    return CeatSamples(d=scores.d("over X ∪ Y"), v=scores.variance, s=s)


def scored_samples(s: FloatArray, n_x: int, *, ddof: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return d and V of samples whose associations are known already: a row of X then Y for each."""
    scores = _Scores(len(s), n_x=n_x)
    scores.put(0, len(s), s, ddof=ddof)
    return scores.d("over X ∪ Y"), scores.variance


def ceat_levels(
    X: Blocks,
    Y: Blocks,
    A: Blocks,
    B: Blocks,
    drawn: Drawn,
    *,
    ddof: int = 1,
    by: Literal["cosine", "projection"] = "cosine",
    workers: int | None = None,
) -> CeatLevels:
    """Measure ML-EAT at all three levels on every sample of contexts (wolfe2024 on guo2021's samples).

    Parameters as in :func:`ceat_samples`, whose d, V and s it gives too; the full matrix of cosines makes it slower.
    ``by="projection"`` has t·a/‖a‖ in the place of the cosines: targets keep their length.
    """
    targets, attributes, n_x, n_a = _prepare(X, Y, A, B, drawn, ddof=ddof)
    if by == "projection":
        targets.scale[:] = 1.0
    samples, dim = targets.samples, targets.dim
    if min(n_x, targets.stimuli - n_x) * min(n_a, attributes.stimuli - n_a) <= ddof:
        raise EmptySetError(f"A level 3 matrix of one cosine has no standard deviation with ddof={ddof}.")
    level1, level2_x, level2_y = _Scores(samples, n_x=n_x), _Scores(samples, n_x=n_a), _Scores(samples, n_x=n_a)
    s = np.empty((samples, targets.stimuli))
    u_x, u_y = np.empty((2, samples, attributes.stimuli))
    means, stds = np.empty((2, samples, 4))
    sides = [(rows, columns) for rows in (slice(n_x), slice(n_x, None)) for columns in (slice(n_a), slice(n_a, None))]
    width = targets.stimuli + attributes.stimuli

    def work(starts: range) -> None:
        buffer = np.empty((width, starts.step, dim), dtype=targets.dtype)
        for start in starts:
            stop = min(start + starts.step, samples)
            here = slice(start, stop)
            t = targets.gather(start, stop, buffer[: targets.stimuli])
            a = attributes.gather(start, stop, buffer[targets.stimuli :])
            cosines = (t @ a.transpose(0, 2, 1)) * targets.scale[here, :, np.newaxis]
            cosines *= attributes.scale[here, np.newaxis, :]
            s[here] = cosines[:, :, :n_a].mean(axis=2) - cosines[:, :, n_a:].mean(axis=2)
            u_x[here], u_y[here] = cosines[:, :n_x].mean(axis=1), cosines[:, n_x:].mean(axis=1)
            for scores, values in ((level1, s), (level2_x, u_x), (level2_y, u_y)):
                scores.put(start, stop, values[here], ddof=ddof)
            for column, (rows, columns) in enumerate(sides):
                means[here, column] = cosines[:, rows, columns].mean(axis=(1, 2))
                stds[here, column] = cosines[:, rows, columns].std(axis=(1, 2), ddof=ddof)

    _run(work, samples, bytes_a_sample=width * dim * targets.dtype.itemsize, workers=workers)
    return CeatLevels(
        d=level1.d("over X ∪ Y"),
        v=level1.variance,
        s=s,
        d_x=level2_x.d("of X over A ∪ B"),
        d_y=level2_y.d("of Y over A ∪ B"),
        u_x=u_x,
        u_y=u_y,
        cosine_mean=means,
        cosine_std=stds,
    )


class _Scores:
    """Difference of means and variance of one row of values a sample, filled part by part."""

    def __init__(self, samples: int, *, n_x: int) -> None:
        self.difference, self.variance, self.largest = np.empty((3, samples))
        self.n_x = n_x

    def put(self, start: int, stop: int, values: FloatArray, *, ddof: int) -> None:
        self.difference[start:stop] = values[:, : self.n_x].mean(axis=1) - values[:, self.n_x :].mean(axis=1)
        self.variance[start:stop] = values.var(axis=1, ddof=ddof)
        self.largest[start:stop] = np.abs(values).max(axis=1)

    def d(self, where: str) -> FloatArray:
        std = np.sqrt(self.variance)
        flat = std <= ROUNDING * self.largest
        if flat.any():
            raise ZeroVarianceError(
                f"Sample {int(np.argmax(flat))}: all associations {where} are equal; d is undefined."
            )
        return self.difference / std


@dataclass(frozen=True)
class _Sampled:
    """Stimuli with the row drawn of each (stimuli, samples) and the inverse norm of that row (samples, stimuli)."""

    blocks: list[NDArray[Any]]
    rows: NDArray[np.intp]
    scale: FloatArray
    dtype: np.dtype[Any]

    @property
    def stimuli(self) -> int:
        return len(self.blocks)

    @property
    def samples(self) -> int:
        return int(self.rows.shape[1])

    @property
    def dim(self) -> int:
        return int(self.blocks[0].shape[1])

    def gather(self, start: int, stop: int, buffer: NDArray[Any]) -> NDArray[Any]:
        """Copy the drawn rows of some samples into the buffer; a view of shape (samples, stimuli, dim)."""
        for block, rows, place in zip(self.blocks, self.rows[:, start:stop], buffer, strict=False):
            if block.dtype == self.dtype:
                # mode="clip" writes straight into place; the rows were checked before.
                np.take(block, rows, axis=0, out=place[: stop - start], mode="clip")
            else:
                place[: stop - start] = block[rows]
        return buffer[: self.stimuli, : stop - start].transpose(1, 0, 2)


def _prepare(
    X: Blocks, Y: Blocks, A: Blocks, B: Blocks, drawn: Drawn, *, ddof: int
) -> tuple[_Sampled, _Sampled, int, int]:
    """Check blocks and indices; return targets, attributes and the sizes of X and A."""
    sets = dict(zip("XYAB", (X, Y, A, B), strict=True))
    indices = {name: np.asarray(rows) for name, rows in zip("XYAB", drawn, strict=True)}
    for name, blocks in sets.items():
        _check_set(name, blocks, indices[name])
    dims = {name: blocks[0].shape[1] for name, blocks in sets.items()}
    samples = {name: len(rows) for name, rows in indices.items()}
    for what, sizes in (("dimensions", dims), ("samples", samples)):
        if len(set(sizes.values())) > 1:
            raise ShapeError(f"The sets differ in {what}: {', '.join(f'{n} has {k}' for n, k in sizes.items())}.")
    if ddof < 0 or len(X) + len(Y) <= ddof or len(A) + len(B) <= ddof:
        raise EmptySetError(f"ddof={ddof} needs more words than it takes away: {len(X)} + {len(Y)} in X ∪ Y.")
    double = any(block.dtype.itemsize > 4 for blocks in sets.values() for block in blocks)
    dtype = np.dtype(np.float64 if double else np.float32)

    def sampled(first: str, second: str) -> _Sampled:
        rows = np.ascontiguousarray(np.concatenate([indices[first].T, indices[second].T]), dtype=np.intp)
        names = [culprit(name, i, None) for name in (first, second) for i in range(len(sets[name]))]
        blocks = [*sets[first], *sets[second]]
        scale = np.empty(rows.T.shape)
        for column, (name, block) in enumerate(zip(names, blocks, strict=True)):
            scale[:, column] = _inverse_norms(name, block, rows[column], dtype)[rows[column]]
        return _Sampled(blocks, rows, scale, dtype)

    return sampled("X", "Y"), sampled("A", "B"), len(X), len(A)


def _check_set(name: str, blocks: Blocks, rows: NDArray[Any]) -> None:
    if len(blocks) == 0:
        raise EmptySetError(f"{name} is empty; it needs at least one stimulus.")
    if rows.ndim != 2 or rows.shape[1] != len(blocks) or not np.issubdtype(rows.dtype, np.integer):
        raise ShapeError(
            f"The indices of {name} must be whole numbers of shape (samples, {len(blocks)}); they are {rows.dtype} of "
            f"shape {rows.shape}."
        )
    if len(rows) == 0:
        raise EmptySetError(f"The indices of {name} hold no sample.")
    for i, block in enumerate(blocks):
        if block.ndim != 2 or block.shape[1] != blocks[0].shape[1] or not np.issubdtype(block.dtype, np.floating):
            raise ShapeError(
                f"{name}[{i}] must be a float array of shape (contexts, {blocks[0].shape[-1]}); it is {block.dtype} of "
                f"shape {block.shape}."
            )
        low, high = int(rows[:, i].min()), int(rows[:, i].max())
        if low < 0 or high >= len(block):
            raise ShapeError(f"The indices of {name}[{i}] run from {low} to {high}, but it has {len(block)} contexts.")


def _inverse_norms(name: str, block: NDArray[Any], rows: NDArray[np.intp], dtype: np.dtype[Any]) -> FloatArray:
    """Inverse norm of every context that is drawn; the others stay 0."""
    used = np.zeros(len(block), dtype=np.bool_)
    used[rows] = True
    # Where most contexts are drawn, reading all of them in order is faster than picking.
    wanted = np.flatnonzero(used) if 2 * used.sum() < len(block) else None
    squares = np.zeros(len(block))
    for start in range(0, len(block) if wanted is None else wanted.size, NORM_ROWS):
        part = slice(start, start + NORM_ROWS) if wanted is None else wanted[start : start + NORM_ROWS]
        vectors = np.asarray(block[part], dtype=dtype)
        squares[part] = np.einsum("ij,ij->i", vectors, vectors)
    if not np.isfinite(squares[used]).all():
        index = int(np.flatnonzero(used & ~np.isfinite(squares))[0])
        raise NotFiniteError(f"{name}, context {index}, holds NaN, infinity or an entry too large to square.")
    if not squares[used].all():
        index = int(np.flatnonzero(used & (squares == 0.0))[0])
        raise ZeroVectorError(f"{name}, context {index}, is a zero vector, which has no direction; drop it.")
    return np.divide(1.0, np.sqrt(squares), out=np.zeros(len(block)), where=used)


def _processors() -> int:
    """Processors that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(work: Callable[[range], None], samples: int, *, bytes_a_sample: int, workers: int | None) -> None:
    """Call ``work`` on ranges of chunk starts that cover all samples, one range a thread."""
    from threadpoolctl import threadpool_limits

    if workers is not None and workers < 1:
        raise OptionError(f"workers={workers} must be at least 1.")
    threads = workers or _processors()
    chunk = max(1, min(BUFFER_BYTES // bytes_a_sample, -(-samples // threads)))
    per_thread = -(-samples // (chunk * threads)) * chunk
    parts = [range(start, min(start + per_thread, samples), chunk) for start in range(0, samples, per_thread)]
    # The products are small: threads of the BLAS below ours wait for one another longer than they work.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, parts))
