"""What a script would do where its text does not tell everything: no way is taken for certain that is not."""

import subprocess

import pytest

from hpclaunch.readback.shell import arithmetic
from hpclaunch.readback.shell.errors import ScriptError
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import IfSet, Names, Unknown, Value

CLOSED = 'for n in $(compgen -e); do case $n in PATH | HTTP*) ;; *) unset -v "$n" ;; esac; done\n'


def words_of(script: str) -> tuple[Value, ...]:
    """The words after `show` in its one call."""
    (call,) = [call for call in evaluate(script, {"show"}).calls if call.words[0] == ("show",)]
    return call.words[1:]


def either(name: str) -> Value:
    return (Unknown("either", name),)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x=1; if test -e /f; then x=2; fi; show $x", Unknown("either", "x", splits=True)),
        ('x=1; if test -e /f; then x=2; fi; show "$x"', Unknown("either", "x")),
        ('if test -e /f; then x=2; else x=2; fi; show "$x"', "2"),
        ('x=1; if test -e /f; then exit 1; x=2; fi; show "$x"', "1"),
        ('x=1; ls || x=2; show "$x"', Unknown("either", "x")),
        ('x=1; (x=2); x=$x; show "$x"', "1"),
        ('x=1; x=2 | cat; show "$x"', "1"),
        ('x=1; while read -r y; do x=2; done; show "$x"', Unknown("either", "x")),
        ('x=1; case $1 in a) x=2 ;; *) x=2 ;; esac; show "$x"', "2"),
        ('x=1; case $1 in a) x=2 ;; b) x=2 ;; esac; show "$x"', Unknown("either", "x")),
        ('f() { x=1; }; ls && f() { x=2; }; f; show "$x"', Unknown("variable", "x")),
        ('exec show "$1"; show again', Unknown("argument", "1")),
        ('command "$1"; show 1', "1"),
        ('show "$HTTP_PROXY"', Unknown("variable", "HTTP_PROXY")),
        (CLOSED + 'show "$HTTP_PROXY"', Unknown("variable", "HTTP_PROXY")),
        (CLOSED + 'show "$1"', Unknown("argument", "1")),
        ('show "$(date)"', Unknown("output", "$(date)")),
        ('show "$(<file)"', Unknown("input", "file")),
        ('read -r x <"$1"; show "$x"', Unknown("input", "${1}")),
        ("show *.txt", Unknown("files", "*.txt", splits=True)),
        ('x=*.txt; show "$x"', "*.txt"),
        (CLOSED + "show ${OTHER-~}", Unknown("home", "~")),
        ('x=$1; case $x in A=*) show "$x" ;; esac', Unknown("argument", "1", like=("A=*",))),
    ],
)
def test_what_depends_on_something_unknown_is_unknown(script: str, expected: object) -> None:
    assert words_of(script) == ((expected,),)


def test_what_may_be_no_word_at_all() -> None:
    word = ("N=", Unknown("variable", "HTTP_N"))
    assert words_of(CLOSED + 'show ${HTTP_N+"N=$HTTP_N"}') == ((IfSet("HTTP_N", word),),)
    assert words_of(CLOSED + 'show ${OTHER+"N=$OTHER"}') == ()
    assert words_of(CLOSED + 'HTTP_N=1; show ${HTTP_N+"N=$HTTP_N"}') == (("N=1",),)


def test_calls_say_on_what_they_depend() -> None:
    calls = evaluate("a\nif b; then c; fi\nd && e\nwhile f; do g; done\nh", ()).calls
    assert [(call.words[0][0], len(call.conditions)) for call in calls] == [
        *(("a", 0), ("b", 0), ("c", 1), ("d", 0), ("e", 1), ("f", 1), ("g", 1), ("h", 0))
    ]


def test_a_way_that_is_sure_not_to_be_gone_is_not_walked() -> None:
    script = "n=2\nif ((n > 3)); then a; elif [[ $n == 2 ]]; then b; else c; fi\nfalse && d\nexit\ne"
    assert [call.words for call in evaluate(script, ()).calls] == [(("b",),)]


