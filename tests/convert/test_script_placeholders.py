"""What whoever copies a script is to fill in is asked for, and is neither a name nor a redirection."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("words", "image"),
    [
        ("--container-image <path to docker image>", "${path_to_docker_image}"),
        ("--container-image=<registry/image:tag> --label", "${registry_image_tag}"),
        ("--container-image a/b:c <in >out", "a/b:c"),
        ("--container-image a/b:c --label < in > out", "a/b:c"),
        ("--container-image a/b:c --label <in 2>err", "a/b:c"),
    ],
)
def test_a_placeholder_is_a_variable_that_nobody_gave_and_no_redirection(words: str, image: str) -> None:
    found = convert(classified({"run.sub": f"#SBATCH -N 2\nsrun --mpi=none {words} ./t\n"}), Options({}))
    repaired = [(each.became, each.places[0].line) for each in found.findings if each.kind == "repaired"]
    asked = {each.key: each.why for each in found.findings if each.kind == "question"}
    if image.startswith("$"):
        assert image[2:-1] in asked["image"]
        assert repaired == [(image, 2)]
    else:
        assert f"\nimage: {image} " in found.job
        assert not repaired


@pytest.mark.parametrize(
    "value", ["<partition>", "{ partition }", "{partition}", "<your partition>", "$NAME", "${NAME}"]
)
def test_a_name_that_is_to_be_filled_in_is_no_name(value: str) -> None:
    text = (
        f"#SBATCH -N 2 -t 5 --ntasks-per-node=8\n#SBATCH -p {value}\n#SBATCH -A team\nsrun --mpi=none ./t\n"
    )
    found = convert(classified({"run.sub": text}), Options({}, site="here"))
    assert "account: team" in found.job
    assert "partition" not in found.job
    assert [each.places[0].line for each in found.findings if "sites.NAME.partition" in each.todo] == [2]


_TEMPLATE = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 5
export MODE={{ mode }}
DATA=<data folder>  # yours
ARGS=(
  --lr 1
  {{ PARAMETERS | indent(2) }}
)
awk '{{ next }}' hosts > names
srun --mpi=none --container-image=a/b:1 --container-mounts=$DATA:/data ./t "${ARGS[@]}"
"""


def test_what_a_template_leaves_open_is_asked_for_and_taken_from_no_shell() -> None:
    found = convert(classified({"run.sub": _TEMPLATE}), Options({}))
    asked = {each.key: each.why for each in found.findings if each.kind == "question" and each.key}
    assert asked.keys() == {"env.MODE", "mounts.0", "command"}
    assert "${PARAMETERS}" in asked["command"]
    assert "inherit" not in found.job
    repaired = {each.places[0].line: each.became for each in found.findings if each.kind == "repaired"}
    assert repaired == {3: "${mode}", 4: "${data_folder}", 7: "${PARAMETERS}"}
    assert "nodes: 2" in found.job


def test_what_was_filled_in_is_in_the_job() -> None:
    given = {"mode": "fast", "data_folder": "/d", "PARAMETERS": "--wd 2"}
    found = convert(classified({"run.sub": _TEMPLATE}), Options(given))
    assert "- /d:/data" in found.job
    assert "MODE: fast" in found.job
    assert '--lr, "1", --wd, "2"' in found.job


def test_a_variable_of_the_name_that_is_to_be_filled_in_is_the_scripts_own() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gres=gpu:[[GPUS]] -t 5\nIMAGE=[[IMAGE]]\n"
        "if [[ $X == 1 ]]; then echo [[:digit:]]; fi\nsrun --mpi=none --container-image=$IMAGE ./t\n"
    )
    found = convert(classified({"run.sub": text}), Options({}))
    asked = {each.key for each in found.findings if each.kind == "question" and each.key}
    assert asked == {"image", "gpus_per_node"}
    found = convert(classified({"run.sub": text}), Options({"IMAGE_VALUE": "a/b:1"}))
    assert "image: a/b:1" in found.job
    assert "env:" not in found.job


