/* SPDX-License-Identifier: MIT */
#include "select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "hook_table.h"
#include "notes.h"

/* A list of shell patterns such as "malloc,c?lloc,*memalign". A text must match one of them. */
struct globs {
	char **items;
	size_t count, capacity;
};

struct indices {
	uint64_t *items;
	size_t count, capacity;
};

struct code_range {
	uint64_t from, to;
};

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

/* State of the filter --function. Whether a function matches is cached. */
struct select_function {
	struct globs globs;
	ARRAY_OF(uint8_t) known; /* enum answer, indexed by id of the function */
};

struct module_range {
	const struct trace_process *process;
	uint64_t from, to;
	bool is_wanted;
};

/*
 * State of the filter --module, which selects calls whose backtrace has a frame in a matching
 * module. Whether a backtrace matches is cached.
 */
struct select_module {
	struct globs globs;
	ARRAY_OF(struct module_range) ranges; /* addresses of all mappings, the newest last */
	ARRAY_OF(uint8_t) known;	      /* enum answer, indexed by id of the backtrace */
};

struct named_thread {
	const struct trace_process *process;
	uint32_t id; /* the thread's tid; 0: not known yet */
	uint64_t pthread;
	bool is_wanted;
};

/* State of the filter --thread: a tid, or patterns for the names of threads. */
struct select_thread {
	bool has_id;
	uint32_t id;
	struct globs globs;
	struct hash_table table; /* named threads; key: pthread_t and process */
	struct pool pool;
	const struct trace_process *process; /* the process for which is_process was computed */
	bool is_process;
};

/* State of the filter --size: A, A..B, A.. or ..B, with k, M, G, T for powers of 1024. */
struct select_size {
	bool is_set;
	uint64_t from, to;
};

/*
 * The live objects that selected calls acquired, whose releases are selected, too. Memory use grows
 * with the number of objects that are live at the same time.
 */
struct select_held {
	ARRAY_OF(struct ledger *) ledgers; /* one ledger for each process */
	struct map
		by_section; /* key: section (number of the stream); value: index + 1 in `ledgers` */
	struct ledger *current;
	uint32_t section; /* section of the process whose ledger is `current` */
};

struct select {
	struct globs programs;
	/* the process for which is_other was computed; NULL: not known yet */
	const struct trace_process *process;
	struct select_options options;
	struct indices indices;
	bool leaves_out; /* the calls in `indices` are removed instead of selected */
	struct globs classes;
	uint64_t mask; /* mask of classes (bit 0 is class 1), if they are not given by name */
	uint64_t pid;  /* pid of the selected process, if it is not given by name */
	char *module;  /* PATTERNS of --module=PATTERNS:START+SIZE; NULL: no range is given */
	uint64_t start, size;
	/* the range START+SIZE in each matching mapping */
	ARRAY_OF(struct code_range) ranges;
	struct select_function functions;
	struct select_module modules;
	struct globs paths;
	struct select_thread thread;
	struct select_size size_range;
	struct select_held held;
	uint64_t seen, kept;   /* seen: number of calls; kept: number of selected calls */
	bool is_paired;	       /* a release is selected if its acquisition was selected */
	bool is_other;	       /* the current process is not selected */
	bool keeps_calls;      /* no filter removes or changes calls */
	struct event event;    /* copy of the current event, with a cut backtrace */
	struct pool pool;      /* memory of cut backtraces */
	struct hash_table cut; /* the cut backtraces; key: their frames */
	/* cut backtraces, indexed by id of the whole backtrace; NULL: not cut yet */
	ARRAY_OF(const struct backtrace *) by_id;
	struct trace_nodes nodes;  /* frames of the cut backtraces */
	ARRAY_OF(uint64_t) frames; /* frames of the backtrace that is being cut */
};

/* ---- patterns ---- */

