/* SPDX-License-Identifier: MIT */
#include "postproc/views/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "hook_table.h"
#include "postproc/views/summary_fold.h"

#define NO_CLASS UINT32_MAX

int summary_no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "no memory for the summary");
}

static char *copy(struct summary *summary, const char *text)
{
	return text ? pool_text(&summary->pool, text, strlen(text)) : NULL;
}

/* ---- classes ---- */

/* Index of our class, made if need be. type and description are copied. */
static uint32_t summary_class_index(struct summary *summary, enum resource known, const char *type,
				    const char *description, bool is_counted)
{
	uint32_t i;

	for (i = 0; i < summary->class_count; i++) {
		const struct summary_class *class = &summary->classes[i];

		if (class->known == known && (known || !strcmp(class->type, type)))
			return i;
	}
	if (i == SUMMARY_CLASSES)
		return i - 1;
	summary->classes[i] = (struct summary_class){
		.known = known,
		.type = copy(summary, i == SUMMARY_CLASSES - 1 ? "other" : type),
		.description = copy(summary, description),
		.is_counted = is_counted,
	};
	if (!summary->classes[i].type)
		summary->classes[i].type = "?";
	summary->class_count++;
	return i;
}

static uint32_t known_class(struct summary *summary, enum resource known)
{
	const struct resource_facts *facts = &resource_table[known];

	return summary_class_index(summary, known, facts->type, facts->description,
				   facts->flags & 1);
}

/* A class of the stream, met for the first time; NO_CLASS: no memory. */
static uint32_t learn_class(struct summary *summary, const struct resource_class *resource)
{
	struct summary_fold *fold = summary->fold;
	uint32_t index;

	while (fold->class_of.count <= resource->id) {
		uint8_t *item = ARRAY_ADD(&fold->class_of);

		if (!item)
			return NO_CLASS;
		*item = 0;
	}
	index = summary_class_index(summary, resource->known,
				    *resource->type ? resource->type : "object",
				    resource->description, resource->flags & 1);
	fold->class_of.items[resource->id] = (uint8_t)(index + 1);
	return index;
}

static inline uint32_t class_of(struct summary *summary, const struct resource_class *resource)
{
	const struct summary_fold *fold = summary->fold;

	if (resource->id < fold->class_of.count && fold->class_of.items[resource->id])
		return fold->class_of.items[resource->id] - 1u;
	return learn_class(summary, resource);
}

/* ---- descriptors that were open before ---- */

/* True if it was; it is no more. */
static bool forget_inherited(struct summary_fold *fold, uint64_t fd)
{
	for (size_t i = 0; i < fold->inherited.count; i++) {
		if (fold->inherited.items[i].fd != fd)
			continue;
		fold->inherited.items[i] = fold->inherited.items[--fold->inherited.count];
		return true;
	}
	return false;
}

/* ---- gains and losses ---- */

/* A path or name among the arguments, copied; else NULL. */
static char *example_of(const struct event *event)
{
	const char *text = event_argument(event, "path");

	if (!text)
		text = event_argument(event, "name");
	return text && *text ? strdup(text) : NULL;
}

/*
 * The mutex that a wait for a condition gives back and takes again, the thread that a join may have
 * to give back: these count as the wait. By the function, since old streams do not tell parts.
 */
static bool is_of_wait(const struct summary_class *class, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return (class->known == RESOURCE_LOCK || class->known == RESOURCE_THREAD) && hook &&
	       hook->operation == OPERATION_WAIT;
}

/* pthread_tryjoin_np and the like: what is lost was not detached. */
static bool is_join(const struct summary_class *class, const struct event *event)
{
	return class->known == RESOURCE_THREAD && strstr(event->function->name, "join");
}

/* The object leaves its site and the count of what is held now. */
static void discharge(struct summary *summary, const struct summary_class *class, struct held *held)
{
	struct fold_class *now = &summary->fold->now[held->class];
	struct site *site = sites_at(&summary->fold->sites, held->site);
	uint64_t bytes = summary_has_size(class) ? held->size : 0;

	site->held--;
	site->bytes -= bytes;
	now->count--;
	now->bytes -= bytes;
	if (summary_has_example(class))
		free(held->example);
}

