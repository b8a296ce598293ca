# The image's own configuration of ssh must not matter.
hl_agent=ssh
[ -z "$hl_kit" ] || hl_agent=$hl_kit/bin/ssh
hl_agent=$(command -v "$hl_agent") ||
  hl_fail "the image has no ssh: add openssh-client to it, or name an image with ssh in the site file (sshd: kit)"
id -un >/dev/null 2>&1 ||
  hl_fail "the image knows no user with the number $(id -u), which ssh needs: run as one of its /etc/passwd"
hl_options="-F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
hl_options="$hl_options -o GlobalKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectionAttempts=10 -p $hl_ssh"
[ -z "$hl_keys" ] || hl_options="$hl_options -o IdentitiesOnly=yes -i $hl_keys/id_rsa"

hl_reach() { # runs the command $2 on the host $1
  "$hl_agent" -n -o ConnectionAttempts=1 -o ConnectTimeout=5 $hl_options "$1" "$2"
}

hl_master=$hl_first
