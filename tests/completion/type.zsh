# SPDX-License-Identifier: GPL-2.0-or-later
# type.zsh FOLDER OUTPUT: types each line of standard input into an interactive zsh, then a tab, and writes to OUTPUT
# what the line has become. FOLDER has the functions that complete.
zmodload zsh/zpty || exit 1
folder=$1 output=$2
: >$output

# wait_for LINES: until OUTPUT has so many.
wait_for() {
	local attempt
	for attempt in {1..400}; do
		[[ $(wc -l <$output) -ge $1 ]] && return
		zpty -r -t shell discarded
		sleep 0.05
	done
	print "zsh does not answer"
	exit 1
}

zpty shell zsh -f -i
zpty -w shell "fpath=(${(q)folder} \$fpath); autoload -U compinit; compinit -D -u"
zpty -w shell "show() { print -r -- \$BUFFER >>${(q)output}; BUFFER= }; zle -N show"
zpty -w shell "bindkey '^G' show '^I' complete-word"
zpty -w shell "print ready >>${(q)output}"
wait_for 1
lines=1
while IFS= read -r line; do
	zpty -w -n shell "$line"$'\t'$'\x07'
	wait_for $((++lines))
done
zpty -d shell
sed -i 1d $output
