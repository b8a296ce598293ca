"""Commands on a login node by both transports, and everything that keeps them from getting there."""

import os
import random
import shutil
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fabric
import pytest
from freeport import free_port
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from realsshd import Sshd, make_key
from waiting import until

from hpclaunch.schedulers.contract import Refused
from hpclaunch.schedulers.ssh import by_fabric, by_openssh, words
from hpclaunch.schedulers.ssh import connection as connections
from hpclaunch.schedulers.ssh.connection import Connection
from hpclaunch.schedulers.ssh.contract import Lost, Unreached
from hpclaunch.values.login import Login

LIMIT_S = 30.0
HOSTILE = [
    "",
    "a b",
    "-n",
    "new\nline\n",
    "\n",
    "it's",
    "'\"'\"'",
    "$HOME ${x} $(id) `id`",
    "!! !x",
    "\\ \\n \\\\",
    "a;b|c&d>e<f*g?[h]~#%",
    "\t\r\v",
    "ümläut 日本語 \U0001f600",
    os.fsdecode(b"\xff\xfe not UTF-8"),
]


def said(connection: Connection, *command: str, **variables: str) -> str:
    done = connection.run(words.command(command, variables), LIMIT_S)
    assert done.status == 0, done.err
    return os.fsdecode(done.out)


def refused(connection: Connection) -> str:
    with pytest.raises(Unreached) as caught:
        connection.run("true", LIMIT_S)
    assert caught.value.exit_status == 3
    return str(caught.value)