static void note_peak(const struct summary_class *class, struct fold_class *now,
		      const struct event *event)
{
	uint64_t amount = summary_has_bytes(class) ? now->bytes : now->count;

	if (amount <= now->peak.amount)
		return;
	now->peak.amount = amount;
	now->peak.time_ns = event->time_ns;
}

static void charge(struct summary *summary, const struct summary_class *class, struct held *held,
		   uint32_t index, const struct event *event)
{
	struct fold_class *now = &summary->fold->now[held->class];
	struct site *site = sites_at(&summary->fold->sites, index);
	uint64_t bytes = summary_has_size(class) ? event->size : 0;

	held->site = index;
	if (summary_has_size(class))
		held->size = bytes;
	else if (class->known == RESOURCE_LOCK)
		held->thread = event->thread;
	else
		held->example = example_of(event);
	site->held++;
	site->bytes += bytes;
	now->count++;
	now->bytes += bytes;
	note_peak(class, now, event);
}

/* All that is mapped from there on; size 0: the mapping that begins there. */
static int unmap(struct summary *summary, uint32_t index, const struct event *event,
		 struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct fold_class *now = &fold->now[index];
	uint64_t start = event->object, end = start + event->size;
	struct mapped_piece piece;
	int rc;

	/* Of pages, the last one goes as a whole. */
	if (start % 4096 == 0)
		end = (end + 4095) / 4096 * 4096;
	if (!event->size)
		end = mapped_end(&fold->mapped, start);
	for (;;) {
		struct site *site;

		rc = mapped_cut(&fold->mapped, start, end, &piece);
		if (rc <= 0)
			return rc ? summary_no_memory(err) : 0;
		site = sites_at(&fold->sites, piece.site);
		site->held += (uint64_t)(int64_t)piece.ranges;
		site->bytes -= piece.bytes;
		now->count += (uint64_t)(int64_t)piece.ranges;
		now->bytes -= piece.bytes;
	}
}

static int map(struct summary *summary, uint32_t index, const struct event *event,
	       struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct summary_class *class = &summary->classes[index];
	struct fold_class *now = &fold->now[index];
	uint64_t end = event->object + event->size;
	uint32_t site = sites_of(&fold->sites, (uint8_t)index, event);

	class->gained++;
	if (!site)
		return summary_no_memory(err);
	if (end <= event->object)
		return 0;
	/* What was there and was not seen to go. */
	if (unmap(summary, index, event, err))
		return -ENOMEM;
	if (mapped_add(&fold->mapped, event->object, end, site))
		return summary_no_memory(err);
	sites_at(&fold->sites, site)->held++;
	sites_at(&fold->sites, site)->bytes += event->size;
	now->count++;
	now->bytes += event->size;
	note_peak(class, now, event);
	return 0;
}

static int gain(struct summary *summary, uint32_t index, const struct event *event,
		struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct summary_class *class = &summary->classes[index];
	struct held *held = held_find(&fold->held, index, event->object);
	uint32_t site;

	class->gained += !is_of_wait(class, event);
	if (held && class->is_counted) {
		held->count += held->count < HELD_COUNT_MAX;
		return 0;
	}
	site = sites_of(&fold->sites, (uint8_t)index, event);
	if (!site)
		return summary_no_memory(err);
	if (held) {
		class->replaced++;
		discharge(summary, class, held);
	} else {
		held = held_add(&fold->held, index, event->object);
	}
	if (!held)
		return summary_no_memory(err);
	charge(summary, class, held, site, event);
	if (class->known == RESOURCE_FD && fold->inherited.count)
		forget_inherited(fold, event->object);
	return 0;
}

/* Who waits for it next is told who had it. */
static void remember_holder(struct summary_fold *fold, const struct held *held,
			    const struct event *event)
{
	struct waits_object *object = waits_find(&fold->waits, held->class, held->object);

	if (!object)
		return;
	waits_release(object, held->site, event->thread, event->time_ns);
}

static void lose(struct summary *summary, uint32_t index, const struct event *event)
{
	struct summary_fold *fold = summary->fold;
	struct summary_class *class = &summary->classes[index];
	struct held *held = held_find(&fold->held, index, event->object);

	if (is_join(class, event))
		class->waited += !is_of_wait(class, event);
	else
		class->lost += !is_of_wait(class, event);
	if (!held) {
		if (class->known != RESOURCE_FD || !forget_inherited(fold, event->object))
			class->strays++;
		return;
	}
	if (class->known == RESOURCE_LOCK)
		remember_holder(fold, held, event);
	if (--held->count)
		return;
	held->count = 1; /* an item of the table as long as it is there */
	discharge(summary, class, held);
	held_remove(&fold->held, held);
}

