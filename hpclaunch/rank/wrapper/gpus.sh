# The GPUs that open here, as INDEX/MINOR/PCI: which of the node's it is in PCI order, and /dev/nvidiaMINOR.
# "?" where there is no driver to ask. Shown are more: others of the node's may not open, and a container may
# hide them.
hl_open='?' hl_shown=0
case $hl_verify$hl_seats in *[0-9]*) ;; *) hl_open= ;; esac # a job without GPUs
if [ -n "$hl_open" ] && [ -d "$hl_root/proc/driver/nvidia/gpus" ]; then
  hl_open=
  set +f
  for hl_folder in "$hl_root"/proc/driver/nvidia/gpus/*; do
    set -f
    [ -r "$hl_folder/information" ] || continue
    hl_minor=
    while read -r hl_key hl_word hl_value; do
      case "$hl_key $hl_word" in 'Device Minor:') hl_minor=$hl_value ;; esac
    done <"$hl_folder/information"
    ! hl_opens "$hl_root/dev/nvidia$hl_minor" 2>/dev/null || hl_open="$hl_open $hl_shown/$hl_minor/${hl_folder##*/}"
    hl_shown=$((hl_shown + 1))
  done
  set -f
fi
