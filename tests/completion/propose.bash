# SPDX-License-Identifier: GPL-2.0-or-later
# propose.bash FOLDER TOOL WORD...: what the file in FOLDER proposes for the last word, a line each.
completions=$1 tool=$2
shift

# To readline, which is not here, it says what else to propose.
compopt() {
	echo "compopt $*"
}

# shellcheck disable=SC1090 # as the tool says
source "$completions/$tool"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"_$tool"
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
