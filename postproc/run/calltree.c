/* SPDX-License-Identifier: MIT */
#include "calltree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

#define DEPTH_UNKNOWN UINT32_MAX

/*
 * The latest thread with a given tid. Tids and pthread_t values are reused, so each thread also
 * gets a number that is never reused (`life`).
 */
struct calltree_thread {
	uint32_t id;
	uint32_t life;	 /* never-reused number of the thread that now has the tid */
	uint32_t handle; /* index of its pthread_t in calltree.handle_list */
	bool is_announced;
	uint64_t pthread;
	/* for the thread that now has the tid: its newest call's number, and its latest time */
	uint64_t newest_call, last_ns;
};

struct handle {
	uint64_t value;
	uint32_t number;
};

void calltree_init(struct calltree *tree, int directory)
{
	memset(tree, 0, sizeof(*tree));
	hash_table_init(&tree->threads);
	hash_table_init(&tree->handles);
	spill_sort_init(&tree->sort, directory, 0);
	spill_init(&tree->spill, directory);
	tree->open = memory_alloc(CALLTREE_LEVELS * sizeof(*tree->open));
	tree->levels = memory_zalloc(CALLTREE_LEVELS, sizeof(*tree->levels));
	tree->window = memory_alloc(CALLTREE_BLOCK * sizeof(*tree->window));
}

void calltree_free(struct calltree *tree)
{
	for (uint32_t i = 0; tree->levels && i < tree->levels_used; i++) {
		free(tree->levels[i].nodes);
		free(tree->levels[i].blocks.items);
	}
	free(tree->levels);
	free(tree->open);
	free(tree->window);
	free(tree->handle_list.items);
	hash_table_free(&tree->threads);
	hash_table_free(&tree->handles);
	pool_free(&tree->pool);
	spill_sort_free(&tree->sort);
	spill_close(&tree->spill);
}

static uint64_t within(uint64_t time, uint64_t low, uint64_t high)
{
	if (time < low)
		time = low;
	return time > high ? high : time;
}

/* ---- threads and their lives ---- */

static bool thread_equal(const void *item, const void *key)
{
	const struct calltree_thread *thread = item;

	return thread->id == *(const uint32_t *)key;
}

static bool handle_equal(const void *item, const void *key)
{
	const struct handle *handle = item;

	return handle->value == *(const uint64_t *)key;
}

static void begin_life(struct calltree *tree, struct calltree_thread *thread, uint64_t pthread)
{
	uint64_t value = pthread ? pthread : thread->id;
	uint64_t hash = hash_two(tree->handles.seed, value, 0);
	struct handle *handle = hash_table_find(&tree->handles, hash, handle_equal, &value);

	if (!handle) {
		handle = pool_alloc(&tree->pool, sizeof(*handle));
		*ARRAY_ADD(&tree->handle_list) = handle->value = value;
		handle->number = (uint32_t)tree->handle_list.count - 1;
		hash_table_add(&tree->handles, hash, handle);
	}
	thread->handle = handle->number;
	thread->life = tree->lives++;
	thread->pthread = pthread;
	thread->is_announced = false;
	thread->newest_call = thread->last_ns = 0;
}

/*
 * Returns the thread of the event. If the last known thread with this tid had another pthread_t,
 * the kernel has reused the tid, so a new thread begins (another life).
 */
static struct calltree_thread *thread_of(struct calltree *tree, const struct event *event)
{
	uint64_t hash = hash_two(tree->threads.seed, event->thread, 0);
	struct calltree_thread *thread =
		hash_table_find(&tree->threads, hash, thread_equal, &event->thread);

	if (thread && thread->pthread == event->pthread)
		return thread;
	if (!thread) {
		thread = pool_alloc(&tree->pool, sizeof(*thread));
		thread->id = event->thread;
		hash_table_add(&tree->threads, hash, thread);
	}
	begin_life(tree, thread, event->pthread);
	return thread;
}

void calltree_begin_thread(struct calltree *tree, const struct event *event)
{
	struct calltree_thread *thread = thread_of(tree, event);

	calltree_see_time(tree, event->time_ns);
	if (thread->is_announced)
		begin_life(tree, thread, event->pthread);
	thread->is_announced = true;
}

