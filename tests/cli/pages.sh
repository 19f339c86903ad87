#!/bin/sh
# pages.sh - help, manual page and completions of every command tell the same options: none is missing, none is dead.
. "$(dirname "$0")/lib.sh"

pages=$here/../../man

commands() {
	"$tare" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
}

help_options() {
	"$tare" "$1" --help | sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p; s/^  -h, --\(help\).*/\1/p' | sort -u
}

page_options() {
	sed -n 's/^\*-.\*, \*--\([a-z-]*\)\*.*/\1/p; s/^\*--\([a-z-]*\)\*.*/\1/p' "$pages/tare-$1.1.scd" | sort -u
}

same_options() {
	help_options "$1" >from_help
	page_options "$1" >from_page
	[ -s from_help ] && diff -u from_help from_page
}

bash_knows() {
	"$tare" --completions bash >bash_script || return 1
	for option in $(help_options "$1"); do
		sed -n "/^	$1)/,/;;/p" bash_script | grep -q -e "--$option\>" || return 1
	done
}

check 'there are commands' test -n "$(commands)"
for command in $(commands); do
	check "$command has a manual page" test -s "$pages/tare-$command.1.scd"
	check "$command: the page and --help tell the same options" same_options "$command"
	check "$command: bash completes its options" bash_knows "$command"
done
for shell in bash zsh fish; do
	run "$tare" --completions "$shell"
	check "completions for $shell are written" status_is 0
done
"$tare" --completions bash >script
check 'bash can read its script' bash -n script
run "$tare" --completions tcsh
check 'a shell that is not known is refused' status_is 2
run "$tare" "$(printf 'frob\033[2Jnicate')"
check 'a command that is not known is refused' status_is 2
check 'and its name is shown harmlessly' err_lacks "$(printf '\033')"
run "$tare"
check 'no command: shows how to begin' status_is 2
end
