"""What files of imported images are called."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan import sharedimage
from hpclaunch.values.errors import InputError

DIGEST = "0a" * 32
part = st.from_regex(r"[a-z0-9]{1,12}([._-][a-z0-9]{1,60})?", fullmatch=True)
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", fullmatch=True)


@given(st.lists(part, min_size=1, max_size=6), tags, st.booleans())
def test_each_way_to_write_an_image_is_one_file_with_a_name_that_disks_take(
    parts: list[str], tag: str, own: bool
) -> None:
    path, registry = "/".join(parts), "registry.example:5000"
    ways = [f"{registry}/{path}:{tag}", f"{registry}#{path}:{tag}"] if own else [f"{path}:{tag}"]
    names = {sharedimage.file_name(scheme + way) for way in ways for scheme in ("", "docker://")}
    (name,) = names
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.sqsh", name)
    assert len(f".{name}.part-4294967295-4194304.json") <= 255
    assert name != sharedimage.file_name(f"{path}x:{tag}")
    assert name != sharedimage.file_name(f"{path}:{tag[:-1]}{'a' if tag[-1] != 'a' else 'b'}")


def test_no_tag_is_the_latest_and_a_digest_alone_tells_what_is_in_an_image() -> None:
    assert sharedimage.file_name("a/b") == sharedimage.file_name("docker://a/b:latest")
    name = f"sha256-{DIGEST}.sqsh"
    assert sharedimage.file_name(f"a/b:1@sha256:{DIGEST}") == name
    assert sharedimage.file_name(f"nvcr.io/c@sha256:{DIGEST}") == name
    assert sharedimage.uri(f"nvcr.io/c@sha256:{DIGEST}") == f"docker://nvcr.io#c@sha256:{DIGEST}"


@pytest.mark.parametrize("reference", ["podman://a", "dockerd://a", "/a.sqsh", "a b", "docker://", "A:b"])
def test_what_no_node_could_import_is_refused(reference: str) -> None:
    with pytest.raises(InputError):
        sharedimage.file_name(reference)
