"""Whatever a job asks for, both schedulers' texts are the same launch."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rendered import CLUSTER, JOB, SLURM, found, render, side

from hpclaunch.readback.place import Side
from hpclaunch.readback.script import read as read_script

WORDS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12
) | st.sampled_from(
    ["$(HOME)", "$$", "$$(x)", "${A}", "`x`", "'\"", "a\nb", ":", "--", "-np", "=x", "é$é", "$", "~", "*"]
)
NAMES = st.sampled_from(
    ["A", "PRICE", "NCCL_DEBUG", "NCCL_IB_HCA", "MASTER_PORT", "OMPI_MCA_x", "ENROOT_X", "PATH"]
)
BINDS = st.fixed_dictionaries(
    {},
    optional={
        "cpus": st.sampled_from(["local", "spread", "none"]),
        "memory": st.sampled_from(["local", "prefer", "none"]),
        "hcas": st.sampled_from(["nearest", "strict", "all", "none"]),
        "smt": st.booleans(),
        "pairing": st.sampled_from(["index", "switch"]),
    },
)
JOBS = st.fixed_dictionaries(
    {
        "nodes": st.integers(1, 4),
        "gpus_per_node": st.integers(0, 8),
        "ranks_per_node": st.integers(1, 12),
        "command": st.lists(WORDS, min_size=1, max_size=4).filter(lambda words: words[0].strip() != ""),
        "env": st.dictionaries(NAMES, WORDS, max_size=4),
        "bind": BINDS,
        "rendezvous": st.sampled_from(["none", "torch"]),
        "mpi": st.sampled_from(["none", "pmix"]),
        "time": st.sampled_from(["1:30", "2h", "UNLIMITED"]),
    },
    optional={
        "verify": st.booleans(),
        "workdir": st.sampled_from(["/work", "/a b/$(c)"]),
        "inherit": st.just(["HTTPS_PROXY"]),
        "secrets": st.just(["TOKEN"]),
        "mounts": st.sampled_from([[], ["data:/data:ro", "scratch:/a"], ["data:/data", "/x:/y"]]),
        "container": st.sampled_from([{"remap_root": True}, {"writable": False}]),
    },
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JOBS)
def test_any_job(tmp_path_factory: pytest.TempPathFactory, job: dict[str, Any]) -> None:
    folder: Path = tmp_path_factory.getbasetemp()
    job = {"name": JOB["name"], "image": JOB["image"], **job}
    script, where = render(folder, job, SLURM)
    on_slurm = Side(read_script(script), where)
    in_pods = side(*render(folder, job, CLUSTER))
    assert (on_slurm.launch.unread, in_pods.launch.unread) == ((), ())
    assert on_slurm.launch.argv == tuple(job["command"])
    assert found(on_slurm, in_pods) == []
