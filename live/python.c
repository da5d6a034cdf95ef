/* SPDX-License-Identifier: MIT */
#include "live/look.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "python_layout.h"
#include "terms.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOLDER_READS	 20
#define HOLDER_READ_NS	 1000000
#define INTERPRETERS_MAX 64
#define CHAIN_MAX	 1024  /* maximum number of frames, including those that are not shown */
#define LINES_SIZE_MAX	 65536 /* maximum size of a line table in bytes */
#define NAME_MAX_BYTES	 256
#define PATH_MAX_BYTES	 1024

/* offsets in a GIL's struct, in all versions; its condition variable ends at CONDITION_END */
#define GIL_HOLDER    8
#define GIL_LOCKED    16
#define GIL_CONDITION 32
#define CONDITION_END 80

#define THREAD_NEXT  8	 /* offset of `next` in PyThreadState */
#define TID_AFTER    8	 /* offset of native_thread_id from thread_id, in Python 3.11 and later */
#define TID_IN_GLIBC 720 /* offset of the thread id in glibc's struct pthread (x86-64) */
#define TYPE_NAME    24	 /* offset of tp_name in PyTypeObject */

struct python {
	const struct live_process *process;
	const struct subject *subject;
	const struct python_layout *layout;
	struct address_space *space;
	struct await *awaits;
	const struct trace_node **frames;
	bool *holds;
	uint64_t code_type; /* address of PyCode_Type; 0: not known yet */
	uint32_t functions; /* number of functions that were added to the address map */
};

static uint64_t word_at(const struct python *python, uint64_t address)
{
	uint64_t word = 0;

	return subject_get(python->subject, address, &word, sizeof(word)) ? 0 : word;
}

static uint32_t half_at(const struct python *python, uint64_t address)
{
	uint32_t half = 0;

	return subject_get(python->subject, address, &half, sizeof(half)) ? 0 : half;
}

/* Whether the object at the address is a code object: its type has the name "code". */
static bool is_code(struct python *python, uint64_t code)
{
	uint64_t type = code ? word_at(python, code + PYTHON_OBJECT_TYPE) : 0;
	char name[5] = "";

	if (type && type == python->code_type)
		return true;
	if (!type ||
	    subject_get(python->subject, word_at(python, type + TYPE_NAME), name, sizeof(name)) ||
	    memcmp(name, "code", sizeof(name)) != 0)
		return false;
	python->code_type = type;
	return true;
}

