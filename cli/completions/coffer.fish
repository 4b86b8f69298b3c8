# fish completion of coffer(1): the command line itself says what a word could be.
function __coffer_complete
    set -l words (commandline -opc)
    # (A slice from 2 on of a list of one would count backwards.)
    set -e words[1]
    coffer complete -- $words (commandline -ct) 2>/dev/null
end
complete -c coffer -f -a '(__coffer_complete)'