/* Splits `text` at commas; if it is NULL, the list is empty. */
static void globs_parse(struct globs *globs, const char *text)
{
	while (text && *text) {
		size_t length = strcspn(text, ",");

		if (length)
			*ARRAY_ADD(globs) = memory_text_part(text, length);
		text += length + (text[length] == ',');
	}
}

static bool globs_match(const struct globs *globs, const char *text)
{
	for (size_t i = 0; i < globs->count; i++)
		if (fnmatch(globs->items[i], text, 0) == 0)
			return true;
	return false;
}

static void globs_free(struct globs *globs)
{
	for (size_t i = 0; i < globs->count; i++)
		free(globs->items[i]);
	free(globs->items);
	*globs = (struct globs){ 0 };
}

/* ---- --thread ---- */

#define NAME_MAX_LENGTH 15u /* the kernel's TASK_COMM_LEN minus the NUL */

static bool thread_equal(const void *item, const void *key)
{
	const struct named_thread *one = item, *two = key;

	return one->process == two->process && one->pthread == two->pthread;
}

/*
 * Finds a thread by its pthread_t: a call of pthread_setname_np() has the pthread_t of the thread
 * that gets the name, but not its tid.
 */
static struct named_thread *find_thread(const struct select_thread *part, const struct event *event,
					uint64_t pthread, uint64_t *hash)
{
	struct named_thread key = { .process = event->process, .pthread = pthread };

	*hash = hash_two(part->table.seed, pthread, (uintptr_t)event->process);
	return hash_table_find(&part->table, *hash, thread_equal, &key);
}

static void select_thread_names(struct select_thread *part, const struct event *event)
{
	const char *function = event->function->name, *name;
	uint64_t pthread = event->pthread, hash;
	struct named_thread *thread;

	if (part->has_id || !part->globs.count || (event->flags & CALL_FAILED))
		return;
	if (!strcmp(function, "pthread_setname_np"))
		pthread = event->object;
	else if (strcmp(function, "prctl") != 0 && strcmp(function, NOTE_THREAD) != 0)
		return;
	name = event_argument(event, "name");
	if (!name)
		return;
	thread = find_thread(part, event, pthread, &hash);
	if (!thread) {
		thread = pool_zalloc(&part->pool, sizeof(*thread));
		hash_table_add(&part->table, hash, thread);
		thread->process = event->process;
		thread->pthread = pthread;
	}
	thread->id = pthread == event->pthread ? event->thread : 0;
	thread->is_wanted = globs_match(&part->globs, name);
}

static bool select_thread_asks(struct select_thread *part, const struct event *event)
{
	const struct named_thread *thread;
	uint64_t hash;

	if (part->has_id)
		return event->thread == part->id;
	thread = find_thread(part, event, event->pthread, &hash);
	/* if the tid differs, the named thread has ended, and this thread has the same pthread_t */
	if (!thread || (thread->id && thread->id != event->thread)) {
		const char *name = event->process->name ? event->process->name : "";
		const char *slash = strrchr(name, '/');
		char shortened[NAME_MAX_LENGTH + 1] = { 0 };

		if (part->process != event->process) {
			strncpy(shortened, slash ? slash + 1 : name, NAME_MAX_LENGTH);
			part->process = event->process;
			part->is_process = globs_match(&part->globs, shortened);
		}
		return part->is_process;
	}
	return thread->is_wanted;
}

/* ---- --function and --module: results are cached by the id of the function or backtrace ---- */

static bool select_module_matches(const struct globs *globs, const char *path)
{
	const char *slash = strrchr(path, '/');

	return globs_match(globs, path) || (slash && globs_match(globs, slash + 1));
}

static bool is_in_module(const struct select_module *part, const struct event *event, uint64_t at)
{
	for (size_t i = part->ranges.count; i > 0; i--) {
		const struct module_range *range = &part->ranges.items[i - 1];

		if (range->process == event->process && range->from <= at && at < range->to)
			return range->is_wanted;
	}
	return false;
}

