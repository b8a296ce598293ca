"""What the report says beside what it hides."""

import pytest
import yaml

from hpclaunch.convert.conversion import convert
from hpclaunch.convert.inputs import classified
from hpclaunch.convert.options import Options

_HEAD = "#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=8 --gpus-per-node=8 -t 10\n"


def test_a_password_that_is_a_word_of_job_files_takes_none_of_the_advice() -> None:
    key = "0123456789abcdef0123456789abcdef"
    lines = f"mysql -uroot -psecret db\nexport WANDB_API_KEY={key}\nsrun --mpi=pmix ./x\n"
    found = convert(classified({"run.sub": _HEAD + lines}), Options({}))
    rows = [(each.key, each.became) for each in found.findings if each.became]
    assert ("secrets.0", "secrets.0: WANDB_API_KEY") in rows
    assert any("secrets: [WANDB_API_KEY]" in each.todo for each in found.findings)
    assert all("-psecret" not in " ".join((each.what, each.why)) for each in found.findings)
    assert key not in found.job + repr(found.findings)


def test_a_secret_that_nobody_gave_is_not_asked_for_on_a_command_line() -> None:
    lines = 'if [ -n "$WANDB_API_KEY" ]; then A=1; fi\nsrun --mpi=none ./t ${MODE:-a}\n'
    found = convert(classified({"run.sub": f"#!/bin/bash\n#SBATCH -N 1 -n 1\n{lines}"}), Options({}))
    said = {each.what: each for each in found.findings if each.why == "nobody gave it"}
    assert said["WANDB_API_KEY"].became == "not set"
    assert "any text for the secret" in said["WANDB_API_KEY"].todo
    assert "secret" not in said["MODE"].todo


_POD = """apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
  - name: c
    image: lab/fit:3
    command: [./fit]
    env: [{{name: {name}, value: {value}}}]
"""
_SCRIPT = _HEAD + "export {name}={value}\nsrun --mpi=none ./fit\n"


@pytest.mark.parametrize(("file", "text"), [("pod.yaml", _POD), ("run.sub", _SCRIPT)])
@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("OUTPUT_KEY", "runs/may/scores.csv", False),
        ("S3_KEY", "weights/fit-2.safetensors", False),
        ("MODEL_KEY_2", "a/b.pt", False),
        ("S3_KEY", "wJalrXUt/K7MDENGbPxRfiCYEXAMPLEKEY12", True),
        ("OUTPUT_KEY", "qA7xK2mP9wR4tZ8v", True),
        ("LAB_API_KEY", "keys/of/lab.txt", True),
    ],
)
def test_the_key_of_an_object_in_a_store_is_no_secret(
    file: str, text: str, name: str, value: str, is_secret: bool
) -> None:
    found = convert(classified({file: text.format(name=name, value=value)}), Options({}))
    job = yaml.safe_load(found.job)
    assert job.get("secrets", []) == ([name] if is_secret else [])
    assert job.get("env", {}).get(name) == (None if is_secret else value)
    assert any(name in each.what and each.kind == "defect" for each in found.findings) == is_secret


def test_a_secret_of_the_job_is_not_said_to_be_unset() -> None:
    lines = "export HF_TOKEN=${HF_TOKEN:-}\nexport DEPTH=${DEPTH:-}\nsrun --mpi=none python t.py\n"
    found = convert(classified({"run.sub": _HEAD + lines}), Options({}))
    assert yaml.safe_load(found.job)["secrets"] == ["HF_TOKEN"]
    assert [each.what for each in found.findings if each.became == "not set"] == ["DEPTH"]


@pytest.mark.parametrize(("value", "is_said"), [("${HUB_TOKEN:-}", True), ("$HUB_TOKEN", False)])
def test_a_secret_that_a_script_did_without_is_said_to_be_demanded_now(value: str, is_said: bool) -> None:
    text = f'#!/bin/bash\n#SBATCH -N 1 -n 1 -t 5\nexport HUB_TOKEN="{value}"\nsrun --mpi=none ./t\n'
    found = convert(classified({"run.sub": text}), Options({}))
    (told,) = [each for each in found.findings if each.key == "secrets.0"]
    assert ("take it out of secrets" in told.why) is is_said
