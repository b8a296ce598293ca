"""What a script's shell did on a condition before the run, so that a rank's own shell does it on that:
`source A || source B`, `module purge && module load x`, `if [ -f X ]; then source X; fi`."""

import re
from collections.abc import Iterator, Sequence

from hpclaunch.convert.mapping.around.ways import PLACE
from hpclaunch.convert.mapping.environment.in_order import Prepared
from hpclaunch.convert.mapping.words.texts import Raw, submitters
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell.values import known

_TEST = re.compile(
    r"(?:\[\[?|test)\s[^`;&|]*|(?:command -v|type|which|hash)\s+[\w.-]+(?:\s*&?\d?>\S+|\s*2>&1)*"
)
_NAME = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")
_OPEN = re.compile(r"\$(?![A-Za-z_{])|\$\{\w*[^\w}]")
_PLAIN = re.compile(r"[\w./:+-]*")
_OF_LOGIN = frozenset(("HOME", "USER", "LOGNAME"))


def guarded(reading: ShellReading, found: Sequence[Prepared]) -> Iterator[tuple[Prepared, str]]:
    """Each of them, with what stands before its words where it hangs on something; or as it is, with the
    condition that no rank can look at."""
    before, chain = "", ""  # the text of the one before, and of the first of those that && and || join
    for each in found:
        conditions = [PLACE.sub("", condition) for condition in each.conditions]
        last = conditions[-1] if conditions else ""
        fails = last.startswith("not (")
        condition = last[5:-1] if fails else last.removeprefix("if ")
        joined = bool(last) and condition in (before, chain)
        if joined:
            conditions.pop()
        tests = [_test(reading, text) for text in conditions]
        if "" in tests:
            yield each, conditions[tests.index("")]
            continue
        words = ((Raw("||" if fails else "&&"),) if joined else (), *((Raw(test),) for test in tests))
        yield each._replace(words=(*filter(None, words), *each.words)), ""
        before = each.written
        chain = chain if joined else before


def _test(reading: ShellReading, condition: str) -> str:
    """The condition for the shell of a rank, with && behind it, "" where that cannot look at it."""
    fails = condition.startswith("not (")
    text = condition[5:-1] if fails else condition.removeprefix("if ")
    negated = text.startswith("! ")
    text = text.removeprefix("! ")
    if not _TEST.fullmatch(text) or _OPEN.search(text) or "'" in text:
        return ""
    doubt = False

    def told(name: re.Match[str]) -> str:
        nonlocal doubt
        each = reading.last(name[1] or name[2])
        value = known(each.value) if each is not None and not each.conditions else None
        if value is not None and _PLAIN.fullmatch(value) and (value or _in_quotes(text, name.start())):
            return value
        doubt = doubt or each is not None or bool(set(submitters([name[1] or name[2]])) - _OF_LOGIN)
        return name[0]

    text = _NAME.sub(told, text)
    return "" if doubt else f"{'! ' if fails != negated else ''}{text} &&"


def _in_quotes(text: str, index: int) -> bool:
    return text.count('"', 0, index) % 2 == 1
