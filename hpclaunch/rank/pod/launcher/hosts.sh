# The workers, as the operator's hostfile has them: NAME slots=8, or NAME:8
[ -r "$hl_hosts" ] || hl_fail "there is no hostfile $hl_hosts: is this a pod of the MPI operator?"
hl_workers=
while read -r hl_host hl_text || [ -n "$hl_host" ]; do
  case $hl_host in '' | '#'*) ;; *) hl_workers="$hl_workers ${hl_host%%:*}" ;; esac
done <"$hl_hosts"
hl_first=${hl_workers# }
hl_first=${hl_first%% *}
[ -n "$hl_first" ] || hl_fail "the hostfile $hl_hosts names no worker"
