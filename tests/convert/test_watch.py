"""What the tests of hostile inputs rest on: whoever changes, starts or calls anything is seen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Each is done in one process of its own, in an empty folder with the file `f`.
DEEDS = {
    "folder": "os.mkdir('a')",
    "folders": "os.makedirs('b/c')",
    "folder gone": "os.mkdir('d'); os.rmdir('d')",
    "renamed": "os.rename('f', 'g'); os.rename('g', 'f')",
    "replaced": "os.replace('f', 'g'); os.replace('g', 'f')",
    "removed": "os.remove('gone')",
    "linked": "os.link('f', 'l')",
    "pointed": "os.symlink('f', 's')",
    "mode": "os.chmod('f', 0o600)",
    "owner": "os.chown('f', -1, -1)",
    "touched": "os.utime('f')",
    "shortened": "os.truncate('f', 0)",
    "written": "open('w', 'w').close()",
    "appended": "open('f', 'a').close()",
    "written in place": "open('f', 'r+').close()",
    "created": "open('x', 'x').close()",
    "opened for writing": "os.close(os.open('o', os.O_CREAT | os.O_WRONLY))",
    "written by pathlib": "pathlib.Path('p').write_text('x')",
    "touched by pathlib": "pathlib.Path('t').touch()",
    "temporary file": "tempfile.TemporaryFile(dir='.').close()",
    "temporary folder": "tempfile.mkdtemp(dir='.')",
    "copied": "shutil.copy('f', 'h')",
    "moved": "shutil.move('f', 'm'); shutil.move('m', 'f')",
    "tree gone": "shutil.rmtree('gone', ignore_errors=True)",
    "folder entered": "os.chdir('.')",
    "variable": "os.environ['WATCHED'] = 'x'",
    "variable gone": "os.environ['WATCHED'] = 'x'; del os.environ['WATCHED']",
    "signal": "os.kill(os.getpid(), 0)",
    "signal to a group": "os.killpg(os.getpgid(0), 0)",
    "shell": "os.system(':')",
    "shell with a pipe": "os.popen(':').close()",
    "program": "subprocess.run(['true'])",
    "spawned": "os.spawnv(os.P_WAIT, '/bin/true', ['true'])",
    "spawned by the system": "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)",
    "forked": "os.fork() or os._exit(0)",
    "became another": "os.execv('/nowhere/at/all', ['x'])",
    "terminal": "os.forkpty()[0] or os._exit(0)",
    "library": "ctypes.CDLL(None)",
    "unpickled": "pickle.loads(b'cos\\nsystem\\n(V:\\ntR.')",
    "socket": "socket.socket().close()",
    "name of a host": "socket.getaddrinfo('127.0.0.1', 1)",
    "page": "urllib.request.urlopen('http://127.0.0.1:1/')",
}
HARMLESS = {
    "read": "open('f').close()",
    "read by os": "os.close(os.open('f', os.O_RDONLY))",
    "listed": "os.listdir('.')",
    "looked at": "os.stat('f')",
    "program allowed": "subprocess.Popen(['/nowhere/shfmt'], stdin=subprocess.PIPE)",
    "code": "exec('1 + 1')",
}
_CHILD = """
import contextlib, ctypes, json, os, pathlib, pickle, shutil, socket, subprocess, sys, tempfile
import urllib.request
from watch import Watch

deeds, programs, is_blind = json.load(sys.stdin)
watch, found = Watch(programs, is_blind=is_blind), {}
for name, text in deeds.items():
    with watch as seen, contextlib.suppress(OSError):
        exec(text)
    found[name] = list(seen)
print(json.dumps(found))
"""


def seen(folder: Path, deeds: dict[str, str], *, is_blind: bool = False) -> dict[str, list[str]]:
    """What is seen of each deed."""
    (folder / "f").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n{_CHILD}"],
        input=json.dumps([deeds, ["shfmt"], is_blind]),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
        check=True,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def of_deeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    return seen(tmp_path_factory.mktemp("watched"), DEEDS)


@pytest.mark.parametrize("deed", DEEDS)
def test_each_deed_is_seen(of_deeds: dict[str, list[str]], deed: str) -> None:
    assert of_deeds[deed]


def test_what_changes_nothing_is_not(tmp_path: Path) -> None:
    assert seen(tmp_path, HARMLESS) == {name: [] for name in HARMLESS}


def test_whoever_may_not_read_is_seen_to(tmp_path: Path) -> None:
    reads = {"read": HARMLESS["read"], "own": f"open({__file__!r}).close()"}
    assert {name: bool(each) for name, each in seen(tmp_path, reads, is_blind=True).items()} == {
        "read": True,
        "own": False,
    }
