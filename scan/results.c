/* SPDX-License-Identifier: MIT */
#include "scan/roots.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "base/out.h"
#include "hook_table.h"
#include "notes.h"

#define BLOCKS_IN_NOTE 16u
#define NAME_MOST      512
#define RUNS_IN_NOTE   5u  /* maximum number of texts in a note, whose packet has at most 4 KiB */
#define RUNS_TEXT      480 /* size in bytes of the buffer for one text */

static void put_string(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text) + 1);
}

/* Writes a name, and a text that a file or the kernel supplied, cut to the limit of a note. */
static void put_text(struct out *out, const char *name, const char *text)
{
	char cut[NAME_MOST];

	if (!text || !*text)
		return;
	snprintf(cut, sizeof(cut), "%s", text);
	put_string(out, name);
	put_string(out, cut);
}

static void put_number(struct out *out, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put_text(out, name, text);
}

static void put_hex(struct out *out, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	put_text(out, name, text);
}

static void begin_note(struct out *out, const struct report *report, const char *name)
{
	put_string(out, name);
	put_number(out, "number", report->number);
}

static void end_note(struct out *out)
{
	out_char(out, '\0');
}

/* ---- roots ---- */

static void put_root(struct out *out, const struct report *report, uint32_t index)
{
	const struct graph *graph = report->graph;
	const struct root *root = &report->roots->list.items[index];

	begin_note(out, report, NOTE_ROOT);
	put_number(out, "root", index);
	put_text(out, "kind", root_words[root->kind]);
	put_text(out, "name", root->name);
	put_text(out, "module", root->module);
	if (root->module)
		put_hex(out, "offset", root->offset);
	if (root->thread)
		put_number(out, "thread", (uint64_t)root->thread);
	for (size_t i = 0; root->thread && i < report->process->threads.count; i++) {
		const struct process_thread *thread = &report->process->threads.items[i];

		if (thread->tracee.tid == root->thread) {
			put_text(out, "thread-name", thread->name);
			break;
		}
	}
	put_text(out, "function", root->function);
	if (root->pc)
		put_hex(out, "pc", root->pc);
	put_hex(out, "at", root->from);
	put_number(out, "retained", graph->retained[graph->count + index]);
	put_number(out, "blocks", graph->retained_count[graph->count + index]);
	end_note(out);
}

/* ---- blocks ---- */

static const char *const classes[] = {
	[GRAPH_KEPT] = "reachable",   [GRAPH_INSIDE] = "interior",   [GRAPH_WEAK] = "weak",
	[GRAPH_LOST] = "unreachable", [GRAPH_INDIRECT] = "indirect",
};

/* Writes the name of a node: "0x55d0" for a block, "r12" for a root, "-" for no node. */
static void name_node(const struct graph *graph, uint32_t node, char *text, size_t size)
{
	if (node == GRAPH_NONE)
		snprintf(text, size, "-");
	else if (node >= graph->count)
		snprintf(text, size, "r%" PRIu32, node - graph->count);
	else
		snprintf(text, size, "0x%" PRIx64, graph->blocks[node].address);
}

/*
 * Marks a block and its ancestors up to the first one that is marked already. above: the parent or
 * the dominator of each block.
 */
static void mark_way(const struct graph *graph, uint8_t *marks, uint8_t mark, const uint32_t *above,
		     uint32_t block)
{
	for (; block < graph->count && !(marks[block] & mark); block = above[block])
		marks[block] |= mark;
}

/*
 * Writes the blocks of the process. A block from before the fork is written only if it leads to a
 * block from after the fork: otherwise each child would repeat all blocks of its parent.
 */
static void put_blocks(struct out *out, const struct report *report)
{
	const struct graph *graph = report->graph;
	cleanup_free uint8_t *marks = memory_zalloc(graph->count + 1ull, 1);
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->count; i++) {
		if (graph->blocks[i].order & GRAPH_OF_PARENT)
			continue;
		mark_way(graph, marks, 1, graph->parents, i);
		mark_way(graph, marks, 2, graph->dominators, i);
	}
	for (uint32_t i = 0; i < graph->count; i++) {
		char name[24], parent[24], dominator[24], text[160];
		uint32_t above = graph->parents[i];
		uint64_t start = UINT64_MAX, offset;

		if (!marks[i])
			continue;
		if (count % BLOCKS_IN_NOTE == 0) {
			if (count)
				end_note(out);
			report->process->beat(report->process->user);
			begin_note(out, report, NOTE_BLOCK);
		}
		count++;
		if (above != GRAPH_NONE)
			start = above < graph->count
					? graph->blocks[above].address
					: report->roots->list.items[above - graph->count].from;
		/* offset of the pointer to the block in the block's parent */
		offset = graph->from[i] >= start ? graph->from[i] - start : 0;
		name_node(graph, i, name, sizeof(name));
		name_node(graph, above, parent, sizeof(parent));
		name_node(graph, graph->dominators[i], dominator, sizeof(dominator));
		snprintf(text, sizeof(text), "%s %s %" PRIu64 " %s %" PRIu64 " %" PRIu32,
			 classes[graph->classes[i]], parent, offset, dominator, graph->retained[i],
			 graph->retained_count[i]);
		put_text(out, name, text);
	}
	if (count)
		end_note(out);
}

