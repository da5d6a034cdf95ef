/* SPDX-License-Identifier: MIT */
/* Tests the notes on resident memory, including notes that no scanner writes. */
#include "postproc/totals/residence.h"

#include "tests/lib/tap.h"

static struct residence residence;

/* Sends a note. texts: names and values in pairs, then NULL. Returns whether a scan is complete. */
static bool note(const char *name, const char *const *texts)
{
	struct function function = { .name = name };
	struct wire_value values[8];
	struct event event = { .kind = EVENT_NOTE, .function = &function, .arguments = values };

	for (; texts[0]; texts += 2)
		values[event.argument_count++] = (struct wire_value){ texts[0], texts[1] };
	return residence_note(&residence, &event);
}

#define NOTE(name, ...) note(name, (const char *const[]){ __VA_ARGS__, NULL })

static void mapping(const char *number, const char *from, const char *to, const char *kind,
		    const char *bytes)
{
	NOTE("~resident", "number", number, "from", from, "to", to, "kind", kind, "resident",
	     bytes);
}

static bool is_run(size_t i, uint64_t from, uint64_t to, char state, uint32_t of)
{
	const struct residence_run *run = &residence.runs.items[i];

	return i < residence.runs.count && run->from == from && run->to == to &&
	       run->state == state && run->mapping == of;
}

/* Whether a result is refused if one of its mappings has these pages. */
static bool refuses(const char *number, const char *address, const char *text)
{
	mapping(number, "0x10000", "0x20000", "heap", "4096");
	NOTE("~pages", "number", number, address, text);
	return !NOTE("~resident", "number", number, "state", "done");
}

int main(void)
{
	mapping("1", "0x10000", "0x20000", "heap", "12288");
	mapping("1", "0x20000", "0x30000", "file", "4096");
	NOTE("~pages", "number", "1", "0xf000", "pp2-3z", "0x1f000", "p2-14s");
	ok(NOTE("~resident", "number", "1", "state", "done", "resident", "16384"),
	   "a result is complete with its last note");
	ok(residence.mappings.count == 2 && residence.mappings.items[1].kind == RESIDENCE_FILE &&
		   residence.resident == 16384,
	   "it has the mappings and the sum");
	ok(residence.runs.count == 5 && is_run(0, 0x10000, 0x12000, 'p', 0) &&
		   is_run(1, 0x15000, 0x16000, 'z', 0),
	   "runs have states and lengths, and pages outside of all mappings are left out");
	ok(is_run(2, 0x1f000, 0x20000, 'p', 0) && is_run(3, 0x20000, 0x21000, 'p', 1),
	   "a run over two mappings is divided");
	ok(residence_after(&residence, 0x11fff) == 0 && residence_after(&residence, 0x12000) == 1 &&
		   residence_after(&residence, 0x30000) == 5,
	   "the run of an address is found");
	mapping("2", "0x10000", "0x20000", "heap", "4096");
	ok(residence.mappings.count == 1 && !residence.runs.count,
	   "the next result replaces the one before it");
	ok(!NOTE("~resident", "number", "2", "state", "unknown"),
	   "a result that is not complete is none");
	ok(refuses("3", "0x10000", "p4x"), "an unknown state is refused");
	ok(refuses("4", "0x10001", "p"), "so is an address inside a page");
	ok(refuses("5", "0x10000", "p0"), "so is a run without pages");
	ok(refuses("6", "0x10000", "p99999999999999999999"), "so is a run beyond all addresses");
	ok(refuses("7", "0xffffffffffffffff", "p"), "so is an address beyond all addresses");
	mapping("8", "0x1000", "0x2000", "heap", "4096");
	NOTE("~pages", "number", "8", "0x1000", "p");
	ok(refuses("8", "0x11000", "p"), "so is a mapping after pages");
	mapping("9", "0x10000", "0x12000", "heap", "4096");
	NOTE("~pages", "number", "9", "0x11000", "p", "0x10000", "p");
	ok(!NOTE("~resident", "number", "9", "state", "done"),
	   "so are pages that are not in order");
	mapping("10", "0x10000", "0x20000", "heap", "4096");
	ok(refuses("10", "0x10000", "p"), "so are mappings that overlap");
	mapping("11", "0x20000", "0x30000", "heap", "65537");
	ok(refuses("11", "0x10000", "p"), "so is a mapping with more resident bytes than it has");
	mapping("12", "0x1000", "0x2000", "hole", "0");
	ok(refuses("12", "0x10000", "p"), "so is an unknown kind");
	ok(refuses("13", "0x10000", "p") == false, "a sound result after them is taken");
	residence_free(&residence);
	return tap_end();
}
