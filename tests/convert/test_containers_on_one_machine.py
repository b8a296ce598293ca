"""What a container of docker on one machine has: ranks that a text in it starts, and GPUs that are let in."""

import pytest
from script_cases import loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _converted(line: str) -> Conversion:
    return convert(classified({"go.sh": f"#!/bin/bash\n{line}\n"}), Options({}))


@pytest.mark.parametrize("text", ["mpirun -np 4 ./t", "\\\n  mpirun \\\n  -np 4 \\\n  ./t\n"])
def test_a_text_that_is_one_mpirun_is_read_as_it(text: str) -> None:
    told = {each.key: each.became for each in _converted(f"docker run lab/t:1 sh -c '{text}'").findings}
    assert (told["mpi"], told["command"]) == ("mpi: pmix", "command: ./t")


@pytest.mark.parametrize("starter", ["torchrun --nproc_per_node 4", "mpirun -np 4"])
def test_ranks_that_a_longer_text_starts_are_told(starter: str) -> None:
    found = _converted(f"docker run --gpus all lab/t:1 bash -c 'cd /w; nvidia-smi; {starter} ./t'").findings
    assert any("is started once on each node" in each.what for each in found)
    plain = _converted("docker run --gpus all lab/t:1 bash -c 'cd /w; nvidia-smi; ./t'").findings
    assert not any("is started once on each node" in each.what for each in plain)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("docker run", "none in"),
        ("docker run --gpus all", "all of a node's"),
        ("nvidia-docker run", "all of a node's"),
        ("podman run --device nvidia.com/gpu=all", "all of a node's"),
        ("docker run $OPTIONS", "all of a node's"),
        ("docker run --gpus device=$1", "--gpus device=${1} names"),
        ("NV_GPU=$1 nvidia-docker run", "NV_GPU=${1} names"),
        ("docker run --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=$1", "NVIDIA_VISIBLE_DEVICES=${1} names"),
    ],
)
def test_gpus_that_are_let_in(how: str, said: str) -> None:
    (gpus,) = (each for each in _converted(f"{how} lab/t:1 ./t").findings if each.what == "GPUs")
    assert said in gpus.why


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("docker run -e NVIDIA_VISIBLE_DEVICES=none", "0 on each node"),
        ("docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=void", "0 on each node"),
        ("docker run --gpus all -e NVIDIA_VISIBLE_DEVICES=none", "not determined"),
    ],
)
def test_gpus_that_are_kept_out(how: str, told: str) -> None:
    assert {each.name: each.told for each in _converted(f"{how} lab/t:1 ./t").launch}["GPUs"] == told


def test_a_container_without_a_command_has_its_variables() -> None:
    found = _converted("B=two\ndocker run --gpus all -e A=1 -e B=$B -e HF_TOKEN lab/t:1")
    assert {each.name: each.told for each in found.launch}["environment"] == "A, B, HF_TOKEN"
    assert any(each.became == "env.B: two" for each in found.findings)


@pytest.mark.parametrize("other", ["docker run --gpus all -v /d:/d lab/u:1 ./serve", "podman run lab/u:1"])
def test_another_container_is_said_and_not_left_out(other: str) -> None:
    found = _converted(f"{other}\ndocker run lab/t:1 bash -c './t; ./t2'")
    (said,) = (each for each in found.findings if "a container of its own" in each.why)
    assert (said.what.partition(" ")[0], said.places[0].line) == ("lab/u:1", 2)
    assert said.why.endswith("told of line 3 of go.sh")


@pytest.mark.parametrize(
    "text",
    [
        "docker run -d --name a lab/t:1 sleep infinity\ndocker exec a ./t",
        "docker pull lab/t:1\ndocker run --rm lab/t:1 nvidia-smi\ndocker run lab/t:1 ./t",
        "docker run --gpus all -it lab/t:1 bash",
    ],
)
def test_what_one_container_does_is_no_other(text: str) -> None:
    assert not any("of its own" in each.why for each in _converted(text).findings if each.kind == "left")


def test_each_program_in_an_image_of_singularity_is_said() -> None:
    found = _converted(
        "singularity exec a.sif ls /d\nsingularity exec a.sif ./t 1\nsingularity exec b.sif ./t 2"
    )
    said = {each.what: each.why for each in found.findings if "a launch of its own" in each.why}
    assert list(said) == ["./t 1"]
    assert said["./t 1"].endswith("told of line 4 of go.sh")