def test_what_the_script_exports_is_told_and_what_comes_from_outside() -> None:
    script = (
        "export EARLY=1\n" + CLOSED + "export A=1 B=2; export -n B; C=3; D=4 show x; HTTP_PROXY=p; show y"
    )
    first, second = evaluate(script, {"show"}).calls
    assert dict(first.environment) == {"A": ("1",), "D": ("4",)}
    assert dict(second.environment) == {"A": ("1",), "HTTP_PROXY": ("p",)}
    assert first.outside.closed
    assert first.outside.may_have("HTTP_PROXY")
    assert not first.outside.may_have("EARLY")
    assert not evaluate("show", {"show"}).calls[0].outside.closed


@pytest.mark.parametrize(
    "script",
    [
        'eval "$1"',
        ". ./other.sh",
        "trap 'x=1' EXIT",
        'unset "$1"',
        'declare -n y="$1"',
        'declare "$1"',
        "f() { :; }; ls && f() { a; }; f",
        "coproc cat",
        "echo " + "${a:-" * 50 + "}" * 50,
        """x="${1-'$y'}\"""",
    ],
)
def test_what_is_not_followed_is_noted_with_its_line(script: str) -> None:
    notes = evaluate("\n\n" + script, ()).notes
    assert [note.line for note in notes][:1] == [3]


@pytest.mark.parametrize(
    "script", ["[[ a b c d ]]", "a=(x | y)", "echo ${=}", "if a; then b", "f() { a", "a )"]
)
def test_what_bash_refuses_is_an_error_with_its_line(script: str) -> None:
    with pytest.raises(ScriptError) as error:
        evaluate("\n\n" + script, ())
    assert error.value.line == 3


def test_the_line_of_a_command_is_where_it_is_written() -> None:
    script = "a \\\n  b\nx=$(\n  c\n)\nf() {\n  d\n}\nf <<E\n\n$(e)\nE\neval '\ng'\nh"
    lines = {call.words[0][0]: call.line for call in evaluate(script, ()).calls}
    assert lines == {"a": 1, "c": 4, "d": 7, "e": 11, "g": 14, "h": 15}


def test_an_eval_of_ever_new_text_is_refused() -> None:
    script = 'for i in {1..500}; do eval "x=$i"; done'
    with pytest.raises(ScriptError, match="too much to work out"):
        evaluate(script, ())
    assert evaluate("for i in {1..500}; do eval 'x=1'; done; a", ()).calls[0].line == 1


def test_names_stand_for_all_variables_of_the_shell_around() -> None:
    assert words_of('for n in $(compgen -e); do show "$n"; done') == ((Names(),),)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('a "$(b)" c', True),  # one word, whatever it is
        ('a "$B" c', True),
        ('a "${list[@]}" c', False),  # of an array that something else filled
        ("a $(b) c", False),
    ],
)
def test_arguments_are_cut_where_their_number_is_known(given: str, told: bool) -> None:
    cut = evaluate(f'read -r -a list\nf() {{ show "${{@:3}}"; }}\nf {given}\n', ())
    (call,) = (call for call in cut.calls if call.words[0] == ("show",))
    assert (call.words[1:] == (("c",),)) is told


@pytest.mark.parametrize(
    "number",
    [
        *("0x", "0X1F", "0xFFFFFFFFFFFFFFFFF", "010", "00", "99999999999999999999", "2#101", "10#08", "36#Z"),
        *("37#a", "64#a", "64#Z", "64#@", "64#_"),
        *("08", "0p", "1a", "1_0", "0xg", "2#2", "37#Z", "36#@", "10#0p"),
        *("0#1", "09#1", "65#1", "64#", "1##2"),
    ],
)
def test_a_number_is_what_bash_takes_it_for(number: str) -> None:
    told = subprocess.run(["bash", "-c", f"echo $(({number}))"], capture_output=True, text=True, timeout=60)
    assert arithmetic.evaluate(number, str) == (int(told.stdout) if told.stdout else None)
    assert arithmetic.is_wrong(number, str) == bool(told.stderr)
