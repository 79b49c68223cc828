# The .zshenv of a temporary directory: it first restores the user's own, where zsh continues.
if [[ -n ${__AHPHUB_ZDOTDIR+set} ]]; then
	ZDOTDIR=$__AHPHUB_ZDOTDIR
	unset __AHPHUB_ZDOTDIR
else
	unset ZDOTDIR
fi
if [[ -o interactive ]] && IFS= read -r -u 3 __ahphub_nonce 2>/dev/null; then
	# __ahphub_escape puts $1 into REPLY, escaped for a field of a mark.
	__ahphub_escape() {
		emulate -L zsh
		local text=$1 c i
		REPLY=
		for ((i = 1; i <= ${#text}; i++)); do
			c=${text[i]}
			case $c in
			\\) REPLY+='\\' ;;
			\;) REPLY+='\x3b' ;;
			[[:cntrl:]]) REPLY+=$(builtin printf '\\x%02x' "'$c") ;;
			*) REPLY+=$c ;;
			esac
		done
	}

	# __ahphub_run marks the start of a command.
	__ahphub_run() {
		emulate -L zsh
		local REPLY
		__ahphub_escape "${1:-$3}"
		builtin printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$REPLY" "$__ahphub_nonce" "$__ahphub_nonce"
	}

	# __ahphub_prompt marks the end of a command, with its exit code, and the current directory.
	__ahphub_prompt() {
		local code=$? REPLY
		builtin printf '\e]633;D;%s;%s\a' "$code" "$__ahphub_nonce"
		__ahphub_escape "$PWD"
		builtin printf '\e]633;P;Cwd=%s;%s\a\e]633;A;%s\a' "$REPLY" "$__ahphub_nonce" "$__ahphub_nonce"
		return $code
	}

	typeset -ga precmd_functions preexec_functions
	precmd_functions=(__ahphub_prompt $precmd_functions)
	preexec_functions=(__ahphub_run $preexec_functions)
fi
exec 3<&-
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
	. "${ZDOTDIR:-$HOME}/.zshenv"
fi