/* ---- waits ---- */

static bool may_wait(enum operation operation)
{
	return operation == OPERATION_ACQUIRE || operation == OPERATION_WAIT;
}

static uint64_t duration_of(const struct event *event)
{
	return event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
}

/* A call that has waited, or might have. */
static int add_wait(struct summary *summary, uint32_t index, const struct event *event,
		    struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct waits_class *waits = &summary->classes[index].waits;
	struct waits_object *object = waits_object(&fold->waits, index, event->object);
	struct waits_call call = {
		.enter_ns = event->enter_ns,
		.duration_ns = duration_of(event),
		.thread = event->thread,
		.site = sites_of(&fold->sites, (uint8_t)index, event),
	};
	const struct held *held;

	if (!call.site)
		return summary_no_memory(err);
	if (summary->classes[index].known != RESOURCE_LOCK) {
		waits_add(waits, object, &call);
		return 0;
	}
	/* Timed out: whoever has it has had it all the time. */
	held = event->flags & CALL_FAILED ? held_find(&fold->held, index, event->object) : NULL;
	if (held && held->thread != event->thread)
		call.holder = held->site;
	waits_add_lock(waits, object, &call);
	if (object && !(event->flags & CALL_FAILED))
		object->taken_ns = event->time_ns;
	return 0;
}

static int add_notify(struct summary *summary, uint32_t index, const struct event *event,
		      struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct waits_object *object = waits_object(&fold->waits, index, event->object);
	uint32_t site = sites_of(&fold->sites, (uint8_t)index, event);

	if (!site)
		return summary_no_memory(err);
	summary->classes[index].notified++;
	if (object) {
		object->last = site;
		object->last_thread = event->thread;
		object->last_ns = event->time_ns;
	}
	return 0;
}

/* A call that neither gained nor lost; what it is about, its hook says. */
static int use(struct summary *summary, const struct event *event, struct error *err)
{
	const struct hook *hook = event->function->hook;
	struct summary_class *class;
	uint32_t index;

	if (!hook || hook->resource == RESOURCE_EVENT)
		return 0;
	index = known_class(summary, hook->resource);
	class = &summary->classes[index];
	if (event->flags & CALL_FAILED)
		class->failed += operation_table[event->operation].effect == EFFECT_GAINS;
	else if (event->operation == OPERATION_WAIT)
		class->waited++;
	if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED))
		return add_notify(summary, index, event, err);
	if (event->has_tail && !event->part && may_wait(event->operation))
		return add_wait(summary, index, event, err);
	return 0;
}

static int gain_or_lose(struct summary *summary, const struct event *event, struct error *err)
{
	uint32_t index = class_of(summary, event->resource);
	int rc;

	if (index == NO_CLASS)
		return summary_no_memory(err);
	if (summary->classes[index].known == RESOURCE_MAPPING)
		return event->type == CALL_TYPE_FREE ? unmap(summary, index, event, err)
						     : map(summary, index, event, err);
	if (event->type == CALL_TYPE_FREE) {
		lose(summary, index, event);
		return 0;
	}
	/* First: it is the holder before this one that was waited for. */
	if (event->has_tail && !event->part && may_wait(event->operation)) {
		rc = add_wait(summary, index, event, err);
		if (rc)
			return rc;
	}
	return gain(summary, index, event, err);
}

/* ---- calls ---- */

static int add_thread(struct summary_fold *fold, uint32_t thread, struct error *err)
{
	fold->thread_cache[thread % FOLD_THREAD_CACHE] = thread;
	if (held_find(&fold->threads, 0, thread))
		return 0;
	return held_add(&fold->threads, 0, thread) ? 0 : summary_no_memory(err);
}

/* What the process is about to become: said by the first half of an exec, before it happens. */
static int note_exec(struct summary *summary, const struct event *event, struct error *err)
{
	const struct hook *hook = event->function->hook;
	const char *path;

	if (!hook || hook->resource != RESOURCE_EVENT || hook_moment(hook) != MOMENT_SPLIT ||
	    hook->operation != OPERATION_END)
		return 0;
	path = event_argument(event, "path");
	summary->fold->process.became = copy(summary, path);
	return path && !summary->fold->process.became ? summary_no_memory(err) : 0;
}

