"""A script that another one writes line by line and submits: its lines are those of the job."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_LINES = (
    "#!/bin/bash",
    "#SBATCH -N 4 --ntasks-per-node=8",
    "#SBATCH -t 60",
    "export A=1",
    "srun --mpi=pmix ./x",
)
_NEW = ("echo '{}' > j.sh", "echo '{}' >> j.sh")


def _converted(*lines: str) -> Conversion:
    text = "#!/bin/bash\n" + "\n".join(lines) + "\n"
    return convert(classified({"go.sh": text}), Options({}))


def _echoed(first: str, more: str, end: str = "") -> str:
    return "\n".join([first.format(_LINES[0]), *[more.format(each) for each in _LINES[1:]]]) + end


def _facts(job: dict[str, Any]) -> list[Any]:
    return [job.get(key) for key in ("nodes", "ranks_per_node", "time", "mpi", "env", "command")]


_WHOLE = ["4", "8", "01:00:00", "pmix", {"A": "1"}, ["./x"]]


@pytest.mark.parametrize(
    "writes",
    [
        _echoed(*_NEW),
        "rm -f j.sh\n" + _echoed(_NEW[1], _NEW[1]),
        _echoed(_NEW[1], _NEW[1]),
        "{\n" + _echoed("echo '{}'", "echo '{}'") + "\n} > j.sh",
        _echoed("printf '%s\\n' '{}' > j.sh", "printf '%s\\n' '{}' >> j.sh"),
        "cat > j.sh <<EOF\n"
        + "\n".join(_LINES[:3])
        + "\nEOF\n\ncat >> j.sh <<EOF\n"
        + "\n".join(_LINES[3:])
        + "\nEOF",
        "cat >> j.sh <<EOF\n" + "\n".join(_LINES) + "\nEOF",
    ],
)
@pytest.mark.parametrize("submits", ["chmod +x j.sh\nsbatch j.sh", "ID=$(sbatch --parsable j.sh)"])
def test_its_lines_are_read_where_they_stand(writes: str, submits: str) -> None:
    found = _converted(writes, submits)
    assert _facts(loaded(found.job)) == _WHOLE
    lines = ["", "#!/bin/bash", *writes.split("\n")]
    for key, text in (("nodes", "-N 4"), ("time", "-t 60"), ("command", "./x")):
        (told,) = [each for each in found.findings if (each.kind, each.key) == ("carried", key)]
        assert text in lines[told.places[0].line]
    assert not [each for each in found.findings if "it writes a file" in each.why]


def test_what_the_script_around_it_puts_in_is_in_its_lines() -> None:
    lines = [
        'echo "#SBATCH -N $n -t 60" >> j_$n.sh',
        'echo "srun --mpi=none ./x $n \\$SLURM_JOB_ID" >> j_$n.sh',
    ]
    found = _converted("for n in 2 4; do", "echo '#!/bin/bash' > j_$n.sh", *lines, "sbatch j_$n.sh", "done")
    job = loaded(found.job)
    assert (job["nodes"], job["time"], job["command"]) == (ASK, "01:00:00", ASK)
    one = loaded(_converted("n=2", "echo '#!/bin/bash' > j_$n.sh", *lines, "sbatch j_$n.sh").job)
    assert (one["nodes"], one["command"]) == ("2", "exec ./x 2 $SLURM_JOB_ID")


@pytest.mark.parametrize(
    "more",
    ["if ./big; then echo '#SBATCH --exclusive' >> j.sh; fi", "./edit j.sh", "cat rest.txt >> j.sh"],
)
def test_what_is_written_for_uncertain_is_asked_for(more: str) -> None:
    job = loaded(_converted(_echoed(*_NEW), more, "sbatch j.sh").job)
    assert _facts(job) == [ASK, ASK, ASK, ASK, None, ASK]


def test_a_here_document_to_which_more_is_added_is_not_all_of_it() -> None:
    head, body = "\n".join(_LINES[:3]), "\n".join(_LINES[3:])
    more = "./big && echo '#SBATCH --exclusive' >> j.sh"
    writes = f"cat > j.sh <<EOF\n{head}\nEOF\n{more}\ncat >> j.sh <<EOF\n{body}\nEOF"
    assert _facts(loaded(_converted(writes, "sbatch j.sh").job)) == [ASK, ASK, ASK, ASK, None, ASK]


@pytest.mark.parametrize("options", ["$OPTS", "${SBATCH_EXTRA} ", '"${MORE[@]}" '])
def test_options_of_sbatch_that_nothing_tells_may_say_other_sizes(options: str) -> None:
    written = "cat >job.sh <<EOF\n#!/bin/bash\n#SBATCH -N 2 -n 8\nsrun ./t\nEOF\n"
    text = f"#!/bin/bash\n{written}sbatch {options} job.sh\n"
    found = convert(classified({"run.sh": text}), Options({}))
    (its,) = [each for each in found.findings if "which options of sbatch" in each.why]
    assert (its.kind, its.places[0].line) == ("question", 7)
    given = {"OPTS": "-N 4", "SBATCH_EXTRA": "-N 4"}
    told = convert(classified({"run.sh": text}), Options(given)).launch[0]
    assert told.told == ("2" if "MORE" in options else "4")


_TEXT = "\n".join(_LINES)


@pytest.mark.parametrize(
    "lines",
    [
        f"D=/data/run_$(date +%s)\ncat > $D/j.sh <<EOF\n{_TEXT}\nEOF\ncd $D\nsbatch j.sh",
        f"D=$1/out\ncat > $D/j.sh <<EOF\n{_TEXT}\nEOF\n(cd $D && sbatch j.sh)",
        f"cat > a/j.sh <<EOF\n{_TEXT}\nEOF\ncd a\nsbatch ./j.sh",
        f"cat > r_$1/j.sh <<EOF\n{_TEXT}\nEOF\ncd r_$1\nsbatch j.sh",
        f"cd r_$1\ncat > j.sh <<EOF\n{_TEXT}\nEOF\ncd ..\nsbatch r_$1/j.sh",
        f"cd a\ncat <<EOF | tee j.sh\n{_TEXT}\nEOF\ncd ..\nsbatch a/j.sh",
        f"pushd a\ncat > j.sh <<EOF\n{_TEXT}\nEOF\nsbatch j.sh",
        f"(cd a; cat <<EOF\n{_TEXT}\nEOF\n) > j.sh\nsbatch j.sh",
    ],
)
def test_a_written_script_is_found_from_the_folder_that_the_script_has_gone_to(lines: str) -> None:
    assert _facts(loaded(_converted(lines).job)) == _WHOLE


@pytest.mark.parametrize(
    "goes",
    [
        "cd b\nsbatch j.sh",
        "cd r_$1\nsbatch j.sh",
        "(cd b; sbatch j.sh)",
        "cd ..\nsbatch j.sh",
        "cd\nsbatch j.sh",
    ],
)
def test_one_of_the_same_name_in_another_folder_is_another_script(goes: str) -> None:
    job = loaded(_converted(f"cat > j.sh <<EOF\n{_TEXT}\nEOF\n{goes}").job)
    assert _facts(job) == [ASK, ASK, ASK, ASK, None, ASK]


def test_its_lines_are_told_where_it_is_submitted_from_another_folder_too() -> None:
    echoed = "\n".join(
        f"echo '{each}' {'>>' if number else '>'} a/j.sh" for number, each in enumerate(_LINES)
    )
    found = _converted(f"{echoed}\ncd a\nsbatch j.sh")
    assert _facts(loaded(found.job)) == _WHOLE
    assert not [each for each in found.findings if "it writes a file" in each.why]


_ASKED = "sbatch -N 2 --gpus-per-node=8 -t 10"
_SUBMITTED = '#!/bin/bash\nsrun --mpi=none --ntasks-per-node=8 ./t $A "$@"\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"ssh login {_ASKED} run.sub x", ["x"]),
        (f"ssh -q me@login 'cd /p && A=2 {_ASKED} run.sub'", ["2"]),
        (f'J=$(ssh login "{_ASKED} --parsable run.sub x")', ["x"]),
        (f"ssh login <<'E'\ncd /p\n{_ASKED} run.sub x\nE", ["x"]),
        (f"ssh login bash -s <<'E'\n{_ASKED} run.sub x\nE", ["x"]),
        (f"ssh login '{_ASKED}' < run.sub", []),
        (f"ssh login {_ASKED} <<'E'\n{_SUBMITTED.replace(' $A', '')}E", []),
        (f"for h in a b; do ssh $h {_ASKED} run.sub $h; done", None),
    ],
)
def test_what_ssh_has_a_login_node_submit_is_the_job(line: str, words: list[str] | None) -> None:
    texts = {"go.sh": f"#!/bin/bash\nexport A=1\n{line}\n"}
    texts |= {} if "srun" in line else {"run.sub": _SUBMITTED}
    job = loaded(convert(classified(texts), Options({})).job or "")
    assert [job.get(key) for key in ("nodes", "gpus_per_node", "time")] == ["2", "8", "00:10:00"]
    assert job["command"] == (ASK if words is None else ["./t", *words])
