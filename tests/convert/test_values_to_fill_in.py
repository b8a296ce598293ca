"""Values that nobody has filled in, and what looks like them."""

from typing import Any

import pytest
import script_cases
from script_cases import ASK

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_WHOLE = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_IN_IMAGE = "srun --mpi=pmix --container-image=r.io/x:1 ./t"

_JOB = "#!/bin/bash\n#SBATCH -J x -N 2 --ntasks-per-node=8 --gres=gpu:8 -t 60\n"


def _of(text: str) -> tuple[dict[str, Any], Conversion]:
    found = convert(classified({"run.sub": text}), Options({}))
    return script_cases.loaded(found.job), found


def _asked(found: Conversion) -> set[str]:
    return {each.key for each in found.findings if each.kind == "question" and each.key}


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        ("--gres=gpu:your_own_gpu_per_node", {"gpus_per_node"}),
        ("--gpus-per-node=NUM_GPUS_TO_BE_SET", {"gpus_per_node"}),
        ("--gpus-per-node=@GPUS@:4", {"gpus_per_node"}),
        ("--job-name=<job-name>", {"name"}),
        ("--job-name={identifier}", {"name"}),
        ("--job-name=@NAME@", {"name"}),
        ("--job-name=XXX", {"name"}),
    ],
)
def test_an_option_that_is_to_be_filled_in_is_asked_for(options: str, keys: set[str]) -> None:
    _, before = _of(f"{_JOB}srun --mpi=pmix ./app\n")
    job = _JOB.replace("--gres=gpu:8 ", "") if "gpu" in options else _JOB
    _, found = _of(f"{job}#SBATCH {options}\nsrun --mpi=pmix ./app\n")
    assert not _asked(before)
    assert _asked(found) == keys


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        ("srun --mpi=pmix --container-image=/path/to/your/x.sqsh ./app", "image"),
        ("srun --mpi=pmix --container-image={image} ./app", "image"),
        ("srun --mpi=pmix --container-image=a/b:1 --container-mounts=/path/to/data:/data ./app", "mounts.0"),
        ("export DATA=@DATA_DIR@\nsrun --mpi=pmix ./app", "env.DATA"),
        ("export DATA=%DATA_DIR%\nsrun --mpi=pmix ./app", "env.DATA"),
        ("export DATA=#DATA_DIR#\nsrun --mpi=pmix ./app", "env.DATA"),
        ("export DATA=DATA_DIR_PLACEHOLDER\nsrun --mpi=pmix ./app", "env.DATA"),
        ("export DATA=/data/__PLACEHOLDER_RUN__\nsrun --mpi=pmix ./app", "env.DATA"),
        ("srun --mpi=pmix ./app WILL_BE_REPLACED", "command"),
        ("srun --mpi=pmix ./app --data=/path/to/data", "command"),
        ("srun --mpi=pmix ./app --user your_name", "command"),
        ("srun --mpi=pmix --container-image=image-name-here ./app", "image"),
        ("srun --mpi=pmix ./app --run=tag_goes_here", "command"),
        ("srun --mpi=pmix bash -c 'echo \"usage: app <data-set>\"; app <your-data>'", "command"),
    ],
)
def test_a_fact_that_is_to_be_filled_in_is_asked_for(lines: str, key: str) -> None:
    _, found = _of(f"{_JOB}{lines}\n")
    assert key in _asked(found)


@pytest.mark.parametrize(
    "word",
    [
        "from x import IMAGE_PLACEHOLDER",
        "{script}",
        "--log=run.{rank}.txt",
        'off"{a}"',
        "[DATA_DIR]",
        "/scratch/XXX/a",
        "...",
    ],
)
def test_a_word_that_a_program_may_know_is_carried_and_said(word: str) -> None:
    job, found = _of(f"{_JOB}srun --mpi=pmix ./app '{word}'\n")
    assert job["command"] == ["./app", word]
    assert any(each.what.startswith("command:") for each in found.findings if each.kind == "question")


