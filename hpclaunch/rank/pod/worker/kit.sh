# The image has no sshd, so it has not the user either that sshd wants as root.
hl_sshd=$hl_kit/sbin/sshd
[ -x "$hl_sshd" ] || hl_fail "there is no $hl_sshd: the site file's image with sshd (sshd: kit) has not put it there"
if [ "$(id -u)" = 0 ]; then
  hl_field sshd /etc/passwd
  [ "$hl_text" != - ] || printf 'sshd:x:74:74::/run/sshd:/bin/false\n' >>/etc/passwd
fi
