"""Exit statuses that the original loses: a job that failed looks as if it had not."""

import re
from collections.abc import Collection, Iterator, Sequence

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.defects.way import set_options
from hpclaunch.convert.defects.ways import Script, TooMany
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.programs.layers import MPI, PER_GPU, layers
from hpclaunch.convert.programs.names import BY_MPI, BY_TORCH, DOCKERS, STEPS
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.readback.shell.values import Unknown, Value
from hpclaunch.values.conversion import Finding

_STARTS = frozenset((*STEPS, *BY_MPI, *BY_TORCH, *DOCKERS, "ssh"))
# Those of layers: what starts ranks, and what goes to another machine to do it.
_STARTERS = frozenset((*MPI, *PER_GPU, "srun", "ssh"))
_RUNS = frozenset(("docker run", "docker exec", "docker start", "singularity exec", "singularity run"))
_CLEANING = frozenset(("rm", "kill", "stop"))
# PIPESTATUS is that of the last pipeline: behind it stand ends of statements, comments, and what reads it.
_ENDS_BETWEEN = re.compile(
    # Each piece reaches its end: a line of many # is one comment, and is not tried as several.
    rb"(?:[\s;)}]|&&|(?:done|fi|esac)\b[^\n;|&]*(?=[\n;|&]|\Z)|#[^\n]*(?=\n|\Z))*+"
)
_SUM = re.compile(rb"\(\([^\n;]*?\)\)")
_OF_SUM = bytes.maketrans(b"|&", b"++")
# What keeps a job with its servers until its time is over.
_STAYS = re.compile(r"(?:sleep\s+inf(?:inity)?|tail\s+-[fF]\s+/dev/null)\b")
_NEAR = 2000


def find(reading: ShellReading, parsed: list[Parsed], job: Draft) -> Iterator[Finding]:
    """Statuses that are always 0, the last one's alone, or those of another command."""
    walked = {each.place.file for each in reading.statements}
    for each in parsed:
        pipefail = any(map(_sets_pipefail, _of_its_shell(each, parsed, walked)))
        lists = set(_lists_of_processes(each))
        for statements in search.lists(each):
            yield from _of_background(each, statements)
        for node in each.nodes:
            if isinstance(node, tree.BinaryCmd):
                yield from _of_pipeline(each, node, pipefail)
                yield from _hidden(each, node)
        for call in each.calls:
            if search.program(call) == "wait":
                yield from _of_wait(each, call, lists)
            yield from _one_rank(each, call)
        if each.source.name == reading.script:
            yield from _of_end(reading, each, parsed, job)


def _of_its_shell(text: Parsed, texts: Sequence[Parsed], walked: Collection[str]) -> Iterator[Parsed]:
    """The text, and those whose commands the same shell reads: what it sources by name, and of the launcher
    all of its configuration (`walked`), but no script that it starts."""
    read = {
        name.rpartition("/")[2]
        for call in text.calls
        if search.program(call) in ("source", ".")
        for name in search.literals(call.args[1:2])
    }
    for each in texts:
        name = each.source.name
        if each is text or name.rpartition("/")[2] in read or (name in walked and text.source.name in walked):
            yield each


def _sets_pipefail(text: Parsed) -> bool:
    return any(search.program(call) == "set" and "pipefail" in set_options(call) for call in text.calls)


def _of_background(parsed: Parsed, statements: tuple[tree.Stmt, ...]) -> Iterator[Finding]:
    """$? behind `&`, also where assignments stand between them: the status of one is 0 as well."""
    behind = False
    for statement in statements:
        first = _first(statement)
        if behind and first is not None and _has_status(first):
            yield _defect(
                parsed,
                statement,
                f"`& {_short(parsed.text(statement))}`",
                "the status of a command that was put into the background with & is always 0: a "
                "failure of it is never seen",
            )
        behind = statement.background or (behind and _assigns_alone(statement.cmd))