@pytest.mark.parametrize(
    "word",
    [
        *("s#IN#OUT#", "a#B#", "##TOP##", "#b#"),
        *("<|endoftext|>", "<s>", "a@b.org", "100%", "%j_%A%a", "youreka", "/data/pathto/x", "./here/...dat"),
        *('print(f"at {folder}")', r"rf\"{a} and {b}\""),
        *(
            "s/SEED_PLACEHOLDER/7/",
            "s|A_PLACEHOLDER|b|",
            "/# A_PLACEHOLDER/d",
            "NO_PLACEHOLDERS",
            "--placeholder",
        ),
        *(
            'echo "Usage: get <repo_name>"',
            "# usage: get <repo-name>",
            "from-here",
            "where_image",
            "name-hereafter",
        ),
        *("user@HOST", "xx", "exxxtra", "a.{1..3}x", "the_member", "[0]", "[A]", "1<2"),
    ],
)
def test_a_word_that_nobody_fills_in_is_only_carried(word: str) -> None:
    job, found = _of(f"{_JOB}srun --mpi=pmix ./app '{word}'\n")
    assert job["command"] == ["./app", word]
    assert not [each for each in found.findings if each.kind == "question"]


def test_a_variable_of_a_container_and_a_folder_in_quotes_are_no_redirections() -> None:
    mounts = '-v "<PATH_TO>/x":/data'
    line = f"docker run --gpus all {mounts} -e KEY=<your-key> a.io/b/c:1 torchrun --nproc_per_node=8 t.py"
    job, found = _of(f"{_JOB}{line}\n")
    assert job["image"] == "a.io/b/c:1"
    assert {"mounts.0", "env.KEY"} <= _asked(found)


def test_a_manifest_that_is_to_be_filled_in_is_asked_for() -> None:
    text = """\
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  template:
    spec:
      containers:
        - name: x
          image: nvcr.io/your-org/x:1
          command: [python, WILL_BE_REPLACED]
          resources: {limits: {nvidia.com/gpu: 8}}
"""
    found = convert(classified({"job.yaml": text}), Options({}))
    assert {"image", "command"} <= _asked(found)


@pytest.mark.parametrize(
    ("gres", "other"), [("gpu:", ""), ("gpu:a100:", ""), ("gpu:,lscratch:9", "lscratch:9")]
)
def test_gpus_without_a_number_are_asked_for_and_no_other_resource(gres: str, other: str) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 -t 60\n#SBATCH --gres={gres}\nsrun --mpi=pmix ./app\n"
    )
    _, found = _of(text)
    assert "gpus_per_node" in _asked(found)
    told = [each.what for each in found.findings if "whose name is not gpu" in each.why]
    assert told == ([f"--gres={other}"] if other else [])


