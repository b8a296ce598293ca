"""Names that the API takes: DNS-1035 labels, of at most 63 characters, that begin with a letter.

What is no such label becomes one by rule, so that the same job has the same name each time: lower case,
`-` for what is not allowed, `job-` before a first character that is no letter, and a name that is too long
keeps its beginning and ends with a hash of all of it.
"""

import hashlib
from collections.abc import Iterable

from hpclaunch.spec.scalars import shown
from hpclaunch.values.errors import Path, Problem

LONGEST = 63
# No patterns: compiling them would cost every start more than all names.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ALNUM = _LETTERS | frozenset("0123456789")


def label(text: str, room: int = LONGEST, prefix: str = "job") -> str:
    """`text` as a label of at most `room` characters; text that is one already stays as it is."""
    name = text if _is_label(text) else _cleaned(text)
    if name[:1] not in _LETTERS:
        name = f"{prefix}-{name}" if name else f"{prefix}-{_hash(text)}"
    if len(name) > room:
        name = f"{name[: room - 9].rstrip('-')}-{_hash(text)}"
    return name


def of_job(text: str, workers: int | None) -> str:
    """The name of a job's object. The names of its pods fit as well: NAME-worker-139 and NAME-launcher of an
    MPIJob with that many workers, NAME-xxxxx of a Job (None)."""
    tail = len("-xxxxx") if workers is None else max(len("-launcher-xxxxx"), len(f"-worker-{workers - 1}"))
    return label(text, LONGEST - tail)


def unique(texts: Iterable[tuple[str, Path]], what: str, prefix: str) -> tuple[dict[str, str], list[Problem]]:
    """Text -> label for things of one pod, each with where it stands, and a problem for each two that would
    have the same name."""
    labels: dict[str, str] = {}
    problems = []
    for text, path in texts:
        name = label(text, prefix=prefix)
        other = next((known for known, taken in labels.items() if taken == name and known != text), None)
        if other is not None:
            message = f"the {what} {shown(other)} and {shown(text)} would both be {name} to Kubernetes"
            problems.append(Problem(f"{message}: rename one", "job", path))
        labels[text] = name
    return labels, problems


def _is_label(text: str) -> bool:
    """Whatever its length."""
    ends = text[:1] in _LETTERS and text[-1:] in _ALNUM
    return ends and (_ALNUM | {"-"}).issuperset(text)


def _cleaned(text: str) -> str:
    """Lower case, with one `-` for all between what is allowed, and none at the ends."""
    spaced = "".join(char if char in _ALNUM else " " for char in text.lower())
    return "-".join(spaced.split())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