static bool select_module_asks(struct select_module *part, const struct event *event)
{
	uint8_t *known;

	if (!event->backtrace)
		return false;
	known = ARRAY_AT(&part->known, event->backtrace->id);
	if (*known != ANSWER_UNKNOWN)
		return *known == ANSWER_YES;
	*known = ANSWER_NO;
	/*
	 * look up the byte before each return address: if a function ends with a call, the return
	 * address is the first byte after the function
	 */
	for (const struct trace_node *at = event->backtrace->node; at->count && *known == ANSWER_NO;
	     at = at->caller)
		if (is_in_module(part, event, at->address - 1))
			*known = ANSWER_YES;
	return *known == ANSWER_YES;
}

/* ---- --size ---- */

static const char *take_size(const char *text, uint64_t *size)
{
	static const char units[] = "kMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (end == text || *text == '-' || errno)
		return NULL;
	unit = *end ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
	if (!unit)
		return end;
	for (const char *step = units; step <= unit; step++)
		if (__builtin_mul_overflow(*size, 1024ull, size))
			return NULL;
	return end + 1;
}

static int select_size_parse(struct select_size *part, const char *text, struct error *err)
{
	const char *at = text;

	if (!text)
		return 0;
	part->is_set = true;
	part->to = UINT64_MAX;
	if (strncmp(at, "..", 2) != 0)
		at = take_size(at, &part->from);
	if (at && !*at && at != text)
		part->to = part->from;
	else if (at && !strncmp(at, "..", 2) && strcmp(text, "..") != 0)
		at = at[2] ? take_size(at + 2, &part->to) : at + 2;
	if (at && !*at && at != text && part->from <= part->to)
		return 0;
	return error_set(err, EINVAL,
			 "--size=%s: expected a number or a range of bytes: 100, 100..4k, 1M.. or "
			 "..64 (k is 1024)",
			 text);
}

/* ---- objects that selected calls acquired ---- */

static struct ledger *ledger_of(struct select_held *part, const struct event *event)
{
	uint32_t section = event->process->section;

	if (part->current && part->section == section)
		return part->current;
	if (!part->by_section.seed)
		map_init(&part->by_section);
	if (!map_get(&part->by_section, 0, section)) {
		*ARRAY_ADD(&part->ledgers) = ledger_create(false);
		map_set(&part->by_section, 0, section, (uint32_t)part->ledgers.count);
	}
	part->section = section;
	part->current = part->ledgers.items[map_get(&part->by_section, 0, section) - 1];
	return part->current;
}

/* ---- options ---- */

static int by_value(const void *one, const void *two)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)two;

	return ORDER(a, b);
}

static int read_indices(struct indices *indices, const char *path, struct error *err)
{
	cleanup_file FILE *file = path ? fopen(path, "re") : NULL;
	char line[256];

	if (!path)
		return 0;
	if (!file)
		return error_system(err, errno, "%s: cannot open the list of indices", path);
	while (fgets(line, sizeof(line), file)) {
		char *end;
		uint64_t index = strtoull(line, &end, 0);

		if (end == line)
			continue;
		*ARRAY_ADD(indices) = index;
	}
	if (ferror(file))
		return error_system(err, EIO, "%s: cannot read the list of indices", path);
	ARRAY_SORT(indices, by_value);
	return 0;
}

/* Parses PATTERNS or PATTERNS:START+SIZE, with START and SIZE in hexadecimal. */
static void parse_modules(struct select *select, const char *text)
{
	const char *colon = text ? strrchr(text, ':') : NULL;
	char *end = NULL;

	if (colon) {
		select->start = strtoull(colon + 1, &end, 16);
		if (end != colon + 1 && *end == '+')
			select->size = strtoull(end + 1, &end, 16);
	}
	if (select->size && !*end)
		select->module = memory_text_part(text, (size_t)(colon - text));
	globs_parse(&select->modules.globs, select->module ? select->module : text);
}

