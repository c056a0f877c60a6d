# SPDX-License-Identifier: GPL-2.0-or-later
"""Files with which bash and zsh complete the words of e2fleet, made from its options. Both are in the package."""
import argparse
from collections.abc import Iterator

FILES = ("FILE", "LIST", "LIST|GLOB|IMAGE", "RESULTS")
FOLDERS = ("DIR",)

BASH = """# Completion for bash, made from the options of e2fleet.
_e2fleet()
{{
	local word=${{COMP_WORDS[COMP_CWORD]}} key=${{COMP_WORDS[COMP_CWORD - 1]}} command='' attached='' kind=file words=''
	local options='' index
	COMPREPLY=()
	if [[ $word == --*=* ]]; then
		key=${{word%%=*}} attached=$key= word=${{word#*=}}
	elif [[ $word == = ]]; then
		word=''
	elif [[ $key == = ]]; then
		key=${{COMP_WORDS[COMP_CWORD - 2]}}
	fi
	for ((index = 1; index < COMP_CWORD; index++)); do
		case ${{COMP_WORDS[index]}} in
		-*) ;;
		*) command=${{COMP_WORDS[index]}} && break ;;
		esac
	done
	case $command in
	'') kind=words words='{commands}' options='{options}' ;;
{cases}	esac
	case $command:$key in
{values}	esac
	if [[ $word == -* ]]; then
		kind=words words=$options
	fi
	case $kind in
	file) compopt -o default ;;
	directory) compopt -o dirnames ;;
	esac
	[[ ! $words ]] || mapfile -t COMPREPLY < <(compgen -P "$attached" -W "$words" -- "$word")
	return 0
}}
complete -F _e2fleet e2fleet
"""

ZSH = """#compdef e2fleet
# Completion for zsh, made from the options of e2fleet.
local context state line
_arguments -C {options} '1:command:(({commands}))' '*::word:->words'
[[ $state == words ]] || return
case $words[1] in
{cases}esac
"""


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(commands.choices)


def command_helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for choice in commands._choices_actions:
        yield choice.dest, choice.help or ""


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.option_strings and action.help != argparse.SUPPRESS]


def takes_value(action: argparse.Action) -> bool:
    return action.nargs != 0


def kind_of(action: argparse.Action) -> tuple[str, str]:
    """The kind of a value, and its words."""
    if action.choices:
        return "words", " ".join(map(str, action.choices))
    metavar = action.metavar
    return ("file" if metavar in FILES else "directory" if metavar in FOLDERS else "other"), ""


def option_words(parser: argparse.ArgumentParser) -> str:
    return " ".join(word for action in shown(parser) for word in action.option_strings)


def bash_completion(parser: argparse.ArgumentParser) -> str:
    cases = values = ""
    for name, command in commands_of(parser).items():
        kinds = [action.choices for action in command._actions if not action.option_strings and action.choices]
        first = f"kind=words words='{' '.join(kinds[0])}' " if kinds else ""
        cases += f"\t{name}) {first}options='{option_words(command)}' ;;\n"
        for action in filter(takes_value, shown(command)):
            kind, words = kind_of(action)
            pattern = " | ".join(f"{name}:{word}" for word in action.option_strings)
            values += f"\t{pattern}) kind={kind} words='{words}' ;;\n"
    return BASH.format(
        commands=" ".join(commands_of(parser)), options=option_words(parser), cases=cases, values=values
    )


def zsh_text(text: str) -> str:
    for character in "\\:[]":
        text = text.replace(character, "\\" + character)
    return text.replace("'", "'\\''").replace("%%", "%")


def zsh_option(action: argparse.Action) -> Iterator[str]:
    completers = {"file": "_files", "directory": "_files -/", "other": " "}
    kind, words = kind_of(action)
    value = f":{action.metavar or action.dest}:{f'({words})' if words else completers[kind]}" if takes_value(action) else ""
    for word in action.option_strings:
        equals = "=" if value and word.startswith("--") else "+" if value else ""
        yield f"'*{word}{equals}[{zsh_text(action.help or '')}]{value}'"


def zsh_completion(parser: argparse.ArgumentParser) -> str:
    cases = ""
    for name, command in commands_of(parser).items():
        words = [text for action in shown(command) for text in zsh_option(action)]
        for action in command._actions:
            if not action.option_strings:
                kind, choices = kind_of(action)
                words.append(f"'*:{action.metavar or action.dest}:{f'({choices})' if choices else '_files'}'")
        cases += f"{name})\n\t_arguments \\\n\t\t" + " \\\n\t\t".join(words) + " ;;\n"
    return ZSH.format(
        options=" ".join(text for action in shown(parser) for text in zsh_option(action)),
        commands=" ".join(f'{name}\\:"{zsh_text(text)}"' for name, text in command_helps(parser)),
        cases=cases,
    )


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    return bash_completion(parser) if shell == "bash" else zsh_completion(parser)
