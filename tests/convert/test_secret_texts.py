"""No secret of a launcher in the job file or the report, in whatever form it stands there."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hpclaunch.cli.main import hpclaunch
from hpclaunch.convert.secrets.texts import HIDDEN, hide, lines, values
from hpclaunch.values.errors import InputError

S = "Zq7pLm2vXw9t"
LAUNCHER = """#!/bin/bash
#SBATCH -N 2
#SBATCH -t 30
#SBATCH --gres=gpu:4
{before}
srun --ntasks-per-node=1 docker run -d --name c --gpus all {run} -v /d:/d reg.example/x:1 sleep infinity
srun --ntasks-per-node=1 docker exec {exec} c torchrun --nproc_per_node 4 train.py {arguments}
"""
BEFORE = (
    f"export WANDB_API_KEY={S}",
    f"WANDB_KEY='{S}'",
    f'export PGPASSWORD="{S}"',
    f"docker login -u me -p {S} reg.example",
    f"docker login -u me -p{S} reg.example",
    f"docker login --username me --password {S} reg.example",
    f"echo {S} | docker login -u me --password-stdin reg.example",
    f'echo "{S}" | sudo -S sysctl vm.drop_caches=3',
    f"printf '%s\\n' {S} | sudo -S sysctl vm.drop_caches=3",
    f"sudo -S sysctl vm.drop_caches=3 <<< {S}",
    f"sshpass -p {S} ssh n1 sudo sysctl vm.drop_caches=3",
    f"sshpass -p'{S}' ssh n1 docker pull reg.example/x:1",
    f"curl -u me:{S} https://files.example/x -o x",
    f"curl --user me:{S} https://files.example/x -o x",
    f"curl -H 'Authorization: Bearer {S}' https://files.example/x",
    f"curl -H 'PRIVATE-TOKEN: {S}' https://files.example/x",
    f"wget --http-password={S} https://files.example/x",
    f"git clone https://me:{S}@git.example/x.git",
    f"srun --container-image=me:{S}@nvcr.example#team/image:1 ./train",
    f"git clone https://{S}{S}@git.example/x.git",
    f"cat > env.list <<EOF\nHF_TOKEN={S}\nDEBUG=1\nEOF",
    f'cat > c.json <<EOF\n{{"api_key": "{S}", "x": 1}}\nEOF',
    f"cat > c.yaml <<EOF\npassword: {S}\nEOF",
    f"cat > key <<EOF\n-----BEGIN OPENSSH PRIVATE KEY-----\n{S}\n-----END OPENSSH PRIVATE KEY-----\nEOF",
    f"# password: {S}",
    f"mysql -u root -p{S} results",
    f"login='{S}'; export MY_TOKEN={S}; echo $login",
    f"some_tool --auth-token {S} --verbose",
    f"some_tool --key {S} --verbose",
    f"some_tool --auth={S} --verbose",
    f"./upload.sh --user me -p {S}",
    f"export MYPW={S}",
    f'export X_AUTH="Bearer {S}"',
    f"SECRETS=({S} 'other1{S}')",
    f"wandb login --relogin {S}",
    f"openssl enc -aes256 -k {S} -in x -out y",
    f"openssl enc -aes256 -pass pass:{S} -in x -out y",
    f'echo "machine h login me password {S}" > ~/.netrc',
    f"cat > ~/.netrc <<EOF\nmachine h\n  login me\n  password {S}\nEOF",
    f"read -r MY_TOKEN <<< {S}",
    f"srun --comment=pw={S} hostname",
    *(f"export {name}={S}" for name in ("DBPASS", "SSHPASS", "SECRET_X", "CREDS", "passphrase_x", "MYKEY")),
    f"export SLACK_WEBHOOK=https://hooks.example/services/{S}",
    f'export STORE="AccountName=a;AccountKey={S}==;Suffix=x"',
    f"export URL='https://s.example/x?sv=1&sig={S}'",
    f"redis-cli -h h -a {S} flushall",
    f"kinit me <<< {S}",
    f"echo {S} | kinit me",
    f"aws configure set aws_secret_access_key {S}",
    f"ssh-keygen -t ed25519 -N {S} -f key",
    f"./upload -p {S}",
    f"./upload --login me:{S}",
    f"./upload --db-pwd:{S}",
    f"./upload 'Server=h;Uid=u;Pwd={S};'",
    f'export OPTIONS="--lr=1 password={S}"',
)
# What another variable has as well is hidden where all the texts are known, not here; and after any program's
# -p only what looks like a secret is one.
FORMS = [text for text in BEFORE if not text.startswith(("login=", "./upload -p"))]
GIVEN = (
    {"run": f"-e HF_TOKEN={S}"},
    {"run": f"-e DB_URL=postgres://me:{S}@db.example/x"},
    {"run": f"--env AWS_SECRET_ACCESS_KEY={S}"},
    {"exec": f"-e MYSQL_PWD={S}"},
    {"exec": f"-e LICENSE=hf_{S}"},
    {"arguments": f"--api-key {S}"},
    {"arguments": f"--wandb_key={S}"},
    {"arguments": f"--key={S}"},
    {"arguments": f"--key {S}"},
    {"arguments": f"--auth {S}"},
    {"arguments": f"--pwd {S}"},
    {"run": f"-e MYPW={S}"},
    {"arguments": f"--store s3://me:{S}@store.example/x"},
    {"arguments": "$MY_SECRET", "before": f"MY_SECRET={S}"},
    {"run": "-v /keys/$MY_SECRET:/keys", "before": f"MY_SECRET={S}"},
)


def outputs(launcher: str, folder: Path, file: str = "run.sub") -> dict[str, str]:
    """All that the command prints and writes."""
    script = folder / file
    script.write_text(launcher)
    found = {}
    for name in ("report.txt", "report.md", "report.json"):
        job = folder / f"{name}.job.yaml"
        result = CliRunner().invoke(
            hpclaunch, ["convert", str(script), "-o", str(job), "--report", str(folder / name)]
        )
        found[name] = result.output + job.read_text() + (folder / name).read_text()
    found["json"] = CliRunner().invoke(hpclaunch, ["convert", str(script), "--json"]).output
    json.loads(found["json"])
    return found


@pytest.mark.parametrize("parts", [*({"before": text} for text in BEFORE), *GIVEN], ids=str)
def test_no_output_has_the_secret_and_the_report_says_that_there_is_one(
    parts: dict[str, str], tmp_path: Path
) -> None:
    launcher = LAUNCHER.format(**{"before": "", "run": "", "exec": "", "arguments": "", **parts})
    found = outputs(launcher, tmp_path)
    for name, text in found.items():
        assert S not in text, name
    told = [
        each["what"] + each["why"]
        for each in json.loads(found["json"])["findings"]
        if each["kind"] == "defect"
    ]
    assert any(word in text for text in told for word in ("secret", "password", "the value of"))


ANY_PLACE = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: job}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          nodeSelector: {token: "SELECTOR"}
          containers:
          - name: l
            image: reg.example/a:1
            env:
            - {name: STORE, value: "ENV"}
            command: [mpirun, -np, "16", ./a, COMMAND]
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {token: "SELECTOR"}
          containers:
          - {name: w, image: "reg.example/a:1", resources: {limits: {nvidia.com/gpu: 8}}}
"""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("ENV", f"s3://me:{S}@store.example/x"),
        ("ENV", f"hf_{S}"),
        ("COMMAND", f"--token={S}"),
        ("COMMAND", f"--url, https://me:{S}@x.example/y"),
        ("SELECTOR", f"glpat-{S}"),
    ],
)
def test_what_is_made_of_a_manifest_has_no_secret(place: str, text: str, tmp_path: Path) -> None:
    parts = {"ENV": "s3://store", "COMMAND": "--x", "SELECTOR": "y", place: text}
    manifest = ANY_PLACE
    for name, part in parts.items():
        manifest = manifest.replace(name, part)
    for name, output in outputs(manifest, tmp_path, "job.yaml").items():
        assert S not in output, name


