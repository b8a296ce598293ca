"""What goes wrong before a connection stands, and what to do about it, as data."""

from hpclaunch.schedulers.ssh.contract import Unreached, Untrusted
from hpclaunch.values.login import Login

_UNKNOWN_KEY = (
    "hpclaunch adds no host key. Log in once with `ssh {host}`, and compare the fingerprint that it shows "
    "with the one that the cluster publishes."
)

# A part of the message, in small letters -> what to do. The first that matches is used. The messages are
# those of OpenSSH (sshconnect.c, sshconnect2.c, tags V_7_4 to V_9_9) and of paramiko 3 to 5 (client.py,
# ssh_exception.py). No time mends the first ones.
_UNTRUSTED = (
    (
        "identification has changed",
        "Somebody may be listening in, or the node was set up anew: ask the administrators for its new key. "
        "Only then take the old one out with `ssh-keygen -R {known}`, and log in once with `ssh {host}`.",
    ),
    ("key is known", _UNKNOWN_KEY),
    ("not found in known_hosts", _UNKNOWN_KEY),
    ("host key verification failed", _UNKNOWN_KEY),
)
_ADVICE = (
    *_UNTRUSTED,
    (
        "private key file is encrypted",
        "Let an agent hold the key: `ssh-add`. With `transport: openssh` in the site ssh asks for its "
        "passphrase.",
    ),
    (
        "permission denied",
        "Does `ssh {host}` log you in? Hold the key in an agent (`ssh-add`), or name it in ~/.ssh/config "
        "(IdentityFile). For passwords and second factors set `transport: openssh` in the site.",
    ),
    ("too many authentication failures", "Name the key in ~/.ssh/config (IdentityFile, IdentitiesOnly yes)."),
    ("could not resolve", "Check `host` and `jump` under ssh in the site, and the network."),
    ("refused", "Nothing listens there: check `host` and `port` under ssh in the site, or try later."),
    ("no route", "Check the network and the VPN, and `jump` under ssh in the site."),
    ("unreachable", "Check the network and the VPN, and `jump` under ssh in the site."),
    (
        "timed out",
        "Check the network and the VPN, and `jump` under ssh in the site; or the node is busy: try later.",
    ),
    (
        "bad configuration option",
        "ssh does not understand its own configuration file: `ssh -G {host}` tells.",
    ),
    (
        "session open refused",
        "The server allows no more sessions on one connection (MaxSessions): try later.",
    ),
    (
        "administratively prohibited",
        "The jump host lets nobody through to this host: ask its administrators.",
    ),
)


def unreached(login: Login, message: str) -> Unreached:
    """The error of a login that failed with `message`, which becomes one line."""
    lines = [line.strip(" @\r") for line in message.splitlines() if line.strip(" @\r")]
    lowered = message.lower()
    matching = ((part, advice) for part, advice in _ADVICE if part in lowered)
    part, advice = next(matching, ("", f"Does `ssh {login}` log you in?"))
    said = next(
        (line for line in lines if part and part in line.lower()), lines[-1] if lines else "no reason given"
    )
    port = login.port or 22
    known = login.host if port == 22 else f"'[{login.host}]:{port}'"
    host = f"-p {port} {login}" if login.port else str(login)
    kind = Untrusted if (part, advice) in _UNTRUSTED else Unreached
    return kind(f"{login} cannot be reached over SSH: {said}", advice.format(host=host, known=known))
