"""Sites that are reached over SSH: what is planned for them without any connection, and what is wrong with
them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command import hpclaunch, loaded_by, loaded_in

SITE = """\
version: 1
name: far
extends: superpod-a100
ssh:
  host: nobody.invalid
  home: /lustre/ada/hpclaunch
"""
JOB = """\
version: 1
name: train
image: nvcr.io/nvidia/pytorch:24.07-py3
command: [./train.sh]
nodes: 2
mounts: ["./code:/code", "./data.bin:/data.bin:ro", "/scratch:/scratch"]
"""


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """A folder with a site, a job and its files."""
    (tmp_path / "far.yaml").write_text(SITE)
    work = tmp_path / "work"
    (work / "code").mkdir(parents=True)
    (work / "code" / "train.sh").write_text("#!/bin/sh\n")
    (work / "data.bin").write_bytes(b"\0\1")
    (work / "job.yaml").write_text(JOB)
    return tmp_path


def rendered(laptop: Path, work: str = "work") -> "subprocess.CompletedProcess[str]":
    return hpclaunch("render", laptop / work / "job.yaml", "--site", laptop / "far.yaml")


def mounts(script: str) -> list[str]:
    found = re.search(r"--container-mounts=(\S+?)'?\s", script)
    assert found, script
    return found[1].split(",")


def test_paths_follow_from_the_content_and_ask_nobody(laptop: Path) -> None:
    done = rendered(laptop)
    assert done.returncode == 0, done.stderr
    code, data, scratch = mounts(done.stdout)
    staged = r"/lustre/ada/hpclaunch/staged/[0-9a-f]{64}"
    assert re.fullmatch(rf"{staged}:/code:ro", code)
    assert re.fullmatch(rf"{staged}\.bin:/data\.bin:ro", data)
    assert scratch == "/scratch:/scratch"
    assert str(laptop) not in done.stdout
    assert "mounts[0]: ./code is mounted read-only" in done.stderr
    assert "mounts[1]" not in done.stderr
    shutil.copytree(laptop / "work", laptop / "elsewhere")
    assert rendered(laptop, "elsewhere").stdout == done.stdout
    (laptop / "elsewhere" / "code" / "train.sh").write_text("#!/bin/bash\n")
    assert mounts(rendered(laptop, "elsewhere").stdout)[0] != code
    assert mounts(rendered(laptop, "elsewhere").stdout)[1:] == [data, scratch]


def test_an_image_beside_the_job_goes_too(laptop: Path) -> None:
    (laptop / "work" / "it.sqsh").write_bytes(b"hsqs")
    job = laptop / "work" / "job.yaml"
    job.write_text(JOB.replace("nvcr.io/nvidia/pytorch:24.07-py3", "./it.sqsh"))
    done = rendered(laptop)
    assert re.search(r"--container-image=/lustre/ada/hpclaunch/staged/[0-9a-f]{64}\.sqsh\b", done.stdout)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("container: {save: ./out.sqsh}", "7:19: ./out.sqsh is written to"),
        ("trials: {count: 2, log: 'log-{trial}'}", "7:25: log-{trial} is written to"),
        ("stage_in: ['gone/away:/raid/x']", "7:12: stage_in.0.: .*gone/away cannot be read: No such file"),
    ],
)
def test_what_cannot_be_over_there_is_refused(laptop: Path, line: str, told: str) -> None:
    job = laptop / "work" / "job.yaml"
    job.write_text(JOB + line + "\n")
    done = rendered(laptop)
    assert done.returncode == 2
    assert re.search(f"^{re.escape(str(job))}:{told}", done.stderr, re.MULTILINE), done.stderr


def test_a_command_on_the_host_has_its_folder_there(laptop: Path) -> None:
    job = laptop / "work" / "job.yaml"
    site = laptop / "far.yaml"
    site.write_text(SITE + "container: none\n")
    job.write_text("version: 1\nname: plain\ncommand: [./code/train.sh]\nworkdir: code\n")
    done = rendered(laptop)
    assert done.returncode == 0, done.stderr
    assert re.search(r"/lustre/ada/hpclaunch/staged/[0-9a-f]{64}/code\b", done.stdout)
    assert "nobody may write" in done.stderr.replace("\n", " ")
    job.write_text("version: 1\nname: plain\ncommand: [./code/train.sh]\nworkdir: /lustre/ada\n")
    done = rendered(laptop)
    assert "staged" not in done.stdout + done.stderr
    job.write_text("version: 1\nname: plain\ncommand: [./code/train.sh]\nworkdir: ../x\n")
    assert "job.yaml:4:10: workdir: ../x leads out" in rendered(laptop).stderr


def test_points_of_a_sweep_have_their_files_there(laptop: Path) -> None:
    for name in "ab":
        (laptop / "work" / name).write_text(name)
    job = laptop / "work" / "job.yaml"
    job.write_text(JOB + 'sweep: {list: [{mounts: ["./a:/in"]}, {mounts: ["./b:/in"]}]}\n')
    (laptop / "scripts").mkdir()
    done = hpclaunch("render", job, "--site", laptop / "far.yaml", "-o", laptop / "scripts")
    assert done.returncode == 0, done.stderr
    found = {mounts(path.read_text())[0] for path in (laptop / "scripts").iterdir()}
    assert len(found) == 2
    assert all(re.fullmatch("/lustre/ada/hpclaunch/staged/[0-9a-f]{64}:/in:ro", each) for each in found)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("host: nobody.invalid", "host: -oProxyCommand=x", "5:9: ssh.host: .* is no name for ssh"),
        ("home: /lustre/ada/hpclaunch", "home: ~/x", "6:9: ssh.home: .* must begin with /"),
        ("home: /lustre/ada/hpclaunch", "home: /x\n  port: 0", "7:9: ssh.port: 0 must be from 1 to 65535"),
        ("home: /lustre/ada/hpclaunch", "home: /x\n  jump: 'a,-b'", "7:9: ssh.jump: .* is no name for ssh"),
        (
            "home: /lustre/ada/hpclaunch",
            "home: /x\n  transport: telnet",
            "7:14: .*not one of fabric, openssh",
        ),
        (
            "home: /lustre/ada/hpclaunch",
            "home: /x\n  config: here",
            "7:11: ssh.config: .* must begin with / or ~/",
        ),
        (
            "home: /lustre/ada/hpclaunch",
            "home: /x\nslurm: {via: pyslurm}",
            "7:14: slurm.via: pyslurm is for this",
        ),
        ("  home: /lustre/ada/hpclaunch", "", "5:3: .*home"),
        ("superpod-a100", "local", "5:3: ssh: is for scheduler: slurm"),
    ],
)
def test_a_wrong_ssh_is_told_with_its_place(laptop: Path, before: str, after: str, told: str) -> None:
    site = laptop / "far.yaml"
    site.write_text(SITE.replace(before, after))
    done = rendered(laptop)
    assert done.returncode == 2
    assert re.search(f"^{re.escape(str(site))}:{told}", done.stderr, re.MULTILINE), done.stderr


def test_a_login_node_that_is_not_there_ends_with_3_and_leaves_no_record(
    laptop: Path, tmp_path: Path
) -> None:
    words = ("submit", laptop / "work" / "job.yaml", "--site", laptop / "far.yaml")
    env = {"HPCLAUNCH_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = hpclaunch(*words, env=env)
    assert (done.returncode, done.stdout) == (3, "")
    assert "nobody.invalid cannot be reached over SSH" in done.stderr
    assert not (tmp_path / "home").exists()


def test_who_needs_no_ssh_does_not_load_it(laptop: Path) -> None:
    libraries = {"fabric", "paramiko", "invoke", "cryptography"}
    words = ("render", laptop / "work" / "job.yaml", "--site")
    over_ssh = loaded_by(*words, laptop / "far.yaml", cwd=laptop)
    assert "hpclaunch.schedulers.ssh.trees" in over_ssh
    assert not libraries & over_ssh
    (laptop / "work" / "job.yaml").write_text(JOB.replace('"./data.bin', '"/data.bin'))
    plain = loaded_by(*words, "superpod-a100", cwd=laptop)
    slurm = loaded_in(
        "from hpclaunch.schedulers import lifecycle\n"
        "lifecycle.scheduler('slurm')\nimport hpclaunch.cli.submit, hpclaunch.cli.jobs",
        laptop,
    )
    for modules in (plain, slurm):
        assert not libraries & modules
        assert not {name for name in modules if "ssh" in name.split(".")[-2:]} - {"hpclaunch.spec.ssh"}
