"""Secrets by what a program takes for one and by what only tokens look like, and what is none."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from test_secret_texts import S, outputs

from hpclaunch.cli.main import hpclaunch
from hpclaunch.convert.secrets.names import is_secret
from hpclaunch.convert.secrets.texts import hide, values

LAUNCHER = """#!/bin/bash
#SBATCH -N 2
#SBATCH -t 30
#SBATCH --gres=gpu:4
{before}
srun --ntasks-per-node=4 --container-image=reg.example/x:1 --container-mounts=/d:/d ./train {arguments}
"""
NAMES = (
    *("PASSWORD1", "HF_TOKEN_2", "API_KEY_1", "MYPASS", "PASSCODE", "PSWD", "JWT", "BEARER", "COOKIE"),
    *("SESSION_ID", "PASSWORT", "MOT_DE_PASSE", "SLURM_JWT"),
    *("TOKEN_HF", "GITHUB_TOKEN_RO", "API_KEY_WANDB", "PASSWD_FTP", "PWD_DB", "KEY_API", "HF_TOK"),
    *("TS_AUTHKEY", "TOKEN_VALUE"),
    *("MINIO_AKEY", "S3_SKEY", "OBS_AK", "ALIYUN_SK"),
)
STEPS = (
    f"export MY_PASSWORD=\\$x{S}",
    f"npm config set //r.example/:_authToken {S}",
    f"dvc remote modify --local store secret_access_key {S}",
    f"rclone config create store s3 access_key_id a secret_access_key {S}",
    f"printf 'password=%s\\n' {S} > cred",
    f"unzip -P {S} x.zip",
    f"zip -e -P {S} x.zip y",
    f"python -c \"from hub import login; login('{S}')\"",
    f"python -c \"import wandb; wandb.login(key='{S}')\"",
    f"python - <<EOF\nimport os\nos.environ['HF_TOKEN'] = '{S}'\nEOF",
    f'python - <<EOF\nos.environ["WANDB_API_KEY"]="{S}"\nEOF',
    f"./up --password \\\n  {S}",
    f"printf 'machine x\\nlogin user\\npassword {S}\\n' > ~/.netrc",
    f"curl -sSu me:{S} https://x.example",
    f"curl -U me:{S} -x p:1 x.example",
    f"curl --oauth2-bearer {S} x.example",
    f"curl --cert c.pem:{S} x.example",
    f"curl -b 'session={S}' x.example",
    f"curl --header=Authorization:Bearer\\ {S} x.example",
    f"curl 'https://x.example/y?a=1&key={S}'",
    f"wandb login <<< {S}",
    f"echo {S} | wandb login",
    f"wandb login --host https://w.example {S}",
    f"sshpass -f <(echo {S}) ssh n1 true",
    f"declare -A C=([password]={S} [u]=me)",
    f"declare -A C; C[token]={S}",
    f"TOKENS=({S} b)",
    f"KEYS[0]={S}",
    f"mapfile -t TOKENS <<< {S}",
    f"login() {{ docker login -u me -p $1 r.example; }}\nlogin {S}",
    f'if [ "$HF_TOKEN" = "{S}" ]; then echo ok; fi',
    f"if [[ $PASSWORD == {S} ]]; then echo ok; fi",
    f'echo "{{\\"password\\": \\"{S}\\"}}" > c.json',
    f'echo \'{{"username":"me","key":"{S}"}}\' > kaggle.json',
    f"echo root:{S} | chpasswd",
    f"echo {S} | passwd --stdin me",
    f"setenv HF_TOKEN {S}",
    f"password = {S}",
    f"echo 'password : {S}' > c.yaml",
    f'./x HF_TOKEN=\\"{S}\\"',
    f"sed -i 's/password=.*/password={S}/' c.ini",
    f"gpg --passphrase-fd 0 -d x <<< {S}",
    f"openssl enc -aes256 -pass stdin <<< {S}",
    f"ipmitool -U ADMIN -P {S} -H h power status",
    f"ldapsearch -w {S} -D x",
    f"vault login {S}",
    f"lftp -u me,{S} ftp.example",
    f"export http_proxy='http://me:p/{S}@proxy.example:3128'",
    f"export http_proxy='http://me:p$w@{S}@proxy.example:3128'",
    f"export DATABASE_URL=me:{S}@db.example/x",
    f"curl -u $USER:{S} x.example",
    f"curl -u {S}: x.example",
    f"kubectl create secret generic x --from-literal=a=b --from-literal=key={S}",
    f"mc alias set m http://x AKEY {S}",
    f"htpasswd -b f me {S}",
    f"mount -t cifs -o user=me%{S} //h/s /m",
    f"rsync --password-file=<(echo {S}) a b",
    f"echo {S} > ~/.huggingface/token",
    f"echo -n {S} | tee /run/password.txt",
    f"tee ~/.hf_token <<< {S}",
    f"echo 'h:5432:db:me:{S}' > ~/.pgpass",
    f"echo me:{S} > ~/.passwd-s3fs",
    f"echo bucket:me:{S} | sudo tee /etc/passwd-ossfs",
    f"gh auth login --with-token <<< {S}",
    f"echo {S} | hf auth login",
    f"echo {S} | su me -c ./x",
    f"echo {S} | base64 -d > c.yaml",
    f"TOKEN=$(base64 --decode <<< {S})",
    f"X=$(echo {S} | openssl base64 -d)",
    f"X=$(echo -n me:{S} | base64)",
    f"X=$(printf '%s:%s' me {S} | base64 -w0)",
    f"set -- me {S}; docker login -u $1 -p $2 r.example",
    f"read -r u p <<< 'me {S}'; curl -u $u:$p x.example",
    f"P={S}; echo $P | docker login -u me --password-stdin",
    f"f() {{ docker login -u me -p $1; }}; f {S}",
    f"smbclient //h/s -U 'me%{S}' -c ls",
    f"7z x -p{S} x.7z",
    f"curl -X POST https://hooks.slack.com/services/T00000000/B00000000/{S}",
    *(
        f"export X={token}{S}abcdefghabcdefgh"
        for token in ("glrt-", "hvs.", "AIzaSy", "ya29.", "npm_", "r8_", "sk-ant-api03-", "xapp-1-A012-")
    ),
    *(f"export X={token}{S}abcdefghabcdefgh" for token in ("ATATT3xF", "dop_v1_", "wandb_v1_")),
    f"export X=SG.{S}abcdefghij.{S}abcdefghij",
)
ARGUMENTS = (
    f"--wandb.key={S}",
    f"--model.hf_token {S}",
    f"--bearer {S}",
    f"--hf-tok {S}",
    f"--token-value {S}",
    f"--wandbkey {S}7890",
    f"wandb.key={S}",
    f"--user me:{S}",
    f"-U me -P {S}",
    f"--set hf_token {S}",
    f"--token ${{T:-{S}}}",
    f"--authorization {S}",
    f"--IdentityProvider.token '{S}'",
    f"--conf spark.hadoop.fs.s3a.secret.key={S}",
    f"--conf fs.azure.account.key.x.example={S}",
)


@pytest.mark.parametrize(
    "parts",
    [
        *({"before": f"export {name}={S}"} for name in NAMES),
        *({"before": step} for step in STEPS),
        *({"arguments": text} for text in ARGUMENTS),
    ],
    ids=str,
)
def test_no_output_has_the_secret(parts: dict[str, str], tmp_path: Path) -> None:
    for name, text in outputs(LAUNCHER.format(**{"before": "", "arguments": "", **parts}), tmp_path).items():
        assert S not in text, name


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("export PIN=493817", "493817"),
        ("srun -N 1 ./fetch -u me -p Blue7Whale9", "Blue7Whale9"),
        ("export LICENSE=ABCD-1234-EFGH-5678", "ABCD-1234-EFGH-5678"),
        ("srun -N 1 -n 1 sqlplus -S scott/tiger9@orcl @load/x.sql", "tiger9"),
        ('srun -N 1 -n 1 expect -c \'expect "assword:"; send "hunter2x\\n"\'', "hunter2x"),
    ],
)
def test_no_output_has_a_number_by_heart_a_licence_or_what_is_typed(
    line: str, secret: str, tmp_path: Path
) -> None:
    for name, text in outputs(LAUNCHER.format(before=line, arguments=""), tmp_path).items():
        assert secret not in text, name


def test_no_output_has_what_the_operator_exports_as_a_login(tmp_path: Path) -> None:
    (tmp_path / "run.sub").write_text(LAUNCHER.format(before="export STORE_LOGIN", arguments=""))
    given = ["--env", f"STORE_LOGIN=me:{S}"]
    said = CliRunner().invoke(hpclaunch, ["convert", str(tmp_path / "run.sub"), *given])
    assert "STORE_LOGIN" in said.output
    assert S not in said.output


@pytest.mark.parametrize(
    "text",
    [
        "private.key /etc/ssl/private.key --tls.access.key --secret.key.file x > passwd-list",
        "PIN=1 PINS=4938 LICENSE=27000@host LICENSE=/opt/l.dat LICENSE=apache-license-header",
        "sqlplus -S /nolog @load/x.sql\nsqlplus < sql/load.sql\nsqlplus me/$PW@db",
        "PASS_ID=Job2024x TOKENIZER=Llama3Fast KEYFRAMES=Every25th AUTHOR=Someone17 BYPASS=Yes2345678",
        "max_tokens=4096 tokens_per_batch=65536 num_tokens=40000000 --tokenizer Llama3Fast passes=12",
        "PASSTHROUGH=Gpu0Gpu1 cookiecutter Template2024 PASS1=first PAT_2=Abc12345 PINNING=Cores0to7",
        "key=value12345,other=Value12345 TOKENS=(first12345) LICENSE=ansys:4 PIN=compact SESSION_ID=20240131",
        "SLURM_JWT=daemon --authorization enabled --bearer token --cookie jar.txt --jwt hs256",
        "#$ -P Project2024A\nzip -r Results2024.zip out",
        "tokens = tokenizer(text); token = next(tokens); hf_token = args.token; api_key = get_key1()",
        'if [ "$HF_TOKEN" = "" ]; then login; fi; test "$TOKEN" = "$OTHER"',
        "--data.image_key jpg2 --train.label_key=caption --model.pad_token=Abc12345",
        'ssh.login(host, user) login "$USER" login node12',
        '"Authorization": "Bearer " + token',
        'curl -H "Authorization: Bearer ${TOKEN}" u; curl -H "Authorization: Basic $(cat f)" -H "a: b" u',
        "curl -H 'Authorization: token '\"$GH_TOKEN\" u; curl --header 'authorization: Bearer '$TOKEN u",
        "run({'kwargs': {'end': 1, 'append_concat_token': False}, 'n': [{'pad_token': 0}]})",
        "OUT=/o/hf_download --to hf_checkpoints/x hf_inference",
        "download(repo, token=token)\ndownload(\n  dir=dir,\n  token=token,\n  api_key=api_key , x=1)",
        "docker://ubuntu:22.04@sha256:0a http://h:8080/a@b http://$H:$P/a@b http://h:{p}/a@b ssh://[::1]:2/a@b",
        "curl -u $USER:$PW x; --user 1000:1000; echo tokens > num_tokens; echo 1.0 > /etc/secret-version",
        "TOKEN_LIMIT=4096 TOKEN_TYPE=bpe KEY_METRIC=val_loss MONKEY=Business12",
        "API_KEY_FILE=/k SORTKEY=a12345678901234567",
        "#PBS -l nodes=1:ppn=16,walltime=@LIMIT_OF_THE_QUEUE@",
        "dataset.key=image_features echo a:b | base64x",
        "dvc remote modify store url s3://b/key\nrclone config create store s3 env_auth true",
        "printf 'step=%s' a1",
        "pip install hf-transfer==0.1.8 npm_config_loglevel=silent sg.example.com SG.x",
        "#SBATCH -p Ada_L40s8\n#SBATCH --nodes 2 -p Gpu_H200x\nsrun -N 1 --gres=gpu:1 -p Ada_L40s8 ./solve",
        "sbatch -p Gpu_H200x job.sub; salloc -A me -n4 -p Gpu_H200x",
        "#OAR -p card-48Gb\n#OAR -l host=1 -p card-48Gb\noarsub -l host=1 -p card-48Gb ./solve",
    ],
)
def test_what_looks_like_one_is_none(text: str) -> None:
    assert values(text) == {}
    assert hide(text) == text


@pytest.mark.parametrize(
    "name",
    ["PASSENGER", "TOKENIZER", "KEYFRAMES", "AUTHOR", "COOKIECUTTER", "BYPASS", "COMPASS", "PASS1", "OTPS"],
)
def test_a_name_that_begins_or_ends_like_one_is_none(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize("name", ["GENERATE_SSH_KEY", "CREATE_TOKEN", "SKIP_AUTH", "PERMIT_EMPTY_PASSWORD"])
def test_what_is_to_be_done_with_one_is_one_only_where_it_looks_so(name: str) -> None:
    assert not is_secret(name)
    for word in ("true", "1", "skip", "server.key"):
        assert hide(f"export {name}={word}") == f"export {name}={word}"
    assert hide(f"export {name}=Xc0ffee77Xc0") == f"export {name}=***"


def test_the_path_of_what_is_started_is_no_secret_whatever_its_variable_is_called(tmp_path: Path) -> None:
    run = "srun --mpi=pmi2 -n 8 $PW -i x.in"
    text = f"#!/bin/bash\n#SBATCH -N 2 --gres=gpu:4 -t 30\nPW=/opt/qe/bin/pw.x\nGATE_PW=x/{S}\n{run}\n"
    found = outputs(f"{text}srun -N 1 -n 1 ./fetch $GATE_PW\n", tmp_path)
    assert "has a secret in it (/opt" not in "".join(found.values())
    assert any("/opt/qe/bin/pw.x, -i, x.in" in text for text in found.values())
    assert not any(S in text for text in found.values())
