# bash completion of coffer(1): the command line itself says what a word could be.
_coffer() {
  local line
  COMPREPLY=()
  # bash takes "--flow=" and what follows apart; coffer wants the word as it was typed.
  local words=("${COMP_WORDS[@]:1:COMP_CWORD-1}") word=${COMP_WORDS[COMP_CWORD]}
  local before=
  if [[ ${#words[@]} -gt 1 && ${words[-1]} == = && ${words[-2]} == --* ]]; then
    before=${words[-2]}=
    words=("${words[@]:0:${#words[@]}-2}")
    word=$before$word
  elif [[ ${#words[@]} -gt 0 && $word == = && ${words[-1]} == --* ]]; then
    before=${words[-1]}=
    words=("${words[@]:0:${#words[@]}-1}")
    word=$before
  fi
  while IFS= read -r line; do
    line=${line%%$'\t'*}
    COMPREPLY+=("${line#"$before"}")
  done < <(coffer complete -- "${words[@]}" "$word" 2>/dev/null)
  # What ends in = goes on with a value.
  [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}
complete -o bashdefault -o default -F _coffer coffer
