"""enroot start in place of Pyxis: its image, mounts and variables are the job's."""

from typing import Any

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 60\n"
_START = "srun --mpi=none enroot start"


def _converted(lines: str) -> Conversion:
    return convert(classified({"run.sub": f"{_HEAD}{lines}\n"}), Options({}))


def _job(lines: str) -> dict[str, Any]:
    return loaded(_converted(lines).job)


@pytest.mark.parametrize(
    ("before", "name", "image"),
    [
        (
            "enroot import -o /tmp/x.sqsh docker://h.org#a/b:1\nenroot create -n x /tmp/x.sqsh",
            "x",
            "h.org/a/b:1",
        ),
        (
            "enroot import docker://a/b:1\nenroot create a+b+1.sqsh",
            "a+b+1",
            {"ref": "a/b:1", "import": ASK},
        ),
        (
            "srun enroot import --output=/fs/x.sqsh docker://a/b:1\n"
            "srun bash -c 'enroot remove -f x; enroot create --name x /fs/x.sqsh'",
            "x",
            {"ref": "a/b:1", "import": "/fs"},
        ),
        ("enroot create -f --name=x /fs/x.sqsh", "x", "/fs/x.sqsh"),
        ("", "/fs/x.sqsh", "/fs/x.sqsh"),
        ("enroot create -n y /fs/x.sqsh", "x", ASK),
        ("", "$NAME", ASK),
    ],
)
def test_the_image_is_what_the_container_was_made_of(before: str, name: str, image: object) -> None:
    job = _job(f"{before}\n{_START} {name} ./t --x\nenroot remove -f x")
    assert (job["image"], job["command"]) == (image, ["./t", "--x"])
    assert not {"setup", "after"} & job.keys()


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("/fs/${SLURM_JOB_ID}_x.sqsh", "/fs"),
        ("/fs/$USER/images/x.sqsh", ASK),
        ("/fs/of-$USER/x.sqsh", ASK),
        ("$SCRATCH/x.sqsh", ASK),
        ("images/x.sqsh", ASK),
    ],
)
def test_the_folder_that_an_image_is_imported_to_is_asked_for_where_a_part_of_it_is_not_told(
    file: str, folder: str
) -> None:
    job = _job(f"enroot import -o {file} docker://a/b:1\nsrun --mpi=none --container-image={file} ./t")
    assert job["image"] == {"ref": "a/b:1", "import": folder}


@pytest.mark.parametrize(
    ("words", "container"),
    [
        ("", {"writable": "false", "entrypoint": "true"}),
        ("--rw -r", {"writable": "true", "remap_root": "true", "entrypoint": "true"}),
        ("-rw --rc ./rc", {"writable": "true", "remap_root": "true"}),
    ],
)
def test_switches_of_the_container(words: str, container: dict[str, str]) -> None:
    assert _job(f"{_START} {words} /fs/x.sqsh ./t")["container"] == container


@pytest.mark.parametrize(
    ("words", "mounts"),
    [
        ("--mount /a:/b -m/c:/d:ro", ["/a:/b", "/c:/d:ro"]),
        ("-m .:work:none:x-create=dir,bind,ro --mount=/data", [".:/work:ro", "/data:/data"]),
        ("--mount $DATA:/data", [ASK]),
    ],
)
def test_mounts(words: str, mounts: list[str]) -> None:
    assert _job(f"{_START} {words} /fs/x.sqsh ./t")["mounts"] == mounts


def test_only_what_env_names_reaches_the_command() -> None:
    found = _converted(f"export A=1 B=2\n{_START} -e A --env C=3 -e D /fs/x.sqsh ./t $E")
    job = loaded(found.job)
    assert job["env"] == {"A": "1", "C": "3"}
    assert sorted(job["inherit"]) == ["D", "E"]
    kept_back = [each.what for each in found.findings if each.kind == "without effect"]
    assert kept_back == ["B"]


@pytest.mark.parametrize("words", ["--conf c.sh", "--rc /rc", "--net", "--pid"])
def test_what_no_job_has_is_said(words: str) -> None:
    found = _converted(f"{_START} {words} /fs/x.sqsh ./t")
    assert [each.kind for each in found.findings if words in each.what] == ["left"]


def test_a_program_of_the_node_that_stays_in_the_command_is_said() -> None:
    found = _converted("srun --mpi=none numactl -N 0 enroot start /fs/x.sqsh ./t")
    assert loaded(found.job)["command"] == ["numactl", "-N", "0", "./t"]
    assert [each.what for each in found.findings if each.kind == "left"] == ["numactl ... enroot start"]


@pytest.mark.parametrize("start", ["mpirun -np 16", "srun --mpi=pmix env X=1"])
def test_who_starts_it_makes_no_difference(start: str) -> None:
    job = _job(f"{start} enroot start --mount /a:/b /fs/x.sqsh ./t")
    assert (job["image"], job["mounts"], job["command"]) == ("/fs/x.sqsh", ["/a:/b"], ["./t"])
    assert (job["nodes"], job["ranks_per_node"]) == ("2", "8")