/* ---- resident memory ---- */

/* Runs of pages as a text, and the address where they begin (see the note ~pages). */
struct runs_text {
	uint64_t from, at; /* start of the runs, and end of the runs that are in the text so far */
	char text[RUNS_TEXT];
	size_t used;
	unsigned count; /* number of texts in the current note so far */
};

static void add_pages(struct runs_text *runs, char state, uint64_t pages)
{
	runs->text[runs->used++] = state;
	if (pages > 1)
		runs->used += (size_t)snprintf(runs->text + runs->used, 24, "%" PRIu64, pages);
	runs->text[runs->used] = '\0';
	runs->at += pages * WORDS_PAGE;
}

static void end_runs(struct out *out, const struct report *report, struct runs_text *runs)
{
	char name[24];

	if (!runs->used)
		return;
	if (runs->count == RUNS_IN_NOTE) {
		end_note(out);
		runs->count = 0;
	}
	if (!runs->count++)
		begin_note(out, report, NOTE_PAGES);
	snprintf(name, sizeof(name), "0x%" PRIx64, runs->from);
	put_string(out, name);
	put_string(out, runs->text);
	runs->used = 0;
}

/*
 * Writes the notes on resident memory: first one for each mapping, then those on pages, and last a
 * note with the state "done" or "unknown".
 */
static void put_residences(struct out *out, const struct report *report)
{
	const struct process *process = report->process;
	const struct maps *maps = &process->subject.maps;
	const struct page_runs *pages = &process->pages;
	uint64_t resident = 0, mappings = 0;
	struct runs_text runs = { 0 };
	size_t first;
	bool is_known = process->has_smaps;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->items[i];
		const struct residence *residence = &process->residences[i];

		is_known &= residence->has_runs;
		first = ARRAY_SEARCH(pages->count, at, pages->items[at].to <= mapping->from);
		if (!residence->resident && !residence->swapped &&
		    (first == pages->count || pages->items[first].from >= mapping->to))
			continue;
		begin_note(out, report, NOTE_RESIDENT);
		put_hex(out, "from", mapping->from);
		put_hex(out, "to", mapping->to);
		put_text(out, "kind", process_kind(process, mapping));
		put_number(out, "resident", residence->resident);
		if (residence->swapped)
			put_number(out, "swapped", residence->swapped);
		put_text(out, "path", mapping->path);
		end_note(out);
		resident += residence->resident;
		mappings++;
	}
	for (size_t i = 0; i < pages->count; i++) {
		const struct page_run *run = &pages->items[i];
		char state = run->state & PAGE_ZERO ? 'z' : run->state & PAGE_PRESENT ? 'p' : 's';

		/* 48 bytes: two states with their numbers of pages */
		if (runs.used + 48 > sizeof(runs.text) || run->from < runs.at)
			end_runs(out, report, &runs);
		if (!runs.used)
			runs.from = runs.at = run->from;
		if (run->from > runs.at)
			add_pages(&runs, '-', (run->from - runs.at) / WORDS_PAGE);
		add_pages(&runs, state, (run->to - run->from) / WORDS_PAGE);
		if (i % 4096 == 0)
			report->process->beat(report->process->user);
	}
	end_runs(out, report, &runs);
	if (runs.count)
		end_note(out);
	begin_note(out, report, NOTE_RESIDENT);
	put_text(out, "state", is_known ? "done" : "unknown");
	put_number(out, "resident", resident);
	put_number(out, "mappings", mappings);
	put_number(out, "pause", report->pause_ns);
	end_note(out);
}

/* ---- waits of a core file ---- */

#define MUTEX_KINDS 512u /* upper bound of the value that glibc stores as the kind of a mutex */

/* Returns `tid` if a thread of the core file has this id, else 0. */
static uint32_t find_thread(const struct process *process, uint32_t tid)
{
	for (size_t i = 0; i < process->threads.count; i++)
		if ((uint32_t)process->threads.items[i].tracee.tid == tid)
			return tid;
	return 0;
}

/*
 * Returns the id of the thread that holds a mutex, as stored in the mutex. arguments: a call of
 * futex(2) that waits for the mutex. 0: unknown, or the futex may not belong to a mutex of glibc.
 */
