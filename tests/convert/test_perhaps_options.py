"""Options of srun that stand there only on a condition: what they would say of the job's size is asked for in
the job file."""

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_MAYBE = "if [ -f /x ]; then V=1; fi"


def _asked(before: str, option: str, **env: str) -> set[str]:
    text = f"{_HEAD}{before}\nsrun --mpi=none {option} ./t\n"
    found = convert(classified({"run.sub": text}), Options(env))
    job = script_cases.loaded(found.job)
    asked = {
        key
        for key, value in job.items()
        if ASK in (value, *(value if isinstance(value, dict | list) else ()))
    }
    assert asked == {
        each.key.partition(".")[0] for each in found.findings if each.key and each.kind == "question"
    }
    assert len({(each.what, each.key) for each in found.findings}) == len(found.findings)
    return asked


@pytest.mark.parametrize(
    ("option", "key", "where_it_is_given"),
    [
        # srun takes the 16 tasks of sbatch beside these, and how many are on a node is asked.
        ("${V:+--nodes=1}", "nodes", {"ranks_per_node"}),
        ("${V:+-N1}", "nodes", {"ranks_per_node"}),
        ("${V:+--ntasks-per-node=4}", "ranks_per_node", {"ranks_per_node"}),
        ("${V+--gpus-per-node=4}", "gpus_per_node", set()),
        ("${V:+--mpi=pmix}", "mpi", set()),
        ("${V:+--container-image=a/b:c}", "image", set()),
        ("${V:+--container-workdir /w}", "workdir", set()),
    ],
)
def test_a_size_on_a_condition_is_asked_for(option: str, key: str, where_it_is_given: set[str]) -> None:
    assert _asked(_MAYBE, option) == {key}
    assert _asked("echo $V", option) == {key}  # nothing tells that the operator gave it
    assert _asked("export V=1", option) == where_it_is_given
    assert _asked(": ${V:?}", option) == where_it_is_given
    assert _asked("V=", option) == set()
    assert _asked("", option) == set()


@pytest.mark.parametrize(
    ("before", "keys"),
    [
        ("if [ -f /x ]; then V='--nodes=1 --mpi=pmix'; fi", {"nodes", "mpi"}),
        ("if [ -f /x ]; then V=--ntasks-per-node=4; else V=-N1; fi", {"nodes", "ranks_per_node"}),
        ("if [ -f /x ]; then V=--label; fi", set()),
    ],
)
def test_options_that_a_variable_may_have_are_asked_for(before: str, keys: set[str]) -> None:
    assert _asked(before, "$V") == keys


@pytest.mark.parametrize(
    ("more", "keys"),
    [("--container-mounts /c:/d", {"mounts"}), ("--mpi=pmix", {"mpi", "mounts"}), ("--label", {"mounts"})],
)
def test_options_that_an_array_may_have_are_asked_for_with_all_that_it_may_be(
    more: str, keys: set[str]
) -> None:
    before = f"V=(--container-mounts=/a:/b)\n[[ -d /x ]] && V+=({more})"
    assert _asked(before, '"${V[@]}" --container-image=a/b:c') == keys
    text = f'{_HEAD}{before}\nsrun --mpi=none "${{V[@]}}" --container-image=a/b:c ./t\n'
    found = convert(classified({"run.sub": text}), Options({}))
    (question,) = (each.why for each in found.findings if each.key == "mounts.0")
    assert f"(--container-mounts=/a:/b) or (--container-mounts=/a:/b {more})" in question


def test_options_of_which_nothing_is_told_are_a_question() -> None:
    found = convert(classified({"run.sub": f"{_HEAD}srun --mpi=none $ARGS ./t\n"}), Options({}))
    assert [each.kind for each in found.findings if each.what == "${ARGS}"] == ["question"]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("$HOME/bin/app in", "exec $HOME/bin/app in"),
        ('"$HOME/bin/app" in', 'exec "$HOME"/bin/app in'),
        ("/opt/app-5*/bin/app in *.dat", "exec /opt/app-5*/bin/app in *.dat"),
        ("--label ./build-*/app in", "exec ./build-*/app in"),
        ("$EXE", "exec $EXE"),
        ("$EXE in", "exec $EXE in"),  # its name says that it is the program
        ("$lmp_exec -in in.b", "exec $lmp_exec -in in.b"),
        ("$LMP -in in.b", "exec $LMP -in in.b"),  # one dash and a word: of a program, and not srun's -i
        ("--label $GMX -deffnm md", "exec $GMX -deffnm md"),
        ("$EXE -i in", "exec $EXE -i in"),
        ("$EXE --lr 0.1", "exec $EXE --lr 0.1"),
        ("$EXE --lr 0.1 in", "exec $EXE --lr 0.1 in"),
        ("$SRUN_ARGS --quiet app --lr 0.1", ["app", "--lr", "0.1"]),
        ("$SRUN_ARGS app in", ["app", "in"]),
        ("$MORE python t.py", ["python", "t.py"]),
    ],
)
def test_a_word_that_can_only_be_the_program_is_it(words: str, command: object) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}srun --mpi=none {words}\n"}), Options({}))
    assert script_cases.loaded(found.job)["command"] == command


@pytest.mark.parametrize("words", ["$WHAT in", "$WHAT in.dat -v", "--label $WHAT 100"])
def test_a_word_that_may_be_options_or_the_program_is_asked_for(words: str) -> None:
    assert _asked("", words.replace("in", "in.txt") + " #") == {"command"}


def test_a_program_that_may_stand_in_front_of_the_command_is_asked_for() -> None:
    assert _asked("if [ -f /x ]; then V='nsys profile -o out'; fi", "$V") == {"command"}


@pytest.mark.parametrize(
    ("before", "option", "keys", "why"),
    [
        (
            'A=""\nif [ -d /opt/x ]; then A=--resume=1; fi',
            "$A",
            set(),
            "it depends on `[ -d /opt/x ]` (run.sub:4)",
        ),
        ("if [ $U = root ]; then A=--label; else A=--quiet; fi", "$A", set(), "--env U=VALUE does"),
        (
            'if [ ! -z $CONT ]; then A=(--container-image "$CONT" --label); fi',
            '"${A[@]}"',
            set(),
            "no line that runs gives A a value, and who submitted it may have",
        ),
        (
            "if [ -f /x ]; then A=(--container-image a/b:c); fi",
            '"${A[@]}"',
            {"image"},
            "it depends on `[ -f /x ]` (run.sub:3)",
        ),
    ],
)
def test_what_decides_which_options_srun_gets_is_told(
    before: str, option: str, keys: set[str], why: str
) -> None:
    assert _asked(before, option) == keys
    text = f"{_HEAD}{before}\nsrun --mpi=none {option} ./t\n"
    asked = [
        each
        for each in convert(classified({"run.sub": text}), Options({})).findings
        if each.kind == "question"
    ]
    assert why in asked[-1].why
    assert ("--env" in asked[-1].todo) == ("--env" in why or "no line" in why)