def test_options_behind_those_that_are_to_be_filled_in_are_read() -> None:
    text = "#!/bin/bash\n#SBATCH <YOUR OPTIONS> --nodes=2 --ntasks-per-node=8\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert "nodes: 2 " in found.job
    assert "ranks_per_node: 8 " in found.job
    assert [each.what for each in found.findings if each.kind == "repaired"] == ["<YOUR OPTIONS>"]


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("D=/proj/<my folder>/work\nsrun --mpi=none ./t $D", ["my_folder"]),
        ("cd /proj/<user>/work\nsrun --mpi=none ./t", ["user"]),
        ("srun --mpi=none ./select <executable> <more options>", ["executable", "more_options"]),
        ("srun --mpi=none ./t \\\n  --lr 1 \\\n  <options>  # yours", ["options"]),
        ("OMP_NUM_THREADS=2 srun --mpi=none ./t <case>", ["case"]),
        ("time mpirun -np 16 ./t <case>", ["case"]),
        ("srun --mpi=none ./t <in >out", []),
        ("srun --mpi=none ./t /in/<a>b", ["a"]),
        ("cat <in> out\nsrun --mpi=none ./t", []),
        ("cat > t.html << E\n<b>\n<i> <b> <p>\nE\nsrun --mpi=none ./t", []),
        ("echo '<b>'\nsrun --mpi=none ./t '<b>'", []),
    ],
)
def test_a_piece_of_a_path_and_an_argument_are_to_be_filled_in(lines: str, names: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 5\n{lines}\n"
    found = convert(classified({"run.sub": text}), Options({}))
    repaired = [each.became for each in found.findings if each.kind == "repaired"]
    assert sorted(repaired) == [f"${{{name}}}" for name in sorted(names)]
    asked = [each.why for each in found.findings if each.key in ("command", "workdir")]
    assert all(any(f"{{{name}}}" in why for why in asked) for name in names)


@pytest.mark.parametrize(
    ("value", "is_open"),
    [
        ("<PATH_TO>/launch", True),
        ("<some dir>", True),
        ("<your-model>", True),
        ("/data/x", False),
        ("<eos>", False),
        ("<b>a_b</b>", False),
        ("<s>[INST]", False),
    ],
)
def test_what_is_to_be_filled_in_is_so_in_quotes_too(value: str, is_open: bool) -> None:
    lines = f'WORK="{value}"  # yours\nsrun --mpi=none ./t --in "$WORK/x"\n'
    found = convert(classified({"run.sub": f"#SBATCH -N 2 --ntasks-per-node=8\n{lines}"}), Options({}))
    assert (
        bool([each for each in found.findings if each.key == "command" and each.kind == "question"])
        is is_open
    )
    assert (value in found.job) is not is_open


@pytest.mark.parametrize(
    "test",
    [
        'if [ -z "$IMAGE" ]; then\n  echo no\n  exit 1\nfi',
        "[[ -n $IMAGE ]] || exit 1",
        '[[ -z "${IMAGE:-}" ]] && { echo no; exit 2; }',
        'if [ "$IMAGE" == "" ]; then exit 1; fi',
    ],
)
@pytest.mark.parametrize("line", ['IMAGE=""', "export IMAGE=''", "IMAGE=  # yours"])
def test_what_a_template_leaves_empty_and_needs_is_to_be_filled_in(line: str, test: str) -> None:
    head = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 5\n"
    text = f"{head}{line}\n{test}\nsrun --mpi=pmix --container-image=$IMAGE ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert 'image: "<ask: ' in found.job
    assert "mpi: pmix" in found.job
    name = "IMAGE" if "export" in line else "IMAGE_VALUE"
    assert "image: a/b:1" in convert(classified({"run.sub": text}), Options({name: "a/b:1"})).job


def test_what_is_empty_and_not_needed_stays_so() -> None:
    text = (
        "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 5\nMORE=\nSTOP=1\n"
        '[ -z "$MORE" ] || echo $MORE\nif [ -n "$STOP" ]; then exit 1; fi\nsrun --mpi=pmix ./t $MORE\n'
    )
    found = convert(classified({"run.sub": text}), Options({}))
    assert not [each for each in found.findings if each.kind == "repaired"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("mkdir -p <RESULT_DIR>plots", "RESULT_DIR"),
        ("cp t.log <RESULT_DIR>/", "RESULT_DIR"),
        ("conda activate <the env>", "the_env"),
        ("module load <MPI>  # yours", "MPI"),
        ("cat <<E\n  <LAST_STEP>5</LAST_STEP>\nE", ""),
        ("cat <<E\n  <grid>\nE", ""),
        ("sort <ORDER >sorted", ""),
    ],
)
def test_beside_the_run_too_a_shell_takes_no_redirections_of_it(line: str, name: str) -> None:
    text = f"#SBATCH -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 5\n{line}\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": f"#!/bin/bash\n{text}"}), Options({}))
    repaired = [each.became for each in found.findings if each.kind == "repaired"]
    assert repaired == ([f"${{{name}}}"] if name else [])
    assert "> plots" not in found.job


