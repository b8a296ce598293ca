"""Exit statuses that the original loses: a job that failed looks as if it had not."""

import re
from collections.abc import Iterator
from itertools import pairwise

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.values.conversion import Finding

_STARTS = frozenset(
    ("srun", "mpirun", "mpiexec", "orterun", "horovodrun", "docker", "nvidia-docker", "ssh", "torchrun")
)
_CLEANS = frozenset(
    ("rm", "docker", "nvidia-docker", "echo", "printf", "sleep", "date", "wait", "kill", "scancel")
)
_CLEANING = frozenset(("rm", "kill", "stop"))
_ENDS_ON_FAILURE = re.compile(r"\bset\s+-[a-z]*e|\berrexit\b")
# PIPESTATUS is that of the last pipeline: behind it stand ends of statements, comments, and what reads it.
_READS_PARTS = re.compile(
    # Each piece reaches its end: a line of many # is one comment, and is not tried as several.
    rb"(?:[\s;)}]|&&|(?:done|fi|esac)\b[^\n;|&]*(?=[\n;|&]|\Z)|#[^\n]*(?=\n|\Z))*"
    rb"(?![\s#])[^\n;|&]*PIPESTATUS"
)
_NEAR = 2000
_SET = re.compile(r"\bset\s")


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Statuses that are always 0, the last one's alone, or those of another command."""
    pipefail = any(_sets_pipefail(each.source.text) for each in parsed)
    for each in parsed:
        for statements in search.lists(each):
            yield from _of_background(each, statements)
        for node in each.nodes:
            if isinstance(node, tree.BinaryCmd):
                yield from _of_pipeline(each, node, pipefail)
                yield from _hidden(each, node)
        for call in each.calls:
            if search.program(call) == "wait":
                yield from _of_wait(each, call)
            yield from _one_rank(each, call)
        if each.source.name == reading.script and not _ENDS_ON_FAILURE.search(each.source.text):
            yield from _of_last(each)


def _sets_pipefail(text: str) -> bool:
    """Whether a line has `set` and then pipefail. One pattern of both would try each `set`
    of a long line."""
    halves = (line.partition("pipefail") for line in text.splitlines())
    return any(found and _SET.search(before) for before, found, _ in halves)


def _of_background(parsed: Parsed, statements: tuple[tree.Stmt, ...]) -> Iterator[Finding]:
    for first, second in pairwise(statements):
        if first.background and "$?" in parsed.text(second):
            yield _defect(
                parsed,
                second,
                f"`& {_short(parsed.text(second))}`",
                "the status of a command that was put into the background with & is always 0: a "
                "failure of it is never seen",
            )


def _of_wait(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    arguments = call.args[1:]
    if not arguments:
        why = "`wait` without arguments gives 0, whatever became of the processes"
    elif len(arguments) > 1 or "[@]" in parsed.text(call) or "[*]" in parsed.text(call):
        why = "`wait` for several processes gives the status of the last one: a failure of any other is lost"
    else:
        return
    yield _defect(parsed, call, f"`{_short(parsed.text(call))}`", why)


def _of_pipeline(parsed: Parsed, node: tree.BinaryCmd, pipefail: bool) -> Iterator[Finding]:
    last = node.y.cmd if node.y else None
    if node.op not in ("|", "|&") or pipefail or not isinstance(last, tree.CallExpr) or not last.args:
        return
    behind = parsed.bytes_[node.end.offset : node.end.offset + _NEAR]
    if _READS_PARTS.match(behind):
        return  # the script looks at the status of each part itself
    if search.program(last) == "tee" and node.x and any(map(_is_start, search.calls(node.x))):
        yield _defect(
            parsed,
            node,
            f"`... {node.op} {_short(parsed.text(last))}`",
            "without `set -o pipefail` the status is that of tee: a run that failed counts as a success",
        )


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


def _of_last(parsed: Parsed) -> Iterator[Finding]:
    """A script ends with the status of its last command, and that is the cleaning up."""
    statements = parsed.file.stmts
    if not statements:
        return
    last = statements[-1].cmd
    if not isinstance(last, tree.CallExpr) or not last.args or search.program(last) not in _CLEANS:
        return
    words = search.literals(last.args[1:])
    if search.program(last) == "wait" and last.args[1:]:
        return  # it gives the status of the run, or is told of by itself
    if "docker" in search.program(last) and not set(words[:1]) & _CLEANING:
        return
    if any(map(_is_start, (call for each in statements[:-1] for call in search.calls(each)))):
        yield _defect(
            parsed,
            last,
            f"the script ends with `{_short(parsed.text(last))}`",
            "its exit status is that of this command and not of the run: the job counts as a success when "
            "the training failed",
        )


def _is_start(call: tree.CallExpr) -> bool:
    return search.program(call) in _STARTS


def _defect(parsed: Parsed, node: tree.Node, what: str, why: str) -> Finding:
    return Finding("defect", (parsed.place(node),), what, why=why)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
