# Some ranks run under a profiler, whose words go before their command's.
case ",$hl_profile," in
  *",$hl_rank,"*)
    mkdir -p -- "${hl_profile_to%/*}" || hl_fail "the profile cannot be written to ${hl_profile_to%/*}"
    hl_file=$hl_profile_to${SLURM_JOB_ID:+-$SLURM_JOB_ID}-rank-$hl_rank
    hl_path=${PATH-}
    hl_left=$#
    hl_past=
    while [ "$hl_left" -gt 0 ]; do
      hl_word=$1
      set -- "$@" "$hl_word"
      shift
      case $hl_past$hl_word in
        PATH=*) hl_path=${hl_word#PATH=} ;;
        --) # the environment ends, and the command begins
          hl_past=1
          hl_lines=$hl_profiler$hl_file
          while [ -n "$hl_lines" ]; do
            set -- "$@" "=${hl_lines%%"$hl_newline"*}"
            case $hl_lines in
              *"$hl_newline"*) hl_lines=${hl_lines#*"$hl_newline"} ;;
              *) hl_lines= ;;
            esac
          done
          ;;
      esac
      hl_left=$((hl_left - 1))
    done
    hl_word=${hl_profiler%%"$hl_newline"*}
    (PATH=$hl_path && command -v "$hl_word" >/dev/null) ||
      hl_fail "$hl_word is not on the PATH of the ranks ($hl_path): it must be in the image, or a mount of the job"
    ;;
esac
