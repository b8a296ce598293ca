"""Where a text takes too long to walk, lines of it are left out: what starts something behind them is seen
all the same, and what they may have set is not taken for known."""

import subprocess

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.convert.reading import ShellReading, Source
from hpclaunch.convert.shell import recorder, walk
from hpclaunch.readback.shell.values import known

BEFORE = """\
#!/bin/bash
set_a() { A=2; }
by_way() { set_a; }
A=1 B=1
srun() { echo "$A $B"; }
"""
LONG = '[[ -z "$B" ]] || true\n' * 1500
LAUNCH = "srun $A $B\n"
SETTERS = [
    *("A=2", "export A=2", "A+=2", "declare A=2", "unset A", "(( A = 2 ))", "let A=2", "printf -v A 2"),
    *("read A <<< 2", "mapfile A <<< 2", "for A in 2; do :; done", "eval A=2", "set_a", "by_way"),
    *("if true; then A=2; fi", "unset A; : ${A:=2}", "while [[ $A != 2 ]]; do A=2; done", "A[0]=2"),
    *(
        "set_a && true",
        "{ A=2; }",
        "case x in x) A=2;; esac",
        "! A=2",
        "x=$((A = 2))",
        "x=${A:=2}${A/1/}; A=2",
    ),
]


@pytest.fixture(autouse=True)
def _soon_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_MOST", 2000)
    monkeypatch.setattr(recorder, "_TO_GO_ON", 5000)


def read(text: str, *others: Source) -> ShellReading:
    return walk.read([Source("run.sub", text), *others], {}, "run.sub")


@pytest.mark.parametrize("setter", SETTERS)
def test_what_is_left_out_may_have_set_a_variable(setter: str) -> None:
    text = f"{BEFORE}{LONG}{setter}\n{LONG}{LAUNCH}"
    ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True)
    assert ran.stdout.split() != ["1", "1"], "bash says that it sets nothing"
    reading = read(text.replace("srun() ", "other() "))
    (command,) = [each for each in reading.commands if each.program == "srun"]
    assert command.place.line == text.count("\n")
    assert known(command.words[1]) != "1"
    assert known(command.words[2]) == "1"


def test_lines_that_are_left_out_are_told_and_no_others() -> None:
    text = f"{BEFORE}{LONG}{LONG}{LAUNCH}"
    reading = read(text)
    (left_out,) = reading.unclear
    assert left_out.unread
    walked = {each.place.line for each in reading.commands}
    assert not any(left_out.place.line <= line <= left_out.place.last for line in walked)
    after = set(range(left_out.place.last + 1, text.count("\n") + 1))
    assert after
    found = convert(classified({"run.sub": text.replace("srun() ", "other() ")}), Options({}))
    assert found.job
    told = [each for each in found.findings if each.kind == "unread"]
    assert left_out.place.last in {place.last for each in told for place in each.places}


def test_a_script_that_starts_nothing_afterwards_says_which_lines_were_not_read() -> None:
    found = convert(classified({"run.sub": f"#!/bin/bash\n{LONG}"}), Options({}))
    assert not found.job
    (place,) = [
        place for each in found.findings if each.kind == "unread" for place in each.places if place.last
    ]
    assert str(place) in found.refused
    assert place.last == LONG.count("\n") + 1


def test_a_configuration_that_is_too_much_does_not_hide_the_launcher() -> None:
    config = Source("config.sh", f"A=1 B=1\n{LONG}A=2\n{LONG}")
    (command,) = read("srun $A $B\n", config).commands[-1:]
    assert command.program == "srun"
    assert known(command.words[1]) is None
    assert known(command.words[2]) == "1"


def test_a_text_that_is_sourced_in_lines_that_are_left_out_may_set_anything_it_sets() -> None:
    config = Source("config.sh", "A=2\n")
    reading = read(f"{BEFORE.replace('srun()', 'other()')}{LONG}source config.sh\n{LONG}{LAUNCH}", config)
    (command,) = [each for each in reading.commands if each.program == "srun"]
    assert known(command.words[1]) is None


def test_it_gives_up_in_the_end() -> None:
    text = (LONG + LAUNCH) * 20
    reading = read(text)
    assert 1 < len(reading.unclear) <= 10
    assert reading.unclear[-1].place.last == text.count("\n")


_LONG = "a" * 300_000