def _first(statement: tree.Stmt | None) -> tree.Command | None:
    """The command that a statement begins with."""
    while statement is not None:
        command = statement.cmd
        if isinstance(command, tree.BinaryCmd):
            statement = command.x
        elif isinstance(command, tree.IfClause) and command.cond:
            statement = command.cond[0]
        elif isinstance(command, tree.Block) and command.stmts:
            statement = command.stmts[0]
        else:
            return command
    return None


def _assigns_alone(command: tree.Command | None) -> bool:
    """Whether it gives variables values, and nothing of that can fail."""
    if not isinstance(command, tree.CallExpr) or command.args:
        return False
    return not any(isinstance(node, tree.CmdSubst) for node in search.nodes(command))


def _has_status(command: tree.Command) -> bool:
    """Whether a simple command, a test or a declaration names $? itself."""
    if not isinstance(command, tree.CallExpr | tree.TestClause | tree.DeclClause | tree.ArithmCmd):
        return False
    return any(
        isinstance(node, tree.ParamExp) and node.param and node.param.value == "?"
        for node in search.nodes(command)
    )


def _lists_of_processes(parsed: Parsed) -> Iterator[str]:
    """Variables to which $! is added, beside what they have: pids="$pids $!", pids+=" $!"."""
    for node in parsed.nodes:
        if isinstance(node, tree.Assign) and node.name and node.value:
            named = set(_names(node.value))
            if "!" in named and (node.append or node.name.value in named):
                yield node.name.value


def _names(word: tree.Word) -> Iterator[str]:
    """Those of the parameters that a word names."""
    for node in search.nodes(word):
        if isinstance(node, tree.ParamExp) and node.param:
            yield node.param.value


def _is_several(word: tree.Word, lists: Collection[str]) -> bool:
    """Whether a word of `wait` is more than one process, as far as the text tells."""
    part = word.parts[0] if len(word.parts) == 1 else None
    if isinstance(part, tree.CmdSubst):
        return any(search.program(call) in ("jobs", "pgrep") for call in search.calls(part))
    return isinstance(part, tree.ParamExp) and any(name in lists for name in _names(word))


_BESIDE = re.compile(rb"(?<![&><|])&(?![&>\d-])|\bcoproc\b|^\s*(?:source|\.)\s", re.MULTILINE)


def _of_wait(parsed: Parsed, call: tree.CallExpr, lists: Collection[str]) -> Iterator[Finding]:
    arguments = call.args[1:]
    text = parsed.text(call)
    several = len(arguments) > 1 or "[@]" in text or "[*]" in text
    if not arguments and not _BESIDE.search(parsed.bytes_):
        return  # nothing goes on beside the script
    if not arguments:
        why = "`wait` without arguments gives 0, whatever became of the processes"
    elif several or _is_several(arguments[0], lists):
        why = "`wait` for several processes gives the status of the last one: a failure of any other is lost"
    else:
        return
    yield _defect(parsed, call, f"`{_short(text)}`", why)


def _of_pipeline(parsed: Parsed, node: tree.BinaryCmd, pipefail: bool) -> Iterator[Finding]:
    last = node.y.cmd if node.y else None
    if node.op not in ("|", "|&") or pipefail or not isinstance(last, tree.CallExpr) or not last.args:
        return
    if _reads_parts(parsed.bytes_[node.end.offset : node.end.offset + _NEAR]):
        return  # the script looks at the status of each part itself
    if search.program(last) == "tee" and node.x and any(map(_is_start, search.calls(node.x))):
        yield _defect(
            parsed,
            node,
            f"`... {node.op} {_short(parsed.text(last))}`",
            "without `set -o pipefail` the status is that of tee: a run that failed counts as a success",
        )


def _reads_parts(behind: bytes) -> bool:
    """Whether the first command of what stands behind a pipeline names PIPESTATUS, also in a sum with | or &
    in it."""
    first = _ENDS_BETWEEN.match(behind)
    line = behind[first.end() if first else 0 :].partition(b"\n")[0]
    line = _SUM.sub(lambda found: found[0].translate(_OF_SUM), line)
    return b"PIPESTATUS" in re.split(rb"[;|&]", line, maxsplit=1)[0]


