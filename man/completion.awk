# SPDX-License-Identifier: MIT
#
# Writes the completion script of one program for one shell from the tables of options and commands.
# Run as: awk -f rows.awk -f completion.awk -v top=SOURCE -v target=completions/bash/holdtrace
#
# Options come in sets: those that start a program (settings.def), those that ask about a trace
# (postproc/options.def), those of the resolver. The set "report" has the options of the second set
# that apply to holdtrace's commands. A command with options of its own has a set of its name. The
# kind of an argument is words, a list of comma-separated words, or files.

BEGIN {
	n = split(target, part, "/")
	shell = part[n - 1]
	program = part[n]
	sub(/^_/, "", program)
	read_words()
	if (program == "holdtrace") {
		read_run(top "/launch/run.def")
		read_options("report", top "/postproc/options.def")
		own_options()
		read_commands(top "/launch/commands.def")
	} else if (program == "holdtrace-postproc") {
		read_options("ask", top "/postproc/options.def")
	} else {
		read_options("name", top "/resolver/options.def")
	}
	name = program
	gsub(/-/, "_", name)
	if (shell == "bash")
		bash()
	else
		zsh()
}

# ---- kinds of arguments ----

# The words of column n of a table, separated by blanks; each once. kinds: only of rows whose first
# field matches it.
function words_of(file, which, n, kinds,    i, rows, word, list, seen)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++) {
		word = macro[i] == which && field(i, 1) ~ kinds ? field(i, n) : ""
		if (word ~ /"/)
			word = text(word)
		if (word == "" || seen[word]++)
			continue
		list = list (list == "" ? "" : " ") word
	}
	return list
}

function read_words()
{
	reports = words_of(top "/postproc/reports.def", "REPORT", 1)
	tables = words_of(top "/postproc/reports.def", "TABLE", 1)
	columns = words_of(top "/postproc/reports.def", "COLUMN", 2)
	read_columns(top "/postproc/reports.def")
	limits = words_of(top "/account/limits.def", "LIMIT", 1)
	formats = words_of(top "/formats/formats.def", "FORMAT", 3, \
		program == "holdtrace" ? "TABLES|VIEWER" : "") " list"
	classes = "all " words_of(top "/include/resources.def", "RESOURCE", 2)
}

# The columns of all tables of each report.
function read_columns(file,    i, rows, report, word, seen)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++) {
		if (macro[i] == "REPORT" || macro[i] == "COMMAND")
			report = field(i, 1)
		word = macro[i] == "COLUMN" ? field(i, 2) : ""
		if (word != "" && !seen[report, word]++)
			columns_of[report] = columns_of[report] " " word
	}
}

# The kind of an option's argument: a letter, then words.
function kind_of(long, argument,    words)
{
	if (long == "report")
		return "," reports " list"
	if (long == "format" && argument ~ /^NAME/)
		return "=" formats
	if (long == "table")
		return "," tables
	if (long == "by" && argument == "COLUMN")
		return "B"
	if (argument ~ /^LIMIT/)
		return "," limits
	if (long == "class")
		return "=" classes
	if (long == "then")
		return "=snapshot keep report stop signal:"
	if (long == "events")
		return "," classes
	if (argument == "SIGNAL")
		return "S"
	if (long == "input" || long == "base")
		return "T"
	if (argument == "DIR")
		return "D"
	if (argument ~ /^[a-z]+(-[a-z]+)?\|/) {
		words = argument
		gsub(/\|[A-Z.,]*/, " ", words) # "all|no|NAME,...": NAME is not a word of the list
		return "=" words
	}
	return argument ~ /FILE|DIR|WHERE|OLD/ ? "F" : argument == "" || argument ~ /^\[/ ? "" : "?"
}

# ---- tables ----

function add(set, short, long, argument, kind, description,    i)
{
	if (long == "")
		return
	if (!options[set])
		sets[++set_count] = set
	i = ++options[set]
	its_letter[set, i] = short
	its_word[set, i] = long
	its_argument[set, i] = argument
	its_kind[set, i] = kind
	its_text[set, i] = description
}

# Options of run and record, and of attach, and the settings that both have.
function read_run(file,    i, rows, words, long, argument)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++) {
		if (macro[i] == "SETTING") {
			long = text(named(i, "option"))
			argument = text(named(i, "argument"))
			words = field(i, 1) == "word" ? text(named(i, "words")) : ""
			gsub(/\|/, " ", words)
			add("run", letter(named(i, "letter")), long, argument, \
				words == "" ? kind_of(long, argument) : "=" words, text(named(i, "text")))
		} else if (is_option(i) && option_word(i) !~ /^(for|until|strict)$/) {
			add_row("run", i)
		}
	}
	copy("run", "attach")
	for (i = 1; i <= rows; i++)
		if (is_option(i) && option_word(i) ~ /^(for|until|strict)$/)
			add_row(option_word(i) == "strict" ? "run" : "attach", i)
}

