# SPDX-License-Identifier: MIT
#
# Makes a manual page from its frame: a line "@word file …@" is replaced by text from the
# tables. Run as: awk -f rows.awk -f page.awk -v top=SOURCE -v pkglibdir=DIRECTORY frame
#
#   @hooks@ @resources@ @operations@         tables of holdtrace-hooks(7)
#   @packets@ @notes@                        packets and notes of holdtrace-binary(5)
#   @container@ @columns@ @values@ @rules@   headers and definitions, and the rest, of holdtrace-htr(5)
#   @environment@ @settings@                 settings.def as variables, as options
#   @options FILE@ @commands FILE@ @writers FILE@ @viewers FILE@   rows of a program's own tables
#   @options FILE WORD|WORD@ @options FILE !WORD|WORD@             only these options; all others
#   @filters FILE@ @reporting FILE@          options that filter; other options of a report
#   @reports FILE@ @tables FILE@             reports with their questions; with their tables and columns
#   @screen FILE N@                          the N-th command of a screen, and its output
#   @suppressions FILE@                      call sites that leaks leaves out
#   @limits FILE@                            what --fail-on can limit
#   @reasons FILE@                           what makes a limit unknown

/^@[a-z].*@$/ {
	split(substr($0, 2, length($0) - 2), word, " ")
	expand(word[1], word[2] ? top "/" word[2] : "", word[3])
	next
}
{
	gsub(/@PKGLIBDIR@/, pkglibdir)
	print
}

function expand(what, file, n)
{
	if (what == "hooks")
		hooks(top "/include/hooks.def")
	else if (what == "resources")
		resources(top "/include/resources.def")
	else if (what == "operations")
		operations(top "/include/operations.def")
	else if (what == "notes")
		notes(top "/include/notes.def")
	else if (what == "packets")
		packets(top "/include/wire.def")
	else if (what == "container")
		container(top "/include/htr.def")
	else if (what == "columns" || what == "values" || what == "rules")
		container_rows(top "/include/htr.def", toupper(substr(what, 1, length(what) - 1)))
	else if (what == "environment")
		environment(top "/include/settings.def")
	else if (what == "settings")
		settings(top "/include/settings.def")
	else if (what == "options" || what == "filters" || what == "reporting")
		options(file, what, n)
	else if (what == "commands")
		commands(file)
	else if (what == "writers")
		writers(file)
	else if (what == "viewers")
		viewers(file)
	else if (what == "reports")
		reports(file)
	else if (what == "tables")
		report_tables(file)
	else if (what == "limits")
		limits(file)
	else if (what == "reasons")
		reasons(file)
	else if (what == "suppressions")
		suppressions(file)
	else if (what == "screen")
		screen(file, n)
	else {
		print "page.awk: no table " what > "/dev/stderr"
		exit 1
	}
}

