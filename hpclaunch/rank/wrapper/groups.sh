# Which group is this rank's? What follows the environment of all ranks are the groups, each after a --: its
# variables, then its command. Its own stays, and what is left is as of a job without groups. What measures the
# links between nodes before these ranks start is of no group.
if [ -n "${hl_groups-}" ]; then
  hl_member=${hl_member-} hl_index=0 hl_first=0
  for hl_group in $hl_groups; do # NAME:RANKS
    hl_size=${hl_group##*:}
    if [ -n "$hl_member" ]; then # its world has this group alone
      [ "$hl_index" != "$hl_member" ] || break
    else
      [ "$hl_rank" -ge $((hl_first + hl_size)) ] || break
      hl_first=$((hl_first + hl_size))
    fi
    hl_index=$((hl_index + 1))
  done
  hl_section=-1 hl_found=
  for hl_word; do
    shift
    case $hl_word in
      --) hl_section=$((hl_section + 1)) && continue ;;
      =*)
        if [ "$hl_section" = "$hl_index" ] && [ -z "$hl_found" ]; then
          hl_found=1
          set -- "$@" --
        fi
        ;;
    esac
    case $hl_section in -1 | "$hl_index") set -- "$@" "$hl_word" ;; esac
  done
  [ -n "$hl_found" ] || hl_fail "it is of none of the groups: $hl_groups"
  export HPCLAUNCH_GROUP="${hl_group%:*}" HPCLAUNCH_GROUP_INDEX="$hl_index" HPCLAUNCH_GROUPS="$hl_groups"
  export HPCLAUNCH_GROUP_RANK="$((hl_rank - hl_first))" HPCLAUNCH_GROUP_SIZE="$hl_size"
fi
