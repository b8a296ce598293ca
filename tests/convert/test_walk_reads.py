"""What read and mapfile take of a text, declare makes of values, and aliases stand for: the walk gives
commands the words that bash, run for real, gives them, or does not know them."""

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known, shown

_KNOWN = (
    '{ read a; read b; } <<EOF\n1\n2\nEOF\nsrun "$a" "$b"',
    '{ read -r a; mapfile -t L; } <<EOF\n1\n2\n3\nEOF\nsrun "$a" "${L[@]}"',
    'while read -r l; do L+=("$l"); done <<< $\'a\\nb c\'; srun "${L[@]}"',
    'while IFS=\'=\' read -r k v; do export "$k=$v"; done <<EOF\nA=1\nB=x y\nEOF\nsrun "$A" "$B"',
    'while IFS=\'=\' read -r k v; do eval "$k=\'$v\'"; done <<EOF\nA=1\nB=x y\nEOF\nsrun "$A" "$B"',
    'while read x || [ -n "$x" ]; do Y+=$x; done < <(printf \'a\\nb\'); srun "$Y"',
    'read a b <<< "1 2 3"; srun "$a" "$b"; read -r a b < <(echo 1 2); srun $a $b',
    'IFS=: read -r a b c <<< "x:y:z"; srun "$a" "$b" "$c"; IFS=: read x <<< "a:"; srun "$x"',
    'IFS=: read x y <<< "a:b:"; srun "$x" "$y"; IFS=: read x y <<< "a:b:c:"; srun "$x" "$y"',
    'IFS=" ," read x y z <<< " a , b  c,d "; srun "$x" "$y" "$z"; read x y <<< ""; srun "$x" "$y"',
    "read -d '' X <<EOF\na\n b\nEOF\nsrun \"$X\"",
    'read -r A <<EOF && srun ok "$A"\nx\nEOF\nread -r A < <(printf y) && srun no; srun "$A"',
    "mapfile -t L <<< $'a\\nb'; srun \"${L[@]}\"; readarray -t -s 1 M <<< $'a\\nb\\nc'; srun \"${M[@]}\"",
    "mapfile -tn 1 M <<< $'a\\nb\\nc'; srun \"${M[@]}\"; mapfile -d, -t N <<< a,b; srun ${#N[@]} ${N[0]}",
    "printf -v x '%03d' 7; srun $x $(printf '%02d:%02d' 1 10) \"$(printf '%5s|%-4s|%4d|%-3d.' a b -3 5)\"",
    "for i in 8 9 10; do L+=$(printf 'n%02d,' $i); done; srun $L $(printf '%%%s%d' a 0)",
    "declare -i n=3+4; srun $n; declare -u U=abc; srun $U; declare -l W=ABC; srun $W; U=de; srun $U",
    "f() { local -i n=2*3; srun $n; }; f; n=1+1; srun $n",
    "alias s='srun aliased'; shopt -s expand_aliases\ns x",
    "if true; then shopt -s expand_aliases; alias q='srun q'\nq\nfi 2>/dev/null\nq",
)


@pytest.mark.parametrize("script", _KNOWN)
def test_words_are_those_of_bash(script: str) -> None:
    assert walk(script, {}) == run(script, {})


# A variable of each is another one than what the text before it tells.
_UNKNOWN = (
    'while read -r k v; do srun "$k" "$v"; done <<EOF\nA 1\nB 2\nEOF',
    'for i in 1 2; do read x; srun "$x"; done <<EOF\np\nq\nEOF',
    'read -n 1 x <<< abc; srun "$x"',
    'read -u 3 y 3<<< zz <<< q; srun "$y"',
    "declare -i n=1; n+=2; srun $n",
    "srun $(printf %d 010) $(printf %02d 08 2>/dev/null)",
    "mapfile -t -O 1 L <<< x; srun \"${L[@]}\"",
)  # fmt: skip


@pytest.mark.parametrize("script", _UNKNOWN)
def test_what_is_not_followed_is_not_known(script: str) -> None:
    assert run(script, {})
    for each in read([Source("run.sub", script)], {}).commands:
        if each.program == "srun":
            assert None in map(known, each.words[1:])


def test_what_is_read_from_the_terminal_is_shown_as_that() -> None:
    reading = read([Source("go.sh", "read -p 'ranks: ' N\nmpirun -np $N ./t\n")], {})
    assert [shown(word) for word in reading.commands[-1].words] == ["mpirun", "-np", "$(< /dev/stdin)", "./t"]


def test_a_process_is_gone_through_once_and_with_the_input_of_its_shell() -> None:
    text = 'one() { local o; o=$("$@" 2> err); echo $o; }\nread a b < <(one srun ./a 1)\nsrun ./b < in.txt\n'
    its = [each for each in read([Source("go.sh", text)], {}).commands if each.program == "srun"]
    assert [shown(each.words[1]) for each in its] == ["./a", "./b"]
    assert [each.reads and shown(each.reads) for each in its] == [None, "in.txt"]


def test_what_stands_beside_a_process_stays() -> None:
    text = "read a < <(srun ./a)\nread b < <(srun ./b) < <(srun ./c)\nsource <(srun ./d)\n"
    its = [each for each in read([Source("go.sh", text)], {}).commands if each.program == "srun"]
    assert {shown(each.words[1]) for each in its} == {"./a", "./b", "./c", "./d"}