int select_create(struct select **result, const struct select_options *options, struct error *err)
{
	struct select *select = memory_zalloc(1, sizeof(*select));
	bool is_name = !options->classes;
	char *end;
	int rc;

	select->options = *options;
	hash_table_init(&select->cut);
	trace_nodes_init(&select->nodes, &select->pool);
	if (options->process && *options->process &&
	    !options->process[strspn(options->process, "0123456789")])
		select->pid = strtoull(options->process, NULL, 10);
	else
		globs_parse(&select->programs, options->process);
	/* try names of classes first: "fd" is a class, but also a hexadecimal mask */
	for (size_t i = 1; i < RESOURCE_COUNT && !is_name; i++)
		is_name = !strcmp(resource_table[i].type, options->classes);
	if (!is_name)
		select->mask = strtoull(options->classes, &end, 16);
	if (is_name || *end)
		globs_parse(&select->classes, options->classes);
	parse_modules(select, options->modules);
	globs_parse(&select->functions.globs, options->functions);
	globs_parse(&select->paths, options->paths);
	if (options->thread) {
		struct select_thread *part = &select->thread;
		unsigned long id = strtoul(options->thread, &end, 10);

		hash_table_init(&part->table);
		part->has_id = *options->thread && *end == '\0' && id <= UINT32_MAX;
		part->id = (uint32_t)id;
		if (!part->has_id)
			globs_parse(&part->globs, options->thread);
	}
	select->is_paired = options->functions || options->paths ||
			    (options->modules && !select->module) || options->thread ||
			    options->size ||
			    (options->is_whole && (options->has_contexts || select->module));
	select->keeps_calls = !select->is_paired && !options->classes && !options->has_contexts &&
			      !options->process && options->depth < 0 && !options->calls &&
			      !options->modules;
	select->leaves_out = options->calls && *options->calls == '!';
	rc = read_indices(&select->indices,
			  options->calls ? options->calls + select->leaves_out : NULL, err);
	if (rc == 0)
		rc = select_size_parse(&select->size_range, options->size, err);
	if (rc) {
		select_destroy(select);
		return rc;
	}
	*result = select;
	return 0;
}

/* ---- --backtrace ---- */

static bool same_frames(const void *item, const void *key)
{
	const struct backtrace *one = item, *two = key;

	return one->node == two->node && one->epoch == two->epoch &&
	       (!one->texts) == (!two->texts) &&
	       (!one->texts || !memcmp(one->texts, two->texts, one->count * sizeof(*one->texts)));
}

/*
 * Cuts a backtrace to its innermost frames, as many as --backtrace says. Backtraces that are equal
 * after this share one copy, so that their calls form one group.
 */
static const struct backtrace *cut(struct select *select, const struct backtrace *whole)
{
	struct backtrace key = *whole, *found;
	uint64_t hash;

	select->frames.count = 0;
	for (const struct trace_node *node = whole->node;
	     node->count && select->frames.count < (uint64_t)select->options.depth;
	     node = node->caller)
		*ARRAY_ADD(&select->frames) = node->address;
	key.node = trace_nodes_of(&select->nodes, select->frames.items, select->frames.count);
	key.count = key.node->count;
	hash = hash_two(select->cut.seed, key.node->number, key.epoch);
	found = hash_table_find(&select->cut, hash, same_frames, &key);
	if (found)
		return found;
	found = pool_alloc(&select->pool, sizeof(*found));
	*found = key;
	found->id = (uint32_t)select->cut.count;
	hash_table_add(&select->cut, hash, found);
	return found;
}

/* ---- ranges of code ---- */

static void add_range(struct select *select, const struct trace_mapping *mapping)
{
	uint64_t from = select->start;

	if (!select_module_matches(&select->modules.globs, mapping->path))
		return;
	/*
	 * START is an absolute address if it is inside the mapping (as in a program at a fixed
	 * address); otherwise START is relative to the start of the mapping.
	 */
	if (from < mapping->from || from >= mapping->to)
		from += mapping->from;
	*ARRAY_ADD(&select->ranges) = (struct code_range){ from, from + select->size };
}

