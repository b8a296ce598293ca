"""How often a loop's body runs, and with which values."""

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.names import BY_MPI, STEPS, SUBMITS, SUBMITTERS, any_of
from hpclaunch.convert.reading import Command as Recorded
from hpclaunch.convert.shell import counters, outputs, sums
from hpclaunch.convert.shell.listing import listed, parts_of, text_of
from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.commands import BUILTINS
from hpclaunch.readback.shell.errors import Unreadable
from hpclaunch.readback.shell.pieces import ARGUMENTS, Command, Literal, Word
from hpclaunch.readback.shell.statements import (
    Arithmetic,
    Assignment,
    Declaration,
    For,
    Group,
    Loop,
    Simple,
    Statement,
)
from hpclaunch.readback.shell.values import Names, Part, Unknown, Value, known

if TYPE_CHECKING:
    from hpclaunch.convert.shell.walker import Walker

_MOST = 1000
_FIRST = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL | re.ASCII)
_WHILE = re.compile(r"\s*([A-Za-z_]\w*)\s*(<=|<|>=|>)(.*)", re.DOTALL | re.ASCII)
_CONTROL = frozenset(("break", "continue", "return", "exit", "source", ".", "eval", "set"))
_MOST_COMPUTED = 300
_PLAIN = (Simple, Declaration, Arithmetic)
# A round that notes the number of a job, ID=$(sbatch ...), does more than compute.
_NOTES_JOB = re.compile(rf"[$]\(\s*{any_of(SUBMITTERS)}\b|`\s*{any_of(SUBMITTERS)}\b")
# So does one that keeps what its ranks put out, T=$(mpirun ./bench $i), and not one that asks a node for its
# name, IP=$(srun -w $i hostname -I).
_STARTS = re.compile(rf"(?:[$]\(|`)\s*{any_of(STEPS, BY_MPI)}\s([^|`]*)")
_ASKS = that("says", "looks", "devices", "settings")
_NOT_PLAIN = _CONTROL | {"wait", "kill", "trap", "exec", "read"}
_NO_WORK = _CONTROL | {"cat", "expr", "exec"}


class Rounds(Struct, frozen=True):
    """`count` None: not known. `over` is the words or the condition as written; `first` and `by_body` are as
    of the Loop of a reading, and with `begins` a round begins with the count."""

    count: int | None
    values: tuple[Value, ...]
    over: str
    variable: str = ""
    first: int | None = None
    by_body: bool = False
    begins: bool = False


class Body(Struct, frozen=True):
    """What a loop does in a round: its simple commands, not more than count, and the variables that they
    change by what these were before."""

    statement: Statement
    simple: tuple[Simple | Declaration, ...]
    grows: frozenset[str]


def of_words(shell: "Walker", statement: For) -> Rounds:
    """Those of `for NAME in WORDS`."""
    written = (ARGUMENTS,) if statement.words is None else statement.words
    over = " ".join(word.written for word in written)
    of_seq = _sequence(shell, written)
    counted = outputs.counted(of_seq) if of_seq else None
    if counted is not None:
        numbers, width = counted
        return Rounds(len(numbers), tuple((f"{number:0{width}}",) for number in numbers[:_MOST]), over)
    try:
        words = shell.expander.words(written)
    except Unreadable:
        return Rounds(None, (), over)
    told = not any(_may_be_many(part) for word in words for part in word)
    first = outputs.first_counted(of_seq) if of_seq else None
    return Rounds(len(words) if told else None, tuple(words[:_MOST]), over, first=first)


def _may_be_many(part: Part) -> bool:
    return isinstance(part, Names) or (isinstance(part, Unknown) and (part.splits or part.name in ("@", "*")))


def _sequence(shell: "Walker", written: tuple[Word, ...]) -> list[Value] | None:
    """What seq is told by $(seq ...), where that is all there is."""
    pieces = written[0].pieces if len(written) == 1 else ()
    if len(pieces) != 1 or not isinstance(pieces[0], Command) or not isinstance(pieces[0].body, Group):
        return None
    body = pieces[0].body.body
    if len(body) != 1 or not isinstance(body[0], Simple) or body[0].assignments:
        return None
    if not body[0].words or body[0].words[0].written != "seq":
        return None
    with shell.aside():
        return shell.expander.words(body[0].words)[1:]


