"""Words as the reader has them, held against bash itself: both are given the same script."""

import subprocess

from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpclaunch.readback.shell import outside
from hpclaunch.readback.shell.evaluate import evaluate
from hpclaunch.readback.shell.values import known

# What `show` is given, each word ended by a zero byte; a line of its own for each call.
SHOW = 'show() { printf "%s\\0" "$#" "$@"; }\n'
CLOSED = """for name in $(compgen -e); do
  case $name in PATH) ;; *) unset -v "$name" ;; esac
done
HOME=/home/ada
"""


def of_bash(script: str) -> list[str]:
    """What bash gives to each `show` of the script: how many words, and these."""
    done = subprocess.run(
        ["bash", "--norc", "-c", SHOW + "set -f\n" + CLOSED + script],
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "v": "of the shell around"},
        timeout=20,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def of_reader(script: str) -> list[str]:
    """The same of the reader. Everything in these scripts is told by their text."""
    reading = evaluate(CLOSED + script, ())
    assert reading.notes == ()
    found = []
    for call in reading.calls:
        assert call.words[0] == ("show",)
        assert call.conditions == ()
        texts = [_text(word) for word in call.words[1:]]
        found += [str(len(texts)), *texts]
    return found


def _text(word: tuple[object, ...]) -> str:
    if len(word) == 1 and getattr(word[0], "kind", "") == "files":
        return outside(word[0].name)  # type: ignore[attr-defined]
    text = known(word)  # type: ignore[arg-type]
    assert text is not None, word
    return outside(text)


# Text that a shell would take apart, and some that it would not. Without \x01 and \x7f, which bash itself
# changes where they stand as they are in the words of an array; as escapes they are below.
char = st.sampled_from("ab01 \t\n\r'\"\\$`#~!*?[]{}(),.:;&|<>=/-_%@^é✓\x1b")
nasty = st.text(char, max_size=12)


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    return '"' + "".join(f"\\{char}" if char in '$`"\\' else char for char in text) + '"'


def backslashed(text: str) -> str:
    return "".join("'\n'" if char == "\n" else f"\\{char}" for char in text)


def ansi(text: str) -> str:
    parts = []
    for byte in text.encode():
        parts.append(f"\\x{byte:02x}" if byte % 3 else f"\\{byte:03o}")
    return "$'" + "".join(parts) + "'"


# Escapes as people write them, whatever comes out.
escape = st.sampled_from(
    [
        *(f"\\{char}" for char in "abeEfnrtv\\'\"?"),
        "\\101",
        "\\7",
        "\\x41",
        "\\x4",
        "\\xe9z",
        "\\x01",
        "\\177",
        "\\cA",
        "\\q",
        "x",
        " ",
        "\n",
    ]
)
ansi_written = st.lists(escape, max_size=6).map(lambda parts: "$'" + "".join(parts) + "'")
double_written = st.lists(
    st.sampled_from(
        ["a", " ", "'", "\\a", "\\$", "\\\\", '\\"', "\\\n", "$ ", "#", "\n", "$v", "${v}", "$(show2 x)"]
    ),
    max_size=6,
).map(lambda parts: '"' + "".join(parts) + '"')

part = st.one_of(
    nasty.map(single),
    nasty.map(double),
    nasty.map(backslashed),
    nasty.map(ansi),
    ansi_written,
    double_written,
    st.sampled_from(["a", "b.c", "-x", "--y=", "@", "%", "a#b", "=", "\\\n", '""', "''"]),
)
word = st.lists(part, min_size=1, max_size=4).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(word, max_size=5))
@example(["#"])
@example(["a", "#b"])
def test_quotes_are_bashs(words: list[str]) -> None:
    script = "v='x  y'\nshow2() { printf '%s\\n' \"$1\"; }\nshow " + " ".join(words) + "\n"
    assert of_reader(script) == of_bash(script)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(word, st.sampled_from([" ", "\n", "  # it's a comment\n", "\t", " \\\n "])), max_size=5
    ),
    nasty,
)
def test_arrays_are_bashs(elements: list[tuple[str, str]], text: str) -> None:
    array = "".join(element + after for element, after in elements)
    script = f"""v=1; show2() {{ printf '%s\\n' "$1"; }}
a=(
{array}
)
b={single(text)}
a+=("$b" x)
show "${{a[@]}}"
show "${{a[@]/#/=}}" -- "${{#a[@]}}" "pre${{a[@]}}post"
IFS=,
show "${{a[*]}}"
"""
    assert of_reader(script) == of_bash(script)