@pytest.mark.parametrize(
    "option",
    ["--gres=gpu:a100:4,gpu:v100:2", "--gpus-per-node=a100:4,v100:2", "--gpus=a100:8,v100:4"],
)
def test_gpus_of_several_kinds_are_asked_for_and_not_told_as_one_kind(option: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 -t 60\n#SBATCH {option}\nsrun --mpi=pmix ./app\n"
    _, found = _of(text)
    assert "gpus_per_node" in _asked(found)
    assert "gpu_type" not in found.job


def test_the_job_files_own_word_for_a_trial_is_not_to_be_filled_in() -> None:
    job, found = _of(f"{_WHOLE}for i in 1 2 3; do\n  {_IN_IMAGE} |& tee log-$i.txt\ndone\n")
    assert job["trials"]["log"] == "log-{trial}.txt"
    assert not [each for each in found.findings if "fill in" in each.why]


@pytest.mark.parametrize("mount", ["/a:/__PATH__", "__CLAIM__:/data"])
def test_a_part_of_a_mount_that_nobody_filled_in_is_asked_for(mount: str) -> None:
    job, _ = _of(f"{_WHOLE}{_IN_IMAGE.replace(' ./t', '')} --container-mounts={mount} ./t\n")
    assert job["mounts"] == [ASK]


def test_a_variable_that_is_to_be_filled_in_is_asked_for_in_the_command_alone() -> None:
    line = (
        "srun --mpi=none $TODO_YOUR_APPTAINER_COMMAND --pwd /w $TODO_YOUR_IMAGE python3 $TODO_YOUR_RUN_FILE"
    )
    job, found = _of(f"{_WHOLE}{line}\n")
    assert job["command"] == ASK
    assert "inherit" not in job
    told = {each.name: each.told for each in found.launch}
    assert told["image"] == "none, unless the command, which is asked for, starts a container"


def test_the_word_of_a_here_document_is_not_to_be_filled_in() -> None:
    step = 'srun -n1 bash -c "cat <<EOT > c.yaml\na: b\nEOT"'
    job, found = _of(f"{_WHOLE}{step}\nsrun --mpi=none ./t\n")
    assert (job["command"], ASK in str(job)) == (["./t"], False)
    assert not [each for each in found.findings if "filled in" in each.why]


@pytest.mark.parametrize(("host", "said"), [("<gpu-node-name>", True), ("gpu-node-7", False)])
def test_a_hint_for_the_site_that_is_to_be_filled_in_is_said(host: str, said: bool) -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: x}}
spec:
  nodeSelector: {{kubernetes.io/hostname: "{host}"}}
  containers: [{{name: x, image: "a/x:1", command: [./t]}}]
"""
    found = convert(classified({"pod.yaml": text}), Options({}))
    told = [each.what for each in found.findings if host in each.why and "filled in" in each.why]
    assert told == (["nodelist of the site"] if said else [])


@pytest.mark.parametrize(
    ("tag", "asked"),
    [("IMAGE_TAG", True), ("VERSION", True), ("BUILD_NUMBER", True), ("STABLE", False), ("24.05-PY3", False)],
)
def test_the_tag_of_an_image_that_is_the_name_of_one_is_asked_for(tag: str, asked: bool) -> None:
    job, found = _of(f"{_WHOLE}srun --mpi=pmix --container-image=reg.io/wind/solver:{tag} ./t\n")
    assert ("image" in _asked(found), job["image"] == ASK) == (asked, asked)


@pytest.mark.parametrize(
    ("value", "asked"),
    [('<node address like "10.1.2.3">', True), ("<port, e.g. '9000'>", True), ('a < b like "c"', False)],
)
def test_words_with_an_example_in_quotes_are_to_be_filled_in(value: str, asked: bool) -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: wind}}
spec:
  containers:
  - name: wind
    image: reg.io/wind:1
    command: [./t]
    env:
    - name: STORE
      value: {value}
"""
    found = convert(classified({"pod.yaml": text}), Options({}))
    assert _asked(found) == ({"env.STORE"} if asked else set())


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("echo 'look in with: kubectl exec -it <pod-name> -- sh'", False),
        ('echo "look in: kubectl exec <pod-name>" && ./wind', False),
        ('echo -e "kubectl exec <pod-name>" >&2; ./wind', False),
        ("echo '<pod-name>' > hosts; ./wind", True),
        ("echo '<pod-name>' | ./wind", True),
        ('echo "$(./wind <pod-name>)"', True),
        ("./wind --echo '<pod-name>'", True),
    ],
)
def test_what_a_text_says_to_people_is_nobodys_to_fill_in(line: str, asked: bool) -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: wind}}
spec:
  containers:
  - name: wind
    image: reg.io/wind:1
    command: [bash, -c]
    args:
    - |
      cd /wind
      {line}
      ./wind
"""
    found = convert(classified({"pod.yaml": text}), Options({}))
    assert _asked(found) == ({"command"} if asked else set())