/* ---- events ---- */

void calltree_see_time(struct calltree *tree, uint64_t time_ns)
{
	if (time_ns > tree->last_ns && time_ns != CALLTREE_NEVER)
		tree->last_ns = time_ns;
}

void calltree_add(struct calltree *tree, const struct event *event, uint32_t symbol, uint32_t path,
		  const uint64_t extra[2])
{
	struct calltree_thread *thread = thread_of(tree, event);
	enum calltree_rank rank = event->flags & CALL_OPEN	 ? CALLTREE_OPEN
				  : event->moment == MOMENT_HALF ? CALLTREE_HALF
				  : event->part			 ? CALLTREE_PART
								 : CALLTREE_CALL;
	struct calltree_record record = {
		.number = event->call,
		.enter_ns = event->enter_ns,
		.leave_ns = within(event->leave_ns, event->enter_ns, CALLTREE_NEVER - 1),
		.extra = { extra[0], extra[1] },
		.symbol = symbol,
		.depth = event->depth,
		.is_unwound = (event->flags & CALL_UNWOUND) != 0,
		.path = path,
	};

	/*
	 * a new thread may have the tid and the pthread_t of an ended thread, without a note about
	 * its start. Then the numbers of calls start again, after all events of the ended thread
	 */
	if (event->enter_ns > thread->last_ns &&
	    (event->call == thread->newest_call || event->call <= thread->newest_call / 2))
		begin_life(tree, thread, event->pthread);
	if (thread->newest_call < event->call)
		thread->newest_call = event->call;
	if (thread->last_ns < event->enter_ns)
		thread->last_ns = event->enter_ns;
	if (thread->last_ns < event->leave_ns)
		thread->last_ns = event->leave_ns;
	record.place = (uint64_t)thread->handle << 32 | thread->life;
	calltree_see_time(tree, event->enter_ns);
	calltree_see_time(tree, event->leave_ns);
	if (rank >= CALLTREE_OPEN)
		record.leave_ns = CALLTREE_NEVER;
	/*
	 * A note about an open call may lack the depth. Then the call is nested in all calls that
	 * were entered before it and have not returned.
	 */
	if (event->kind == EVENT_NOTE && !event->depth)
		record.depth = DEPTH_UNKNOWN;
	memcpy(spill_sort_reserve(&tree->sort, sizeof(record)), &record, sizeof(record));
	spill_sort_commit(&tree->sort,
			  (struct spill_key){ record.place, record.number,
					      (uint64_t)rank << 62 | within(record.enter_ns, 0,
									    (1ull << 62) - 1) },
			  sizeof(record));
}

/*
 * Reads the first record of the next call, and skips the remaining records of the current call. A
 * record with the same number belongs to another call if it begins after the current call returned.
 */
static void next_record(struct calltree *tree)
{
	const struct calltree_record last = tree->record;
	struct spill_piece piece;
	bool is_repeated = tree->has_record;

	do {
		tree->has_record = spill_sort_next(&tree->sort, &piece, NULL) > 0;
		if (tree->has_record)
			memcpy(&tree->record, piece.bytes, sizeof(tree->record));
		is_repeated = is_repeated && tree->record.place == last.place &&
			      tree->record.number == last.number &&
			      tree->record.enter_ns <= last.leave_ns;
	} while (tree->has_record && is_repeated);
}

int calltree_finish(struct calltree *tree, struct error *err)
{
	if (spill_sort_finish(&tree->sort, err) == 0)
		next_record(tree);
	return spill_error(&tree->sort.spill, err);
}

/* ---- one thread: converts pre-order to a queue for each level ---- */

/*
 * Closes the innermost open calls until `count` open calls are left. On each level, calls are
 * closed in the order in which they began. now_ns: the time at which the thread entered its next
 * call, or CALLTREE_NEVER if it made no other call. A call whose return was not recorded ends at
 * now_ns.
 */
