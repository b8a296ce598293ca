"""Places that envsubst fills in beside the facts that are asked for: in the name of a resource, and in the
text of a shell."""

import pytest
from manifest_cases import converted

_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: NAME
spec:
  containers:
  - name: c
    image: reg/x:1
    command: [bash, -c]
    args:
    - |
      set -eu
      TEXT
    resources: {limits: {"RESOURCE": "2", memory: 4Gi}}
"""


def _of(name: str = "a", text: str = "./melt", resource: str = "nvidia.com/gpu") -> str:
    return _POD.replace("NAME", name).replace("TEXT", text).replace("RESOURCE", resource)


@pytest.mark.parametrize(
    ("resource", "gpus"),
    [
        ("${DEVICE}", None),
        ("$DEVICE", None),
        ("example.com/${DEVICE}", None),
        ("nvidia.com/${DEVICE}", 2),
        ("${VENDOR}/gpu", 2),
        ("example.com/clock", 0),
    ],
)
def test_a_resource_whose_name_is_filled_in_may_be_gpus(resource: str, gpus: int | None) -> None:
    draft = converted(_of("$RUN", resource=resource))
    asked = [each for each in draft.findings if each.kind == "question" and each.key == "gpus_per_node"]
    fact = draft.facts["gpus_per_node",]
    assert (bool(asked), fact.is_open) == (gpus is None, gpus is None)
    assert fact.is_open or fact.value == gpus
    if asked:
        assert "--env DEVICE=VALUE" in asked[0].todo
        assert not any("no job asks for it" in each.why for each in draft.findings)


@pytest.mark.parametrize(
    ("name", "text", "left"),
    [
        ("$RUN", 'echo "run ${RUN}" > /out/log', {"$RUN"}),
        ("$RUN", "./melt ${RUN} ${TIER}", {"$RUN", "$TIER"}),
        ("$RUN", "./melt", set()),
        ("$RUN", "RUN=3; ./melt $RUN", set()),
        ("$RUN-1", "mpirun -np 2 ./melt --log=/out/${RUN}", {"$RUN"}),
    ],
)
def test_a_place_in_a_text_is_said_beside_a_question_that_names_it_too(
    name: str, text: str, left: set[str]
) -> None:
    draft = converted(_of(name, text))
    said = {each.what for each in draft.findings if each.kind == "left" and "envsubst fills" in each.why}
    assert said == left
    assert any(each.kind == "question" and "--env RUN=VALUE" in each.todo for each in draft.findings)


def test_what_a_text_sets_itself_is_not_asked_of_the_operator() -> None:
    draft = converted(_of("$RUN", "ALL=$(nproc --all); mpirun -np $ALL ./melt"))
    asked = [each for each in draft.findings if each.kind == "question" and each.key == "ranks_per_node"]
    assert asked
    assert "--env" not in asked[0].todo
