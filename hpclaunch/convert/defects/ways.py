"""The statuses with which a script may end where its runs fail: its tree gone through with the status of each
command, by all ways that there may be. Nothing is run; what is not known to succeed or to fail may do both.

Source: bash's manual, "Exit Status", "Lists of Commands", "The Set Builtin" (-e, pipefail) and "Signals".
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import structs

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.way import Way, set_options, test, value
from hpclaunch.convert.programs.beside import that
from hpclaunch.convert.programs.names import DOCKERS
from hpclaunch.readback.shell import tree

# These tell nothing of a run, and succeed as a rule.
_SUCCEED = (
    that("says", "caches", "copies", "files", "archives", "ends")
    | {"date", "hostname", "ls", "cat", "pwd", "df", "du", "free", "nvidia-smi", "tee", "module"}
    | {"shopt", "umask", "ulimit", "unset", "shift", *DOCKERS}
)
_ENDS_THE_JOB = that("ends")
_PRINTS = that("says") - {"sleep"}
_HAS_EXIT = re.compile(r"(?:^|[\s;&|{])exit\b")
_MOST_WAYS, _MOST_STEPS, _DEEPEST = 64, 20_000, 30


class TooMany(Exception):
    """There are more ways than anybody looks through."""


class Script:
    """All ways through a script. `run` says of a command the status that it has as a run, None: it is none.
    `set_by` are the options that other files set, by their names."""

    def __init__(
        self,
        parsed: search.Parsed,
        run: Callable[[tree.CallExpr], int | None],
        set_by: Mapping[str, frozenset[str]],
    ):
        self._parsed, self._run, self._set_by = parsed, run, set_by
        self._functions: dict[str, list[tree.Stmt]] = {}
        for node in parsed.nodes:
            if isinstance(node, tree.FuncDecl) and node.body:
                self._functions.setdefault(node.name.value, []).append(node.body)
        self._steps, self._depth = 0, 0
        self._loops, self._calls = 0, 0  # around the command, within its function
        self.is_ended_elsewhere = False  # by a trap, or by who ends the job

    def ways(self) -> list[Way]:
        """Those to the end of the script. Raises TooMany."""
        first = self._parsed.source.text.partition("\n")[0]
        options = frozenset(("e",)) if re.match(r"#!\s*/\S*sh\s+-\w*e", first) else frozenset[str]()
        return self._list(self._parsed.file.stmts, Way(options=options), excused=False)

    def _list(self, statements: Iterable[tree.Stmt], way: Way, excused: bool) -> list[Way]:
        going, gone = [way], []
        for statement in statements:
            after = [each for one in going for each in self._statement(statement, one, excused)]
            gone += [each for each in after if each.leaves]
            going = self._few([each for each in after if not each.leaves])
        return self._few([*gone, *going])

    def _few(self, ways: list[Way]) -> list[Way]:
        found = list(dict.fromkeys(ways))
        if len(found) > _MOST_WAYS:
            raise TooMany
        return found

    def _statement(self, statement: tree.Stmt, way: Way, excused: bool) -> list[Way]:
        self._steps += 1
        if self._steps > _MOST_STEPS or self._depth > _DEEPEST:
            raise TooMany
        if statement.background:
            apart = self._apart((structs.replace(statement, background=False),), way, excused=True)
            waits = way.waits or any(each.failed and not way.failed for each in apart)
            return [structs.replace(way, status=0, waits=waits, last=statement)]
        if statement.cmd is None:  # redirections alone, as those of a here-document of notes
            return [structs.replace(way, status=0, last=statement)]
        self._depth += 1
        after = self._command(statement.cmd, way, excused or statement.negated)
        self._depth -= 1
        if statement.negated:
            after = [
                each
                if each.leaves or each.status is None
                else structs.replace(each, status=int(not each.status))
                for each in after
            ]
        if excused or statement.negated or not _may_end(statement.cmd):
            return after
        return self._few([one for each in after for one in _by_minus_e(each)])

    def _apart(self, statements: Iterable[tree.Stmt], way: Way, excused: bool) -> list[Way]:
        """In a shell of its own: what it sets stays there, and it breaks off no loop that is around it."""
        outer, self._loops = self._loops, 0
        after = self._list(statements, way, excused)
        self._loops = outer
        return self._few(
            [
                structs.replace(
                    way,
                    status=each.status,
                    last=each.last,
                    failed=each.failed,
                    lost=each.lost,
                    pipe=each.pipe,
                )
                for each in after
            ]
        )

    def _command(self, command: tree.Command | None, way: Way, excused: bool) -> list[Way]:
        match command:
            case tree.CallExpr():
                return [
                    structs.replace(each, pipe=(each.status,)) for each in self._call(command, way, excused)
                ]
            case tree.DeclClause():
                return [structs.replace(self._assigned(command.args, way), status=0, last=command)]
            case tree.Block():
                return self._list(command.stmts, way, excused)
            case tree.Subshell():
                return self._apart(command.stmts, way, excused)
            case tree.TimeClause() if command.stmt:
                return self._statement(command.stmt, way, excused)
            case tree.BinaryCmd() if command.x and command.y:
                return (self._and_or if command.op in ("&&", "||") else self._pipeline)(command, way, excused)
            case tree.IfClause():
                return self._if(command, way, excused)
            case tree.CaseClause():
                bodies = [self._list(item.stmts, way, excused) for item in command.items]
                none = structs.replace(way, status=0)
                return self._few([none, *(each for body in bodies for each in body)])
            case tree.ForClause():
                return self._loop(command.do, way, excused)
            case tree.WhileClause():
                return self._while(command, way, excused)
            case tree.TestClause():
                status = test(self._parsed.text(command).removeprefix("[[").removesuffix("]]"), way)
                return [structs.replace(way, status=status, pipe=(status,), last=command)]
            case tree.FuncDecl() | None:
                return [structs.replace(way, status=0)]
        return [structs.replace(self._forgets(command, way), status=None, last=command)]

    def _and_or(self, command: tree.BinaryCmd, way: Way, excused: bool) -> list[Way]:
        assert command.x is not None
        assert command.y is not None
        found = []
        for each in self._statement(command.x, way, excused=True):
            if each.leaves:
                found.append(each)
                continue
            if each.status is None or bool(each.status) == (command.op == "||"):
                told = each.failed and not way.failed and _is_said(command)
                before = structs.replace(each, lost=each.lost and not told)
                found += self._statement(command.y, before, excused)
            if each.status is None or bool(each.status) != (command.op == "||"):
                found.append(each)
        return self._few(found)

    def _pipeline(self, command: tree.BinaryCmd, way: Way, excused: bool) -> list[Way]:
        parts: list[tree.Stmt] = []
        node: tree.Stmt | None = None
        here: tree.Command | None = command
        while isinstance(here, tree.BinaryCmd) and here.op in ("|", "|&") and here.x and here.y:
            parts.insert(0, here.y)
            node, here = here.x, here.x.cmd
        parts = [node, *parts] if node else parts
        found = []
        statuses: list[tuple[int | None, ...]] = [()]
        failed = lost = False
        for part in parts:
            after = self._apart((part,), way, excused)
            failed |= any(each.failed for each in after)
            lost |= any(each.lost for each in after)
            statuses = [(*one, each.status) for one in statuses for each in after][:_MOST_WAYS]
        said = isinstance(parts[-1].cmd, tree.CallExpr) and search.program(parts[-1].cmd) == "tee"
        for each in dict.fromkeys(statuses):
            status = each[-1]
            if "pipefail" in way.options:
                status = 1 if any(each) else None if None in each else 0
            told = said and "pipefail" not in way.options and not way.lost
            after_all = structs.replace(way, status=status, pipe=each, last=command, failed=failed)
            found.append(structs.replace(after_all, lost=lost and not told))
        return self._few(found)

    def _if(self, command: tree.IfClause, way: Way, excused: bool) -> list[Way]:
        if not command.cond:
            return self._list(command.then, way, excused)
        found = []
        for each in self._list(command.cond, way, excused=True):
            if each.leaves:
                found.append(each)
                continue
            if not each.status:
                found += self._list(command.then, each, excused)
            if each.status != 0:
                other = command.other
                found += (
                    self._if(other, each, excused)
                    if other
                    else [structs.replace(each, status=0, last=command)]
                )
        return self._few(found)

    def _loop(
        self, body: Iterable[tree.Stmt], way: Way, excused: bool, *, endless: bool = False
    ) -> list[Way]:
        """A round, and the one that follows a run that fails in it: that there is none is no run that failed.
        `endless`: only what leaves it ends it."""
        body = list(body)
        self._loops += 1
        after = self._list(body, way, excused)
        for each in tuple(after):
            if each.failed and each.leaves in ("", "continue"):
                if endless and not way.failed:
                    raise TooMany  # it is tried again and again
                after += self._list(body, _behind(each), excused)
        self._loops -= 1
        found = [_behind(each) if each.leaves in ("break", "continue") else each for each in after]
        return self._few(found)

    def _while(self, command: tree.WhileClause, way: Way, excused: bool) -> list[Way]:
        found = []
        endless = [self._parsed.text(each).strip("; \n") for each in command.cond] in (["true"], [":"])
        for each in self._list(command.cond, way, excused=True):
            if each.failed and not way.failed:
                raise TooMany  # it is tried again and again
            if each.leaves:
                found.append(each)
                continue
            found += self._loop(command.do, each, excused, endless=endless)
            found.append(structs.replace(each, status=0, last=command))
        return self._few(found)

    def _call(self, call: tree.CallExpr, way: Way, excused: bool) -> list[Way]:
        if not call.args:
            status: int | None = 0
            for node in search.nodes(call):
                if isinstance(node, tree.CmdSubst):
                    status = None
                    for each in self._apart(node.stmts, way, excused=True):
                        status, way = each.status, structs.replace(way, failed=each.failed, lost=each.lost)
            return [structs.replace(self._assigned(call.assigns, way), status=status, last=call)]
        program = search.program(call)
        of_run = self._run(call)
        if of_run is not None:
            way = structs.replace(way, status=of_run, leaves="exit" if program == "exec" else "", last=call)
            return [structs.replace(way, failed=True, lost=True) if of_run else way]
        words = [search.literal(word) for word in call.args[1:]]
        functions = self._functions.get(program, ())
        if len(functions) > 1:
            raise TooMany  # which of them it is here is not followed
        if functions:
            outer, self._loops = self._loops, 0
            self._calls += 1
            after = self._statement(functions[0], way, excused)
            self._loops = outer
            self._calls -= 1
            return [structs.replace(each, leaves="") if each.leaves == "return" else each for each in after]
        if program in ("exit", "return"):
            status = value(self._parsed.text(call.args[1]), way) if call.args[1:] else way.status
            if program == "return" and not self._calls:
                return [structs.replace(way, status=1, last=call)]  # "can only `return' from a function"
            return [structs.replace(way, status=status, leaves=program, last=call)]
        if program in ("break", "continue"):
            leaves = program if self._loops else ""
            return [structs.replace(way, status=0, leaves=leaves, last=call)]
        return [structs.replace(self._built_in(call, program, words, way, excused), last=call)]

    def _built_in(
        self, call: tree.CallExpr, program: str, words: list[str | None], way: Way, excused: bool
    ) -> Way:
        text = self._parsed.text(call)
        if program == "set":
            return structs.replace(way, options=set_options(call, way.options), status=0)
        if program == "trap":
            self._trap(text, words)
            return structs.replace(way, status=0)
        if program in ("source", ".") and words:
            given = self._set_by.get((words[0] or text).rpartition("/")[2].strip("\"'"), frozenset())
            return structs.replace(way, options=way.options | given, status=None)
        if program in ("[", "test"):
            inside = text.removeprefix(program).removesuffix("]" if program == "[" else "")
            return structs.replace(way, status=test(inside, way))
        if program == "wait":
            if not words:
                return structs.replace(way, status=0)
            alone = len(words) == 1 and "[@]" not in text and "[*]" not in text
            failed = alone and way.waits
            return structs.replace(
                way, status=1 if failed else None, failed=way.failed or failed, lost=way.lost or failed
            )
        if program in _ENDS_THE_JOB and way.failed:
            self.is_ended_elsewhere = True
        if program == "false":
            return structs.replace(way, status=1)
        if program == "eval" or not program:
            way = structs.replace(way, known=())
        succeeds = program in (_PRINTS if excused else _SUCCEED)
        return structs.replace(
            way, status=0 if succeeds else None, leaves="exit" if program == "exec" else ""
        )

    def _trap(self, text: str, words: list[str | None]) -> None:
        """A trap that ends the script gives a status of its own, on ERR and EXIT."""
        if not {"ERR", "EXIT", "0", "DEBUG", "RETURN"} & {word or "" for word in words[1:]}:
            return
        bodies = (body for name, found in self._functions.items() if name in text for body in found)
        named = map(self._parsed.text, bodies)
        if any(map(_HAS_EXIT.search, (text.replace("'", " ").replace('"', " "), *named))):
            self.is_ended_elsewhere = True

    def _assigned(self, assigns: Iterable[tree.Assign], way: Way) -> Way:
        found = way
        for each in assigns:
            if each.name is not None:
                plain = not (each.append or each.index or each.array) and each.value is not None
                number = value(self._parsed.text(each.value), way) if plain and each.value else None
                found = found.told(each.name.value, number)
        return found

    def _forgets(self, command: tree.Node, way: Way) -> Way:
        text = self._parsed.text(command)
        for name, _ in way.known:
            if name in text:
                way = way.told(name, None)
        return way


def _by_minus_e(way: Way) -> Iterator[Way]:
    """What becomes of the way behind a command whose failure ends a script with `set -e`: what may fail or
    succeed does both."""
    if way.leaves or "e" not in way.options or way.status == 0:
        yield way
        return
    yield structs.replace(way, status=way.status or 1, leaves="exit")
    if way.status is None:
        yield structs.replace(way, status=0)


def _behind(way: Way) -> Way:
    """The way behind `break` or `continue`, or where none of them is."""
    return structs.replace(way, leaves="", status=0) if way.leaves else way


def _is_said(command: tree.BinaryCmd) -> bool:
    """Whether another finding tells of it: `... || true`."""
    other = command.y.cmd if command.op == "||" and command.y else None
    return isinstance(other, tree.CallExpr) and search.literals(other.args) in (["true"], [":"])


def _may_end(command: tree.Command | None) -> bool:
    """Whether that it fails ends a script with `set -e`: of a list && or || its last part does, by itself."""
    if isinstance(command, tree.BinaryCmd):
        return command.op in ("|", "|&")
    return isinstance(command, tree.CallExpr | tree.Subshell | tree.TestClause | tree.ArithmCmd)
