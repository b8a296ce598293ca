"""Names in tests that were meant for variables, and have no $ before them; names of containers that are taken
for files."""

import re
from collections.abc import Collection, Iterator

from hpclaunch.convert.defects import search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.programs.slurm_variables import is_slurms
from hpclaunch.convert.reading import ShellReading
from hpclaunch.readback.shell import tree
from hpclaunch.values.conversion import Finding

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z]{4,}")
_NUMBERS = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_TEXTS = frozenset(("=", "==", "!="))
_FILE_TESTS = frozenset(("-e", "-f", "-d", "-r", "-s", "-x"))
# srun --container-name=$X (Pyxis), docker run --name $X, docker exec $X, also within a text for a shell.
_OF_CONTAINER = re.compile(
    r"(?:--(?:container-)?name[= ]|(?:docker|podman) (?:exec|rm|kill|stop|logs|inspect) (?:-\w+ )*)"
    r"\\?[\"']?\$\{?(\w+)"
)
_ONE_VARIABLE = re.compile(r"\"?\$\{?(\w+)\}?\"?")


def find(reading: ShellReading, parsed: list[Parsed]) -> Iterator[Finding]:
    """Tests of words, and of files that are none, in these texts."""
    named = {*reading.wanted, *(each.name for each in reading.assigned)}
    given = (node.name for each in parsed for node in each.nodes if isinstance(node, tree.Assign))
    named |= {name.value for name in given if name}
    containers = {name for each in parsed for name in _OF_CONTAINER.findall(each.source.text)}
    for each in parsed:
        for node in each.nodes:
            if isinstance(node, tree.UnaryTest) and isinstance(node.x, tree.Word):
                yield from _of_one(each, node.op, node.x, containers)
            elif isinstance(node, tree.BinaryTest) and node.op in _TEXTS:
                operands = tuple(operand for operand in (node.x, node.y) if isinstance(operand, tree.Word))
                yield from _of_two(each, node.op, operands, named)
        for call in each.calls:
            if search.program(call) in ("[", "test"):
                yield from _of_words(each, list(call.args[1:]), named, containers)


def _of_words(
    parsed: Parsed, words: list[tree.Word], named: Collection[str], containers: Collection[str]
) -> Iterator[Finding]:
    for at, word in enumerate(words):
        operator = search.literal(word) or ""
        following = words[at + 1] if at + 1 < len(words) else None
        if following is None:
            continue
        if at and operator in _TEXTS | _NUMBERS:
            yield from _of_two(parsed, operator, (words[at - 1], following), named)
        else:
            yield from _of_one(parsed, operator, following, containers)


def _of_one(
    parsed: Parsed, operator: str, operand: tree.Word, containers: Collection[str]
) -> Iterator[Finding]:
    text = search.literal(operand)
    if operator in ("-z", "-n") and text and _VARIABLE.fullmatch(text):
        answer = "never" if operator == "-z" else "always"
        why = f"a $ is missing: this tests the word {text} and not the variable, so it is {answer} true"
        yield Finding("defect", (parsed.place(operand),), f'`{operator} "{text}"`', why=why)
    written = parsed.text(operand)
    name = _ONE_VARIABLE.fullmatch(written)
    if operator in _FILE_TESTS and name is not None and name[1] in containers:
        why = "this asks for a file with the name of a container, and there never is one: it tests nothing"
        yield Finding("defect", (parsed.place(operand),), f"`{operator} {written}`", why=why)


def _of_two(
    parsed: Parsed, operator: str, operands: tuple[tree.Word, ...], named: Collection[str]
) -> Iterator[Finding]:
    """Two words without any expansion, one of which is the name of a variable. Numbers of [[ ]] may be names:
    it is not asked about these."""
    texts = [search.literal(each) for each in operands]
    if None in texts or len(texts) != 2:
        return
    name = next((text for text in texts if text in named or is_slurms(text or "")), None)
    name = name or next((text for text in texts if _VARIABLE.fullmatch(text or "")), None)
    if name is None:
        return
    if operator in _NUMBERS:
        answer = "always false, with an error: it is no number"
    else:
        answer = "always true" if (texts[0] == texts[1]) == (operator != "!=") else "never true"
    why = f"a $ is missing: this tests the word {name} and not the variable, so it is {answer}"
    written = " ".join((f'"{texts[0]}"', operator, f'"{texts[1]}"'))
    yield Finding("defect", (parsed.place(operands[0]),), f"`{written}`", why=why)
