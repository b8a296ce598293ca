"""What some programs write, where their words tell it. None of them is run."""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from hpclaunch.convert.shell import getopt
from hpclaunch.convert.shell.expr import expr
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.values import Part, Unknown, Value, join, known

GETOPT = "getopt"
_MOST = 2000
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_DECIMAL = re.compile(r"-?(?:[0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})")
# What bc and the shell's arithmetic read alike, and up to where: bc's numbers have no end.
_WHOLE = re.compile(r"[-+*/()% 0-9]{1,200}\n")
_NOT_OF_BOTH = re.compile(r"[*][*]|--|(?:^|[-+*/(%])\s*[+]|[0-9]{10}|^\s*$")
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_MOST_OF_SHELL = 10**15

_ONE_LINE = re.compile(r"\$\(\s*echo\s+\$(?:\w+|\{\w+\})\s*\|\s*wc\s+(?:-l|--lines)\s*\)")

# The shell's own that write something, but with these options: what, depends on the machine or on all of the
# script.
_PRINT = {
    **dict.fromkeys(("type", "jobs", "times", "pushd", "popd", "declare", "typeset"), ()),
    "shopt": ("-s", "-u", "-q"),
    "hash": ("-r",),
    "enable": ("-n",),
}
_PRINT_ALONE = frozenset(("set", "trap", "local", "alias", "umask", "ulimit", "export", "readonly"))
_PRINT_BY = {**dict.fromkeys(("trap", "umask", "export", "readonly"), "-p"), "kill": "-l"}


def prints(words: Sequence[Value]) -> bool:
    """Whether a command of the shell's own may write something that is not known."""
    name = known(words[0]) if words else None
    options = [known(word) or "" for word in words[1:]]
    if name in _PRINT:
        return not set(options) & set(_PRINT[name])
    last = options[-1] if options else ""
    alone = name in _PRINT_ALONE and (not options or (name == "ulimit" and last.startswith("-")))
    return alone or (name is not None and _PRINT_BY.get(name) in options)


def known_output(words: Sequence[Value], given: Value | None) -> Value | None:
    """The text that the program writes, None where that is not known. `given` is what it reads."""
    reader = _PROGRAMS.get((known(words[0]) or "").rpartition("/")[2])
    return None if reader is None else reader(words[1:], given)


def counted(words: Sequence[Value]) -> tuple[range, int] | None:
    """The numbers of `seq WORDS`, and how wide zeros make each (0: as it is); None where they are not
    known."""
    texts = [known(word) for word in words]
    equal = texts[:1] in (["-w"], ["--equal-width"])
    texts = texts[equal:]
    if not 1 <= len(texts) <= 3 or any(text is None or not _NUMBER.fullmatch(text) for text in texts):
        return None
    numbers = [int(text or 0) for text in texts]
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1])
    if len(numbers) == 3:
        first, step, last = numbers
    if not step:
        return None
    ends = (texts[0] if len(texts) > 1 else "1", texts[-1])
    width = max(len(text or "") for text in ends) if equal else 0
    return range(first, last + (1 if step > 0 else -1), step), width


def first_counted(words: Sequence[Value]) -> int | None:
    """The first number of `seq WORDS`, where each that follows is one more and the last is perhaps not known;
    None where it is not so."""
    if len(words) == 3 and known(words[1]) != "1":
        return None
    first = known(words[0]) if len(words) in (2, 3) else "1" if len(words) == 1 else None
    return int(first) if first is not None and _NUMBER.fullmatch(first) else None


def _seq(words: Sequence[Value], given: Value | None) -> Value | None:
    first = (known(words[0]) if words else "") or ""
    separator: str | None = "\n"
    if first in ("-s", "--separator"):
        separator, words = known(words[1]) if len(words) > 1 else None, words[2:]
    elif first.startswith(("-s", "--separator=")):
        separator, words = first.removeprefix("-s").removeprefix("--separator="), words[1:]
    if separator is None or "\\" in separator:
        return None
    found = counted(words)
    if found is None:
        texts = _decimals(words)
    else:
        texts = [f"{number:0{found[1]}}" for number in found[0]] if len(found[0]) <= _MOST else None
    if texts is None:
        return None
    return (separator.join(texts) + "\n",) if texts else ()


def _decimals(words: Sequence[Value]) -> list[str] | None:
    """The numbers of `seq 0.95 0.01 1`: as many digits behind the point as the first or the step has (seq(1),
    FORMAT)."""
    texts = [known(word) or "" for word in words]
    if not 1 <= len(texts) <= 3 or any(not _DECIMAL.fullmatch(text) for text in texts):
        return None
    first = Decimal(texts[0] if len(texts) > 1 else "1")
    step, last = Decimal(texts[1] if len(texts) == 3 else "1"), Decimal(texts[-1])
    count = (last - first) / step + 1 if step else Decimal(_MOST + 1)
    if count > _MOST:
        return None
    places = max(len(text.partition(".")[2]) for text in texts[:-1] or ["1"])
    return [f"{first + step * index:.{places}f}" for index in range(max(math.floor(count), 0))]


