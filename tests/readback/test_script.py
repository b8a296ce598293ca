"""What is read from a script is what was planned: for every golden script, and for jobs that are made up."""

import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpclaunch.plan.planner import Planner
from hpclaunch.readback.script import read
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.topology import catalogue
from hpclaunch.values.launch import Launch, SeenMount
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

sys.path.insert(0, str(Path(__file__).parent.parent / "golden"))
from golden_cases import BATCH, ROOT, Case

SITE = read_site(str(ROOT / "site-configs" / "superpod-a100.yaml")).value
PLANNER = Planner(SITE, {group.type: catalogue.load(group.type).value for group in SITE.node_types})


def check(plan: LaunchPlan) -> Launch:
    """Hold what the plan's script is read as against the plan."""
    seen = read(script.render(plan))
    common, target = plan.common, plan.target
    assert isinstance(target, SlurmTarget)
    assert seen.unread == ()
    assert (seen.scheduler, seen.name) == ("slurm", common.name)
    assert (seen.nodes, seen.ranks_per_node) == (common.nodes, common.ranks_per_node)
    assert (seen.gpus_per_node, seen.whole_node) == (common.gpus_per_node, common.whole_node)
    again = common.long_run is not None and common.long_run.requeue
    assert (seen.numbering, seen.one_failure_ends_all, seen.retries) == ("block", True, -1 if again else 0)
    assert seen.seconds == (None if common.minutes is None else common.minutes * 60)
    assert seen.argv == common.argv
    assert seen.wrapper == "own"
    container = common.container
    assert seen.cwd == (container.workdir if container else common.cwd)
    assert seen.mounts == tuple(
        SeenMount(mount.target, "path", mount.source, "", mount.read_only)
        for mount in (container.mounts if container else ())
    )
    texts = {each.name: each.value for each in seen.environment if each.source == "text"}
    assert texts == {each.name: each.value for each in common.environment}
    assert {each.name for each in seen.environment if each.source == "submitter"} == set(common.inherit)
    assert {each.name for each in seen.environment if each.source == "secret"} == set(common.secrets)
    told = {each.name: each.value for each in seen.environment if each.source == "scheduler"}
    assert told == {each.name: each.value for each in target.told}
    assert {each.name: each.value for each in seen.before} == {
        each.name: each.value for each in target.host_env
    }
    for part, own in zip(plan.each, seen.parts or (seen,), strict=True):
        check_tables(part, own)
    return seen


def check_tables(plan: LaunchPlan, seen: Launch) -> None:
    """The seats of each shape. On a part of a node cores and HCAs are found there, from what `part` keeps."""
    shapes = plan.common.shapes
    hosts = [shape.hosts for shape in shapes] if len(shapes) > 1 else [""]
    assert [table.hosts for table in seen.tables] == hosts
    for shape, table in zip(shapes, seen.tables, strict=True):
        given = plan.settings_for(shape)
        entries = {hca.name: f"{hca.name}/{hca.pci}/{hca.port}/{hca.link_layer}" for hca in shape.hcas}
        assert table.hcas == (tuple(entries.values()) if "hcas" in given else ())
        assert dict(table.part) == {
            name: given[name] for name in ("cores", "gpus", "part") if given.get(name)
        }
        for seat, planned in zip(table.seats, shape.seats, strict=True):
            if plan.common.whole_node:
                assert seat.cpus == tuple(sorted(planned.cpus))
                assert seat.mems == tuple(sorted(planned.mems))
            else:
                assert (seat.cpus, seat.mems) == ((), ())
                assert seat.gpus == (planned.gpus if "seats" in given else ())
            if "near" in given:
                assert seat.hcas == tuple(entries[name] for name in planned.hcas)
                assert seat.next_hcas == tuple(entries[name] for name in planned.next_hcas)


@pytest.mark.parametrize("case", BATCH, ids=lambda case: case.name)
def test_a_golden_script_is_read_as_it_was_planned(case: Case) -> None:
    check(case.plan())
    assert read(case.golden.read_text("utf-8")) == read(case.render())


def test_images_are_in_dockers_form() -> None:
    train = next(case for case in BATCH if case.name == "whole-node-8-ranks")
    for image in (
        "nvcr.io/nvidia/pytorch:24.07-py3",
        "ubuntu",
        "library/ubuntu:22.04",
        "localhost:5000/a/b:c",
    ):
        assert check(train.plan(f"image={image}")).image == image


def test_what_kubernetes_lacks_is_said_with_the_reason() -> None:
    by_name = {case.name: case for case in BATCH}
    for name, what in (
        ("one-scalable-unit", "--switches=1"),
        ("sharp", "--network=sharp"),
        ("sharp", "SLURM_NETWORK=sharp"),
        ("mig-slices", "--gpu-bind=per_task:1"),
        ("site-hints", "--label"),
        ("long-run", "--signal=USR1@300"),
        ("explicit-lists", "the image /home/ada/jobs/images/solver+cuda.sqsh"),
    ):
        found = {each.what: each.why for each in read(by_name[name].golden.read_text("utf-8")).unbridged}
        assert found.get(what), (name, found)


# Text that sh, bash, sbatch, srun or Pyxis would take apart. Zero bytes are in no argument, and the job file
# takes no lone surrogates.
text = st.text(
    st.one_of(
        st.sampled_from("a \n\t'\"\\$`#*?[]{}(),:;&|<>=~!%\r\x1b\x7f"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=20,
)
name = st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: (
        not name.startswith(("SLURM", "SBATCH", "SPANK", "PYXIS", "ENROOT", "HPCLAUNCH", "LD_", "BASH"))
        and name
        not in (
            "PATH",
            "HOME",
            "USER",
            "IFS",
            "ENV",
            "RANK",
            "PWD",
            "UID",
            "EUID",
            "PPID",
            "SHELLOPTS",
            "LOGNAME",
        )
    )
)
path = st.text(st.sampled_from("ab c'$#\\é\"`~"), min_size=1, max_size=8).map(
    lambda part: f"/{part.strip()}x"
)
jobs = st.fixed_dictionaries(
    {
        "command": st.lists(text, max_size=5).map(lambda words: ["run", *words]),
        "env": st.dictionaries(name, text, max_size=4),
        "mounts": st.lists(
            st.fixed_dictionaries({"source": path, "target": path, "read_only": st.booleans()}),
            max_size=3,
            unique_by=lambda mount: mount["target"],
        ),
        "workdir": st.one_of(st.none(), path),
        "nodes": st.integers(1, 140),
        "gpus_per_node": st.sampled_from([8, 8, 4, 2]),
        "ranks_per_node": st.sampled_from([1, 2, 4, 8, 16]),
        "time": st.one_of(st.none(), st.integers(1, 100_000)),
        "mpi": st.sampled_from(["pmix", "none"]),
        "rendezvous": st.sampled_from(["none", "torch"]),
        "verify": st.booleans(),
        "bind": st.fixed_dictionaries(
            {
                "cpus": st.sampled_from(["local", "none"]),
                "memory": st.sampled_from(["local", "prefer", "none"]),
            }
        ),
    }
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(jobs)
def test_a_made_up_job_is_read_as_it_was_planned(fields: dict[str, object]) -> None:
    document = {"version": 1, "name": "made-up", "image": "nvcr.io/nvidia/pytorch:24.07-py3", **fields}
    job = {key: value for key, value in document.items() if value is not None}
    check(PLANNER.plan(parse_job(yaml.safe_dump(job), "job.yaml", "/home/ada").value))
