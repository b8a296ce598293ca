"""A script that another one writes and submits: what starts its ranks, and what its lines are made of."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_LINES = "#SBATCH --nodes=2 --time=30\n#SBATCH --job-name=$name\n#SBATCH --gres=gpu:${gpus}\n"


def _converted(
    command: str, submits: str = "cat << EOT > job.sbatch\n{}EOT\nsbatch job.sbatch\n"
) -> Conversion:
    text = f"#!/bin/sh\n{_LINES}\n{command}\n"
    outer = f'#!/bin/sh\nname="$1"\ngpus=`./count_gpus.sh`\n{submits.format(text)}exit 0\n'
    return convert(classified({"submit.sh": outer}), Options({}))


@pytest.mark.parametrize("submits", ["cat << EOT > j.sh\n{}EOT\nsbatch j.sh\n", "sbatch << EOT\n{}EOT\n"])
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("srun singularity exec --nv -B /data /images/t.sif python t.py", "Singularity"),
        ("srun shifter --image=team/t:1 python t.py", "Shifter"),
    ],
)
def test_containers_of_others_are_refused_there_too(command: str, reason: str, submits: str) -> None:
    found = _converted(command, submits)
    assert not found.job
    assert f"containers of {reason}" in found.refused
    told = {each.became or each.what for each in found.findings}
    assert told & {"the image /images/t.sif", "image: team/t:1"}
    assert {"nodes: 2", "time: 00:30:00"} <= told


def test_what_is_put_into_its_lines_is_told_as_it_was_made() -> None:
    found = _converted("OUT=/data/$gpus\nsrun --mpi=none ./t")
    job = loaded(found.job)
    assert (job["nodes"], job["name"], job["gpus_per_node"]) == ("2", ASK, ASK)
    asked = {each.key: each.what for each in found.findings if each.kind == "question"}
    assert asked["name"] == "--job-name=${1}"
    assert asked["gpus_per_node"] == "--gres=gpu:$(./count_gpus.sh)"
    assert not [each for each in found.findings if "_hpclaunch_" in f"{each.what}{each.why}{each.todo}"]


_HEAD = "#SBATCH --nodes=2\n{}\n#SBATCH --ntasks-per-node=4\n#SBATCH --time=30\n"


@pytest.mark.parametrize(
    "sets",
    [
        "",
        'if ./is_big; then more="#SBATCH --mem=9G"; else more="#SBATCH --mem-per-cpu=2G"; fi\n',
        'more=$(./options "$1")\n',
    ],
)
@pytest.mark.parametrize("submits", ["cat << EOT > j.sh\n{}EOT\nsbatch j.sh\n", "sbatch << EOT\n{}EOT\n"])
def test_a_line_that_the_script_puts_together_ends_none_of_those_of_sbatch(sets: str, submits: str) -> None:
    inner = f"#!/bin/sh\n{_HEAD.format('$more')}srun --mpi=pmix ./t\n"
    found = convert(classified({"s.sh": f"#!/bin/sh\n{sets}{submits.format(inner)}"}), Options({}))
    job = loaded(found.job)
    assert (job["nodes"], job["ranks_per_node"], job["time"]) == ("2", "4", "00:30:00")
    assert [each for each in found.findings if each.why.startswith("which options of sbatch $")]


def test_a_command_ends_them_in_a_written_script_too() -> None:
    inner = f"#!/bin/sh\n{_HEAD.format('module load x')}srun --mpi=pmix ./t\n"
    text = f"#!/bin/sh\ncat << EOT > j.sh\n{inner}EOT\nsbatch j.sh\n"
    assert "time" not in loaded(convert(classified({"s.sh": text}), Options({})).job)


@pytest.mark.parametrize("submits", ["cat << EOT > j.sh\n{}EOT\nsbatch j.sh\n", "sbatch << EOT\n{}EOT\n"])
def test_what_a_program_writes_there_for_its_shell_is_no_value_that_the_script_puts_in(submits: str) -> None:
    lines = 'eval "\\$(conda shell.bash hook)"\nconda activate e\nsrun --mpi=none ./t $name --gpus $gpus\n'
    inner = f"#!/bin/sh\n#SBATCH --nodes=2 --time=30\n{lines}"
    outer = f'#!/bin/sh\nname="$1"\ngpus=$(./count_gpus.sh)\n{submits.format(inner)}'
    found = convert(classified({"submit.sh": outer}), Options({}, arguments=("a",)))
    command = loaded(found.job)["command"]
    hook = 'eval "$(conda shell.bash hook)"; conda activate e; exec ./t a --gpus $COUNT_GPUS_OUTPUT'
    assert command == ["bash", "-lc", hook]
    assert not [each for each in found.findings if each.kind == "unread"]


def test_texts_that_the_shell_evaluates_have_names_of_their_own() -> None:
    lines = 'A=$(./a) B=$(./b)\neval "eval \\"X=\\$A\\"; Y=$B"\nsrun --mpi=none --container-image=$Y ./t\n'
    found = convert(classified({"r.sh": f"#!/bin/bash\n#SBATCH -N 2 -t 5\n{lines}"}), Options({}))
    (asked,) = [each.why for each in found.findings if each.key == "image"]
    assert "$(./b)" in asked


_OUTER = "#!/bin/bash\n#SBATCH -N 4 -n 32 --time=30\n#SBATCH --gres=gpu:8\n#SBATCH -p big\n"
_SUBMITS = [
    "cat << EOT > j.sh\n{}EOT\nsbatch j.sh\n",
    "sbatch << EOT\n{}EOT\n",
    "mkdir -p a; cat << EOT > a/j.sh\n{}EOT\ncd a; sbatch j.sh\n",
]


@pytest.mark.parametrize("submits", [*_SUBMITS, "sbatch --ntasks-per-node=2 --wrap='srun --mpi=none ./t'\n"])
def test_what_the_job_around_it_asks_for_is_not_asked_for_it(submits: str) -> None:
    inner = "#!/bin/sh\n#SBATCH --ntasks-per-node=2\nsrun --mpi=none ./t\n"
    found = convert(classified({"s.sh": _OUTER + submits.format(inner)}), Options({}))
    job = loaded(found.job)
    assert (job.get("nodes"), job["ranks_per_node"], job["gpus_per_node"], job.get("time")) == (
        *(None, "2", ASK, None),
    )
    assert "partition" not in found.hints
    (said,) = [each for each in found.findings if "the job that submits this one" in each.why]
    assert (said.kind, [each.line for each in said.places]) == ("left", [2, 3, 4])
    assert "#SBATCH -N 4 -n 32 --time=30" in said.what


@pytest.mark.parametrize("run", ["srun --mpi=none ./sim", "mpirun ./sim", "torchrun sim.py", "python sim.py"])
@pytest.mark.parametrize("is_behind", [True, False])
@pytest.mark.parametrize("submits", _SUBMITS[:2])
def test_a_job_with_a_run_of_its_own_is_none_of_the_job_that_it_submits(
    run: str, is_behind: bool, submits: str
) -> None:
    other = submits.format("#!/bin/sh\n#SBATCH -n 1 --gres=gpu:0 --time=5\nsrun --mpi=none ./plot\n")
    lines = f"{run}\n{other}" if is_behind else f"{other}{run}\n"
    found = convert(classified({"s.sh": _OUTER + lines}), Options({}))
    job = loaded(found.job)
    assert (job["time"], job["gpus_per_node"]) == ("00:30:00", "8")
    assert "sim" in str(job["command"])
    assert "plot" not in str(job["command"])
    assert [each for each in found.findings if "it submits another job" in each.why]


@pytest.mark.parametrize(
    ("submits", "name", "why"),
    [
        ("cat << EOT > a/j.sh\n{}EOT\nsbatch a/j.sh\n", "j", "names a job after its script"),
        ("cat << EOT > j_$1.sh\n{}EOT\nsbatch j_$1.sh\n", "s", "has no name that is told"),
        ("sbatch << EOT\n{}EOT\n", "s", "has no name that is told"),
    ],
)
def test_a_job_has_the_name_of_the_script_that_is_submitted(submits: str, name: str, why: str) -> None:
    text = submits.format("#!/bin/sh\nsrun --mpi=none ./t\n")
    found = convert(classified({"s.sh": f"#!/bin/bash\n{text}"}), Options({}))
    assert loaded(found.job)["name"] == name
    (said,) = [each for each in found.findings if (each.kind, each.key) == ("carried", "name")]
    assert why in said.why


@pytest.mark.parametrize("quote", ["'", ""])
def test_lines_of_a_text_that_a_function_submits_are_those_of_its_call(quote: str) -> None:
    call = f"<< {quote}EOF{quote}\n#!/bin/bash\n#SBATCH -N {{}} -t {{}}\nsrun --mpi=pmix ./t\nEOF\n"
    function = 'send() {\n  out="$(sbatch "$@")"\n  echo "${out##* }"\n}\n'
    text = f"#!/bin/bash\n{function}\nA=$(send {call.format(2, 30)})\nsend -J b {call.format(3, 40)}"
    found = convert(classified({"s.sh": text}), Options({}))
    own = text.split("\n")
    for key, value in (("nodes", "-N 3"), ("time", "-t 40"), ("command", "./t")):
        (told,) = [each for each in found.findings if (each.kind, each.key) == ("carried", key)]
        (line,) = [each.line for each in told.places]
        assert (told.what, value in own[line - 1], line > 12) == (value, True, True)


@pytest.mark.parametrize(
    "submits", ["cat << EOT > j_$c.sh\n{}EOT\nsbatch j_$c.sh\n", "sbatch << EOT\n{}EOT\n"]
)
def test_what_a_loop_gives_each_job_that_it_submits_is_said_to_be_that(submits: str) -> None:
    inner = "#!/bin/sh\n#SBATCH -N 2\nexport CFG=conf/$c\nsrun --mpi=none ./t $c\n"
    text = f"#!/bin/bash\nfor c in a b; do\n{submits.format(inner)}done\n"
    found = convert(classified({"s.sh": text}), Options({}))
    said = "another one for each job that the loop over a b submits"
    (asked,) = [each for each in found.findings if (each.kind, each.key) == ("question", "command")]
    (left,) = [each for each in found.findings if each.key == "env.CFG"]
    assert f"${{c}} is {said}" in asked.why
    assert f"its value is {said}" in left.why


_ASKS = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=8 -t 10{asks}\n"
_JOB = _ASKS + "srun --mpi=none --ntasks-per-node=${{A:-8}} ./t x$A $B\n"


@pytest.mark.parametrize(
    ("submits", "asks", "ranks", "words"),
    [
        ("sbatch", "", "1", ["x1", "2"]),
        ("sbatch --export=B", "", "8", ["x", "2"]),
        ("sbatch --export NONE", "", "8", ["x"]),
        ("sbatch --export=ALL,B=3", "", "1", ["x1", "3"]),
        ("SBATCH_EXPORT=B sbatch", "", "8", ["x", "2"]),
        ("sbatch", " --export=B", "8", ["x", "2"]),
        ("sbatch --export=ALL", " --export=B", "1", ["x1", "2"]),
    ],
)
@pytest.mark.parametrize("way", ["file", "here", "written"])
def test_a_job_has_what_export_of_sbatch_hands_on(
    submits: str, asks: str, ranks: str, words: list[str], way: str
) -> None:
    job = _JOB.format(asks=asks)
    lines = {
        "file": f"{submits} run.sub\n",
        "here": f"{submits} <<'E'\n{job}E\n",
        "written": f"cat > run.sub <<'E'\n{job}E\n{submits} run.sub\n",
    }
    texts = {"go.sh": f"#!/bin/bash\nexport A=1 B=2\n{lines[way]}"} | (
        {"run.sub": job} if way == "file" else {}
    )
    found = loaded(convert(classified(texts), Options({})).job or "")
    assert (found["ranks_per_node"], found["command"]) == (ranks, ["./t", *words])


@pytest.mark.parametrize("way", ["run.sub\n", "<<'E'\n{job}E\n"])
def test_a_variable_of_sbatch_in_front_of_it_counts_over_the_lines_of_the_script(way: str) -> None:
    job = _JOB.format(asks="")
    texts = {"go.sh": "#!/bin/bash\nSBATCH_TIMELIMIT=20 A=1 sbatch " + way.format(job=job), "run.sub": job}
    texts = texts if way.startswith("run") else {"go.sh": texts["go.sh"]}
    assert loaded(convert(classified(texts), Options({})).job or "")["time"] == "00:20:00"


def test_what_a_login_sets_is_that_of_the_job_where_export_hands_on_nothing() -> None:
    job = "#SBATCH -N 2 -t 1\nunset SLURM_EXPORT_ENV\nexport PATH=/b:$PATH\nsrun --mpi=none ./t\n"
    for submitted in ("run.sub\n", f"<<'E'\n#!/bin/bash\n{job}E\n"):
        texts = {"go.sh": f"#!/bin/bash\nexport PATH=/a:$PATH\nsbatch --export=NONE {submitted}"}
        texts |= {"run.sub": f"#!/bin/bash\n{job}"} if submitted.startswith("run") else {}
        found = loaded(convert(classified(texts), Options({})).job or "")
        assert found["command"] == 'export PATH=/b:"$PATH"; exec ./t'


_SHIFTS = '#!/bin/bash\n#SBATCH -N 2 -t 10\n{shift}srun --mpi=none ./t "$@"\n'


@pytest.mark.parametrize(
    ("submits", "shift", "words"),
    [
        ("sbatch {} a 'b c'", "shift\n", ["b c"]),
        ('run() {{ sbatch {} "${{@:2}}"; }}; run 2 --lr 1 "$@"', "", ["--lr", "1"]),
        ('set -- x --lr 1 "$@"; sbatch {} "${{@:2:2}}"', "", ["--lr", "1"]),
        ('sbatch {} --lr 1 "$@"', "", ["--lr", "1"]),
        ("for lr in 1 2; do sbatch {} --lr $lr; done", "", None),
    ],
)
@pytest.mark.parametrize("way", ["file", "here", "written"])
def test_a_job_has_the_words_behind_the_name_of_its_script(
    submits: str, shift: str, words: list[str] | None, way: str
) -> None:
    job = _SHIFTS.format(shift=shift)
    line = submits.format("/dev/stdin" if way == "here" else "run.sub")
    before = f"cat > run.sub <<'E'\n{job}E\n" if way == "written" else ""
    line = line if way != "here" else line.replace("/dev/stdin", "/dev/stdin <<'E'", 1) + f"\n{job}E"
    texts = {"go.sh": f"#!/bin/bash\n{before}{line}\n"} | ({"run.sub": job} if way == "file" else {})
    found = loaded(convert(classified(texts), Options({})).job or "")
    assert found["command"] == (ASK if words is None else ["./t", *words])


def test_a_script_that_sbatch_reads_has_no_words_behind_its_name() -> None:
    text = '#!/bin/bash\nA="$@"\nsbatch -N 2 -t 9 <<E\n#!/bin/bash\nsrun --mpi=none ./t $A "\\$@"\nE\n'
    found = convert(classified({"go.sh": text}), Options({}, arguments=("-x", "1")))
    assert loaded(found.job or "")["command"] == ["./t", "-x", "1"]


@pytest.mark.parametrize(
    "writes",
    [
        'text=$(cat <<EOT\n{}EOT\n)\nf=$(mktemp)\necho "$text" > "$f"\nsbatch "$f"\n',
        'text=$(cat <<EOT\n{}EOT\n)\n: "$1"\nprintf "%s\\n" "$text" > j.sh\nsbatch j.sh\n',
        "cat <<EOT > j.sh\n{}EOT\nsbatch j.sh\n",
    ],
)
@pytest.mark.parametrize("behind", ["", "# a line\n" * 40])
def test_lines_of_a_text_that_a_variable_had_are_those_where_it_stands(writes: str, behind: str) -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 -t 30\n#SBATCH --gres=gpu:$2\nexport MODE=fast\nsrun -n 2 ./t\n"
    outer = f"#!/bin/bash\nout=$1\n{writes.format(text)}{behind}"
    found = convert(classified({"submit.sh": outer}), Options({}))
    lines = {line: number for number, line in enumerate(outer.split("\n"), 1)}
    its = {each.became or each.key: each.places[0].line for each in found.findings}
    assert its["nodes: 2"] == lines["#SBATCH -N 2 -t 30"]
    assert its["gpus_per_node"] == lines["#SBATCH --gres=gpu:$2"]
    assert its["env.MODE: fast"] == lines["export MODE=fast"]


def test_lines_of_a_text_that_echo_itself_has_are_those_of_echo() -> None:
    text = "#!/bin/bash\n#SBATCH -N 2 -t 30\n#SBATCH --gres=gpu:2\nsrun --mpi=none -n 2 ./t"
    outer = f"#!/bin/bash\ncat <<E\n$1\n$2\n$3\n$4\nE\necho '{text}' > j.sh\nsbatch j.sh\n"
    found = convert(classified({"submit.sh": outer}), Options({}))
    its = {each.became: each.places[0].line for each in found.findings}
    assert (its["nodes: 2"], its["gpus_per_node: 2"]) == (9, 10)


def test_what_a_script_is_made_of_that_is_not_read_is_not_said_to_have_no_effect() -> None:
    """Which of its lines there are depends on what is not told, and so it is not followed."""
    text = '#!/bin/bash\nsize=($(grep size my.conf))\nmode=$1\nlet "n = size[0] / 4"\nseen=3\n'
    text += "echo '#!/bin/bash' > job_$$.sh\necho \"#SBATCH -N $n\" >> job_$$.sh\n"
    text += 'if [ "$(hostname)" = a ]; then\n  echo "srun ./a $mode" >> job_$$.sh\nfi\nsbatch job_$$.sh\n'
    found = convert(classified({"submit.sh": text}), Options({})).findings
    kinds = {
        line: each.kind
        for each in found
        for place in each.places
        for line in range(place.line, max(place.line, place.last) + 1)
    }
    assert {kinds.get(line) for line in (3, 4, 6, 7, 9)} == {"unread"}
    assert kinds[5] == "without effect"
    (written,) = (each for each in found if each.kind == "unread" and each.places[0].line == 6)
    assert "a line of the script that is submitted" in written.why


@pytest.mark.parametrize(
    "asks", ["NR=$(sbatch j.sh)", "NR=`sbatch --parsable j.sh`", "export NR=$(sbatch j.sh)"]
)
def test_the_job_itself_is_no_other_job_where_the_number_of_its_submission_is_kept(asks: str) -> None:
    lines = ("#!/bin/sh", "#SBATCH -J fit -N 2 -t 30", "srun --mpi=none ./t")
    made = "".join(f"echo '{line}' {'>>' if at else '>'} j.sh\n" for at, line in enumerate(lines))
    found = convert(classified({"s.sh": f"#!/bin/sh\n{made}{asks}\necho $NR\n"}), Options({}))
    assert loaded(found.job)["nodes"] == "2"
    assert not [each for each in found.findings if "it submits another job" in each.why]
