"""What a container has: its image, mounts and entrypoint, and the devices that are asked for it."""

from typing import Any

import pytest
import yaml
from manifest_cases import converted
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options
from hpclaunch.values.conversion import Conversion


def _pod(resources: dict[str, Any], image: str = "reg/x:1") -> str:
    container = {"name": "c", "image": image, "command": ["./a"], "resources": resources}
    given = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [container]},
    }
    return yaml.safe_dump(given)


def _docker(words: str) -> Conversion:
    text = f"#!/bin/bash\n#SBATCH -N 1 --gres=gpu:1\ndocker run --rm --gpus all {words}\n"
    return convert(classified({"run.sh": text}), Options({}))


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [
        ({"claims": [{"name": "gpu"}]}, None),
        ({"claims": [{"name": "nic"}], "limits": {"nvidia.com/gpu": 2}}, 2),
        ({"limits": {"cpu": 2}}, 0),
        ({"claims": []}, 0),
    ],
)
def test_gpus_that_a_resource_claim_may_bring_are_asked_for(resources: dict[str, Any], gpus: int) -> None:
    fact = converted(_pod(resources)).facts["gpus_per_node",]
    assert fact.is_open == (gpus is None)
    assert gpus is None or fact.value == gpus


@pytest.mark.parametrize(
    ("resources", "wrong"),
    [
        ({"limit": {"nvidia.com/gpu": 4}}, "limit: ..."),
        ({"nvidia.com/gpu": 4}, "nvidia.com/gpu: 4"),
        ({"limits": {"nvidia.com/gpu": 0}, "requests": {"nvidia.com/gpu": 1}}, ""),
        ({"limit": {"cpu": 4}}, "limit: ..."),
    ],
)
def test_gpus_in_a_place_that_the_api_does_not_have_are_asked_for(
    resources: dict[str, Any], wrong: str
) -> None:
    draft = converted(_pod(resources))
    assert draft.facts["gpus_per_node",].is_open == ("gpu" in str(resources) and bool(wrong))
    said = [each.what for each in draft.findings if each.why.startswith("the API has no such field")]
    assert said == ([f"spec.containers[0].resources.{wrong}"] if wrong else [])
    assert not any("far as this command knows" in each.why for each in draft.findings)


@pytest.mark.parametrize(("number", "hinted"), [(0, False), (1, True), (4, True)])
def test_a_device_of_which_there_is_none_is_no_adapter(number: int, hinted: bool) -> None:
    draft = converted(_pod({"limits": {"vpc.amazonaws.com/efa": number}}))
    assert any(key == "kubernetes.rdma" for key in draft.hints) == hinted
    said = [each.kind for each in draft.findings if each.what == f"vpc.amazonaws.com/efa: {number}"]
    assert said == {0: ["without effect"], 1: [], 4: ["left"]}[number]


@pytest.mark.parametrize(
    ("image", "possible"),
    [
        ("IMAGE_URL", False),
        ("reg.io/me/MyImage:1", False),
        ("REGISTRY_URL/x:1", False),
        ("MYREG/me/x:1", True),
        ("my_team/x:1", True),
        ("reg.io:5000/x:V1-Py3", True),
        ("localhost/x@sha256:AB", True),
    ],
)
def test_what_no_registry_takes_for_the_name_of_an_image_stands_for_one(image: str, possible: bool) -> None:
    assert converted(_pod({}, image)).facts["image",].is_open != possible
    assert ("image: <ask" not in _docker(f"{image} ./a").job.replace('"', "")) == possible


@pytest.mark.parametrize(
    ("words", "by_entrypoint"),
    [("reg/x:1 --model-id m", True), ("reg/x:1 ./a --b", False), ("--entrypoint e reg/x:1 --c", False)],
)
def test_options_alone_behind_an_image_are_for_its_entrypoint(words: str, by_entrypoint: bool) -> None:
    job = yaml.safe_load(_docker(words).job)
    assert job.get("container", {}).get("entrypoint", False) == by_entrypoint


@pytest.mark.parametrize(
    ("went", "mount", "told"),
    [
        ("", "./a:/b", "./a:/b"),
        ("cd src\n", "./a:/b", "./src/a:/b"),
        ("cd src\n", "../a:/b", "./a:/b"),
        ("cd /data/x\n", ".:/b", "/data/x:/b"),
        ("cd /data/x\n", "/a:/b", "/a:/b"),
        ("cd ~/x || exit\n", ".:/b", None),
        ("cd $X\n", "./a:/b", None),
    ],
)
@pytest.mark.parametrize("form", ["-v SRC:DST", "--mount type=bind,source=SRC,target=DST"])
def test_a_folder_is_found_from_where_the_script_has_gone(
    form: str, went: str, mount: str, told: str | None
) -> None:
    source, target = mount.split(":")
    option = form.replace("SRC", source).replace("DST", target)
    run = f"docker run --rm --gpus all {option} a/b:1 ./t"
    text = f"#!/bin/bash\n#SBATCH -N 1 --gres=gpu:1\n{went}{run}\n"
    found = convert(classified({"run.sh": text}), Options({}))
    (its,) = yaml.safe_load(found.job)["mounts"]
    assert its == told if told else its.startswith("<ask:")


