"""What the command line calls the options of the library, and sentences of the library in these words."""

from __future__ import annotations

import re

__all__ = ["FLAGS", "in_flags"]

FLAGS = {
    "accuracy": "--accuracy",
    "activation": "--activation",
    "alpha": "--alpha",
    "answers": "--answers",
    "batch_size": "--batch",
    "bounds": "--bounds",
    "journal": "--journal",
    "labels": "--labels",
    "layers": "--layers",
    "link": "--link",
    "max_queries": "--max-queries",
    "method": "--method",
    "n_features": "--features",
    "n_jobs": "--jobs",
    "n_outputs": "--outputs",
    "n_units": "--units",
    "n_verify": "--verify",
    "noise": "--noise",
    "random_state": "--seed",
    "recheck": "--recheck",
    "trust": "--trust",
}

_VALUE = r"""(?:'[\w.]*'|"[\w.]*"|\([^()]*\)|True|-?\d(?:[\d.e+-]*\d)?)(?!\w|\.\w)"""
_MENTION = re.compile(
    rf"(?<![\w'\"/.-])`?(?P<name>{'|'.join(FLAGS)})"
    rf"(?:`|=(?P<values>{_VALUE}(?:(?:, | or ){_VALUE})*|(?![\w'\"(-]))|(?P<bare>(?![\w'\"/=]|\.\w)))"
)


def in_flags(sentence: str) -> str:
    """Return a sentence of the library with its options as the command line spells them.

    Examples
    --------
    >>> in_flags("Try activation='erf', or raise max_queries.")
    'Try --activation erf, or raise --max-queries.'
    """
    return _MENTION.sub(_flag, sentence)


def _flag(mention: re.Match[str]) -> str:
    name, values = mention["name"], mention["values"] or ""
    if mention["bare"] is not None and not _is_option(mention):
        return mention[0]
    plain = re.sub(r"['\"()]|(?<=,) (?=[^()]*\))", "", values).replace("True", "")
    return f"{FLAGS[name]} {plain}".rstrip()


def _is_option(mention: re.Match[str]) -> bool:
    """Tell whether a bare name is an option: most are English words too, unless they begin a complaint."""
    text, start = mention.string, mention.start()
    begins = text[max(start - 2, 0) : start] in ("", ". ", ": ", "; ")
    return "_" in mention["name"] or mention["name"] == "alpha" or (begins and text.startswith(" must ", mention.end()))
