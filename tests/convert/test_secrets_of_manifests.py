"""A secret that a manifest or a rendered text names in one place is hidden in each other, too."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_own_texts import SLURM, converted
from test_secret_texts import S, outputs

from hpclaunch.cli.planning import plan_job
from hpclaunch.render import script
from hpclaunch.spec.read import parse_job, read_site

POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
  - name: c
    image: a/b:1
    command: [python, train.py, --tag, {S}]
    resources: {{limits: {{nvidia.com/gpu: 8}}}}
    env:
    - name: FIRST
      value: "1"
%s
    - name: LAST
      value: "2"
"""
FORMS = (
    f"    - name: API_KEY\n      value: {S}",
    f'    - name: "API_KEY"  # ours\n      value: "{S}"  # of the team',
    f"    - value: {S}\n      name: API_KEY",
    f"    - {{name: API_KEY, value: {S}}}",
    f"    - {{value: '{S}', name: API_KEY}}",
    f'    - {{"name": "API_KEY", "value": "{S}"}}',
    f'    - {{\n      "name": "API_KEY",\n      "value": "{S}"\n      }}',
)


ANCHORED = (
    f"    - name: API_KEY\n      value: &a {S}\n    - name: B\n      value: *a",
    f"    - name: API_KEY\n      value: !!str {S}\n    - name: B\n      value: {S}",
    f"    - name: B\n      value: &a {S}\n    - name: API_KEY\n      value: *a",
    f"    - {{name: B, value: &a {S}}}\n    - {{name: API_KEY, value: *a}}",
    f"    - name: API_KEY\n      value: |-\n        {S}\n    - name: B\n      value: {S}",
)


@pytest.mark.parametrize("form", ANCHORED)
def test_a_value_that_has_its_name_elsewhere_is_in_no_output(form: str, tmp_path: Path) -> None:
    text = POD % form
    variables = yaml.safe_load(text)["spec"]["containers"][0]["env"]
    assert [each["value"] for each in variables if each["name"] in ("API_KEY", "B")] == [S, S]
    for name, said in outputs(text, tmp_path, "pod.yaml").items():
        assert S not in said, name


ELSEWHERE = (
    f"    args: [--tag, {S}, --token, {S}]",
    f"    args: [--token, &a {S}, --tag, *a]",
    f"    args: [--token, $(FOO)]\n    env: [{{name: FOO, value: {S}}}]",
    f"    env: [{{name: B, value: {S}}}]\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\n"
    f"data: {{HF_TOKEN: {S}, C: a}}",
    f"    env: [{{name: B, value: {S}}}]\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n"
    f"stringData: {{login: {S}}}",
    f"    env: [{{name: B, value: {S}}}]\n---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n"
    f"data: {{login: {b64encode(S.encode()).decode()}}}",
)
BARE = "".join(POD.partition("    env:\n")[:1]).replace(f", --tag, {S}", "")


@pytest.mark.parametrize("form", ELSEWHERE)
def test_a_value_that_another_place_tells_to_be_a_secret_is_in_no_output(form: str, tmp_path: Path) -> None:
    for name, said in outputs(BARE + form, tmp_path, "pod.yaml").items():
        assert S not in said, name


def test_the_name_of_a_user_in_a_secret_hides_nothing(tmp_path: Path) -> None:
    secret = "---\nkind: Secret\nmetadata: {name: s}\nstringData: {user: postgres}\n"
    said = outputs(BARE + "    env: [{name: DB, value: postgres}]\n" + secret, tmp_path, "pod.yaml")
    assert "DB: postgres" in said["report.txt"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("damage", ["", '\t- name: B\n      value: "2"\n'], ids=["well", "broken"])
def test_a_value_that_has_its_name_beside_it_is_in_no_output(form: str, damage: str, tmp_path: Path) -> None:
    text = POD % form
    assert {"API_KEY": S}.items() <= {
        each["name"]: each["value"] for each in yaml.safe_load(text)["spec"]["containers"][0]["env"]
    }.items()
    for name, said in outputs(text + damage, tmp_path, "pod.yaml").items():
        assert S not in said, name


def test_a_rendered_text_gives_the_names_of_secrets_alone(tmp_path: Path) -> None:
    job: dict[str, Any] = {
        "version": 1,
        "name": "train",
        "image": "a/b:1",
        "command": ["./train.sh", "--tag", S],
        "nodes": 1,
        "env": {"WANDB_API_KEY": S, "LR": "0.1"},
    }
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    (tmp_path / "site.yaml").write_text(yaml.safe_dump({"version": 1, **SLURM}))
    text = script.render(plan_job(str(tmp_path / "job.yaml"), str(tmp_path / "site.yaml"), ()).plan)
    assert S in text
    for site in (None, read_site(str(tmp_path / "site.yaml"))):
        found = converted(text, site)
        assert S not in found.job + str(found.findings)
        assert not any("the same text" in each.why for each in found.findings)
        again = parse_job(found.job, "job.yaml", str(tmp_path), ("command=true",)).value
        assert again.secrets == ("WANDB_API_KEY",)
        assert again.env["LR"] == "0.1"


@pytest.mark.parametrize("address", ["reg.example/team/x:1", "reg.lab.example:5000/x"])
def test_a_password_in_front_of_a_registry_is_in_no_output(address: str, tmp_path: Path) -> None:
    text = (POD % "").replace(f", --tag, {S}", "").replace("a/b:1", f"ada:sesame@{address}")
    for name, said in outputs(text, tmp_path, "pod.yaml").items():
        assert "sesame" not in said, name
        assert address in said, name


def test_a_digest_behind_an_image_is_no_password(tmp_path: Path) -> None:
    image = "reg.example/team/x:tag@sha256:" + "0a" * 32
    text = (POD % "").replace(f", --tag, {S}", "").replace("a/b:1", image)
    assert all(image in said for said in outputs(text, tmp_path, "pod.yaml").values())


_REFERENCES = (
    "    envFrom: [{secretRef: {name: bucket-login}}]\n",
    "    envFrom:\n    - secretRef:\n        name: bucket-login\n",
    "    env:\n    - name: BUCKET\n      valueFrom:\n        secretKeyRef:\n          key: b\n"
    "          name: bucket-login\n",
)


@pytest.mark.parametrize("reference", _REFERENCES)
@pytest.mark.parametrize(
    "comment", ["# It needs the secrets: bucket-login, tracker\n", "# secret: bucket-login\n"]
)
def test_the_name_of_a_secret_that_a_comment_lists_is_shown(
    comment: str, reference: str, tmp_path: Path
) -> None:
    said = outputs(comment + BARE + reference, tmp_path, "pod.yaml")["report.txt"]
    assert "bucket-login" in said
    assert "***" not in said


@pytest.mark.parametrize("reference", _REFERENCES)
def test_a_value_that_is_called_as_its_secret_is_in_no_output(reference: str, tmp_path: Path) -> None:
    env = "    env: [{name: API_KEY, value: bucket-login}, {name: B, value: bucket-login}]\n"
    text = BARE + (
        f"{reference}    - {{name: API_KEY, value: bucket-login}}\n    - {{name: B, value: bucket-login}}\n"
        if "    env:" in reference
        else reference + env
    )
    assert "B: bucket-login" not in outputs(text, tmp_path, "pod.yaml")["report.txt"]
