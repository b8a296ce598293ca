"""Files that a script writes before it sources them: what bash has behind the source, or a question;
and files that the shells of its ranks source."""

import subprocess
from pathlib import Path

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8\nBASE=0.25\n"
_RUN = 'srun --mpi=none --ntasks-per-node=8 --container-image=a/b:1 ./t "$LR" "$WD"\n'
_FOLLOWED = {
    "an open delimiter": "cat > env.sh <<E\nexport LR=0.5\nexport WD=$BASE\nE\nBASE=9\n. ./env.sh\n",
    "a quoted delimiter": "cat <<'E' > env.sh\nexport LR='a b'\nexport WD=$BASE\nE\nBASE=9\n. ./env.sh\n",
    "tabs taken off": "cat > env.sh <<-E\n\tLR=1 WD=2\n\tE\nset -a\nsource env.sh\n",
    "tee": "tee env.sh <<E >/dev/null\nLR=1 WD=$BASE\nE\nsource ./env.sh\n",
    "tee behind a pipe": "cat <<E | tee env.sh\nLR=1 WD=2\nE\nsource ./env.sh\n",
    "echo, line by line": 'echo "export LR=$BASE" > e.sh\necho "export WD=\\"a  b\\"" >> e.sh\n. ./e.sh\n',
    "printf": "printf 'export %s=%s\\n' LR 3 WD \"$BASE\" > env.sh\n. ./env.sh\n",
    "a group": "{ echo LR=1; echo WD=2; } > env.sh\n. env.sh\n",
    "once more": "echo LR=1 WD=1 > env.sh\necho LR=2 WD=2 > ./env.sh\n. ./env.sh\n",
    "of nothing": "rm -f env.sh\necho LR=1 >> env.sh\necho WD=2 >> env.sh\n. ./env.sh\n",
    "behind a name": "F=$PWD/env.sh\nprintf 'LR=1\\nWD=2\\n' > $F\n. $F\n",
    "its own input": "source /dev/stdin <<E\nLR=$BASE\nWD=7\nE\n",
    "a function in it": "cat > f.sh <<'E'\nset_wd() { WD=$1; }\nLR=4\nE\n. ./f.sh\nset_wd 5\n",
    "one that returns": "printf 'LR=1\\nreturn\\nLR=2\\n' > e.sh\n. ./e.sh\nWD=3\n",
}
_UNCLEAR = {
    "not given": "source ./site_env.sh\n",
    "by another program": "./make_env > env.sh\n. ./env.sh\n",
    "changed later": "echo LR=1 WD=2 > env.sh\nsed -i s/1/2/ env.sh\n. ./env.sh\n",
    "to one that is there": "echo LR=1 WD=2 >> env.sh\n. ./env.sh\n",
    "on a condition": "if [ -d /x ]; then echo LR=1 WD=2 > env.sh; fi\n. ./env.sh\n",
    "in another folder": "echo LR=1 WD=2 > env.sh\ncd /x\n. ./env.sh\n",
    "of a process": "source <(./make_env)\n",
}


