"""Values that a script computes with programs and tests: the walk gives commands the words that bash, run for
real, gives them."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from script_cases import loaded
from test_walk_bash import run, walk

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.shell.expr import expr

_EXPR = (
    r"match run12 'run\([0-9]*\)'",
    r"run12 : '[a-z]*'",
    r"'a.b.c' : '.*\.\(.*\)'",
    r"aab : 'a*\(a\)b'",
    r"abc : '\([a-b]*\)c$'",
    r"abc : b",
    r"abc : 'b\(c\)'",
    r"xx : 'x\{1,2\}'",
    r"xxx : 'x\{1\}'",
    r"a+b : 'a\+b'",
    r"'*a' : '*\(a\)'",
    r"'a]b' : 'a[]x]b'",
    "length abcd",
    "substr abcdef 2 3",
    "substr abcdef 0 3",
    "index abcdef dc",
    "index abcdef x",
    "$A + 1",
    '"$A" \\* 2 - 3',
    "7 / -2",
    "7 % -2",
    "1 / 0",
    "a + 1",
    "$EMPTY + 1",
    "\\( 1 + 2 \\) \\* 3",
    "3 \\> 2 \\& 0",
    "0 \\| '' \\| -0",
    "abc = abc",
    "10 \\< 9",
    "+ length",
    "length",
    "2 +",
)
_TESTS = (
    "[ $EMPTY -gt 0 ]",
    "[ $GONE -lt 4 ]",
    "test $EMPTY -eq 1",
    '[ "$EMPTY" -eq 0 ]',
    "[[ $EMPTY -eq 0 ]]",
    "[ $EMPTY -gt $EMPTY ]",
    "[ $EMPTY = a ]",
    "[ ! $EMPTY ]",
    "[ $A -gt ]",
    "[ $A -gt 3 ]",
    "(( $EMPTY > 0 ))",
    "(( 0 < $EMPTY ))",
    "(( 3 > $EMPTY && 1 ))",
    "(( $EMPTY + 1 ))",
    "(( EMPTY == 0 ))",
    "(( $EMPTY ))",
    "! (( $EMPTY > 0 ))",
    "expr $A : '[0-9]*$' > /dev/null",
    "expr abc : b > /dev/null",
    "expr 1 / 0 > /dev/null",
)


def test_what_expr_and_tests_say_is_what_bash_has() -> None:
    lines = ["A=4; EMPTY=; GONE=1; unset GONE"]
    lines += [f'V=$(expr {words})\nsrun {number} "$V"' for number, words in enumerate(_EXPR)]
    lines += [f"if {test}; then srun {test!r} yes; else srun {test!r} no; fi" for test in _TESTS]
    script = "\n".join(lines)
    found = walk(script, {})
    assert len(found) == len(_EXPR) + len(_TESTS)
    assert found == run(script, {})


_COUNTED = """
i=0; j=3; k=5; T=; n=2
((i++)); ((j+=2*i)); ((k--)); let m=3
while ((i++ < 4)); do T="$T $i"; done
srun $i $j $k "$T"
until ((--n < 0)); do T="$T,$n"; done; srun "$T" $n
if ((--k > 3)); then srun yes; else srun no; fi
((k = j * 2 + 1)); ((k %= 4)); srun $k
((i++ == 5)) && srun "$i" five; ((i++ == 5)) || srun "$i" not five
srun "$(seq -s ' ' 0 5)" "$(seq -s, 3)" "$(seq --separator=: 2 2 9)" "$(seq -s - -w 8 10)" "$(seq -s , 3 1)"
srun $(echo 4,5,7 | tr , '\\n' | wc -l) $(printf 'a b\\nc' | wc -w) $(printf 'a\\nb' | wc --lines)
srun $(echo $T | wc -l)
"""


def test_what_is_counted_is_what_bash_counts() -> None:
    assert walk(_COUNTED, {}) == run(_COUNTED, {})


_ARITHMETIC = """
i=0; ((i++, j=i*2)); srun $i $j
i=3; srun $((i++)) $i $((++i)) $i $((i--)) $i
(( i += 2, i *= 3 )); srun $i; (( i <<= 1 )); srun $i; ((i%=7)); srun $i
x=0; (( x && (y=1) )) || srun "n${y-unset}"; (( 1 || (z=1) )); srun "${z-unset}"
a=5; srun $(( a > 3 ? (b=1) : (c=2) )) $b "${c-unset}"
srun $((2#101)) $((16#ff)) $((0x1F)) $((010)) $((36#z)) $((5--1)) $((5 - -1)) $((- -5))
x=y; y=7; srun $((x)) $((x+1)) $((x*=2)) $x
L=(1 2 3); ((L[1]++)); srun ${L[@]}; ((L[5]=9)); srun ${L[@]} ${#L[@]}; ((M[2]=5)); srun ${#M[@]}
declare -A C; for k in a b a; do ((C[$k]++)); done; srun ${C[a]} ${C[b]} $((C[a]*2))
i=0; L=(); L[i++]=a; L[i++]=b; srun ${L[@]} $i; L=(a b c); srun ${L[i--]} $i; unset 'L[i]'; srun ${L[@]}
let "a = 3" b=a+1 c=b*2; srun $a $b $c; i=5; ((i--)) && srun $i; i=0; ((i++)) || srun z$i
i=0; L=(); while ((++i)); do ((i>3)) && break; L+=($i); done; srun ${L[@]} $i
srun $((-7 / 2)) $((7 % -3)) $((2**3**2)) $((-2**2)) $((1,2,3)) $((5&3^1)) $((9223372036854775807 + 1))
srun $(( i = 5, i + 1 )) $i; ((i = 1 + (j = 2))); srun $i $j; x=$((i+++i)); srun $x $i; x=$((i+ ++i)); srun $x
s=abcdef; n=2; srun ${s:n:2} ${s:n+1:n} ${s: -2} ${s:(-3):2} ${s:0:-1}; ((n += 1 == 1)); srun $n
"""


def test_what_arithmetic_changes_is_what_bash_changes() -> None:
    found = walk(_ARITHMETIC, {})
    assert found == run(_ARITHMETIC, {})
    assert len(found) == 28


_WORD = st.sampled_from(["a", "abc", "12", "0", "", "+", "-", "*", "(", ")", ":", "|", "&", "<", "="]) | (
    st.sampled_from(["substr", "index", "length", "match", r"\(a*\)", "a.*c$", "[^b]*b", "-1", "00"])
)
_PATTERN = st.lists(
    st.sampled_from(["a", "b", ".", "*", r"\+", r"\?", "[ab]", "[^a]", "[a-c]*", r"\(", r"\)", "$", "^"])
    | st.sampled_from([r"\{2\}", r"\{1,\}", r"\{0,2\}", "1", "-", "]", "[:digit:]"]),
    max_size=7,
).map("".join)
_MATCH = st.tuples(st.text("abc1-*]", max_size=6), st.just(":"), _PATTERN).map(list)


@settings(max_examples=150, deadline=None)
@given(st.lists(_WORD, max_size=6) | _MATCH)
def test_whatever_expr_is_given_what_is_told_is_what_it_writes(words: list[str]) -> None:
    told = expr(tuple(words))
    if told is None:
        return
    done = subprocess.run(
        ["expr", *words], capture_output=True, text=True, env={"LC_ALL": "C"}, check=False, timeout=60
    )
    assert told == (done.stdout, done.returncode == 0)


def test_no_pattern_takes_long() -> None:
    assert expr(("a" * 100, ":", "a*" * 60 + "b")) == ("0\n", False)
    assert expr(("a" * 100, ":", r"a\{0,50\}" * 9 + "b")) is None


@pytest.mark.parametrize("condition", ["[ $X -gt 0 ]", "test $X -eq 1", "(( $X > 0 ))", "[[ $X -gt 0 ]]"])
def test_a_value_that_a_test_decides_is_asked_for_with_the_test(condition: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\nif {condition}; then F=a; else F=b; fi\nsrun --mpi=none ./t $F\n"
    job = convert(classified({"run.sub": text}), Options({})).job
    assert f"it depends on `{condition}` (run.sub:3), and nothing gives X: --env X=VALUE" in job
    for value, flag in (("1", "a"), ("0", "b")):
        answered = convert(classified({"run.sub": text}), Options({"X": value})).job
        assert f'command: ["./t", {flag}]' in answered


@pytest.mark.parametrize(
    ("output", "named"),
    [
        ("$(if [ -f /x ]\nthen echo a\nelse echo b; fi)", "$(if [ -f /x ] ...) in run.sub:3-5"),
        ("$(for x in a b; do ls $x; done)", "$(for x in a b ...) in run.sub:3"),
        ("$(while read -r l; do echo $l; done < f | sort)", "$(while read -r l ...) in run.sub:3"),
        ("$(case $(hostname) in a*) ls;; esac)", "$(case $(hostname) ...) in run.sub:3"),
        ("$(ls /x | sort)", "$(ls /x | sort)"),
    ],
)
def test_a_question_names_what_writes_a_value_with_its_lines(output: str, named: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\nIMG={output}\nsrun --mpi=none --container-image=$IMG ./t\n"
    found = convert(classified({"some/run.sub": text}), Options({}))
    (question,) = [each for each in found.findings if each.key == "image"]
    assert question.why == f"the image, which {named} gives: a reference or a .sqsh file"


@pytest.mark.parametrize(
    "count",
    [
        "scontrol show hostnames $SLURM_JOB_NODELIST | wc -l",
        'scontrol show hostname "${SLURM_NODELIST}" | wc --lines',
        "scontrol show hostnames|wc -l",
        "scontrol show hostnames | wc -w",
    ],
)
def test_the_hosts_of_the_job_are_as_many_as_its_nodes(count: str) -> None:
    lines = f"N=$({count})\nexport W=$((N * 2))\nif [ $N -gt 1 ]; then M=many; fi\n"
    text = f"#!/bin/bash\n#SBATCH -N 4 --gpus-per-node=8 -t 60\n{lines}srun --mpi=none ./t $M `{count}`\n"
    job = convert(classified({"run.sub": text}), Options({})).job
    assert 'command: ["./t", many, "4"]' in job
    assert 'W: "8"' in job


@pytest.mark.parametrize(
    ("array", "told"),
    [
        ("H=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )", "4"),
        ('A=$(scontrol show hostnames "$SLURM_NODELIST")\nH=($A)', "4"),
        ("mapfile -t H < <(scontrol show hostnames)", "4"),
        ("H=($(scontrol show hostnames $OTHER))", None),
        ('H=("$(scontrol show hostnames)")', None),
        ("H=($(scontrol show hostnames))\nH+=(login)", None),
        ("H=($(scontrol show hostnames | head -n 2))", None),
    ],
)
def test_an_array_of_the_hosts_of_the_job_has_as_many_elements_as_it_has_nodes(
    array: str, told: str | None
) -> None:
    text = f"#SBATCH -N 4 --gpus-per-node=8 -t 60\n{array}\nN=${{#H[@]}}\nsrun --mpi=none ./t $N\n"
    found = convert(classified({"run.sub": text}), Options({}))
    if told is not None:
        assert 'command: ["./t", "4"]' in found.job
    else:
        asked = [each.key for each in found.findings if each.kind == "question"]
        assert asked == ["env.N"]


@pytest.mark.parametrize(
    "count",
    [
        "scontrol show hostnames $OTHER | wc -l",
        "scontrol show hostnames $SLURM_JOB_NODELIST | wc -c",
        "scontrol show hostnames $SLURM_JOB_NODELIST | head -1 | wc -l",
    ],
)
def test_how_many_other_lines_there_are_is_not_told(count: str) -> None:
    text = f"#SBATCH -N 4 --gpus-per-node=8 -t 60\nexport N=$({count})\nsrun --mpi=none ./t $N\n"
    assert '"4"' not in convert(classified({"run.sub": text}), Options({})).job


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("4*8", "32"),
        ("7/2", "3"),
        ("-7/2", "-3"),
        ("08+1", "9"),
        ("2-3*(4-1)", "-7"),
        ("1 - -3", "4"),
        *((line, None) for line in ("+3", "2**3", "scale=1; 3/2", "1/0", "99999999999*9", "", "2^3")),
    ],
)
def test_what_bc_makes_of_whole_numbers_is_known(line: str, number: str | None) -> None:
    """The numbers are those of GNU bc 1.07, which takes no sign + in front."""
    text = f'#SBATCH -N 1 --gpus-per-node=8 -t 60\nN=$(echo "{line}" | bc)\nsrun --mpi=none ./t $N\n'
    found = convert(classified({"run.sub": text}), Options({}))
    if number is not None:
        assert f'command: ["./t", "{number}"]' in found.job
    else:
        assert "<ask: " in found.job


@pytest.mark.parametrize("end", ["x \\", "x\\", "x \\\\", "x \\\n", "x", "x \\\\\\"])
def test_a_script_ends_with_the_words_that_bash_reads_there(end: str, tmp_path: Path) -> None:
    stub = tmp_path / "srun"
    stub.write_text('#!/bin/sh\nshift\nprintf "%s\\n" "$@"\n')
    stub.chmod(0o755)
    text = f"#!/bin/bash\n#SBATCH -N 1\nsrun --mpi=none ./t {end}"
    script = tmp_path / "run.sub"
    script.write_text(text)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    ran = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=True)
    assert loaded(convert(classified({"run.sub": text}), Options({})).job)["command"] == ran.stdout.split()


@pytest.mark.parametrize(
    "lines",
    [
        'OWN=`eval echo "~$USER"`\nsrun ./show $OWN/data',
        "eval OWN=~$LOGNAME\nsrun ./show $OWN/data",
        'eval "OWN=/opt:~$USER/bin"\nsrun ./show $OWN',
        "srun ./show ~$USER/data",
        "srun bash -c './show ~$USER/data'",
        'srun bash -c "./show ~$USER/data"',
    ],
)
def test_a_home_folder_is_of_a_name_where_a_shell_reads_the_name_anew(lines: str, tmp_path: Path) -> None:
    own = pwd.getpwuid(os.getuid())
    names = {"USER": own.pw_name, "LOGNAME": own.pw_name, "HOME": own.pw_dir}
    (tmp_path / "show").write_text('#!/bin/sh\necho "$1"\n')
    (tmp_path / "show").chmod(0o700)

    def said(*words: str) -> str:
        environment = {**names, "PATH": os.environ["PATH"]}
        return subprocess.check_output(words, env=environment, cwd=tmp_path, text=True)

    text = f"#!/bin/bash\n#SBATCH -N1 -n1 --gres=gpu:1 -t 5\n{lines}\n"
    command = loaded(convert(classified({"run.sub": text}), Options({})).job)["command"]
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    assert said(*words) == said("bash", "-c", f'srun() {{ "$@"; }}\n{lines}')
