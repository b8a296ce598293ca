"""Names that the API takes: DNS-1035 labels, of at most 63 characters, that begin with a letter.

What is no such label becomes one by rule, so that the same job has the same name each time: lower case,
`-` for what is not allowed, `job-` before a first character that is no letter, and a name that is too long
keeps its beginning and ends with a hash of all of it.
"""

import hashlib
import re
from collections.abc import Iterable

from hpclaunch.spec.scalars import shown
from hpclaunch.values.errors import Path, Problem

LONGEST = 63
_NOT_ALLOWED = re.compile(r"[^a-z0-9]+")


def label(text: str, room: int = LONGEST, prefix: str = "job") -> str:
    """`text` as a label of at most `room` characters; text that is one already stays as it is."""
    name = _NOT_ALLOWED.sub("-", text.lower()).strip("-") if not _is_label(text) else text
    if not name[:1].isalpha():
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
    return re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", text) is not None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