static uint32_t find_holder(const struct process *process, const uint64_t arguments[3])
{
	uint32_t value = (uint32_t)arguments[2], owner;
	/* struct __pthread_mutex_s: the futex, a count, the owner, the number of users, the kind */
	uint32_t words[5];
	int operation = (int)arguments[1] & FUTEX_CMD_MASK;

	if (subject_get(&process->subject, arguments[0], words, sizeof(words)))
		return 0;
	owner = words[2];
	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2)
		return find_thread(process, words[0] & FUTEX_TID_MASK);
	/* while threads wait, the futex is 2, or in a robust mutex the owner with FUTEX_WAITERS */
	if ((operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET) || !words[3] ||
	    words[4] >= MUTEX_KINDS ||
	    (value != 2 && (!(value & FUTEX_WAITERS) || (value & FUTEX_TID_MASK) != owner)))
		return 0;
	return find_thread(process, owner);
}

/* ---- the complete result ---- */

static void put_end(struct out *out, const struct report *report)
{
	struct rusage usage;
	const struct process *process = report->process;
	const struct graph *graph = report->graph;
	uint64_t threads = 0, unkept = 0, bytes = 0, blocks = 0, unkept_of_parent = 0;

	for (uint32_t i = 0; i < graph->count; i++) {
		if (graph->blocks[i].order & GRAPH_OF_PARENT) {
			unkept_of_parent += graph->classes[i] >= GRAPH_LOST;
			continue;
		}
		blocks++;
		unkept += graph->classes[i] >= GRAPH_LOST;
		bytes += graph->classes[i] >= GRAPH_LOST ? graph->blocks[i].size : 0;
	}
	for (size_t i = 0; i < process->threads.count; i++)
		threads += process->threads.items[i].tracee.tid != 0;
	begin_note(out, report, NOTE_SCAN);
	put_text(out, "state", "done");
	put_text(out, "doubt", report->live->doubt);
	put_number(out, "blocks", blocks);
	if (graph->count > blocks)
		put_number(out, "inherited", graph->count - blocks);
	if (unkept_of_parent)
		put_number(out, "inherited-unreachable", unkept_of_parent);
	put_number(out, "unreachable", unkept);
	put_number(out, "unreachable-bytes", bytes);
	put_number(out, "roots", report->roots->list.count);
	put_number(out, "threads", threads);
	put_number(out, "read", process->read_bytes);
	put_number(out, "unread", process->unread_bytes);
	put_number(out, "pause", report->pause_ns);
	put_number(out, "took", report->whole_ns);
	/* peak memory of the scanner in bytes */
	put_number(out, "memory",
		   getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss << 10);
	end_note(out);
}

int report_write(const struct report *report, int fd, struct error *err)
{
	const struct live_handles *handles = &report->live->handles;
	struct out out;
	int rc;

	out_open(&out, fd);
	if (report->process->subject.core) {
		/* for a running process, the collector has already written the cut to the stream */
		begin_note(&out, report, NOTE_SCAN);
		put_text(&out, "state", "cut");
		put_text(&out, "when", "core");
		put_text(&out, "waits", REGISTERS_HAVE_CALL ? "read" : "unknown");
		end_note(&out);
		for (size_t i = 0; i < report->process->threads.count; i++) {
			const struct process_thread *thread = &report->process->threads.items[i];
			uint64_t arguments[3];
			char frames[RUNS_TEXT] = "";
			size_t used = 0;

			if (registers_call(&thread->tracee.registers, arguments) != SYS_futex)
				continue;
			begin_note(&out, report, NOTE_BLOCKED);
			put_number(&out, "thread", (uint64_t)thread->tracee.tid);
			put_hex(&out, "futex", arguments[0]);
			put_number(&out, "holder", find_holder(report->process, arguments));
			/*
			 * 20: space for one frame; 1: in a trace, a frame is a return address,
			 * which is after the call
			 */
			for (unsigned k = 0; k < thread->frame_count && used + 20 < sizeof(frames);
			     k++)
				used += (size_t)snprintf(frames + used, sizeof(frames) - used,
							 "%" PRIx64 " ", thread->frames[k].pc + 1);
			put_text(&out, "frames", frames);
			end_note(&out);
		}
	} else {
		put_residences(&out, report);
	}
	if (!report->process->is_light) {
		for (uint32_t i = 0; i < report->roots->list.count; i++)
			put_root(&out, report, i);
		put_blocks(&out, report);
		for (size_t i = 0; i < handles->count; i++) {
			if (!handles->items[i].is_lost)
				continue;
			begin_note(&out, report, NOTE_HANDLE);
			put_text(&out, "class", resource_table[handles->items[i].class].type);
			put_hex(&out, "object", handles->items[i].object);
			end_note(&out);
		}
		put_end(&out, report);
	}
	rc = out_close(&out);
	return rc ? error_system(err, -rc, "cannot write the results of the scan") : 0;
}
