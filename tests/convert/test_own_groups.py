"""Jobs with groups come back from their scripts, whichever allocations these have."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from test_own_texts import JOB, SLURM, WORDS, again, body, converted, write

from hpclaunch.cli.places import place
from hpclaunch.cli.planning import plan_job
from hpclaunch.readback.compare import compare
from hpclaunch.readback.place import Side
from hpclaunch.readback.script import read as read_script
from hpclaunch.render import script
from hpclaunch.spec.read import read_site
from hpclaunch.values.errors import InputError

# Nodes of two kinds, which Slurm tells apart by their GPUs.
MIXED: dict[str, Any] = {
    **SLURM,
    "name": "mixed",
    "node_types": [
        {"type": "dgx-a100", "hosts": "a[01-20]"},
        {"type": "dgx-h100", "hosts": "h[01-20]"},
    ],
}
SITES = {"superpod": SLURM | {"node_types": [{"type": "dgx-a100", "hosts": "dgx[001-064]"}]}, "mixed": MIXED}
NAMES = ["learn", "act", "watch-1", "a.b"]
ENV = st.dictionaries(st.sampled_from(["LR", "SEED", "A"]), WORDS, max_size=2)
COMMANDS = st.lists(WORDS, min_size=1, max_size=4).filter(lambda words: words[0].strip() != "")


def groups(site: str) -> st.SearchStrategy[dict[str, Any]]:
    """Two or three groups, for a site."""
    types = {"node_type": st.sampled_from(["dgx-a100", "dgx-h100"])} if site == "mixed" else {}
    hints = st.fixed_dictionaries(
        {}, optional={"partition": st.sampled_from(["batch", "hopper"]), "qos": st.just("long"), **types}
    )
    kinds = {"gpu_type": st.sampled_from(["a100", "h100"])} if site == "mixed" else {}
    group = st.fixed_dictionaries(
        {"nodes": st.integers(1, 3), "command": COMMANDS | WORDS.filter(str.strip)},
        optional={
            "env": ENV,
            "ranks_per_node": st.integers(1, 8),
            "gpus_per_node": st.sampled_from([4, 8]),
            "sites": st.fixed_dictionaries({site: hints}),
            **kinds,
        },
    )
    alike = st.fixed_dictionaries(
        {"nodes": st.integers(1, 3), "command": COMMANDS}, optional={"env": ENV, **kinds}
    )
    return st.fixed_dictionaries(
        {
            "groups": st.lists(st.sampled_from(NAMES), min_size=2, max_size=3, unique=True).flatmap(
                lambda names: (
                    st.fixed_dictionaries(dict.fromkeys(names, alike))
                    | st.fixed_dictionaries(dict.fromkeys(names, group))
                )
            ),
            "env": ENV,
            "world": st.sampled_from(["one", "separate"]),
            "mpi": st.sampled_from(["none", "pmix"]),
            "rendezvous": st.sampled_from(["none", "torch"]),
            "time": st.sampled_from(["1:30", "2h", "UNLIMITED"]),
        },
        optional={
            "workdir": st.just("/a b/$(c)"),
            "secrets": st.just(["TOKEN"]),
            "inherit": st.just(["HTTPS_PROXY"]),
            "mounts": st.just(["data:/data:ro"]),
            "bind": st.fixed_dictionaries({"cpus": st.sampled_from(["local", "spread", "none"])}),
        },
    )


@pytest.mark.parametrize("site", SITES)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
@given(data=st.data())
def test_any_job_with_groups_comes_back(
    tmp_path_factory: pytest.TempPathFactory, site: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp()
    where = write(folder, site, SITES[site])
    job = {"name": JOB["name"], "image": JOB["image"], **data.draw(groups(site))}
    try:
        planned = plan_job(str(write(folder, "job", job)), str(where), ())
    except InputError:  # such as one world over allocations whose nodes are not in the order of their names
        reject()
    text = script.render(planned.plan)
    found = converted(text, read_site(str(where)))
    assert not [each for each in found.findings if each.kind in ("left", "unread", "question")]
    mine = again(found.job, read_site(str(where)), str(folder))
    assert body(script.render(mine.plan)) == body(text)
    if "bind" in job:  # without a site nothing tells by which rule cores were chosen
        return
    without = again(converted(text, None).job, read_site(str(where)), str(folder))
    here, there = (Side(read_script(each), place(planned)) for each in (text, script.render(without.plan)))
    differences = [each for each in compare(here, there) if each.kind != "place"]
    # Nor does anything but the site tell of which type nodes are: all of them may be those of a group then.
    named = any(
        "node_type" in hints for group in job["groups"].values() for hints in group.get("sites", {}).values()
    )
    assert [each for each in differences if not (named and each.what.endswith(": places of ranks"))] == []


@pytest.mark.parametrize("node_type", ["dgx-a100", "dgx-h100"])
def test_a_type_of_node_that_the_job_names_comes_back(node_type: str, tmp_path: Path) -> None:
    where = write(tmp_path, "mixed", MIXED)
    hints = {"mixed": {"node_type": node_type, "partition": node_type[4:]}}
    job = {"name": "train", "image": "a/b:1", "command": ["./train"], "nodes": 2, "sites": hints}
    text = script.render(plan_job(str(write(tmp_path, "job", job)), str(where), ()).plan)
    found = converted(text, read_site(str(where)))
    assert body(script.render(again(found.job, read_site(str(where)), str(tmp_path)).plan)) == body(text)


def test_what_tells_groups_apart_only_together_comes_back(tmp_path: Path) -> None:
    where = write(tmp_path, "mixed", MIXED)
    first = {"partition": "batch", "qos": "long", "node_type": "dgx-a100"}
    of_groups = {
        "act": {"nodes": 2, "command": "run", "sites": {"mixed": first}},
        "learn": {"nodes": 1, "command": "learn", "gpu_type": "h100", "sites": {"mixed": {"qos": "short"}}},
    }
    job = {"name": JOB["name"], "image": JOB["image"], "mpi": "pmix", "time": "2m", "groups": of_groups}
    text = script.render(plan_job(str(write(tmp_path, "job", job)), str(where), ()).plan)
    found = converted(text, read_site(str(where)))
    mine = again(found.job, read_site(str(where)), str(tmp_path))
    assert body(script.render(mine.plan)) == body(text)


@pytest.mark.parametrize("names", [("a.b", "act", "watch"), ("act", "watch")], ids="+".join)
def test_groups_of_one_type_that_the_site_does_not_tell_come_back(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    where = write(tmp_path, "mixed", MIXED)
    hints = {"mixed": {"node_type": "dgx-a100", "partition": "hopper", "qos": "long"}}
    every = {
        "a.b": {"nodes": 3, "command": "x", "gpu_type": "a100"},
        "act": {"nodes": 2, "command": "y", "gpus_per_node": 8, "ranks_per_node": 6, "sites": hints},
        "watch": {"nodes": 2, "command": "z", "gpus_per_node": 8, "sites": hints},
    }
    of_groups = {name: every[name] for name in names}
    job = {**{key: JOB[key] for key in ("name", "image")}, "mpi": "pmix", "time": "2h", "world": "separate"}
    text = script.render(
        plan_job(str(write(tmp_path, "job", {**job, "groups": of_groups})), str(where), ()).plan
    )
    found = converted(text, read_site(str(where)))
    assert not [each for each in found.findings if each.kind in ("left", "unread", "question")]
    assert body(script.render(again(found.job, read_site(str(where)), str(tmp_path)).plan)) == body(text)
