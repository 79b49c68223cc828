exec 3<&-
if [ -r ~/.bashrc ]; then . ~/.bashrc; fi
__ahphub_nonce=@NONCE@
__ahphub_last=

# __ahphub_escape puts $1 into REPLY, escaped for a field of a mark.
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

# __ahphub_run marks the start of a command. For a line that is not in the history (a duplicate, or one that begins with
# a space), __ahphub_first sends the text when its first command is about to run.
__ahphub_run() {
	local REPLY __ahphub_line
	__ahphub_history
	if [[ $REPLY == "$__ahphub_last" && $__ahphub_line == "$__ahphub_text" ]]; then
		builtin printf '\e]633;C;?;%s\a' "$__ahphub_nonce"
		return
	fi
	__ahphub_escape "$__ahphub_line"
	builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$REPLY" "$__ahphub_nonce" "$__ahphub_nonce"
}

# __ahphub_first sends the text of such a line: $1 is its first command. It ends with the last argument of the previous
# command, so that $_ is preserved.
__ahphub_first() {
	local REPLY __ahphub_line
	__ahphub_armed=
	__ahphub_history
	if [[ $REPLY == "$__ahphub_last" && $__ahphub_line == "$__ahphub_text" ]]; then
		if [[ $__ahphub_line != "$1"* ]]; then __ahphub_line=$1; fi
		__ahphub_escape "$__ahphub_line"
		builtin printf '\e]633;E;%s;%s\a' "$REPLY" "$__ahphub_nonce"
	fi
}

# __ahphub_prompt marks the end of a command, with its exit code, and the current directory.
__ahphub_prompt() {
	local code=$? REPLY __ahphub_line
	__ahphub_armed=
	builtin printf '\e]633;D;%s;%s\a' "$code" "$__ahphub_nonce"
	__ahphub_escape "$PWD"
	builtin printf '\e]633;P;Cwd=%s;%s\a' "$REPLY" "$__ahphub_nonce"
	if [[ -n $__ahphub_marks ]]; then
		__ahphub_history
		__ahphub_last=$REPLY __ahphub_text=$__ahphub_line
		builtin printf '\e]633;A;%s\a' "$__ahphub_nonce"
	fi
	return "$code"
}

# __ahphub_arm ends a prompt, outside of any function: the next command is a typed line. A trap of the user is kept, and
# such lines then have no text.
__ahphub_arm='
if [[ -z $__ahphub_trap ]]; then
	__ahphub_trap=$(trap -p DEBUG)
	if [[ -z $__ahphub_trap ]]; then
		__ahphub_trap=ours
		trap '\''[[ -z $__ahphub_armed || $BASH_COMMAND == __ahphub_prompt ]] || __ahphub_first "$BASH_COMMAND" "$_"'\'' DEBUG
	fi
fi
__ahphub_armed=1'

__ahphub_marks= __ahphub_armed= __ahphub_text= __ahphub_trap=
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
	__ahphub_marks=1
	PS0='$(__ahphub_run)'${PS0-}
fi
PROMPT_COMMAND=__ahphub_prompt${PROMPT_COMMAND:+;$PROMPT_COMMAND}
if [[ -n $__ahphub_marks ]]; then
	if [[ $(declare -p PROMPT_COMMAND) == 'declare -a'* ]]; then
		PROMPT_COMMAND+=('eval "$__ahphub_arm"')
	else
		PROMPT_COMMAND+=$'\neval "$__ahphub_arm"'
	fi
fi
