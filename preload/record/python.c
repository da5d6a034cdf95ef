/* SPDX-License-Identifier: MIT */
#include "python.h"

#include <sys/mman.h>

#include "call.h"
#include "facts.h"
#include "life.h"
#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "python_layout.h"
#include "thread.h"

/* release level, a digit of Py_Version: 10 alpha, 11 beta, 12 candidate, 15 final */
#define RELEASE_CANDIDATE 12u

/* offset in PyThreadState of the pointer to its interpreter, before 3.12 */
#define STATE_INTERPRETER 16

/* maximum number of yields to other threads while python_pause() waits for readers */
#define PAUSE_YIELDS 10000

typedef uint32_t python_merge_function(const struct call *call, uintptr_t state, uint32_t before,
				       uint32_t same);

/* merge() for each layout, by the minor version */
static python_merge_function *const merges[];

static struct {
	const struct python_layout *layout; /* NULL: the version is not known yet */
	python_merge_function *merge;	    /* merge() for `layout` */
	int minor;
	uintptr_t code_type;
	uintptr_t (*state)(void);
	/*
	 * _PyThreadState_UncheckedGet(): before 3.12, `state` returns the state of the thread's
	 * first interpreter, also while the thread runs another one; NULL: 3.12 or later
	 */
	uintptr_t (*current)(void);
	const uintptr_t *newest; /* pointer to the newest interpreter; NULL: without `current` */
	int (*is_ending)(void);
	const char *(*version)(
		void); /* Py_GetVersion(), for versions before 3.11, which lack Py_Version */
	const struct module *module;
	uint32_t is_full; /* 1: `functions` had no free entry for a function */
	uint32_t begun;	  /* 1: a thread has called python_look_at() for `module` */
	/* number of running python_pause() calls; while it is not 0, no thread begins to read */
	uint32_t pauses;
	uint32_t readers; /* number of threads that read the interpreter's memory, if may_unload */
	bool may_unload;  /* the interpreter is in a library, not in the program */
	/* changed by python_renew(), so that each function is described again to a new collector */
	uint32_t life;
	bool is_told; /* facts_tell_python() was called since `life` changed */
} python = { .life = 1 };

bool python_is_found;

/* ---- the interpreter ---- */

static void choose_layout(int minor)
{
	const struct python_layout *layout = NULL;

	if (minor > 0 && minor < (int)(sizeof(python_layouts) / sizeof(*python_layouts)) &&
	    python_layouts[minor].thread_id && sizeof(void *) == 8)
		layout = &python_layouts[minor];
	python.minor = minor;
	python.merge = layout ? merges[minor] : NULL;
	python.newest = NULL;
	if (layout && minor < 12 && layout->interpreters && python.current &&
	    python.module->python->runtime)
		python.newest =
			(const uintptr_t *)(python.module->python->runtime + layout->interpreters);
	__atomic_store_n(&python.layout, layout, __ATOMIC_RELEASE);
}

static bool is_off(void)
{
	return life.control->settings.python == PYTHON_OFF;
}

/* Whether Python allocates each object by malloc. */
static bool uses_malloc(void)
{
	char *const *at = (char *const *)__libc_stack_end + 1;

	while (*at)
		at++;
	while (*++at)
		if (plain_begins(*at, "PYTHONMALLOC=malloc"))
			return true;
	return false;
}

static void tell_python(void)
{
	python.is_told = true;
	facts_tell_python(python.minor,
			  is_off()	     ? "off"
			  : !python_is_found ? "no"
			  : python.is_full   ? "part"
					     : "yes",
			  uses_malloc() ? "all" : "small", python.module->python);
}

struct function {
	uint64_t hash; /* hash of name and file; 0: the entry is free */
	uint32_t told; /* python.life when the function was last described to the collector */
	uint32_t pad;
};

/*
 * The Python functions of this process, in a hash table; a function's number is its index. The
 * table is mapped only for programs with Python: it counts towards RLIMIT_DATA (ulimit -d).
 */
static struct function *functions;

/* Maps the table of functions, before python_is_found is set. Returns false on failure. */
static bool map_functions(void)
{
	size_t size = PYTHON_FUNCTIONS_MAX * sizeof(*functions);
	void *map;

	if (functions)
		return true;
	map = sys_mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_error(map))
		return false;
	own_add(map, size);
	functions = map;
	return true;
}