function add_row(set, i)
{
	add(set, option_letter(i), option_word(i), option_argument(i), \
		kind_of(option_word(i), option_argument(i)), option_text(i))
}

# Copies the options of one set to another one, except the words in `but`.
function copy(from, to, but,    i)
{
	for (i = 1; i <= options[from]; i++)
		if (index(" " but " ", " " its_word[from, i] " ") == 0)
			add(to, its_letter[from, i], its_word[from, i], its_argument[from, i], \
				its_kind[from, i], its_text[from, i])
}

# Options of commands without a complete table of options.
function own_options(    i, rows)
{
	copy("report", "view", "format output force")
	rows = read_rows(top "/serve/viewers.def")
	for (i = 1; i <= rows; i++)
		if (macro[i] == "VIEWER" && field(i, 1) != "page")
			add("view", "", field(i, 1), "", "", text(field(i, 8)))
	read_options("view", top "/serve/view.def")
	copy("report", "push", "format output force report")
	read_options("push", top "/serve/push.def")
	read_options("top", top "/live/top.def")
	read_options("waits", top "/live/waits.def")
	read_options("watch", top "/live/watch.def")
}

# Options that have no effect in a report, or that the command itself sets.
function is_left_out(set, i)
{
	return set == "report" && (option_needs(i) ~ /^(format=text|format=[a-z]+|compress|!report)$/ || \
		option_word(i) ~ /^(report|newest)$/)
}

function read_options(set, file,    i, rows)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++) {
		if (is_option(i) && !is_left_out(set, i))
			add_row(set, i)
	}
}

# Derives the arguments of a command from its usage.
function read_commands(file,    i, rows, usage, words)
{
	rows = read_rows(file)
	for (i = 1; i <= rows; i++) {
		if (macro[i] != "COMMAND")
			continue
		command[++commands] = field(i, 1)
		command_text[commands] = text(field(i, 4))
		usage = text(field(i, 3))
		set_of[commands] = usage ~ /PROGRAM/ ? "run" : options[field(i, 1)] ? field(i, 1) : \
			usage ~ /\[OPTION\]/ ? "report" : ""
		if (usage ~ /PROGRAM/) {
			takes[commands] = "run"
		} else if (usage ~ /^PID start/) {
			takes[commands] = "ctl"
			words = usage
			gsub(/[^a-z]+/, " ", words)
			ctl_words = trim(words)
		} else if (usage ~ /COMMAND/) {
			takes[commands] = "help"
		} else if (usage ~ /WHAT/) {
			takes[commands] = "report"
		} else if (usage ~ /PID/) {
			takes[commands] = usage ~ /FILE/ ? "either" : "process"
		} else {
			takes[commands] = "traces"
		}
		names = names (names == "" ? "" : " ") field(i, 1)
	}
}

# ---- bash ----

# Writes a function for a set: it completes an option or its argument, or returns 1 if neither applies.
function bash_set(set,    i, words, cases, short)
{
	for (i = 1; i <= options[set]; i++) {
		words = words (words == "" ? "" : " ") "--" its_word[set, i] \
			(its_kind[set, i] == "" ? "" : "=")
		if (its_kind[set, i] == "")
			continue
		short = its_letter[set, i]
		cases = cases "\t--" its_word[set, i] (short == "" ? "" : " | -" short) ") _" name \
			"_value '" its_kind[set, i] "' \"$2\" ;;\n"
	}
	print "_" name "_" set "()"
	print "{"
	print "\tcase $1 in"
	printf "%s", cases
	print "\t*)"
	print "\t\t[[ $2 == -* ]] || return 1"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W '" words "' -- \"$2\")"
	print "\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace"
	print "\t\t;;"
	print "\tesac"
	print "\treturn 0"
	print "}\n"
}