def test_enroots_own_variables_are_its_switches() -> None:
    found = _converted(f"export ENROOT_ROOTFS_WRITABLE=y ENROOT_MOUNT_HOME=yes\n{_START} /fs/x.sqsh ./t")
    container = {"writable": "true", "mount_home": "true", "entrypoint": "true"}
    assert loaded(found.job)["container"] == container
    assert not [each for each in found.findings if each.kind == "without effect" and "ENROOT" in each.what]


def test_what_srun_hands_to_enroot_is_what_env_takes() -> None:
    job = _job("srun --mpi=none --export=ALL,A=1,B=2 enroot start -e A /fs/x.sqsh ./t")
    assert job["env"] == {"A": "1"}


def test_a_container_around_mpirun_is_that_of_its_ranks() -> None:
    job = _job("export A=1\nenroot start -m /d:/d -e B=2 x.sqsh mpirun -np 16 -x C=3 ./t")
    assert (job["image"], job["mounts"], job["env"]) == ("x.sqsh", ["/d:/d"], {"B": "2", "C": "3"})
    assert (job["ranks_per_node"], job["command"]) == ("8", ["./t"])


_FILLED = 'for v in $LIST; do MORE_{0}="$MORE_{0} --x $v"; done\nMORE_{0}=${{MORE_{0}:1}}\n'


@pytest.mark.parametrize("name", ["KWARGS", "MOUNTS", "ARGS"])
@pytest.mark.parametrize("more", ["", "--rw"])
def test_options_that_a_variable_holds_are_asked_for(name: str, more: str) -> None:
    lines = f"enroot create -n x-$ID /fs/x.sqsh\n{_FILLED.format(name)}{_START} $MORE_{name} {more} x-$ID ./t"
    found = _converted(lines)
    job = loaded(found.job)
    assert (job["image"], job["command"]) == ("/fs/x.sqsh", ["./t"])
    assert "mount_home" not in job["container"]
    asked = [each.why for each in found.findings if each.kind == "question" and "enroot start" in each.what]
    assert [f"MORE_{name}" in each and "mounts" in each for each in asked] == [True]


@pytest.mark.parametrize(
    "words", ["$WHICH --rw /fs/x.sqsh ./t", "--rw $WHICH /fs/x.sqsh ./t", "$WHICH -m /a:/b /fs/x.sqsh ./t"]
)
def test_a_word_before_an_option_or_an_image_is_no_container(words: str) -> None:
    found = _converted(f"{_START} {words}")
    job = loaded(found.job)
    assert (job["image"], job["command"]) == ("/fs/x.sqsh", ["./t"])
    assert [each for each in found.findings if each.kind == "question" and "WHICH" in each.what]


@pytest.mark.parametrize("start", ["srun --mpi=none singularity exec", "srun --mpi=none apptainer run"])
def test_options_of_singularity_that_a_variable_holds_are_asked_for_too(start: str) -> None:
    found = _converted(f"{start} --nv $BINDS /fs/x.sif ./t")
    said = [each.why for each in found.findings if "BINDS" in each.what]
    assert ["mounts and variables may be among them" in each for each in said] == [True]


_MADE = "enroot create --name box /fs/x.sqsh"
_TEXT = "export SEED=4\n./t --all\n"


@pytest.mark.parametrize("start", ["enroot start", _START])
@pytest.mark.parametrize("end", ["END", "'END'"])
@pytest.mark.parametrize("shell", ["", "bash", "bash -s"])
def test_a_text_is_read_by_the_shell_that_the_container_starts(start: str, end: str, shell: str) -> None:
    found = _converted(f"{_MADE}\n{start} -m /a:/b box {shell} <<{end}\n{_TEXT}END")
    job = loaded(found.job)
    assert (job["image"], job["mounts"], job["command"]) == ("/fs/x.sqsh", ["/a:/b"], ["bash", "-c", _TEXT])
    assumed = [each.became for each in found.findings if each.what == "the image's own command"]
    assert assumed == ([] if shell else ["command: bash"])


@pytest.mark.parametrize("start", ["enroot start", _START])
@pytest.mark.parametrize("read", ["", "</dev/null"])
def test_a_container_without_a_command_and_a_text_has_its_image_and_mounts(start: str, read: str) -> None:
    job = _job(f"{_MADE}\n{start} -m /a:/b box {read}")
    assert (job["image"], job["mounts"], job["command"]) == ("/fs/x.sqsh", ["/a:/b"], ASK)


@pytest.mark.parametrize("start", ["enroot start", _START])
@pytest.mark.parametrize("shell", ["", "bash"])
def test_a_script_that_the_container_reads_from_a_file_is_asked_for(start: str, shell: str) -> None:
    found = _converted(f"{_MADE}\n{start} -m /a:/b box {shell} < steps.txt")
    job = loaded(found.job)
    assert (job["image"], job["mounts"], job["command"]) == ("/fs/x.sqsh", ["/a:/b"], ASK)
    assert ["steps.txt" in each.why for each in found.findings if each.kind == "question"] == [True]
