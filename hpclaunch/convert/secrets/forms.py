"""Forms in which a secret stands in a line: what a program takes for one, and what only tokens look like.

The forms of tokens are those that GitHub, GitLab, Hugging Face, OpenAI, Anthropic, AWS, Google, Slack,
NVIDIA's NGC, PyPI, npm, Replicate, Atlassian, DigitalOcean, SendGrid, HashiCorp's Vault, Weights & Biases and
Docker's hub document for scanners of texts; options are those of curl(1), sshpass(1), docker-login(1),
mysql(1), sudo(8), kinit(1), ssh-keygen(1), openssl-enc(1), openssl-passphrase-options(1), redis-cli,
`aws configure set`, `wandb login`, zip(1), unzip(1), 7z(1), ipmitool(1), ldapsearch(1), lftp(1),
smbclient(1), chpasswd(8), passwd(1), gpg(1), sqlplus, expect(1), cryptsetup(8) and `vault login`; the words
of ~/.netrc are those of curl(1).
"""

import re
from collections.abc import Iterator

# The last one may begin with a quote that nothing closes: such a text is mended, and told. A quote within
# quotes has a backslash.
VALUE = r"(?:\\(?=[\"']))?(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[\"']?[^\s\"';|&<>()]+)"
_QUOTED = r"\\?(?P<value>\"[^\"\n]*\"|'[^'\n]*')"
_LINE = r"[^\n|;&]{0,400}?"
_NEAR = r"[^\n|;&]{0,80}?"
_PORTS = r"[\d.:-]*\d:\d[\d-]*(?:/\w+)?(?:\s|$)"  # docker run -p 8080:80
# What takes a secret from its standard input.
_INPUT = (
    rf"(?:\bsudo\b{_LINE}[ \t]-\w{{0,8}}S\b|\bsudo\b{_LINE}--stdin\b|--password-stdin\b|\bkinit\b"
    r"|--passphrase-fd\b|-pass(?:in|out)?[ \t]+stdin\b|\bpasswd[ \t]+--stdin\b|\bvncpasswd\b|\bcryptsetup\b"
    r"|\b(?:wandb|huggingface-cli|vault|auth|registry)[ \t]+login\b|--with-token\b|\bsu[ \t]"
    # What a text is before it is decoded stands for what it is.
    r"|\bbase64[ \t]+(?:-\w{0,3}[dD]|--decode)\b|\bopenssl[ \t](?:[^\n|;&]{0,40}[ \t])?-?base64\b)"
)
# It looks as if a program had drawn it: letters of both kinds, and numbers.
_DRAWN = r"(?=\S{0,60}[a-z])(?=\S{0,60}[A-Z])(?=\S{0,60}[0-9])"
_OF_USER = rf"(?P<value>{_DRAWN}[^\s/@\"'$:]{{8,}})"
# Files that have nothing but a secret, or secrets of several hosts: ~/.passwd-s3fs.
_FILE = (
    r"[\"']?[^\s;|&<>\"']{0,200}?(?<![A-Za-z0-9])(?:token|password|passwd(?:-\w{1,8})?|secret|secrets"
    r"|api_?key|pgpass|netrc)"
    r"(?:\.\w{1,5})?[\"']?(?=[\s;|&)]|$)"
)
_INTO = rf"(?:>>?|\|[ \t]*(?:sudo[ \t]+)?tee(?:[ \t]+-a)?[ \t])[ \t]*{_FILE}"
_BEFORE = r"(?:-[enE]+[ \t]+|[\"']%s(?:\\n)?[\"'][ \t]+)?"
# What people say of a command where they do not call it: (use wandb login command), run wandb login first.
_SAID = r"(?:again|and|as|before|command|failed|first|for|if|in|is|on|once|or|please|then|to|was|with)"
_BREAK, _WORD = r"(?:[ \t]+[^\w\s]*)*", "password"
# The name, the pattern, and texts that a line has to have: a window in which the pattern looks for one of
# them at each place would cost much on a line of a megabyte, and each pattern on each of many lines too.
_FORMS = tuple(
    (name, re.compile(text), needs[0] if needs else "", tuple(needs[1:]))
    for name, text, *needs in (
        # Up to the last @ of the host's part; a password with a slash in it looks like a port and a path.
        (
            "PASSWORD",
            r"\b\w[\w+.-]{0,20}://[^\s/:@\"'$\[]{0,80}:(?![$%{<])"
            r"(?P<value>[^\s/\"'`]{1,200}|(?!\d{1,5}[^\w@])[^\s@\"'`]{1,200}?)@(?!sha256:)",
            "://",
            "@",
        ),
        # No user has a number for a name: nodes=1:ppn=16.
        ("PASSWORD", rf"(?<![^\s=\"',;(\[])(?!\d+:)[\w.-]{{1,40}}:{_OF_USER}@(?!sha256:)", "@", ":"),
        ("TOKEN", r"\b\w[\w+.-]{0,20}://(?P<value>[^\s/:@\"'${}]{16,200})@", "://", "@"),
        # No image has a user, and no other address one before a name with a dot and a path.
        (
            "PASSWORD",
            r"(?<![^\s=\"',;(\[])(?!\d+:)[\w.+-]{1,40}:(?P<value>[^\s/@\"'$:#{}<>]{1,200})"
            r"@(?=[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?::\d{1,5})?/)",
            "@",
            "/",
        ),
        # Enroot's USER@REGISTRY#IMAGE.
        ("PASSWORD", r"\b[\w.+-]{1,40}:(?P<value>[^\s/@\"'$:#]+)@[\w.-]+#", "@", "#"),
        ("PASSWORD", rf"\bsshpass[ \t]+-p[ \t]*{VALUE}", "sshpass"),
        ("PASSWORD", rf"[ \t]--user(?:name)?[ =](?!-)\S+{_LINE}[ \t]-p[ \t]+(?!-|{_PORTS}){VALUE}", "-p"),
        ("PASSWORD", rf"\blogin\b{_LINE}[ \t]-p[ \t]*{VALUE}", "-p"),
        (
            "PASSWORD",
            rf"\bcurl\b{_LINE}[ \t](?:-[a-zA-Z]{{0,5}}[uUE][ \t]*|--(?:(?:proxy-)?(?:user|cert))[ =])"
            rf"[\"']?[^\s:\"']{{1,80}}:{VALUE}",
            ":",
        ),
        # The name of a user may be the secret, with no password behind it.
        ("TOKEN", rf"\bcurl\b{_LINE}[ \t]-u[ \t]*[\"']?(?P<value>[^\s:\"'$]{{12,}}):[\"']?(?=\s|$)", "curl"),
        ("PASSWORD", rf"\bcurl\b{_LINE}[ \t]-b[ \t]*[\"']?[\w-]{{1,40}}={VALUE}", "-b", "="),
        ("PASSWORD", rf"\b(?:mysql|mysqldump|mariadb)\b{_LINE}[ \t]-p(?!\w*[ \t]*=){VALUE}", "-p"),
        ("PASSWORD", rf"\b(?:echo|printf)[ \t]+{_BEFORE}{VALUE}[ \t]*\|[^\n|]{{0,200}}?{_INPUT}", "|"),
        ("PASSWORD", rf"{_INPUT}{_LINE}<<<[ \t]*{VALUE}", "<<<"),
        ("PASSWORD", rf"\bopenssl\b{_LINE}[ \t]-(?:[kK][ \t]+|pass(?:in|out)?[ \t]+[\"']?pass:){VALUE}", "-"),
        (
            "PASSWORD",
            r"(?:\b|\\[nt])login(?:[ \t]+|\\t)[^\s\\]{1,80}(?:[ \t]+|\\n|\\t){1,4}password[ \t]+"
            r"(?P<value>[^\s\"'\\]+)",
            "login",
            "password",
        ),
        # A line of ~/.netrc. A sign behind the word that broke the line is a part of the password, or none.
        ("PASSWORD", rf"^[ \t]*password[ \t]+[\"']?(?P<value>[^\s\"'=:]+)(?:[\"'=:]\S*)?{_BREAK}$", _WORD),
        ("PASSWORD", rf"^[ \t]*password[ \t]+[\"']?(?P<value>[^\s\"'=:`|;&(){{}}<]+)\S*{_BREAK}$", _WORD),
        ("PASSWORD", rf"\bredis-cli\b{_LINE}[ \t](?:-a[ \t]*|--pass[ =]){VALUE}", "redis-cli"),
        ("PASSWORD", rf"\bssh-keygen\b{_LINE}[ \t]-[NP][ \t]*{VALUE}", "ssh-keygen"),
        (
            "SECRET",
            rf"\bconfig(?:ure)?[ \t]+set[ \t]+\S*(?:key|[tT]oken|secret|[pP]assword)\S*[ \t]+(?!-){VALUE}",
            "config",
        ),
        # The settings of a store: dvc remote modify NAME secret_access_key VALUE, rclone config create.
        (
            "SECRET",
            r"\b(?:remote[ \t]+modify|config[ \t]+(?:create|update))(?:[ \t]+\S+){1,8}?[ \t]+"
            rf"\w*(?:key|token|secret|pass(?:word)?)[ \t]+(?!-){VALUE}",
            "re",
        ),
        (
            "PASSWORD",
            rf"\bprintf[ \t]+[\"'][^\"'\n]{{0,80}}?(?i:password|token|secret|key)[=:][ \t]*%s[^\"'\n]{{0,40}}"
            rf"[\"'][ \t]+{VALUE}",
            "printf",
            "%s",
        ),
        ("SECRET", r"[?&](?:sig|[\w-]*[sS]ignature)=(?P<value>[^\s&\"']+)", "ig"),
        ("PASSWORD", rf"[;\"'][ \t]*(?i:pwd)={VALUE}", "="),
        ("PASSWORD", rf"(?<![\w-])--[\w-]*(?:pwd|passw?d?|password|secret|token):{VALUE}", "--", ":"),
        ("SECRET", rf"--from-literal[= ][\"']?[\w.-]+={VALUE}", "--from-literal", "secret"),
        (
            "SECRET",
            rf"\bmc[ \t]+(?:alias[ \t]+set|config[ \t]+host[ \t]+add)(?:[ \t]+\S+){{3}}[ \t]+{VALUE}",
            "mc",
        ),
        ("PASSWORD", rf"\bhtpasswd[ \t]+-\w*b\w*(?:[ \t]+\S+){{2}}[ \t]+{VALUE}", "htpasswd"),
        ("PASSWORD", rf"(?<![\w.])user(?:name)?=[\w.@-]{{1,60}}%{VALUE}", "user", "%"),
        ("PASSWORD", rf"--user(?:name)?[= ][\"']?[\w.@-]{{1,60}}:{_OF_USER}", "--user"),
        ("PASSWORD", rf"(?i:login)=[\"']?[\w.@-]{{1,60}}:{_OF_USER}", "=", ":"),
        # What an option reads is put out by a command: --password-file=<(echo VALUE).
        (
            "PASSWORD",
            r"--?[\w-]{0,40}(?:pass|token|secret|key|cred)[\w-]{0,40}(?:=|[ \t]+)"
            rf"<\([ \t]*(?:echo|printf)[ \t]+{_BEFORE}{VALUE}",
            "<(",
        ),
        ("SECRET", rf"\b(?:echo|printf)[ \t]+{_BEFORE}{VALUE}[ \t]*{_INTO}", ">"),
        ("SECRET", rf"\b(?:echo|printf)[ \t]+{_BEFORE}{VALUE}[ \t]*{_INTO}", "tee"),
        ("SECRET", rf"(?:\btee[ \t]+(?:-a[ \t]+)?|>[ \t]*){_FILE}[ \t]*<<<[ \t]*{VALUE}", "<<<"),
        ("PASSWORD", rf"\becho[ \t]+{_BEFORE}[\"']?[\w.@-]{{1,60}}:{VALUE}[ \t]*\|[ \t]*base64\b", "base64"),
        (
            "PASSWORD",
            rf"\bprintf[ \t]+[\"']?%s:%s(?:\\n)?[\"']?[ \t]+\S+[ \t]+{VALUE}[ \t]*\|[ \t]*base64\b",
            "base64",
        ),
        # Hadoop's stores: fs.s3a.secret.key, fs.azure.account.key.HOST.
        (
            "KEY",
            rf"\b(?:secret|access|account|private)\.key(?:\.[\w.-]{{1,80}})?[ \t]*[=:][ \t]*{VALUE}",
            ".key",
        ),
        ("KEY", rf"\w\.key=[\"']?(?P<value>{_DRAWN}[\w!@#%^*+=-]{{8,}})", ".key="),
        ("PASSWORD", r"(?<![\w-])--?(?:login|credentials?)[ =][^\s:\"'$]+:(?P<value>[^\s:/\"'$]+)", "-", ":"),
        ("PASSWORD", r"\bsqlplus\b[^\n|;&<>]{0,80}?[ \t][\"']?\w{1,60}/(?P<value>[^\s\"'@/$]+)", "sqlplus"),
        (
            "PASSWORD",
            r"(?i:assword|passphrase)[^\n]{0,60}?\bsend[ \t]+(?:--[ \t]+)?\\?[\"'](?P<value>[^\s\"'\\$]+)",
            "send",
        ),
        # What the program is, and what its -p is, is not known: a number, a name or a path is none.
        (
            "PASSWORD",
            r"(?:(?<![\w-])-[pk]|[ \t]-[uU][ \t]+\S{1,60}[ \t]+-P)[ \t]+(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])"
            r"(?P<value>[\w!@#%^*+-]{8,})(?![^\s\"';|&()`<>${}:]|:\S)",
            "-",
        ),
        (
            "KEY",
            rf"\bwandb[ \t]+login(?:[ \t]+--host[ \t]+\S+|[ \t]+--?[\w-]+(?:=\S+)?){{0,8}}[ \t]+"
            rf"(?![-#]|{_SAID}\b){VALUE}",
            "wandb",
        ),
        ("PASSWORD", rf"\b(?:unzip|zip|ipmitool)\b{_NEAR}[ \t]-P[ \t]*{VALUE}", "-P"),
        ("PASSWORD", rf"\b7z[a-z]?[ \t]{_NEAR}[ \t]-p{VALUE}", "-p"),
        ("PASSWORD", rf"\bldap(?:search|add|modify|delete|whoami)\b{_NEAR}[ \t]-w[ \t]*{VALUE}", "-w"),
        ("PASSWORD", rf"\b(?:lftp\b{_NEAR}[ \t]|open[ \t]+)-u[ \t]+[\"']?[\w.@-]{{1,60}},{VALUE}", "-u", ","),
        ("PASSWORD", rf"\bsmbclient\b{_NEAR}[ \t]-U[ \t]*[\"']?[\w.@-]{{1,60}}%{VALUE}", "-U", "%"),
        ("PASSWORD", rf"\bhttps?[ \t]+{_NEAR}(?:-a|--auth)[ =][\"']?[\w.@-]{{1,60}}:{VALUE}", ":"),
        ("PASSWORD", rf"\bsshpass[ \t]+-f[ \t]*<\([ \t]*(?:echo|printf)[ \t]+{_BEFORE}{VALUE}", "sshpass"),
        (
            "PASSWORD",
            rf"\b(?:echo|printf)[ \t]+{_BEFORE}[\"']?[\w.-]{{1,60}}:(?P<value>[^\s\"'|:$]+)[\"']?[ \t]*\|"
            r"[ \t]*(?:sudo[ \t]+)?chpasswd\b",
            "chpasswd",
        ),
        ("TOKEN", rf"\bvault[ \t]+login[ \t]+(?!-|\w+=|<){VALUE}", "vault"),
        # Calls of a program's text: login('V'), login("me", "V"), login(host=H, key='V').
        ("TOKEN", rf"\blogin\([ \t]*(?:(?:key|token|password)[ \t]*=[ \t]*)?{_QUOTED}", "login("),
        ("PASSWORD", rf"\blogin\([^,()\n]{{1,200}},[ \t]*{_QUOTED}", "login(", ","),
        ("KEY", rf"\blogin\([^()\n]{{0,200}}?\bkey[ \t]*=[ \t]*{_QUOTED}", "login(", "key"),
        ("KEY", rf"\"username\\?\"[^\n{{}}]{{0,200}}?\"key\\?\"[ \t]*:[ \t]*{VALUE}", "username", "key"),
        (
            "PASSWORD",
            r"(?i:password|passwd|token|secret|key)[=:][ \t]*\.\*(?P<sep>[/|#,@])[^\n/|#,@]{0,80}[=:][ \t]*"
            r"(?P<value>[^\s\"'/|#,@$]+)",
            ".*",
        ),
        # What it is for is not known: a name is none, nor is a number.
        (
            "TOKEN",
            r"(?i:(?:\b|\b(?:hf|api|auth|access|hub)_)(?:pw|password|passwd|passphrase|token)"
            r"(?:[ \t]+(?:is[ \t]+)?|[-:])|\b(?:pw|password|passwd|passphrase)_|login[ \t]+)"
            r"(?=\S{0,60}[a-z])(?=\S{0,60}[A-Z])(?=\S{0,60}[0-9])(?P<value>[\w!@#%^*+=-]{8,})(?![^\s\"';|&)])",
        ),
        ("KEY", r"[?&](?:api[_-]?)?key=(?P<value>[^\s&\"'$]{12,})", "key="),
        ("WEBHOOK", r"\bhooks\.slack\.com/services/(?P<value>[^\s\"'$]+)", "hooks."),
        ("WEBHOOK", r"/api/webhooks/(?P<value>[^\s\"'$]+)", "webhooks"),
        ("TOKEN", r"\bapi\.telegram\.org/bot(?P<value>[0-9]{6,12}:[\w-]{8,})", "telegram"),
        ("TOKEN", r"\bconda\.anaconda\.org/t/(?P<value>[^\s/\"'$]+)", "anaconda"),
        # The metadata of a machine at Oracle asks all for the same words, which its manual has.
        # In front of a variable stands how it is handed over, which is no secret: Bearer $TOKEN.
        (
            "TOKEN",
            r"(?i:\bauthorization:)[ \t]*(?!Bearer[ \t]+Oracle(?:[\"'\s]|$))"
            r"(?![A-Za-z]{1,20}\\?[ \t]+[\"']{0,2}(?:\\?\$[{(]?[A-Za-z_]|`))"
            r"(?:\w+\\?[ \t]+)?"
            r"(?P<value>[^\s\"'$]+)",
            ":",
        ),
        (
            "TOKEN",
            r"(?:\b|(?<=\\[nt]))(?P<value>gh[pousr]_\w{12,}|github_pat_\w{12,}|gl(?:pat|rt|ptt|dt|cbt|soat|ft)-[\w-]{8,}|"
            # hf_download is a word: a token has more letters, of both cases, and numbers.
            r"hf_(?![a-z]{1,20}(?![A-Za-z0-9]))[A-Za-z0-9]{8,}"
            r"|sk-(?:\w+-)?[A-Za-z0-9]{12,}|A[KS]IA[0-9A-Z]{12,}|(?:xox[abprs]|xapp)-[\w-]{8,}|nvapi-[\w-]{12,}"
            r"|sk-ant-[\w-]{12,}|hv[sbr]\.[\w-]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{12,}|npm_\w{20,}|r8_\w{20,}"
            r"|ATATT\w{8,}|dop_v1_\w{12,}|SG\.[\w-]{12,80}\.[\w-]{12,}|wandb_v1_\w{8,}"
            r"|pypi-\w{12,}|dckr_pat_[\w-]{8,}|(?<![\w-])eyJ[\w-]{12,}\.[\w-]+\.[\w-]+)",
        ),
    )
)
# What a line has, in small letters, where anything of these may be in it.
HINTS = (
    *("://", "@", "sshpass", "login", "curl", "mysql", "mariadb", "sudo", "assword", "authorization"),
    *("openssl", "wandb", "<<<", "--user", "kinit", "redis-cli", "ssh-keygen", "remote"),
    *("config ", "config\t", "configure"),  # as a word: names of files have it, too
    *("sig=", "signature=", "pwd", "-pass", "secret:", "token:", "-login", "-credential", "-p ", "-k "),
    *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "sk-", "akia", "xox", "nvapi-"),
    *("pypi-", "dckr_pat_", "eyj"),
    *(
        "glpat-",
        "glrt-",
        "glptt-",
        "gldt-",
        "glcbt-",
        "glsoat-",
        "glft-",
        "asia",
        "xapp-",
        "hvs.",
        "hvb.",
        "hvr.",
    ),
    *(
        "aiza",
        "ya29.",
        "npm_",
        "mc ",
        "user",
        ".key",
        "base64",
        "r8_",
        "atatt",
        "dop_v1_",
        "sg.",
        "zip",
        "ipmitool",
        "7z",
        "ldap",
        "-u ",
        "smbclient",
    ),
    *(
        "http ",
        "https ",
        "passwd",
        "passphrase",
        "cryptsetup",
        "vault",
        "username",
        "key=",
        "key:",
        "hooks.slack",
    ),
    *("su ", "<(", "pgpass", "netrc", "secret", "api_key", "apikey", "login=", "--with-"),
    *("sqlplus", "webhooks/", "pw ", "pw-", "pw:", "pw_", "token", "telegram", "anaconda.org"),
)


