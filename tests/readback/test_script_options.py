"""Slurm's own forms: options, #SBATCH lines, times, masks, GPUs, images and mounts."""

import pytest
from golden_scripts import golden

from hpclaunch.readback.script import read
from hpclaunch.readback.slurm import forms
from hpclaunch.readback.slurm.container import container
from hpclaunch.readback.slurm.directives import directives
from hpclaunch.readback.slurm.options import options
from hpclaunch.values.launch import SeenMount


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("30", 1800), ("90:30", 91 * 60), ("1:02:03", 63 * 60), ("2-0", 2 * 86400), ("1-12", 36 * 3600)),
        *(("1-12:30", 36 * 3600 + 1800), ("0-0:0:1", 60), ("UNLIMITED", 0), ("infinite", 0), ("-1", 0)),
    ],
)
def test_times(text: str, seconds: int) -> None:
    assert forms.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "1:2:3:4", "1-", "-5", "1d", "9" * 50])
def test_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        forms.seconds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("gpu:8", (8, "", [])), ("gpu", (1, "", [])), ("gpu:a100:4", (4, "a100", []))),
        *(("gpu:3g.20gb:4,nic:2", (4, "3g.20gb", ["nic:2"])), ("none", (0, "", [])), ("gpu:0", (0, "", []))),
        *(("gres/gpu:2", (2, "", [])), ("gpu:a100=2", (2, "a100", [])), ("gpu:8(IDX:0-7)", (8, "", []))),
    ],
)
def test_gpus_of_gres(text: str, expected: tuple[int, str, list[str]]) -> None:
    assert forms.gpus_of_gres(text) == expected


def test_masks() -> None:
    assert forms.masks("0x5,F*2") == [(0, 2), (0, 1, 2, 3), (0, 1, 2, 3)]
    assert forms.masks(hex(1 << 4000)) == [(4000,)]
    assert forms.numbers("3,0x10*2") == [(3,), (16,), (16,)]
    for text in ("", "0x", "g", "0x1*0", "0x1*x", "f" * 20_000):
        with pytest.raises(ValueError, match=r".+"):
            forms.masks(text)


def given(command: str, *words: str) -> tuple[list[tuple[str, object]], list[str]]:
    found, rest = options(command, [(word,) if word else () for word in words])
    values = [(each.name, each.value[0] if each.value else None) for each in found]
    return values, [str(word[0]) for word in rest]


def test_options_as_getopt_reads_them() -> None:
    values, rest = given("srun", "-N2", "-n", "4", "--time=5", "--mem", "0", "-lu", "-K", "x", "-n", "9")
    assert values[:4] == [("nodes", "2"), ("ntasks", "4"), ("time", "5"), ("mem", "0")]
    assert values[4:] == [("label", None), ("unbuffered", None), ("kill-on-bad-exit", None)]
    assert rest == ["x", "-n", "9"]
    assert given("srun", "--exclusi", "--kill-on-bad-exit", "0") == (
        [("exclusive", None), ("kill-on-bad-exit", None)],
        ["0"],
    )
    assert given("srun", "--tasks-per-node=3", "--", "-n") == ([("ntasks-per-node", "3")], ["-n"])
    assert given("sbatch", "-W", "-K1") == ([("wait", None), ("", None)], [])
    assert given("srun", "-W", "3") == ([("wait", "3")], [])
    for wrong in ("--no-such", "--no-such=1", "--nt=1", "--exc", "--label=1", "--time", "-?"):
        assert given("srun", wrong)[0][0][0] == ""


def arguments(*lines: str) -> list[tuple[str, ...]]:
    return [each.arguments for each in directives("#!/bin/sh\n" + "\n".join(lines))]


def test_directives_have_quotes_and_comments_of_their_own() -> None:
    assert arguments(
        "#SBATCH -N 2 --x='a b' # why", '#SBATCH --y="a\\"b#" c\\#d', "", "# no", "#SBATCHED"
    ) == [
        ("-N", "2", "--x=a b"),
        ('--y=a"b#', "c#d"),
        ("ED",),
    ]
    assert arguments("#SBATCH -N1", "   # still", "echo", "#SBATCH -N2") == [("-N1",)]
    assert arguments(" #SBATCH -N1", "# SBATCH -N2", "#SBATCH -N3") == [("-N3",)]


def test_a_backslash_keeps_no_blank_in_an_argument() -> None:
    assert arguments(r"#SBATCH --mounts=/a:/b\ \ ", r"#SBATCH --x=a\ b", r"#SBATCH '--x=a\ b' \-N1") == [
        ("--mounts=/a:/b",),
        ("--x=a", "b"),
        ("--x=a b", "-N1"),
    ]
    assert arguments("#SBATCH --x=a\\") == [("--x=a",)]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nvcr.io#nvidia/x:1", "nvcr.io/nvidia/x:1"),
        ("docker://nvcr.io#nvidia/x:1", "nvcr.io/nvidia/x:1"),
        ("ada@nvcr.io#nvidia/x", "nvcr.io/nvidia/x"),
        ("$oauthtoken@nvcr.io#nvidia/x", "nvcr.io/nvidia/x"),
        ("ubuntu:22.04", "ubuntu:22.04"),
        ("ubuntu@sha256:0123", "ubuntu@sha256:0123"),
        ("host:5000#a/b:c", "host:5000/a/b:c"),
    ],
)
def test_images(image: str, expected: str) -> None:
    seen = container({"container-image": image})
    assert (seen.image, seen.unbridged) == (expected, ())


@pytest.mark.parametrize("image", ["/x/y.sqsh", "./y.sqsh", "dockerd://x:1"])
def test_images_that_kubernetes_cannot_take(image: str) -> None:
    seen = container({"container-image": image})
    assert seen.image == image
    assert [each.what for each in seen.unbridged] == [f"the image {image}"]


def test_mounts() -> None:
    text = "/a:/b,/c,/d:/e:ro+rprivate,./f:/g:rw,tmpfs:/h,/i:/j:x-move,k:/l"
    seen = container({"container-image": "x", "container-mounts": text})
    assert seen.mounts == (
        SeenMount("/b", "path", "/a"),
        SeenMount("/c", "path", "/c"),
        SeenMount("/e", "path", "/d", "", True),
        SeenMount("/g", "path", "./f"),
        SeenMount("/h", "empty", ""),
        SeenMount("/j", "path", "/i"),
    )
    assert [each.what for each in seen.unbridged] == ["--container-mounts /i:/j:x-move"]
    assert len(seen.unread) == 1


SECRETS = golden("secrets-and-inherit")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    WANDB_API_KEY=*)", "    OTHER=*)"),
        ('    WANDB_API_KEY=*) export "${hl_secret?}" ;;\n', ""),
        ('  ${HTTPS_PROXY+"HTTPS_PROXY=$HTTPS_PROXY"}\n', ""),
        ("    HTTPS_PROXY | NO_PROXY) ;;", "    NO_PROXY) ;;"),
    ],
)
def test_a_secret_or_an_inherited_variable_that_is_lost_is_seen(old: str, new: str) -> None:
    assert SECRETS.count(old) == 1
    assert read(SECRETS.replace(old, new)).environment != read(SECRETS).environment


def test_secrets_without_names_are_said() -> None:
    assert read(SECRETS).unread == ()
    assert read(SECRETS.replace("    WANDB_API_KEY=*)", "    *)")).unread != ()