static bool is_called_from_range(const struct select *select, const struct event *event)
{
	const struct trace_node *at = event->backtrace ? event->backtrace->node : &trace_no_node;

	for (; at->count; at = at->caller)
		for (size_t k = 0; k < select->ranges.count; k++)
			if (at->address >= select->ranges.items[k].from &&
			    at->address < select->ranges.items[k].to)
				return true;
	return false;
}

static bool wants_class(const struct select *select, const struct resource_class *resource)
{
	uint32_t bit = resource->ordinal - 1;

	if (!select->options.classes)
		return true;
	return select->classes.count ? globs_match(&select->classes, resource->type)
				     : bit < 64 && select->mask >> bit & 1;
}

static bool wants_index(const struct select *select, uint64_t index)
{
	const struct indices *indices = &select->indices;
	bool is_listed = indices->count && bsearch(&index, indices->items, indices->count,
						   sizeof(*indices->items), by_value);

	return !select->options.calls || is_listed != select->leaves_out;
}

/*
 * Whether the call itself matches the filters; matches_by_object() also selects calls that release
 * selected objects. Tries the cheapest filter first.
 */
static bool matches(struct select *select, const struct event *call)
{
	const struct select_options *options = &select->options;
	bool answer = !options->has_contexts ||
		      (options->contexts ? options->contexts & call->context : call->context == 0);

	if (answer && select->module)
		answer = is_called_from_range(select, call);
	if (answer && options->functions) {
		uint8_t *known = ARRAY_AT(&select->functions.known, call->function->id);

		if (*known == ANSWER_UNKNOWN)
			*known = globs_match(&select->functions.globs, call->function->name)
					 ? ANSWER_YES
					 : ANSWER_NO;
		answer = *known == ANSWER_YES;
	}
	if (answer && options->paths)
		answer = globs_match(&select->paths, event_target(call));
	if (answer && options->thread)
		answer = select_thread_asks(&select->thread, call);
	if (answer && options->modules && !select->module)
		answer = select_module_asks(&select->modules, call);
	if (answer && select->size_range.is_set)
		answer = call->type == CALL_TYPE_ALLOC && call->size >= select->size_range.from &&
			 call->size <= select->size_range.to;
	return answer;
}

/*
 * Whether the call matches the filters, or releases an object that a selected call acquired.
 * Updates the ledger of these objects.
 */
static bool matches_by_object(struct select *select, const struct event *call)
{
	bool answer = matches(select, call);
	struct ledger *ledger;

	if (call->flags & CALL_FAILED || !(event_is_alloc(call) || event_is_free(call)))
		return answer;
	ledger = ledger_of(&select->held, call);
	if (event_is_alloc(call) && answer) {
		ledger_event(ledger, call);
	} else if (event_is_free(call) && ledger_releases(ledger, call)) {
		ledger_event(ledger, call);
		answer = true;
	} else if (event_is_alloc(call) && !(call->resource->flags & 1) &&
		   ledger_releases(ledger, call)) {
		/*
		 * an unselected call acquired an object at the address of a selected object. So the
		 * selected object was released without a record: remove it from the ledger
		 */
		struct event loss = *call;

		loss.type = CALL_TYPE_FREE;
		ledger_event(ledger, &loss);
	}
	return answer;
}

static void count_call(struct select *select, const struct event *event, bool is_kept)
{
	select->seen += event->kind == EVENT_CALL;
	select->kept += event->kind == EVENT_CALL && is_kept;
}

