# SPDX-License-Identifier: GPL-2.0-or-later
# Writes a manual page, with those macros of man(7) that ours use, as text of 80 columns for --help=TOPIC. The first byte of a
# line is its kind (lib/command/manual_text.h). Every awk of POSIX runs it, so that a build needs no formatter of manual pages.

function unescaped(text) {
	gsub(/\\f[BIPR]/, "", text)
	gsub(/\\[&|]/, "", text)
	gsub(/\\-/, "-", text)
	gsub(/\\\(aq/, "'", text)
	gsub(/\\\(dq/, "\"", text)
	gsub(/\\\([lr]q/, "\"", text)
	gsub(/\\\(bu/, "*", text)
	gsub(/\\\(ha/, "^", text)
	# A blank that does not end a word.
	gsub(/\\ /, "\001", text)
	gsub(/\\e/, "\\", text)
	return text
}

# Splits a macro's line into arguments[]; "two words" are one. Returns how many there are.
function split_arguments(line, count, at, byte, is_quoted, is_open) {
	count = 0
	for (at = 1; at <= length(line); at++) {
		byte = substr(line, at, 1)
		if (byte == " " && !is_quoted) {
			is_open = 0
			continue
		}
		if (!is_open)
			arguments[++count] = ""
		is_open = 1
		if (byte == "\\")
			byte = substr(line, at++, 2)
		if (byte == "\"")
			is_quoted = !is_quoted
		else
			arguments[count] = arguments[count] byte
	}
	return count
}

function joined(from, separator, text, i) {
	text = ""
	for (i = from; i <= argument_count; i++)
		text = text (i > from ? separator : "") arguments[i]
	return text
}

function emit(type, text) {
	if (wants_space && !is_first)
		print type
	wants_space = is_first = 0
	gsub(/\001/, " ", text)
	sub(/ +$/, "", text)
	print type text
}

function blanks(count) {
	return sprintf("%" count "s", "")
}

# Fills lines with the words so far, and ends the paragraph.
function flush_words(words, count, i, line, room) {
	count = split(paragraph, words, " ")
	room = 80 - indent
	line = ""
	for (i = 1; i <= count; i++) {
		if (line != "" && length(line) + 1 + length(words[i]) > room) {
			emit(kind, lead blanks(indent - length(lead)) line)
			lead = line = ""
		}
		line = line (line == "" ? "" : " ") words[i]
	}
	if (line != "")
		emit(kind, lead blanks(indent - length(lead)) line)
	lead = paragraph = ""
}

# A blank line before what is next, within a section's text or an entry.
function space() {
	flush_words()
	wants_space = 1
}

function heading(type, text) {
	flush_words()
	wants_space = 0
	emit(type, text)
	kind = "."
	base = indent = depth = 0
	is_first = 1
}

function add(text) {
	if (expects_tag) {
		add_tag(text)
	} else if (is_verbatim) {
		emit(kind, blanks(indent) with_tabs(text))
	} else {
		paragraph = paragraph " " text
	}
}

# Tags of the outermost lists are what --help=TOPIC looks for.
function add_tag(text) {
	expects_tag = 0
	if (!depth)
		kind = ">"
	emit(depth ? kind : "-", blanks(base) text)
	indent = base + 7
	is_first = 1
}

# The columns are those of .ta.
function with_tabs(text, fields, count, i, line) {
	count = split(text, fields, "\t")
	line = fields[1]
	for (i = 2; i <= count; i++)
		line = line blanks(stops[i - 1] > length(line) ? stops[i - 1] - length(line) : 1) fields[i]
	return line
}

function begin_tag(is_further) {
	flush_words()
	wants_space = depth && !is_further
	expects_tag = 1
}

function run_macro(name) {
	if (name == "SH" || name == "SS") {
		heading(name == "SH" ? "#" : "=", joined(1, " "))
	} else if (name == "TP" || name == "TQ") {
		begin_tag(name == "TQ")
	} else if (name == "IP") {
		space()
		# A mark and a text beside it, or a further paragraph of what has a tag.
		indent = base + (argument_count ? 4 : 7)
		lead = argument_count ? blanks(base + 2) arguments[1] : ""
	} else if (name == "PP") {
		space()
		indent = base
		if (!depth)
			kind = "."
	} else if (name == "RS") {
		flush_words()
		bases[depth] = base
		indents[depth++] = indent
		base = indent = base + 7
	} else if (name == "RE") {
		flush_words()
		base = bases[--depth]
		indent = indents[depth]
	} else if (name == "EX" || name == "nf") {
		flush_words()
		is_verbatim = 1
		indent += name == "EX" ? 2 : 0
	} else if (name == "EE" || name == "fi") {
		is_verbatim = 0
		indent -= name == "EE" ? 2 : 0
	} else if (name == "br") {
		flush_words()
	} else if (name == "ta") {
		for (i = 1; i <= argument_count; i++)
			stops[i] = arguments[i] + 0
	} else if (name == "B" || name == "I") {
		add(joined(1, " "))
	} else if (name ~ /^[BIR][BIR]$/) {
		add(joined(1, ""))
	} else if (name !~ /^(TH|nr|nh|ad|DT|PD)$/) {
		print FILENAME ":" FNR ": ." name " is unknown to lib/command/manual_text.awk" >"/dev/stderr"
		exit 1
	}
}

/^\.\\"/ { next }
/^\./ {
	name = $1
	sub(/^[^ ]+ */, "")
	argument_count = split_arguments($0)
	for (i = 1; i <= argument_count; i++)
		arguments[i] = unescaped(arguments[i])
	run_macro(substr(name, 2))
	next
}
{ add(unescaped($0)) }
END { flush_words() }
