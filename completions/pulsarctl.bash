_pulsarctl() {
  local answer word summary
  COMPREPLY=()
  answer=$(pulsarctl complete --bash "$COMP_WORDBREAKS" <<<"${COMP_LINE:0:COMP_POINT}" 2>/dev/null) || return 0
  compopt +o default 2>/dev/null
  while IFS=$'\t' read -r word summary; do
    [[ -z $word ]] || printf -v "COMPREPLY[${#COMPREPLY[@]}]" %q "$word"
  done <<<"$answer"
  [[ ${COMPREPLY-} != */ ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _pulsarctl pulsarctl
