"""transport: openssh and whose login is used: the user's own ControlMaster, or one of the command's."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from realsshd import Sshd, make_key
from waiting import until

from hpclaunch.values.login import Login

# As a command does: several things over one connection.
PROGRAM = """\
import sys, msgspec
from hpclaunch.schedulers.ssh.connection import connection
from hpclaunch.values.login import Login
from hpclaunch.values.errors import HpclaunchError
node = connection(msgspec.json.decode(sys.argv[1], type=Login))
try:
    for body in sys.argv[2:]:
        print(node.run(body, 30.0).out.decode(), flush=True)
except HpclaunchError as error:
    sys.exit(str(error))
"""


def argv(login: Login, *bodies: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, msgspec.json.encode(login).decode(), *bodies]


@pytest.fixture
def login(sshd: Sshd, tmp_path: Path) -> Login:
    return Login("node", str(tmp_path), transport="openssh", config=str(sshd.config))


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the command makes its folder; the path of a socket must be short."""
    folder = Path(tempfile.mkdtemp(prefix="hlt-", dir="/tmp"))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield folder
    shutil.rmtree(folder)


def test_a_login_of_its_own_ends_with_the_command(sshd: Sshd, login: Login, private: Path) -> None:
    listing = f"ls -A {private}; stat -c %a {private}/*"
    done = subprocess.run(
        argv(login, listing, "echo 2", "echo 3"), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "700"
    assert done.stdout.endswith("2\n\n3\n\n")
    assert sshd.logins() == 1
    assert list(private.iterdir()) == []
    until(lambda: not sshd.sessions())


def test_a_long_tmpdir_is_no_obstacle(sshd: Sshd, login: Login, tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    env = {**os.environ, "TMPDIR": str(folder)}
    done = subprocess.run(
        argv(login, "echo 1", "echo 2"), capture_output=True, text=True, timeout=60, env=env
    )
    assert (done.returncode, done.stdout) == (0, "1\n\n2\n\n"), done.stderr
    assert sshd.logins() == 1


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_command_leaves_no_login_behind(
    sshd: Sshd, login: Login, private: Path, sent: signal.Signals
) -> None:
    process = subprocess.Popen(argv(login, "echo", "sleep 20"), stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(sent)
    process.wait()
    process.stdout.close()
    until(lambda: not sshd.sessions())


def test_a_running_master_of_the_user_s_is_used_and_left(sshd: Sshd, login: Login, private: Path) -> None:
    own = f"ControlPath {private}/own\n" + sshd.config.read_text()
    sshd.config.write_text(own)
    ssh = ["ssh", "-F", str(sshd.config)]
    subprocess.run([*ssh, "-M", "-N", "-f", "node"], check=True, timeout=60, stderr=subprocess.DEVNULL)
    try:
        # The host would let nobody in any more.
        (sshd.folder / "authorized_keys").write_text("")
        done = subprocess.run(argv(login, "echo 1", "echo 2"), capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (0, "1\n\n2\n\n"), done.stderr
        assert sshd.logins() == 1
        subprocess.run([*ssh, "-O", "check", "node"], check=True, capture_output=True, timeout=60)
    finally:
        subprocess.run([*ssh, "-O", "exit", "node"], capture_output=True, timeout=60)


def test_a_master_that_the_user_wants_kept_is_made_and_left(sshd: Sshd, login: Login, private: Path) -> None:
    wanted = f"ControlMaster auto\nControlPath {private}/own\nControlPersist 60\n"
    sshd.config.write_text(wanted + sshd.config.read_text())
    try:
        for _ in range(2):
            done = subprocess.run(argv(login, "echo 1", "echo 2"), capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stdout) == (0, "1\n\n2\n\n"), done.stderr
        assert sshd.logins() == 1
    finally:
        subprocess.run(["ssh", "-F", str(sshd.config), "-O", "exit", "node"], capture_output=True, timeout=60)


@pytest.mark.parametrize(
    "wanted",
    [
        "SessionType none",
        "SessionType subsystem",
        "StdinNull yes",
        "ForkAfterAuthentication yes",
        "RequestTTY force\nRemoteCommand tmux attach",
        "PermitLocalCommand yes\nLocalCommand echo no answer",
    ],
)
def test_what_the_user_wants_of_logins_by_hand_is_not_done_here(
    sshd: Sshd, login: Login, private: Path, wanted: str
) -> None:
    sshd.config.write_text(f"{wanted}\n{sshd.config.read_text()}")
    program = PROGRAM.replace("print(", "node._transport.close(); print(")  # so that each logs in by itself
    command = argv(login, "echo 1", "echo 2")
    command[2] = program
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1\n\n2\n\n"), done.stderr
    assert sshd.logins() == 2


def test_an_older_ssh_is_given_no_option_that_it_has_not(
    sshd: Sshd, login: Login, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for one of before 7.6, which does not know four names."""
    names = "remotecommand|sessiontype|stdinnull|forkafterauthentication"
    real = shutil.which("ssh")
    (private / "ssh").write_text(
        f"""#!/bin/bash
shopt -s nocasematch
for word; do
  [[ ! $word =~ ^({names})= ]] || {{ echo "Bad configuration option: $word" >&2 && exit 255; }}
done
[[ " $* " != *" -G "* ]] || {{ {real} "$@" | grep -Eiv "^({names}) "; exit; }}
exec {real} "$@"
"""
    )
    (private / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(private), prepend=os.pathsep)
    done = subprocess.run(argv(login, "echo 1"), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1\n\n"), done.stderr


def test_a_user_who_is_there_is_asked_once(sshd: Sshd, login: Login, private: Path) -> None:
    """For a passphrase here; a second factor is asked for in the same way."""
    (sshd.folder / "key").unlink()
    make_key(sshd.folder / "key", "open sesame")
    shutil.copy(sshd.folder / "key.pub", sshd.folder / "authorized_keys")
    pid, terminal = pty.fork()
    if not pid:
        os.execv(sys.executable, argv(login, "echo one", "echo two"))
    seen = b""
    answered = 0
    while b"two" not in seen:
        part = os.read(terminal, 4096)
        assert part, seen
        seen += part
        if seen.lower().count(b"enter passphrase") > answered:
            answered += 1
            os.write(terminal, b"open sesame\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert answered == 1
    assert sshd.logins() == 1


@pytest.mark.parametrize("transport", ["fabric", "openssh"])
def test_nobody_is_asked_where_nobody_is(sshd: Sshd, login: Login, private: Path, transport: str) -> None:
    (sshd.folder / "key").unlink()
    make_key(sshd.folder / "key", "open sesame")
    shutil.copy(sshd.folder / "key.pub", sshd.folder / "authorized_keys")
    command = argv(structs.replace(login, transport=transport), "echo one")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, start_new_session=True)
    assert done.returncode == 1
    assert "ssh-add" in done.stderr


def test_a_laptop_without_ssh(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = subprocess.run(argv(login, "echo one"), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "there is no ssh on this machine" in done.stderr
    assert "transport: fabric" in done.stderr
