"""Scripts and manifests that hpclaunch itself rendered: read back, and made a job file again.

What a text says of ranks is in its reading; what a site and the tool added to the job is known where the site
is given: then the job is sought that renders to the same text (own_search). Without a site all that the text
sets is the job's own, which makes the same launch.
"""

import re
from collections.abc import Sequence

from hpclaunch.convert.draft import Draft, dotted
from hpclaunch.convert.families import own_facts, own_groups, own_pods, own_sweep
from hpclaunch.convert.families.own_search import search
from hpclaunch.convert.families.own_text import WHOLE, Rendered, environment, read
from hpclaunch.convert.inputs import Input
from hpclaunch.convert.options import Options
from hpclaunch.convert.secrets.values import Secrets, ask_instead
from hpclaunch.values.conversion import Place

FAMILY = "a text that hpclaunch rendered"
_LINE = re.compile(r"line (\d+): ")


def convert(name: str, text: str, draft: Draft, options: Options, points: Sequence[Input] = ()) -> None:
    """Facts of the job behind a rendered text. `points` are files with those of its sweep."""
    found = read(name, text)
    if found.launch.tasks:
        found = own_sweep.put(found, points, draft)
    for key, value, what in own_facts.facts(found, options):
        draft.put(key, value, found.place_of(key), what)
    _say_untold(name, found, draft)
    if options.render is not None and not any(fact.is_open for fact in draft.facts.values()):
        search(found, draft, options.render, options.site)
        return
    _put_of_ranks(found, draft)
    _put_of_site(name, found, draft, options)


def _say_untold(name: str, found: Rendered, draft: Draft) -> None:
    """What the text does not tell of the job, and its lines that are not understood."""
    if found.folder:
        draft.say(
            "assumed",
            [Place(name)],
            f"the job file was in {found.folder}",
            why="what the job runs on the host, such as its steps and `notify`, is run in its folder",
            todo="put the job file there, if they need files of it",
        )
    if "user 0" in found.launch.rights and own_pods.has_root_sshd(found.launch):
        why = "sshd needs it: whether the job itself asks for root is not in the text"
        todo = "write container.remap_root: true if it does, which counts on other sites"
        draft.say("assumed", [Place(name)], "pods run as user 0", why=why, todo=todo)
    for each in found.launch.unread:
        draft.say("unread", [Place(name)], each)
    for of_line in (_LINE.match(each.what) for each in found.launch.unbridged):
        if of_line is not None:
            why = "the text does not tell what it runs"
            draft.say(
                "unread",
                [Place(name, int(of_line[1]))],
                of_line.string,
                why=why,
                todo="look at this line yourself",
            )


def _put_of_ranks(found: Rendered, draft: Draft) -> None:
    """What ranks get by tables and variables of the text."""
    folder = own_facts.imported_to(found)
    if folder:
        draft.put(("image", "import"), folder, found.place("image"), "an image imported once for all nodes")
    for variable, value in environment(found).items():
        draft.put(("env", variable), value, found.place("env"), variable)
    for key, text_of_group in own_groups.environment(found).items():
        draft.put(key, text_of_group, found.place_of(key), dotted(key))
    own_groups.say_unlike_seats(found, draft)
    for part, of_each in own_facts.seats(found.launch.tables):
        draft.put(("bind", part), of_each, found.place("bind"), f"bind.{part}")
    for key, told, shows in (
        (("gpu_type",), own_groups.gpu_kind(found.launch), "gres"),
        (("locality",), "unit" if "switches" in found.sbatch else "", "switches"),
        (("fabric", "sharp"), found.sbatch.get("network") == "sharp", "network"),
    ):
        if told:
            draft.put(key, told, found.place(shows), dotted(key))
    if own_groups.settings(found.launch).get("strict") == "1":
        draft.put(
            ("bind", "hcas"), "strict", found.place("strict"), "an HCA that cannot be used ends the job"
        )


def _put_of_site(name: str, found: Rendered, draft: Draft, options: Options) -> None:
    """Hints for the site that the text is for, where it is known."""
    site = options.site or found.site
    for hint, value in own_facts.hints(found) if site else ():
        if not own_pods.is_of_site(hint, found.launch):
            draft.put(("sites", site, hint), value, found.place(hint), f"--{hint}" if found.sbatch else hint)
    of_groups = (*own_groups.hints(found, site), *own_groups.unlike_types(found, site)) if site else ()
    for key, value in of_groups:
        draft.put(key, value, found.place_of(key), dotted(key))
    if found.site:
        draft.say(
            "assumed",
            [Place(name, 2)],
            f"rendered for the site {found.site}",
            why="which variables, cores and options that site sets by itself is not in the text",
            todo=f"give --site {found.site} to leave them out of the job",
        )


def hide(name: str, draft: Draft, secrets: Secrets) -> None:
    """Values of secrets become names or questions: the job is another one than that of the text then."""
    before = dict(draft.facts)
    ask_instead(draft, secrets)
    if draft.facts != before:
        draft.findings[:] = [each for each in draft.findings if each.what != WHOLE]
        why = "the job file has names of secrets where the text has their values"
        draft.say(
            "left", [Place(name)], "values of secrets", why=why, todo="change those that were sent around"
        )
