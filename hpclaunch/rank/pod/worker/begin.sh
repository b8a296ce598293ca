# Runs in a worker's container, and becomes sshd.
# Protocol 1: SETTING=value...
# Only what every /bin/sh has is used: dash, busybox, bash.
set -uf

hl_fail() {
  printf 'hpclaunch: worker: %s\n' "$1" >&2
  exit 121
}

hl_port= hl_keys= hl_kit= hl_home=
for hl_setting; do
  case ${hl_setting%%=*} in
    port | keys | kit | home) eval "hl_${hl_setting%%=*}=\${hl_setting#*=}" ;;
    *) hl_fail "this text speaks protocol 1 and does not know the setting $hl_setting" ;;
  esac
done
[ -z "$hl_home" ] || export HOME="$hl_home"
hl_keys=${hl_keys:-$HOME/.ssh}

hl_field() { # hl_text: the second field of the line of $1 in the file $2, "-" where there is none
  hl_text=-
  while IFS=: read -r hl_name hl_value _; do
    [ "$hl_name" != "$1" ] || hl_text=$hl_value
  done <"$2"
}
