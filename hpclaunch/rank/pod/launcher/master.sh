# Pods of v1 and v1alpha2 have no names in DNS: ranks need the address, as the first worker's /etc/hosts has it.
hl_text=$(hl_reach "$hl_first" 'cat /etc/hosts' 2>/dev/null)
hl_find_address "$hl_first" <<HOSTS
$hl_text
HOSTS
[ -n "$hl_address" ] || hl_fail "$hl_first does not tell its address: its /etc/hosts has no line with its name"
hl_master=$hl_address