_OF_GO = """#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 5
docker ps --format "{{.Names}} {{ .Image }}"
{{- if .Values.warm }}
export WARM=1
{{- end }}
srun --mpi=none --container-image="{{ include "chart.image" . }}" \\
  --container-mounts={{ .Values.data | quote }}:/data,{{ default "/tmp" $root }}:/tmp ./t {{- .Values.steps }}
"""


def test_what_go_puts_into_a_template_is_one_word() -> None:
    found = convert(classified({"run.sub": _OF_GO}), Options({}))
    repaired = [each.became for each in found.findings if each.kind == "repaired"]
    names = ["include_chart_image", "Values_data", "default_tmp_root", "Values_steps"]
    assert repaired == [f"${{{name}}}" for name in names]
    asked = {each.key: each.why for each in found.findings if each.kind == "question" and each.key}
    assert asked.keys() == {"image", "mounts.0", "mounts.1", "command"}
    assert "include_chart_image" in asked["image"]
    assert ":/data" in asked["mounts.0"]
    given = {
        "include_chart_image": "a/b:1",
        "Values_data": "/d",
        "default_tmp_root": "/r",
        "Values_steps": "9",
    }
    found = convert(classified({"run.sub": _OF_GO}), Options(given))
    assert "image: a/b:1 " in found.job
    assert "- /d:/data " in found.job


def test_what_stands_in_quotes_no_shell_takes_for_redirections() -> None:
    lines = 'srun --mpi=none ./t --name "<your name>"\nsrun --mpi=none ./t --name <your_name>\n'
    found = convert(classified({"run.sub": f"#SBATCH -N 2\n{lines}"}), Options({}))
    said = {
        each.places[0].line: "redirections" in each.why for each in found.findings if each.kind == "repaired"
    }
    assert said == {2: False, 3: True}


