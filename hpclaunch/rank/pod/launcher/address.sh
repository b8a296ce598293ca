# Pods of v1 and v1alpha2 have no names in DNS: ranks need the address, as the first worker's /etc/hosts has it.
hl_master=$(
  hl_reach "$hl_first" 'cat /etc/hosts' 2>/dev/null | while read -r hl_address hl_text; do
    case " $(printf '%s' "$hl_text" | tr '\t' ' ') " in *" $hl_first "*) printf '%s' "$hl_address" && break ;; esac
  done
)
[ -n "$hl_master" ] || hl_fail "$hl_first does not tell its address: its /etc/hosts has no line of its own"
