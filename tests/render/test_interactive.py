"""What salloc is given of the #SBATCH lines is what sbatch reads there."""

from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.plan.raw import directive_value
from hpclaunch.readback.slurm.directives import directives
from hpclaunch.render.interactive import _unquoted

VALUE = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=20)


@given(VALUE)
def test_a_quoted_value_is_as_sbatch_reads_it(value: str) -> None:
    for text in (f"--account={directive_value(value)}", directive_value(f"--account={value}")):
        (line,) = directives(f"#!/bin/sh\n#SBATCH {text}\n")
        assert (_unquoted(text),) == line.arguments == (f"--account={value}",)