# What stands before -p where that is a scheduler's, a partition or a property of nodes: a line that it reads,
# or srun and its like with options of their own alone (srun(1), sbatch(1), oarsub(1), qsub(1B) of OpenPBS).
_OF_SCHEDULERS = re.compile(
    r"(?:^|\n)[ \t]*#(?:SBATCH|OAR|PBS|MSUB|BSUB|PJM|\$)[ \t][^\n]*$"
    r"|\boarsub(?:[ \t]+-[^\n;|&]*)?[ \t]+$"
    r"|\b(?:srun|sbatch|salloc)(?:[ \t]+(?:-[NnctAJGqCwxdDeioL][ \t]*[^\s-]\S*|--[\w-]+(?:=\S*)?))*[ \t]+$"
)
_BEFORE_OPTION = 400


def found_in(line: str) -> Iterator[tuple[str, re.Match[str]]]:
    """What has the form of a secret, with a name for it."""
    for name, pattern, first, others in _FORMS:
        if first in line and (not others or all(each in line for each in others)):
            for found in pattern.finditer(line):
                if not _is_of_scheduler(line, found.start()):
                    yield name, found


def _is_of_scheduler(line: str, start: int) -> bool:
    return line.startswith("-p", start) and bool(
        _OF_SCHEDULERS.search(line[max(0, start - _BEFORE_OPTION) : start])
    )
