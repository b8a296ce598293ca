"""How the checks of a namespace note what they find."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from hpclaunch.cluster.drift import Compared, Drift
from hpclaunch.values.clusterstate import Reply


class Finding(Struct, frozen=True):
    """What is lacking, by the key of the site file; or with `checked` false what could not be found out."""

    key: str
    message: str
    checked: bool = True


def unseen(key: str, what: str) -> Finding:
    """What may not be looked at."""
    return Finding(key, f"you may not see {what}", checked=False)


def lacking(key: str, what: str, reply: Reply) -> Iterator[Finding]:
    """That an object is not there, or may not be seen."""
    if not reply.there:
        yield Finding(key, f"there is no {what}") if reply.code == 404 else unseen(key, f"the {what}")


def compared(findings: Iterable[Finding]) -> Compared:
    """All of them, in order, each once."""
    drift: dict[Drift, None] = {}
    unchecked: dict[str, None] = {}
    for finding in findings:
        if finding.checked:
            drift.setdefault(Drift(finding.key, finding.message))
        else:
            unchecked.setdefault(f"{finding.key}: {finding.message}")
    return Compared(tuple(drift), tuple(unchecked))