/* Without tails no packet says when a process began: what it is told of first does. */
static void note_start(struct summary_process *process, const struct event *event)
{
	if (!process->start_ns)
		process->start_ns = event->time_ns;
}

int summary_count(struct summary *summary, const struct event *event, struct error *err)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = &fold->process;

	if (touched_event(&summary->touched, event))
		return summary_no_memory(err);
	process->events++;
	process->late += (event->flags & CALL_LATE) != 0;
	if (event->time_ns > process->end_ns)
		process->end_ns = event->time_ns;
	note_start(process, event);
	if (event->has_tail &&
	    fold->thread_cache[event->thread % FOLD_THREAD_CACHE] != event->thread &&
	    add_thread(fold, event->thread, err))
		return -ENOMEM;
	if (event->type == CALL_TYPE_NONE && event->moment == MOMENT_HALF &&
	    !(event->flags & CALL_OF_CHILD))
		return note_exec(summary, event, err);
	return 0;
}

static int on_call(struct summary *summary, const struct event *event, struct error *err)
{
	int rc = summary_count(summary, event, err);

	if (rc)
		return rc;
	return event->type != CALL_TYPE_NONE ? gain_or_lose(summary, event, err)
					     : use(summary, event, err);
}

/* ---- notes ---- */

static int note_process(struct summary *summary, const struct event *event, struct error *err)
{
	struct summary_fold *fold = summary->fold;
	const char *executable = event_argument(event, "executable");

	if (executable)
		fold->process.executable = copy(summary, executable);
	if (executable && atlas_add_program(&summary->atlas, executable))
		return summary_no_memory(err);
	if (!fold->process.allocator)
		fold->process.allocator = copy(summary, event_argument(event, "allocator"));
	for (uint32_t i = 0; i < event->argument_count; i++) {
		size_t room = sizeof(fold->command) - fold->command_length;
		int length;

		if (strncmp(event->arguments[i].name, "argv", 4) != 0)
			continue;
		length = snprintf(fold->command + fold->command_length, room, "%s%s",
				  fold->command_length ? " " : "", event->arguments[i].value);
		fold->command_length += length < 0		? 0
					: (size_t)length < room ? (size_t)length
								: room - 1;
	}
	return 0;
}

static int note_fd(struct summary_fold *fold, const struct event *event, struct error *err)
{
	const char *fd = event_argument(event, "fd");
	struct fold_inherited *inherited = fd ? ARRAY_ADD(&fold->inherited) : NULL;

	if (fd && !inherited)
		return summary_no_memory(err);
	if (fd)
		inherited->fd = strtoull(fd, NULL, 0);
	return 0;
}

static int note_lost(struct summary *summary, const struct event *event, struct error *err)
{
	const char *count = event_argument(event, "count");
	const char *reason = event_argument(event, "reason");
	uint64_t number = count ? strtoull(count, NULL, 0) : event->size;
	struct summary_loss *loss;

	summary->fold->process.lost += number;
	for (size_t i = 0; reason && i < summary->losses.count; i++) {
		if (strcmp(summary->losses.items[i].reason, reason) != 0)
			continue;
		summary->losses.items[i].count += number;
		return 0;
	}
	if (!reason || summary->losses.count >= LOSS_COUNT + 8)
		return 0;
	loss = ARRAY_ADD(&summary->losses);
	if (!loss)
		return summary_no_memory(err);
	*loss = (struct summary_loss){ copy(summary, reason), number };
	return loss->reason ? 0 : summary_no_memory(err);
}

static const struct hook *hook_named(const char *name)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++)
		if (hook_table[i].name && !strcmp(hook_table[i].name, name))
			return &hook_table[i];
	return NULL;
}

/* What a call under way may be waiting in. An exec or exit that does not return is no wait. */
static bool may_block(const struct hook *hook)
{
	enum moment moment = hook_moment(hook);

	return (moment == MOMENT_WAITS || moment == MOMENT_SPLIT) &&
	       hook->operation != OPERATION_END;
}

