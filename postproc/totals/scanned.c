/* SPDX-License-Identifier: MIT */
#include "scanned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"
#include "notes.h"

const char *const scanned_words[SCANNED_FATES] = {
	[SCANNED_NOT] = "not scanned",	[SCANNED_KEPT] = "reachable",
	[SCANNED_INSIDE] = "interior",	[SCANNED_WEAK] = "weak",
	[SCANNED_LOST] = "unreachable", [SCANNED_INDIRECT] = "indirect",
};

static void forget_result(struct scanned *scanned)
{
	map_clear(&scanned->by_address);
	map_clear(&scanned->handles);
	scanned->blocks.count = scanned->roots.count = 0;
	scanned->is_done = false;
	scanned->doubt = scanned->failure = NULL;
	pool_reset(&scanned->pool);
}

void scanned_clear(struct scanned *scanned)
{
	forget_result(scanned);
	map_clear(&scanned->lost_before);
	scanned->number = 0;
	scanned->has_next = scanned->has_before = false;
}

void scanned_free(struct scanned *scanned)
{
	map_clear(&scanned->by_address);
	map_clear(&scanned->lost_before);
	map_clear(&scanned->handles);
	free(scanned->blocks.items);
	free(scanned->roots.items);
	pool_free(&scanned->pool);
}

/* ---- notes ---- */

/* Returns a copy of an argument of the note, or NULL if the note does not have the argument. */
static const char *text_of(struct scanned *scanned, const struct event *event, const char *name)
{
	const char *text = event_argument(event, name);

	return text && *text ? pool_text(&scanned->pool, text, strlen(text)) : NULL;
}

/*
 * Whether the note belongs to the newest scan for which the process was stopped. On the first such
 * note, discards the result of the previous scan.
 */
static bool is_of_result(struct scanned *scanned, const struct event *event)
{
	uint64_t number = event_number(event, "number");

	if (!scanned->has_next || number != scanned->next)
		return false;
	if (scanned->number == number)
		return true;
	/* store which blocks the previous scan found unreachable: they are not new in this scan */
	if (scanned->is_done) {
		map_clear(&scanned->lost_before);
		for (size_t i = 0; i < scanned->blocks.count; i++)
			if (scanned->blocks.items[i].fate >= SCANNED_LOST)
				map_set(&scanned->lost_before, 0, scanned->blocks.items[i].address,
					1);
		scanned->cut_before = scanned->cut;
		scanned->has_before = true;
	}
	forget_result(scanned);
	scanned->number = number;
	scanned->cut = scanned->next_cut;
	return true;
}

static enum scanned_fate fate_of(const char *word)
{
	for (int fate = SCANNED_KEPT; fate < SCANNED_FATES; fate++)
		if (!strcmp(word, scanned_words[fate]))
			return (enum scanned_fate)fate;
	return SCANNED_NOT;
}

/* Parses "0x55d0" (a block), "r12" (a root) or "-" (none). */
static struct scanned_node node_of(const char *text)
{
	if (text[0] == 'r')
		return (struct scanned_node){ .is_root = true,
					      .root = (uint32_t)strtoul(text + 1, NULL, 10) };
	if (text[0] == '0')
		return (struct scanned_node){ .is_block = true, .block = strtoull(text, NULL, 16) };
	return (struct scanned_node){ 0 };
}

static void take_block(struct scanned *scanned, const char *name, const char *value)
{
	char fate[16], parent[24], dominator[24];
	struct scanned_block *block;
	uint64_t offset, retained;
	uint32_t count;

	if (sscanf(value, "%15s %23s %" SCNu64 " %23s %" SCNu64 " %" SCNu32, fate, parent, &offset,
		   dominator, &retained, &count) != 6 ||
	    fate_of(fate) == SCANNED_NOT)
		return;
	block = ARRAY_ADD(&scanned->blocks);
	if (scanned->blocks.count >= UINT32_MAX)
		memory_none();
	*block = (struct scanned_block){ .address = strtoull(name, NULL, 16),
					 .fate = fate_of(fate),
					 .parent = node_of(parent),
					 .dominator = node_of(dominator),
					 .offset = offset,
					 .retained = retained,
					 .retained_count = count };
	map_set(&scanned->by_address, 0, block->address, (uint32_t)scanned->blocks.count);
}

static void take_handle(struct scanned *scanned, const struct event *event)
{
	const char *word = event_argument(event, "class");

	if (!word || !is_of_result(scanned, event))
		return;
	for (uint32_t class = 1; class < RESOURCE_COUNT; class ++)
		if (resource_table[class].type && !strcmp(word, resource_table[class].type)) {
			map_set(&scanned->handles, class, event_number(event, "object"), 1);
			return;
		}
}

