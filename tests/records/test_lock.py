"""What a record keeps of its run: the job as a file of its own, git's commit and changes, the image."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest
from command import hpclaunch
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.records import lock, repository
from hpclaunch.records.lookup import find
from hpclaunch.records.record import Record

JOB = """\
version: 1
name: relative
command: [sh, -c, "cat data/*; pwd"]
gpus_per_node: 0
inherit: [LENT, MISSING]
secrets: [TOKEN, KEY]
env: {LR: "0.10"}
after: [{run: [./tidy.sh], where: host, optional: true}]
"""
SECRETS = {"TOKEN": "s3cret/$v+al'ue", "KEY": "-----BEGIN-----\nAAAABBBBCCCC\nx\n-----END-----\n"}


def git(folder: Path, *words: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**own, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    argv = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "jobs"
    (folder / "train").mkdir(parents=True)
    (folder / "train" / "job.yaml").write_text(JOB)
    (folder / "model.py").write_text("one\ntwo\nthree\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def submit(jobs: Path, home: Path, *words: str, **env: str) -> Record:
    around = {**os.environ, "HPCLAUNCH_HOME": str(home), "LENT": "x", **SECRETS, **env}
    job = jobs / "train" / "job.yaml"
    done = hpclaunch("submit", job, "--local", "--wait", *words, env=around, cwd=home.parent)
    assert done.stdout.strip().isdigit(), done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPCLAUNCH_HOME", str(home))
        return find(done.stdout.strip())


def test_the_job_of_a_record_renders_as_it_is_to_what_was_sent(jobs: Path, tmp_path: Path) -> None:
    record = submit(jobs, tmp_path / "home", "--set", "env.LR=0.20", "--set", "nodes=1")
    done = hpclaunch("check", record.folder / "job.yaml", "--site", "local", cwd="/")
    assert done.returncode == 0, done.stderr
    done = hpclaunch("render", record.folder / "job.yaml", "--site", record.folder / "site.yaml", cwd="/")
    assert done.returncode == 0, done.stderr
    assert done.stdout == record.script.read_text()
    assert str(jobs / "train") in done.stdout
    assert "LR=0.20" in done.stdout


def test_commit_and_changes_make_the_working_tree_again(jobs: Path, tmp_path: Path) -> None:
    (jobs / "model.py").write_text("one\nTWO\nthree\n")
    (jobs / "new file").write_text("")
    record = submit(jobs, tmp_path / "home", GIT_DIR="/nonexistent", GIT_WORK_TREE="/")
    found = lock.read(record).repository
    assert found is not None
    assert found.commit == git(jobs, "rev-parse", "HEAD").strip()
    assert (found.root, found.folder) == (str(jobs), str(jobs / "train"))
    assert found.changed == ("model.py",)
    assert found.untracked == ("new file",)
    again = tmp_path / "again"
    git(tmp_path, "clone", "-q", str(jobs), str(again))
    git(again, "apply", str(record.folder / lock.CHANGES))
    assert (again / "model.py").read_text() == "one\nTWO\nthree\n"


def test_no_value_of_a_secret_is_anywhere_in_the_record(jobs: Path, tmp_path: Path) -> None:
    (jobs / "model.py").write_text(f"one\n{SECRETS['TOKEN']}\n{SECRETS['KEY']}three\n")
    record = submit(jobs, tmp_path / "home")
    assert b"<secret TOKEN>" in (record.folder / lock.CHANGES).read_bytes()
    told = [path.read_bytes() for path in record.folder.rglob("*") if path.is_file()]
    for value in (SECRETS["TOKEN"], "AAAABBBBCCCC", "-----BEGIN-----"):
        assert not [text for text in told if value.encode() in text]
    assert (record.folder / lock.CHANGES).stat().st_mode & 0o077 == 0
    found = lock.read(record).environment
    assert (found.inherited, found.not_set, found.secrets) == (("LENT",), ("MISSING",), ("TOKEN", "KEY"))


def test_no_program_of_the_repository_is_run(jobs: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\ntouch {ran}\ncat "$1"\n')
    spy.chmod(0o700)
    for key in ("core.fsmonitor", "diff.external", "diff.spied.textconv", "diff.spied.command"):
        git(jobs, "config", key, str(spy))
    (jobs / ".gitattributes").write_text("*.py diff=spied\n")
    (jobs / "model.py").write_text("changed\n")
    found = repository.Looking(str(jobs)).result()[0]
    assert found.changed == ("model.py",)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("#!/bin/sh\nexec sleep 100\n", "did not answer within"),
        ("#!/bin/sh\necho 'fatal: detected dubious ownership' >&2\nexit 128\n", "dubious ownership"),
        ("#!/bin/sh\nkill -9 $$\n", "ended with status"),
        ("#!/bin/sh\nyes\n", "named no commit"),
        ("#!/bin/sh\nhead -c 3000000 /dev/zero >&2; exit 1\n", ""),
    ],
)
def test_whatever_git_does_the_job_is_submitted(
    jobs: Path, tmp_path: Path, program: str, reason: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(program)
    (tmp_path / "bin" / "git").chmod(0o700)
    record = submit(jobs, tmp_path / "home", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    found = lock.read(record).repository
    assert found is not None
    assert found.commit is None
    assert found.reason
    assert reason in found.reason


def test_a_folder_without_commits_and_one_without_git(tmp_path: Path) -> None:
    found, diff = repository.Looking(str(tmp_path)).result()
    assert (found.commit, diff) == (None, b"")
    assert "not a git repository" in found.reason
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    found, diff = repository.Looking(str(tmp_path)).result()
    assert (found.commit, found.reason, found.untracked) == (None, "it has no commit yet", ("a",))


def test_a_large_diff_is_cut_and_said_to_be(jobs: Path) -> None:
    line = "line with a secret at its end: s3cret-value\n"
    for extra in ("", "x" * 40):  # the cut falls on different places of a line
        (jobs / "model.py").write_text(extra + line * (2 * repository.LARGEST // len(line)))
        found, diff = repository.Looking(str(jobs)).result()
        assert not found.diff_complete
        assert len(diff) == found.diff_bytes
        assert repository.LARGEST - 2 * len(line) < len(diff) <= repository.LARGEST
        assert b"s3" not in repository.without(diff, {"TOKEN": "s3cret-value"})


def test_moved_and_odd_names_are_told(jobs: Path) -> None:
    git(jobs, "mv", "model.py", "a\nb -> c.py")
    (jobs / "é ?").write_text("")
    found = repository.Looking(str(jobs)).result()[0]
    assert found.changed == ("a\nb -> c.py",)
    assert found.untracked == ("é ?",)


WORD = st.text(st.characters(min_codepoint=32, blacklist_categories=["Cs"]), min_size=1, max_size=12)


@given(st.dictionaries(st.sampled_from("ABC"), WORD, min_size=1), WORD, WORD)
def test_secrets_are_gone_wherever_they_stand(values: dict[str, str], before: str, after: str) -> None:
    text = "".join(before + value + after for value in values.values())
    left = repository.without(text.encode(), values)
    for name in values:
        left = left.replace(b"<secret " + name.encode() + b">", b"\0")
    longest = max(values.values(), key=len)
    assert longest.encode() not in left or longest in "<secret ABC>"


def test_a_file_is_known_again_by_its_ends(tmp_path: Path) -> None:
    seen = set()
    for number, data in enumerate((b"", b"a", b"a" * lock.SAMPLE, b"a" * (lock.SAMPLE + 1))):
        path = tmp_path / str(number)
        path.write_bytes(data)
        seen.add(lock.image_of_file("image", str(path)).ends_sha256)
    large = b"a" + b"b" * (3 * lock.SAMPLE) + b"c"
    for number, data in enumerate((large, b"x" + large[1:], large[:-1] + b"x")):
        path = tmp_path / f"large-{number}"
        path.write_bytes(data)
        found = lock.image_of_file("image", str(path))
        assert found.size == len(large)
        seen.add(found.ends_sha256)
    assert len(seen) == 7
    assert "No such file" in lock.image_of_file("image", str(tmp_path / "none")).reason


def test_a_reference_tells_its_digest() -> None:
    digest = "sha256:" + "0" * 64
    assert lock.image_of_reference(f"a/b:1@{digest}").digest == digest
    tag = lock.image_of_reference("a/b:1")
    assert tag.digest is None
    assert tag.reason
    assert msgspec.json.decode(msgspec.json.encode(tag), type=lock.Image) == tag
