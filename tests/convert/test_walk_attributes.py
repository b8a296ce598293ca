"""Variables that stand for others (declare -n), and that are read-only: the walk gives commands the words
that bash, run for real, gives them, leaves out what bash leaves out, or does not know a word."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_REFERENCES = (
    'f() { local -n out=$1; out="made $2"; }; f RES hello; srun "$RES"',
    'add() { declare -n __a=$1; shift; __a+=("$@"); }\nL=(); add L --lr 1; add L "b c"; srun "${L[@]}"',
    'f() { local -n m=$1; m[key]=v; srun "${!m[@]}" ${#m[@]}; }; declare -A M=([a]=1); f M; srun ${M[key]}',
    "swap() { local -n a=$1 b=$2; local t=$a; a=$b; b=$t; }; X=1 Y=2; swap X Y; srun $X $Y",
    'join() { local -n _o=$1; local IFS=$2; shift 2; _o="$*"; }; join S , a b c; srun $S',
    'f() { local -n r=$1; unset r; }; X=5; f X; srun "${X-gone}"',
    'f() { local -n r=$1; : "${r:=default}"; }; X2=given; f X; f X2; srun $X $X2',
    "f() { local -n v=X; local X=in; v=changed; srun $X; }; X=out; f; srun $X",
    'f() { local -n L=L; L+=(x); srun in "${L[@]}"; }; L=(a); f; srun "${L[@]}"',
    'f() { local -n o=$1; IFS=, read -r -a o <<< "v,w"; }; f X; srun "${X[@]}"',
    'f() { local -n o=$1; mapfile -t o < <(printf "%s\\n" a b); }; f X; srun "${X[@]}" ${#X[@]}',
    "for n in a b; do declare -n ref=V_$n; ref=val_$n; done; srun $V_a $V_b",
    "X=a; Y=b; declare -n r; for r in X Y; do r=z$r; done; srun $X $Y",
    "declare -n r1=r2; declare -n r2=END; r1=9; srun $END ${!r1}",
    "declare -n h=H; h=(1 2 3); srun ${#H[@]} ${!h} ${!h[@]} ${h[1]} ${h@Q}",
    'declare -n r=X; X=1; unset -n r; r=3; srun $r $X; declare -n w; srun "${w-unset}"; w=Z; w=4; srun $Z',
    "V=NAME; declare -n V; V=7; srun $NAME; declare +n V; srun $V",
    "export A=1; declare -n r=A; r=2; srun x; unset r; A=3; srun y; unset A; A=4; srun z",
    "declare -n r=X; X=5; (( r++ )); srun $X $((r+1)); printf -v r %03d 7; srun $X; read r <<< p; srun $X",
    "X=1; declare -n r=X; ( r=2; srun $X ); Y=$(r=4; echo $X); srun $Y $X; f() { local r=5; }; f; srun $X",
    "declare -i I; declare -n r=I; r=2+3; srun $I; bash -c 'r=1; srun ${I-none}$r'",
)
_READ_ONLY = (
    "readonly X=1\nX=2; srun no\nsrun $X",
    "readonly X=1\nif true; then X=2; srun no; fi\nsrun $X; f() { X=2; srun no; }\nf || srun no\nsrun yes",
    "readonly X=1\nexport X=2 || srun failed; declare X=3 Y=4; srun $X $Y; readonly X=5 Z=6; srun $X $Z",
    "readonly X=1\nf() { local X=2 Z=5; srun $X $Z; }; f; ( X=2; srun no ) || srun yes",
    'readonly X=1; X=2 srun $X; Y=$(X=2; echo no); srun "$Y" $X; { X=2; srun no; } 2>/dev/null\nsrun $X',
    'readonly X=; : ${X:=3}; srun no\nsrun "$X"; case ${X:=3} in *) srun no; esac\nsrun yes',
    "readonly L=(a b); L+=(c)\nL[0]=d\nsrun ${L[@]}; unset L || srun failed; srun ${L[@]}",
    "readonly X=1\neval 'X=2; srun no\nsrun next'; srun $X; read X <<< 4 || srun failed; let X=2 || srun l",
    "declare -r X=1; declare -ir Y=2+1; declare -rx A=5; Y=3\nA=6; srun no\nsrun $X $Y",
    "f() { local -r V=1; V=2; srun no; }; f\nf\nV=3; srun $V; g() { readonly G=1; }; g; G=2\nsrun $G",
    "readonly X=1; for X in 2 3; do srun no; done || srun failed; srun $X; ((X++)) || srun failed; srun $X",
    "readonly X=1; declare -n r=X; r=2\nsrun $X; bash -c 'X=3; srun $X'; printf -v X 5; srun $X",
    "( readonly X=1; X=2; srun no ) || srun failed; X=3; srun $X",
)


@pytest.mark.parametrize("script", [*_REFERENCES, *_READ_ONLY])
def test_words_are_those_of_bash(script: str) -> None:
    found = walk(script, {})
    assert found == run(script, {})
    assert found


def test_a_line_that_is_given_up_in_a_sourced_file_is_all_of_it_that_is() -> None:
    config = Source("config.sh", "Y=1\nX=2; Y=3\nY=2\n")
    script = Source("run.sub", "readonly X=1\n. ./config.sh; srun $X $Y\n")
    (command,) = [each for each in read([config, script], {}).commands if each.program == "srun"]
    assert [known(word) for word in command.words[1:]] == ["1", "2"]


def test_what_one_file_makes_read_only_another_process_may_change() -> None:
    config, script = Source("config.sh", "readonly X=1\n"), Source("run.sub", "X=2; srun $X\n")
    (command,) = [each for each in read([config, script], {}).commands if each.program == "srun"]
    assert [known(word) for word in command.words[1:]] == ["2"]


# Which variable is changed, or whether one is, nobody knows.
_UNKNOWN = (
    ('declare -n r=$WHO; r=5; srun "$X$CONF"', {"X": "1"}),
    ('declare -n r=X_$WHO; r=5; srun "$X_1"', {"X_1": "1"}),
    ("declare -n r=L[1]; L=(a b c); r=x; srun ${L[@]}", {}),
    ('if [ -e x ]; then declare -n r=X; else declare -n r=Y; fi; X=1 Y=2; r=3; srun "$X"', {}),
    ('if [ -e x ]; then readonly X=1; fi; X=2; srun "$X"', {}),
    ('h() { local X=in; g X; srun "$X"; }; g() { local -n X=$1; X=5; }; X=1; h', {}),
)


@pytest.mark.parametrize(("script", "given"), _UNKNOWN)
def test_what_may_be_changed_is_not_known(script: str, given: dict[str, str]) -> None:
    commands = [each for each in read([Source("run.sub", script)], given).commands if each.program == "srun"]
    assert commands
    assert all(None in map(known, each.words[1:]) for each in commands)


def test_only_those_that_a_part_of_a_name_allows_are_not_known() -> None:
    script = "X_1=1; Y=2; declare -n r=X_$WHO; r=5; srun $Y"
    (command,) = [each for each in read([Source("run.sub", script)], {}).commands if each.program == "srun"]
    assert [known(word) for word in command.words[1:]] == ["2"]