void scanned_note(struct scanned *scanned, const struct event *event)
{
	const char *name = event->function->name;

	if (!strcmp(name, NOTE_BLOCK) && is_of_result(scanned, event))
		for (uint32_t i = 0; i < event->argument_count; i++)
			if (!strncmp(event->arguments[i].name, "0x", 2))
				take_block(scanned, event->arguments[i].name,
					   event->arguments[i].value);
	if (!strcmp(name, NOTE_ROOT)) {
		struct scanned_root *root;

		if (is_of_result(scanned, event) &&
		    event_number(event, "root") == scanned->roots.count) {
			root = ARRAY_ADD(&scanned->roots);
			*root = (struct scanned_root){
				.kind = text_of(scanned, event, "kind"),
				.name = text_of(scanned, event, "name"),
				.module = text_of(scanned, event, "module"),
				.function = text_of(scanned, event, "function"),
				.thread_name = text_of(scanned, event, "thread-name"),
				.thread = (uint32_t)event_number(event, "thread"),
				.offset = event_number(event, "offset"),
				.at = event_number(event, "at"),
				.retained = event_number(event, "retained"),
				.retained_count = (uint32_t)event_number(event, "blocks"),
			};
		}
	}
	if (!strcmp(name, NOTE_HANDLE))
		take_handle(scanned, event);
	if (!strcmp(name, NOTE_SCAN)) {
		const char *state = event_argument(event, "state");

		if (!state)
			return;
		if (!strcmp(state, "cut")) {
			scanned->next = event_number(event, "number");
			scanned->next_cut = event->index;
			scanned->has_next = true;
			return;
		}
		if (!strcmp(state, "failed")) {
			scanned->failure = text_of(scanned, event, "reason");
			return;
		}
		if (strcmp(state, "done") != 0 || !is_of_result(scanned, event))
			return;
		scanned->is_done = true;
		scanned->failure = NULL;
		scanned->doubt = text_of(scanned, event, "doubt");
		scanned->pause_ns = event_number(event, "pause");
		scanned->took_ns = event_number(event, "took");
		scanned->read_bytes = event_number(event, "read");
		scanned->unread_bytes = event_number(event, "unread");
	}
}

/* ---- queries ---- */

const struct scanned_block *scanned_at(const struct scanned *scanned, uint64_t address)
{
	uint32_t index = scanned->is_done ? map_get(&scanned->by_address, 0, address) : 0;

	return index ? &scanned->blocks.items[index - 1] : NULL;
}

const struct scanned_block *scanned_find(const struct scanned *scanned, uint64_t address,
					 uint64_t index)
{
	return index < scanned->cut ? scanned_at(scanned, address) : NULL;
}

bool scanned_handle_is_lost(const struct scanned *scanned, enum resource class, uint64_t object,
			    uint64_t index)
{
	return scanned->is_done && index < scanned->cut && !scanned->doubt &&
	       map_get(&scanned->handles, class, object);
}

bool scanned_is_new(const struct scanned *scanned, uint64_t address, uint64_t index)
{
	return scanned->has_before &&
	       !(index < scanned->cut_before && map_get(&scanned->lost_before, 0, address));
}

static struct scanned_block *parent_of(struct scanned *scanned, const struct scanned_block *block)
{
	uint32_t index =
		block->parent.is_block ? map_get(&scanned->by_address, 0, block->parent.block) : 0;

	return index ? &scanned->blocks.items[index - 1] : NULL;
}

/*
 * Finds the end of a block's path. Follows the parents up to a block whose end is known, then
 * follows them again to store this end in all blocks on the path.
 */
static void walk(struct scanned *scanned, struct scanned_block *first)
{
	struct scanned_block *last = NULL, *block = first;
	uint32_t count = 0, end, steps;

	for (; block && !block->is_walked; block = parent_of(scanned, block), count++) {
		const struct scanned_node *parent = &block->parent;
		bool has_root = parent->is_root && parent->root < scanned->roots.count;

		/*
		 * a preliminary value that ends the loop if the blocks form a cycle; the second
		 * loop replaces it
		 */
		block->is_walked = true;
		block->end = has_root ? parent->root + 1 : 0;
		block->steps = 0;
		last = block;
	}
	if (!last)
		return;
	end = block ? block->end : last->end;
	steps = block ? block->steps + count : count - 1;
	for (block = first; count--; block = parent_of(scanned, block)) {
		block->end = end;
		block->steps = steps--;
	}
}

const struct scanned_root *scanned_root_of(struct scanned *scanned,
					   const struct scanned_block *block, uint32_t *steps)
{
	*steps = 0;
	if (!block)
		return NULL;
	walk(scanned, &scanned->blocks.items[block - scanned->blocks.items]);
	*steps = block->steps;
	return block->end ? &scanned->roots.items[block->end - 1] : NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *scanned_root_text(const struct scanned_root *root, char *text, size_t size)
{
	const char *kind = root->kind ? root->kind : "?";

	if (!strcmp(kind, "global") && root->module && root->name)
		snprintf(text, size, "%s (%s)", root->name, last_part(root->module));
	else if (!strcmp(kind, "global") && root->module)
		snprintf(text, size, "data+0x%" PRIx64 " (%s)", root->offset,
			 last_part(root->module));
	else if (root->thread)
		snprintf(text, size, "%s of thread %s (%" PRIu32 ")%s%s", kind,
			 root->thread_name ? root->thread_name : "?", root->thread,
			 root->function ? " in " : "", root->function ? root->function : "");
	else if (!strcmp(kind, "mapping"))
		snprintf(text, size, "memory mapped at 0x%" PRIx64 "%s%s", root->at,
			 root->name ? " of " : "", root->name ? root->name : "");
	else
		snprintf(text, size, "%s%s%s", kind, root->name ? ": " : "",
			 root->name ? root->name : "");
	return text;
}