def test_a_container_whose_output_is_a_value_is_the_jobs_where_no_other_is() -> None:
    head = "#!/bin/bash\n#SBATCH --gres=gpu:1 -t 9\n"
    own = "LOG=$(docker run --rm -v /a:/b lab/t:1 python main.py)\n"
    job = loaded(convert(classified({"go.sh": f"{head}{own}echo $LOG\n"}), Options({})).job)
    assert (job["image"], job["mounts"], job["nodes"]) == ("lab/t:1", ["/a:/b"], "1")
    assert job["command"] == ["python", "main.py"]
    other = loaded(
        convert(classified({"go.sh": f"{head}{own}docker run lab/u:1 ./t $LOG\n"}), Options({})).job
    )
    assert other["image"] == "lab/u:1"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("cat /out/log", "only shows something"),
        ("cat /out/log > log", "not part of the ranks' command"),
        ("sed -i s/a/b/ /x", "not part of the ranks' command"),
        ("nvidia-smi", "a test of the machine"),
    ],
)
def test_what_only_shows_something_in_a_container_is_no_test_of_the_machine(words: str, why: str) -> None:
    start = "docker run -d --gpus 4 --name c reg.io/a/b:1 sleep infinity"
    text = f"#!/bin/bash\n#SBATCH -N 1\n{start}\ndocker exec c {words}\ndocker exec c mpirun -np 4 ./t\n"
    found = convert(classified({"run.sub": text}), Options({}))
    (its,) = [each for each in found.findings if each.what.startswith("docker exec") and each.kind == "left"]
    assert why in its.why


def test_gpus_of_a_container_that_no_line_starts_are_not_said_to_be_let_in() -> None:
    for before, said in (
        ("", "the container was there before"),
        ("docker run -d --gpus all --name t", "all of a node's"),
    ):
        start = f"{before} lab/t:1" if before else "true"
        (gpus,) = (each for each in _converted(f"{start}\ndocker exec t ./t").findings if each.what == "GPUs")
        assert said in gpus.why


def test_the_command_of_an_image_that_is_started_over_ssh_has_a_name_in_questions() -> None:
    found = _converted("ssh host9 docker run -d lab/t:1").findings
    (asked,) = (each for each in found if each.key == "nodes")
    assert (asked.what, asked.why.startswith("how many nodes: the image's own command is started on")) == (
        "the image's own command",
        True,
    )
    assert all(each.what for each in found if each.key.startswith("bind"))


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ("device=1", "asked for"),
        ("device=0", "1 on each node"),
        ("device=2,3", "asked for"),
        ("", "1 on each node"),
    ],
)
def test_containers_with_some_gpus_each_do_not_tell_those_of_a_node(second: str, told: str) -> None:
    runs = "".join(
        f"docker run -d {f'--gpus {each} ' if each else ''}lab.io/t:1 sleep infinity; "
        for each in ("device=0", second)
    )
    found = _converted(f"for h in n1 n2; do ssh $h '{runs}'; done")
    assert {each.name: each.told for each in found.launch}["GPUs"] == told
    asked = [each.why for each in found.findings if each.key == "gpus_per_node" and each.kind == "question"]
    assert all("--gpus device=0, --gpus device=" in each for each in asked)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ssh -p 22 bob@n1 {}", "the script reaches bob@n1 alone"),
        ("all=(n7); for h in ${{all[@]}}; do ssh $h {}; done", "the script reaches n7 alone"),
        ("ssh $HOST {}", "the script has a list of hosts"),
        ("ssh $HOST {}; ssh n1 {}", "the script has a list of hosts"),
        ("while read h; do ssh $h {}; done < hosts", "the script reads the hosts"),
    ],
)
def test_one_host_is_said_to_be_no_list(line: str, why: str) -> None:
    found = _converted(line.format(*["docker run -d lab.io/t:1 sleep infinity"] * 2)).findings
    (asked,) = (each.why for each in found if each.key == "nodes")
    assert asked.startswith(f"how many nodes: {why}")


@pytest.mark.parametrize(
    ("folder", "where"),
    [
        ('$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)', "is"),
        ('$(dirname "$0")', "is"),
        ("$(pwd)", "was submitted"),
        ("$PWD", "was submitted"),
        ("./peat", "was submitted"),
    ],
)
def test_a_mount_of_the_scripts_own_folder_is_not_said_to_be_where_it_was_submitted(
    folder: str, where: str
) -> None:
    text = f'#!/bin/bash\nhere={folder}\ndocker run --gpus 2 -v "$here:/bog" lab/cut:2 ./turf\n'
    found = convert(classified({"cut.sh": text}), Options({})).findings
    [why] = [each.why for each in found if each.became.startswith("mounts.0: ")]
    assert why == f"relative paths start from the job file's folder: put it where the script {where}"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("${MORE[@]}", "some or none, as ${MORE} says"),
        ("${GPU_OPTIONS[@]}", "lets all of a node's in, and"),
        ("--gpus all ${MORE[@]}", "lets all of a node's in, and"),
        ("-v /data:/data", "told to let none in"),
    ],
)
def test_gpus_that_options_which_are_not_told_may_let_in(options: str, told: str) -> None:
    more = "if [ -d /b ]; then MORE+=(-v /b:/b); GPU_OPTIONS+=(--gpus all); fi"
    line = f"MORE=(-v /a:/a)\nGPU_OPTIONS=()\n{more}\ndocker run --rm {options} lab/t:1 ./t"
    asked = [each.why for each in _converted(line).findings if each.what == "GPUs"]
    assert len(asked) == 1
    assert told in asked[0]
