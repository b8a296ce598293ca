"""Conditions of a template between the words of a command."""

import pytest
from script_cases import ASK, loaded

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=4 -t 9\nsrun --mpi=pmix \\\n"
_IMAGE = "{%- if image %}\n  --container-image={{ image }} \\\n"
_OTHER = "  --container-image=lab/other:1 \\\n"


@pytest.mark.parametrize(
    ("lines", "image", "said"),
    [
        (f"{_IMAGE}{{%- endif %}}\n", ASK, 1),
        (f"{_IMAGE}{{%- else %}}\n{_OTHER}{{%- endif %}}\n", ASK, 2),
        (
            f"{{% if a %}}\n{_OTHER}{{% elif b %}}\n{{% if c %}}\n  -v \\\n{{% endif %}}\n{{% endif %}}\n",
            "o",
            2,
        ),
        ("{% for each in mounts %}\n  --container-mounts={{ each }}:/m \\\n{% endfor %}\n", None, 1),
    ],
)
def test_they_are_no_words_of_it(lines: str, image: str | None, said: int) -> None:
    found = convert(classified({"run.sub": f"{_HEAD}{lines}  python train.py\n"}), Options({}))
    job = loaded(found.job)
    assert (job["command"], job["ranks_per_node"]) == (["python", "train.py"], "4")
    assert job.get("image") == {"o": "lab/other:1"}.get(image or "", image)
    assert len([each for each in found.findings if "the template decides" in each.why]) == said


def test_words_that_a_shell_has_in_its_own_marks_stay() -> None:
    text = f"{_HEAD}  ./t \\\n  '{{% if a %}}' \\\n  b\n"
    found = convert(classified({"run.sub": text}), Options({}))
    assert not [each for each in found.findings if "the template decides" in each.why]
    assert "{% if a %}" in " ".join(loaded(found.job)["command"])


def test_a_way_that_nothing_ends_leaves_nothing_out() -> None:
    text = f"{_HEAD}{{% if a %}}\n{_OTHER}{{% else %}}\n  python train.py\n"
    assert "train.py" in convert(classified({"run.sub": text}), Options({})).job