def test_words_and_variables_arrive_as_they_are(connect, sshd: Sshd) -> None:
    connection = connect()
    sent = [*HOSTILE, "x" * 100_000]
    assert said(connection, "printf", "%s\\0", *sent).split("\0")[:-1] == sent
    variables = {f"V{number}": text for number, text in enumerate(HOSTILE)}
    found = said(connection, "env", "-0", **variables).split("\0")
    assert {f"{name}={value}" for name, value in variables.items()} <= set(found)
    assert sshd.logins() == 1


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "busybox sh", "tcsh", "fish"])
@given(sent=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_login_shell_passes_any_words(shell: str, sent: list[str]) -> None:
    """sshd gives the command to the user's shell as SHELL -c COMMAND."""
    line = words.line(words.command(["printf", "%s\\0", "", *sent]), "mark")
    done = subprocess.run([*shell.split(), "-c", words.LISTEN], input=line, capture_output=True, timeout=60)
    got = done.stdout.partition(b"\nmark\n")[2].rpartition(b"\nmark 0\n")[0]
    assert got.decode().split("\0")[1:-1] == sent, done.stderr


def test_output_and_status_come_back_as_they_are(connect) -> None:
    connection = connect()
    done = connection.run("printf 'a\\nb'; printf '\\377\\n\\n' >&2; (exit 7)", LIMIT_S)
    assert (done.status, done.out, done.err) == (7, b"a\nb", b"\xff\n\n")
    done = connection.run("(exit 255)", LIMIT_S)
    assert (done.status, done.out, done.err) == (255, b"", b"")
    data = random.Random(1).randbytes(3_000_000)
    echoed = connection.run("cat", LIMIT_S, [data[:1_000_000], data[1_000_000:]])
    assert echoed.out == data


def test_the_environment_is_closed(connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBATCH_TIMELIMIT", "77")
    names = {line.partition("=")[0] for line in said(connect(), "env").splitlines()}
    assert {"PATH", "HOME", "USER", "LOGNAME", "LANG"} <= names
    assert names <= {"PATH", "HOME", "USER", "LOGNAME", "LANG", "PWD", "OLDPWD", "SHLVL", "_", "SLURM_CONF"}


def test_no_word_is_in_a_process_list(connect) -> None:
    connection = connect()
    first, second = uuid.uuid4().hex, uuid.uuid4().hex
    listing = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' ' '"
    done = connection.run(f"hl_x={words.quote(first)}; {listing}; :", LIMIT_S, [second.encode()])
    assert b"hpclaunch-ready" in done.out
    assert first.encode() not in done.out
    assert second.encode() not in done.out


def test_an_unknown_host_key_is_refused_and_not_added(connect, sshd: Sshd) -> None:
    sshd.known_hosts.write_text("")
    message = refused(connect())
    assert "hpclaunch adds no host key" in message
    assert sshd.known_hosts.read_text() == ""
    assert sshd.logins() == 0


def test_a_changed_host_key_is_refused(connect, sshd: Sshd, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    sshd.trust((tmp_path / "other.pub").read_text())
    before = sshd.known_hosts.read_text()
    message = refused(connect())
    assert "ssh-keygen -R" in message
    assert "HAS CHANGED" in message.upper()
    assert sshd.known_hosts.read_text() == before
    assert sshd.logins() == 0


def test_a_setting_of_the_user_does_not_let_unknown_hosts_in(connect, sshd: Sshd) -> None:
    sshd.known_hosts.write_text("")
    sshd.config.write_text("StrictHostKeyChecking accept-new\n" + sshd.config.read_text())
    assert "hpclaunch adds no host key" in refused(connect())
    assert sshd.known_hosts.read_text() == ""


def test_an_unknown_jump_host_is_refused(connect, sshd: Sshd) -> None:
    kept = sshd.known_hosts.read_text().replace(f",[localhost]:{sshd.port}", "")
    sshd.known_hosts.write_text(kept)
    refused(connect(host="beyond"))
    assert sshd.logins() == 0


@pytest.mark.parametrize("changes", [{"host": "beyond"}, {"jump": "jump"}, {"jump": "jump,node"}])
def test_the_way_may_be_over_other_hosts(connect, sshd: Sshd, changes: dict[str, str]) -> None:
    if changes.get("jump") == "jump,node":
        changes = {**changes, "host": "node"}
    assert said(connect(**changes), "echo", "there") == "there\n"
    assert sshd.logins() == 1 + len(changes.get("jump", "jump").split(","))


def test_a_key_that_the_host_does_not_take(connect, sshd: Sshd, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    for suffix in ("", ".pub"):
        shutil.copy(tmp_path / f"other{suffix}", sshd.folder / f"key{suffix}")
    message = refused(connect())
    assert "Permission denied" in message
    assert "ssh-add" in message


def test_without_agent_and_key(connect, sshd: Sshd) -> None:
    (sshd.folder / "key").unlink()
    (sshd.folder / "key.pub").unlink()
    assert "ssh-add" in refused(connect())


def test_a_key_that_an_agent_alone_has(connect, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    socket = sshd.folder / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        add = ["ssh-add", "-q", str(sshd.folder / "key")]
        # The socket is there before the agent listens to it.
        until(lambda: subprocess.run(add, check=False).returncode == 0)
        (sshd.folder / "key").unlink()  # its public half tells ssh which of the agent's keys is meant
        assert said(connect(), "echo", "there") == "there\n"
    finally:
        agent.terminate()
        agent.wait()


def test_a_host_that_is_down(connect) -> None:
    assert "refused" in refused(connect(port=free_port())).lower()


def test_a_name_that_is_nobody_s(connect) -> None:
    assert "check `host`" in refused(connect(host="nobody.invalid")).lower()


def test_a_host_that_hangs_is_given_up(connect, sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (by_fabric, by_openssh):
        monkeypatch.setattr(module, "CONNECT_S", 2.0)
    for module in (by_openssh, connections):
        monkeypatch.setattr(module, "READY_S", 2.0)
    connection = connect()
    with sshd.frozen():
        message = refused(connection)
    assert "check the network" in message.lower(), message
    assert said(Connection(connection.login, connection._transport), "echo", "back") == "back\n"


def when(path: Path, act: Callable[[], None]) -> None:
    """Acts as soon as there is such a file."""

    def watch() -> None:
        until(path.exists)
        act()

    threading.Thread(target=watch, daemon=True).start()


def test_a_host_that_hangs_under_a_command(connect, sshd: Sshd, tmp_path: Path) -> None:
    connection = connect()
    begun = tmp_path / "begun"
    when(begun, lambda: sshd.each(signal.SIGSTOP))
    try:
        with pytest.raises(Lost, match="no answer within 10 s"):
            connection.run(f"touch {begun}; sleep 20", 10.0)
    finally:
        sshd.each(signal.SIGCONT)


def test_a_connection_that_breaks_is_said_and_made_anew(connect, sshd: Sshd, tmp_path: Path) -> None:
    connection = connect()
    begun = tmp_path / "begun"
    when(begun, sshd.cut)
    with pytest.raises(Lost) as caught:
        connection.run(f"touch {begun}; sleep 20", LIMIT_S)
    assert not isinstance(caught.value, Refused)  # nobody can tell what it did
    assert said(connection, "echo", "again") == "again\n"
    assert sshd.logins() == 2


def test_a_connection_that_died_unseen_is_made_anew(connect, sshd: Sshd) -> None:
    connection = connect()
    said(connection, "true")
    sshd.cut()
    assert said(connection, "echo", "again") == "again\n"


def test_several_threads_share_one_login(connect, sshd: Sshd) -> None:
    connection = connect()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: said(connection, "echo", str(number)), range(24)))
    assert found == [f"{number}\n" for number in range(24)]
    assert sshd.logins() == 1


def test_after_a_failure_it_waits_before_it_tries_again(connect, sshd: Sshd) -> None:
    connection = connect()
    sshd.stop()
    first = refused(connection)
    sshd.start()
    assert refused(connection) == first  # at once, and without a login
    assert sshd.logins() == 0
    until(lambda: _works(connection))


def _works(connection: Connection) -> bool:
    try:
        return said(connection, "echo", "x") == "x\n"
    except Unreached:
        return False


def test_each_hop_is_offered_its_own_keys_alone(tmp_path: Path) -> None:
    """Whoever offers many is sent away (MaxAuthTries of sshd_config(5))."""
    config = tmp_path / "config"
    config.write_text("Host a\n  IdentityFile /keys/a\nHost b\n  IdentityFile /keys/b\n")
    made = by_fabric._connection(fabric, Login("b", "/", jump="a", config=str(config)))
    offered = [hop.connect_kwargs["key_filename"] for hop in by_fabric._hops(fabric, made)]
    assert offered == [["/keys/b"], ["/keys/a"]]
