"""What whoever copies a script is to fill in is asked for, and is neither a name nor a redirection."""

import pytest

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options


@pytest.mark.parametrize(
    ("words", "image"),
    [
        ("--container-image <path to docker image>", "${path_to_docker_image}"),
        ("--container-image=<registry/image:tag> --label", "${registry_image_tag}"),
        ("--container-image a/b:c <in >out", "a/b:c"),
        ("--container-image a/b:c --label < in > out", "a/b:c"),
        ("--container-image a/b:c --label <in 2>err", "a/b:c"),
    ],
)
def test_a_placeholder_is_a_variable_that_nobody_gave_and_no_redirection(words: str, image: str) -> None:
    found = convert(classified({"run.sub": f"#SBATCH -N 2\nsrun --mpi=none {words} ./t\n"}), Options({}))
    repaired = [(each.became, each.places[0].line) for each in found.findings if each.kind == "repaired"]
    asked = {each.key: each.why for each in found.findings if each.kind == "question"}
    if image.startswith("$"):
        assert image[2:-1] in asked["image"]
        assert repaired == [(image, 2)]
    else:
        assert f"\nimage: {image} " in found.job
        assert not repaired


@pytest.mark.parametrize("value", ["<partition>", "{ partition }", "{partition}"])
def test_a_name_that_is_to_be_filled_in_is_no_name(value: str) -> None:
    text = (
        f"#SBATCH -N 2 -t 5 --ntasks-per-node=8\n#SBATCH -p {value}\n#SBATCH -A team\nsrun --mpi=none ./t\n"
    )
    found = convert(classified({"run.sub": text}), Options({}, site="here"))
    assert "account: team" in found.job
    assert "partition" not in found.job
    assert [each.places[0].line for each in found.findings if "sites.NAME.partition" in each.todo] == [2]