value = st.sampled_from(
    ["", " ", "a", "a b", "  a  b ", "a:b::c", ":", " : a", "*.sh", "é", "a\\nb", "x=y", "\n", "aXbXc"]
)
operator = st.sampled_from(
    [
        *("", "-d e", ":-d e", "+s t", ":+s t", ":-", "+", "-", '+"s  $v t"', "-'q r'", "#a", "##*:", "%b"),
        *("%%:*", "/a/X Y", "//X/-", "/#/=", "/%/=", ":1", ":1:2", ":0:-1", ": -2", "^", "^^", ",", ",,"),
        *("#?", "%[bc]", "/\\*/s"),
    ]
)
reference = st.builds(
    lambda name, operation, quoted: f'"${{{name}{operation}}}"' if quoted else f"${{{name}{operation}}}",
    st.sampled_from(["v", "w", "unset_one", "a[1]", "a[@]", "1", "@"]),
    operator,
    st.booleans(),
)


@settings(max_examples=500, deadline=None)
@given(value, value, st.lists(reference, min_size=1, max_size=4), st.sampled_from([None, "", ":", "X"]))
@example("", "", ['"${a[@]+}"', '"${a[@]:+}"', '"${none[@]+}"', '"${none[@]:+t}"'], None)
def test_expansions_are_bashs(v: str, w: str, references: list[str], separators: str | None) -> None:
    set_separators = "" if separators is None else f"IFS={single(separators)}\n"
    script = f"""v={single(v)} w={single(w)}
a=({single(w)} {single(v)} 'z  z')
f() {{
  {set_separators}show {" ".join(references)}
  show x{"".join(references)}y
}}
f {single(v)} 2
"""
    try:
        expected = of_bash(script)
    except AssertionError:
        return  # bash refuses: a length below zero
    if any("\x01" in text for text in expected):
        return  # 5.2 shows its own marks for ${a[@]#a} with an empty IFS
    assert of_reader(script) == expected


@settings(max_examples=150, deadline=None)
@given(
    nasty,
    st.booleans(),
    st.booleans(),
    st.sampled_from(["-d ''", "-N 4", "-N 9999", "-N 0"]),
    st.sampled_from(["IFS=", ""]),
)
def test_here_documents_are_bashs(text: str, quoted: bool, tabs: bool, most: str, ifs: str) -> None:
    body = text if quoted else "".join(char for char in text if char not in "`$(")
    mark = "'EOF'" if quoted else "EOF"
    script = f"""v='x  y'
{ifs} read -r {most} doc <<{"-" if tabs else ""}{mark}
\t{body}
$v \\$v \\\\ "q"
EOF
show "$doc"
"""
    assert of_reader(script) == of_bash(script)


def test_the_forms_that_launchers_use() -> None:
    script = r"""
join() { local IFS=,; printf '%s' "$*"; }
first=(1 2 "3 4")
show "$(join "${first[@]}")" $(join "${first[@]}")
declare -A map=([k]=v ["a b"]=w)
show "${map[k]}" "${map["a b"]}"
sparse=([3]=x [1]=y z)
show "${sparse[@]}" "${sparse[2]}" "${#sparse[@]}"
show {a,b{1,2}}x {1..3} {03..1} {a..c} a{,b} '{a,b}' {x}
show $((2 * 3 + 1)) $((7 % 4)) "$((1 << 4))" $(( (1+2)*3 ))
n=3; show $((n * 2)) $((n > 2 ? 10 : 20))
for i in 1 2; do show "$i"; done
case a.sh in *.py) show py ;; *.sh | *.bash) show sh ;; esac
case b in a | b) show one ;& c) show two ;; *) show no ;; esac
if [[ $n == 3 && -n $n ]]; then show yes; else show no; fi
if [ "$n" -gt 3 ]; then show yes; elif [ "$n" = 3 ]; then show three; fi
[[ -z $unset_one ]] && show empty
[[ -n $unset_one ]] && show full
show2() { show "$#" "$1"; shift; show "$@"; }
show2 'a b' c
set -- p 'q r'; show "$@" "$#" "${2}" "${@:2}"
x=1; x+=2; show "$x"; y=~/z; show "$y" ~ "~"
printf -v z '%s-%s' a b; show "$z"
a=$'it\'s' ; show "${a//\'/X}"
f() { local x=in; show "$x"; g; }; g() { show "$x"; }; f; show "$x"
eval 'show "$x"'
read -r one <<<"some words"; show "$one"
( x=sub; show "$x" ); show "$x"
{ x=group; }; show "$x"
! false && show not
a=(=x "=" y=); show "${a[@]}"; show $HOME{x,y} {a,$x}y; g() { show "$@"; show x "$@" y; }; g
x=3; show $[x+1] "${y:-'q'}" "${unset_one:-"r s"}"; declare -A map=(); map[$x]=p; show "${#map[@]}"
IFS= read -r -d '' doc <<-E
	a \
		b
	c\\\
	d
	E
show "$doc"
both='x : y  z:w'; IFS=' :'; show $both; unset IFS
show a >/dev/null
"""
    expected = of_bash(script.replace(" >/dev/null", ""))
    assert of_reader(script) == expected
