"""The published manifests, also as broken as they were printed, become the jobs that were written of them by
hand: the same launch at the site where they ran, but for what is named here with its reason."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from manifest_cases import converted, findings
from msgspec import structs

from hpclaunch.cli.planning import plan_job
from hpclaunch.convert.draft import Draft
from hpclaunch.convert.manifests.convert import convert
from hpclaunch.convert.manifests.text import repair
from hpclaunch.convert.options import Options
from hpclaunch.convert.writing import write
from hpclaunch.values.launchplan import Common

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
PUBLISHED = HERE.parent / "seeds" / "manifests"
BROKEN = HERE / "manifests" / "broken"
SITES = {
    "tf2-a2d2-16x01x02-gpu": "openshift-dgx1-spectrumscale",
    "nv-nccl": "openshift-dgx1-spectrumscale",
    "mofed-test-pod": "openshift-dgx1-spectrumscale",
    "16gpu-tensorflow-benchmark-imagenet": "openshift-robotic-drive",
    "tensorflow-benchmarks-gpu-v1a2": "openshift-robotic-drive",
    "horovod-new_test": "openshift-robotic-drive",
    "maskrcnn": "openshift-supermicro",
}
# Job file's key -> the example's value, which the manifest has not, and why the example has it.
CHOSEN: dict[str, dict[str, tuple[Any, str]]] = {
    "16gpu-tensorflow-benchmark-imagenet": {
        "mounts": (["efs:/efs"], "the original's results go with its pods"),
        "bind": (None, "the original's mpirun binds nobody; the example lets hpclaunch bind"),
    },
    "tensorflow-benchmarks-gpu-v1a2": {
        "bind": (None, "the original's mpirun binds nobody; the example lets hpclaunch bind"),
        "env.OMPI_MCA_plm_base_verbose": ("100", "the example keeps what only mpirun itself reads"),
    },
    "horovod-new_test": {"container.privileged": (None, "the original's pod is privileged; it needs not be")},
    "maskrcnn": {"container.privileged": (None, "the original's pod is privileged; it needs not be")},
    "nv-nccl": {},
    "mofed-test-pod": {
        "image": ("mellanox/centos_7_4_mofed_4_2_1_2_0_0_60", "the slides cut the tag's end off"),
        "time": ("1h", "the example ends by itself"),
    },
    "tf2-a2d2-16x01x02-gpu": {},
}


def job_of(text: str, name: str, site: str) -> dict[str, Any]:
    """The converted job as YAML data, with the site's own names of its volumes."""
    from hpclaunch.cli import places
    from hpclaunch.spec.read import read_site

    draft = Draft(site)
    volumes = places.volumes(read_site(site).value, "/")
    convert([(f"{name}.yaml", text)], draft, Options({}, site=site, volumes=volumes))
    found: dict[str, Any] = yaml.safe_load(write(draft, [f"{name}.yaml"]))
    assert not [each for each in draft.findings if each.kind == "question" and each.key]
    return found


def changed(job: dict[str, Any], key: str, value: Any) -> None:
    above, _, last = key.rpartition(".")
    holder = job.setdefault(above, {}) if above else job
    if value is None:
        holder.pop(last)
    else:
        holder[last] = value


def common(path: Path, site: str) -> Common:
    planned = plan_job(str(path), site, ())
    variables = {each.name: each.value for each in planned.plan.common.environment}
    # Who set a variable is not what reaches a rank.
    return structs.replace(planned.plan.common, environment=tuple(sorted(variables.items())))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SITES)
def test_the_converted_manifest_is_the_example(name: str, tmp_path: Path) -> None:
    site = SITES[name]
    job = job_of((PUBLISHED / f"{name}.yaml").read_text("utf-8"), name, site)
    for key, (value, _) in CHOSEN[name].items():
        changed(job, key, value)
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(job, sort_keys=False), "utf-8")
    assert common(path, site) == common(EXAMPLES / f"{name}.yaml", site)


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in CHOSEN for key in CHOSEN[name]])
def test_what_the_example_chose_is_not_in_the_manifest(name: str, key: str) -> None:
    found: Any = job_of((PUBLISHED / f"{name}.yaml").read_text("utf-8"), name, SITES[name])
    for part in key.split("."):
        found = found.get(part, {})
    assert (found or None) != CHOSEN[name][key][0]


# What the copies in tests/seeds put right by hand that no reader of the text can know.
BY_HAND = {
    # It reads as a name in one printing and as three words in the other.
    "maskrcnn": {"NVIDIA_REQUIRE_CUDA"},
}


def same_but_for_names(broken: dict[str, Any], copy: dict[str, Any]) -> None:
    for document in (broken, copy):
        for entry in document["spec"]["containers"][0]["env"]:
            entry["name"] = entry["name"].replace("_", " ")
    assert broken == copy


@pytest.mark.parametrize("name", sorted(path.stem for path in BROKEN.iterdir()))
def test_a_manifest_as_it_was_printed_is_repaired(name: str) -> None:
    """The text of the documents, with its nonbreaking spaces, lost indentation, numbers of lines and tags."""
    draft = Draft()
    text = (BROKEN / f"{name}.yaml").read_text("utf-8")
    (found,) = repair.objects(f"{name}.yaml", text, draft)
    copy = yaml.safe_load((PUBLISHED / f"{name}.yaml").read_text("utf-8"))
    mine = yaml.safe_load("\n".join(line.text for line in found.lines))
    if name == "nv-nccl":  # its restartPolicy stands in the container
        mine["spec"]["template"]["spec"]["restartPolicy"] = mine["spec"]["template"]["spec"]["containers"][
            0
        ].pop("restartPolicy")
    if name == "mofed-test-pod":
        copy["spec"]["containers"][0]["image"] += "[...]"
    if name in BY_HAND:
        same_but_for_names(mine, copy)
    else:
        assert mine == copy


def test_what_the_text_leaves_out_is_asked_for() -> None:
    draft = converted((BROKEN / "mofed-test-pod.yaml").read_text("utf-8"))
    assert [row for row in findings(draft) if row[0] == "question"] == [
        ["question", 8, "image"],
        ["question", "20-24", "a pod that sleeps"],
    ]


def test_a_name_that_lost_its_underscores_is_said() -> None:
    draft = converted((BROKEN / "maskrcnn.yaml").read_text("utf-8"))
    (row,) = [each for each in draft.findings if each.todo.startswith("if NVIDIA_REQUIRE_CUDA is meant")]
    assert (row.kind, row.places[0].line) == ("left", 21)
