"""What the jobs of a submission wait for, where some of them are several."""

from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.schedulers.many import Batch, needs_of

WHEN = st.sampled_from(["afterok", "afterany", "singleton"])


@st.composite
def graphs(draw: st.DrawFn) -> list[Batch]:
    made: list[Batch] = []
    for place in range(draw(st.integers(0, 6))):
        others = st.lists(st.tuples(st.integers(0, place - 1), WHEN), max_size=3) if place else st.just([])
        made.append(Batch(draw(st.integers(0, 4)), tuple(draw(others)), draw(st.booleans())))
    return made


@given(graphs())
def test_each_order_waits_for_every_order_of_the_jobs_that_its_own_waits_for(batches: list[Batch]) -> None:
    needs = needs_of(batches)
    owners = [job for job, batch in enumerate(batches) for _ in range(batch.size)]
    assert len(needs) == len(owners)
    for place, (job, own) in enumerate(zip(owners, needs, strict=True)):
        batch = batches[job]
        expected = [
            (other, when) for need, when in batch.needs for other, owner in enumerate(owners) if owner == need
        ]
        behind = owners.index(job) < place
        assert sorted(own) == sorted(expected + [(place - 1, "afterany")] * (batch.in_turn and behind))
        assert all(other < place for other, _ in own)
