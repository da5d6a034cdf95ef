/* SPDX-License-Identifier: MIT */
#include "collect/bounds.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/tap.h"

/* Makes hierarchies of control groups, as the kernel shows them, in a directory of this test. */

static char place[] = "/tmp/holdtrace-groups-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", place, name);
	for (char *slash = path + sizeof(place); (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		exit(99);
}

/* Whether a process with this text in /proc/self/cgroup has this limit of memory. */
static bool has_limit(const char *text, uint64_t limit)
{
	char list[64];
	uint64_t found;

	put("list", text);
	snprintf(list, sizeof(list), "%s/list", place);
	found = budget_of_groups(list, place);
	if (found != limit)
		printf("# %llu\n", (unsigned long long)found);
	return found == limit;
}

/* Whether the groups in this text had this many processes killed for lack of memory. */
static bool has_kills(const char *text, uint64_t kills)
{
	char list[64];

	put("list", text);
	snprintf(list, sizeof(list), "%s/list", place);
	return budget_kills(list, place) == kills;
}

int main(void)
{
	char list[64], command[64], text[5000];

	if (!mkdtemp(place))
		return 99;
	put("memory.max", "900000000\n");
	put("slice/memory.max", "200000000\n");
	put("slice/job/memory.max", "max\n");
	put("slice/small/memory.max", "64000000\n");
	put("other/memory.current", "1\n");
	put("strange/memory.max", "much\n");
	put("memory/old/memory.limit_in_bytes", "50000000\n");
	put("memory/old/free/memory.limit_in_bytes", "9223372036854771712\n");
	ok(has_limit("0::/slice/small\n", 64000000), "the limit is the group's");
	ok(has_limit("0::/slice/job\n", 200000000), "or that of one above it");
	ok(has_limit("0::/other\n", 900000000), "also of the highest");
	ok(has_limit("0::/\n", 900000000), "in a namespace of groups, too");
	ok(has_limit("0::/strange\n", 900000000), "what is no number limits nothing");
	ok(has_limit("0::/gone/long/ago\n", 900000000), "nor does a group that is not seen here");
	ok(has_limit("4:memory:/old/free\n", 50000000), "the first version's have limits");
	ok(has_limit("5:cpu:/old\n4:cpuacct,memory:/old\n0::/slice\n", 50000000),
	   "of several hierarchies the least counts");
	ok(has_limit("5:cpu:/old\n", UINT64_MAX), "processors are no memory");
	ok(has_limit("", UINT64_MAX) && has_limit("0:\nnonsense\n", UINT64_MAX),
	   "without groups there is no limit");
	put("slice/job/memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 7\n");
	put("memory/old/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
	put("strange/memory.events", "oom_kill many\n");
	ok(has_kills("4:cpu:/old\n0::/slice/job\n", 2),
	   "a group counts processes killed for memory");
	ok(has_kills("4:memory:/old\n0::/slice\n", 5), "so does a group of the first version");
	ok(has_kills("0::/slice\n", UINT64_MAX) && has_kills("0::/strange\n", UINT64_MAX) &&
		   has_kills("", UINT64_MAX),
	   "the number is unknown in a group without this count");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "0::/", 4);
	ok(has_limit(text, 900000000), "a path that is too long ends somewhere");
	snprintf(list, sizeof(list), "%s/nowhere", place);
	ok(budget_of_groups(list, place) == UINT64_MAX, "nor is there one without the list");
	ok(budget_memory() > 0 && budget_memory() < UINT64_MAX, "this machine has some memory");
	snprintf(command, sizeof(command), "rm -r %s", place);
	return system(command) ? 99 : tap_end();
}