static int note_open(struct summary *summary, const struct event *event, struct error *err)
{
	struct summary_fold *fold = summary->fold;
	const char *call = event_argument(event, "call");
	const struct hook *hook = call ? hook_named(call) : NULL;
	struct fold_open *open;

	if (!call || fold->open.count >= SUMMARY_BLOCKED_MAX || (hook && !may_block(hook)))
		return 0;
	open = ARRAY_ADD(&fold->open);
	if (!open)
		return summary_no_memory(err);
	*open = (struct fold_open){
		.function = copy(summary, call),
		.resource = hook ? hook->resource : RESOURCE_NONE,
		.object = event->object,
		.related = event->related,
		.thread = event->thread,
		.waited_ns = duration_of(event),
		.index = event->index,
		.backtrace = event->backtrace,
	};
	return open->function ? 0 : summary_no_memory(err);
}

static void end_pause(struct summary_process *process, uint64_t now_ns)
{
	if (process->pause_since_ns && now_ns > process->pause_since_ns)
		process->pause_ns += now_ns - process->pause_since_ns;
	process->pause_since_ns = 0;
}

static void note_recording(struct summary_process *process, const struct event *event)
{
	const char *state = event_argument(event, "state");
	bool is_off = state && !strcmp(state, "off");

	if (!is_off) {
		end_pause(process, event->time_ns);
		return;
	}
	process->pauses += !process->pause_since_ns;
	if (!process->pause_since_ns)
		process->pause_since_ns = event->time_ns;
}

static void note_unwind(struct summary *summary, const struct event *event)
{
	const struct {
		const char *name;
		uint64_t *sum;
	} counts[] = {
		{ "checked", &summary->unwind.checked },
		{ "different", &summary->unwind.different },
		{ "cut", &summary->unwind.cut },
		{ "unjudged", &summary->unwind.unjudged },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		const char *text = event_argument(event, counts[i].name);

		*counts[i].sum += text ? strtoull(text, NULL, 10) : 0;
	}
}

/* Its time is when the collector saw the end. */
static void note_end(struct summary_fold *fold, const struct event *event)
{
	static const struct {
		const char *word;
		enum summary_end end;
	} words[] = {
		{ "exited", SUMMARY_EXITED },
		{ "killed", SUMMARY_KILLED },
		{ "exec", SUMMARY_EXEC },
		{ "left", SUMMARY_LEFT },
	};
	struct summary_process *process = &fold->process;
	const char *how = event_argument(event, "how");
	const char *status = event_argument(event, "status");
	const char *followed = event_argument(event, "followed");

	process->has_end = true;
	for (size_t i = 0; how && i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(how, words[i].word))
			process->end = words[i].end;
	if (!status)
		status = event_argument(event, "signal");
	process->has_status = status != NULL;
	process->status = status ? atoi(status) : 0;
	process->is_followed = !followed || strcmp(followed, "no") != 0;
	if (event->time_ns > process->end_ns)
		process->end_ns = event->time_ns;
	end_pause(process, event->time_ns);
}

static int on_note(struct summary *summary, const struct event *event, struct error *err)
{
	const char *name = event->function->name;

	note_start(&summary->fold->process, event);
	if (!strcmp(name, "~process"))
		return note_process(summary, event, err);
	else if (!strcmp(name, "~fd"))
		return note_fd(summary->fold, event, err);
	else if (!strcmp(name, "~lost"))
		return note_lost(summary, event, err);
	else if (!strcmp(name, "~open"))
		return note_open(summary, event, err);
	else if (!strcmp(name, "~end"))
		note_end(summary->fold, event);
	else if (!strcmp(name, "~recording"))
		note_recording(&summary->fold->process, event);
	else if (!strcmp(name, "~unwind"))
		note_unwind(summary, event);
	else if (!strcmp(name, "~settings"))
		summary->fold->process.recorded = copy(summary, event_argument(event, "events"));
	return 0;
}

/* ---- streams ---- */

/* PINF, or the header of a text trace, has been read. */
static int on_process(struct summary *summary, const struct event *event, struct error *err)
{
	struct summary_process *process = &summary->fold->process;
	const struct trace_process *facts = event->process;

	process->name = copy(summary, facts->name ? facts->name : "");
	process->pid = facts->pid;
	process->parent_pid = facts->parent_pid;
	process->stream = facts->stream;
	process->parent_stream = facts->parent_stream;
	process->session[0] = facts->session[0];
	process->session[1] = facts->session[1];
	process->has_tails = facts->has_tails;
	process->start_ns = facts->start_ns;
	summary->has_times |= facts->has_tails;
	return process->name ? 0 : summary_no_memory(err);
}