static void close_down_to(struct calltree *tree, uint32_t count, uint64_t now_ns)
{
	while (tree->open_count > count) {
		struct calltree_open *open = &tree->open[--tree->open_count];
		struct calltree_node *node = &open->node;
		uint64_t most = tree->open_count ? open[-1].node.leave_ns : CALLTREE_NEVER;
		struct calltree_level *level = &tree->levels[tree->open_count];

		if (open->is_inferred)
			node->leave_ns = open->newest_ns;
		else if (open->until_ns == CALLTREE_NEVER)
			node->leave_ns = within(now_ns, open->newest_ns, node->leave_ns);
		else if (open->is_unwound && now_ns != CALLTREE_NEVER)
			node->leave_ns = within(now_ns, node->leave_ns, most);
		if (tree->open_count && open[-1].newest_ns < node->leave_ns)
			open[-1].newest_ns = node->leave_ns;
		if (tree->open_count >= tree->levels_used)
			tree->levels_used = tree->open_count + 1;
		if (tree->open_count >= tree->level_count)
			tree->level_count = tree->open_count + 1;
		if (!level->nodes)
			level->nodes = memory_alloc(CALLTREE_BLOCK * sizeof(*level->nodes));
		level->nodes[level->count++ % CALLTREE_BLOCK] = *node;
		if (level->count % CALLTREE_BLOCK == 0)
			*ARRAY_ADD(&level->blocks) = spill_append(
				&tree->spill, level->nodes, CALLTREE_BLOCK * sizeof(*level->nodes));
	}
}

static bool contains(const struct calltree_open *open, const struct calltree_record *record)
{
	if (record->depth == DEPTH_UNKNOWN)
		return open->until_ns == CALLTREE_NEVER;
	/* the depth shows the parent; check the time too: the parent's record may be missing */
	return open->depth < record->depth && open->until_ns >= record->enter_ns;
}

/*
 * Opens a call inside the innermost open call. Corrects times that contradict each other because
 * clocks are rounded.
 */
static void open_call(struct calltree *tree, const struct calltree_record *record)
{
	struct calltree_open *open = &tree->open[tree->open_count];
	struct calltree_open *parent = tree->open_count ? open - 1 : NULL;
	uint64_t *last = parent ? &parent->last_enter : &tree->last_enter;
	uint64_t most = parent ? parent->node.leave_ns : CALLTREE_NEVER;
	bool is_open = record->leave_ns == CALLTREE_NEVER;

	open->node = (struct calltree_node){ .symbol = record->symbol };
	memcpy(open->node.extra, record->extra, sizeof(record->extra));
	open->node.enter_ns = within(record->enter_ns, *last, most);
	open->node.leave_ns =
		within(is_open ? tree->last_ns : record->leave_ns, open->node.enter_ns, most);
	open->until_ns = record->leave_ns;
	open->is_unwound = record->is_unwound;
	open->is_inferred = false;
	open->path = record->path;
	open->depth = record->depth;
	if (record->depth == DEPTH_UNKNOWN)
		open->depth = parent ? parent->depth + 1 : 0;
	open->last_enter = open->newest_ns = *last = open->node.enter_ns;
	*(parent ? &parent->node.children : &tree->root_children) += 1;
	tree->open_count++;
}

static const struct calltree_path *path_of(const struct calltree *tree, uint32_t number)
{
	static const struct calltree_path none;

	return number ? &tree->paths[number - 1] : &none;
}

/*
 * Returns the index of the first step of a path that is inside the enclosing call. outer: path of
 * the enclosing call. Each path may lack its outermost steps.
 */
static uint32_t skip_outer(const struct calltree_path *path, const struct calltree_path *outer)
{
	const struct calltree_step *last = outer->count ? &outer->steps[outer->count - 1] : NULL;

	for (uint32_t i = path->count; last && i > 0; i--)
		if (path->steps[i - 1].address == last->address &&
		    path->steps[i - 1].symbol == last->symbol)
			return i;
	return path->count;
}

/*
 * Opens nodes for the steps of the record's path. A step stays open until a call has different
 * steps: how often the step's function was called is unknown.
 */
