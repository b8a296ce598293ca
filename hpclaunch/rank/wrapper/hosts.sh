# Which table is this host's? States are what is left of the name after each part of the list: a range whose
# ends differ in length, 8-10, may take more or less of it. The comma at the end keeps the last from being "".
hl_in_hosts() { # is the host $1 in the Slurm host list $2?
  hl_list=$2
  hl_states=$1,
  while :; do
    hl_head=${hl_list%%[[,]*}
    hl_list=${hl_list#"$hl_head"}
    hl_next=
    for hl_state in $hl_states; do
      case $hl_state in "$hl_head"*) hl_next="$hl_next ${hl_state#"$hl_head"}" ;; esac
    done
    hl_states=$hl_next
    case $hl_list in
      '['*)
        hl_list=${hl_list#?}
        hl_take_number "${hl_list%%]*}"
        hl_list=${hl_list#*]}
        ;;
      *)
        for hl_state in $hl_states; do [ "$hl_state" != , ] || return 0; done
        [ -n "$hl_list" ] || return 1
        hl_list=${hl_list#,}
        hl_states=$1,
        ;;
    esac
  done
}

hl_take_number() { # hl_states: each without a number of the ranges $1 that it begins with
  hl_next=
  hl_ranges=$1,
  while [ -n "$hl_ranges" ]; do
    hl_range=${hl_ranges%%,*}
    hl_ranges=${hl_ranges#*,}
    hl_low=${hl_range%-*}
    hl_high=${hl_range#*-}
    hl_width=
    while [ ${#hl_width} -lt ${#hl_high} ]; do
      hl_width="$hl_width?"
      [ ${#hl_width} -ge ${#hl_low} ] || continue
      for hl_state in $hl_states; do
        # shellcheck disable=SC2295 # the question marks are a pattern
        hl_number=${hl_state%"${hl_state#$hl_width}"}
        case $hl_number in '' | *[!0-9]*) continue ;; esac
        # 08 is of 08-10, and not of 8-10.
        case $hl_number in 0*) [ ${#hl_number} -eq ${#hl_low} ] || continue ;; esac
        if [ "$hl_number" -ge "$hl_low" ] && [ "$hl_number" -le "$hl_high" ]; then
          hl_next="$hl_next ${hl_state#"$hl_number"}"
        fi
      done
    done
  done
  hl_states=$hl_next
}
