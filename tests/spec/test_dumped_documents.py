"""What is kept in a record reads back as the same job and the same site."""

from hypothesis import given
from hypothesis import strategies as st

from hpclaunch.spec.dump import dump_job, dump_site
from hpclaunch.spec.job import Bind, ContainerSpec, Job, MountSpec, SiteHints
from hpclaunch.spec.read import parse_job, read_site
from hpclaunch.spec.scalars import SHELL_OWNED
from hpclaunch.spec.site import Network, NodeGroup, Site, SlurmSite, Volume

# Everything that an argument or a variable can hold: no NUL, no half of a surrogate pair.
TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=40)
TRAPS = st.sampled_from(
    [
        "no",
        "1.10",
        "0o17",
        "~",
        "null",
        "",
        "1:30",
        "<<",
        "=",
        "- x",
        "a: b",
        "#",
        "!x",
        "&a",
        "*a",
        "\n",
        "\r\n",
    ]
)
VALUE = st.one_of(TEXT, TRAPS)
NAME = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
VARIABLE = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True).filter(
    lambda name: name not in SHELL_OWNED
)
LINE = st.text(
    st.characters(min_codepoint=33, blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=20
).filter(str.strip)
OPTIONAL_LINE = st.none() | LINE
PATH = LINE.map(lambda text: "/" + text)
CPUS = st.sampled_from(["0", "0-7,16", "3,1"])

MOUNT = st.one_of(
    st.sampled_from(["data:/data:ro", "/a:/b", "./x:/y:rw"]),
    st.builds(MountSpec, target=PATH, source=PATH, read_only=st.booleans()),
    st.builds(MountSpec, target=PATH, volume=LINE),
)
LISTS = st.lists(CPUS, min_size=1, max_size=3).map(tuple)
JOB = st.builds(
    Job,
    name=NAME,
    command=VALUE.filter(str.strip) | st.lists(VALUE, max_size=4).map(lambda words: ("run", *words)),
    image=st.none() | NAME.filter(lambda name: name != "none"),
    workdir=st.none() | PATH,
    nodes=st.integers(1, 100_000),
    gpus_per_node=st.none() | st.integers(0, 16),
    mpi=st.sampled_from(["pmix", "pmi2", "none"]),
    rendezvous=st.sampled_from(["none", "torch"]),
    time=st.none() | st.integers(0, 100_000),
    env=st.dictionaries(VARIABLE, VALUE, max_size=4),
    inherit=st.lists(VARIABLE, unique=True, max_size=2).map(tuple),
    mounts=st.lists(MOUNT, max_size=3).map(tuple),
    container=st.builds(
        ContainerSpec, writable=st.booleans(), env=st.tuples(VARIABLE), save=st.none() | PATH
    ),
    bind=st.builds(Bind, cpus=LISTS | st.just("none"), smt=st.booleans(), memory=LISTS | st.just("prefer")),
    sites=st.dictionaries(
        NAME,
        st.builds(SiteHints, account=OPTIONAL_LINE, mail=OPTIONAL_LINE, srun=st.tuples(VALUE)),
        max_size=2,
    ),
    directory=st.sampled_from(["/jobs", "/new\nline\n", "/\x01\x7f\x85 \u2028", "/ "]),
)
SITE = st.builds(
    Site,
    name=NAME,
    scheduler=st.just("slurm"),
    node_types=st.tuples(
        st.builds(NodeGroup, type=NAME, hosts=st.just("dgx[001-140]"), reserved_cpus=CPUS | st.just(""))
    ),
    container=st.just("pyxis"),
    slurm=st.builds(
        SlurmSite,
        version=st.sampled_from(["22.05", "23.10", "23.11.4"]),
        pyxis=st.just("0.20.0"),
        partition=OPTIONAL_LINE,
        mpi_plugin=st.just({"pmix": "pmix_v4"}),
        exclusive=st.none() | st.booleans(),
    ),
    network=st.builds(Network, socket_ifname=OPTIONAL_LINE, exclude=st.lists(LINE, max_size=2).map(tuple)),
    volumes=st.dictionaries(NAME, st.builds(Volume, path=PATH), max_size=2),
    env=st.dictionaries(VARIABLE, VALUE, max_size=3),
)


@given(JOB)
def test_a_job_reads_back(job):
    assert parse_job(dump_job(job), "job.yaml", "/jobs").value == job


@given(SITE)
def test_a_site_reads_back(tmp_path_factory, site):
    file = tmp_path_factory.mktemp("site") / "site.yaml"
    file.write_text(dump_site(site))
    assert read_site(str(file)).value == site


def quoted(text: str) -> str:
    """The text in YAML's double quotes, every character escaped: independent of any emitter."""
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


@given(st.dictionaries(VARIABLE, VALUE, max_size=3))
def test_env_arrives_byte_for_byte(env):
    lines = "".join(f"  {name}: {quoted(value)}\n" for name, value in env.items())
    assert parse_job(f"name: a\ncommand: x\nenv:\n{lines}", "f", "/").value.env == env


@given(VARIABLE, VALUE)
def test_set_env_arrives_byte_for_byte(name, value):
    job = parse_job("name: a\ncommand: x\n", "f", "/", [f"env.{name}={value}"]).value
    assert job.env == {name: value}