# Quotes text for roff, so that nothing in it is a request or an escape.
function roff(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/…/, "...", s)
	gsub(/→/, "->", s)
	gsub(/~/, "\\(ti", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/`/, "\\(ga", s)
	gsub(/"/, "\\(dq", s)
	gsub(/-/, "\\-", s)
	sub(/^[.']/, "\\\\\\&&", s)
	return s
}

# Quotes one argument of a macro, so that it is not parsed as a macro.
function cell(s)
{
	return "\"" roff(s) "\""
}

# Puts each sentence of a text on a line of its own, as mdoc wants it.
function sentences(s,    lines)
{
	while (match(s, /[a-z0-9)][.] [A-Z]/)) {
		lines = lines substr(s, 1, RSTART + 1) "\n"
		s = substr(s, RSTART + 3)
	}
	return lines s
}

# The last cell of a row: further sentences are on lines of their own.
function last_cell(s,    lines, end)
{
	lines = sentences(roff(s))
	end = index(lines, "\n")
	return end ? "\"" substr(lines, 1, end - 1) "\"" substr(lines, end) : cell(s)
}

# Makes a sentence of a description: adds a full stop, and a capital letter unless it begins with a value.
function sentence(s)
{
	s = roff(s)
	if (s ~ /^[a-z]+ /)
		s = toupper(substr(s, 1, 1)) substr(s, 2)
	return sentences(s) (s ~ /[.!]$/ ? "" : ".")
}

function when(at, blocks, operation)
{
	if (blocks == "GIVES_BACK_FIRST" || at == "BOTH")
		return "both"
	if (at == "")
		at = operation_at[operation]
	if (blocks == "")
		blocks = operation_blocks[operation]
	return blocks == "YES" ? "waits" : at == "ENTRY" ? "entry" : "return"
}

function read_operations(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		operation_at[field(i, 1)] = field(i, 3)
		operation_blocks[field(i, 1)] = field(i, 4)
	}
}

function read_resources(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++)
		resource_type[field(i, 1)] = text(field(i, 2))
}

# Rows of a section of hooks.def as a list.
function hooks(file,    i, count)
{
	read_operations(top "/include/operations.def")
	read_resources(top "/include/resources.def")
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] == "SECTION")
			heading(text(field(i, 1)), text(field(i, 2)), i > 1)
		else if (macro[i] ~ /^(HOOK|BY_NUMBER)/)
			hook(i)
	}
	print ".El"
}

function heading(title, s, ends)
{
	if (ends)
		print ".El"
	print ".Ss " title
	s = s == "" ? "" : sentence(s)
	gsub(/[.] /, ".\n", s)
	if (s != "")
		print s
	print ".Bl -column \"pthread_mutex_timedlock()\" \"semaphore\" \"acquire\" \"return\" \"dirfd path flags mode\""
	print ".It Em function Ta Em class Ta Em does Ta Em at Ta Em values"
}

# The text in the parentheses of a column such as VALUES(...); empty if the row does not have it.
function column(s, name,    i, depth, c)
{
	if (!match(s, "(^| )" name "\\("))
		return ""
	s = substr(s, RSTART + RLENGTH)
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		depth += (c == "(") - (c == ")")
		if (depth < 0)
			return substr(s, 1, i - 1)
	}
}

# KIND(name), NAMED(KIND, name, value) as "name name".
function names_of(s,    list)
{
	gsub(/[ \t\n]+/, " ", s)
	gsub(/NAMED\([A-Z]+, /, "NAMED(", s)
	while (match(s, /[A-Z]+\([a-z_]+/)) {
		list = list (list == "" ? "" : " ") substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
	}
	gsub(/[A-Z]+\(/, "", list)
	return list
}

function hook(i,    first, columns)
{
	first = macro[i] ~ /VOID|LAST/ ? 3 : macro[i] ~ /OPTIONAL/ ? 6 : 4
	if (macro[i] ~ /TWINS/)
		first++
	columns = field(i, first + (macro[i] ~ /VOID|LAST|HAND/ ? 2 : 3))
	gsub(/[\t\n]+/, " ", columns)
	entry(field(i, 1), field(i, first), field(i, first + 1), columns)
	if (macro[i] ~ /TWINS/)
		entry(field(i, 2), field(i, first), field(i, first + 1), columns)
}

function entry(name, resource, operation, columns)
{
	print ".It Fn " name " Ta " cell(resource_type[resource]) " Ta " cell(tolower(operation)) \
		" Ta " cell(when(column(columns, "AT"), column(columns, "BLOCKS"), operation)) \
		" Ta " cell(names_of(column(columns, "VALUES")))
}

function resources(file,    i, count, number)
{
	count = read_rows(file)
	print ".Bl -tag -width \"semaphore\""
	for (i = 1; i <= count; i++) {
		if (macro[i] != "RESOURCE")
			continue
		number++
		print ".It Cm " roff(text(field(i, 2)))
		print sentence(text(field(i, 4)))
		print "Number " number " in a stream." \
			(field(i, 3) == "COUNTED" ? "\nCounted: may be acquired several times, and is live until it was released as often." : "")
	}
	print ".El"
}

function operations(file,    i, count, number)
{
	count = read_rows(file)
	read_operations(file)
	print ".Bl -tag -width \"acquire\""
	for (i = 1; i <= count; i++) {
		if (macro[i] != "OPERATION")
			continue
		print ".It Cm " tolower(field(i, 1))
		number++
		print sentence(text(field(i, 5)))
		print "Happens at " (field(i, 4) == "YES" ? "return, after a sleep of any length" : when("", "", field(i, 1))) "; " \
			(field(i, 2) == "ACQUIRES" ? "acquires the object." : \
			 field(i, 2) == "RELEASES" ? "releases the object." : "neither acquires nor releases.")
		print "Number " number " in a stream."
	}
	print ".El"
}

# NOTE(NAME, "~name", "values", "description")
function notes(file,    i, count, values)
{
	count = read_rows(file)
	print ".Bl -tag -width \"~recording\""
	for (i = 1; i <= count; i++) {
		if (macro[i] != "NOTE")
			continue
		print ".It " cell(text(field(i, 2)))
		print sentence(text(field(i, 4)))
		values = text(field(i, 3))
		gsub(/ /, " , ", values)
		gsub(/[*]/, "...", values)
		if (values != "" && values != "...")
			print "Its facts:\n.Cm " values " ."
	}
	print ".El"
}

function packets(file,    i, count, offset, tail)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] == "PACKET") {
			print ".Ss " field(i, 2) ": " roff(text(field(i, 3)))
			print ".Bl -column \"offset\" \"addresses\" \"parent_stream\" \"description\""
			print ".It Em offset Ta Em kind Ta Em name Ta Em description"
			offset = 0
			tail = 0
		} else if (macro[i] == "PACKET_END") {
			print ".El"
		} else if (macro[i] == "FIELD" || macro[i] == "TAIL") {
			if (macro[i] == "TAIL" && !tail++)
				print ".It Ta Ta Ta Em \"tail:\""
			print ".It " (offset == "" ? "" : offset) " Ta " field(i, 1) " Ta " \
				cell(field(i, 2)) " Ta " last_cell(text(field(i, 3)))
			offset = next_offset(offset, field(i, 1))
		}
	}
}

function container(file,    i, count, offset, number)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] == "HEADER" || macro[i] == "DEFINITION") {
			print ".Ss " (macro[i] == "HEADER" ? field(i, 1) : "Definition " number++ ", " field(i, 1))
			print sentence(text(field(i, 2)))
			print ".Bl -column " (macro[i] == "HEADER" ? "\"offset\" \"qword\" " : "\"difference\" ") \
				"\"definitions_packed\" \"description\""
			print macro[i] == "HEADER" ? ".It Em offset Ta Em kind Ta Em name Ta Em description" : \
				".It Em kind Ta Em name Ta Em description"
			offset = 0
		} else if (macro[i] == "FIXED") {
			print ".It " offset " Ta " field(i, 1) " Ta " cell(field(i, 2)) " Ta " last_cell(text(field(i, 3)))
			offset += field(i, 1) == "qword" ? 8 : 4
		} else if (macro[i] == "FIELD") {
			print ".It " field(i, 1) " Ta " cell(field(i, 2)) " Ta " last_cell(text(field(i, 3)))
		} else if (macro[i] ~ /_END$/) {
			print ".El"
		}
	}
}

# COLUMN(name, description), VALUE(column, sign, name, description), RULE(name, description)
function container_rows(file, which,    i, count, bit, names)
{
	count = read_rows(file)
	bit = 1
	for (i = 1; i <= count; i++) {
		if (macro[i] != which)
			continue
		if (which == "VALUE")
			print ".It " bit " Ta " cell(field(i, 3)) " Ta " field(i, 1) " Ta " field(i, 2) " Ta " last_cell(text(field(i, 4)))
		else if (which == "RULE")
			print ".It " bit " Ta " cell(field(i, 1)) " Ta " last_cell(text(field(i, 2)))
		else
			names = names (names == "" ? "" : ", ") field(i, 1)
		bit *= 2
	}
	if (names != "")
		print names "."
}

# Offsets on a machine with pointers of 8 bytes; unknown after a field of variable length.
function next_offset(offset, kind)
{
	if (offset == "" || kind == "string" || kind == "values" || kind == "addresses")
		return ""
	return offset + (kind == "dword" || kind == "flags" ? 4 : 8)
}

function environment(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "SETTING")
			continue
		print ".It Ev " text(named(i, "environment"))
		print sentence(text(named(i, "text")))
		default_of(i)
	}
}

function default_of(i)
{
	if (text(named(i, "value")) != "" && text(named(i, "value")) != "0" && text(named(i, "text")) !~ /default/)
		print "Default:\n.Cm " cell(text(named(i, "value"))) " ."
}

function settings(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "SETTING" || text(named(i, "option")) == "")
			continue
		option(letter(named(i, "letter")), text(named(i, "option")), text(named(i, "argument")))
		print sentence(text(named(i, "text")))
		default_of(i)
	}
}

# Whether option i belongs to a list of all options, of filters, or of other options of a report.
function is_listed(i, list)
{
	if (list == "filters")
		return macro[i] == "FILTER" || option_word(i) == "min-age"
	# The sub-command sets --report itself, and its last arguments are the files.
	if (list == "reporting")
		return macro[i] != "FILTER" && field(i, 2) !~ /^(inputs|report)$/ && \
			(option_needs(i) == "" || option_needs(i) ~ /^(report|fail-on|output$)/)
	return 1
}

# "of tree: ", "with --fail-on: "; empty if every report takes the option
function of_reports(i,    needs, out)
{
	needs = option_needs(i)
	if (needs ~ /report=/) {
		out = needs
		gsub(/[a-z-]*\|?report=|\|?fail-on|^leaks\|/, "", out)
		out = "of " out
		gsub(/\|/, ", ", out)
	}
	if (needs ~ /fail-on/)
		out = out (out == "" ? "with " : " and with ") "--fail-on"
	return needs ~ /^!/ || out == "" ? "" : out ": "
}

# words: a pattern of the options to list; with "!" before it, of those to leave out
function options(file, list, words,    i, count, is_not)
{
	count = read_rows(file)
	is_not = words ~ /^!/
	for (i = 1; i <= count; i++) {
		if (!is_option(i) || !is_listed(i, list))
			continue
		if (words != "" && (option_word(i) ~ "^(" substr(words, 1 + is_not) ")$") == is_not)
			continue
		option(option_letter(i), option_word(i), option_argument(i))
		print sentence(list == "options" ? option_text(i) : of_reports(i) text(field(i, 7)))
	}
}

function option(short, long, argument,    line)
{
	line = ".It"
	if (short != "")
		line = line " Fl " short (long != "" ? " ," : "")
	if (long != "")
		line = line " Fl Fl " roff(long)
	if (argument ~ /^\[=/)
		line = line " Ns " cell(argument)
	else if (argument != "")
		line = line (long != "" ? " Ns = Ns Ar " : " Ar ") cell(argument)
	print line
}

# COMMAND(name, function, "arguments", "what it does")
function commands(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "COMMAND")
			continue
		print ".It Cm " roff(field(i, 1)) (text(field(i, 3)) == "" ? "" : " Ar " cell(text(field(i, 3))))
		print sentence(text(field(i, 4)))
	}
}

# FORMAT(kind, name, "word", "suffix", flags, "missing", "sentence")
function writers(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "FORMAT" || seen_format[field(i, 3)]++)
			continue
		print ".It Cm " roff(text(field(i, 3)))
		print sentence(text(field(i, 7)))
		print "For " roff(text(field(i, 8))) "."
		if (field(i, 1) == "TABLES" || field(i, 1) == "VIEWER")
			print "With\n.Fl Fl report ."
		if (field(i, 5) ~ /DIRECTORY/)
			print "Several files; needs\n.Fl o ."
		format_words(i, count)
	}
}

# WORD(kind, "format", "word", "sentence"): words that may follow the name of format i
function format_words(i, count,    n)
{
	for (n = 1; n <= count; n++)
		if (macro[n] == "WORD" && text(field(n, 2)) == text(field(i, 3)))
			print ".br\n.Cm " roff(text(field(n, 2)) ":" text(field(n, 3))) " :\n" sentence(text(field(n, 4)))
}

# Likewise for formats of viewers, with the programs that open them.
function viewers(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "FORMAT" || field(i, 1) != "VIEWER")
			continue
		print ".It Fl Fl format Ns = Ns Cm " roff(text(field(i, 3)))
		print sentence(text(field(i, 7)))
		print "Opened by " roff(text(field(i, 8))) "."
	}
}

# REPORT(name, "question", "next")
function reports(file,    i, count)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "REPORT")
			continue
		print ".It Cm " roff(field(i, 1))
		print sentence(text(field(i, 2)))
	}
}

# REPORT(name, "question", "next"), TABLE(name, "by", "title"), COLUMN(table, name, KIND, "heading", "meaning")
function report_tables(file,    i, count, open, has_unit)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] == "REPORT" || macro[i] == "COMMAND") {
			if (open)
				print ".El"
			open = 0
			print ".Ss " roff(field(i, 1))
			print sentence(text(field(i, 2)))
		} else if (macro[i] == "TABLE") {
			if (open)
				print ".El"
			open = 1
			has_unit = 0
			print ".Pp\n.Dq " cell(field(i, 1)) " :"
			print sentence(text(field(i, 3)))
			if (text(field(i, 2)) != "")
				print "Sorted by\n.Cm " roff(text(field(i, 2))) " ."
			print ".Bl -tag -width \"processes (number)\" -compact"
		} else if (macro[i] == "COLUMN") {
			if (!has_unit && unit(field(i, 3)) ~ /^bytes, ns or count/)
				print ".It Cm unit Pq text\n.Cm bytes , count\nor\n.Cm ns :\nwhat the amounts of the row are measured in."
			has_unit = has_unit || unit(field(i, 3)) ~ /^bytes, ns or count/
			print ".It Cm " roff(key(field(i, 2), field(i, 3))) " Pq " unit(field(i, 3))
			print sentence(text(field(i, 5)))
		}
	}
	if (open)
		print ".El"
}

# LIMIT(name, UNIT, report, table, column, "class", HOW, WHEN, KINDS, LIVE, "what it is")
function limits(file,    i, count, takes)
{
	takes["NUMBER"] = "a number"
	takes["BYTES"] = "bytes"
	takes["NS"] = "a time"
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "LIMIT")
			continue
		print ".It Cm " roff(field(i, 1)) " Pq " takes[field(i, 2)]
		print sentence(text(field(i, 11)))
	}
}

# REASON(name, OF, count, PART, KINDS, "noun", "what"): with the kinds of events in words
function reasons(file,    i, count, kinds, noun)
{
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "REASON")
			continue
		kinds = tolower(field(i, 5))
		gsub(/kind_/, "", kinds)
		gsub(/ \| /, ", ", kinds)
		sub(/events/, "all events", kinds)
		noun = text(field(i, 6))
		print ".It " cell((noun == "" ? "" : noun == "process" ? "processes " : noun "s ") text(field(i, 7)))
		print sentence(kinds)
	}
}

# SUPPRESSION(KIND, "pattern", "what it is about")
function suppressions(file,    i, count, rule)
{
	rule["ANY"] = "some frame"
	rule["INNERMOST"] = "module of the innermost frame"
	rule["ONLY"] = "modules of all frames"
	rule["INITIALIZER"] = "modules of the innermost frames, called by the loader"
	count = read_rows(file)
	for (i = 1; i <= count; i++) {
		if (macro[i] != "SUPPRESSION")
			continue
		print ".It Ql " cell(text(field(i, 2)))
		print sentence(text(field(i, 3)) " (" rule[field(i, 1)] ")")
	}
}

# Commands follow "$ ", each with its output below it.
function screen(file, n,    line, count)
{
	print ".Bd -literal"
	while ((getline line < file) > 0) {
		count += line ~ /^\$ /
		if (count == n)
			print roff(line)
	}
	close(file)
	print ".Ed"
}