static void open_steps(struct calltree *tree, const struct calltree_record *record)
{
	const struct calltree_path *path = path_of(tree, record->path);
	struct calltree_record step = { .enter_ns = record->enter_ns,
					.leave_ns = CALLTREE_NEVER - 1 };
	uint32_t at = tree->open_count, i = 0, depth;

	while (at && tree->open[at - 1].is_inferred)
		at--;
	if (at)
		i = skip_outer(path, path_of(tree, tree->open[at - 1].path));
	/*
	 * The steps get the depth of the enclosing call. If there is none, they get UINT32_MAX, so
	 * that a call of unknown depth inside them gets depth 0.
	 */
	depth = at ? tree->open[at - 1].depth : UINT32_MAX;
	while (at < tree->open_count && i < path->count &&
	       tree->open[at].node.symbol == path->steps[i].symbol) {
		at++;
		i++;
	}
	close_down_to(tree, at, record->enter_ns);
	for (; i < path->count && tree->open_count < CALLTREE_LEVELS - 1; i++) {
		step.symbol = path->steps[i].symbol;
		open_call(tree, &step);
		tree->open[tree->open_count - 1].is_inferred = true;
		tree->open[tree->open_count - 1].depth = depth;
	}
}

int calltree_next_thread(struct calltree *tree, uint64_t *handle, uint64_t *children,
			 struct error *err)
{
	const struct calltree_record *record = &tree->record;
	uint64_t number = record->place >> 32;
	int rc;

	if (!tree->has_record)
		return 0;
	/* forget the nodes of the previous thread */
	for (uint32_t i = 0; i < tree->level_count; i++) {
		tree->levels[i].count = 0;
		tree->levels[i].blocks.count = 0;
	}
	spill_clear(&tree->spill);
	tree->level_count = tree->level = 0;
	tree->index = tree->last_enter = tree->root_children = 0;
	tree->next_child = 1;
	tree->place = tree->record.place;
	while (tree->has_record && record->place >> 32 == number) {
		bool is_other_life = record->place != tree->place;
		uint32_t kept = is_other_life ? 0 : tree->open_count;

		/*
		 * keep the open calls down to the innermost one that encloses the record, and the
		 * steps of paths directly inside that call
		 */
		for (uint32_t i = kept; i > 0; i--) {
			if (tree->open[i - 1].is_inferred)
				continue;
			if (contains(&tree->open[i - 1], record))
				break;
			kept = i - 1;
		}
		close_down_to(tree, kept - (kept == CALLTREE_LEVELS), record->enter_ns);
		if (tree->paths)
			open_steps(tree, record);
		tree->place = record->place;
		open_call(tree, record);
		next_record(tree);
	}
	close_down_to(tree, 0, CALLTREE_NEVER);
	rc = spill_error(&tree->sort.spill, err);
	if (rc == 0)
		rc = spill_error(&tree->spill, err);
	if (rc)
		return rc;
	tree->next_child += (int64_t)tree->root_children;
	*handle = tree->handle_list.items[number];
	*children = tree->root_children;
	return 1;
}

int calltree_next(struct calltree *tree, struct calltree_node *node, struct error *err)
{
	const struct calltree_level *level;
	uint64_t block;

	while (tree->level < tree->level_count && tree->index == tree->levels[tree->level].count) {
		tree->level++;
		tree->index = 0;
	}
	if (tree->level == tree->level_count)
		return 0;
	level = &tree->levels[tree->level];
	block = tree->index / CALLTREE_BLOCK;
	if (block < level->blocks.count && tree->index % CALLTREE_BLOCK == 0) {
		int rc = spill_read(&tree->spill, level->blocks.items[block], tree->window,
				    CALLTREE_BLOCK * sizeof(*tree->window), err);

		if (rc)
			return rc;
	}
	*node = (block < level->blocks.count ? tree->window
					     : level->nodes)[tree->index++ % CALLTREE_BLOCK];
	node->first_child = node->children ? tree->next_child : -1;
	tree->next_child += (int64_t)node->children;
	return 1;
}
