"""The workers' text: sshd in images of all kinds, or one line that says what is missing."""

import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from job_pods import PORT, Pods
from pod_launching import launch, ranks, record, shell_words
from running import SHELLS

from hpclaunch.rank.pod import worker_text

SSHD, SSH = "/usr/sbin/sshd", "/usr/bin/ssh"


@pytest.mark.parametrize(
    ("settings", "pod", "said"),
    [
        ((), {"hidden": (SSHD,)}, "the image has no sshd"),
        (("keys=/no/such",), {}, "/no/such/id_rsa cannot be read"),
        ((), {"user": 4321}, "knows no user with the number 4321"),
        (("kit=/no/such",), {}, "there is no /no/such/sbin/sshd"),
        (("colour=red",), {}, "does not know the setting colour=red"),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_missing_is_said_in_one_line(
    pods: Pods, shell: str, settings: tuple[str, ...], pod: dict[str, object], said: str
) -> None:
    given = (f"port={PORT}", pods.keys(1000 if "user" in pod else 0), *settings)
    text = [*shell_words(shell), "-c", worker_text(given), "hpclaunch-worker", *given]
    result = pods.run("job-worker", *text, **pod)
    assert result.returncode == 121
    assert result.stderr.decode().startswith("hpclaunch: worker: ")
    assert said in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1


def test_an_image_without_ssh_and_with_a_locked_root(pods_can_be_had: None) -> None:
    """The kit's ssh and sshd; the image has neither, nor sshd's user."""
    with TemporaryDirectory(prefix="pods-") as name, closing(Pods(Path(name), workers=1)) as bare:
        kit = bare.folder / "kit"
        for program in (SSHD, SSH):
            target = kit / Path(program).parent.name / Path(program).name
            target.parent.mkdir(parents=True)
            shutil.copy(program, target)
        passwd, shadow = bare.folder / "etc/passwd", bare.folder / "etc/shadow"
        passwd.write_text("".join(line for line in passwd.open() if not line.startswith("sshd:")))
        shadow.write_text("root:!locked::0:99999:7:::\n")
        bare.start_workers(bare.keys(), f"kit={kit}", hidden=(SSHD, SSH))
        file = bare.hostfile("{}.job.space.svc slots=4")
        folder = bare.folder / "seen"
        command = record(folder)
        seen = ranks(
            folder,
            launch(bare, "openmpi", command, hostfile=file, more=(f"kit={kit}", "wait=30"), hidden=(SSH,)),
        )
        assert [rank.host for rank in seen] == ["job-worker-0"] * 4


def test_what_a_users_shell_reads_does_not_reach_the_ranks(pods: Pods) -> None:
    """bash reads ~/.bashrc where sshd starts it."""
    (pods.home(0) / ".bashrc").write_text("export OF_BASHRC=1 PATH=/nowhere\n")
    folder = pods.folder / "bashrc"
    try:
        seen = ranks(folder, launch(pods, "openmpi", record(folder)))
    finally:
        (pods.home(0) / ".bashrc").unlink()
    assert [rank.value("OF_BASHRC") for rank in seen] == [None] * 4
