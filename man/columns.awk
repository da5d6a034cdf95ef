# SPDX-License-Identifier: MIT
#
# What JSON and CSV make of the columns of reports.def: key(name, kind) and unit(kind).

# The key of a column: its name with its unit, as table_key() of postproc/report/table.c has it.
function key(name, kind)
{
	if (unit(kind) !~ /^(bytes|ns|percent)$/ || name ~ ("(^|_)" unit(kind) "$"))
		return name
	return name "_" unit(kind)
}

# The type or unit of a column in JSON and CSV.
function unit(kind)
{
	if (kind == "GROUP" || kind == "TEXT" || kind == "NOTE" || kind == "TYPE")
		return "text"
	if (kind == "BYTES" || kind == "SIZE" || kind == "CURVE_BYTES")
		return "bytes"
	if (kind == "AMOUNT" || kind == "PART" || kind == "CHANGE")
		return "bytes, ns or count: unit"
	if (kind == "NS" || kind == "LONGEST" || kind == "MEAN" || kind == "TIME")
		return "ns"
	if (kind == "PERCENT" || kind == "SHARE" || kind == "BAR")
		return "percent"
	if (kind == "STEPS")
		return "bytes or numbers, an array (in CSV with blanks between them)"
	if (kind == "OBJECT")
		return "hexadecimal"
	if (kind == "BACKTRACE" || kind == "BRANCH")
		return "frames"
	return "number"
}
