/* SPDX-License-Identifier: MIT */
#include "postproc/totals/scanned.h"

#include <stdlib.h>

#include "collect/scan_result.h"

#include "tests/lib/tap.h"

static struct scanned scanned;
static uint64_t index_of;

/* Sends a note with these pairs of names and values. texts: ends with NULL. */
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

/* Counts the steps to the root of a list of 100,000 blocks: from its end, middle and head. */
static void long_way(void)
{
	char name[24], value[64];
	uint32_t last = 0, middle = 0, first = 1;

	cut("9");
	NOTE("~root", "number", "9", "root", "0", "kind", "global");
	NOTE("~block", "number", "9", "0x1", "reachable r0 0 r0 1 1");
	for (unsigned i = 2; i <= 100000; i++) {
		snprintf(name, sizeof(name), "0x%x", i);
		snprintf(value, sizeof(value), "reachable 0x%x 0 0x%x 1 1", i - 1, i - 1);
		NOTE("~block", "number", "9", name, value);
	}
	NOTE("~scan", "number", "9", "state", "done");
	ok(scanned_root_of(&scanned, scanned_at(&scanned, 50000), &middle) &&
		   scanned_root_of(&scanned, scanned_at(&scanned, 100000), &last) &&
		   scanned_root_of(&scanned, scanned_at(&scanned, 1), &first),
	   "paths of 100,000 blocks reach their root");
	ok(first == 0 && middle == 49999 && last == 99999,
	   "the steps of a long path are all counted");
}

/* ---- what the collector accepts of a scanner ---- */

/* Returns the number of notes that the collector accepts, or a negative errno if it refuses one. */
static int take(const char *bytes, size_t size)
{
	struct scan_result result = { bytes, size, 0 };
	struct scan_note one;
	int count = 0, rc;

	while ((rc = scan_result_next(&result, &one)) == 1)
		count++;
	return rc ? rc : count;
}

static void test_accepted(void)
{
	static const char good[] =
		"~scan\0number\0001\0\0~block\0number\0001\0\0~root\0\0~handle\0\0"
		"~resident\0\0~pages\0";
	static const char end[] = "~scan\0\0~end\0how\0exited\0", process[] = "~process\0";
	static const char call[] = "malloc\0size\0001\0", open[] = "~scan\0number";
	static char text[SCAN_NOTE_TEXT + 16] = "~scan\0number";

	ok(take(good, sizeof(good)) == 6, "the collector accepts six notes of a scanner");
	ok(take(end, sizeof(end)) < 0 && take(process, sizeof(process)) < 0 &&
		   take(call, sizeof(call)) < 0,
	   "it refuses notes and calls of other names");
	memset(text + 13, 'x', SCAN_NOTE_TEXT);
	ok(take(text, sizeof(text)) < 0 && take(open, sizeof(open)) < 0,
	   "it refuses texts that are too long, or have no end");
}

int main(void)
{
	test_accepted();
	const struct scanned_root *root;
	char text[200];
	uint32_t steps;

	cut("1");
	NOTE("~root", "number", "1", "root", "0", "kind", "global", "name", "pool", "module",
	     "/usr/bin/server", "retained", "96", "blocks", "2");
	NOTE("~block", "number", "1", "0x10", "reachable r0 8 r0 96 2", "0x20",
	     "reachable 0x10 0 0x10 48 1", "0x30", "unreachable - 0 - 16 1");
	ok(fate(0x10) == SCANNED_NOT, "no block has a result before the scan is done");
	NOTE("~scan", "number", "1", "state", "done", "pause", "1000");
	ok(fate(0x10) == SCANNED_KEPT && fate(0x30) == SCANNED_LOST && fate(0x40) == SCANNED_NOT,
	   "blocks are reachable, unreachable, or were not scanned");
	root = scanned_root_of(&scanned, scanned_at(&scanned, 0x20), &steps);
	ok(root && steps == 1, "the path from a block ends at its root");
	ok_text(root ? scanned_root_text(root, text, sizeof(text)) : "", "pool (server)",
		"the text of a global root has its name and its module");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x30), &steps),
	   "an unreachable block has no root");
	ok(scanned_find(&scanned, 0x10, 0) && !scanned_find(&scanned, 0x10, 1),
	   "a block allocated after the scan at the same address has no result");

	ok(!scanned_is_new(&scanned, 0x30, 0), "after a single scan no unreachable block is new");

	cut("2");
	NOTE("~scan", "number", "2", "state", "failed", "reason", "it ended");
	ok(fate(0x10) == SCANNED_KEPT && scanned.failure && !strcmp(scanned.failure, "it ended"),
	   "a failed scan keeps the result of the scan before");

	cut("3");
	NOTE("~block", "number", "4", "0x10", "unreachable - 0 - 1 1");
	NOTE("~root", "number", "3", "root", "7", "kind", "global");
	NOTE("~block", "number", "3", "0x10", "reachable 0x20 0 0x20 1 1", "0x20",
	     "reachable 0x10 0 0x10 1 1", "0x30", "reachable r9 0 r9 1 1", "0x40", "nonsense",
	     "0x50", "gone - 0 - 0 0");
	NOTE("~scan", "number", "3", "state", "done", "doubt", "events were dropped");
	ok(!scanned_is_new(&scanned, 0x30, 0) && scanned_is_new(&scanned, 0x20, 0) &&
		   scanned_is_new(&scanned, 0x30, 9),
	   "a block is new if the scan before did not find it unreachable, or if it was allocated "
	   "later");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x10), &steps),
	   "a path that is a cycle has no root");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x30), &steps),
	   "a path to an unknown root has no root");
	ok(!scanned_root_of(&scanned, scanned_at(&scanned, 0x20), &steps),
	   "each block of a cycle has no root");
	ok(fate(0x40) == SCANNED_NOT && fate(0x50) == SCANNED_NOT, "malformed blocks are ignored");
	ok(scanned.doubt && !strcmp(scanned.doubt, "events were dropped"),
	   "the doubt of a scan is kept");
	long_way();
	scanned_clear(&scanned);
	ok(fate(0x10) == SCANNED_NOT, "another process starts without a result");
	scanned_free(&scanned);
	return tap_end();
}