def _basename(words: Sequence[Value], given: Value | None) -> Value | None:
    if not 1 <= len(words) <= 2 or (known(words[0]) or "x").startswith("-"):
        return None
    tail: list[Part] = []
    for part in reversed(words[0]):
        if isinstance(part, str) and "/" in (part if tail else part.rstrip("/")):
            tail.append((part if tail else part.rstrip("/")).rpartition("/")[2])
            break
        tail.append(part if tail or not isinstance(part, str) else part.rstrip("/"))
    else:
        if any(isinstance(part, Unknown) for part in words[0]):
            return None  # it may have folders in it
    value = join(tail[::-1])
    suffix = known(words[1]) if len(words) > 1 else ""
    if value and suffix and isinstance(value[-1], str) and len(value[-1]) > len(suffix):
        value = join([*value[:-1], value[-1].removesuffix(suffix)])
    elif suffix is None or (suffix and value and not isinstance(value[-1], str)):
        return None
    return join([*value, "\n"])


def _dirname(words: Sequence[Value], given: Value | None) -> Value | None:
    if len(words) != 1 or not words[0]:
        return None
    last = words[0][-1]
    if not isinstance(last, str):
        return None
    folder, slash, _ = last.rstrip("/").rpartition("/")
    if not slash:
        return (".\n",) if len(words[0]) == 1 else None
    value = join([*words[0][:-1], folder.rstrip("/")])
    return join([*value, "\n"]) if value else ("/\n",)


def _echoed(words: Sequence[Value], given: Value | None) -> Value | None:
    return given if not words or [known(word) for word in words] == ["-"] else None


def _tr(words: Sequence[Value], given: Value | None) -> Value | None:
    texts = [known(word) for word in words]
    if given is None or len(texts) != 2 or None in texts:
        return None
    source, target = (_characters(text or "") for text in texts)
    if source is None or not target:
        return None
    target += target[-1] * (len(source) - len(target))
    table = dict(zip(map(ord, source), target, strict=False))
    if any(not isinstance(part, str) for part in given):
        return None
    return tuple(part.translate(table) for part in given if isinstance(part, str))


def _characters(text: str) -> str | None:
    named = {"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz"}
    named |= {"A-Z": named["[:upper:]"], "a-z": named["[:lower:]"], r"\n": "\n", r"\t": "\t"}
    if text in named:
        return named[text]
    return text if re.fullmatch(r"[ ,;:/.+_@\n\t-]|[ ,;:/.+_@]{2,9}|[A-Za-z0-9]", text) else None


def of_one_line(output: str) -> Value | None:
    """How many lines $(echo $NAME | wc -l) counts, None for any other: without quotes the words of a value
    are on one line, whatever it is (bash(1), "Word Splitting")."""
    return ("1",) if _ONE_LINE.fullmatch(output) else None


def _expr(words: Sequence[Value], given: Value | None) -> Value | None:
    told = _told_by_expr(words)
    return None if told is None else (told[0],) if told[0] else ()


def _bc(words: Sequence[Value], given: Value | None) -> Value | None:
    """One line of whole numbers (bc(1) of GNU): a division is rounded as the shell's is, where no scale is
    set."""
    text = known(given or ())
    if words or text is None or not _WHOLE.fullmatch(text) or _NOT_OF_BOTH.search(text):
        return None
    number = arithmetic.evaluate(_LEADING_ZEROS.sub("", text.strip()), lambda name: None)
    return None if number is None or abs(number) >= _MOST_OF_SHELL else (f"{number}\n",)


def _getopt(words: Sequence[Value], given: Value | None) -> Value | None:
    texts = [known(word) for word in words]
    told = None if None in texts else getopt.getopt([text or "" for text in texts])
    return None if told is None else (told,)


def _wc(words: Sequence[Value], given: Value | None) -> Value | None:
    """The lines or words of what it reads (wc(1))."""
    text = known(given) if given is not None else None
    option = known(words[0]) if len(words) == 1 else None
    if text is None or option not in _COUNTS:
        return None
    return (f"{_COUNTS[option](text)}\n",)


_COUNTS: dict[str | None, Callable[[str], int]] = {
    **dict.fromkeys(("-l", "--lines"), lambda text: text.count("\n")),
    **dict.fromkeys(("-w", "--words"), lambda text: len(text.split())),
}


def _told_by_expr(words: Sequence[Value]) -> tuple[str, bool] | None:
    texts = [known(word) for word in words]
    return None if None in texts else expr(tuple(text or "" for text in texts))


def succeeds(words: Sequence[Value]) -> bool | None:
    """Whether a program succeeds, None where that is not known: expr says by it whether a text is like a
    pattern, and getopt whether it takes the arguments. No program has a name with a - in front."""
    program = (known(words[0]) or "").rpartition("/")[2] if words else ""
    if program == GETOPT:
        texts = [known(word) for word in words[1:]]
        refused = None not in texts and getopt.refuses([text or "" for text in texts])
        return False if refused else None
    if program.startswith("-"):
        return False  # "command not found": what a [ was to test that an operator of the shell cut off
    if program != "expr":
        return None
    told = _told_by_expr(words[1:])
    return None if told is None else told[1]


def work(words: Sequence[Value]) -> int:
    """What it costs to find out what the program writes, in what a budget counts: nothing for most."""
    if not words or (known(words[0]) or "").rpartition("/")[2] != "expr":
        return 0
    texts = [known(word) or "" for word in words[:100]]
    return min(sum(map(len, texts)), 1000) ** 2 // 200


_PROGRAMS: dict[str, Callable[[Sequence[Value], Value | None], Value | None]] = {
    "seq": _seq,
    "basename": _basename,
    "dirname": _dirname,
    "cat": _echoed,
    "tr": _tr,
    "wc": _wc,
    "expr": _expr,
    "bc": _bc,
    GETOPT: _getopt,
}
