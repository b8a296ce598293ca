"""Rendered manifests against the ones in manifests/, which people read in review. hpclaunch's own shell texts
are left out there: tests/rank runs them, and their every line would stand in every manifest.

After a change that is meant: `pytest tests/golden --update-golden`, and read the diff.
"""

from typing import Any

import pytest
import yaml
from api_schemas import CORE_VERSIONS, validate
from golden_cases import HERE, MANIFESTS, Case
from kubelet_expansion import argv

from hpclaunch.rank import wrapper_text
from hpclaunch.values.pods import KubernetesTarget

each = pytest.mark.parametrize("case", MANIFESTS, ids=lambda case: case.name)


def without_own_texts(manifest: str) -> str:
    """With `...` for what /bin/sh -c is given."""
    kept: list[str] = []
    inside = 0  # the column of a text's lines
    for line in manifest.splitlines(keepends=True):
        if inside and (line.isspace() or line.startswith(" " * inside)):
            continue
        inside = 0
        if line.strip() == "- |" and kept[-1].strip() == "- -c":
            inside = line.index("-") + 2
        kept.append(line)
        if inside:
            kept.append(" " * inside + "...\n")
    return "".join(kept)


@each
def test_manifest_is_the_expected_one(case: Case, request: pytest.FixtureRequest) -> None:
    text = without_own_texts(case.render())
    assert text == case.expected(text, request)


def test_every_manifest_belongs_to_a_case() -> None:
    assert {path.stem for path in (HERE / "manifests").iterdir()} == {case.name for case in MANIFESTS}


@each
def test_the_api_knows_every_field(case: Case) -> None:
    validate(yaml.safe_load(case.render()), CORE_VERSIONS[-1])


MANY = [case for case in MANIFESTS if case.site == "k8s-superpod-a100" and "nodes=1" not in case.set]


@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
def test_a_manifest_is_as_long_for_all_nodes_as_for_two(case: Case) -> None:
    groups = case.plan().common.groups
    names = [f"groups.{group.name}.nodes" for group in groups.members] if groups else ["nodes"]

    def on(nodes: int) -> str:
        return case.render(*(f"{name}={nodes // len(names)}" for name in names))

    two, all_of_them = on(2), on(140)
    assert "\n      replicas: 2\n" in two
    assert "\n      replicas: 140\n" in all_of_them
    assert len(all_of_them.splitlines()) == len(two.splitlines())


@each
def test_ranks_get_the_words_of_the_plan(case: Case) -> None:
    """The wrapper, its settings, the environment and the command of each rank, after the kubelet."""
    plan = case.plan()
    assert isinstance(plan.target, KubernetesTarget)
    manifest: dict[str, Any] = yaml.safe_load(case.render())
    spec = manifest["spec"]
    template = spec["mpiReplicaSpecs"]["Launcher"]["template"] if plan.target.mpi_job else spec["template"]
    words = argv(template["spec"]["containers"][0], {})
    at = words.index("hpclaunch-rank")
    settings = [option.text for option in plan.target.wrapper]
    assert words[at - 3 : at] == ["/bin/sh", "-c", wrapper_text(settings)]
    told, environment, command = _split(words[at + 1 :])
    assert [_on_one_line(setting) for setting in told] == settings
    assert environment == [f"{each.name}={each.value}" for each in plan.common.environment]
    first = plan.common.groups.members[0] if plan.common.groups else None
    own = [f"{each.name}={each.value}" for each in first.environment] if first else []
    assert command == [*own, *(f"={word}" for word in (first.argv if first else plan.common.argv))]


def _split(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Without the words of steps, and of groups but the first, which come after another --."""
    first = words.index("--")
    second = words.index("--", first + 1)
    end = words.index("--", second + 1) if "--" in words[second + 1 :] else len(words)
    return words[:first], words[first + 1 : second], words[second + 1 : end]


def _on_one_line(setting: str) -> str:
    """What of white space a table's entries have between them is all the same to the wrapper."""
    return setting.replace(";\n", ";").replace("\n", " ")