@pytest.mark.parametrize(
    ("before", "given", "expected"),
    [
        ("", "NV_GPU=0,1,2", "3"),
        ("G=$(seq 0 3 | tr '\\n' ',' | sed 's/,$//')\n", "env NV_GPU=$G", "4"),
        ("G=$(seq 0 3 | tail -2 | paste -sd,)\n", "NV_GPU=$G", ASK),
        ("", "NV_GPU=$X", ASK),
    ],
)
def test_gpus_that_a_variable_lets_into_docker_are_counted_or_asked(
    before: str, given: str, expected: str
) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1\n{before}{given} nvidia-docker run --rm reg.io/a/b:c python t.py\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert loaded(found.job)["gpus_per_node"] == expected
    asked = [each.why for each in found.findings if each.key == "gpus_per_node" and each.kind == "question"]
    assert all("NV_GPU=$" in each and "all of a node's" not in each for each in asked)


def _with_claim(claim: dict[str, Any], *, template: bool = False, request: str = "") -> str:
    """A pod that names a claim, and the claim's object."""
    name = {"name": "g", "request": request} if request else {"name": "g"}
    pod = yaml.safe_load(_pod({"claims": [name]}))
    key = "resourceClaimTemplateName" if template else "resourceClaimName"
    pod["spec"]["resourceClaims"] = [{"name": "g", key: "cards"}]
    kind = "ResourceClaimTemplate" if template else "ResourceClaim"
    spec = {"devices": claim}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "cards"}}
    return yaml.safe_dump_all([{**head, "spec": {"spec": spec} if template else spec}, pod])


_CARDS: dict[str, Any] = {"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 4}}
_CARD: dict[str, Any] = {"name": "b", "deviceClassName": "gpu.amd.com"}  # v1beta1
_NIC: dict[str, Any] = {"name": "n", "exactly": {"deviceClassName": "rdma.example.org", "count": 2}}


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize(
    ("requests", "request_name", "gpus"),
    [([_CARDS], "", 4), ([_CARDS, _CARD], "", 5), ([_CARDS, _CARD], "b", 1), ([_NIC, _CARD], "", 1)],
)
def test_gpus_are_told_by_the_claim_that_stands_beside_the_pod(
    requests: list[dict[str, Any]], request_name: str, gpus: int, template: bool
) -> None:
    draft = converted(_with_claim({"requests": requests}, template=template, request=request_name))
    assert draft.facts["gpus_per_node",].value == gpus
    said = {each.what for each in draft.findings if "far as this command knows" in each.why}
    assert ("spec.resourceClaims: ..." in said) == (_NIC in requests)
    assert _NIC in requests or not said


@pytest.mark.parametrize(
    "changed",
    [
        {"deviceClassName": "mig.nvidia.com"},
        {"deviceClassName": "fpga.example.org"},
        {"allocationMode": "All"},
        {"selectors": [{"cel": {"expression": "device.attributes['gpu.amd.com'].type == 'x-partition'"}}]},
    ],
)
def test_what_a_claim_asks_for_stands_in_the_question_where_it_may_be_no_whole_gpu(
    changed: dict[str, Any],
) -> None:
    exactly = {**_CARDS["exactly"], **changed}
    draft = converted(_with_claim({"requests": [_CARD, {"name": "a", "exactly": exactly}]}))
    fact = draft.facts["gpus_per_node",]
    assert fact.is_open
    assert "ResourceClaim cards asks for 1 of gpu.amd.com and" in fact.question
    assert exactly["deviceClassName"] in fact.question


def test_the_claim_of_a_domain_for_channels_between_nodes_brings_no_gpu() -> None:
    pod = _with_claim({"requests": []}, template=True).partition("---\n")[2]
    channel = {"channel": {"resourceClaimTemplate": {"name": "cards"}}, "numNodes": 1}
    head = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": {"name": "d"}}
    draft = converted(f"{yaml.safe_dump({**head, 'spec': channel})}---\n{pod}")
    assert draft.facts["gpus_per_node",].value == 0
    said = [each.what for each in draft.findings if each.kind == "left"]
    assert any(each.startswith("ComputeDomain d") for each in said)
    assert "spec.resourceClaims: ..." in said


def test_an_image_that_is_another_one_in_each_round_is_said_to_be_that() -> None:
    run = "srun --mpi=pmi2 --container-image=lab/t:$kind ./t"
    for loop, why in (
        (f"for kind in lean full; do {run}; done", "another one in each round of the loop over lean full"),
        (run, "the image lab/t:${kind}: kind is not told"),
    ):
        text = f"#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=2 --gpus-per-node=2 -t 9\n{loop}\n"
        found = convert(classified({"go.sh": text}), Options({}))
        (asked,) = (each for each in found.findings if each.key == "image" and each.kind == "question")
        assert why in asked.why
        assert ("is not told" in asked.why) == (loop == run)


def test_what_is_said_of_an_images_own_command_names_it() -> None:
    sarus = "#!/bin/bash\n#SBATCH -N 2\nsrun sarus run lab/t:1\n"
    for found in (_docker("lab/t:1"), convert(classified({"run.sh": sarus}), Options({}))):
        assert not [each for each in found.findings if not each.what]
        assert [each for each in found.findings if each.what == "the image's own command"]


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (""": "${M:='/a/b:/b,/c/d:/d'}\"""", True),
        ("M='/a/b:/b,/c/d:/d'", False),
        (': "${M:=/a/b:/b,/c/d:/d}"', False),
    ],
)
def test_a_quote_that_a_mount_has_in_its_value_is_asked_about(given: str, asked: bool) -> None:
    head = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1 -t 5\n"
    run = 'srun --container-image=lab/t:1 --container-mounts="$M" ./t\n'
    found = convert(classified({"go.sh": f"{head}{given}\n{run}"}), Options({}))
    assert loaded(found.job)["mounts"] == ([ASK, ASK] if asked else ["/a/b:/b", "/c/d:/d"])
    whys = [each.why for each in found.findings if each.key.startswith("mounts") and each.kind == "question"]
    assert len([why for why in whys if "its quote is a character of the path" in why]) == 2 * asked


