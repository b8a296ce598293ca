"""The options of singularity and apptainer: which of them have a word of their own behind them."""

import pytest

from hpclaunch.convert.programs.layers import layers


@pytest.mark.parametrize(
    "options",
    [
        "--nv --no-mount bind-paths",
        "--no-mount=home,cwd --bind /a:/b",
        "--containlibs /lib/a.so --no-env LD_PRELOAD",
        "--authfile /home/me/auth.json --tmpdir /scratch",
        "--memory-reservation 1g --runscript-timeout 30s",
        "--rocm --underlay",
        "--no-init --sparse --oom-kill-disable",
    ],
)
def test_the_image_stands_behind_all_options_and_their_values(options: str) -> None:
    words = [(word,) for word in f"apptainer run {options} lab.sif ./solve -n 3".split()]
    container, command = layers(words)
    assert container.program == "singularity run"
    assert container.words == (("lab.sif",),)
    assert command.words == (("./solve",), ("-n",), ("3",))
