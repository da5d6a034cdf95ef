# SPDX-License-Identifier: MIT
#
# Makes the completion of one program for one shell from the tables of its options and commands.
# Run as: awk -f rows.awk -f completion.awk -v top=SOURCE -v target=completions/bash/holdtrace

BEGIN {
	n = split(target, part, "/")
	shell = part[n - 1]
	program = part[n]
	sub(/^_/, "", program)
	if (program == "holdtrace") {
		read_settings(top "/include/settings.def")
		read_commands(top "/launch/commands.def")
	} else {
		room = program
		sub(/^holdtrace-/, "", room)
		read_options(top "/" (room == "resolve" ? "resolver" : room) "/options.def")
	}
	if (shell == "bash")
		bash()
	else
		zsh()
}

function add(short, long, argument, description)
{
	if (long == "")
		return
	options++
	its_letter[options] = short
	its_word[options] = long
	its_argument[options] = argument
	its_text[options] = description
}

function read_settings(file,    i, rows)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++)
		if (macro[i] == "SETTING")
			add(letter(field(i, 7)), text(field(i, 6)), text(field(i, 8)), text(field(i, 9)))
}

function read_options(file,    i, rows)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++)
		if (macro[i] == "OPTION") {
			add(option_letter(i), option_word(i), option_argument(i), option_text(i))
			argument_of[field(i, 2)] = option_argument(i)
			text_of[field(i, 2)] = option_text(i)
		} else if (macro[i] == "ALIAS") {
			add("", text(field(i, 2)), argument_of[field(i, 1)], text_of[field(i, 1)])
		}
}

function read_commands(file,    i, rows)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++)
		if (macro[i] == "COMMAND")
			commands = commands " " field(i, 1)
}

function bash(    i, words, name)
{
	for (i = 1; i <= options; i++)
		words = words " --" its_word[i] (its_argument[i] == "" ? "" : "=")
	name = program
	gsub(/-/, "_", name)
	print "# bash completion for " program ", made from its tables"
	print "_" name "()"
	print "{"
	print "\tlocal word=${COMP_WORDS[COMP_CWORD]}"
	print "\tCOMPREPLY=()"
	print "\tif [[ $word == -* ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W '" substr(words, 2) "' -- \"$word\")"
	print "\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace"
	if (commands != "") {
		print "\telif ((COMP_CWORD == 1)); then"
		print "\t\tmapfile -t COMPREPLY < <(compgen -W '" substr(commands, 2) "' -- \"$word\"; compgen -c -- \"$word\")"
	}
	print "\tfi"
	print "}"
	print "complete -o bashdefault -o default -F _" name " " program
}

# A description inside '[…]' of _arguments.
function zsh_text(s)
{
	gsub(/\\/, "", s)
	gsub(/\[/, "(", s)
	gsub(/\]/, ")", s)
	gsub(/'/, "", s)
	gsub(/:/, "\\:", s)
	return s
}

function zsh(    i, short)
{
	print "#compdef " program
	print "# made from the tables of " program
	print "_arguments -s -S \\"
	for (i = 1; i <= options; i++) {
		short = its_letter[i]
		print "\t'--" its_word[i] (its_argument[i] == "" ? "" : "=") "[" zsh_text(its_text[i]) "]" \
			(its_argument[i] == "" ? "" : ":" zsh_text(its_argument[i]) ":_files") "' \\"
		if (short != "")
			print "\t'-" short (its_argument[i] == "" ? "" : "+") "[" zsh_text(its_text[i]) "]" \
				(its_argument[i] == "" ? "" : ":" zsh_text(its_argument[i]) ":_files") "' \\"
	}
	if (commands != "")
		print "\t'1:command or program:_alternative \"commands:command:(" substr(commands, 2) ")\" \"programs:program:_command_names -e\"' \\"
	print "\t'*:file:_files'"
}