void python_look_at(const struct module *module)
{
	const struct maps_python *found = module->python;
	int minor = 0;

	if (!life.control)
		return;
	if (__atomic_load_n(&module->is_gone, __ATOMIC_ACQUIRE))
		return;
	if (!plain_claim(&python.begun, 0, 1)) {
		if (python.module == module && !python.is_told)
			tell_python();
		return;
	}
	python.module = module;
	python.may_unload = found->may_unload;
	python.version = NULL;
	python.state = (uintptr_t(*)(void))found->state;
	python.current = (uintptr_t(*)(void))found->current;
	python.is_ending = (int (*)(void))found->is_ending;
	python.code_type = found->code_type;
	if (found->version >> 24 == 3)
		minor = (int)(found->version >> 16 & 255);
	else if (!found->version)
		python.version = (const char *(*)(void))found->get_version;
	/* struct members may move until the first release candidate of a version */
	if (found->is_special || !python.is_ending || !python.code_type ||
	    (found->version && (found->version >> 4 & 15) < RELEASE_CANDIDATE))
		minor = -1;
	if (minor)
		choose_layout(minor);
	__atomic_store_n(&python_is_found,
			 !is_off() && (python.layout || !minor) && map_functions(),
			 __ATOMIC_RELEASE);
	tell_python();
}

void python_renew(bool is_child)
{
	python.life++;
	python.is_told = false;
	/* the counts include other threads of the parent, which do not exist in the child */
	if (is_child)
		python.pauses = python.readers = 0;
}

bool python_pause(void)
{
	if (!python_is_found || !python.may_unload)
		return false;
	__atomic_fetch_add(&python.pauses, 1, __ATOMIC_SEQ_CST);
	/* limit the wait: a thread that left its read by longjmp() remains counted as a reader */
	for (int i = 0; i < PAUSE_YIELDS && __atomic_load_n(&python.readers, __ATOMIC_SEQ_CST); i++)
		sys_call0(__NR_sched_yield);
	return true;
}

void python_resume(void)
{
	if (__atomic_load_n(&python.module->is_gone, __ATOMIC_ACQUIRE)) {
		/* if an interpreter is loaded again, python_look_at() finds it */
		__atomic_store_n(&python_is_found, false, __ATOMIC_RELEASE);
		choose_layout(0);
		__atomic_store_n(&python.begun, 0, __ATOMIC_RELEASE);
	}
	/* in a child that was forked during the pause, the count is already 0 */
	if (__atomic_load_n(&python.pauses, __ATOMIC_SEQ_CST))
		__atomic_fetch_sub(&python.pauses, 1, __ATOMIC_SEQ_CST);
}

/* Whether this thread may read the interpreter's memory. With may_unload, counts a reader. */
static inline bool begin_reading(void)
{
	if (!__atomic_load_n(&python_is_found, __ATOMIC_ACQUIRE))
		return false;
	if (!python.may_unload)
		return true;
	__atomic_fetch_add(&python.readers, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&python.pauses, __ATOMIC_SEQ_CST) &&
	    !__atomic_load_n(&python.module->is_gone, __ATOMIC_ACQUIRE))
		return true;
	__atomic_fetch_sub(&python.readers, 1, __ATOMIC_SEQ_CST);
	return false;
}

/*
 * Before 3.11, CPython reports its version only as a text, which Py_GetVersion() writes to a static
 * buffer. Called only while the interpreter runs.
 */
static bool ask_version(void)
{
	const char *text = python.version ? python.version() : "";
	uint64_t minor = 0;

	if (plain_begins(text, "3."))
		plain_parse(text + 2, 10, &minor);
	choose_layout(minor < 11 ? (int)minor : -1);
	if (!python.layout) {
		__atomic_store_n(&python_is_found, false, __ATOMIC_RELEASE);
		tell_python();
	}
	return python.layout;
}

static bool is_state_of(const struct thread *thread, uintptr_t state)
{
	return sys_is_readable((const void *)((state + python.layout->thread_id) & ~7ul)) &&
	       *(const uint64_t *)(state + python.layout->thread_id) == thread->pthread;
}

/* Before 3.12, with several interpreters: returns this thread's state with the GIL, or `state`. */
static __attribute__((noinline)) uintptr_t find_current(const struct thread *thread,
							uintptr_t state)
{
	uintptr_t current = python.current();

	return current && current != state &&
			       (current == thread->python.state || is_state_of(thread, current))
		       ? current
		       : state;
}

/*
 * Returns the address of this thread's PyThreadState, or 0. When the interpreter ends, it frees the
 * states of all threads but the one that ends it, which is normally the process's first thread.
 */
