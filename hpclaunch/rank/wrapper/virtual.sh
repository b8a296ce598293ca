# In a pod with SR-IOV it is not the card that can be used, but one of its virtual functions.
hl_try_virtual() { # hl_hca, hl_why: the first virtual function of the card at hl_pci that can be used, if any can
  hl_card=$hl_hca$hl_why
  hl_list=$(
    set +f
    for hl_device in "$hl_class"/*; do
      CDPATH='' cd -P -- "$hl_device/device/physfn" 2>/dev/null && [ "${PWD##*/}" = "$hl_pci" ] &&
        printf '%s ' "${hl_device##*/}"
    done
  )
  for hl_hca in $hl_list; do
    hl_folder=$hl_class/$hl_hca/device
    hl_check_hca
    [ -n "$hl_why" ] || return 0
  done
  hl_hca=${hl_card%%,*} hl_why=,${hl_card#*,}
}
