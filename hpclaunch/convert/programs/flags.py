"""Options of a command line whose words are known only in part."""

import re
from collections.abc import Callable, Mapping, Sequence

from hpclaunch.convert.programs.layers import Option, may_be_many
from hpclaunch.readback.shell.values import IfSet, Part, Unknown, Value, join, known, shown

# A variable that holds what is started, and not options for what starts it.
_OF_PROGRAM = re.compile(
    r"(?i)(^|_)(script|prog(ram)?|cmd|command|exe(cutable)?|bin(ary)?|app|bench(mark)?|main)(_?(path|file|name))?$"
)
_OF_OPTIONS = re.compile(r"(?i)(^|_)(opts?|options?|args?|arguments?|flags?|params?|parameters?)$")
_MOST = 10_000  # options before one of which nothing is known
# Hydra's -genv NAME VALUE is also -genv NAME=VALUE (genv_fn in its ui/mpich/utils.c).
_PAIRS = frozenset({"x"})
# Every spelling of an option without its dashes -> its name, and how many words follow it.
Table = Mapping[str, tuple[str, int]]


def table(rows: Sequence[tuple[int, str]]) -> Table:
    """Rows of (words that follow, "name=other,spellings name ..."): the first spelling is the name."""
    found: dict[str, tuple[str, int]] = {}
    for count, names in rows:
        for spellings in names.split():
            name, _, others = spellings.partition("=")
            for each in (name, *filter(None, others.split(","))):
                found[each] = (name, count)
    return found


def cut(value: Value, separator: str) -> tuple[str, Value] | None:
    """What is before the separator, where that is known, and what is after it; None where there is none."""
    if not value or not isinstance(value[0], str) or separator not in value[0]:
        return None
    before, _, rest = value[0].partition(separator)
    return before, ((rest,) if rest else ()) + value[1:]


def leading(value: Value) -> str:
    """The text that the word begins with, as far as it is known."""
    return value[0] if value and isinstance(value[0], str) else ""


def stands_for_options(options: Table) -> Callable[[Value, Sequence[Value]], bool]:
    """Tells for `take` whether a word of which nothing is known is `$OPTIONS` or `$PROGRAM`: something must
    be the program, and what is no option of this table is one of the program."""

    def own(value: Value, after: Sequence[Value]) -> bool:
        if not may_be_many(value) or not after:
            return False
        part = value[0]
        if isinstance(part, Unknown) and _OF_PROGRAM.search(part.name):
            return False
        text = leading(after[0])
        return not text.startswith("-") or text.lstrip("-").partition("=")[0] in options

    return own


def is_named_options(value: Value) -> bool:
    """Whether the word is a variable whose name says that it holds options."""
    part = value[0] if may_be_many(value) else ""
    return isinstance(part, Unknown) and _OF_OPTIONS.search(part.name) is not None


def not_told(value: Value) -> tuple[str, ...]:
    """The names of variables, and other sources, of the parts that are not known."""
    return tuple(dict.fromkeys(_name(part) for part in value if not isinstance(part, str)))


def _name(part: Part) -> str:
    if isinstance(part, Unknown) and part.kind == "argument":
        return f"${part.name}"
    return part.name if isinstance(part, Unknown | IfSet) else shown((part,))


def take(
    words: Sequence[Value],
    options: Table,
    *,
    clusters: bool = False,
    own: Callable[[Value, Sequence[Value]], bool] = lambda value, after: may_be_many(value),
) -> tuple[list[Option], list[Value]]:
    """The options at the begin of the words, and the words after them.

    `clusters`: letters behind one dash are options each (-it, -vSRC:DST), else one dash is as good as two.
    `own` tells of a word of which nothing is known whether it stands for options, by the words after it;
    such an option has no name. One that the table does not have keeps the name that it was written with.
    """
    found: list[Option] = []
    rest = list(words)[::-1]  # the next word is the last one, which is taken off fastest
    while rest:
        word = rest[-1]
        text = leading(word)
        if not text and word:
            if len(found) > _MOST or not own(word, rest[-2::-1]):
                break
            found.append(Option("", word, shown(rest.pop())))
        elif not text.startswith("-") or text == "-":
            break
        elif known(word) == "--":
            rest.pop()
            break
        elif clusters and not text.startswith("--"):
            found += _cluster(rest, options)
        else:
            found += _long(rest, options)
    return found, rest[::-1]


def _long(rest: list[Value], options: Table) -> list[Option]:
    word = rest.pop()
    attached = cut(word, "=")
    spelled = (attached[0] if attached else leading(word)).lstrip("-")
    name, count = options.get(spelled, (spelled, int(_is_value_of_unknown(rest))))
    if attached:
        given, more = attached[1], max(count - 1, 0)
    else:
        given, more = (), count
    if more == 2 and name in _PAIRS and rest and cut(rest[-1], "="):
        more = 1
    following = [rest.pop() for _ in range(min(more, len(rest)))]
    value: Value | None = given if attached else None
    for each in following:
        value = each if value is None else join([*value, "=", *each])
    return [Option(name, value, " ".join(map(shown, [word, *following])))]


def _is_value_of_unknown(rest: Sequence[Value]) -> bool:
    """Whether the next word belongs to an option that no table has: a number before another option is no
    program (--port 9969 -np 16)."""
    return len(rest) > 1 and (known(rest[-1]) or "").isdecimal() and leading(rest[-2]).startswith("-")


def _cluster(rest: list[Value], options: Table) -> list[Option]:
    word = rest.pop()
    letters = leading(word)[1:]
    found: list[Option] = []
    for index, letter in enumerate(letters):
        name, count = options.get(letter, (letter, 0))
        if not count:
            found.append(Option(name, None, f"-{letter}"))
            continue
        text = letters[index + 1 :].removeprefix("=")
        attached: Value = ((text,) if text else ()) + word[1:]
        if not attached and rest:
            attached = rest.pop()
        found.append(Option(name, attached, f"-{letter} {shown(attached)}"))
        break
    return found
