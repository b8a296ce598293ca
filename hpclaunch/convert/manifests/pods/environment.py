"""A container's variables -> the job's env and secrets, or what becomes of them.

Where mpirun starts ranks over ssh (v2beta1) or kubectl exec (before), not each variable of the manifest
reached the ranks; that is said where the job differs.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hpclaunch.convert.draft import Draft
from hpclaunch.convert.launch_facts import ALL_OF
from hpclaunch.convert.manifests.text.fields import Field
from hpclaunch.convert.mapping.bind import of_mpirun
from hpclaunch.convert.mapping.environment.owners import owner
from hpclaunch.convert.mapping.ranks import mpi, rendezvous
from hpclaunch.convert.secrets.names import is_secret, names_file
from hpclaunch.convert.to_fill_in import to_fill_in
from hpclaunch.readback.kubelet import expand, names
from hpclaunch.spec import scalars
from hpclaunch.values.conversion import Place

_LONGEST = 1 << 20  # characters
_OF_SERVICES = ("_SERVICE_HOST", "_SERVICE_PORT")  # the kubelet puts those of the cluster's Services in, too
_INDEX = "batch.kubernetes.io/job-completion-index"
_HOST_FIELD = {
    "status.podIP": "MASTER_ADDR tells ranks of the first node, and pods have addresses of their own",
    "status.hostIP": "a rank's own node has its address from `hostname -I`",
    "spec.nodeName": "a rank's own node has its name from `hostname`",
    "metadata.name": "the name of the pod; a job's ranks have HPCLAUNCH_* and RANK",
    "metadata.namespace": "the namespace is the site's",
}


class Variable(Struct, frozen=True):
    """One variable. `text` is None where the manifest does not tell the value, `made_of` the others of which
    it is made then."""

    name: str
    text: str | None
    place: Place
    source: Literal["text", "secret", "other"] = "text"
    more: tuple[Place, ...] = ()
    made_of: str = ""


class Config(Struct, frozen=True):
    """Config maps and Secrets that stand beside the job: name -> key -> value with its line. `scripts` are
    files that its pods start, by their names."""

    maps: Mapping[str, Mapping[str, tuple[str, Place]]] = {}
    secrets: Mapping[str, Mapping[str, Place]] = {}
    scripts: Mapping[str, tuple[str, Place]] = {}


def variables(container: Field, config: Config, draft: Draft) -> dict[str, Variable]:
    """A container's variables as the kubelet gives them: env after envFrom, each with those before it."""
    found: dict[str, Variable] = {}
    sources = container.get("envFrom")
    for source in sources.items() if sources is not None else []:
        _from(source, config, found, draft)
    entries = container.get("env")
    for entry in entries.items() if entries is not None else []:
        _entry(entry, config, found, draft)
    return found


def _entry(entry: Field, config: Config, found: dict[str, Variable], draft: Draft) -> None:
    named = entry.get("name")
    if named is None:
        entry.take()
        draft.say("defect", [entry.place], entry.name, why="a variable without a name: the API refuses it")
        return
    name = named.text()
    value, source = entry.get("value"), entry.get("valueFrom")
    if not _is_name(name, entry, draft):
        return
    if source is not None:
        _source(name, entry, source, config, found, draft)
        return
    text = value.text() if value is not None else ""
    if value is None and entry.is_left_open("value"):
        why, todo = "a value was to stand behind `value:`, and it is empty", f"write what env.{name} is to be"
        draft.say("left", [entry.place], f"the variable {scalars.shown(name)}", why=why, todo=todo)
    if value is not None:
        _unquoted(name, value, text, draft)
    texts = {each.name: each.text for each in found.values() if each.text is not None}
    found.pop(name, None)
    if is_endless(text, texts):
        draft.say("unread", [entry.place], name, why="its value would grow beyond all measure")
        found[name] = Variable(name, None, entry.place, "other")
        return
    made = _of_others(name, text, entry.place, found, draft)
    if made is not None:
        found[name] = made
        return
    found[name] = Variable(name, expand(text, texts), entry.place)
    if is_secret(name):  # an anchor of another variable may be its value
        draft.secrets[found[name].text or ""] = name


def _of_others(
    name: str, text: str, place: Place, found: Mapping[str, Variable], draft: Draft
) -> Variable | None:
    """The variable where its value is made of one that no manifest tells, a Secret's or one that the cluster
    gives; None for any other."""
    every = names(text)
    others = [each for each in every if each in found and found[each].text is None]
    if any(each.what.startswith(ALL_OF) for each in draft.findings):
        others += [each for each in every if each not in found]  # an object that is not given may have it
    others += [each for each in every if each not in found and each.endswith(_OF_SERVICES)]
    if not others:
        return None
    of_secret = any(each in found and found[each].source == "secret" for each in others)
    of = ", ".join(dict.fromkeys(others))
    if of_secret and text == f"$({of})":
        _by_way_of(name, of, [place], draft)
        return Variable(name, None, place, "secret")
    return Variable(name, None, place, "secret" if of_secret else "other", made_of=of)