static uintptr_t find_state(struct thread *thread)
{
	uintptr_t state = python.state();

	if (!state || (unlikely(!python.layout) && !ask_version()))
		return 0;
	if (thread->owner->thread != life.pid && unlikely(python.is_ending()))
		return 0;
	/* there are several interpreters, because the newest is not that of `state` */
	if (unlikely(python.newest &&
		     *python.newest != *(const uintptr_t *)(state + STATE_INTERPRETER)))
		state = find_current(thread, state);
	if (likely(state == thread->python.state))
		return state;
	if (!is_state_of(thread, state))
		return 0;
	return thread->python.state = state;
}

/* ---- code objects ---- */

static inline uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* Whether the code object at `code` is still the one with this identity. */
static inline __attribute__((always_inline)) bool
is_identical(const struct python_layout *layout, uintptr_t code,
	     const struct python_identity *identity)
{
	uint32_t number =
		*(const uint32_t *)(code + (layout->version ? layout->version : layout->first));
	uintptr_t lines;

	if (number != identity->number)
		return false;
	if (layout->version)
		return number;
	lines = word_at(code + layout->lines);
	return lines == identity->lines &&
	       word_at(lines + PYTHON_BYTES_DATA) == identity->lines_first &&
	       word_at(word_at(code + layout->name) + PYTHON_TEXT_HASH) == identity->name_hash;
}

static inline struct python_print fingerprint(const struct python_layout *layout, uintptr_t code)
{
	struct python_print print = { .sizes = 0 };
	uintptr_t lines;
	uint64_t size, length;

	print.identity.number =
		*(const uint32_t *)(code + (layout->version ? layout->version : layout->first));
	if (layout->version)
		return print;
	lines = word_at(code + layout->lines);
	print.name = word_at(code + layout->name);
	print.file = word_at(code + layout->file);
	print.identity.lines = lines;
	print.identity.lines_first = word_at(lines + PYTHON_BYTES_DATA);
	print.identity.name_hash = word_at(print.name + PYTHON_TEXT_HASH);
	size = word_at(lines + PYTHON_BYTES_SIZE);
	length = word_at(print.file + PYTHON_TEXT_LENGTH);
	print.sizes = size ^ length << 32 ^ word_at(print.name + PYTHON_TEXT_LENGTH) << 48;
	print.lines_last = size > 8 ? word_at(lines + PYTHON_BYTES_DATA + size - 8) : 0;
	print.file_last = length >= 8 ? word_at(print.file + layout->ascii + length - 8) : 0;
	return print;
}

static inline bool is_equal(const struct python_layout *layout, const struct python_print *a,
			    const struct python_print *b)
{
	const struct python_identity *one = &a->identity, *other = &b->identity;

	if (one->number != other->number)
		return false;
	if (layout->version)
		return one->number;
	return !((one->lines ^ other->lines) | (one->lines_first ^ other->lines_first) |
		 (one->name_hash ^ other->name_hash) | (a->name ^ b->name) | (a->file ^ b->file) |
		 (a->sizes ^ b->sizes) | (a->lines_last ^ b->lines_last) |
		 (a->file_last ^ b->file_last));
}