def _hidden(parsed: Parsed, node: tree.BinaryCmd) -> Iterator[Finding]:
    other = node.y.cmd if node.y else None
    if node.op != "||" or not isinstance(other, tree.CallExpr) or not node.x:
        return
    first = node.x.cmd
    if not isinstance(first, tree.CallExpr) or not first.args or not _is_start(first):
        return
    if search.literals(other.args) in (["true"], [":"]) and not set(search.literals(first.args)) & _CLEANING:
        why = "a failure of it changes nothing and is not seen"
        yield _defect(parsed, node, f"`{search.program(first)} ... || true`", why)


def _one_rank(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    for word in call.args[1:]:
        if search.literal(word) in ("--kill-on-bad-exit=0", "-K0"):
            yield _defect(
                parsed,
                word,
                f"`{search.literal(word)}`",
                "when one rank fails the others wait for it until the time limit, on all nodes of the job",
            )


def _is_pipe_of_run(last: tree.Node, runs: Collection[int]) -> bool:
    """Whether the last command is one pipeline, and a run stands in it."""
    lines = range(last.pos.line, last.end.line + 1)
    return isinstance(last, tree.BinaryCmd) and last.op in ("|", "|&") and not set(runs).isdisjoint(lines)


def _of_end(reading: ShellReading, parsed: Parsed, texts: list[Parsed], job: Draft) -> Iterator[Finding]:
    """A script that ends with 0 by every way on which its runs, or the job's own, have failed. One of which
    nothing is told has none: what it starts over ssh may look at hosts alone."""
    if job.refused and not job.facts:
        return
    evaluated = {
        each.place.line
        for each in reading.starting
        if each.place.file == parsed.source.name and _runs(each.words)
    }
    command = job.facts.get(("command",))
    own = {place.line for place in command.places if place.file == parsed.source.name} if command else set()
    set_by = {each.source.name.rpartition("/")[2]: _options_of(each) for each in texts if each is not parsed}
    for lines in (None, own):
        if lines is not None and not lines & evaluated:
            continue

        def run(call: tree.CallExpr, lines: Collection[int] | None = lines) -> int | None:
            line = call.pos.line
            by_words = _runs([_as_value(word) for word in call.args])
            if not by_words and (search.program(call) or line not in evaluated):
                return None
            return int(lines is None or line in lines)

        script = Script(parsed, run, set_by)
        try:
            every = script.ways()
        except TooMany:
            continue
        # One that failed in the background has failed too, where another command ends the script.
        ways = [each for each in every if each.failed or each.waits]
        last = next((each.last for each in ways if each.failed and each.lost), None)
        if last is not None and _is_pipe_of_run(last, evaluated):
            continue  # it is told of the pipe what hides the run's status
        if last is not None and _STAYS.match(parsed.text(last)):
            continue
        if last is not None and not script.is_ended_elsewhere and all(each.status == 0 for each in ways):
            yield _defect(
                parsed,
                last,
                f"the script ends with `{_short(parsed.text(last))}`",
                "its exit status is that of this command and not of the run: the job counts as a success "
                "when the run failed",
            )
            return


def _options_of(parsed: Parsed) -> frozenset[str]:
    """-e, where a text that others may source sets it anywhere."""
    sets = (call for call in parsed.calls if search.program(call) == "set")
    return frozenset(("e",)) if any("e" in set_options(call) for call in sets) else frozenset()


def _runs(words: Sequence[Value]) -> bool:
    programs = [layer.program for layer in layers(words)]
    return any(each in _RUNS or each.partition(" ")[0] in _STARTERS for each in programs)


def _as_value(word: tree.Word) -> Value:
    text = search.literal(word)
    return (Unknown("variable", ""),) if text is None else (text,)


def _is_start(call: tree.CallExpr) -> bool:
    return search.program(call) in _STARTS


def _defect(parsed: Parsed, node: tree.Node, what: str, why: str) -> Finding:
    return Finding("defect", (parsed.place(node),), what, why=why)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
