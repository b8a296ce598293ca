hl_find_address() { # hl_address: of the host $1 in the lines of /etc/hosts on standard input, or nothing
  while read -r hl_address hl_text; do
    for hl_name in $hl_text; do [ "$hl_name" != "$1" ] || return 0; done
  done
  hl_address=
}