# Lists the columns of the reports among the words; without a report the columns of all.
function shell_columns(words,    i, n, names)
{
	print "_" name "_columns()"
	print "{"
	print "\tlocal list= one"
	print "\tfor one in " words "; do"
	print "\t\tcase ${one#--report=} in"
	n = split(reports, names, " ")
	for (i = 1; i <= n; i++)
		print "\t\t" names[i] " | " names[i] ",*) list+='" columns_of[names[i]] "' ;;"
	print "\t\tesac"
	print "\tdone"
	print "\techo \"${list:-" columns "}\""
	print "}\n"
}

# Completes traces, and directories that lead to them.
function bash_helpers()
{
	shell_columns("\"${COMP_WORDS[@]}\"")
	print "_" name "_traces()"
	print "{"
	print "\tmapfile -t COMPREPLY < <(compgen -f -X '!*.htr*' -- \"$1\"; compgen -f -X '!*.rtrace*' -- \"$1\"; compgen -d -- \"$1\")"
	print "\tcompopt -o filenames"
	print "}\n"
	print "# kind and word: see the head of completion.awk"
	print "_" name "_value()"
	print "{"
	print "\tlocal before="
	print "\tcase $1 in"
	print "\t=*) mapfile -t COMPREPLY < <(compgen -W \"${1:1}\" -- \"$2\") ;;"
	print "\t,*)"
	print "\t\t[[ $2 == *,* ]] && before=${2%,*},"
	print "\t\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"${1:1}\" -- \"${2##*,}\")"
	print "\t\t;;"
	print "\tB) mapfile -t COMPREPLY < <(compgen -W \"$(_" name "_columns)\" -- \"$2\") ;;"
	print "\tS) mapfile -t COMPREPLY < <(compgen -A signal -- \"SIG${2#SIG}\") ;;"
	print "\tT) _" name "_traces \"$2\" ;;"
	print "\tD)"
	print "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$2\")"
	print "\t\tcompopt -o filenames"
	print "\t\t;;"
	print "\tF) compopt -o default ;;"
	print "\t*) compopt +o default +o bashdefault ;;"
	print "\tesac"
	print "}\n"
}

# Finds the word to complete and the option whose argument it is: bash splits words at =.
function bash_words()
{
	print "\tlocal word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}"
	print "\tCOMPREPLY=()"
	print "\tif [[ $word == = ]]; then"
	print "\t\tword="
	print "\telif [[ $option == = ]]; then"
	print "\t\toption=${COMP_WORDS[COMP_CWORD - 2]}"
	print "\tfi"
}

function bash(    i, set)
{
	print "# bash completion for " program ", made from its tables\n"
	bash_helpers()
	for (i = 1; i <= set_count; i++)
		bash_set(sets[i])
	if (program == "holdtrace")
		bash_commands()
	print "_" name "()"
	print "{"
	bash_words()
	if (program == "holdtrace") {
		print "\t_" name "_command"
	} else {
		set = program == "holdtrace-postproc" ? "ask" : "name"
		print "\t_" name "_" set " \"$option\" \"$word\"" (set == "ask" ? " || _" name "_traces \"$word\"" : "")
	}
	print "}"
	print "complete -o bashdefault -o default -F _" name " " program
}

# The commands that take it, separated by bars.
function that_take(what,    i, list)
{
	for (i = 1; i <= commands; i++)
		if (takes[i] == what)
			list = list (list == "" ? "" : " | ") command[i]
	return list
}

function those_with(set,    i, list)
{
	for (i = 1; i <= commands; i++)
		if (set_of[i] == set)
			list = list (list == "" ? "" : " | ") command[i]
	return list
}

