hl_expand() { # hl_numbers: those of the kernel's list $1, each with a space after it: "0 1 2 8 " of 0-2,8
  hl_numbers=
  hl_ranges=$1,
  while [ -n "$hl_ranges" ]; do
    hl_range=${hl_ranges%%,*}
    hl_ranges=${hl_ranges#*,}
    [ -n "$hl_range" ] || continue
    hl_number=${hl_range%-*}
    while [ "$hl_number" -le "${hl_range#*-}" ]; do
      hl_numbers="$hl_numbers$hl_number "
      hl_number=$((hl_number + 1))
    done
  done
}

hl_count_words() { # hl_count
  hl_count=$#
}

hl_read_allowed() { # hl_allowed: " 0 1 2 ", the CPUs that this process may use; hl_allowed_list: 0-2, or "?"
  hl_key= hl_allowed_list=
  {
    while [ "$hl_key" != Cpus_allowed_list: ] && read -r hl_key hl_allowed_list; do :; done \
      <"$hl_root/proc/self/status"
  } 2>/dev/null
  hl_expand "$hl_allowed_list"
  hl_allowed=" $hl_numbers"
  hl_allowed_list=${hl_allowed_list:-?}
}
