"""What is wrong with `preflight` of a job, and how it is read and written."""

from pathlib import Path

import pytest
import yaml

from hpclaunch.spec.dump import dump_job
from hpclaunch.spec.preflight import PreflightSpec
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.values.errors import InputError

JOB = "name: a\ncommand: 'true'\n"


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("preflight: {gpu: false, hca: false}", "3:12", "nothing is to be checked"),
        ("gpus_per_node: 0\npreflight: {hca: false}", "4:12", "the job has no GPUs"),
        ("gpus_per_node: 0\npreflight: {hca: false, nccl: true}", "4:12", "the job has no GPUs"),
        ("preflight: {spares: -1}", "3:21", "from 0 to"),
        ("preflight: {limit: 5s}", "3:20", "from 10 to 3600"),
        ("preflight: {limit: soon}", "3:20", "span of time"),
        ("preflight: {spare: 1}", "3:13", "spares"),
        ("preflight: {nccl: true}\nimage: {ref: a, import: shared}", "4:25", "hpclaunch image import"),
        ("preflight: {}\nlocality: unit", "4:11", "`preflight`"),
        (
            "preflight: {}\nsweep: {grid: {env.A: [b, c]}}",
            "4:8",
            "let one job on good nodes go over the points",
        ),
    ],
)
def test_it_is_said_where(text: str, where: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_job(JOB + text + "\n", "j", "/").value  # noqa: B018
    assert [each for each in caught.value.problems if each.where == f"j:{where}" and said in each.message], (
        str(caught.value)
    )


def test_what_is_written_reads_back_as_the_same() -> None:
    text = JOB + "preflight: {nccl: true, spares: 2, limit: 90s}\n"
    job = parse_job(text, "j", "/").value
    assert job.preflight == PreflightSpec(nccl=True, spares=2, limit=90)
    assert parse_job(dump_job(job), "j", "/").value == job


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"all_reduce_gbs": 0}, "at least 1"),
        ({"between_nodes_gbs": -2}, "at least 1"),
        ({"command": ["", "x"]}, "first word is empty"),
    ],
)
def test_a_site_s_own_is_looked_at(tmp_path: Path, own: dict[str, object], said: str) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(yaml.safe_dump({"name": "own", "extends": "superpod-a100", "preflight": own}))
    with pytest.raises(InputError, match=said):
        read_site(str(site))
