# fish completion of coffer(1): the command line itself says what a word could be.
function __coffer_complete
    set -l words (commandline -opc)
    # (A slice from 2 on of a list of one would count backwards.)
    set -e words[1]
    set -l found (coffer complete -- $words (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        # A directory of a project, or a file with a plan.
        __fish_complete_path (commandline -ct)
    end
end
complete -c coffer -f -a '(__coffer_complete)'
