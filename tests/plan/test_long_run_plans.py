"""What becomes of `requeue` and `signal` on each scheduler."""

from pathlib import Path

import pytest

from hpclaunch.cli.planning import plan_job
from hpclaunch.values.errors import InputError
from hpclaunch.values.launchplan import LaunchPlan, SlurmTarget

IMAGE = "image: nvcr.io/nvidia/mxnet:21.09-py3\n"
SIGNAL = "signal: {name: USR1, before: 2m}\n"
AFTER = "after: [{run: a, per: job}]\n"


def plan(folder: Path, text: str, site: str = "superpod-a100") -> LaunchPlan:
    path = folder / "job.yaml"
    path.write_text("name: a\ncommand: [run]\n" + text)
    return plan_job(str(path), site, []).plan


def sbatch(made: LaunchPlan, *names: str) -> list[str]:
    assert isinstance(made.target, SlurmTarget)
    return [each.text for each in made.target.sbatch if each.text.partition("=")[0] in names]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", ["--no-requeue"]),
        ("requeue: false\n", ["--no-requeue"]),
        ("requeue: true\n", ["--requeue"]),
        ("chain: 3\n", ["--no-requeue", "--array=0-2%1"]),
        (SIGNAL, ["--no-requeue", "--signal=USR1@120"]),
        (AFTER, ["--no-requeue", "--signal=TERM@60"]),
        ("time: 4m\n" + AFTER, ["--no-requeue"]),
        (AFTER + "signal: {name: TERM, before: 5m}\n", ["--no-requeue", "--signal=TERM@300"]),
    ],
)
def test_slurm_is_told_each_once(tmp_path: Path, text: str, options: list[str]) -> None:
    made = plan(tmp_path, text)
    assert sbatch(made, "--requeue", "--no-requeue", "--signal", "--array") == options
    assert sbatch(made, "--open-mode") == ["--open-mode=append"]
    assert made.warnings == ()


def test_a_signal_that_leaves_the_last_steps_without_time_is_warned_of(tmp_path: Path) -> None:
    made = plan(tmp_path, SIGNAL + AFTER)
    assert sbatch(made, "--signal") == ["--signal=USR1@120"]
    (warning,) = made.warnings
    assert "USR1" in warning
    assert "`after`" in warning


def test_a_raw_signal_beside_the_key_is_refused(tmp_path: Path) -> None:
    raw = "sites: {superpod-a100: {sbatch: [--signal=USR2@9, --no-requeue]}}\n"
    with pytest.raises(InputError) as caught:
        plan(tmp_path, SIGNAL + raw)
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    assert all("follows from the job's own keys" in message for message in messages)


@pytest.mark.parametrize("site", ["k8s-superpod-a100", "local"])
def test_other_schedulers_say_what_they_do_not_do(tmp_path: Path, site: str) -> None:
    image = IMAGE if site != "local" else "nodes: 1\n"
    plain = plan(tmp_path, image, site).warnings
    made = plan(tmp_path, image + "requeue: true\nchain: 2\nnotify: {command: a}\n" + SIGNAL, site)
    more = [warning for warning in made.warnings if warning not in plain]
    assert [warning.partition(" ")[0] for warning in more] == ["requeue", "signal", "chain", "notify"]
    assert all("has no effect" in warning for warning in more)
