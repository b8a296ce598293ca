"""Words that are not what their author meant: a name without its $, quotes that hide a variable, a text
where a command should be."""

import re
from collections.abc import Iterator

from hpclaunch.convert.defects import missing_dollars, search
from hpclaunch.convert.defects.search import Parsed
from hpclaunch.convert.draft import shown
from hpclaunch.convert.options import Options
from hpclaunch.convert.programs import ssh
from hpclaunch.convert.programs.layers import layers
from hpclaunch.convert.programs.names import SHELLS
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.readback.shell import outside, tree
from hpclaunch.readback.shell.values import known
from hpclaunch.values.conversion import Finding

_IN_SINGLE_QUOTES = re.compile(r"\$\{?[A-Za-z_]\w*")
_BLANKS = re.compile(rb"\\[ \t]+")
_MOST_BLANKS = 200
_GLUED = re.compile(r"\[{1,2}[^\s\[\]]")
_LATER = frozenset(
    ("trap", "eval", "bash", "sh", "awk", "gawk", "sed", "envsubst", "perl", "jq", "ssh", "find", "xargs")
)


def find(reading: ShellReading, parsed: list[Parsed], options: Options) -> Iterator[Finding]:
    """Missing `$`s, single quotes, texts that are run, options that mean something else."""
    texts = [*parsed, *_written_scripts(parsed)]
    yield from missing_dollars.find(reading, texts)
    yield from _unheard(reading)
    for each in texts:
        for call in each.calls:
            yield from _text_as_command(each, call)
            yield from _of_keygen(each, call)
            yield from _split_anew(each, call)
            yield from _does_not_go_on(each, call)
            yield from _test_without_blank(each, call)
            if search.program(call) not in _LATER:
                yield from _not_expanded(each, call)


def _unheard(reading: ShellReading) -> Iterator[Finding]:
    """docker run IMAGE bash <<EOF: without -i the standard input of a container is empty (docker's reference,
    "docker container run", --interactive; podman-run(1) says the same)."""
    for command in reading.commands:
        its = layers(command.words) if command.stdin else ()
        by = next((each for each in its if each.program in ("docker run", "docker exec")), None)
        if by is None or by.option("interactive") is not None:
            continue
        rest = [known(word) or "?" for word in its[-1].words]
        if (
            rest
            and rest[0].rpartition("/")[2] in SHELLS
            and all(re.match("-(?!.*c)", word) for word in rest[1:])
        ):
            why = (
                f"without -i {by.program} hands its input to nobody: the shell reads no line of this text, "
                "and ends well"
            )
            todo = "the job has the text as its command; in the original write -i"
            yield Finding(
                "defect", (command.place,), f"`{by.program} ... {rest[0]}` with a text", "", why, todo
            )


def _text_as_command(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    first = call.args[0]
    text = search.literal(first)
    quoted = len(first.parts) == 1 and isinstance(first.parts[0], tree.DblQuoted | tree.SglQuoted)
    if quoted and text and " " in text.strip() and "/" not in text.split()[0]:
        yield Finding(
            "defect",
            (parsed.place(call),),
            f"`{parsed.text(first)}`",
            why="this text stands where a command should (an echo is missing): it fails, and what follows "
            "&& is not done",
        )


def _of_keygen(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    words = [search.literal(word) for word in call.args]
    if words[0] != "ssh-keygen" or "-n" not in words:
        return
    index = words.index("-n")
    if index + 1 < len(words) and words[index + 1] == "":
        yield Finding(
            "defect",
            (parsed.place(call),),
            '`ssh-keygen -n ""`',
            why="-n gives principals of a certificate; an empty passphrase is -N, and without it ssh-keygen "
            "waits for somebody to type one",
        )


def _split_anew(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    """ssh h docker exec -e "A=x y" c ...: the remote shell has `A=x y` without its quotes."""
    if search.program(call) not in ssh.TABLES:
        return
    found = ssh.split_anew([(_with_names(word),) for word in call.args])
    if found:
        yield Finding(
            "defect",
            (parsed.place(call),),
            f"`{shown(found)}` behind {search.program(call)}",
            why=f"{search.program(call)} joins its words with blanks and the remote shell takes them apart "
            "anew: what was quoted as one word is several there, and the conversion shows what that starts",
            todo="quote it once more where one word is meant",
        )


def _test_without_blank(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    """if ["$A" -eq 1], and [ "$A" -eq 1]: of both the shell makes no test."""
    first, last = parsed.text(call.args[0]), parsed.text(call.args[-1])
    if _GLUED.match(first) and last.endswith("]"):
        why = "a blank is missing behind [: the shell looks for a program of that name, and it never holds"
    elif first == "[" and last != "]" and last.endswith("]"):
        why = "a blank is missing before ]: the test is an error each time, and it never holds"
    else:
        return
    yield Finding("defect", (parsed.place(call),), f"`{shown(parsed.text(call))}`", why=why)


def _does_not_go_on(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    """`srun -N2 \\ ` with a blank behind the backslash, as lines have that were copied from a page."""
    for word in call.args:
        rest = parsed.bytes_[word.pos.offset : word.pos.offset + _MOST_BLANKS].partition(b"\n")
        if _BLANKS.fullmatch(rest[0]) and rest[2].partition(b"\n")[0].strip():
            yield Finding(
                "defect",
                (parsed.place(word),),
                "`\\` with blanks behind it",
                why="it does not carry the line on: the command gets a blank for a word and ends here, and "
                "the next line is a command of its own",
                todo="take the blanks out, and convert again",
            )


def _with_names(word: tree.Word) -> str:
    """The word without its quotes, with a name for each expansion."""
    text = search.literal(word)
    if text is not None:
        return text
    quoted = (part.parts if isinstance(part, tree.DblQuoted) else (part,) for part in word.parts)
    pieces = (each for parts in quoted for each in parts)
    return "".join(each.value if isinstance(each, tree.Lit | tree.SglQuoted) else "$x" for each in pieces)


def _not_expanded(parsed: Parsed, call: tree.CallExpr) -> Iterator[Finding]:
    for word in call.args[1:]:
        for part in word.parts:
            if isinstance(part, tree.SglQuoted) and not part.dollar and part.value.startswith("-"):
                found = _IN_SINGLE_QUOTES.search(part.value)
                if found and " " not in part.value:
                    yield Finding(
                        "defect",
                        (parsed.place(word),),
                        f"`{parsed.text(word)}`",
                        why=f"single quotes keep {found[0]} as it stands: without a later eval the "
                        "program gets the text and not the value",
                    )


def _written_scripts(parsed: list[Parsed]) -> Iterator[Parsed]:
    """Scripts that stand in a here-document, since another script is made of it. Its lines are those of the
    input; what the outer shell expands is taken for text."""
    for each in parsed:
        for node in each.nodes:
            if not isinstance(node, tree.Redirect) or node.hdoc is None:
                continue
            start, end = node.hdoc.pos, node.hdoc.end
            text = outside(each.bytes_[start.offset : end.offset].decode(errors="replace"))
            if not text.lstrip("\t").startswith("#!") or "sh" not in text.partition("\n")[0]:
                continue
            inner = "\n" * (start.line - 1) + text.replace("\\$", "$")
            yield from search.trees([Source(each.source.name, inner)])
