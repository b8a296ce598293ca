# Imports an image to a file that all nodes see: FILE URI. What is there already is taken as it is.
set -u
hl_file=$1 hl_uri=$2
hl_folder=${hl_file%/*} hl_name=${hl_file##*/}
hl_fail() {
  printf 'hpclaunch: %s\n' "$1" >&2
  exit 121
}
[ ! -e "$hl_file" ] || exit 0
mkdir -p -- "$hl_folder" || hl_fail "no folder for shared images can be made: $hl_folder"
# Of two jobs the second waits, and finds the image there. The lock ends with this process.
{ true >>"$hl_folder/.$hl_name.lock"; } 2>/dev/null || hl_fail "nothing can be written to $hl_folder"
exec 9>>"$hl_folder/.$hl_name.lock"
hl_part=$hl_folder/.$hl_name.part-${SLURM_JOB_ID:-0}-$$
if flock -n 9 || { echo "hpclaunch: another job imports it: waiting" >&2 && flock 9; }; then
  [ ! -e "$hl_file" ] || exit 0
  rm -f -- "$hl_folder/.$hl_name.part-"* # of a job that was killed
else # a file system without locks: who is last gives the name, to the same image
  echo "hpclaunch: $hl_folder knows no locks: another job that imports the image now is not waited for" >&2
fi
trap 'rm -f -- "$hl_part"' EXIT
trap 'exit 143' TERM INT HUP
enroot import --output "$hl_part" -- "$hl_uri" 9>&- || hl_fail "enroot could not import $hl_uri: status $?"
mv -f -- "$hl_part" "$hl_file"
