"""Jobs that say what few others do: of who asks for them, of the place, of all kinds of images, names and
times; and the sites that have what they ask for."""

import sys
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "readback")]
from rendered import CLUSTER, JOB, SLURM  # noqa: E402
from test_same_launch import JOBS, WORDS  # noqa: E402

SITES: dict[str, dict[str, Any]] = {
    "slurm": {
        **SLURM,
        "slurm": {**SLURM["slurm"], "mpi_plugin": {"pmix": "pmix_v4", "pmi2": "pmi2"}},
        "fabric": {"unit": 4, "topology": "tree", "sharp": {"env": {"SHARP_COLL_LOG_LEVEL": "3"}}},
    },
    "kubernetes": CLUSTER,
}

# What stands on a line of sbatch, whatever it says.
_LINE = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=12).filter(
    lambda text: text.strip() == text != ""
) | st.sampled_from(["a b", "it's", '"q"', "a\\b", "#x", "$A", "a,b", "--x", "é", "~", "*", "[1-2]"])
_WORD = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,19}", fullmatch=True)
# Names that are a label's and a host's too.
_PODS = st.from_regex(r"[a-z][a-z0-9]{0,7}(-[a-z0-9]{1,8})?", fullmatch=True)
_TEXTS = WORDS.filter(str.strip) | st.sampled_from(
    [
        'cd /w && ./x "$A" | tee y',
        "./x\n./y\n",
        "exec ./x $((1 + $RANK))",
        "if true; then ./x; fi",
        "'",
        "a\\",
    ]
)
_TIMES = st.one_of(
    st.integers(1, 10**5),
    st.builds("{}:{:02d}:{:02d}".format, st.integers(1, 99), st.integers(0, 59), st.integers(0, 59)),
    st.builds("{}-{}".format, st.integers(1, 30), st.integers(0, 23)),
    st.sampled_from(["90m", "36h", "7d", "UNLIMITED"]),
)
_REGISTRY = st.sampled_from(
    [
        *("ubuntu", "ubuntu:22.04", "team/train", "nvcr.io/nvidia/pytorch:23.01-py3", "localhost:5000/a/b:c"),
        *(f"registry.example.com:5000/a/b/c@sha256:{'0a' * 32}", "gitlab.example.com/Team/x:1.2-a_b".lower()),
    ]
)
_SQUASHED = st.sampled_from(["/lustre/images/train.sqsh", "/lustre/my-images/x+y.sqsh", "./train.sqsh"])
_HINTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("account", "partition", "qos", "reservation", "constraint", "mail"), _LINE),
        "nodelist": st.sampled_from(["dgx[001-004]", "dgx001,dgx002,dgx003,dgx004"]),
        "exclude": st.sampled_from(["dgx009", "dgx[010-011]"]),
        "sbatch": st.lists(
            st.builds("--{}={}".format, st.sampled_from(["licenses", "wckey"]), _LINE),
            min_size=1,
            max_size=2,
            unique_by=lambda option: option.split("=")[0],
        ),
        "srun": st.lists(
            st.sampled_from(["--label", "--unbuffered", "--wait=60", "--quiet"]), min_size=1, unique=True
        ),
    },
)
_ON_CLUSTER = st.fixed_dictionaries(
    {},
    optional={
        "namespace": st.sampled_from(["team", "other"]),
        "queue": st.sampled_from(["of-team", "4"]),
        "priority_class": st.just("high"),
        "user": st.sampled_from([0, 1000]),
        "share_nodes": st.booleans(),
        "nodelist": st.sampled_from(["dgx[001-004]", "a4,b,dgx1,dgx02"]),
        "exclude": st.sampled_from(["dgx9", "dgx[10-11]"]),
    },
)
_MORE = {
    "slurm": st.fixed_dictionaries(
        {"name": _NAMES, "time": _TIMES},
        optional={
            "image": _REGISTRY | _SQUASHED | st.none(),
            "command": _TEXTS,
            "mpi": st.just("pmi2"),
            "gpu_type": st.just("a100"),
            "locality": st.just("unit"),
            "fabric": st.just({"sharp": True}),
            "sites": _HINTS.map(lambda hints: {SLURM["name"]: hints}),
        },
    ),
    "kubernetes": st.fixed_dictionaries(
        {"name": _PODS, "time": _TIMES},
        optional={
            "image": _REGISTRY,
            "command": _TEXTS,
            "gpu_type": st.just("a100"),
            "sites": _ON_CLUSTER.map(lambda hints: {CLUSTER["name"]: hints}),
        },
    ),
}


def _put_together(job: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """What cannot be asked for together is not: without an image there is no container, and no job says as
    whom the pods with sshd run, of which there are several, or a container in which it is root."""
    whole = {"image": JOB["image"], **job, **more}
    if whole.get("nodes", 1) > 1 or whole.get("container", {}).get("remap_root"):
        sites = whole.get("sites", {})
        whole["sites"] = {
            site: {key: each for key, each in hints.items() if key != "user"} for site, hints in sites.items()
        }
    if whole["image"] is None:
        whole = {key: each for key, each in whole.items() if key not in ("image", "container", "mounts")}
    if whole["gpus_per_node"] == 0:
        whole.pop("gpu_type", None)
    return whole


WHOLE_JOBS = {scheduler: st.builds(_put_together, JOBS, more) for scheduler, more in _MORE.items()}
