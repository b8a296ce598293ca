"""The reader of long inputs makes what shfmt makes, and refuses what bash refuses."""

import re
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpclaunch.convert.shell.syntax.reader import read
from hpclaunch.readback.shell import inside, pieces
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.parse import parse
from hpclaunch.readback.shell.statements import Group

ROOT = Path(__file__).parents[2]
SCRIPTS = [*sorted(ROOT.glob("tests/**/*.sh")), *sorted(ROOT.glob("tests/**/*.sub"))]
# What only one of the two readers tells, or in another way.
_LEFT_OUT = frozenset(("last", "operators", "background", "end"))


def plain(value: Any, expression: bool = False) -> Any:
    """A statement as plain lists, with neighbouring text in one."""
    if isinstance(value, pieces.Word):
        return merged(value.pieces, expression)
    if isinstance(value, Group) and not value.body:
        return "nothing"
    if isinstance(value, msgspec.Struct):
        fields = {
            name: plain(getattr(value, name), expression=name in ("index", "expression", "expressions"))
            for name in value.__struct_fields__
            if name not in _LEFT_OUT
            and not (name == "written" and not isinstance(value, pieces.Process))
            and not (name == "operand" and getattr(value, "operator", "") == ":")
            and not (name == "by" and getattr(value, "operator", "") == ":")
            and not (name in ("operand", "by") and not getattr(value, "operator", ""))
        }
        return [type(value).__name__, fields]
    if isinstance(value, tuple):
        return [plain(each, expression) for each in value]
    return value


def merged(found: tuple[pieces.Piece, ...], expression: bool) -> list[Any]:
    result: list[Any] = []
    for piece in found:
        if isinstance(piece, pieces.Literal):
            text = (piece.text.replace(" ", "") if expression else piece.text, piece.quoted or expression)
            if result and isinstance(result[-1], tuple) and result[-1][1] == text[1]:
                result[-1] = (result[-1][0] + text[0], text[1])
            else:
                result.append(text)
        elif expression and isinstance(piece, pieces.Parameter):
            result.append(["Parameter", piece.name, piece.operator])
        elif expression:
            kind, fields = plain(piece)
            result.append([kind, {name: value for name, value in fields.items() if name != "quoted"}])
        else:
            result.append(plain(piece))
    return [each for each in result if each != ("", False) and not (expression and each == ("", True))]


def ours(text: str) -> Any:
    try:
        return plain(read(inside(text)))
    except ScriptError as error:
        return error


def theirs(text: str) -> Any:
    try:
        return plain(parse(inside(text)))
    except ScriptError as error:
        return error


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_read_as_by_shfmt(path: Path) -> None:
    text = path.read_text()
    assert ours(text) == theirs(text)


# Pieces of scripts that mean something to bash, to be put together in any order.
WORDS = st.sampled_from(
    [
        *("a", "b=c", "-x", "a{1,2}", "~/f", "'q $x'", '"d $x ${y:-z} $(w) `v`"', "$'t\\n'", "\\;", "x\\\ny"),
        *("$x", "${x}", "${#x}", "${x#*/}", "${x%%.*}", "${x//a/b}", '${x/#a/"b c"}', "${x:1:2}", "${x^^}"),
        *(
            "${a[@]}",
            '"${a[@]}"',
            "${a[1]}",
            "${#a[@]}",
            "${a[$i+1]}",
            "${x:-${y:-z}}",
            '"${x:-"q r"}"',
            "${x:?no}",
        ),
        *(
            "$(b c)",
            "$(b | c)",
            "`b c`",
            "$((1 + x))",
            "$(( (x+1) * 2 ))",
            "$((a[1] + 2))",
            "<(b)",
            "$(<f)",
            "$@",
        ),
        *(
            "*.txt",
            "[ab]?",
            "a=b=c",
            "#",
            "a#b",
            "1",
            "é",
            "{",
            "}",
            "!",
            "if",
            "in",
            "do",
            "time",
            "[",
            "]",
            "=~",
        ),
        *(
            "${x@Q}",
            "${!x}",
            "$((x ? 1 : 2))",
            '$(echo "a")',
            '"\\$x\\"',
            '--a="$b",c',
            "$",
            "$?",
            "a$b.c",
            "x!(a|b)",
        ),
        *(
            "$(cat <<E\nq $x\nE\n)",
            "$( (a) )",
            "$((a) )",
            '"a\nb"',
            "'a\nb'",
            "${x/a\\/b/c}",
            "${x-a b}",
            "${x:$((1+1))}",
        ),
    ]
)
REDIRECTIONS = st.sampled_from(
    [
        ">f",
        "> $f",
        "2>&1",
        "<f",
        "&>f",
        ">>f",
        "<<<$x",
        "<<E\na $x\n\tE\nE\n",
        "<<-'E'\n\ta $x\n\tE\n",
        "2>/dev/null",
    ]
)
ASSIGNMENTS = st.sampled_from(
    [
        *(
            "x=1",
            "x=",
            'x="a b"',
            "x+=c",
            "a=(1 2 '3 4' $x)",
            "a+=( b\n# c\n d )",
            "a[1]=x",
            "a[$i]+=y",
            "x=$(b)",
        ),
        *("x=~/f:~/g", "a=([1]=b [c]=d)", "a=( [e )", "x==", "x=a=(b)", "x=$'a'"),
    ]
)


