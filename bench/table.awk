# SPDX-License-Identifier: MIT
#
# awk -v row=ROW -v tools="A B" -v ours=A -v base=TOOL -v goals_out=FILE -f table.awk goals results
#
# Reads lines WORKLOAD TOOL VALUE, one for each round, and prints a table in Markdown: the base's median;
# what each other tool adds to it, with minimum and maximum; what `ours` adds divided by what each other
# tool adds. Without a base, prints the values. Writes the row's goals (bench/goals) to goals_out.

function sort_values(key,    i, j, t)
{
	for (i = 2; i <= n[key]; i++)
		for (j = i; j > 1 && value[key, j] < value[key, j - 1]; j--) {
			t = value[key, j]
			value[key, j] = value[key, j - 1]
			value[key, j - 1] = t
		}
}

function median(workload, tool,    key, middle)
{
	key = workload SUBSEP tool
	middle = int((n[key] + 1) / 2)
	return n[key] % 2 ? value[key, middle] : (value[key, middle] + value[key, middle + 1]) / 2
}

function has(workload, tool)
{
	return n[workload, tool] > 0 && (base == "" || n[workload, base] > 0)
}

function taken_off(workload)
{
	return base == "" ? 0 : median(workload, base)
}

function added(workload, tool)
{
	return median(workload, tool) - taken_off(workload)
}

function digits(x)
{
	if (x == int(x))
		return sprintf("%d", x)
	return sprintf(x < 10 && x > -10 ? "%.2f" : x < 100 && x > -100 ? "%.1f" : "%.0f", x)
}

# Returns "MEDIAN (MINIMUM..MAXIMUM)".
function cell(workload, tool,    key, off, text)
{
	key = workload SUBSEP tool
	if (!has(workload, tool))
		return key in failed ? "failed" : "-"
	off = tool == base ? 0 : taken_off(workload)
	text = digits(median(workload, tool) - off)
	if (n[key] > 1)
		text = text " (" digits(value[key, 1] - off) ".." digits(value[key, n[key]] - off) ")"
	return text
}

# Returns what `ours` adds on A divided by what the tool adds on B; "" if either is missing or adds nothing.
function ratio(tool, a, b)
{
	if (!has(a, ours) || !has(b, tool) || added(b, tool) <= 0 || added(a, ours) <= 0)
		return ""
	return added(a, ours) / added(b, tool)
}

function is_compared(tool)
{
	return ours != "" && tool != ours && tool != base && index(tool, ours "-") != 1
}

# Returns the geometric mean of the ratios. Sets worst_ratio to the largest, and worst_where to its workload.
function geomean(tool,    i, r, sum)
{
	compared = worst_ratio = sum = 0
	for (i = 1; i <= workloads; i++) {
		r = ratio(tool, name[i], name[i])
		if (r == "")
			continue
		compared++
		sum += log(r)
		if (r > worst_ratio) {
			worst_ratio = r
			worst_where = name[i]
		}
	}
	return compared ? exp(sum / compared) : ""
}

function print_head(    i, line)
{
	line = "| workload |"
	rule = "|---|"
	for (i = 1; i <= count; i++) {
		line = line " " (base == "" || tool[i] == base ? "" : "+ ") tool[i] " |"
		rule = rule "--:|"
	}
	for (i = 1; i <= count; i++)
		if (is_compared(tool[i])) {
			line = line " / " tool[i] " |"
			rule = rule "--:|"
		}
	print line "\n" rule
}

function print_row(workload,    i, r, line)
{
	line = "| " workload " |"
	for (i = 1; i <= count; i++)
		line = line " " cell(workload, tool[i]) " |"
	for (i = 1; i <= count; i++)
		if (is_compared(tool[i])) {
			r = ratio(tool[i], workload, workload)
			line = line " " (r == "" ? "-" : sprintf("%.2f", r)) " |"
		}
	print line
}

function print_means(words,    i, mean, line, any)
{
	line = "| " words " |"
	for (i = 1; i <= count; i++)
		line = line " |"
	for (i = 1; i <= count; i++)
		if (is_compared(tool[i])) {
			mean = geomean(tool[i])
			any = 1
			line = line " " (mean == "" ? "-" : sprintf("%.2f", mean)) " |"
		}
	if (any && workloads > 1)
		print line
}

# Prints the means of the fastest rounds. If they differ much from those of the medians, the machine was busy.
function print_fastest(    key)
{
	for (key in n) {
		rounds[key] = n[key]
		n[key] = n[key] > 0
	}
	print_means("of the fastest rounds")
	for (key in rounds)
		n[key] = rounds[key]
}

function judge(words, figure, limit, is_least,    verdict)
{
	verdict = figure == "" ? "not measured" : (is_least ? figure >= limit : figure <= limit) ? "ok" : "missed"
	printf "| %s | %s | %s %s | %s | %s |\n", row, words, is_least ? "at least" : "at most", limit,
		figure == "" ? "-" : digits(figure), verdict >goals_out
}

# Returns the largest or smallest value of a tool over all workloads. Sets extreme_where to its workload.
function extreme(tool, is_least,    i, x, found)
{
	found = extreme_where = ""
	for (i = 1; i <= workloads; i++) {
		if (!has(name[i], tool))
			continue
		x = median(name[i], tool)
		if (found == "" || (is_least ? x < found : x > found)) {
			found = x
			extreme_where = x ? " (" name[i] ")" : ""
		}
	}
	return found
}

function judge_goal(goal,    word, figure)
{
	split(goal, word, " ")
	if (word[2] == "geomean") {
		figure = geomean(word[3])
		judge("of " word[3] ", geometric mean of " compared, figure, word[4])
	} else if (word[2] == "worst") {
		figure = geomean(word[3]) == "" ? "" : worst_ratio
		judge("of " word[3] ", largest (" worst_where ")", figure, word[4])
	} else if (word[2] == "ratio") {
		figure = ratio(word[3], word[4], word[5])
		judge(word[4] ", of " word[3] (word[4] == word[5] ? "" : " on " word[5]), figure, word[6])
	} else if (word[2] == "slower") {
		figure = has(word[4], word[3]) ? 100 * added(word[4], word[3]) / taken_off(word[4]) : ""
		judge(word[4] ", per cent slower", figure, word[5])
	} else if (word[2] == "added") {
		judge(word[4] ", added", has(word[4], word[3]) ? added(word[4], word[3]) : "", word[5])
	} else {
		figure = extreme(word[3], word[2] == "least")
		judge(word[3] extreme_where, figure, word[4], word[2] == "least")
	}
}

FNR == NR {
	if ($1 == row)
		goal[++goals] = $0
	next
}
!seen[$1]++ { name[++workloads] = $1 }
$3 == "failed" { failed[$1, $2] = 1 }
$3 ~ /^-?[0-9.]+$/ { value[$1, $2, ++n[$1, $2]] = $3 + 0 }

END {
	count = split(tools, tool, " ")
	for (key in n)
		sort_values(key)
	print_head()
	for (i = 1; i <= workloads; i++)
		print_row(name[i])
	print_means("geometric mean")
	print_fastest()
	for (i = 1; i <= goals; i++)
		judge_goal(goal[i])
}