def of_condition(shell: "Walker", statement: Loop) -> Rounds:
    """Those of `while`, `until`, `select` and `for ((...))`."""
    if statement.expressions:
        over = "; ".join(word.written.strip() for word in statement.expressions)
        return _counted(shell, statement.expressions, over)
    condition = text_of(statement.condition) if statement.condition else ""
    counted = counters.rounds(shell, statement) if condition else None
    if counted is not None:
        name, numbers, begins = counted
        values = tuple((str(number),) for number in numbers)
        return Rounds(len(numbers), values, condition, name, by_body=True, begins=begins)
    return Rounds(None, (), condition or "select", statement.name or _read(statement.condition))


def _read(condition: Statement | None) -> str:
    """The one variable of `read`, "" for any other condition."""
    while isinstance(condition, Group) and len(condition.body) == 1:
        condition = condition.body[0]
    words = [word.written for word in condition.words] if isinstance(condition, Simple) else []
    names = [word for word in words[1:] if re.fullmatch(r"[A-Za-z_]\w*", word)]
    return names[0] if words[:1] == ["read"] and len(names) == 1 else ""


def _counted(shell: "Walker", expressions: tuple[Word, ...], over: str) -> Rounds:
    expander = shell.expander
    texts = [known(expander.joined(word)) for word in expressions]
    begins, goes = _FIRST.fullmatch(texts[0] or ""), _WHILE.fullmatch(texts[1] or "")
    name = begins[1] if begins else ""
    unknown = Rounds(None, (), over, name)
    if not begins or not goes or goes[1] != name:
        return unknown
    several = any("," in (text or "") for text in texts)
    if several or arithmetic.changed(begins[2]) or arithmetic.changed(goes[3]):
        return unknown

    def value_of(variable: str) -> str | None:
        number = expander.number(_text(variable))
        return None if number is None else str(number)

    by = counters.step(texts[2] or "", name, value_of)
    start = expander.number(_text(begins[2]))
    if start is None or not by or (by > 0) != goes[2].startswith("<"):
        return unknown
    end = expander.number(_text(goes[3]))
    if end is None:
        return Rounds(None, (), over, name, first=start if by == 1 else None)
    last = end + (1 if by > 0 else -1) if goes[2].endswith("=") else end
    numbers = range(start, last, by)
    return Rounds(len(numbers), tuple((str(number),) for number in numbers[:_MOST]), over, name)


def _text(expression: str) -> Word:
    return Word((Literal(expression, True),), expression)


def is_gone_once(statement: Loop) -> bool:
    """Whether it is `while true` with a `break` as its last command, and no other way out or on."""
    condition = text_of(statement.condition) if statement.condition else ""
    if condition.strip() not in ("true", ":", "[ 1 ]", "[[ 1 ]]", "((1))", "(( 1 ))"):
        return False
    body = statement.body.body if isinstance(statement.body, Group) else (statement.body,)
    last = body[-1] if body else None
    texts = [text for each in body for _, _, text in listed(each)]
    others = [text for text in texts if re.search(r"\b(?:break|continue)\b", text)]
    return isinstance(last, Simple) and text_of(last).split() == ["break"] and len(others) == 1


def is_plain(shell: "Walker", body: Statement) -> bool:
    """Whether a loop's body is only assignments and commands of the shell's own that leave nothing."""
    parts = body.body if isinstance(body, Group) else (body,)
    return all(isinstance(part, _PLAIN) and _stays(shell, part) for part in parts)


def _stays(shell: "Walker", part: Statement) -> bool:
    if _does_more(part):
        return False
    if not isinstance(part, Simple) or not part.words:
        return True
    name = part.words[0].written
    return name in BUILTINS and name not in _NOT_PLAIN and not shell.state.function(name)[0]


