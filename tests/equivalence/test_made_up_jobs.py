"""One job file, two schedulers: every rank gets the same, byte for byte. The script runs in the sandbox's
real Slurm; of the manifest the launcher runs under a real Open MPI, whose daemons a real sshd starts in each
pod.
"""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from both_sides import Place, in_pods, submit, under_slurm
from differences import between
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from variables import ENVIRONMENTS, TEXT

HOSTILE = [
    "",
    " ",
    "two  words ",
    "it's",
    '"double"',
    "$HOME ${HOME} $$ $$$ $(id) `id`",
    "$(KUBERNETES_PORT) $$(KUBERNETES_PORT) $(K_MPI_JOB_ROLE) $(OF_MY_SHELL) $(NOT_SET) $(",
    "$é $$é $",
    "back\\slash \\n \\\\",
    "new\nline\n",
    "\ttab\r\ncarriage\r",
    "# no comment",
    "a,b;c&d|e<f>g(h)i*j?k[l]m{n}o~p!q^r%s=t",
    "--not-an-option",
    "-x",
    "-wdir",
    "/bin/sh",
    "--",
    ":",
    "=",
    "- a: {b: [c, *d]}",
    "!!python/none",
    "@file",
    "{{ jinja }} {% raw %}",
    "Grüße, 世界, \U0001f680, \u202e\u2028\x85\ufeff",
    "\x01\x1b[31m\x7f",
    "1.10",
    "no",
    "null",
    "0o17",
    "1:30",
    "x" * 5000,
]
SHELL = {
    "OF_MY_SHELL": "of the shell: 'a' \"b\" $(KUBERNETES_PORT) $$ `c` \\ ;\nd, e=f #g: Grüße",
    "EMPTY_IN_MY_SHELL": "",
    "WANDB_API_KEY": "s3cret 'value' $(OF_MY_SHELL) $$\nof two lines",
}
INHERITED = {"inherit": ["OF_MY_SHELL", "EMPTY_IN_MY_SHELL", "NOT_IN_MY_SHELL"], "secrets": ["WANDB_API_KEY"]}
TWO_NODES: dict[str, Any] = {"nodes": 2, "mpi": "pmix"}

Alike = Callable[..., None]