function bash_commands(    i, pids)
{
	pids = "compgen -W \"$(ps -eo pid= 2>/dev/null)\" -- \"$word\""
	print "# The program to run: its place among the words, 0: it is not there yet."
	print "_" name "_program()"
	print "{"
	print "\tlocal i=$1"
	print "\tfor (( ; i < COMP_CWORD; i++)); do"
	print "\t\tcase ${COMP_WORDS[i]} in"
	print "\t\t--) echo $((i + 1)) && return ;;"
	print "\t\t-?) [[ ' " run_letters() " ' == *\" ${COMP_WORDS[i]} \"* ]] && ((i++)) ;;"
	print "\t\t--*) [[ ${COMP_WORDS[i + 1]} == = ]] && ((i += 2)) ;;"
	print "\t\t-*) ;;"
	print "\t\t*) echo \"$i\" && return ;;"
	print "\t\tesac"
	print "\tdone"
	print "\techo 0"
	print "}\n"
	print "_" name "_start()"
	print "{"
	print "\tlocal at"
	print "\tat=$(_" name "_program \"$1\")"
	print "\tif ((at > 0 && at < COMP_CWORD)); then"
	print "\t\tdeclare -F _command_offset >/dev/null && _command_offset \"$at\""
	print "\t\treturn"
	print "\tfi"
	print "\t_" name "_run \"$option\" \"$word\" && return"
	print "\tmapfile -t COMPREPLY < <(compgen -c -- \"$word\")"
	print "\t[[ $word == */* ]] && compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
	print "}\n"
	print "_" name "_command()"
	print "{"
	print "\tif ((COMP_CWORD == 1)); then"
	print "\t\t[[ $word ]] || { mapfile -t COMPREPLY < <(compgen -W '" names "'); return; }"
	print "\t\t_" name "_start 1"
	print "\t\t[[ $word == -* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '" names "' -- \"$word\")"
	print "\t\treturn"
	print "\tfi"
	print "\tcase ${COMP_WORDS[1]} in"
	for (i = 1; i <= set_count; i++)
		if (sets[i] != "run")
			print "\t" those_with(sets[i]) ") _" name "_" sets[i] " \"$option\" \"$word\" && return ;;"
	print "\tesac"
	print "\tcase ${COMP_WORDS[1]} in"
	print "\t" that_take("run") ") _" name "_start 2 ;;"
	print "\t" that_take("report") ")"
	print "\t\tif ((COMP_CWORD == 2)); then"
	print "\t\t\t_" name "_value '," reports " list' \"$word\""
	print "\t\t\t[[ $word ]] || return"
	print "\t\t\t((${#COMPREPLY[@]})) && return"
	print "\t\tfi"
	print "\t\t_" name "_traces \"$word\""
	print "\t\t;;"
	print "\t" that_take("traces") ") _" name "_traces \"$word\" ;;"
	print "\t" that_take("either") ")"
	print "\t\t_" name "_traces \"$word\""
	print "\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(" pids ")"
	print "\t\t;;"
	print "\t" that_take("process") ") mapfile -t COMPREPLY < <(" pids ") ;;"
	print "\tctl)"
	print "\t\t((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(" pids ")"
	print "\t\t((COMP_CWORD == 3)) && mapfile -t COMPREPLY < <(compgen -W '" ctl_words "' -- \"$word\")"
	print "\t\t;;"
	print "\thelp) ((COMP_CWORD == 2)) && mapfile -t COMPREPLY < <(compgen -W '" names " all' -- \"$word\") ;;"
	print "\t*) _" name "_start 1 ;;"
	print "\tesac"
	print "}\n"
}

function run_letters(    i, list)
{
	for (i = 1; i <= options["run"]; i++)
		if (its_letter["run", i] != "" && its_kind["run", i] != "")
			list = list (list == "" ? "" : " ") "-" its_letter["run", i]
	return list
}

# ---- zsh ----

