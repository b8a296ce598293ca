[ -r "$hl_keys/id_rsa" ] || hl_fail "$hl_keys/id_rsa cannot be read: is this a pod of the MPI operator?"
hl_user=$(id -un 2>/dev/null) ||
  hl_fail "the image knows no user with the number $(id -u), which sshd needs: run as one of its /etc/passwd"
if [ "$(id -u)" = 0 ]; then
  mkdir -p /run/sshd /var/empty # where versions of sshd confine a part of themselves
  hl_field "$hl_user" /etc/shadow
  case $hl_text in
    '!'*) # without PAM no key opens a locked account, as root is in some images
      usermod -p '*' "$hl_user" || hl_fail "the account of $hl_user is locked, so sshd would let nobody in"
      ;;
  esac
fi

# bash reads ~/.bashrc for sshd, and what that exports must not reach the ranks.
hl_session="exec $(command -v env) -i \"HOME=\$HOME\" \"USER=\$USER\" \"LOGNAME=\$LOGNAME\" 'PATH=$PATH'"
hl_session="$hl_session /bin/sh -c \"\$SSH_ORIGINAL_COMMAND\""

# All is said here, so that the image's own configuration does not matter, nor PAM's.
exec "$hl_sshd" -D -e -f /dev/null -o "Port=$hl_port" -o "HostKey=$hl_keys/id_rsa" \
  -o "AuthorizedKeysFile=$hl_keys/authorized_keys" -o StrictModes=no -o PidFile=none -o UsePAM=no \
  -o PermitRootLogin=yes -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no \
  -o "ForceCommand=$hl_session" -o UseDNS=no -o MaxStartups=1000 -o AllowTcpForwarding=no
