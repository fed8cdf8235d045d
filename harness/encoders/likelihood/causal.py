"""What a causal model is asked: an estimator of its own, because it sees nothing to the right of a word.

husse2022 applies LPBS to masked models alone and leaves autoregressive ones to future work (Limitations). Both
estimators here keep its equations (10) and (11) and replace (8) and (9). ``sentence``: the log-probability of the
whole sentence with the attribute, against that of the sentence with a neutral word in the attribute's place. ``left``:
the log-probability of the target's pieces given what stands to their left, with the attribute there or a neutral word;
it needs sentences whose attribute comes first.
"""

from __future__ import annotations

from harness.encoders.likelihood.sentences import Request, TokenPair
from harness.errors import HarnessError


def causal_request(sentence: TokenPair, *, estimator: str, text: str = "") -> Request:
    """Return the tokens that the model reads and the probabilities to be read after each.

    Parameters
    ----------
    sentence
        The tokens of a sentence with its target and attribute, or with a neutral word for the attribute.
    estimator
        ``sentence`` sums over every token but the first, ``left`` over the target's pieces.
    text
        The sentence as a message quotes it.
    """
    ids = sentence.ids
    if estimator == "left":
        first, last = sentence.target[0], sentence.target[-1]
        if first == 0:
            raise HarnessError(
                f"Nothing stands to the left of the target in {text!r}: a causal model has no probability for it; "
                "choose sentences that begin otherwise, or model.bos=auto."
            )
        read, end, shared = sentence.target, last, first
    else:
        read, end = tuple(range(1, len(ids))), len(ids) - 1
        shared = min(max(sentence.target[0], sentence.attribute[0]), end)
    return Request(ids[:end], sentence.types[:end], tuple((place - 1, ids[place]) for place in read), shared)
