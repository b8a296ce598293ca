"""What the walk keeps of values."""

from hpclaunch.convert.reading import Source
from hpclaunch.convert.shell.walk import read
from hpclaunch.readback.shell.values import known


def test_what_is_kept_of_a_text_that_grows_is_no_square_of_it() -> None:
    lines = 6000
    words = [f" {number:020}" for number in range(lines)]
    script = "X=a\n" + "".join(f'X+="{word}"\n' for word in words) + 'srun ./t "$X"\n'
    reading = read([Source("run.sub", script)], {})
    kept = {id(part): len(part) for each in reading.assigned for part in each.value if isinstance(part, str)}
    assert sum(kept.values()) < 200 * len(script)  # all of them would be 3000 times
    (srun,) = [each for each in reading.commands if each.program == "srun"]
    assert known(srun.words[-1]) == "a" + "".join(words)
    assert len(reading.given("X")) == lines + 1