/* Appends a Python str as UTF-8. Returns false if `text` is not the address of a readable str. */
static bool add_text(const struct python *python, uint64_t text, char **to, size_t most)
{
	uint32_t state = half_at(python, text + PYTHON_TEXT_STATE), kind = state >> 2 & 7;
	uint64_t length = word_at(python, text + PYTHON_TEXT_LENGTH);
	uint64_t data = text + (state & PYTHON_TEXT_ASCII ? python->layout->ascii
							  : python->layout->compact);
	uint8_t copy[4 * PATH_MAX_BYTES];
	char *end = *to + most;

	if (!(state & PYTHON_TEXT_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return false;
	if (length > PATH_MAX_BYTES)
		length = PATH_MAX_BYTES;
	if (subject_get(python->subject, data, copy, length * kind))
		return false;
	for (uint64_t i = 0; i < length && *to + PYTHON_UTF8_MAX <= end; i++)
		*to = python_put_character(*to, copy + i * kind, kind);
	**to = 0;
	return true;
}

static uint32_t find_line(const struct python *python, uint64_t code, int32_t at)
{
	const struct python_layout *layout = python->layout;
	uint64_t lines = word_at(python, code + layout->lines);
	uint64_t size = word_at(python, lines + PYTHON_BYTES_SIZE);
	cleanup_free uint8_t *table = size <= LINES_SIZE_MAX ? memory_alloc(size + 1) : NULL;

	if (!table || subject_get(python->subject, lines + PYTHON_BYTES_DATA, table, size))
		return 0;
	return python_line_of(python->process->python_minor,
			      (struct python_table){ table, table + size },
			      (int32_t)half_at(python, code + layout->first), at);
}

/*
 * Returns the address that represents the line of a frame, as in a trace (preload/record/python.h),
 * or 0 if the frame is not shown.
 */
static uint64_t read_frame(struct python *python, uint64_t frame)
{
	const struct python_layout *layout = python->layout;
	uint64_t code = word_at(python, frame + layout->code) & ~7ull, from;
	char path[sizeof(PYTHON_MODULE) + NAME_MAX_BYTES + PATH_MAX_BYTES + 2] = PYTHON_MODULE;
	char *end = path + strlen(path);
	int32_t at;

	if (!is_code(python, code) || python->functions >= PYTHON_FUNCTIONS_MAX ||
	    word_at(python, code + layout->file) == word_at(python, code + layout->name) ||
	    !add_text(python, word_at(python, code + layout->name), &end, NAME_MAX_BYTES))
		return 0;
	for (char *blank = path; blank < end; blank++)
		if (*blank == ' ')
			*blank = '_';
	*end++ = ' ';
	if (!add_text(python, word_at(python, code + layout->file), &end, PATH_MAX_BYTES))
		return 0;
	at = layout->is_instruction
		     ? (int32_t)(word_at(python, frame + layout->at) - code - layout->instructions)
		     : (int32_t)half_at(python, frame + layout->at) * layout->scale;
	from = PYTHON_BASE + ((uint64_t)python->functions++ << PYTHON_LINE_BITS);
	space_map(python->space, &(struct trace_mapping){
					 .from = from,
					 .to = from + (1u << PYTHON_LINE_BITS) - 1,
					 .path = path,
					 .build_id = "",
				 });
	return from + find_line(python, code, at) + 1;
}

static void read_frames(struct python *python, uint64_t state, size_t thread)
{
	const struct python_layout *layout = python->layout;
	uint64_t frames[LIVE_PYTHON_FRAMES_MAX];
	uint64_t from = layout->is_in_cframe ? word_at(python, state + layout->cframe) : state;
	uint64_t frame = from ? word_at(python, from + layout->current) : 0;
	size_t count = 0;

	for (size_t i = 0; frame && i < CHAIN_MAX && count < LIVE_PYTHON_FRAMES_MAX; i++) {
		uint8_t owner = 0;

		if (layout->owner)
			subject_get(python->subject, frame + layout->owner, &owner, sizeof(owner));
		if (owner < PYTHON_OWNED_BY_C) {
			frames[count] = read_frame(python, frame);
			count += frames[count] != 0;
		}
		frame = word_at(python, frame + layout->previous);
	}
	python->frames[thread] =
		count ? space_frames(python->space, frames, count, UINT64_MAX) : NULL;
}

static bool is_waiting(const struct await *await, uint64_t gil)
{
	return await->address >= gil + GIL_CONDITION && await->address < gil + CONDITION_END &&
	       (await->kind == AWAIT_CONDITION || await->kind == AWAIT_FUTEX);
}

static void read_interpreter(struct python *python, uint64_t interpreter)
{
	const struct live_process *process = python->process;
	const struct python_layout *layout = python->layout;
	uint64_t gil = process->python_minor < 12 ? process->python_runtime + layout->gil
						  : word_at(python, interpreter + layout->gil);
	uint64_t state = word_at(python, interpreter + layout->threads);
	size_t holder = process->thread_count;
	bool is_wanted = false;
	uint64_t held_by;

	/* if threads wait, the GIL is free only for moments: retry until a thread holds it */
	for (size_t i = 0; i < process->thread_count; i++)
		is_wanted |= is_waiting(&python->awaits[i], gil);
	for (int i = 0; i < HOLDER_READS && half_at(python, gil + GIL_LOCKED) != 1; i++)
		if (is_wanted)
			nanosleep(&(struct timespec){ .tv_nsec = HOLDER_READ_NS }, NULL);
	held_by = half_at(python, gil + GIL_LOCKED) == 1 ? word_at(python, gil + GIL_HOLDER) : 0;
	for (size_t i = 0; state && i < LIVE_THREADS_MAX; i++) {
		uint64_t place = process->python_minor < 11
					 ? word_at(python, state + layout->thread_id) + TID_IN_GLIBC
					 : state + layout->thread_id + TID_AFTER;
		uint32_t tid = half_at(python, place);
		size_t thread = 0;

		while (thread < process->thread_count &&
		       (uint32_t)process->threads[thread].own_tid != tid)
			thread++;
		if (thread < process->thread_count && !python->frames[thread])
			read_frames(python, state, thread);
		if (state == held_by)
			holder = thread;
		state = word_at(python, state + THREAD_NEXT);
	}
	if (holder < process->thread_count)
		python->holds[holder] = true;
	for (size_t i = 0; i < process->thread_count; i++) {
		struct await *await = &python->awaits[i];

		if (!is_waiting(await, gil))
			continue;
		await->kind = AWAIT_GIL;
		await->address = 0;
		/* the waiting thread itself may have taken the GIL after its wait was read */
		if (holder < process->thread_count && holder != i)
			await->owner = process->threads[holder].own_tid;
	}
}

void live_python_read(const struct live_process *process, struct address_space *space,
		      struct await *awaits, const struct trace_node **frames, bool *holds)
{
	struct python python = { .process = process,
				 .subject = &process->subject,
				 .space = space,
				 .awaits = awaits,
				 .frames = frames,
				 .holds = holds };
	int minor = process->python_minor;
	uint64_t interpreter;

	if (!process->python_runtime || minor <= 0 ||
	    minor >= (int)(sizeof(python_layouts) / sizeof(*python_layouts)) ||
	    !python_layouts[minor].gil)
		return;
#ifndef __x86_64__
	if (minor < 11)
		return;
#endif
	python.layout = &python_layouts[minor];
	interpreter = word_at(&python, process->python_runtime + python.layout->interpreters);
	for (size_t i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		read_interpreter(&python, interpreter);
		interpreter = word_at(&python, interpreter + python.layout->next_interpreter);
	}
}
