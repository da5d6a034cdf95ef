/* SPDX-License-Identifier: MIT */
#include "postproc/totals/scanned.h"

#include <stdlib.h>

#include "tests/lib/tap.h"

static struct scanned scanned;
static uint64_t index_of;

/* A note with pairs of names and values, NULL behind the last. */
static void note(const char *name, const char *const *texts)
{
	struct function function = { .name = name };
	struct wire_value values[8];
	struct event event = {
		.kind = EVENT_NOTE, .function = &function, .arguments = values, .index = ++index_of
	};

	for (; texts[0]; texts += 2)
		values[event.argument_count++] = (struct wire_value){ texts[0], texts[1] };
	scanned_note(&scanned, &event);
}

#define NOTE(name, ...) note(name, (const char *const[]){ __VA_ARGS__, NULL })

static void cut(const char *number)
{
	NOTE("~scan", "number", number, "state", "cut");
}

static enum scanned_fate fate(uint64_t address)
{
	const struct scanned_block *block = scanned_at(&scanned, address);

	return block ? block->fate : SCANNED_NOT;
}

/* A list of 100,000 blocks; from its end, from its middle and from its head. */
static void long_way(void)
{
	char name[24], value[64];
	uint32_t last = 0, middle = 0, first = 1;

	cut("9");
	NOTE("~root", "number", "9", "root", "0", "kind", "global");
	NOTE("~block", "number", "9", "0x1", "kept r0 0 r0 1 1");
	for (unsigned i = 2; i <= 100000; i++) {
		snprintf(name, sizeof(name), "0x%x", i);
		snprintf(value, sizeof(value), "kept 0x%x 0 0x%x 1 1", i - 1, i - 1);
		NOTE("~block", "number", "9", name, value);
	}
	NOTE("~scan", "number", "9", "state", "done");
	ok(scanned_root_of(&scanned, scanned_at(&scanned, 50000), &middle) &&
		   scanned_root_of(&scanned, scanned_at(&scanned, 100000), &last) &&
		   scanned_root_of(&scanned, scanned_at(&scanned, 1), &first),
	   "a way may be long");
	ok(first == 0 && middle == 49999 && last == 99999, "and all of it counts");
}

int main(void)
{
	const struct scanned_root *root;
	char text[200];
	uint32_t steps;

	scanned_init(&scanned);
	cut("1");
	NOTE("~root", "number", "1", "root", "0", "kind", "global", "name", "pool", "module",
	     "/usr/bin/server", "retained", "96", "blocks", "2");
	NOTE("~block", "number", "1", "0x10", "kept r0 8 r0 96 2", "0x20", "kept 0x10 0 0x10 48 1",
	     "0x30", "lost - 0 - 16 1");
	ok(fate(0x10) == SCANNED_NOT, "before the scan is done nothing is known");
	NOTE("~scan", "number", "1", "state", "done", "pause", "1000");
	ok(fate(0x10) == SCANNED_KEPT && fate(0x30) == SCANNED_LOST && fate(0x40) == SCANNED_NOT,
	   "blocks are kept, lost, or were not there");
	root = scanned_root_of(&scanned, scanned_at(&scanned, 0x20), &steps);
	ok(root && steps == 1, "the way from a block leads to its root");
	ok_text(root ? scanned_root_text(root, text, sizeof(text)) : "", "pool (server)",
		"which is told by its name");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x30), &steps),
	   "that of a lost one not");
	ok(scanned_find(&scanned, 0x10, 0) && !scanned_find(&scanned, 0x10, 1),
	   "what was gained after the scan is another block");

	ok(!scanned_is_new(&scanned, 0x30, 0), "where there was one scan nothing is new");

	cut("2");
	NOTE("~scan", "number", "2", "state", "failed", "reason", "it ended");
	ok(fate(0x10) == SCANNED_KEPT && scanned.failure && !strcmp(scanned.failure, "it ended"),
	   "a scan that failed takes nothing away from the one before");

	cut("3");
	NOTE("~block", "number", "4", "0x10", "lost - 0 - 1 1");
	NOTE("~root", "number", "3", "root", "7", "kind", "global");
	NOTE("~block", "number", "3", "0x10", "kept 0x20 0 0x20 1 1", "0x20",
	     "kept 0x10 0 0x10 1 1", "0x30", "kept r9 0 r9 1 1", "0x40", "nonsense", "0x50",
	     "gone - 0 - 0 0");
	NOTE("~scan", "number", "3", "state", "done", "doubt", "events were lost");
	ok(!scanned_is_new(&scanned, 0x30, 0) && scanned_is_new(&scanned, 0x20, 0) &&
		   scanned_is_new(&scanned, 0x30, 9),
	   "new is what the scan before did not find lost, and what came later to its address");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x10), &steps),
	   "a way in a circle comes to an end");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x30), &steps),
	   "one to a root that is not there leads nowhere");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x20), &steps),
	   "from wherever one looks");
	ok(fate(0x40) == SCANNED_NOT && fate(0x50) == SCANNED_NOT, "nonsense is passed by");
	ok(scanned.doubt && !strcmp(scanned.doubt, "events were lost"), "doubts are kept");
	long_way();
	scanned_clear(&scanned);
	ok(fate(0x10) == SCANNED_NOT, "another process has nothing of it");
	scanned_free(&scanned);
	return tap_end();
}
