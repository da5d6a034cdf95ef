# SPDX-License-Identifier: MIT
#
# Reads a table (*.def): read_rows(file) returns how many rows it has. Row i is macro[i], its
# fields are field(i, 1) to field(i, fields[i]), as written; text() removes the quotes, and
# named(i, "name") is the field ".name = value". A comment on a line of its own between rows is
# also a row, with the macro "/" and the text as its only field.

function read_rows(file,    line, whole, status)
{
	while ((status = (getline line < file)) > 0)
		whole = whole (line ~ /^#include "/ ? included(line) : line) "\n"
	close(file)
	if (status < 0) {
		print "cannot read " file > "/dev/stderr"
		exit 1
	}
	split("", cells)
	split("", macro)
	split("", fields)
	return parse_rows(whole)
}

# A table may include the rows of another one.
function included(line,    path, whole)
{
	split(line, path, "\"")
	path[2] = top "/" path[2]
	while ((getline line < path[2]) > 0)
		whole = whole line "\n"
	close(path[2])
	return whole
}

function field(i, n)
{
	return cells[i, n]
}

# The value of a named field of row i (.text = "a text"); empty if there is none.
function named(i, name,    n)
{
	for (n = 1; n <= fields[i]; n++)
		if (index(field(i, n), "." name " = ") == 1)
			return substr(field(i, n), length(name) + 5)
}

function parse_rows(whole,    count, comment)
{
	while (length(whole)) {
		if (match(whole, /^[ \t\n,]+/) || match(whole, /^#([^\\\n]|\\\n)*/)) {
			whole = substr(whole, RLENGTH + 1)
		} else if (substr(whole, 1, 2) == "/*") {
			comment = substr(whole, 3, index(whole, "*/") - 3)
			whole = substr(whole, index(whole, "*/") + 2)
			if (comment !~ /\n/ && comment !~ /SPDX-/) {
				macro[++count] = "/"
				fields[count] = 1
				cells[count, 1] = trim(comment)
			}
		} else if (match(whole, /^[A-Za-z_0-9]+\(/)) {
			macro[++count] = substr(whole, 1, RLENGTH - 1)
			whole = substr(whole, RLENGTH + 1)
			whole = substr(whole, parse_fields(whole, count) + 1)
		} else {
			print "no row: " substr(whole, 1, 60) > "/dev/stderr"
			exit 1
		}
	}
	return count
}

# Splits the row up to its closing parenthesis; returns how many characters it read.
function parse_fields(rest, row,    i, c, depth, quote, cell, n)
{
	for (i = 1; i <= length(rest); i++) {
		c = substr(rest, i, 1)
		if (quote) {
			if (c == "\\")
				c = c substr(rest, ++i, 1)
			else if (c == quote)
				quote = ""
		} else if (c == "\"" || c == "'") {
			quote = c
		} else if (c == "(") {
			depth++
		} else if (c == ")" && !depth) {
			cells[row, ++n] = trim(cell)
			fields[row] = n
			return i
		} else if (c == ")") {
			depth--
		} else if (c == "," && !depth) {
			cells[row, ++n] = trim(cell)
			cell = ""
			continue
		}
		cell = cell c
	}
	print "row without end: " macro[row] > "/dev/stderr"
	exit 1
}

function trim(s)
{
	gsub(/^[ \t\n]+|[ \t\n]+$/, "", s)
	return s
}

# The text of a field of string literals: joined, without quotes; \0 becomes a bar. Fields that are
# not literals (0, NULL) give empty text.
function text(s,    out, i, c, inside)
{
	for (i = 1; i <= length(s); i++) {
		c = substr(s, i, 1)
		if (c == "\"") {
			inside = !inside
		} else if (inside && c == "\\") {
			c = substr(s, ++i, 1)
			out = out (c == "0" ? "|" : c == "n" ? "\n" : c == "t" ? "\t" : c)
		} else if (inside) {
			out = out c
		}
	}
	sub(/\|$/, "", out)
	return out
}

# A letter written 'x', or nothing.
function letter(s)
{
	return s ~ /^'.'$/ ? substr(s, 2, 1) : ""
}

# A row of a table of options, as base/options.h has them:
#   OPTION(kind, name, "word", letter, "ARGUMENT", "with", "text"), FILTER likewise, and
#   RENAMED("word", "what to write instead")
function is_option(i)
{
	return macro[i] == "OPTION" || macro[i] == "FILTER"
}
function option_letter(i)
{
	return letter(field(i, 4))
}

function option_word(i)
{
	return text(field(i, 3))
}

function option_argument(i)
{
	return text(field(i, 5))
}

function option_text(i)
{
	return option_with(i) text(field(i, 7))
}

# The options with which this option applies; empty if it applies with all.
function option_needs(i)
{
	return text(field(i, 6))
}

# "with --report=tree: "
function option_with(i,    with, word, count, n, list)
{
	with = option_needs(i)
	if (with == "" || with ~ /^!/)
		return ""
	count = split(with, word, "|")
	for (n = 1; n <= count; n++)
		list = list (n == 1 ? "" : n == count ? " or " : ", ") "--" word[n]
	return "with " list ": "
}
