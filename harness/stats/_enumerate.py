"""Every arrangement, counted: one product with masks that all vectors of one size share."""

from functools import lru_cache
from itertools import chain, combinations

import numpy as np

from ._checks import FloatArray
from ._tails import Counter, Problem, Tails, exact_tail

# 8 v 8 has 12,870 arrangements; beyond this the pruned lists are faster for one vector and the saddle-point for many.
ENUMERATION_LIMIT = 20_000
MASK_ELEMENTS = 1_000_000
# Few large products: threads of the linear algebra wait for each other at the end of every one.
CHUNK_ELEMENTS = 4_000_000


def can_enumerate(n: int, arrangements: int) -> bool:
    """Whether the masks of one (n, k) are few enough to keep."""
    return arrangements <= ENUMERATION_LIMIT and arrangements * n <= MASK_ELEMENTS


@lru_cache(maxsize=16)
def subset_masks(n: int, k: int) -> FloatArray:
    """All k-subsets of n as 0/1 columns, shape (n, C(n, k)), read-only."""
    members = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.intp).reshape(-1, k)
    masks = np.zeros((n, len(members)))
    masks[members.T, np.arange(len(members))] = 1.0
    masks.flags.writeable = False
    return masks


def enumerated_tails(problem: Problem) -> Tails:
    """Exact tails of every row, by comparing the sums of all arrangements with the observed one."""
    masks = subset_masks(problem.n, problem.k)
    total = masks.shape[1]
    rows = max(1, CHUNK_ELEMENTS // total)
    # Groups of equal size: swapping them negates the sum, so every sum comes with its negative.
    counter = Counter(problem, symmetric=problem.n == 2 * problem.k)
    for start in range(0, len(problem.z), rows):
        counter.add(masks, slice(start, start + rows))
    return Tails(*(exact_tail(count / total) for count in counter.tails(total)))