@pytest.mark.parametrize("case", _FOLLOWED)
def test_what_the_script_writes_it_sources(case: str, tmp_path: Path) -> None:
    script = f"{_HEAD}{_FOLLOWED[case]}"
    ending = 'printf \'%s\\n%s\\n\' "$LR" "$WD" >&2\n'
    env = {"PATH": "/usr/bin:/bin"}
    shown = ["bash", "-c", script + ending]
    of_bash = subprocess.run(shown, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    found = convert(classified({"run.sub": script + _RUN}), Options({"PWD": str(tmp_path)}))
    assert found.is_complete
    assert loaded(found.job)["command"][1:] == of_bash.stderr.splitlines()


@pytest.mark.parametrize("case", _UNCLEAR)
def test_what_may_come_from_a_file_that_is_not_known_is_asked_for(case: str) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{_UNCLEAR[case]}{_RUN}"}), Options({}))
    job = loaded(found.job)
    assert {name: job["env"][name] for name in ("LR", "WD")} == {"LR": ASK, "WD": ASK}
    assert "inherit" not in job
    told = {each.key: each for each in found.findings if each.kind == "question"}
    assert all(len(told[key].places) > 1 for key in ("env.LR", "env.WD"))


def test_a_default_behind_such_a_file_is_in_doubt() -> None:
    script = f"{_HEAD}X=${{BEFORE:-1}}\n. ./far.sh\n{_RUN.replace('$LR', '${LR:-0.1}')}"
    found = convert(classified({"run.sub": script}), Options({}))
    doubts = {
        each.what: "far.sh, which was not given" in each.why
        for each in found.findings
        if each.kind == "assumed"
    }
    assert doubts["LR"]
    assert not doubts.get("BEFORE")
    assert [each.what for each in found.findings if each.kind == "left"] == ["source ./far.sh"]


def test_what_a_login_has_is_no_such_file() -> None:
    for file in ("/etc/profile", "~/.bashrc", "venv/bin/activate", "/opt/conda/etc/profile.d/conda.sh"):
        found = convert(classified({"run.sub": f"{_HEAD}source {file}\n{_RUN}"}), Options({}))
        assert loaded(found.job)["inherit"] == ["LR", "WD"]


def test_what_each_rank_sources_itself_is_not_asked_for() -> None:
    script = f"{_HEAD}source /site/env.sh\n{_RUN.replace('--container-image=a/b:1 ', '')}"
    assert convert(classified({"run.sub": script}), Options({})).is_complete


def test_lines_of_what_is_written_are_those_of_the_text() -> None:
    script = f"{_HEAD}cat > env.sh <<E\nexport LR=1\nexport WD=2\nE\n. ./env.sh\n{_RUN}"
    found = convert(classified({"run.sub": script}), Options({}))
    told = {each.key: each.places[0].line for each in found.findings}
    assert (told["env.LR"], told["env.WD"]) == (5, 6)


@pytest.mark.parametrize(("tasks", "asked"), [("--ntasks-per-node=16", True), ("-n 1", False)])
def test_how_ranks_of_a_file_that_is_not_given_find_each_other_is_asked_for(tasks: str, asked: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -t 5 --exclusive {tasks}\nrun='srun --mpi=pmix'\nsource tests.sh\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert any(each.kind == "question" and each.key == "mpi" for each in found.findings) == asked


def test_a_file_that_an_output_alone_is_made_of_sets_nothing_for_the_ranks() -> None:
    """`$(. FILE && echo $NAME)` leaves the script's own variables as they are."""
    head = "#!/bin/bash\n#SBATCH -N 1 -n 2 -t 9\n"
    for line, own in (('V="$(. /etc/os-release && echo $ID)"', False), (". /etc/os-release", True)):
        text = f"{head}{line}\necho $V\nsrun --mpi=none ./t\n"
        job = loaded(convert(classified({"go.sh": text}), Options({})).job)
        assert (job["command"] != ["./t"]) == own
    for line, own in (("echo $(. ./lab.env; echo $ID)", False), (". ./lab.env", True)):
        found = convert(classified({"go.sh": f"{line}\ndocker run lab/t:1 ./t\n"}), Options({}))
        told = next(each.told for each in found.launch if each.name == "environment")
        assert ("lab.env" in told) == own


@pytest.mark.parametrize("quoted", ["'E'", "E"])
def test_a_file_that_a_submitted_text_sources_is_as_one_that_the_script_does(quoted: str) -> None:
    head, run = "#SBATCH -N 2 -t 10 --gpus-per-node=8\n", "srun --mpi=none --ntasks-per-node=8 ./t\n"
    text = f"#!/bin/bash\n{head}export LR=1\nsource site/env.sh\n{run}"
    plain = convert(classified({"run.sub": text}), Options({}))
    found = convert(classified({"run.sub": f"#!/bin/bash\nsbatch <<{quoted}\n{text}E\n"}), Options({}))
    told = [next(each for each in which.launch if each.name == "environment") for which in (plain, found)]
    assert "what site/env.sh sets" in told[0].told
    assert [(each.state, each.told) for each in told] == [(told[0].state, told[0].told)] * 2
    assert [each.why for each in found.findings if "may give another value to LR" in each.why]


@pytest.mark.parametrize(
    ("starts", "is_wrong"),
    [
        ("srun --container-image=a/b:1 bash -c 'source own.sh && ./t'", False),
        ('srun --container-image=a/b:1 sh -c "cd /w; . /w/own.sh; ./t"', False),
        ("source own.sh\nsrun --container-image=a/b:1 ./t", True),
    ],
)
def test_what_the_shell_of_a_rank_makes_of_its_number_is_its_own(starts: str, is_wrong: bool) -> None:
    own = "export RANK=$SLURM_PROCID\nexport MY_GPU=$SLURM_LOCALID\n"
    head = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8 --ntasks-per-node=8\n"
    texts = {"run.sub": f"{head}{starts}\n", "own.sh": own}
    found = convert(classified(texts), Options({}))
    wrong = sorted(each.what for each in found.findings if each.kind == "defect")
    assert wrong == (["MY_GPU=${SLURM_LOCALID}", "RANK=${SLURM_PROCID}"] if is_wrong else [])


def test_what_a_file_of_the_ranks_own_shells_exports_is_told() -> None:
    fabric = "export LIB_ROOT=/opt/lib\nTUNE=3\nexport NCCL_ALGO=Ring\n"
    head = "#!/bin/bash\n#SBATCH -N 2 -t 10 --gpus-per-node=8 --ntasks-per-node=8\n"
    run = "srun --mpi=pmi2 --container-image=a/b:1 bash -c '\n  source fabric.sh\n  ./solve'\n"
    found = convert(classified({"go.sh": f"{head}{run}", "fabric.sh": fabric}), Options({}))
    row = next(each for each in found.launch if each.name == "environment")
    assert row.told == "LIB_ROOT, NCCL_ALGO by the command"
    assert "env" not in loaded(found.job)
    kinds = [each.kind for each in found.findings for place in each.places if place.file == "fabric.sh"]
    assert kinds == ["carried"] * 3
    before = "srun -n 1 bash -c '\n  source fabric.sh\n  ./warm'\n"
    run = "srun --mpi=pmi2 --container-image=a/b:1 ./solve\n"
    other = convert(classified({"go.sh": f"{head}{before}{run}", "fabric.sh": fabric}), Options({}))
    assert next(each for each in other.launch if each.name == "environment").told == "none"


@pytest.mark.parametrize(
    "line",
    [
        'case "$SITE" in a*) . ./env.sh;; esac',
        'if [ "$SITE" = a ]; then :; else source env.sh; fi',
        '[ "$SITE" = a ] && { A=1 . ./env.sh; }',
        '[ "$SITE" = a ] || ! . ./env.sh',
    ],
)
def test_a_given_file_that_is_sourced_on_a_condition_is_no_configuration(line: str) -> None:
    files = {"run.sub": f"{_HEAD}{line}\n{_RUN}", "env.sh": "export LR=7 WD=8\n"}
    job = loaded(convert(classified(files), Options({})).job)
    assert job["command"] == ASK or job["env"]["LR"] == ASK


def test_what_a_command_writes_for_eval_may_change_what_stands_before_it() -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -t 5\n{}\nexport A=1\n{}\nexport B=2\nsrun --mpi=none ./t $A $B\n"
    written = 'eval "$(python settings.py)"'
    for before, after, said in (
        ("", written, True),
        (written, "", False),
        ("", 'eval "$(conda shell.bash hook)"', False),
    ):
        found = convert(classified({"run.sub": text.format(before, after)}), Options({}))
        told = [each for each in found.findings if "may give another value to A" in each.why]
        assert bool(told) is said, (before, after)
        assert not any("B" in each.why.split() for each in told)


def test_what_each_round_of_a_loop_may_set_is_told_once() -> None:
    text = f'{_HEAD}for each in a b c; do\n  export "$(cut -d= -f1 $each)"\ndone\n{_RUN}'
    found = convert(classified({"run.sub": text}), Options({}))
    assert len([each for each in found.findings if "writes is not told" in each.why]) == 1
