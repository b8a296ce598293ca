# By its path, since sshd starts itself anew for each session.
hl_sshd=$(command -v sshd) || hl_sshd=/usr/sbin/sshd
[ -x "$hl_sshd" ] ||
  hl_fail "the image has no sshd, as those of NGC: add openssh-server to it, or name an image with sshd in the site file (sshd: kit)"
