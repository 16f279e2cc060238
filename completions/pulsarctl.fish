function __pulsarctl_complete
    set -l answer (commandline -pc | pulsarctl complete 2>/dev/null)
    if test $pipestatus[2] -eq 0
        printf '%s\n' $answer
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c pulsarctl -f -a '(__pulsarctl_complete)'
