"""The stand-in for pyslurm is like the real one's source, and drops nothing that the adapter gives it."""

import inspect
from operator import attrgetter
from pathlib import Path

import pyslurm_facts
import pytest
import standin_pyslurm

from hpclaunch.schedulers.ways import inprocess
from hpclaunch.schedulers.ways.contract import Request

# A value for each option that the adapter has an attribute for.
VALUES = {
    "--account": "adas",
    "--array": "0-3",
    "--constraint": "a100",
    "--cpus-per-task": "16",
    "--dependency": "afterok:7",
    "--exclude": "dgx1",
    "--gres": "gpu:8",
    "--job-name": "train",
    "--licenses": "ansys",
    "--mail-type": "END",
    "--mail-user": "ada@example.org",
    "--network": "devname=ib0",
    "--nodelist": "dgx[2-3]",
    "--nodes": "2",
    "--ntasks": "16",
    "--ntasks-per-node": "8",
    "--open-mode": "append",
    "--partition": "batch",
    "--qos": "high",
    "--reservation": "maintenance",
    "--time": "1-00:00:00",
    "--wckey": "key",
}
SIZE = ("--nodes=2", "--ntasks-per-node=8")
# What is said in other words: no memory limit is told as one for each CPU.
OTHERWISE = {"--mem=0": "--mem-per-cpu=0"}


def request(folder: Path, *options: str) -> Request:
    names = {option.partition("=")[0] for option in options}
    size = tuple(option for option in SIZE if option.partition("=")[0] not in names)
    script = folder / "script"
    script.write_text("#!/bin/sh\ntrue\n")
    return Request(script, ("claim",), "hpclaunch:tag", folder, "log", {}, (*size, *options))


@pytest.mark.parametrize(
    "option",
    [
        *(f"{name}={VALUES[name]}" for name in inprocess._ATTRIBUTES),
        *inprocess._WHOLE,
        "--mem=2000M",
    ],
)
def test_each_option_that_the_adapter_takes_arrives(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = tmp_path / "sbatch"
    recorder.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >{tmp_path}/words; echo 7\n")
    recorder.chmod(0o700)
    monkeypatch.setattr(standin_pyslurm, "_SBATCH", str(recorder))
    monkeypatch.setattr(standin_pyslurm, "__file__", str(tmp_path / "standin.py"))  # it writes beside itself
    wanted = inprocess.attributes(request(tmp_path, option))
    assert set(wanted) <= pyslurm_facts.ATTRIBUTES - pyslurm_facts.IN_VAIN
    assert standin_pyslurm.JobSubmitDescription(**wanted, environment={}).submit() == 7
    words = (tmp_path / "words").read_text().splitlines()
    assert OTHERWISE.get(option, option.replace("2000M", "2000")) in words


def test_the_stand_in_has_the_names_and_signatures_of_the_real_one() -> None:
    assert standin_pyslurm._PUBLIC == pyslurm_facts.ATTRIBUTES
    found = {
        name: str(inspect.signature(attrgetter(name)(standin_pyslurm))) for name in pyslurm_facts.SIGNATURES
    }
    assert found == pyslurm_facts.SIGNATURES
    for name, base in pyslurm_facts.BASES.items():
        assert getattr(standin_pyslurm, name).__base__.__name__ == base
    with pytest.raises(AttributeError):
        standin_pyslurm.JobSubmitDescription(container_id="of 25.11 alone")