OPERATORS = st.sampled_from([" && ", " || ", " | ", " |& ", "; ", " &\n", " ||\n", " | \\\n"])
DECLARATIONS = st.tuples(
    st.sampled_from(["export", "declare -a", "local", "readonly"]), st.lists(ASSIGNMENTS, max_size=3)
).map(lambda x: " ".join([x[0], *x[1]]))
CONDITIONS = st.sampled_from(
    ["[[ $x =~ ^a(b|c)*$ ]]", "(( x += 1 ))", "((x = (1 + 2) * 3))", "let x=1 y=2", "[[ x ]]"]
)


def simple() -> st.SearchStrategy[str]:
    return st.lists(st.one_of(WORDS, WORDS, WORDS, ASSIGNMENTS, REDIRECTIONS), min_size=1, max_size=6).map(
        " ".join
    )


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        inner,
        st.tuples(
            inner, st.sampled_from([" && ", " || ", " | ", " |& ", "; ", " &\n", " ||\n", " | \\\n"]), inner
        ).map("".join),
        st.tuples(lists, lists, lists).map(lambda x: "if {}\nthen {}\nelse {}\nfi".format(*x)),
        st.tuples(lists, lists, lists).map(lambda x: "if {}; then {}\nelif {}; then :; fi".format(*x)),
        st.tuples(lists, lists).map(lambda x: "while {}\ndo {}\ndone".format(*x)),
        st.tuples(WORDS, lists).map(lambda x: "for x in {} b; do {}\ndone".format(*x)),
        lists.map("for ((i=0; i<3; i++)); do {}\ndone".format),
        lists.map("for x\ndo {}\ndone".format),
        lists.map("{{ {}\n}} >f 2>&1".format),
        lists.map("( {}\n)".format),
        lists.map("f() {{ {}\n}}\n:".format),
        lists.map("function g {{ {}\n}}\n:".format),
        st.tuples(WORDS, WORDS, lists).map(lambda x: "case {} in {} | b) {}\n;;\n(*) ;; esac".format(*x)),
        st.tuples(WORDS, WORDS).map(lambda x: "[[ {} == {} && ! -f x || ( -n y ) ]]".format(*x)),
        st.sampled_from(
            ["[[ $x =~ ^a(b|c)*$ ]]", "(( x += 1 ))", "((x = (1 + 2) * 3))", "let x=1 y=2", "[[ x ]]"]
        ),
        # Of `a | time b`, and of `f() { a; } && b`, shfmt makes something that bash does not.
        inner.map(":\n! {}".format),
        inner.map(":\ntime {}".format),
        st.tuples(
            st.sampled_from(["export", "declare -a", "local", "readonly"]), st.lists(ASSIGNMENTS, max_size=3)
        ).map(lambda x: " ".join([x[0], *x[1]])),
        inner.map("# a comment ' \" $(\n{}".format),
        inner.map("{} # a comment ' \" $(".format),
    )


def _program() -> st.SearchStrategy[str]:
    return st.one_of(simple(), simple(), compound(PROGRAMS))


PROGRAMS = st.deferred(_program)


def bash_takes(text: str) -> bool:
    """Whether bash finds nothing wrong with its grammar; with -n it runs nothing."""
    command = ["bash", "-O", "extglob", "-n"]
    said = subprocess.run(command, input=inside(text).encode("latin-1"), capture_output=True, check=False)
    return said.returncode == 0


@settings(max_examples=400, deadline=None)
@given(PROGRAMS)
def test_what_bash_takes_is_read_as_by_shfmt(text: str) -> None:
    found = ours(text)
    # To shfmt a command goes on behind a comment that ends with a backslash, which to bash it does not.
    expected = theirs(re.sub(r"((?:^|[ \t\n;&|()])#.*?)\\+\n", r"\1\n", text))
    # shfmt takes a command named `in`, which bash does not.
    if not isinstance(expected, ScriptError) and (not isinstance(found, ScriptError) or bash_takes(text)):
        assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "a[=x a[1]=x",
        "a[=x a[$i]+=y",
        "a[$i]=y",
        "a[x y",
        "a[1",
        "a[1]=x",
        "a[b[1]]=x",
        "a[=x b]=y",
        "a['[']=x",
    ],
)
def test_a_bracket_of_an_element_is_closed_where_bash_closes_it(text: str) -> None:
    assert isinstance(ours(text), ScriptError) != bash_takes(text)


MISTAKES = ["", "'", '"', "(", ")", "$(", "${", "if ", "fi\n", "done\n", ";;", "|", "&&"]


@settings(max_examples=200, deadline=None)
@given(PROGRAMS, st.data())
def test_what_bash_and_shfmt_refuse_is_refused(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    mark = data.draw(st.sampled_from(MISTAKES))
    text = text[:start] + mark + text[start + data.draw(st.integers(0, 3)) :]
    # An element of an array that begins with [ is a word of it here, whatever follows, and an array, or an
    # element of one, may be assigned after a redirection.
    if (
        not re.search(r"=\(.*\[|[<>E].*(=\(|\[)", text, re.DOTALL)
        and isinstance(theirs(text), ScriptError)
        and not bash_takes(text)
    ):
        assert isinstance(ours(text), ScriptError)


@pytest.mark.parametrize(
    "text",
    [
        "if (a) then b; fi",
        "if [[ a ]] then b; else (c) fi",
        "while (( 1 )) do b; done",
        "{ (a) }",
        "case x in a) if b; then c; fi esac",
        "for i in 1; do { a; } done",
        "(a) b",
        "if [ a ] then b; fi",
        "if (a) > f then b; fi",
    ],
)
def test_a_word_that_ends_a_list_needs_nothing_before_it_behind_a_compound_command(text: str) -> None:
    assert isinstance(ours(text), ScriptError) != bash_takes(text)
    if bash_takes(text):
        assert ours(text) == theirs(text)