/* Appends a Python str as UTF-8, at most `most` bytes. Returns false if it is not compact. */
static bool add_text(char **to, uintptr_t text, size_t most)
{
	const struct python_layout *layout = python.layout;
	uint32_t state = *(const uint32_t *)(text + PYTHON_TEXT_STATE), kind = state >> 2 & 7;
	uint64_t length = word_at(text + PYTHON_TEXT_LENGTH);
	uintptr_t data = text + (state & PYTHON_TEXT_ASCII ? layout->ascii : layout->compact);
	char *at = *to, *end = at + most;

	if (!(state & PYTHON_TEXT_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return false;
	for (uint64_t i = 0; i < length && at + PYTHON_UTF8_MAX <= end; i++) {
		uintptr_t place = data + i * kind;

		/* check each page once */
		if (!(i & 1023) && !sys_are_readable((const void *)place, kind))
			return false;
		at = python_put_character(at, (const void *)place, kind);
	}
	*at = 0;
	*to = at;
	return true;
}

/* ---- functions ---- */

/* Functions are stored in the first entries if possible, so that few pages are touched. */
#define FUNCTIONS_FEW 2048u

/* Returns the number of the function with this hash, or -1 if the table is full. */
static int32_t number_of(uint64_t hash)
{
	for (uint32_t i = 0; i < 80; i++) {
		uint32_t at = (uint32_t)hash + i;
		uint32_t number =
			i < 16 ? at % FUNCTIONS_FEW
			       : FUNCTIONS_FEW + at % (PYTHON_FUNCTIONS_MAX - FUNCTIONS_FEW);
		uint64_t found = __atomic_load_n(&functions[number].hash, __ATOMIC_RELAXED);

		if (!found &&
		    __atomic_compare_exchange_n(&functions[number].hash, &found, hash, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return (int32_t)number;
		if (found == hash)
			return (int32_t)number;
	}
	return -1;
}

/*
 * Describes the function of a code object to the collector, unless it was described already.
 * Returns the function's entry, or NULL if the code object is internal or unreadable, or the table
 * is full.
 */
static struct function *define(const struct call *call, uintptr_t code)
{
	const struct python_layout *layout = python.layout;
	char *path = call->thread->python.text, *end = path;
	uintptr_t lines = word_at(code + layout->lines);
	uint64_t hash = 14695981039346656037ull;
	int32_t number;

	/* internal code objects of CPython 3.13 have one text as name and file */
	if (word_at(code + layout->file) == word_at(code + layout->name))
		return NULL;
	if (!sys_are_readable((const void *)lines, PYTHON_BYTES_DATA) ||
	    !sys_are_readable((const void *)lines,
			      PYTHON_BYTES_DATA + word_at(lines + PYTHON_BYTES_SIZE)))
		return NULL;
	end += plain_copy(end, PYTHON_MODULE, sizeof(PYTHON_MODULE)) - 1;
	if (!add_text(&end, word_at(code + layout->name), PYTHON_NAME_MAX))
		return NULL;
	for (char *blank = path; blank < end; blank++)
		if (*blank == ' ')
			*blank = '_';
	*end++ = ' ';
	if (!add_text(&end, word_at(code + layout->file), PYTHON_PATH_MAX))
		return NULL;
	for (const char *byte = path; byte < end; byte++) {
		hash = (hash ^ (uint8_t)*byte) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	number = number_of(hash ? hash : 1);
	if (number < 0) {
		if (plain_claim(&python.is_full, 0, 1))
			tell_python();
		return NULL;
	}
	if (__atomic_load_n(&functions[number].told, __ATOMIC_RELAXED) != python.life) {
		const uintptr_t base = PYTHON_BASE + ((uintptr_t)number << PYTHON_LINE_BITS);
		const struct module module = { .path = path,
					       .base = base,
					       .start = base,
					       .end = base + (1u << PYTHON_LINE_BITS) - 1 };

		if (facts_tell_module(call->thread, MODULE_WITHOUT_NUMBER, call->enter - 1,
				      &module))
			__atomic_store_n(&functions[number].told, python.life, __ATOMIC_RELAXED);
	}
	return &functions[number];
}

/*
 * Returns the thread's entry for a code object. The entry's base is 0 if frames of the code object
 * are not shown. Returns NULL if there is no code object at `code`.
 */
static struct python_code *find_code(const struct call *call, const struct python_layout *layout,
				     uintptr_t code)
{
	struct python_memory *memory = &call->thread->python;
	uint32_t place =
		(uint32_t)((code >> 4) * 0x9e3779b97f4a7c15ull >> (64 - PYTHON_CODES_BITS));
	struct python_code *entry = &memory->codes[place], *other = &memory->codes[place ^ 1];
	const struct function *function;
	struct python_print print;

	/* a code object that is being freed has no references, and its parts may be freed */
	if (!code || word_at(code + PYTHON_OBJECT_TYPE) != python.code_type ||
	    !*(const uint32_t *)code)
		return NULL;
	print = fingerprint(layout, code);
	if (entry->code != code && other->code == code)
		entry = other;
	if (likely(entry->code == code && entry->life == python.life &&
		   is_equal(layout, &entry->print, &print)))
		return entry;
	/* each hash has two entries; if another code object is in the first, replace the second */
	if (entry->code && entry->code != code)
		entry = other;
	/* the entry is free in the meantime: a signal handler may jump out of this function */
	entry->code = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	function = define(call, code);
	entry->base =
		function ? PYTHON_BASE + ((uint64_t)(function - functions) << PYTHON_LINE_BITS) : 0;
	entry->life = function ? __atomic_load_n(&function->told, __ATOMIC_RELAXED) : python.life;
	entry->serial = ++memory->serial;
	entry->print = print;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	entry->code = code;
	return entry;
}

/* Sets frame->address to the address that represents the line of frame->instruction. */
static inline void find_address(const struct call *call, const struct python_layout *layout,
				struct python_frame *frame)
{
	struct python_line *line =
		&call->thread->python
			 .lines[(frame->instruction + frame->serial * 64) * 0x9e3779b97f4a7c15ull >>
				(64 - PYTHON_LINES_BITS)];

	frame->address = 0;
	if (!frame->base)
		return;
	if (unlikely(line->instruction != frame->instruction || line->serial != frame->serial)) {
		uintptr_t lines = word_at(frame->code + layout->lines);
		const uint8_t *data = (const uint8_t *)(lines + PYTHON_BYTES_DATA);
		struct python_table table = { data, data + word_at(lines + PYTHON_BYTES_SIZE) };

		line->serial = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		line->instruction = frame->instruction;
		line->line = python_line_of(
			python.minor, table, *(const int32_t *)(frame->code + layout->first),
			layout->is_instruction
				? (int32_t)(frame->instruction - frame->code - layout->instructions)
				: (int32_t)frame->instruction * layout->scale);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		line->serial = frame->serial;
	}
	frame->address = frame->base + line->line + 1;
}

/*
 * Sets the members of a frame that depend on its code object and instruction. Sets the address to 0
 * if the frame is not shown. hint: a frame that may have had the same code object.
 */
static __attribute__((noinline)) void look_up(const struct call *call, uintptr_t code,
					      uintptr_t instruction,
					      const struct python_frame *hint,
					      struct python_frame *frame)
{
	const struct python_layout *layout = python.layout;
	const struct python_code *entry;

	frame->code = code;
	frame->instruction = instruction;
	/* before 3.12, only find_code() compares all that distinguishes code objects */
	if (likely(layout->version && hint->code == code && hint->life == python.life &&
		   is_identical(layout, code, &hint->identity))) {
		frame->life = hint->life;
		frame->serial = hint->serial;
		frame->base = hint->base;
		frame->identity = hint->identity;
		find_address(call, layout, frame);
		return;
	}
	entry = find_code(call, layout, code);
	frame->life = entry ? entry->life : 0;
	frame->base = entry ? entry->base : 0;
	if (entry) {
		frame->serial = entry->serial;
		frame->identity = entry->print.identity;
	} else {
		frame->instruction = PYTHON_NO_INSTRUCTION;
	}
	find_address(call, layout, frame);
}

/* ---- backtraces ---- */

/* The frame's code object; the lowest bits of the word are a tag (3.14). */
static inline uintptr_t code_of(const struct python_layout *layout, uintptr_t frame)
{
	return word_at(frame + layout->code) & ~(uintptr_t)7;
}

/* The frame's current instruction: a pointer or, before 3.11, an index. */
static inline uintptr_t instruction_of(const struct python_layout *layout, uintptr_t frame)
{
	return layout->is_instruction ? word_at(frame + layout->at)
				      : (uintptr_t) * (const int32_t *)(frame + layout->at);
}

/* In the list of frames, the code object of an entry frame, which has no real one. */
static const uint32_t no_code[64] = { [0 ... 63] = 1 };

/* Updates a frame that is at another instruction. Returns false if it runs another code object. */
static __attribute__((noinline)) bool take_instruction(const struct call *call,
						       struct python_frame *known)
{
	const struct python_layout *layout = python.layout;
	uint32_t serial = known->serial;

	if (code_of(layout, known->frame) != known->code || !known->base)
		return false;
	look_up(call, known->code, instruction_of(layout, known->frame), known, known);
	return known->base && known->serial == serial;
}

/*
 * Whether the frame runs the same instruction as at the thread's last event. An unchanged pointer
 * to the instruction proves that the code object is still at the same address, because the
 * instruction is part of it.
 */
static inline __attribute__((always_inline)) bool is_unchanged(const struct python_layout *layout,
							       const struct python_frame *known)
{
	uintptr_t frame = known->frame;

	return likely(instruction_of(layout, frame) == known->instruction &&
		      (layout->is_instruction || code_of(layout, frame) == known->code) &&
		      is_identical(layout, known->code, &known->identity));
}

/* The state of a walk outwards through the frames of the interpreter. */
struct python_walk {
	uintptr_t frame;
	uintptr_t cframe; /* the cframe in which `frame` runs, before 3.12 */
	uint32_t count;	  /* number of elements of python_memory.fresh */
	uint32_t changed; /* index of the outermost kept frame that is at another line */
};

static inline __attribute__((always_inline)) void
begin_walk(const struct python_layout *layout, uintptr_t state, struct python_walk *walk)
{
	uintptr_t from = state;

	walk->count = 0;
	walk->changed = UINT32_MAX;
	walk->frame = 0;
	walk->cframe = layout->cframe ? word_at(state + layout->cframe) : 0;
	if (layout->is_in_cframe)
		from = walk->cframe;
	if (!layout->cframe || walk->cframe)
		walk->frame = word_at(from + layout->current);
}

/* Leaves the walk's cframe if the frame that was added last is its outermost frame. */
static inline __attribute__((always_inline)) void leave_cframe(const struct python_layout *layout,
							       struct python_walk *walk,
							       struct python_frame *frame)
{
	frame->is_entry = false;
	if (!layout->cframe || layout->owner ||
	    (layout->is_entry && !*(const uint8_t *)(frame->frame + layout->is_entry)))
		return;
	frame->is_entry = true;
	frame->entry = walk->cframe;
	if (walk->cframe)
		walk->cframe = word_at(walk->cframe + layout->cframe_previous);
}

static inline uint8_t *index_of(struct python_memory *memory, uintptr_t frame)
{
	return &memory->index[(frame >> 3) * 0x9e3779b97f4a7c15ull >> (64 - PYTHON_INDEX_BITS)];
}

/* Adds the frame that the walk has reached, which has changed, and steps outwards. */
static inline __attribute__((always_inline)) void
add_changed(const struct call *call, const struct python_layout *layout, struct python_walk *walk)
{
	struct python_memory *memory = &call->thread->python;
	uintptr_t frame = walk->frame;
	struct python_frame *added = &memory->fresh[walk->count++];

	added->frame = frame;
	added->outer = walk->frame = word_at(frame + layout->previous);
	if (layout->owner && *(const uint8_t *)(frame + layout->owner) >= PYTHON_OWNED_BY_C) {
		added->entry = frame;
		added->is_entry = true;
		added->code = (uintptr_t)no_code;
		added->instruction = instruction_of(layout, frame);
		added->address = added->base = 0;
		added->life = 0;
		added->identity.number = 1;
		return;
	}
	leave_cframe(layout, walk, added);
	look_up(call, code_of(layout, frame), instruction_of(layout, frame),
		&memory->frames[*index_of(memory, frame)], added);
}

/*
 * Whether an unchanged Python frame still runs in the C frame at its place. All C frames outside
 * that C frame must be unchanged. The return address of that C frame may have changed; then the
 * address of the entry frame proves that it is the same.
 */
static inline __attribute__((always_inline)) bool
is_in_place(const struct call *call, const struct python_layout *layout,
	    const struct python_walk *walk, const struct python_frame *known, uint32_t same)
{
	const struct capture_memory *c = &call->thread->memory;
	uint32_t place = known->place;

	if (place <= same)
		return true;
	return known->entry && place - 1 <= same && place <= c->count &&
	       c->frames[place - 1].sp <= known->entry &&
	       (place < 2 || c->frames[place - 2].sp > known->entry) &&
	       (layout->owner || known->entry == walk->cframe);
}

/*
 * Walks outwards from the innermost Python frame. Stops at a frame that was on the stack at the
 * thread's last event, if nothing has changed from there on. Lists the frames before it in
 * memory->fresh, innermost first, at most `most`. Returns how many of memory->frames are kept.
 * same: number of outermost C frames that have not changed. A Python frame that now runs in another
 * C frame is not kept, but is not looked up again.
 */
static inline __attribute__((always_inline)) uint32_t
walk_frames(const struct call *call, const struct python_layout *layout, uintptr_t state,
	    uint32_t same, uint32_t most, struct python_walk *walk)
{
	struct python_memory *memory = &call->thread->python;
	struct python_frame *frames = memory->frames;

	begin_walk(layout, state, walk);
	while (walk->frame && walk->count < most) {
		uint32_t known = *index_of(memory, walk->frame), first = known + 1;

		if (known >= memory->count || frames[known].frame != walk->frame) {
			add_changed(call, layout, walk);
			continue;
		}
		/* frames[first] to frames[known] run the same code as before, in the same frames */
		while (first) {
			struct python_frame *frame = &frames[first - 1];
			uint64_t address = frame->address;

			if (word_at(frame->frame + layout->previous) != frame->outer)
				break;
			if (unlikely(!is_unchanged(layout, frame))) {
				if (!take_instruction(call, frame))
					break;
				if (frame->address != address)
					walk->changed = first - 1;
			}
			first--;
		}
		if (likely(!first && is_in_place(call, layout, walk, &frames[known], same)))
			return known + 1;
		for (uint32_t i = known + 1; i > first && walk->count < most; i--) {
			struct python_frame *again = &memory->fresh[walk->count++];

			*again = frames[i - 1];
			if (!layout->owner)
				leave_cframe(layout, walk, again);
			walk->frame = again->outer;
			if (!first && i - 1 &&
			    is_in_place(call, layout, walk, &frames[i - 2], same))
				return i - 1;
		}
		if (first && walk->count < most)
			add_changed(call, layout, walk);
	}
	return 0;
}

/* Adds `fresh` to the `kept` outermost frames. Returns the smallest `place` that has changed. */
static inline __attribute__((always_inline)) uint32_t put_frames(const struct call *call,
								 const struct python_layout *layout,
								 uint32_t kept, uint32_t count)
{
	struct python_memory *memory = &call->thread->python;
	const struct capture_memory *c = &call->thread->memory;
	struct python_frame *frame = &memory->frames[kept];
	uint32_t first = kept < memory->count ? frame->place : UINT32_MAX;
	uint32_t place = kept ? frame[-1].place : layout->cframe || layout->owner ? 0 : c->count;
	uint32_t shown = kept ? frame[-1].shown : 0;
	uintptr_t entry = kept ? frame[-1].entry : 0;

	memory->count = kept + count;
	while (count) {
		*frame = memory->fresh[--count];
		if (frame->is_entry) {
			/* set `place`: the number of C frames up to the one with the entry frame */
			entry = frame->entry;
			place -= place > 0;
			while (place < c->count && c->frames[place].sp > entry)
				place++;
			place += place < c->count;
		}
		frame->entry = entry;
		if (place < first)
			first = place;
		frame->place = place;
		frame->shown = shown += frame->address != 0;
		*index_of(memory, frame->frame) = (uint8_t)kept++;
		frame++;
	}
	return first;
}

/* Stores an address; *same: number of outermost addresses that are the same as before. */
static inline void put_address(struct python_memory *memory, uint32_t at, uint64_t address,
			       uint32_t *same)
{
	if (*same == at && at < memory->merged_count && memory->merged[at] == address)
		++*same;
	else
		memory->merged[at] = address;
}

/*
 * Stores the C frames from number `same` on, which have changed. The Python frames remain where
 * they are; C frame `same` may run the innermost of them (is_in_place()). Returns how many
 * outermost addresses of memory->merged are the same as before.
 */
static inline __attribute__((always_inline)) uint32_t put_c_frames(const struct call *call,
								   uint32_t same)
{
	struct python_memory *memory = &call->thread->python;
	const struct capture_memory *c = &call->thread->memory;
	const struct python_frame *innermost = &memory->frames[memory->count], *kept = innermost;
	const struct capture_frame *frame = &c->frames[same], *end = &c->frames[c->count];
	uint32_t shown = memory->count ? innermost[-1].shown : 0;
	uint64_t *to = &memory->merged[same + shown];

	memory->merged_count = c->count + shown;
	while (kept > memory->frames && kept[-1].place > same)
		kept--;
	same += kept > memory->frames ? kept[-1].shown : 0;
	if (kept < innermost) {
		memory->merged[same] = frame->ip;
		frame++;
		to++;
	}
	for (; frame < end; frame++, to++)
		*to = frame->ip;
	return same;
}

/*
 * Whether the interpreter runs the same frames at the same instructions as at the thread's last
 * event. innermost: the frame that it runs now.
 */
static inline __attribute__((always_inline)) bool are_unchanged(const struct python_layout *layout,
								const struct python_memory *memory,
								uintptr_t innermost)
{
	const struct python_frame *frame = &memory->frames[memory->count];

	if (frame[-1].frame != innermost)
		return false;
	do {
		frame--;
		if (word_at(frame->frame + layout->previous) != frame->outer ||
		    !is_unchanged(layout, frame))
			return false;
	} while (frame > memory->frames);
	return true;
}

/*
 * Merges the thread's C frames and Python frames into memory->merged, outermost first. state: the
 * interpreter's state of this thread; 0: there are no Python frames. before, same: see
 * python_merge().
 */
static inline __attribute__((always_inline)) uint32_t merge(const struct call *call,
							    const struct python_layout *layout,
							    uintptr_t state, uint32_t before,
							    uint32_t same)
{
	struct python_memory *memory = &call->thread->python;
	const struct capture_memory *c = &call->thread->memory;
	uint32_t room = CAPTURE_MEMORY_MAX - c->count, kept = 0, known, merged, first;
	struct python_walk walk = { .count = 0 };

	if (room > PYTHON_FRAMES_MAX)
		room = PYTHON_FRAMES_MAX;
	if (!before || memory->life != python.life)
		memory->count = memory->merged_count = same = 0;
	memory->life = python.life;
	known = memory->merged_count;
	if (state) {
		uint32_t most = room < life.depth ? room : life.depth;

		kept = walk_frames(call, layout, state, same, most, &walk);
		if (unlikely(kept + walk.count > room)) {
			/* only the innermost frames fit */
			memory->count = 0;
			same = 0;
			walk_frames(call, layout, state, same, most, &walk);
			kept = 0;
		}
	}
	if (!walk.count && kept == memory->count && walk.changed >= kept)
		return put_c_frames(call, same);
	first = put_frames(call, layout, kept, walk.count);
	if (walk.changed < kept) {
		kept = walk.changed;
		if (memory->frames[kept].place < first)
			first = memory->frames[kept].place;
	}
	/* `first` C frames, and the Python frames that they run, precede the first change */
	if (same < first)
		first = same;
	while (kept && memory->frames[kept - 1].place > first)
		kept--;
	merged = first + (kept ? memory->frames[kept - 1].shown : 0);
	same = merged < known ? merged : known;
	for (uint32_t frame = first;; kept++) {
		uint32_t end = kept < memory->count ? memory->frames[kept].place : c->count;

		while (frame < end)
			put_address(memory, merged++, c->frames[frame++].ip, &same);
		if (kept >= memory->count)
			break;
		if (memory->frames[kept].address)
			put_address(memory, merged++, memory->frames[kept].address, &same);
	}
	memory->merged_count = merged;
	return same;
}

/* merge(), after the most frequent case, in which nothing of Python has changed. */
static inline __attribute__((always_inline)) uint32_t
merge_fast(const struct call *call, const struct python_layout *layout, python_merge_function *slow,
	   uintptr_t state, uint32_t before, uint32_t same)
{
	const struct python_memory *memory = &call->thread->python;
	struct python_walk walk;

	if (likely(before && memory->count && memory->life == python.life &&
		   memory->count + call->thread->memory.count <= CAPTURE_MEMORY_MAX)) {
		begin_walk(layout, state, &walk);
		if (likely(are_unchanged(layout, memory, walk.frame) &&
			   is_in_place(call, layout, &walk, &memory->frames[memory->count - 1],
				       same)))
			return put_c_frames(call, same);
	}
	return slow(call, state, before, same);
}

/* merge() is compiled for each layout, so that the offsets are constants. */
#define LAYOUT(minor)                                                                              \
	static __attribute__((noinline)) uint32_t merge_slowly_3_##minor(                          \
		const struct call *call, uintptr_t state, uint32_t before, uint32_t same)          \
	{                                                                                          \
		return merge(call, &python_layouts[minor], state, before, same);                   \
	}                                                                                          \
                                                                                                   \
	static uint32_t merge_3_##minor(const struct call *call, uintptr_t state, uint32_t before, \
					uint32_t same)                                             \
	{                                                                                          \
		return merge_fast(call, &python_layouts[minor], merge_slowly_3_##minor, state,     \
				  before, same);                                                   \
	}
LAYOUT(8)
LAYOUT(9)
LAYOUT(10)
LAYOUT(11)
LAYOUT(12)
LAYOUT(13)
LAYOUT(14)
LAYOUT(15)
#undef LAYOUT

static uint32_t merge_c_only(const struct call *call, uintptr_t state, uint32_t before,
			     uint32_t same)
{
	static const struct python_layout none;

	(void)state;
	return merge(call, &none, 0, before, same);
}

static python_merge_function *const merges[] = {
	[8] = merge_3_8,   [9] = merge_3_9,   [10] = merge_3_10, [11] = merge_3_11,
	[12] = merge_3_12, [13] = merge_3_13, [14] = merge_3_14, [15] = merge_3_15,
};

uint32_t python_merge(const struct call *call, uint32_t before, uint32_t same)
{
	bool is_reading = begin_reading();
	uintptr_t state = is_reading ? find_state(call->thread) : 0;

	same = state ? python.merge(call, state, before, same)
		     : merge_c_only(call, 0, before, same);
	if (is_reading && python.may_unload)
		__atomic_fetch_sub(&python.readers, 1, __ATOMIC_SEQ_CST);
	return same;
}