@pytest.mark.parametrize(
    "text",
    [
        "PLACEHOLDER_TOKEN=12345678abc --init_token=abcdefgh --input-bucket-key=_hashes",
        "PAD_TOKEN=12345678abc --eos_token=abcdefgh MAX_TOKEN=4096",
        "SSH_KEY=/home/me/.ssh/id_ed25519 --key-file x.pem",
        "docker run -p 8080:80 -u 0:0 x/y:z",
        "HF_TOKEN=$HF_TOKEN --api-key ${API_KEY} --password $(cat /run/secret)",
        "mpirun -x HF_TOKEN -mca btl ^openib -np 8",
        "--tokenizer-model /data/tok.model --num-tokens 40000000",
        "http://proxy.example:3128/ ssh://git@git.example/x tcp://10.0.0.1:29500",
        "NCCL_ALGO=Ring USE_SECRET=true PASSED=17 COMPASS=north",
        "MYSQL_PWD=*** --token=***",
        "monkey=business12 author=somebody17 --hotkeys ctrl1234 --key-file server1 AUTHOR=me2345678",
        "--key server1.pem sort --key=2,2n -k 1 --auth kerberos USE_AUTH=module12",
        "tolerations: [{key: node.example.com/gpu12345, operator: Exists}]",
        "PWD=/a OLDPWD=work12345 --pwd /workspace read a b <<< 'one12345 two'",
        "wandb login --relogin && wandb login # first12345",
        "# --log [YOUR_KEY] (after wandb login once)\necho 'first do wandb login please.'",
        "./serve -p 8080 -k 100 -p gpu-a100x8 -p /data/Set12 --login true --key name MONKEY=Business12",
        "pass=1; export PASS=12 --pass 3",
        "# Second pass: weigh each grain, then sort",
        'curl -H "Authorization: Bearer Oracle" http://169.254.169.254/opc/v2/instance/',
        "NCCL_NET=IBext_v8 BYPASS=yes2345678 SECRET_NAME=db12345 SECRET_FILE=x12345 TURKEY=a1234567",
        "--token=auto --token none --hf-token env --token 5 --image-token img --sep_token=sep",
        "--token-type bpe --tokens abc --tokenizer abc --token-count abc --num_token abc --password-stdin",
        "train --data-key json --input_key prompt --label_key 'answer' --reward_fn_key=data_source",
        "train --ref_key raw_text --transcript-key sentence --speaker_key=client_id +pipe_key=training",
        "IMAGE_KEY=jpg",
        "TOKEN: =\npassword: ''\n[ $TOKEN == x ]",
        "train --use-class-token \\\n  --use-te\nserve --auth \\\n  --fast",
        'echo "PASS: EP8/EP6 smoke" && printf "  PASS: loss=%s is well" 3',
        'echo ">>> PASS: team/model-7b" && printf "== PASS: all" && echo "--- PASS: $NAME"',
        'HF_TOKEN="hf_your_token_here" WANDB_API_KEY=your_wandb_key_here TOKEN=hf_xxxxxxxx',
        "ssh_pub_key=`cat key.pub`",
        'cat <<E\nTOKEN="\\$(curl -sS "http://md.example/x")" API_KEY=\\${KEY} PASSWORD=\\$MY_PW\nE',
        'x="$(curl -H \\"X-md-token: \\$TOKEN\\" http://md.example/t)"',
        "# --key [W_TOKENS] or True (after the wandb login command)",
        "# Give your token: export HUB_TOKEN=\"hf_...\"\nexport HUB_TOKEN='sk-....' API_KEY=...",
        "KEYS=(first12345) TOKENS=(second12345) openssl req -key server12.key -keyout x12345",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert hide(text) == text
    assert values(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "PASSWORD=1",
        "DB_PASS=12",
        "PASS=1234",
        "PASSWORD=your_dogs_name1",
        "PASSWORD=changeme",
        "PASS: hunter2x",
        "echo 'PASS: hunter2x' > settings.yaml",
        "# pass: weigh",
        "# the pass: w3igh each grain",
        "--password 7",
        "redis-cli --pass 12",
        "Authorization: Bearer Oracle7",
        "Authorization: Bearer oracle",
        "Authorization: Oracle",
    ],
)
def test_what_may_be_a_secret_is_one(text: str) -> None:
    assert values(text)


def test_a_key_behind_the_dollar_of_a_template_is_a_secret_and_an_argument_is_none() -> None:
    key = "7Xc0ffee77Xc0ffee77X"
    assert hide(f"WANDB_API_KEY=${key}") == f"WANDB_API_KEY={HIDDEN}"
    assert hide(f"./t --api-key ${{{key[0]}}}{key[1:]}") == f"./t --api-key {HIDDEN}"
    for text in ("WANDB_API_KEY=$1", "API_KEY=${2}", 'HF_TOKEN="$1_$2"', "API_KEY=$KEY_OF_ALL_THE_TEAM"):
        assert hide(text) == text


def test_a_key_of_data_that_looks_like_no_name_is_a_secret() -> None:
    assert (
        hide(f"./t --input-key {S}9 --data-api-key prompt")
        == f"./t --input-key {HIDDEN} --data-api-key {HIDDEN}"
    )


@pytest.mark.parametrize("value", ["abc", "q", "hunter", "geheim"])
@pytest.mark.parametrize(
    "option",
    ["--token=", "--token ", "--hf_token ", "--auth-token=", "--password ", "--secret=", "--api-key "],
)
def test_a_short_word_is_a_secret_after_an_option_that_takes_one(option: str, value: str) -> None:
    assert hide(f"./t {option}{value} --x {value}s") == f"./t {option}{HIDDEN} --x {value}s"
    assert list(values(f"./t {option}{value}")) == [value]


@given(st.text("abcXYZ012+_.!,-", min_size=6, max_size=30), st.sampled_from(FORMS))
@settings(max_examples=300, deadline=None)
def test_any_value_is_hidden_and_found_at_its_line(value: str, form: str) -> None:
    value = f"q{value}q"
    text = "first\n" + form.replace(S, value)
    hidden = hide(text)
    assert value not in hidden
    assert HIDDEN in hidden
    assert hidden.count("\n") == text.count("\n")
    assert hide(hidden) == hidden
    marked = [number for number, line in enumerate(text.split("\n"), 1) if value in line]
    assert lines(text)
    assert set(lines(text)) <= set(marked)


DAMAGE = ("'", '"', "`", "$(", "(", ")", "{", "}", "<<E", ": [", "\t", "|", "&&", ";;", "fi", "done")
MANIFEST = f"""apiVersion: kubeflow.org/v1
kind: MPIJob
metadata:
  name: a
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: w
            image: a/b:1
            command: ["mpirun", "-x", "API_KEY={S}", "./x", "--password", "{S}"]
            env:
            - name: API_KEY
              value: "{S}"
            - {{name: DB_PASSWORD, value: {S}}}
"""
WHOLE = (*(LAUNCHER.format(before=text, run="", exec="", arguments="") for text in BEFORE), MANIFEST)


@given(st.sampled_from(WHOLE), st.lists(st.tuples(st.integers(0, 40), st.sampled_from(DAMAGE)), min_size=1))
@example(WHOLE[2], [(4, "(")])
@example(WHOLE[11], [(4, "'")])
@example(WHOLE[55], [(4, "`")])
@example(next(text for text in WHOLE if "X_AUTH=" in text), [(4, '"')])
@example(next(text for text in WHOLE if ".netrc <<" in text), [(4, "`"), (7, "'")])
@settings(max_examples=150, deadline=None)
def test_neither_an_error_nor_the_report_of_a_broken_text_has_the_secret(
    text: str, damage: list[tuple[int, str]]
) -> None:
    """What is broken may be named by its text; the damage is at ends of lines, so that forms stay forms."""
    lines_ = text.split("\n")
    for number, piece in damage:
        lines_[number % len(lines_)] += piece
    with TemporaryDirectory() as folder:
        file = Path(folder, "given.yaml" if text == MANIFEST else "run.sub")
        file.write_text("\n".join(lines_))
        result = CliRunner().invoke(hpclaunch, ["convert", str(file)])
    assert isinstance(result.exception, SystemExit | InputError | None)
    assert S not in result.output
    assert S not in str(result.exception)


@pytest.mark.parametrize(
    "given_", [f"API_KEY {S}", f"API_KEY:{S}", f"NGC-KEY={S}", f"1KEY={S}", f"={S}", f"UID={S}"]
)
def test_an_error_about_what_the_operator_gives_has_no_value(given_: str, tmp_path: Path) -> None:
    file = tmp_path / "run.sub"
    file.write_text("srun true\n")
    result = CliRunner().invoke(hpclaunch, ["convert", str(file), "--env", given_])
    assert isinstance(result.exception, InputError)
    assert "--env" in str(result.exception)
    assert S not in str(result.exception)


@pytest.mark.parametrize(
    "text",
    [
        ': "${HF_TOKEN:?Required variable for the hub}"',
        "# no need to pass:  -x NAME=$VALUE",
        "export A=1 # ends where no --lab_key argument was given",
        'RUN_TOKEN="lab_$(date +%Y%m%d_%H%M)_${SLURM_JOB_ID}"',
        'echo "HF_TOKEN: Set"',
        'echo "LAB_API_KEY: not set"',
        "echo LAB_PASSWORD=missing",
    ],
)
def test_what_is_said_of_a_secret_and_an_option_are_none(text: str) -> None:
    assert not values(text)


@pytest.mark.parametrize(
    "text",
    [
        f"./t --lab_key {S} # argument",
        f"# ./t --lab_key {S}",
        f'A_TOKEN="lab_$(date){S}"',
        f'echo "HF_TOKEN: set{S}"',
        f'echo "HF_TOKEN: {S} is set"',
    ],
)
def test_what_stands_beside_such_words_is_one_all_the_same(text: str) -> None:
    assert S in "".join(values(text))
