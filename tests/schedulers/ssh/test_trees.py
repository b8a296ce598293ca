"""Files by their content: what counts for the name, and what arrives."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpclaunch.schedulers.ssh import trees

NAMES = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=30
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)
FILES = st.tuples(st.just("file"), st.binary(max_size=3000), st.booleans())
LINKS = st.tuples(st.just("link"), st.sampled_from(["a", "./b/c", "/lustre/data", "x y"]))
TREES = st.recursive(
    st.dictionaries(NAMES, FILES | LINKS, max_size=5),
    lambda inner: st.dictionaries(NAMES, FILES | LINKS | inner, max_size=4),
    max_leaves=12,
)
MODERATE = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def build(folder: Path, tree: object, mode: int = 0o755) -> None:
    folder.mkdir(mode=mode)
    for name, what in tree.items():  # type: ignore[attr-defined]
        path = folder / name
        if isinstance(what, dict):
            build(path, what, mode)
        elif what[0] == "link":
            path.symlink_to(what[1])
        else:
            path.write_bytes(what[1])
            path.chmod(0o700 if what[2] else 0o600)


def seen(folder: Path) -> dict[str, object]:
    """What is in a folder, in the terms of `build`."""
    found: dict[str, object] = {}
    for path in folder.iterdir():
        if path.is_symlink():
            found[path.name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[path.name] = seen(path)
        else:
            found[path.name] = ("file", path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def named(path: Path) -> str:
    return trees.name_of.__wrapped__(str(path))


def unpacked(stream: bytes, into: Path) -> bool:
    """Whether tar takes it as a whole."""
    into.mkdir()
    done = subprocess.run(["tar", "-xpf", "-", "-C", str(into)], input=stream, capture_output=True)
    return done.returncode == 0 and (into / trees.LAST).exists()


@given(tree=TREES)
@MODERATE
def test_what_arrives_is_what_was_there_and_has_the_name_of_it(tree: object, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    build(work / "one", tree)
    build(work / "other place", tree, 0o711)
    os.utime(work / "other place", (1, 1))
    name = named(work / "one")
    assert named(work / "other place") == name
    assert unpacked(b"".join(trees.archive(str(work / "one"), name)), work / "there")
    assert seen(work / "there" / trees.TOP) == tree == seen(work / "one")
    writable = [
        path
        for path in (work / "there" / trees.TOP).rglob("*")
        if not path.is_symlink() and path.stat().st_mode & 0o222
    ]
    assert not writable
    subprocess.run(["chmod", "-R", "u+w", str(work)], check=True)


@given(tree=TREES, other=TREES)
@MODERATE
def test_another_content_has_another_name(tree: object, other: object, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    build(work / "a", tree)
    build(work / "b", other)
    assert (named(work / "a") == named(work / "b")) == (tree == other)


@given(data=st.data())
@MODERATE
def test_a_stream_that_was_cut_short_is_not_taken(data: st.DataObject, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    build(work / "tree", {"f": ("file", b"x" * 2000, False), "d": {"g": ("file", b"", True)}})
    stream = b"".join(trees.archive(str(work / "tree"), named(work / "tree")))
    last = stream.rindex(trees.LAST.encode())
    cut = data.draw(st.integers(0, last) | st.integers(0, last // 512).map(lambda block: 512 * block))
    assert not unpacked(stream[:cut], work / "there")
    subprocess.run(["chmod", "-R", "u+w", str(work)], check=True)


def test_a_change_while_it_is_sent_ends_the_stream(tmp_path: Path) -> None:
    build(tmp_path / "tree", {"a": ("file", b"1", False), "b": ("file", b"1", False)})
    stream = trees.archive(str(tmp_path / "tree"), named(tmp_path / "tree"))
    sent = next(stream)
    (tmp_path / "tree" / "b").write_bytes(b"2")
    with pytest.raises(trees.Unfit, match="changed while"):  # noqa: PT012  what came before counts
        for part in stream:
            sent += part
    assert not unpacked(sent, tmp_path / "there")


def test_a_file_keeps_what_tells_its_kind(tmp_path: Path) -> None:
    for name in ("image.sqsh", "copy.sqsh", "plain", "odd.a,b"):
        (tmp_path / name).write_bytes(b"x")
    assert named(tmp_path / "image.sqsh") == named(tmp_path / "copy.sqsh")
    assert named(tmp_path / "image.sqsh").endswith(".sqsh")
    assert named(tmp_path / "plain").isalnum()
    assert named(tmp_path / "odd.a,b").isalnum()
    assert unpacked(
        b"".join(trees.archive(str(tmp_path / "plain"), named(tmp_path / "plain"))), tmp_path / "there"
    )
    assert (tmp_path / "there" / trees.TOP).read_bytes() == b"x"


@pytest.mark.parametrize(
    ("link", "fits"), [("../x", False), ("d/../../x", False), ("d/../y", True), ("/x", True)]
)
def test_links_stay_inside_or_are_the_cluster_s(tmp_path: Path, link: str, fits: bool) -> None:
    build(tmp_path / "tree", {"d": {}, "link": ("link", link)})
    if fits:
        named(tmp_path / "tree")
    else:
        with pytest.raises(trees.Unfit, match="is a link to"):
            named(tmp_path / "tree")


def test_what_cannot_be_sent_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path / "tree", {"a": ("file", b"123", False), "b": ("file", b"123", False)})
    monkeypatch.setattr(trees, "MOST_BYTES", 5)
    with pytest.raises(trees.Unfit, match="copy it to the cluster once"):
        named(tmp_path / "tree")
    monkeypatch.setattr(trees, "MOST_BYTES", 6)
    assert named(tmp_path / "tree")
    monkeypatch.setattr(trees, "MOST_ENTRIES", 2)
    with pytest.raises(trees.Unfit, match="copy it to the cluster once"):
        named(tmp_path / "tree")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(trees.Unfit, match="no file, folder or link"):
        named(tmp_path / "pipe")
    with pytest.raises(trees.Unfit, match="cannot be read: No such file"):
        named(tmp_path / "nothing")
