"""A job file means what its writer meant, and each value is found at its place in the file."""

import pytest

from hpclaunch.spec.job import Bind, ContainerSpec, Job, MountSpec, SiteHints
from hpclaunch.spec.read import parse_job, read_job

LEAST = "name: a\ncommand: [echo]\n"

FULL = """\
version: 1
name: resnet50
image: nvcr.io/nvidia/mxnet:21.09-py3   # a comment
command: [./run_and_time.sh, "two words"]
workdir: /workspace
nodes: 2
gpus_per_node: 8
ranks_per_node: 4
mpi: pmix
rendezvous: torch
time: 00:30:00
env: {NCCL_DEBUG: INFO}
inherit: [HTTPS_PROXY]
secrets: [WANDB_API_KEY]
mounts:
  - imagenet:/data:ro
  - {source: ./out, target: /out, read_only: yes}
container: {mount_home: on, env: [PATH]}
bind: {cpus: ["0-3", "4-7", 8, "12-15,20"], smt: false, memory: none, hcas: all}
sites:
  superpod-a100: {account: adas, qos: null, sbatch: [--signal=B:USR1@60]}
"""


def job_of(text: str) -> Job:
    return parse_job(text, "job.yaml", "/jobs").value


def test_every_key_of_a_job_is_read():
    assert job_of(FULL) == Job(
        name="resnet50",
        command=("./run_and_time.sh", "two words"),
        image="nvcr.io/nvidia/mxnet:21.09-py3",
        workdir="/workspace",
        nodes=2,
        gpus_per_node=8,
        ranks_per_node=4,
        mpi="pmix",
        rendezvous="torch",
        time=30,
        env={"NCCL_DEBUG": "INFO"},
        inherit=("HTTPS_PROXY",),
        secrets=("WANDB_API_KEY",),
        mounts=("imagenet:/data:ro", MountSpec(target="/out", source="./out", read_only=True)),
        container=ContainerSpec(mount_home=True, env=("PATH",)),
        bind=Bind(cpus=("0-3", "4-7", "8", "12-15,20"), smt=False, memory="none", hcas="all"),
        sites={"superpod-a100": SiteHints(account="adas", sbatch=("--signal=B:USR1@60",))},
        directory="/jobs",
    )


@pytest.mark.parametrize(
    "text",
    [
        "1.10",
        "no",
        "yes",
        "0o17",
        "017",
        "1_000",
        "1:30",
        "1e3",
        "0x1F",
        "2001-01-01",
        ".inf",
        "+1",
        "=",
        "on",
        "y",
    ],
)
def test_unquoted_text_stays_as_it_was_written(text):
    job = job_of(
        f"name: a\ncommand: [echo, {text}]\nenv:\n  X: {text}\nsites: {{here: {{account: {text}}}}}\n"
    )
    assert job.env == {"X": text}
    assert job.command == ("echo", text)
    assert job.sites["here"].account == text


def test_names_that_yaml_takes_for_booleans_stay_names():
    assert job_of(LEAST + "env: {ON: 1, NO: 2, Y: 3, null: 4}\n").env == {
        "ON": "1",
        "NO": "2",
        "Y": "3",
        "null": "4",
    }


def test_a_name_written_as_a_number_keeps_its_last_zero():
    assert job_of("name: 1.10\ncommand: true\n").name == "1.10"


@pytest.mark.parametrize("nothing", ["", "~", "null", "Null", "NULL"])
def test_no_value_leaves_an_optional_key_unset(nothing):
    job = job_of(
        LEAST + f"image: {nothing}\ntime: {nothing}\nenv: {nothing}\nbind: {nothing}\nmounts: {nothing}\n"
    )
    assert job == Job(name="a", command=("echo",), directory="/jobs")


def test_quoted_null_is_text():
    assert job_of(LEAST + "env: {A: 'null', B: \"~\", C: ''}\n").env == {"A": "null", "B": "~", "C": ""}


def test_block_scalars_are_kept_line_by_line():
    job = job_of("name: a\ncommand: |\n  set -e\n  echo  'a  b'\nenv:\n  X: |-\n    one\n\n    two\n")
    assert job.command == "set -e\necho  'a  b'\n"
    assert job.env == {"X": "one\n\ntwo"}


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("true", True),
        ("YES", True),
        ("on", True),
        ("y", True),
        ("False", False),
        ("no", False),
        ("Off", False),
    ],
)
def test_booleans_in_every_spelling(spelled, value):
    assert job_of(LEAST + f"bind: {{smt: {spelled}}}\n").bind.smt is value


def test_merge_keys_and_aliases():
    job = job_of(
        "name: a\ncommand: true\n"
        "sites:\n"
        "  a: &a {account: one, partition: p}\n"
        "  b: &b {<<: *a, account: two}\n"
        "  c: {<<: [*b, *a], qos: high}\n"
        "  d: *b\n"
    )
    assert job.sites["b"] == SiteHints(account="two", partition="p")
    assert job.sites["c"] == SiteHints(account="two", partition="p", qos="high")
    assert job.sites["d"] == job.sites["b"]


def test_crlf_and_a_byte_order_mark_change_nothing(tmp_path):
    plain, windows = tmp_path / "plain.yaml", tmp_path / "windows.yaml"
    plain.write_text(FULL)
    windows.write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    read, other = read_job(plain), read_job(windows)
    assert read.value == other.value
    assert read.marks == other.marks


def test_the_directory_is_that_of_the_file_and_links_are_kept(tmp_path, monkeypatch):
    real = tmp_path / "real"
    real.mkdir()
    (real / "job.yaml").write_text(LEAST)
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    assert read_job("link/job.yaml").value.directory == str(tmp_path / "link")


def test_values_are_located_by_line_and_column():
    document = parse_job(FULL, "job.yaml", "/jobs")
    assert document.locate(("image",)) == "job.yaml:3:8"
    assert document.locate(("env", "NCCL_DEBUG")) == "job.yaml:12:19"
    assert document.locate(("mounts", 1, "target")) == "job.yaml:17:29"
    assert document.locate(("sites", "superpod-a100", "no such key")) == "job.yaml:21:18"
    assert document.locate(("ranks_per_node", 0)) == "job.yaml:8:17"
