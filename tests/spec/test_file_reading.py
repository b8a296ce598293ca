"""Files that are no job file at all: refused before any YAML is read."""

import os

import pytest

from hpclaunch.spec.read import read_job, read_node_type, read_site
from hpclaunch.values.errors import InputError


def refusal(path, reader=read_job) -> str:
    with pytest.raises(InputError) as caught:
        reader(path)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize(
    ("reader", "kind"), [(read_job, "job"), (read_site, "site"), (read_node_type, "node type")]
)
def test_what_is_not_a_file(tmp_path, reader, kind):
    missing = str(tmp_path / "missing.yaml")
    assert refusal(missing, reader) == f"{missing}: no such {kind} file"
    folder = tmp_path / "folder.yaml"
    folder.mkdir()
    assert refusal(str(folder), reader) == f"{folder}: this is a directory; give the {kind} file in it"
    pipe = str(tmp_path / "pipe.yaml")
    os.mkfifo(pipe)
    assert "not a regular file" in refusal(pipe, reader)


def test_a_device_is_not_opened():
    assert "not a regular file" in refusal("/dev/zero")


def test_a_dangling_link_and_a_loop(tmp_path):
    (tmp_path / "dangling").symlink_to("nowhere")
    assert "no such job file" in refusal(tmp_path / "dangling")
    (tmp_path / "loop").symlink_to("loop")
    assert "symbolic links" in refusal(tmp_path / "loop")


def test_a_path_through_a_file_and_an_impossible_name(tmp_path):
    (tmp_path / "file").write_text("x")
    assert "not a directory" in refusal(tmp_path / "file" / "job.yaml")
    assert "not the name of a file" in refusal("a\0b")
    assert "too long" in refusal("a" * 5000)
    assert "no such job file" in refusal("")


def test_a_folder_whose_name_is_not_utf_8(tmp_path):
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "job.yaml").write_text("name: a\ncommand: [a]\n")
    assert "not UTF-8" in refusal(folder / "job.yaml")


def test_an_unreadable_file(tmp_path):
    if os.geteuid() == 0:
        path = "/proc/self/mem"  # a regular file that not even root can read from its start
        assert "input/output error" in refusal(path)
        return
    file = tmp_path / "job.yaml"
    file.write_text("name: a")
    file.chmod(0)
    assert "permission denied" in refusal(file)


def test_a_large_file_is_refused_by_its_size(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_bytes(b"name: a\n" + b"#" * 10_000_000)
    assert (
        refusal(file) == f"{file}: 10,000,008 bytes is too large for a job file; at most 1,048,576 are read"
    )


@pytest.mark.parametrize(
    ("data", "place", "said"),
    [
        (b"name: a\nimage: caf\xe9\n", ":2:11", "byte 0xe9 at offset 18 is not UTF-8"),
        (b"\xef\xbb\xbfname: \xff", ":1:7", "byte 0xff at offset 6 is not UTF-8"),
        (b"name: a\r\nimage: \xc3\x28", ":2:8", "byte 0xc3"),
        (b"name: \xed\xa0\x80", ":1:7", "not UTF-8"),
        (b"name: a\ncommand: x\0y", ":2:11", "NUL byte"),
        ("name: a".encode("utf-16"), "", "the file is in UTF-16"),
        ("name: a".encode("utf-32"), "", "the file is in UTF-32"),
        ("name: a".encode("utf-16-le"), ":1:2", "NUL byte"),
        (b"\x7fELF\x02\x01", ":1:1", "control character U+007F"),
    ],
)
def test_bytes_that_are_not_text(tmp_path, data, place, said):
    file = tmp_path / "job.yaml"
    file.write_bytes(data)
    message = refusal(file)
    assert message.startswith(f"{file}{place}: ")
    assert said in message
