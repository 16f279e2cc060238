"""`pulsarctl completion`: print the completion script of a shell.

The scripts know no commands: `pulsarctl complete` answers what completes a line. They take the answer as data, which no
shell expands, because it holds names that anyone who may create a topic chooses.
"""

from typing import Annotated

import typer

from pulsarctl.output import render
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.choice import choice, one_of

app = Noun("completion", "Print the completion script of a shell.")

BASH = r"""
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
"""
ZSH = r"""
#compdef pulsarctl
_pulsarctl() {
  local answer line tab=$'\t' typed="${(j: :)words[1,CURRENT-1]} $QIPREFIX$IPREFIX$PREFIX"
  local -a ended open shown
  answer=$(pulsarctl complete <<<"$typed" 2>/dev/null) || { _files; return }
  for line in ${(f)answer}; do
    if [[ ${line%%$tab*} == */ ]]; then
      open+=("${line%%$tab*}")
    else
      ended+=("${line%%$tab*}")
      shown+=("${line//$tab/  -- }")
    fi
  done
  compadd -S '' -a open
  compadd -l -d shown -a ended
}
if [[ ${funcstack[1]-} == _pulsarctl ]]; then _pulsarctl; else compdef _pulsarctl pulsarctl; fi
"""
FISH = r"""
function __pulsarctl_complete
    set -l answer (commandline -pc | pulsarctl complete 2>/dev/null)
    if test $pipestatus[2] -eq 0
        printf '%s\n' $answer
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c pulsarctl -f -a '(__pulsarctl_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
Shell = Annotated[
    str,
    typer.Argument(metavar="SHELL", help="Name of the shell: bash, zsh, or fish.", autocompletion=choice(*SCRIPTS)),
]


@app.verb("completion")
def completion(call: Call, shell: Shell) -> None:
    """Print the completion script of a shell.

    Example: source <(pulsarctl completion bash)
    """
    render.text(SCRIPTS[one_of(shell, SCRIPTS, "shell")].strip("\n"))
