set -g __ahphub_nonce @NONCE@

# __ahphub_run marks the start of a command.
function __ahphub_run --on-event fish_preexec
    set -l line (string escape --style=url -- "$argv[1]" | string join '')
    printf '\e]633;C;cmdline_url=%s;%s\a' "$line" $__ahphub_nonce
end

# __ahphub_done marks the end of a command, with its exit code.
function __ahphub_done --on-event fish_postexec
    printf '\e]633;D;%s;%s\a' $status $__ahphub_nonce
end

# __ahphub_prompt marks the prompt and the current directory.
function __ahphub_prompt --on-event fish_prompt
    set -l dir (string replace -a '\\' '\\\\' -- $PWD | string replace -a ';' '\\x3b' | string join '\\x0a')
    printf '\e]633;P;Cwd=%s;%s\a\e]633;A;%s\a' "$dir" $__ahphub_nonce $__ahphub_nonce
end
