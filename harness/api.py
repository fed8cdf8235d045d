"""The Python API: the methods on words and vectors that are already in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import HarnessError, did_you_mean
from harness.methods.base import BlockSet
from harness.methods.ceat import Ceat
from harness.methods.ceat import ceat as _ceat
from harness.methods.ceat_draws import draw_contexts
from harness.methods.mleat import MlEat
from harness.methods.mleat import mleat as _mleat
from harness.methods.weat import Weat
from harness.methods.weat import weat as _weat
from harness.methods.wefat import Wefat
from harness.methods.wefat import wefat as _wefat
from harness.options import StatsOptions
from harness.stimuli import Concept

Words = Concept | Iterable[str]
WordBlocks = Mapping[str, ArrayLike]


def weat(
    X: Words | ArrayLike,
    Y: Words | ArrayLike,
    A: Words | ArrayLike,
    B: Words | ArrayLike,
    vectors: Any = None,
    *,
    stats: StatsOptions | None = None,
    seed: int = 0,
    **options: Any,
) -> Weat:
    """Measure a WEAT on vectors in memory.

    Parameters
    ----------
    X, Y, A, B
        Arrays with a row for each stimulus; or, when ``vectors`` is given, lists of words or concepts of a test.
    vectors
        Where words are looked up: a gensim ``KeyedVectors``, or any mapping of words to arrays.
    stats
        The conventions; by default those that the harness stands behind.
    seed
        Of every draw.
    **options
        Single conventions, such as ``ddof=0`` or ``alternative="two-sided"``.

    Returns
    -------
    Weat
        With ``d``, ``p`` (``p.p``, ``p.p_low``, ``p.p_high``, ``p.log10_p``, …), ``ci_low``, ``ci_high``, ``s_x`` and
        ``s_y``.
    """
    arrays = [as_array(name, given, vectors) for name, given in (("X", X), ("Y", Y), ("A", A), ("B", B))]
    return _weat(*arrays, stats=chosen_stats(stats, options), seed=seed)


def mleat(
    X: Words | ArrayLike,
    Y: Words | ArrayLike,
    A: Words | ArrayLike,
    B: Words | ArrayLike,
    vectors: Any = None,
    *,
    stats: StatsOptions | None = None,
    seed: int = 0,
    **options: Any,
) -> MlEat:
    """Measure an ML-EAT on vectors in memory; parameters as in :func:`weat`.

    Returns
    -------
    MlEat
        With ``level1`` (a ``Weat``), ``level2["X"]`` and ``level2["Y"]`` (``d``, ``p``), ``level3["XA"]`` … (``mean``,
        ``std``), ``pattern``, ``pattern_two_sided`` and ``anisotropy``.
    """
    arrays = [as_array(name, given, vectors) for name, given in (("X", X), ("Y", Y), ("A", A), ("B", B))]
    return _mleat(*arrays, stats=chosen_stats(stats, options), seed=seed)


def wefat(
    W: Words | ArrayLike,
    A: Words | ArrayLike,
    B: Words | ArrayLike,
    properties: Mapping[str, float] | ArrayLike | None = None,
    vectors: Any = None,
    *,
    stats: StatsOptions | None = None,
    **options: Any,
) -> Wefat:
    """Measure a WEFAT on vectors in memory.

    Parameters
    ----------
    W, A, B
        As in :func:`weat`; a higher score is nearer to A.
    properties
        A number for each word of W: in its order, or by word. None: those of the concept W.
    vectors, stats, **options
        As in :func:`weat`.

    Returns
    -------
    Wefat
        With ``scores``, ``r``, ``rho``, ``line`` and ``without`` (the fit without each word in turn).
    """
    words = None if vectors is None else as_words(W)
    given = W.properties if properties is None and isinstance(W, Concept) else properties
    if given is None:
        raise HarnessError("WEFAT needs a number for each word of W: pass properties, or a concept that has them.")
    if isinstance(given, Mapping):
        lacking = [word for word in words or ["any word, for W holds vectors only"] if word not in given]
        if lacking:
            raise HarnessError(f"WEFAT needs a number for each word of W; there is none for {', '.join(lacking)}.")
        given = [given[word] for word in words or ()]
    w, a, b = (as_array(name, items, vectors) for name, items in (("W", W), ("A", A), ("B", B)))
    return _wefat(w, a, b, given, stats=chosen_stats(stats, options), labels=words)


def ceat(
    X: WordBlocks,
    Y: WordBlocks,
    A: WordBlocks,
    B: WordBlocks,
    *,
    stats: StatsOptions | None = None,
    seed: int = 0,
    **options: Any,
) -> Ceat:
    """Measure a CEAT on vectors in memory.

    Parameters
    ----------
    X, Y, A, B
        For each stimulus its vectors, a row for each context.
    stats, seed, **options
        As in :func:`weat`; ``ceat_samples`` is the number of samples.

    Returns
    -------
    Ceat
        With ``combined`` (``ces``, ``se``, ``tau2``, ``p``, ``log10_p``, …) and ``d``, ``v``, ``p`` of every sample.
    """
    conventions = chosen_stats(stats, options)
    sets = {slot: _as_blocks(slot, given) for slot, given in (("X", X), ("Y", Y), ("A", A), ("B", B))}
    drawn = draw_contexts(sets, stats=conventions, seed=seed)
    x, y, a, b = (blocks.blocks for blocks in sets.values())
    return _ceat(x, y, a, b, drawn, stats=conventions, seed=seed)


def _as_blocks(slot: str, given: WordBlocks) -> BlockSet:
    if not isinstance(given, Mapping):
        raise HarnessError(f"{slot}: a mapping of each stimulus to a matrix with a row for each context is needed.")
    blocks = tuple(np.asarray(rows) for rows in given.values())
    return BlockSet(slot, tuple(given), blocks)


def chosen_stats(stats: StatsOptions | None, options: Mapping[str, Any]) -> StatsOptions:
    """Return the conventions asked for: a preset with single options changed."""
    unknown = sorted(set(options) - {field.name for field in fields(StatsOptions)})
    if unknown:
        known = [field.name for field in fields(StatsOptions)]
        raise HarnessError(f"There is no option {unknown[0]!r}.{did_you_mean(unknown[0], known)}")
    chosen = StatsOptions(**{**(vars(stats) if stats else {}), **options})
    chosen.check()
    return chosen


def as_array(name: str, given: Words | ArrayLike, vectors: Any) -> NDArray[np.float64]:
    """Return the rows of one set; a word without a vector raises one sentence that names it."""
    if vectors is None:
        array = np.asarray(given, dtype=np.float64)
        if array.ndim != 2:
            raise HarnessError(f"{name}: a matrix with a row for each stimulus is needed; for words, pass vectors too.")
        return array
    words = as_words(given)
    missing = [word for word in words if word not in vectors]
    if missing:
        raise HarnessError(f"{name}: the vectors lack {', '.join(missing)}; leave them out, or give another spelling.")
    return np.array([vectors[word] for word in words], dtype=np.float64)


def as_words(given: Words | ArrayLike) -> list[str]:
    """Return the words of a concept or of a list."""
    return list(given.words) if isinstance(given, Concept) else [str(word) for word in given]  # type: ignore[union-attr]
