# Imports an image to a file that all nodes see: FILE URI. What is there already is taken as it is. FILE.json tells what
# it is, and .NAME.used-UID when a user last asked for it.
set -u
hl_file=$1 hl_uri=$2
hl_folder=${hl_file%/*} hl_name=${hl_file##*/}
hl_fail() {
  printf 'hpclaunch: %s\n' "$1" >&2
  exit 121
}
# Before the look at the file: who removes what is no longer used looks at it once more when the file is out of sight.
touch -- "$hl_folder/.$hl_name.used-$(id -u)" 2>/dev/null
[ ! -e "$hl_file" ] || exit 0
mkdir -p -- "$hl_folder" || hl_fail "no folder for shared images can be made: $hl_folder"
# Of two jobs the second waits, and finds the image there. The lock ends with this process.
{ true >>"$hl_folder/.$hl_name.lock"; } 2>/dev/null || hl_fail "nothing can be written to $hl_folder"
exec 9>>"$hl_folder/.$hl_name.lock"
hl_part=$hl_folder/.$hl_name.part-${SLURM_JOB_ID:-0}-$$
if flock -n 9 || { echo "hpclaunch: another job imports it: waiting" >&2 && flock 9; }; then
  [ ! -e "$hl_file" ] || exit 0
  rm -f -- "$hl_folder/.$hl_name.part-"* # of a job that was killed
else
  # A file system without locks: who is last gives the name, to the same image.
  echo "hpclaunch: $hl_folder knows no locks: another job that imports the image now is not waited for" >&2
fi
trap 'rm -f -- "$hl_part" "$hl_part.json"' EXIT
trap 'exit 143' TERM INT HUP
# The registry's digest of what a tag stands for now, where Enroot and registry tell it; else the file's own hash.
case $hl_uri in
  *@sha256:*) hl_digest=sha256:${hl_uri##*@sha256:} ;;
  *) hl_digest=$(timeout 60 enroot digest "$hl_uri" 2>/dev/null 9>&- </dev/null) || hl_digest= ;;
esac
case $hl_digest in
  *[!0-9a-f:sh]*) hl_digest= ;;
  sha256:????????????????????????????????????????????????????????????????) ;;
  *) hl_digest= ;;
esac
enroot import --output "$hl_part" -- "$hl_uri" 9>&- || hl_fail "enroot could not import $hl_uri: status $?"
hl_hash=
[ -n "$hl_digest" ] || hl_hash=$(sha256sum <"$hl_part") || hl_fail "$hl_part cannot be read"
{
  printf '{"image": "%s", "digest": "%s", "sha256": "%s", ' "$hl_uri" "$hl_digest" "${hl_hash%% *}"
  printf '"imported": "%s"}\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
} >"$hl_part.json" || hl_fail "nothing can be written to $hl_folder"
# A name for a file of which the disk has a part only would outlast a node that stops now.
sync "$hl_part" "$hl_part.json" || hl_fail "the disk of $hl_folder may not have all of the image"
mv -f -- "$hl_part.json" "$hl_file.json" || hl_fail "nothing can be written to $hl_folder"
mv -f -- "$hl_part" "$hl_file" || hl_fail "$hl_file cannot be given its name"
touch -- "$hl_folder/.$hl_name.used-$(id -u)" 2>/dev/null || :
