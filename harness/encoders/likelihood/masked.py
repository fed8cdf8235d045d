"""What a masked model is asked: the target's pieces where masks stand (husse2022, equations 8 and 9)."""

from __future__ import annotations

from harness.encoders.likelihood.sentences import Request, TokenPair


def masked_request(sentence: TokenPair, *, mask: int, prior: bool, multi_token: str = "masks") -> Request:
    """Return the masked sentence and the probabilities to be read at its masks.

    Parameters
    ----------
    sentence
        The tokens of a sentence with its target and attribute.
    mask
        The id of the mask token.
    prior
        Mask the attribute too, each of its pieces by a mask (equation 9); else the target alone (equation 8).
    multi_token
        A target of m pieces: ``masks`` puts m masks and sums the log-probability of each piece at its own;
        ``first`` puts one mask and reads the first piece; ``product`` puts one mask and sums all pieces there, as
        published code does.
    """
    hidden = set(sentence.target) | (set(sentence.attribute) if prior else set())
    ids = tuple(mask if place in hidden else number for place, number in enumerate(sentence.ids))
    if multi_token == "masks":
        return Request(ids, sentence.types, tuple(zip(sentence.target, sentence.target_ids, strict=True)))
    first, rest = sentence.target[0], set(sentence.target[1:])
    read = sentence.target_ids[:1] if multi_token == "first" else sentence.target_ids
    return Request(
        tuple(number for place, number in enumerate(ids) if place not in rest),
        tuple(number for place, number in enumerate(sentence.types) if place not in rest),
        tuple((first, number) for number in read),
    )
