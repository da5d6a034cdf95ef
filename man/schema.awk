# SPDX-License-Identifier: MIT
#
# Writes the JSON schema of `holdtrace report --format=json` from the rows of reports.def. rows.awk
# reads them, and columns.awk knows the key and the type of a column.

function member(name, type)
{
	return "\"" name "\": " type
}

function nullable(type)
{
	return "{ \"type\": [\"" type "\", \"null\"] }"
}

# The schema of a cell. Each may be null: the run or the row does not have it.
function cell_schema(kind,    shape)
{
	shape = unit(kind)
	if (kind == "STEPS")
		return "{ \"type\": [\"array\", \"null\"], \"items\": { \"type\": \"integer\", \"minimum\": 0 } }"
	if (shape == "text")
		return nullable("string")
	if (shape == "frames")
		return "{ \"type\": [\"array\", \"null\"], \"items\": { \"$ref\": \"#/$defs/frame\" } }"
	if (shape == "hexadecimal")
		return "{ \"type\": [\"string\", \"null\"], \"pattern\": \"^0x[0-9a-f]+$\" }"
	if (shape == "percent")
		return nullable("number")
	if (kind == "CHANGE")
		return nullable("integer")
	return "{ \"type\": [\"integer\", \"null\"], \"minimum\": 0 }"
}

# An object that has these members and no others.
function object(names, schemas, count, required,    i, written)
{
	written = "{\n\t\t\t\"type\": \"object\",\n\t\t\t\"additionalProperties\": false,\n\t\t\t\"required\": ["
	for (i = 1; i <= required; i++)
		written = written (i > 1 ? ", " : "") "\"" names[i] "\""
	written = written "],\n\t\t\t\"properties\": {\n"
	for (i = 1; i <= count; i++)
		written = written "\t\t\t\t" member(names[i], schemas[i]) (i < count ? "," : "") "\n"
	return written "\t\t\t}\n\t\t}"
}

function add(name, schema)
{
	names[++members] = name
	schemas[members] = schema
}

function define(name, required)
{
	definitions[++defined] = member(name, object(names, schemas, members, required ? required : members))
	members = 0
}

# The members that a table has in addition if the report is about several runs.
function add_runs(    i, number, parts)
{
	number = "{ \"type\": [\"integer\", \"null\"], \"minimum\": 0 }"
	split("runs median median_bytes median_ns largest largest_bytes largest_ns", parts, " ")
	for (i = 1; i <= 7; i++)
		add(parts[i], number)
	add("largest_run", nullable("string"))
}

function define_frame()
{
	add("address", "{ \"type\": \"string\", \"pattern\": \"^0x[0-9a-f]+$\" }")
	add("function", "{ \"type\": \"string\" }")
	add("file", "{ \"type\": \"string\" }")
	add("line", "{ \"type\": \"integer\", \"minimum\": 1 }")
	add("module", "{ \"type\": \"string\" }")
	add("inlined", "{ \"const\": true }")
	define("frame", 1)
}

function define_run(    number)
{
	number = "{ \"type\": \"integer\", \"minimum\": 0 }"
	add("processes", number)
	add("events", number)
	add("dropped", "{ \"type\": [\"integer\", \"null\"], \"minimum\": 0 }")
	add("incomplete", number)
	add("damaged", number)
	add("duration_ns", number)
	add("not_read", number)
	add("sample_bytes", number)
	add("truncated", number)
	add("ended_untraced", number)
	add("windows_ns", "{ \"type\": \"array\", \"items\": " number " }")
	define("run", 6)
}

function define_entry()
{
	add("limit", "{ \"type\": \"string\" }")
	add("site", "{ \"type\": \"string\" }")
	add("value", "{ \"type\": \"integer\", \"minimum\": 0 }")
	define("baseline_entry", 3)
}

BEGIN {
	define_frame()
	define_run()
	define_entry()
	count = read_rows(top "/postproc/reports.def")
	for (i = 1; i <= count + 1; i++) {
		if (members && (i > count || macro[i] != "COLUMN")) {
			required = members
			if (table !~ /_runs$|^runs_read$/)
				add_runs()
			define(table, required)
		}
		if (i > count)
			break
		if (macro[i] == "TABLE") {
			table = field(i, 1)
			tables[++table_count] = table
			has_unit = 0
		} else if (macro[i] == "COLUMN") {
			if (!has_unit && unit(field(i, 3)) ~ /^bytes, ns or count/) {
				has_unit = 1
				add("unit", "{ \"enum\": [\"bytes\", \"count\", \"ns\", null] }")
			}
			add(key(field(i, 2), field(i, 3)), cell_schema(field(i, 3)))
		}
	}
	print "{"
	print "\t\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
	print "\t\"title\": \"holdtrace report --format=json\","
	print "\t\"type\": \"object\","
	print "\t\"additionalProperties\": false,"
	print "\t\"required\": [\"schema\"],"
	print "\t\"properties\": {"
	print "\t\t\"schema\": { \"const\": 1 },"
	print "\t\t\"run\": { \"$ref\": \"#/$defs/run\" },"
	print "\t\t\"baseline\": { \"type\": \"array\", \"items\": { \"$ref\": \"#/$defs/baseline_entry\" } },"
	for (i = 1; i <= table_count; i++)
		print "\t\t" member(tables[i], "{ \"type\": \"array\", \"items\": { \"$ref\": \"#/$defs/" tables[i] "\" } }") \
			(i < table_count ? "," : "")
	print "\t},"
	print "\t\"$defs\": {"
	for (i = 1; i <= defined; i++)
		print "\t\t" definitions[i] (i < defined ? "," : "")
	print "\t}"
	print "}"
}
