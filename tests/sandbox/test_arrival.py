"""What was written in the job file is what every rank receives, byte for byte, under the real Slurm."""

import os
from pathlib import Path
from typing import Any

import pytest
from command import hpclaunch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from launching import Ran, launch
from realslurm import Slurm
from variables import ENVIRONMENTS, TEXT

HOSTILE = [
    "",
    " ",
    "plain",
    "two  words ",
    "it's",
    '"double"',
    "$HOME ${HOME} $$ $(id) `id`",
    "back\\slash \\n \\\\",
    "new\nline\n",
    "\ttab\r\ncarriage\r",
    "#SBATCH --nodes=9",
    "# comment",
    "a,b;c&d|e<f>g(h)i*j?k[l]m{n}o~p!q^r%s=t",
    "--not-an-option",
    "--",
    ":",
    "=",
    "WRAPPER",
    "\nWRAPPER\n",
    "${IFS}",
    "%j %t %%",
    "{{ jinja }} {% raw %}",
    "Grüße, 世界, \U0001f680, \u202e\u2028\x85",
    "\x01\x1b[31m\x7f",
    "$(X)$$(Y)",
    "1.10",
    "no",
    "0o17",
    "1:30",
    "x" * 5000,
]
# What Slurm, its PMIx plugin, the shells on the way and Python itself set for a rank.
NOT_OURS = (
    *("SLURM", "SRUN_", "PMIX_", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"),
    *("HYDRA_", "I_MPI_HYDRA_", "OMPI_MCA_plm_", "PRTE_MCA_plm_"),  # from 23.11 on, for an mpirun in a step
)
FROM_SHELLS = {"HOME", "USER", "LOGNAME", "PWD", "SHLVL", "_", "LC_CTYPE", "CUDA_VISIBLE_DEVICES", "TMPDIR"}
COMPUTED = {
    "PATH",
    "CUDA_DEVICE_ORDER",
    "NCCL_IB_HCA",
    "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME",
    "OMPI_MCA_btl_tcp_if_include",
    "UCX_NET_DEVICES",
    "OMPI_MCA_btl_openib_if_include",
}
IMAGE = {"image": "nvcr.io/nvidia/pytorch:24.07-py3", "mounts": ["/tmp:/tmp"]}


def named(values: list[str]) -> dict[str, str]:
    return {f"HOSTILE_{number}": value for number, value in enumerate(values)}


def expect(ran: Ran, words: list[str], env: dict[str, str], ranks: int) -> None:
    assert ran.status == 0, ran.errors
    assert len(ran.ranks) == ranks
    for rank in ran.ranks:
        assert rank.argv == [os.fsencode(word) for word in words]
        assert {name: rank.env.get(name) for name in env} == {name: os.fsencode(env[name]) for name in env}
        others = {name for name in rank.env if not name.startswith(NOT_OURS)} - FROM_SHELLS - set(env)
        assert others <= COMPUTED


@pytest.mark.parametrize("container", [{}, IMAGE], ids=["host", "container"])
def test_hostile_values(slurm_a100: Slurm, container: dict[str, Any]) -> None:
    env = named(HOSTILE)
    job = {"nodes": 2, "ranks_per_node": 3, "mpi": "pmix", "env": env, "workdir": "/usr", **container}
    ran = launch(slurm_a100, job, HOSTILE)
    expect(ran, HOSTILE, env, ranks=6)
    if not container:  # the stand-in for Pyxis starts no container, so the directory is the image's business
        assert {rank.cwd for rank in ran.ranks} == {b"/usr"}


FOLDERS = [
    " two  words ",
    'it\'s "quoted"',
    "$x ${HOME} $(id) `id`",
    "-dash",
    "--",
    "back\\slash\\",
    "a,b;c&d|e<f>*?[g]",
    "#%j %% = ~",
    "x~",
    "Grüße 世界 \U0001f680",
]


@pytest.mark.parametrize("name", FOLDERS)
def test_ranks_work_in_the_jobs_directory(slurm_a100: Slurm, tmp_path: Path, name: str) -> None:
    """A relative one starts from the job file's folder, which has such a name too."""
    place = tmp_path / name / name
    place.mkdir(parents=True)
    for workdir, expected in ((name, place), (str(place), place), (None, tmp_path / name)):
        ran = launch(slurm_a100, {"workdir": workdir, "ranks_per_node": 2}, [], folder=tmp_path / name)
        assert ran.status == 0, ran.errors
        assert [rank.cwd for rank in ran.ranks] == [os.fsencode(expected)] * 2


def test_the_job_file_may_lie_in_a_folder_with_a_line_break(slurm_a100: Slurm, tmp_path: Path) -> None:
    folder = tmp_path / "new\nline\n"
    folder.mkdir()
    ran = launch(slurm_a100, {"ranks_per_node": 2}, [], folder=folder)
    assert ran.status == 0, ran.errors
    assert [rank.cwd for rank in ran.ranks] == [os.fsencode(folder)] * 2


# Without shrinking: each example is a job.
@settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(words=st.lists(TEXT, max_size=12), env=ENVIRONMENTS, contained=st.booleans())
def test_any_name_and_value(
    slurm_a100: Slurm, words: list[str], env: dict[str, str], contained: bool
) -> None:
    job = {"ranks_per_node": 2, "env": env, **(IMAGE if contained else {})}
    expect(launch(slurm_a100, job, words), words, env, ranks=2)


def test_a_hostile_shell_changes_nothing(slurm_a100: Slurm) -> None:
    shell = {
        "SBATCH_TIMELIMIT": "77",
        "SBATCH_NODES": "1",
        "SBATCH_EXPORT": "ALL,INJECTED=1",
        "SLURM_CPU_BIND": "rank",
        "SLURM_MEM_BIND": "local",
        "SLURM_CPUS_PER_TASK": "16",
        "SRUN_CPUS_PER_TASK": "16",
        "SLURM_NTASKS": "3",
        "SLURM_DISTRIBUTION": "cyclic",
        "SLURM_KILL_BAD_EXIT": "0",
        "SLURM_EXPORT_ENV": "NONE",
        "SLURM_LABELIO": "1",
        "LD_PRELOAD": "/no/such/library.so",
        "PYXIS_CONTAINER_IMAGE": "evil",
        "ENROOT_CACHE_PATH": "/nowhere",
        "BASH_ENV": "/no/such/file",
        "BASH_FUNC_srun%%": "() { echo hijacked; }",
        "IFS": "/",
        "CDPATH": "/",
        "INJECTED": "1",
        "SECRET_OF_MINE": "shell",
        "WANTED": "a, 'b' \n c",
    }
    job = {"nodes": 2, "ranks_per_node": 2, "mpi": "pmix", "inherit": ["WANTED", "NOT_SET"]}
    ran = launch(slurm_a100, job, ["x"], shell)
    expect(ran, ["x"], {"WANTED": shell["WANTED"]}, ranks=4)
    assert [rank.node for rank in ran.ranks] == ["dgx1", "dgx1", "dgx2", "dgx2"]


def test_rendezvous_names_rank_0s_host(slurm_a100: Slurm) -> None:
    ran = launch(slurm_a100, {"nodes": 2, "ranks_per_node": 3, "rendezvous": "torch"}, [])
    assert ran.status == 0, ran.errors
    names = ("RANK", "LOCAL_RANK", "NODE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    got = [tuple(int(rank.env[name]) for name in names) for rank in ran.ranks]
    assert got == [(number, number % 3, number // 3, 6, 3) for number in range(6)]
    assert {rank.env["MASTER_ADDR"].decode() for rank in ran.ranks} == {ran.ranks[0].node}
    assert len({rank.env["MASTER_PORT"] for rank in ran.ranks}) == 1


def test_secrets_arrive_and_stay_nowhere(slurm_a100: Slurm) -> None:
    value = "s3cret 'value'\nof two lines"
    ran = launch(
        slurm_a100, {"ranks_per_node": 2, "secrets": ["WANDB_API_KEY"]}, ["x"], {"WANDB_API_KEY": value}
    )
    expect(ran, ["x"], {"WANDB_API_KEY": value}, ranks=2)
    # Records, the controller's state files, the daemons' logs and spool: all of it lies here.
    kept = [path for path in slurm_a100.folder.rglob("*") if path.is_file()]
    assert any(path.name == "intent.json" for path in kept)
    assert [path for path in kept if b"s3cret" in path.read_bytes()] == []


def test_names_that_the_script_uses_are_the_jobs_all_the_same(slurm_a100: Slurm) -> None:
    names = [
        "name",
        "step",
        "masks",
        "memory",
        "environment",
        "command",
        "USER",
        "container",
        "line",
        "codes",
    ]
    shell = {name: f"the shell's {name}" for name in names}
    ran = launch(slurm_a100, {"ranks_per_node": 2, "inherit": names[:7], "secrets": names[7:]}, ["x"], shell)
    expect(ran, ["x"], shell, ranks=2)


def test_a_job_whose_secrets_are_gone_does_not_start(slurm_a100: Slurm, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        f"name: late\ncommand: touch {tmp_path}/ran\nranks_per_node: 1\nsecrets: [TOKEN]\n"
        "sites: {a100: {sbatch: [--hold]}}\n"
    )
    env = {**slurm_a100.env, "HPCLAUNCH_HOME": str(tmp_path / "home"), "TOKEN": "x"}
    number = hpclaunch("submit", job, "--site", slurm_a100.site, env=env).stdout.strip()
    (secret,) = (tmp_path / "home" / "secrets").iterdir()
    secret.unlink()
    slurm_a100.run("scontrol", "release", number)
    assert hpclaunch("wait", f"a100/{number}", env=env).returncode == 121
    assert not (tmp_path / "ran").exists()
