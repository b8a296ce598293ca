# The profiler's settings, which the part below takes no notice of: profile, profile_to, profiler.
hl_profile= hl_profile_to= hl_profiler= hl_newline='
'
hl_left=$#
hl_past= # 1: past the settings
while [ "$hl_left" -gt 0 ]; do
  case $hl_past$1 in
    profile=* | profile_to=* | profiler=*) eval "hl_${1%%=*}=\${1#*=}" ;;
    --)
      hl_past=1
      set -- "$@" "$1"
      ;;
    *) set -- "$@" "$1" ;;
  esac
  shift
  hl_left=$((hl_left - 1))
done