# A description inside '[…]' of _arguments.
function zsh_text(s)
{
	gsub(/\\/, "", s)
	gsub(/\[/, "(", s)
	gsub(/\]/, ")", s)
	gsub(/'/, "", s)
	gsub(/`/, "", s)
	gsub(/:/, "\\:", s)
	return s
}

function zsh_action(kind,    first)
{
	first = substr(kind, 1, 1)
	if (first == "=")
		return "(" substr(kind, 2) ")"
	if (first == ",")
		return "_sequence compadd - " substr(kind, 2)
	if (first == "B")
		return "{compadd -- ${=$(_" name "_columns)}}"
	if (first == "T")
		return "_files -g \"*.(htr|rtrace)*\""
	return first == "D" ? "_directories" : first == "S" ? "_signals" : first == "F" ? "_files" : " "
}

function zsh_set(set,    i, argument, short)
{
	print "local -a " set "_options=("
	for (i = 1; i <= options[set]; i++) {
		short = its_letter[set, i]
		argument = its_kind[set, i] == "" ? "" : \
			":" zsh_text(its_argument[set, i]) ":" zsh_action(its_kind[set, i])
		print "\t'--" its_word[set, i] (argument == "" ? "" : "=") "[" zsh_text(its_text[set, i]) "]" argument "'"
		if (short != "")
			print "\t'-" short (argument == "" ? "" : "+") "[" zsh_text(its_text[set, i]) "]" argument "'"
	}
	print ")"
}

function zsh_case(i,    set, traces)
{
	set = set_of[i] == "" ? "" : "$" set_of[i] "_options "
	traces = "_files -g \"*.(htr|rtrace)*\""
	if (takes[i] == "run")
		return "_arguments -s -S -A '-*' " set "'1:program: _command_names -e' '*::argument: _normal'"
	if (takes[i] == "process")
		return "_arguments -s -S " set "'1:process: _pids'"
	if (takes[i] == "either")
		return "_arguments -s -S " set "'1:process or trace: _alternative \"pids:process:_pids\" \"files:trace:" \
			"_files -g \\\"*.(htr|rtrace)*\\\"\"' '*:trace:" traces "'"
	if (takes[i] == "ctl")
		return "_arguments '1:process: _pids' '2:what:(" ctl_words ")' '3:text: '"
	if (takes[i] == "help")
		return "_arguments '1:command:(" names " all)'"
	if (takes[i] == "report")
		return "_arguments -s -S " set "'1:report: _alternative \"reports:report:_sequence compadd - " reports \
			" list\" \"files:trace:_files -g \\\"*.(htr|rtrace)*\\\"\"' '*:trace:" traces "'"
	if (takes[i] == "directories")
		return "_arguments -s -S " set "'*:directory:_directories'"
	return "_arguments -s -S " set "'*:trace:" traces "'"
}

function zsh_commands(    i)
{
	print "local -a subcommands=("
	for (i = 1; i <= commands; i++)
		print "\t'" command[i] ":" zsh_text(command_text[i]) "'"
	print ")"
	print "if (( CURRENT > 2 )); then"
	print "\tlocal command=$words[2]"
	print "\tcase $command in"
	print "\t(" alternatives() ")"
	print "\t\tshift words"
	print "\t\t(( CURRENT-- ))"
	print "\t\t;;"
	print "\tesac"
	print "\tcase $command in"
	for (i = 1; i <= commands; i++)
		print "\t(" command[i] ") " zsh_case(i) "; return ;;"
	print "\tesac"
	print "fi"
	print "_arguments -s -S -A '-*' $run_options '1: :->first' '*::argument: _normal' && return"
	print "[[ $state == first ]] && { _describe command subcommands; _command_names -e }"
}

function alternatives(    list)
{
	list = names
	gsub(/ /, "|", list)
	return list
}

function zsh(    i)
{
	print "#compdef " program
	print "# zsh completion, made from the tables of " program
	print "local curcontext=$curcontext state line"
	shell_columns("$words")
	for (i = 1; i <= set_count; i++)
		zsh_set(sets[i])
	if (program == "holdtrace")
		zsh_commands()
	else if (program == "holdtrace-postproc")
		print "_arguments -s -S $ask_options '*:trace:_files -g \"*.(htr|rtrace)*\"'"
	else
		print "_arguments -s -S $name_options"
}