@pytest.mark.parametrize(
    "grown",
    [
        "while read -r d; do given+=(--device=$d); done < list",
        "if [ -e /dev/x ]; then given+=(--device /dev/x); fi",
        "for d in $(ls /dev/ib); do given+=(-v $d); done",
    ],
)
def test_an_array_that_grew_in_quotes_is_options_and_the_word_behind_it_the_image(grown: str) -> None:
    text = f'given=(--ipc=host)\n{grown}\ndocker run --gpus 1 "${{given[@]}}" reg/x:1 ./t --n 2\n'
    found = convert(classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 1\n{text}"}), Options({}))
    job = loaded(found.job)
    assert (job["image"], job["command"]) == ("reg/x:1", ["./t", "--n", "2"])
    assert any("${given}" in each.what for each in found.findings)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("podman://lab/t:1", ASK),
        ("file:///x/t.sqsh", ASK),
        ("lab.io#team/Train:1", ASK),
        ("dockerd://lab/t:1", "dockerd://lab/t:1"),
        ("docker://lab.io#team/t:1", "lab.io/team/t:1"),
        ("./T.sqsh", "./T.sqsh"),
    ],
)
def test_an_image_that_pyxis_does_not_take_is_asked_for(image: str, expected: str) -> None:
    text = f"#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1\nsrun --container-image={image} ./t\n"
    assert loaded(convert(classified({"run.sh": text}), Options({})).job)["image"] == expected


@pytest.mark.parametrize(
    ("uri", "file", "image"),
    [
        ("dockerd://lab/t:1", "lab+t+1", "dockerd://lab/t:1"),
        ("podman://t:1", "t+1", ASK),
        ("docker://reg.example#lab/t:1", "lab+t+1", "reg.example/lab/t:1"),
    ],
)
def test_a_file_that_enroot_names_itself_is_the_jobs_shared_image_and_is_kept(
    uri: str, file: str, image: str
) -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1\n"
    text += f"rm -f {file}.sqsh\nenroot import {uri}\nsrun --container-image=./{file}.sqsh ./t\n"
    job = loaded(convert(classified({"run.sh": text}), Options({})).job)
    assert job["image"] == {"ref": image, "import": ASK}
    assert "setup" not in job


@pytest.mark.parametrize(
    "lines",
    [
        'docker run --gpus all "$MORE" -v /a:/b --ipc=host lab/t:1 ./t --n 2\n',
        "docker run -d --gpus all \"$MORE\" '' -v /a:/b --name x lab/t:1 sleep 9\n"
        'docker exec "$MORE" -e A=1 x ./t --n 2\n',
    ],
)
def test_an_empty_word_among_dockers_options_is_told_and_is_no_image(lines: str) -> None:
    found = convert(
        classified({"run.sh": f"#!/bin/bash\n#SBATCH -N 1\nMORE=${{MORE:-}}\n{lines}"}), Options({})
    )
    job = loaded(found.job)
    assert (job["image"], job["command"], job["mounts"]) == ("lab/t:1", ["./t", "--n", "2"], ["/a:/b"])
    assert {each.what for each in found.findings if "empty word" in each.what and each.kind == "defect"}


@pytest.mark.parametrize(
    ("of_run", "kinds"), [("a.sqsh", ["carried"]), ("b.sqsh", ["left"]), ("lab/u:1", ["left"])]
)
def test_an_import_of_which_the_run_is_not_seen_to_be_is_not_said_to_be_done(
    of_run: str, kinds: list[str]
) -> None:
    text = "#!/bin/bash\n#SBATCH -N 1 -n 1 --gpus-per-node=1\nenroot import -o /fs/a.sqsh docker://lab/t:1\n"
    image = f"/fs/{of_run}" if of_run.endswith(".sqsh") else of_run
    found = convert(classified({"run.sh": f"{text}srun --container-image={image} ./t\n"}), Options({}))
    said = [each.kind for each in found.findings if each.what.startswith("enroot import -o")]
    assert said == kinds
