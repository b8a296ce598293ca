"""What is found out while captures are put together, beside the machine itself."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar

from hpclaunch.spec.nodetype import Source
from hpclaunch.topology.readers import sysfs
from hpclaunch.topology.seen import Origin

T = TypeVar("T")
Claim = tuple[T, Origin]
Confidence = Literal["high", "medium", "low"]
_MOST_ORIGINS = 6


class Findings:
    """Collects, in the order of the merge. `contradictions` leave the machine open: no node type is written
    with one. `unknown` says what no capture tells and which one would; `assumed` what was concluded from the
    usual, not told; `warnings` what a user should know beside."""

    def __init__(self) -> None:
        self.contradictions: list[str] = []
        self.missing: list[str] = []
        self.unknown: list[str] = []
        self.assumed: list[str] = []
        self.warnings: list[str] = []
        self.sources: list[Source] = []

    def agree(self, what: str, claims: Sequence[Claim[T]], show: Callable[[T], str] = str) -> T | None:
        """The value that all claims have, None without any. Where they differ, each value is named with its
        source, and the first is returned so that the rest can still be looked at."""
        if not claims:
            return None
        first = claims[0][0]
        others: list[Claim[T]] = []
        for claim in claims[1:]:
            if claim[0] != first and all(claim[0] != other[0] for other in others):
                others.append(claim)
        if others:
            said = [f"{show(value)} in {origin}" for value, origin in (claims[0], *others)]
            self.contradictions.append(f"{what}: {', but '.join(said)}")
        return first

    def source(self, of: str, origins: Iterable[Origin], confidence: Confidence | None = None) -> None:
        """Notes where facts come from: two formats that say the same are sure, one alone is not yet."""
        found = list(dict.fromkeys(origins))
        if not found:
            return
        by_capture = list(dict.fromkeys(map(capture, found)))
        # Two formats in one bundle count as two: they come from two programs.
        sure: Confidence = "high" if len({each.format for each in found}) > 1 else "medium"
        self.sources.append(Source(of=of, source=shortened(by_capture), confidence=confidence or sure))

    def grouped_sources(self) -> tuple[Source, ...]:
        """The sources, with what comes from the same place together."""
        groups: dict[tuple[str, Confidence], list[str]] = {}
        for each in self.sources:
            groups.setdefault((each.source, each.confidence), []).append(each.of)
        return tuple(Source("; ".join(of), source, sure) for (source, sure), of in groups.items())


def capture(origin: Origin) -> str:
    """The capture that an origin is in. One of /sys names the file of each fact; the capture is all of it."""
    file = re.sub(r"(^|/)sys/.*$", r"\1sys", origin.file) if origin.format == sysfs.FORMAT else origin.file
    return f"{file} ({origin.format})"


def shortened(names: Sequence[str], separator: str = "; ") -> str:
    """The names, the first few where there are many."""
    more = len(names) - _MOST_ORIGINS
    listed = separator.join(names[:_MOST_ORIGINS])
    return f"{listed}{separator}and {more} more" if more > 0 else listed