@pytest.mark.parametrize(
    "usage",
    [
        'echo "Usage: $0 --input <in_dir> and --delay <seconds>" >&2',
        'printf "%s --image <your image>, --out <out dir>\\n" "$0"',
        "cat <<EOF\n  go.sh --nodes <number of nodes> --image <image>\nEOF",
        "cat >&2 <<'END'\nwith --data <folder>\n  --image <image>\nEND",
        "cat <<-END >&2\n\twith --data <folder>\n\tEND",
    ],
)
def test_what_a_script_says_to_those_who_call_it_is_nothing_to_fill_in(usage: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2\nif [ $# -lt 1 ]; then\n{usage}\nexit 1; fi\nsrun --mpi=none ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert not [each for each in found.findings if each.kind == "repaired"]
    assert 'command: ["./t"]' in found.job


@pytest.mark.parametrize(
    "writes",
    [
        'echo "#SBATCH -N 2" > j.sh; echo "" >> j.sh\necho "srun {}" >> j.sh',
        "cat > j.sh <<EOF\n#SBATCH -N 2\nsrun {}\nEOF",
        "cat <<EOF > j.sh\n#SBATCH -N 2\nsrun {}\nEOF",
        "{{ cat <<EOF\n#SBATCH -N 2\nsrun {}\nEOF\n}} > j.sh",
    ],
)
def test_what_it_writes_into_another_script_is_something_to_fill_in(writes: str) -> None:
    line = "--mpi=none --container-image <path to image> ./t"
    found = convert(classified({"go.sh": f"#!/bin/bash\n{writes.format(line)}\nsbatch j.sh\n"}), Options({}))
    repaired = [each.became for each in found.findings if each.kind == "repaired"]
    assert repaired == ["${path_to_image}"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("{{ '--gpus all' if node.gpus else '' }}", "gpus_all_if_node_gpus_else"),
        ('{{- "--gpus 2" if fast else "" -}}', "gpus_2_if_fast_else"),
        ("{{ options if fast else '' }}", "options_if_fast_else"),
        ("{{ settings['docker'].options | trim }}", "settings_docker_options"),
        ("{{ '2' if fast else '1' }}", "value_2_if_fast_else_1"),
    ],
)
def test_what_a_template_decides_is_no_word_of_the_command_and_no_image(written: str, name: str) -> None:
    text = f"docker run {written} -v /d:/d lab.io/team/t:1 ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert {each.name: each.told for each in found.launch}["image"] == "lab.io/team/t:1"
    assert [each.became for each in found.findings if each.kind == "repaired"] == [f"${{{name}}}"]
    assert any(f"which options of docker {name} holds" in each.why for each in found.findings)


def test_an_expression_of_a_template_is_kept_in_a_text_of_another_program() -> None:
    text = "awk '{{ n if n else 0 }}' a\nsrun -N 2 -n 2 --mpi=none ./t\n"
    found = convert(classified({"go.sh": text}), Options({}))
    assert not [each for each in found.findings if each.kind == "repaired"]


def test_what_slurm_is_asked_for_between_the_lines_of_a_template_counts() -> None:
    text = (
        '{% extends "base.sh" %}\n{% block head %}\n{% set many = jobs|map(attribute="many")|sum %}\n'
        "{{ super() -}}\n#SBATCH -t 3:00:00\n{% if many %}\n#SBATCH --ntasks={{ many }}\n{% endif %}\n"
        "{% endblock %}\nsrun --mpi=none ./solve\n"
    )
    found = convert(classified({"head.sh": text}), Options({}))
    assert [each for each in found.findings if each.kind == "defect"] == []
    job = loaded(found.job)
    assert job["time"] == "3:00:00"
    assert "--ntasks={{many}}" in found.job


@pytest.mark.parametrize(
    ("line", "key", "name"),
    [
        ("export LD_LIBRARY_PATH=<prefix>/lib:$LD_LIBRARY_PATH", "env.LD_LIBRARY_PATH", "prefix"),
        ("export DATA=<root>/train/<year>", "env.DATA", "root"),
        ("export REPLICA=<site>-1", "env.REPLICA", "site"),
    ],
)
def test_a_value_that_begins_with_something_to_fill_in_is_asked_for(line: str, key: str, name: str) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\nmpirun -np 4 ./t\n"}), Options({}))
    assert f"${{{name}}}" in [each.became for each in found.findings if each.kind == "repaired"]
    assert [each.kind for each in found.findings if each.key == key] == ["question"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("mpirun -np <RANKS> ./flow tank.case", ["${RANKS}"]),
        ("mpiexec -n <ranks> -ppn <each> ./flow tank.case", ["${ranks}", "${each}"]),
        ("mpirun -np 4 ./flow -n <tank.in >tank.out", []),
    ],
)
def test_a_number_of_ranks_to_fill_in_takes_nothing_of_the_command(line: str, names: list[str]) -> None:
    found = convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({}))
    assert [each.became for each in found.findings if each.kind == "repaired"] == names
    assert "./flow" in found.job
    assert "its input" not in " ".join(each.what for each in found.findings) or not names