static int on_stream(struct summary *summary, struct error *err)
{
	int rc = summary->fold->is_begun ? verdict_process(summary, err) : 0;

	summary->fold->is_begun = true;
	return rc;
}

static int on_surroundings(struct summary *summary, const struct event *event, struct error *err)
{
	switch (event->kind) {
	case EVENT_STREAM:
		return on_stream(summary, err);
	case EVENT_PROCESS:
		return on_process(summary, event, err);
	case EVENT_MAPPING:
		return atlas_map(&summary->atlas, event->mapping) ? summary_no_memory(err) : 0;
	case EVENT_TRACER:
	case EVENT_CONTEXT:
	case EVENT_RESOURCE:
	case EVENT_ATTACHMENT:
	case EVENT_HEAP:
	case EVENT_COMMENT:
	case EVENT_NOTE:
	case EVENT_CALL:
		break;
	}
	return 0;
}

int summary_event(struct summary *summary, const struct event *event, struct error *err)
{
	if (event->kind == EVENT_CALL)
		return on_call(summary, event, err);
	if (event->kind == EVENT_NOTE)
		return on_note(summary, event, err);
	return on_surroundings(summary, event, err);
}

/* ---- begin and end ---- */

int summary_begin(struct summary **result, struct error *err)
{
	struct summary *summary = calloc(1, sizeof(*summary));
	struct summary_fold *fold = calloc(1, sizeof(*fold));

	if (!summary || !fold) {
		free(summary);
		free(fold);
		return summary_no_memory(err);
	}
	summary->fold = fold;
	atlas_init(&summary->atlas);
	table_init(&summary->sites_by_place);
	held_init(&fold->held);
	held_init(&fold->threads);
	waits_init(&fold->waits);
	*result = summary;
	return 0;
}

int summary_open(struct summary *summary, const char *path, struct error *err)
{
	summary->fold->class_of.count = 0;
	summary->fold->path = copy(summary, path ? path : "");
	return summary->fold->path ? 0 : summary_no_memory(err);
}

int summary_close(struct summary *summary, const struct trace_tally *tally, struct error *err)
{
	struct summary_process *process = &summary->fold->process;

	if (tally && (tally->damages || tally->is_truncated)) {
		process->is_damaged = true;
		process->damages = tally->damages;
		process->damage = copy(summary, tally->damages ? tally->damage_text
							       : "ends in the middle of a packet");
	}
	return summary->fold->is_begun ? verdict_process(summary, err) : 0;
}

int summary_end(struct summary *summary, struct error *err)
{
	if (summary->fold->is_begun) {
		int rc = verdict_process(summary, err);

		if (rc)
			return rc;
	}
	verdict_run(summary);
	return 0;
}

void summary_forget_held(struct summary *summary)
{
	struct summary_fold *fold = summary->fold;
	struct held *held;
	size_t at = 0;

	while ((held = held_next(&fold->held, &at)) != NULL)
		if (summary_has_example(&summary->classes[held->class]))
			free(held->example);
	held_free(&fold->held);
	mapped_free(&fold->mapped);
}

void summary_free(struct summary *summary)
{
	struct summary_fold *fold;

	if (!summary)
		return;
	fold = summary->fold;
	summary_forget_held(summary);
	held_free(&fold->threads);
	sites_free(&fold->sites);
	touched_free(&summary->touched);
	waits_free(&fold->waits);
	free(fold->class_of.items);
	free(fold->inherited.items);
	free(fold->open.items);
	free(fold);
	free(summary->processes.items);
	free(summary->sites.items);
	free(summary->blocked.items);
	free(summary->losses.items);
	table_free(&summary->sites_by_place);
	atlas_free(&summary->atlas);
	pool_free(&summary->pool);
	free(summary);
}

const struct summary_process *summary_current(const struct summary *summary)
{
	return &summary->fold->process;
}

const struct summary_process *summary_process_at(const struct summary *summary, uint32_t number)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].number == number)
			return &summary->processes.items[i];
	return NULL;
}

const struct summary_class *summary_class_of(const struct summary *summary, enum resource known)
{
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == known)
			return &summary->classes[i];
	return NULL;
}
