exec 3<&-
if [ -r ~/.bashrc ]; then . ~/.bashrc; fi
__ahphub_nonce=@NONCE@
__ahphub_last=

# __ahphub_escape puts $1 into REPLY, fit for a field of a mark.
__ahphub_escape() {
	REPLY=${1//\\/\\\\}
	REPLY=${REPLY//;/\\x3b}
	REPLY=${REPLY//$'\n'/\\x0a}
	REPLY=${REPLY//$'\r'/\\x0d}
	REPLY=${REPLY//$'\e'/\\x1b}
	REPLY=${REPLY//$'\a'/\\x07}
}

# __ahphub_history puts the number of the newest history entry into REPLY and
# its text into __ahphub_line.
__ahphub_history() {
	local HISTTIMEFORMAT= entry
	entry=$(builtin history 1)
	REPLY= __ahphub_line=
	if [[ $entry =~ ^\ *([0-9]+)[\*\ ]\ (.*)$ ]]; then
		REPLY=${BASH_REMATCH[1]} __ahphub_line=${BASH_REMATCH[2]}
	fi
}

# __ahphub_run marks the start of a command. A line that history ignores keeps
# its secret: its text is left empty.
__ahphub_run() {
	local REPLY __ahphub_line
	__ahphub_history
	if [[ $REPLY == "$__ahphub_last" && (${HISTCONTROL-} == *ignore[sb]* || -n ${HISTIGNORE-}) ]]; then __ahphub_line=; fi
	__ahphub_escape "$__ahphub_line"
	builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$REPLY" "$__ahphub_nonce" "$__ahphub_nonce"
}

# __ahphub_prompt marks the end of one, with its exit code, and where the shell is.
__ahphub_prompt() {
	local code=$? REPLY __ahphub_line
	builtin printf '\e]633;D;%s;%s\a' "$code" "$__ahphub_nonce"
	__ahphub_escape "$PWD"
	builtin printf '\e]633;P;Cwd=%s;%s\a' "$REPLY" "$__ahphub_nonce"
	if [[ -n $__ahphub_marks ]]; then
		__ahphub_history
		__ahphub_last=$REPLY
		builtin printf '\e]633;A;%s\a' "$__ahphub_nonce"
	fi
	return "$code"
}

__ahphub_marks=
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
	__ahphub_marks=1
	PS0='$(__ahphub_run)'${PS0-}
fi
PROMPT_COMMAND=__ahphub_prompt${PROMPT_COMMAND:+;$PROMPT_COMMAND}