@pytest.fixture
def alike(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Alike:
    """Runs a job on both sides, and compares."""

    def run(job: dict[str, Any], words: list[str], ranks: int, shell: dict[str, str] | None = None) -> None:
        path = tmp_path_factory.mktemp("job") / "job.yaml"
        command = [str(place.image / "bin" / "recorder"), *words]
        full = {"version": 1, "name": "made-up", "image": "made/up:1", "time": 5, "command": command} | job
        path.write_text(yaml.safe_dump(full, allow_unicode=False), encoding="utf-8")
        both = submit(place, path, shell=shell)
        here = under_slurm(place, both)
        assert (here.status, len(here.ranks)) == (0, ranks), here.said
        there = in_pods(place, both, here.given)
        own = {*full.get("env", ()), *full.get("inherit", ()), *full.get("secrets", ())}
        assert between(here, there, own, "made-up") == [], there.said

    return run


GROUPS = {
    "train": {"nodes": 1, "env": {"OF_ALL": "$(KUBERNETES_PORT) $$", "OF_TRAIN": "it's\n--"}},
    "act": {"nodes": 1, "command": ["recorder", "--", "=", "of act", ":", "$(id) $$"], "env": {"OF_ALL": ""}},
}

JOBS: dict[str, tuple[dict[str, Any], int]] = {
    "16 ranks": (TWO_NODES, 16),
    "rendezvous": (TWO_NODES | {"ranks_per_node": 3, "rendezvous": "torch"}, 6),
    "9 ranks on 8 GPUs": (TWO_NODES | {"ranks_per_node": 9, "verify": True}, 18),
    "one rank on each node": ({"nodes": 2, "ranks_per_node": 1, "bind": {"memory": "prefer"}}, 2),
    "spread, one thread": (TWO_NODES | {"ranks_per_node": 5, "bind": {"cpus": "spread", "smt": False}}, 10),
    "not bound": (TWO_NODES | {"ranks_per_node": 2, "bind": {"cpus": "none", "memory": "none"}}, 4),
    "all HCAs": (TWO_NODES | {"ranks_per_node": 2, "bind": {"hcas": "all"}}, 4),
    "no HCAs": ({"nodes": 2, "ranks_per_node": 2, "bind": {"hcas": "none", "cpus": "none"}}, 4),
    "lists": (
        TWO_NODES
        | {
            "ranks_per_node": 2,
            "bind": {"cpus": ["0-3", "64-67,192"], "memory": ["0", "4-5"], "hcas": ["mlx5_0", "mlx5_9"]},
        },
        4,
    ),
    "one pod": ({"ranks_per_node": 3, "mpi": "pmix", "rendezvous": "torch"}, 3),
    "one pod, one rank": ({"ranks_per_node": 1, "rendezvous": "torch", "bind": {"memory": "prefer"}}, 1),
    "2 GPUs of each node": (TWO_NODES | {"gpus_per_node": 2, "rendezvous": "torch"}, 4),
    "3 GPUs for 5 ranks": (TWO_NODES | {"gpus_per_node": 3, "ranks_per_node": 5}, 10),
    "half a node in one pod": ({"gpus_per_node": 4, "mpi": "pmix", "bind": {"memory": "prefer"}}, 4),
    "MPICH": ({"nodes": 2, "ranks_per_node": 3, "rendezvous": "torch", "container": {"mpi": "mpich"}}, 6),
    "MPICH in one pod": ({"gpus_per_node": 2, "rendezvous": "torch", "container": {"mpi": "mpich"}}, 2),
    "no GPU": ({"gpus_per_node": 0, "ranks_per_node": 2, "mpi": "pmix"}, 2),
    "groups": ({"ranks_per_node": 3, "mpi": "pmix", "rendezvous": "torch", "groups": GROUPS}, 6),
    "groups, MPICH": ({"ranks_per_node": 2, "container": {"mpi": "mpich"}, "groups": GROUPS}, 4),
}


@pytest.mark.parametrize("name", JOBS)
def test_hostile_values(alike: Alike, name: str) -> None:
    job, ranks = JOBS[name]
    env = {f"HOSTILE_{number}": value for number, value in enumerate(HOSTILE)}
    env |= {"REPLACED": "by the job: $(KUBERNETES_PORT) $$", "OMPI_MCA_btl_base_verbose": "$$ 3"}
    alike({"env": env, **INHERITED, **job}, HOSTILE, ranks, SHELL)


# Names that mean something to what starts the ranks, and go through it all the same.
HANDED_ON = {
    "HTTPS_PROXY": "http://user:pass word@proxy:3128",
    "LANG": "xx_YY.UTF-8",
    "CDPATH": "/",
    "USER": "me",
    "SHELL": "/bin/none",
    "TMPDIR": "/var/tmp",  # one that is not there Slurm would replace
    "POSIXLY_CORRECT": "1",
    "SSH_AUTH_SOCK": "/not/there",
    "OMPI_MCA_btl": "self,tcp",
    "PMIX_MCA_gds": "hash",
}


def test_inherited_names_that_mean_something(alike: Alike) -> None:
    alike(TWO_NODES | {"ranks_per_node": 1, "inherit": sorted(HANDED_ON)}, [], 2, HANDED_ON)


FOLDERS = [
    " two  words ",
    'it\'s "quoted"',
    "$x ${HOME} $$ $(KUBERNETES_PORT) `id`",
    "-dash",
    "#%j %% = ~,;: Grüße 世界",
]


@pytest.mark.parametrize("nodes", [1, 2])
def test_working_folders(place: Place, alike: Alike, nodes: int) -> None:
    for name in FOLDERS[:: 1 if nodes == 2 else 2]:
        workdir = place.image / "workdirs" / name
        workdir.mkdir(parents=True, exist_ok=True)
        alike({"nodes": nodes, "ranks_per_node": 2, "mpi": "pmix", "workdir": str(workdir)}, [], 2 * nodes)


SHAPES = st.fixed_dictionaries(
    {
        "nodes": st.integers(1, 2),
        "gpus_per_node": st.sampled_from([8, 8, 8, 1, 3, 4]),
        "ranks_per_node": st.sampled_from([1, 2, 2, 3, 4, 5]),
        "mpi": st.sampled_from(["pmix", "none"]),
        "rendezvous": st.sampled_from(["none", "torch"]),
        "verify": st.booleans(),
        "bind": st.fixed_dictionaries(
            {
                "cpus": st.sampled_from(["local", "spread", "none"]),
                "smt": st.booleans(),
                "memory": st.sampled_from(["local", "prefer", "none"]),
                "hcas": st.sampled_from(["nearest", "all", "none"]),
            }
        ),
    }
)


# Without shrinking: each example is two jobs.
@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    shape=SHAPES,
    words=st.lists(TEXT, max_size=12),
    env=ENVIRONMENTS,
    shell=st.dictionaries(
        st.sampled_from(sorted(SHELL)), TEXT.filter(lambda text: "\0" not in text), max_size=3
    ),
)
def test_any_job(
    alike: Alike, shape: dict[str, Any], words: list[str], env: dict[str, str], shell: dict[str, str]
) -> None:
    needed = {"WANDB_API_KEY": "must be set", **shell}
    alike({"env": env, **INHERITED, **shape}, words, shape["nodes"] * shape["ranks_per_node"], needed)
