# The job does more than to start its ranks once. All words are
#   STARTER... /bin/sh -c TEXT NAME SETTING... -- NAME=value... -- =word... --   how a rank is started
#   [/bin/sh -c TEXT NAME SETTING...] --              a process that is alone on its node, or in the job
#   [trials=N] [seed=NAME] [first_seed=N] [keep_going=1]
#   WHEN=PER title=TEXT [optional=1] =word...         each step
# Of the words numbers are kept, from which command lines are put together: no shell reads what a word says.
set -- "$hl_mpirun" "$@"
hl_starter= hl_rank= hl_environment= hl_argv= hl_alone= hl_steps= # numbers, each with a space before it
hl_trials= hl_seed_name= hl_first_seed= hl_keep_going=

hl_part=starter hl_number=0 hl_before=
for hl_word; do
  hl_number=$((hl_number + 1))
  case $hl_part/$hl_word in
    starter//bin/sh) [ "$hl_before" = -wdir ] || hl_part=rank ;;
    rank/--) hl_part=environment && continue ;;
    environment/--) hl_part=argv && continue ;;
    argv/--) hl_part=alone && continue ;;
    alone/--) hl_part=steps && continue ;;
    steps/=*) ;;
    steps/trials=*) hl_trials=${hl_word#*=} && continue ;;
    steps/seed=*) hl_seed_name=${hl_word#*=} && continue ;;
    steps/first_seed=*) hl_first_seed=${hl_word#*=} && continue ;;
    steps/keep_going=*) hl_keep_going=1 && continue ;;
    # A step is " /WHEN/PER//TITLE" with the number of its title, or " /WHEN/PER/1/TITLE" of one that is optional.
    steps/title=*) hl_steps=$hl_steps/$hl_number && continue ;;
    steps/optional=*) hl_steps=${hl_steps%//*}/1/${hl_steps##*/} && continue ;;
    steps/*) hl_steps="$hl_steps /${hl_word%%=*}/${hl_word#*=}/" && continue ;;
  esac
  hl_before=$hl_word
  eval "hl_$hl_part=\"\$hl_$hl_part \$hl_number\""
done