def is_endless(text: str, texts: Mapping[str, str]) -> bool:
    """Whether $(NAME) in a text might make more of it than any process takes."""
    longest = max(map(len, texts.values()), default=0)
    return len(text) + text.count("$(") * longest > _LONGEST


def _is_name(name: str, entry: Field, draft: Draft) -> bool:
    try:
        scalars.variable_name(name)
    except ValueError as error:
        entry.take()
        guess = "_".join(name.split())
        draft.say(
            "left",
            [entry.place],
            f"the variable {scalars.shown(name)}",
            why=str(error),
            todo=f"if {guess} is meant, write it into env" if " " in name else "",
        )
        return False
    return True


def _unquoted(name: str, value: Field, text: str, draft: Draft) -> None:
    """The API takes text only. Here the scalar's own text counts, as it was meant."""
    node = value.node
    if getattr(node, "style", None) or not text:
        return
    number = text.replace(".", "", 1).lstrip("-")
    if (number.isascii() and number.isdigit()) or text in scalars.TRUE or text in scalars.FALSE:
        why = "the API refuses a value that YAML takes for a number or a truth; its text counts"
        draft.say("defect", [value.at], f"the value of {name} has no quotes", why=why)


def _source(
    name: str, entry: Field, source: Field, config: Config, found: dict[str, Variable], draft: Draft
) -> None:
    found.pop(name, None)
    place = entry.place
    secret, map_key, field_ref = (source.get(key) for key in ("secretKeyRef", "configMapKeyRef", "fieldRef"))
    if secret is not None:
        where, key = _ref(secret)
        found[name] = Variable(name, None, place, "secret")
        draft.hint(
            f"kubernetes.secrets.{name}",
            {"name": where, "key": key},
            [place],
            f"secretKeyRef of {name}",
        )
        _say_optional(name, secret, draft)
    elif map_key is not None:
        where, key = _ref(map_key)
        known = config.maps.get(where, {}).get(key)
        if known is not None:
            found[name] = Variable(name, known[0], place, more=(known[1],))
            return
        found[name] = Variable(name, None, place, "other")
        question = f"the value of {name}: it is in the config map {where}, key {key}"
        if where in config.maps:
            question = f"the value of {name}: the config map {where} is given, and has no key {key}"
        draft.ask(("env", name), question, [place], f"configMapKeyRef of {name}")
    elif field_ref is not None:
        path = field_ref.get("fieldPath")
        text = path.text() if path is not None else ""
        source.take()
        found[name] = Variable(name, None, place, "other")
        if _INDEX in text and name in rendezvous.COMPUTED:
            why = "each rank has its own of hpclaunch, where the job says rendezvous: torch"
            draft.say("replaced", [place], f"{name} from the number of the pod", why=why)
            return
        why = _HOST_FIELD.get(text, "a field of the pod, which a job on another scheduler has not")
        todo = "let the program ask its own node, or take the name out"
        draft.say("left", [place], f"{name} from the pod's {text or 'field'}", why=why, todo=todo)
    else:
        source.take()
        found[name] = Variable(name, None, place, "other")
        kinds = ", ".join(key for key, _ in source.fields())
        todo = f"write its value into env.{name}"
        draft.say("left", [place], f"{name} from {kinds or 'nothing'}", why="no job has it", todo=todo)


def _say_optional(name: str, secret: Field, draft: Draft) -> None:
    """Say of a secret that it may be missing: a job's may not."""
    optional = secret.get("optional")
    if optional is not None and optional.truth():
        why = "the pod started where the Secret has no such key, and a job's pods do not"
        todo = f"where it may be missing take {name} out of `secrets`, and write it under `inherit`"
        draft.say("left", [optional.at], "optional: true", why=why, todo=todo)


def _ref(reference: Field) -> tuple[str, str]:
    name, key, optional = (reference.get(each) for each in ("name", "key", "optional"))
    if optional is not None:
        optional.take()
    return (name.text() if name else ""), (key.text() if key else "")


def _from(source: Field, config: Config, found: dict[str, Variable], draft: Draft) -> None:
    prefix = source.get("prefix")
    before = prefix.text() if prefix is not None else ""
    map_ref, secret_ref = source.get("configMapRef"), source.get("secretRef")
    reference = map_ref or secret_ref
    name = reference.get("name") if reference is not None else None
    where = name.text() if name is not None else ""
    source.take()
    if map_ref is not None and where in config.maps:
        for key, (text, place) in config.maps[where].items():
            if (before + key).isidentifier():
                found[before + key] = Variable(before + key, text, source.place, more=(place,))
        return
    if secret_ref is not None and where in config.secrets:
        for key, place in config.secrets[where].items():
            variable = before + key
            if variable.isidentifier():
                found[variable] = Variable(variable, None, source.place, "secret", (place,))
                value = {"name": where, "key": key}
                draft.hint(f"kubernetes.secrets.{variable}", value, [source.place], f"envFrom of {where}")
        return
    kind, key = ("Secret", "secrets") if secret_ref is not None else ("config map", "env")
    draft.say(
        "left",
        [source.place],
        f"{ALL_OF}{kind} {where}",
        why="which names it has is not in the manifest: give its object beside it (kubectl get -o yaml)"
        if kind != "Secret"
        else "which names it has is not in the manifest",
        todo=f"write the names that the program needs under {key}",
    )