static bool select_call(struct select *select, const struct event **event)
{
	const struct backtrace *whole = (*event)->backtrace;
	bool answer = false;

	if (select->options.thread)
		select_thread_names(&select->thread, *event);
	if (select->options.depth >= 0 && whole) {
		const struct backtrace **known = ARRAY_AT(&select->by_id, whole->id);

		if (!*known)
			*known = cut(select, whole);
		select->event = **event;
		select->event.backtrace = *known;
		*event = &select->event;
	}
	/* select all notes: they are facts about the process, whichever calls are selected */
	if ((*event)->kind == EVENT_NOTE && select->options.is_whole)
		return true;
	if (wants_class(select, (*event)->resource) && wants_index(select, (*event)->index))
		answer = select->is_paired ? matches_by_object(select, *event)
					   : matches(select, *event);
	count_call(select, *event, answer);
	return answer;
}

bool select_event(struct select *select, const struct event **event)
{
	if (select->keeps_calls && event_is_call(*event)) {
		count_call(select, *event, true);
		return true;
	}
	if (select->options.process) {
		/*
		 * decide whether the process of the stream is selected. The PINF packet or the
		 * header of a text names the process; a stream without them is not selected.
		 */
		const struct trace_process *process = (*event)->process;

		if (process != select->process || (*event)->kind == EVENT_PROCESS) {
			select->process = process->has_process ? process : NULL;
			select->is_other =
				!process->has_process ||
				(select->programs.count
					 ? !process->name ||
						   !globs_match(&select->programs, process->name)
					 : process->pid != select->pid);
		}
	}
	if (select->is_other)
		return false;
	switch ((*event)->kind) {
	case EVENT_CALL:
	case EVENT_NOTE:
		return select_call(select, event);
	case EVENT_RESOURCE:
		return wants_class(select, (*event)->resource);
	case EVENT_CONTEXT:
		return !select->options.has_contexts ||
		       (select->options.contexts & (*event)->call_context->bit) != 0;
	case EVENT_MAPPING:
		if (select->module) {
			add_range(select, (*event)->mapping);
		} else if (select->options.modules) {
			struct select_module *part = &select->modules;
			const struct trace_mapping *mapping = (*event)->mapping;
			struct module_range *range = ARRAY_ADD(&part->ranges);

			range->process = (*event)->process;
			range->from = mapping->has_tail ? mapping->code : mapping->from;
			range->to = mapping->to;
			range->is_wanted = select_module_matches(&part->globs, mapping->path);
			/*
			 * discard the cached results: before, another module may have been mapped
			 * at these addresses
			 */
			part->known.count = 0;
		}
		break;
	case EVENT_STREAM:
		select->ranges.count = 0;
		break;
	case EVENT_PROCESS:
	case EVENT_TRACER:
	case EVENT_ATTACHMENT:
	case EVENT_HEAP:
	case EVENT_COMMENT:
		break;
	}
	return true;
}

bool select_keeps_calls(const struct select *select)
{
	const struct select_tally *tally = select->options.tally;

	/*
	 * if there are filters, select_event() must count the calls even if it removes none: the
	 * reader of traces applies the filters --since and --until
	 */
	return select->keeps_calls && !(tally && tally->filters);
}

bool select_has_process(const struct select *select)
{
	return !select->is_other;
}

void select_destroy(struct select *select)
{
	if (!select)
		return;
	if (select->options.tally) {
		select->options.tally->seen += select->seen;
		select->options.tally->kept += select->kept;
	}
	free(select->indices.items);
	globs_free(&select->classes);
	free(select->module);
	free(select->ranges.items);
	free(select->by_id.items);
	free(select->frames.items);
	trace_nodes_free(&select->nodes);
	globs_free(&select->programs);
	globs_free(&select->functions.globs);
	globs_free(&select->paths);
	free(select->functions.known.items);
	globs_free(&select->modules.globs);
	free(select->modules.ranges.items);
	free(select->modules.known.items);
	globs_free(&select->thread.globs);
	hash_table_free(&select->thread.table);
	pool_free(&select->thread.pool);
	for (size_t i = 0; i < select->held.ledgers.count; i++)
		ledger_destroy(select->held.ledgers.items[i]);
	free(select->held.ledgers.items);
	map_clear(&select->held.by_section);
	hash_table_free(&select->cut);
	pool_free(&select->pool);
	free(select);
}