@pytest.mark.parametrize(
    "change",
    ["A=$X$X$X$X", "A=${X//a/0123456789}", "A=$X\nA=$A$A\nA=$A$A", "for n in {1..100}; do A=${X//a/b}; done"],
)
def test_a_text_that_grows_is_unknown_from_there_on_and_what_stands_around_it_is_read(change: str) -> None:
    text = f"X={_LONG}\nexport A=short B=1\n{change}\nsrun ./train $B\n"
    reading = walk.read([Source("run.sub", text)], {})
    assert reading.unclear
    assert {each.place.line for each in reading.unclear} <= {3, 4, 5}
    (command,) = reading.commands
    assert [known(word) for word in command.words] == ["srun", "./train", "1"]
    given = dict(command.environment)
    assert known(given["B"]) == "1"
    assert known(given["A"]) is None


def test_a_long_text_is_changed_as_bash_does() -> None:
    text = f"X={_LONG}\nA=${{X//a/b}}\nB=${{A/b/\\\\}}\nC=${{X//[b-z]/$X}}\nsrun ./train\n"
    reading = walk.read([Source("run.sub", text)], {})
    assert not reading.unclear
    values = {each.name: known(each.value) or "" for each in reading.assigned}
    assert values["A"] == "b" * len(_LONG)
    assert values["B"] == "\\" + "b" * (len(_LONG) - 1)
    assert values["C"] == _LONG


@pytest.mark.parametrize("command", ["program", "! program", "if true; then program; fi"])
def test_a_walk_is_over_where_no_launcher_has_so_many_commands(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_MOST", 100_000)
    echoes, programs = "echo one\n" * 200, f"{command}\n" * 200
    sources = [Source("run.sh", BEFORE + echoes + programs + echoes)]
    whole, over = walk.read(sources, {}), walk.read(sources, {}, most=100)
    assert over.commands == whole.commands[: len(over.commands)]
    assert 100 < over.count({"echo", "true"}) < whole.count({"echo", "true"}) == 200
    assert walk.read(sources, {}, most=200) == whole


_SET = "X=a\nexport Y=b\nZ=$X-c\nW=d\n"


@pytest.mark.parametrize(
    ("line", "perhaps"),
    [
        ("srun --cpu-bind=$Z ./app < > more", {3, 5}),  # an X in Z; Y, which is exported, is carried
        ("cat $Z < > more", {3, 5}),
        ("eval $(./made) $W", set()),  # Y, which is exported, is carried: nobody knows the run
        ('eval "$(conda shell.bash hook)"\nsrun ./t', set()),
        ("echo $Z", set()),
    ],
)
def test_what_only_a_line_that_is_not_understood_uses_is_not_said_to_be_without_effect(
    line: str, perhaps: set[int]
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 60\n{_SET}{line}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    said = {
        number
        for each in found.findings
        if each.why == "only a line that is not understood may use it"
        for place in each.places
        for number in range(place.line, max(place.last, place.line) + 1)
    }
    assert said == perhaps


@pytest.mark.parametrize(
    "writes", ["cat > {} <<E\nexecutable = $WHAT\nqueue\nE", 'echo "executable = $WHAT" > {}']
)
def test_a_variable_of_a_text_that_is_submitted_is_not_said_to_have_no_use(writes: str) -> None:
    text = f"#!/bin/bash\nWHAT=$*\nSPARE=1\n{writes.format('warm.sub')}\ncondor_submit warm.sub\n"
    found = convert(classified({"run.sh": text}), Options({}))
    kinds = {each.what: each.kind for each in found.findings}
    assert (kinds["WHAT=$*"], kinds["SPARE=1"]) == ("unread", "without effect")


def test_a_variable_of_a_folder_that_is_entered_is_not_said_to_have_no_use() -> None:
    lines = "NAME=warm\nCASE=/x/$NAME\nSPARE=1\ncd $CASE\njsrun -n 2 -a 8 ./solve"
    found = convert(classified({"run.sh": f"#!/bin/bash\n#BSUB -nnodes 2\n{lines}\n"}), Options({}))
    kinds = {each.what: each.kind for each in found.findings}
    assert (kinds["variables: NAME=warm; CASE=/x/$NAME"], kinds["SPARE=1"]) == ("carried", "without effect")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("set -- a b", "carried"),
        ("shift", "carried"),
        ("unset 'LIST[1]'", "carried"),
        ("unset OTHER", "without effect"),
        ("set -euo pipefail", "without effect"),
        ("IFS=:", "carried"),
        ("eval LIST=x", "carried"),
    ],
)
def test_what_changes_the_words_of_the_run_is_not_said_to_be_without_effect(line: str, kind: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 60\nLIST=(a b:c)\n{line}\n"
    text += 'srun ./t ${LIST[1]} "$@"\n'
    found = convert(classified({"run.sub": text}), Options({}, arguments=("a", "b")))
    assert [each.kind for each in found.findings if line in each.what] == [kind]
