"""Lines as launchers and configurations have them, each a script by itself: the walk gives commands the
words, the exported variables and the input that bash, run for real, gives them."""

from pathlib import Path

import pytest
from test_walk_bash import run, walk

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known

_LINES = Path(__file__).with_name("fragments.txt").read_text().splitlines()
_MORE = (
    "X=$(cat <<E\none\ntwo\nE\n); srun \"$X\"; srun $X",
    "srun a\\ b c\\;d \"e\nf\" g\\\nh",
    "srun reads <<-EOF\n\ttabbed\n\t  more $((1+1))\n\tEOF\nsrun a#b # comment\nsrun 'c#d' \"e#f\"",
    "while IFS=, read -r a b; do R+=\"$b$a \"; done <<EOF\n1,2\n3,4\nEOF\nsrun $R",
    "g() { srun in \"$A\"; }; A=1 g; export A=0; A=2 g; A=3 eval 'g; srun x'; srun \"$A\"",
)  # fmt: skip


@pytest.mark.parametrize("script", [*_LINES, *_MORE])
def test_words_are_those_of_bash(script: str) -> None:
    found = walk(script, {})
    assert found == run(script, {})
    assert found


def test_a_sourced_file_has_the_arguments_and_variables_that_it_is_given() -> None:
    config = Source("c.sh", "V=$1$2\nsrun in $A\n")
    script = Source("run.sub", "set -- p q; A=1 . ./c.sh one two; srun $V $#; . ./c.sh; srun $V\n")
    found = read([config, script], {}, script="run.sub").commands
    commands = [each for each in found if each.program == "srun" and each.place.file == "run.sub"]
    assert [[known(word) for word in each.words[1:]] for each in commands] == [["onetwo", "2"], ["pq"]]
    inside = [each for each in found if each.program == "srun" and each.place.file == "c.sh"]
    assert dict(inside[0].environment)["A"] == ("1",)


# Nobody knows them before the script runs, or they are others in another release of bash.
_UNKNOWN = (
    'set -- -vn4 x; while getopts ":n:v" o; do srun_it; done; shift $((OPTIND-1)); srun "$@"',
    "X=$(ls x 2>&1 >/dev/null); srun \"$X\"",
    'X=abc; Y=${X//?/<&>}; srun "$Y"',
    'if [ -e x ]; then L=(a b); else L=(c d); fi; srun "${L[1]}"',
    'for x in a b; do [ -e $x ] && continue; L+=($x); done; srun "${L[@]}"',
)  # fmt: skip


@pytest.mark.parametrize("script", _UNKNOWN)
def test_what_nobody_knows_is_not_known(script: str) -> None:
    (command,) = [each for each in read([Source("run.sub", script)], {}).commands if each.program == "srun"]
    assert None in map(known, command.words[1:])