_WORLD = frozenset(("RANK", "WORLD_SIZE"))  # who has these by hand has an address too


def put(
    found: Mapping[str, Variable],
    draft: Draft,
    *,
    torch: bool = False,
    unseen: Mapping[str, str] | None = None,
    carried: Sequence[str] = (),
) -> None:
    """The variables as facts. `unseen` says of a name why the ranks of the original did not have it, and
    `carried` are names that mpirun carried by -x."""
    by_hand = not torch and not _WORLD.isdisjoint(found)
    for name, each in found.items():
        places = [each.place, *each.more]
        if owner(name) == "rendezvous" and (torch or by_hand):
            why = "rendezvous: torch gives each rank its own"
            why = f"{why} ({name} was {each.text})" if each.text else why
            if by_hand:
                is_left = f"{name} from "
                draft.findings[:] = [one for one in draft.findings if not one.what.startswith(is_left)]
                draft.put(("rendezvous",), "torch", places, name, why=why)
            else:
                draft.say("replaced", places, name, why=why)
        elif name == "NVIDIA_VISIBLE_DEVICES":
            why = "the scheduler says which GPUs a job has"
            why += "; `all` would show those of others" if each.text == "all" else ""
            draft.say("replaced", places, f"{name}={each.text}", why=why)
        elif name.startswith("PRTE_MCA_") and of_mpirun.is_parameter(name.removeprefix("PRTE_MCA_")):
            of_mpirun.put_parameter(name.removeprefix("PRTE_MCA_"), each.text, places, name, draft)
        elif owner(name) == "daemons" and not name.startswith("OMPI_MCA_"):
            draft.say("replaced", places, name, why="it is for a launcher that the job has no more")
        elif each.source == "secret":
            _secret(name, places, "its value is in a Secret, and the job has the name alone", draft)
            if each.made_of:
                why = f"it has that of {each.made_of}, which is in a Secret, and a job has whole secrets"
                todo = f"give the whole value where the job is submitted, as {name} or by a key of a Secret"
                draft.say("left", places, f"the value of {name}", why=why, todo=todo)
            _did_not_reach(name, "secrets", places, unseen or {}, carried, draft)
        elif each.made_of:
            question = (
                f"the value of {name}: it has that of {each.made_of}, which the cluster gives to the pod"
            )
            draft.ask(("env", name), question, places, f"the variable {name}")
        elif each.source == "other":
            continue
        elif each.text is not None and is_secret(name) and not names_file(name, each.text):
            _literal_secret(name, each, places, draft)
            _did_not_reach(name, "secrets", places, unseen or {}, carried, draft)
        elif name.startswith("OMPI_MCA_"):
            mpi.parameter(name.removeprefix("OMPI_MCA_"), each.text or "", places, name, draft)
            if ("env", name) in draft.facts:
                _did_not_reach(name, "env", places, unseen or {}, carried, draft)
        else:
            draft.put(("env", name), each.text or "", places, f"the variable {name}")
            _did_not_reach(name, "env", places, unseen or {}, carried, draft)


def _did_not_reach(
    name: str,
    key: str,
    places: Sequence[Place],
    unseen: Mapping[str, str],
    carried: Sequence[str],
    draft: Draft,
) -> None:
    if name in unseen and name not in carried and not name.startswith("NVIDIA_"):
        todo = f"take {name} out of {key}, if the ranks are to run as before"
        draft.say("defect", places, f"{name} did not reach the ranks", why=unseen[name], todo=todo)


def put_secret(name: str, of: str, places: Sequence[Place], draft: Draft) -> None:
    """A variable that mpirun gives the value of another one, which is from a Secret."""
    why = f"it has the value of {of}, which is in a Secret, and the job has the name alone"
    _secret(name, places, why, draft)
    _by_way_of(name, of, places, draft)


def _by_way_of(name: str, of: str, places: Sequence[Place], draft: Draft) -> None:
    """The site's hint for a secret that has the value of another one."""
    behind = draft.hints.get(f"kubernetes.secrets.{of}")
    if behind is not None:
        draft.hint(f"kubernetes.secrets.{name}", behind, places, f"{name} by way of {of}")


def _secret(name: str, places: Sequence[Place], why: str, draft: Draft) -> None:
    if not draft.lists("secrets", name):
        draft.add("secrets", name, places, name, why=why)


def _literal_secret(name: str, each: Variable, places: Sequence[Place], draft: Draft) -> None:
    _secret(name, places, "its value is not carried: the submitter's shell, or a Secret, has it", draft)
    if not each.text or to_fill_in(each.text, perhaps=False):
        return
    is_put_in = each.text in (f"${name}", f"${{{name}}}")
    draft.say(
        "defect",
        places,
        f"the value of {name} stands in the manifest",
        why="what fills the manifest in writes it into the object, and everybody who may read that has it"
        if is_put_in
        else "everybody who may read the job's object, or this file, has it",
        todo="change the secret, and give it by its name alone",
    )