def may_only_compute(shell: "Walker", statement: For | Loop) -> bool:
    """Whether all of a loop's body may be that, if the ways are gone that look like it: of one that takes the
    script's arguments also if the way of a word that no script has, such as `*) usage`, starts something."""
    simple = of_body(shell, statement.body).simple
    takes = isinstance(statement, Loop) and (
        shifts(shell, statement.body)
        or (statement.condition is not None and "OPTIND" in growing(shell, statement.condition))
    )
    return len(simple) <= _MOST_COMPUTED and all(_may_compute(shell, each, takes) for each in simple)


def _does_more(part: Statement) -> bool:
    """Whether what is in its $(...) is work of the job, or submits some."""
    text = text_of(part)
    runs = (found[1].replace(")", " ").split() for found in _STARTS.finditer(text))
    return bool(_NOTES_JOB.search(text)) or not all(map(_ASKS.intersection, runs))


def _may_compute(shell: "Walker", each: Simple | Declaration, takes_arguments: bool) -> bool:
    if _does_more(each):
        return False
    if isinstance(each, Declaration) or not each.words:
        return True
    name = each.words[0].written
    if _leaves_several(each):
        return False
    if name in BUILTINS:
        return name != "read"
    return takes_arguments or name in _NO_WORK or shell.state.function(name)[0]


def _leaves_several(each: Simple) -> bool:
    """Whether it is `break 2` or its like: a flow does not tell how many loops it leaves."""
    return len(each.words) > 1 and each.words[0].written in ("break", "continue")


def is_no_work(command: Recorded) -> bool:
    """Whether a command that was walked is the shell's own, or tells what a variable gets."""
    return command.within == "output" or command.program in _NO_WORK or command.program in BUILTINS


def shifts(shell: "Walker", body: Statement) -> bool:
    """Whether a round takes arguments away."""
    simple = of_body(shell, body).simple
    return any(
        isinstance(each, Simple) and each.words and each.words[0].written == "shift" for each in simple
    )


def growing(shell: "Walker", body: Statement) -> frozenset[str]:
    """The variables that a round changes by what they were before it."""
    shell.spend(12)
    return of_body(shell, body).grows


def submits(shell: "Walker", body: Statement) -> bool:
    """Whether a round submits a job."""
    return any(SUBMITS.search(each.written) for each in of_body(shell, body).simple)


def of_body(shell: "Walker", body: Statement) -> Body:
    """Of loops within loops each is gone through once."""
    if isinstance(body, Simple | Declaration):
        shell.spend(2)
        return Body(body, (body,), frozenset(_grown_by(body)))
    if isinstance(body, Arithmetic):
        shell.spend(2)
        return Body(body, (), frozenset(name for each in body.expressions for name in _grown_by_sum(each)))
    found = shell.bodies.get(id(body))
    if found is None or found.statement is not body:
        parts = [of_body(shell, part) for part in parts_of(body)]
        simple = islice((each for part in parts for each in part.simple), _MOST_COMPUTED + 1)
        grows = frozenset(name for part in parts for name in part.grows)
        found = shell.bodies[id(body)] = Body(body, tuple(simple), grows)
    return found


def _grown_by_sum(expression: Word) -> Collection[str]:
    """What an expression of (( )) or `let` changes, but for a variable that it gives a number anew."""
    return () if sums.given_anew(expression) is not None else arithmetic.changed(expression.written)


def _grown_by(each: Simple | Declaration) -> Iterator[str]:
    if isinstance(each, Simple) and each.words and each.words[0].written == "getopts":
        yield from ("OPTIND", "OPTARG", *(word.written for word in each.words[2:3]))
    parts = each.assignments if isinstance(each, Simple) and not each.words else ()
    if isinstance(each, Declaration):
        parts = tuple(part for part in each.arguments if isinstance(part, Assignment))
    for part in parts:
        if part.adds or re.search(rf"(?<![\w]){re.escape(part.name)}(?!\w)", part.written[len(part.name) :]):
            yield part.name
