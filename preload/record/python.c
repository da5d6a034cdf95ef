/* SPDX-License-Identifier: MIT */
#include "python.h"

#include <sys/mman.h>

#include "call.h"
#include "facts.h"
#include "life.h"
#include "preload/ground/own.h"
#include "preload/ground/plain.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "ring.h"
#include "thread.h"

/*
 * Offsets of the members of CPython's structs that a walk reads; 0: the version lacks the member.
 * The offsets are taken from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0, for
 * 64-bit builds with a GIL. Members do not move within a minor version.
 */
struct layout {
	uint16_t thread_id; /* offset in PyThreadState */
	uint16_t cframe;    /* offset in PyThreadState */
	uint16_t cframe_previous;
	/* offset of the pointer to the innermost frame, in the cframe or in PyThreadState */
	uint16_t current;
	bool is_in_cframe;   /* `current` is a member of the cframe */
	bool is_instruction; /* `at` leads to a pointer to the instruction, not to an offset */
	uint8_t scale;	     /* unit, in bytes, of the offset that `at` leads to */
	uint16_t previous, code, at; /* offsets in the frame */
	/* offset of a flag in the frame, set in the outermost frame of a cframe */
	uint16_t is_entry;
	/* offset of the owner in the frame; from OWNED_BY_C on, the owner marks an entry frame */
	uint16_t owner;
	uint16_t file, name, first, lines, instructions; /* offsets in PyCodeObject */
	uint8_t ascii, compact; /* sizes of PyASCIIObject and PyCompactUnicodeObject */
};

#define OWNED_BY_C 3

static const struct layout layouts[] = {
	[8] = { .thread_id = 176,
		.current = 24,
		.previous = 24,
		.code = 32,
		.at = 104,
		.scale = 1,
		.file = 104,
		.name = 112,
		.first = 40,
		.lines = 120,
		.ascii = 48,
		.compact = 72 },
	[9] = { .thread_id = 176,
		.current = 24,
		.previous = 24,
		.code = 32,
		.at = 104,
		.scale = 1,
		.file = 104,
		.name = 112,
		.first = 40,
		.lines = 120,
		.ascii = 48,
		.compact = 72 },
	[10] = { .thread_id = 176,
		 .cframe = 48,
		 .cframe_previous = 8,
		 .current = 24,
		 .previous = 24,
		 .code = 32,
		 .at = 96,
		 .scale = 2,
		 .file = 104,
		 .name = 112,
		 .first = 40,
		 .lines = 120,
		 .ascii = 48,
		 .compact = 72 },
	[11] = { .thread_id = 152,
		 .cframe = 56,
		 .cframe_previous = 16,
		 .current = 8,
		 .is_in_cframe = true,
		 .is_instruction = true,
		 .previous = 48,
		 .code = 32,
		 .at = 56,
		 .is_entry = 68,
		 .file = 112,
		 .name = 128,
		 .first = 72,
		 .lines = 136,
		 .instructions = 184,
		 .ascii = 48,
		 .compact = 72 },
	[12] = { .thread_id = 136,
		 .cframe = 56,
		 .cframe_previous = 8,
		 .current = 0,
		 .is_in_cframe = true,
		 .is_instruction = true,
		 .previous = 8,
		 .code = 0,
		 .at = 56,
		 .owner = 70,
		 .file = 112,
		 .name = 128,
		 .first = 68,
		 .lines = 136,
		 .instructions = 192,
		 .ascii = 40,
		 .compact = 56 },
	[13] = { .thread_id = 152,
		 .current = 72,
		 .is_instruction = true,
		 .previous = 8,
		 .code = 0,
		 .at = 56,
		 .owner = 70,
		 .file = 112,
		 .name = 128,
		 .first = 68,
		 .lines = 136,
		 .instructions = 200,
		 .ascii = 40,
		 .compact = 56 },
};

/* offsets in PyObject, bytes and str, which are the same in all versions */
#define OBJECT_TYPE  8
#define BYTES_SIZE   16
#define BYTES_DATA   32
#define TEXT_LENGTH  16
#define TEXT_HASH    24
#define TEXT_STATE   32
#define TEXT_COMPACT 0x20u
#define TEXT_ASCII   0x40u

/* number of times that python_pause() lets other threads run while it waits for readers */
#define PAUSE_YIELDS 10000

/* maximum line number: the addresses of a function's lines must fit into its range */
#define LINES_MAX 0xffffeu

static struct {
	const struct layout *layout; /* NULL: the version is not known yet */
	int minor;
	uintptr_t code_type;
	uintptr_t (*state)(void);
	int (*is_ending)(void);
	const char *(*version)(
		void); /* Py_GetVersion(), for versions before 3.11, which lack Py_Version */
	const struct module *module;
	uint32_t is_full; /* 1: `functions` had no free entry for a function */
	uint32_t begun;	  /* 1: a thread has called python_look_at() for `module` */
	/*
	 * number of calls of python_pause() in progress; unless it is 0, no thread begins to read
	 */
	uint32_t pauses;
	uint32_t readers; /* number of threads that read the interpreter's memory, if may_unload */
	bool may_unload;  /* the interpreter is in a library, not in the program */
	/* changed by python_renew(), so that each function is described again to a new collector */
	uint32_t life;
	bool is_told; /* facts_tell_python() was called since `life` changed */
} python = { .life = 1 };

bool python_is_found;

/* ---- the interpreter ---- */

static bool has_layout(int minor)
{
	return minor > 0 && minor < (int)(sizeof(layouts) / sizeof(*layouts)) &&
	       layouts[minor].thread_id && sizeof(void *) == 8;
}

static void choose_layout(int minor)
{
	python.minor = minor;
	__atomic_store_n(&python.layout, has_layout(minor) ? &layouts[minor] : NULL,
			 __ATOMIC_RELEASE);
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
 * table is mapped only for a program with Python, because it counts towards RLIMIT_DATA (ulimit
 * -d).
 */
static struct function *functions;

/*
 * Maps the table of functions. Returns false if that fails. Called before python_is_found is set.
 */
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
	python.is_ending = (int (*)(void))found->is_ending;
	python.code_type = found->code_type;
	if (found->version >> 24 == 3)
		minor = (int)(found->version >> 16 & 255);
	else if (!found->version)
		python.version = (const char *(*)(void))found->get_version;
	if (found->is_special || !python.is_ending || !python.code_type)
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
	/*
	 * the wait is limited, since a thread that left its event by longjmp() remains counted as a
	 * reader
	 */
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

/* Whether this thread may read the interpreter's memory, until end_reading(). */
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

static inline void end_reading(void)
{
	if (python.may_unload)
		__atomic_fetch_sub(&python.readers, 1, __ATOMIC_SEQ_CST);
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
	if (likely(state == thread->python.state))
		return state;
	if (!sys_is_readable((const void *)((state + python.layout->thread_id) & ~7ul)) ||
	    *(const uint64_t *)(state + python.layout->thread_id) != thread->pthread)
		return 0;
	return thread->python.state = state;
}

/* ---- code objects ---- */

static inline uintptr_t word_at(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

static inline bool is_readable(uintptr_t address, size_t size)
{
	return address && sys_is_readable((const void *)(address & ~7ul)) &&
	       sys_is_readable((const void *)((address + size - 1) & ~7ul));
}

/*
 * Whether `code` is the address of a living code object. A code object that is being freed has no
 * references, and its parts may already be freed.
 */
static inline bool is_code(uintptr_t code)
{
	return code && word_at(code + OBJECT_TYPE) == python.code_type &&
	       (intptr_t)word_at(code) > 0;
}

static inline uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static inline struct python_print fingerprint(uintptr_t code)
{
	const struct layout *layout = python.layout;
	uintptr_t lines = word_at(code + layout->lines);
	uintptr_t file = word_at(code + layout->file);
	uintptr_t name = word_at(code + layout->name);
	uint64_t size = word_at(lines + BYTES_SIZE), length = word_at(file + TEXT_LENGTH);

	return (struct python_print){
		.sizes = *(const uint32_t *)(code + layout->first) ^ size << 32 ^ length << 48,
		.lines = lines,
		.file = file,
		.name = name,
		.lines_first = word_at(lines + BYTES_DATA),
		.lines_last = size > 8 ? word_at(lines + BYTES_DATA + size - 8) : 0,
		.file_last = length >= 8 ? word_at(file + layout->ascii + length - 8) : 0,
		.name_hash = word_at(name + TEXT_HASH) ^ word_at(name + TEXT_LENGTH),
	};
}

static inline bool is_equal(const struct python_print *a, const struct python_print *b)
{
	return !((a->sizes ^ b->sizes) | (a->lines ^ b->lines) | (a->file ^ b->file) |
		 (a->name ^ b->name) | (a->lines_first ^ b->lines_first) |
		 (a->lines_last ^ b->lines_last) | (a->file_last ^ b->file_last) |
		 (a->name_hash ^ b->name_hash));
}

struct table {
	const uint8_t *at, *end;
};

static uint8_t take_byte(struct table *table)
{
	return table->at < table->end ? *table->at++ : 0;
}

/* Reads a number of 3.11's line table: six bits a byte, lowest first. */
static uint32_t take_number(struct table *table)
{
	uint32_t byte = take_byte(table), value = byte & 63;

	for (int shift = 6; byte & 64 && shift < 32; shift += 6) {
		byte = take_byte(table);
		value |= (byte & 63) << shift;
	}
	return value;
}

/*
 * Finds the line by a line table of 3.11 or later: see Objects/locations.md (Objects/locations.c)
 * of CPython.
 */
static int64_t find_line(struct table table, int64_t line, int64_t at)
{
	for (int64_t end = 0; table.at < table.end;) {
		uint8_t head = take_byte(&table), form = head >> 3 & 15;
		bool has_line = form != 15;
		uint32_t number;

		if (form == 13 || form == 14) {
			number = take_number(&table);
			line += number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
			for (int i = 0; i < 3 && form == 14; i++)
				take_number(&table);
		} else if (form >= 10 && form <= 12) {
			line += form - 10;
			table.at += 2;
		} else if (form < 10) {
			table.at++;
		}
		end += ((head & 7) + 1) * 2;
		if (at < end)
			return has_line ? line : 0;
	}
	return 0;
}

/*
 * Finds the line by a line table of 3.10. The table has pairs of numbers: the size of a range in
 * bytes, and the difference between its line and the line of the range before it.
 */
static int64_t find_line_310(struct table table, int64_t line, int64_t at)
{
	for (int64_t end = 0; table.at < table.end;) {
		uint8_t size = take_byte(&table);
		int8_t step = (int8_t)take_byte(&table);

		end += size;
		if (step != INT8_MIN)
			line += step;
		if (at < end)
			return step == INT8_MIN ? 0 : line;
	}
	return 0;
}

/*
 * Finds the line by a line table before 3.10. The table has pairs of numbers: a step of the address
 * and a step of the line.
 */
static int64_t find_line_39(struct table table, int64_t line, int64_t at)
{
	for (int64_t address = 0; table.at < table.end;) {
		address += take_byte(&table);
		if (address > at)
			break;
		line += (int8_t)take_byte(&table);
	}
	return line;
}

/* Returns the line of the instruction at offset `at`, or 0 if the table has none. */
static uint32_t decode_line(uintptr_t code, int32_t at)
{
	uintptr_t lines = word_at(code + python.layout->lines);
	const uint8_t *data = (const uint8_t *)(lines + BYTES_DATA);
	uint64_t size = word_at(lines + BYTES_SIZE);
	struct table table = { data, data + size };
	int64_t first = *(const int32_t *)(code + python.layout->first);
	int64_t line = at < 0		    ? first
		       : python.minor >= 11 ? find_line(table, first, at)
		       : python.minor == 10 ? find_line_310(table, first, at)
					    : find_line_39(table, first, at);

	return line < 0 || line > LINES_MAX ? 0 : (uint32_t)line;
}

/* Appends a str as UTF-8, at most `most` bytes. Returns false for a str that is not compact. */
static bool add_text(char **to, uintptr_t text, size_t most)
{
	const struct layout *layout = python.layout;
	uint32_t state = *(const uint32_t *)(text + TEXT_STATE), kind = state >> 2 & 7;
	uint64_t length = word_at(text + TEXT_LENGTH);
	uintptr_t data = text + (state & TEXT_ASCII ? layout->ascii : layout->compact);
	char *at = *to, *end = at + most;

	if (!(state & TEXT_COMPACT) || (kind != 1 && kind != 2 && kind != 4))
		return false;
	for (uint64_t i = 0; i < length && at + 4 <= end; i++) {
		uintptr_t place = data + i * kind;
		uint32_t c = kind == 1	 ? *(const uint8_t *)place
			     : kind == 2 ? *(const uint16_t *)place
					 : *(const uint32_t *)place;

		/* check each page once */
		if (!(i & 1023) && !is_readable(place, kind))
			return false;
		if (c < ' ')
			c = '?';
		if (c < 0x80) {
			*at++ = (char)c;
			continue;
		}
		if (c >= 0x10000)
			*at++ = (char)(0xf0 | (c >> 18 & 7));
		if (c >= 0x800)
			*at++ = (char)((c >= 0x10000 ? 0x80 : 0xe0) |
				       (c >> 12 & (c >= 0x10000 ? 63 : 15)));
		*at++ = (char)((c >= 0x800 ? 0x80 : 0xc0) | (c >> 6 & (c >= 0x800 ? 63 : 31)));
		*at++ = (char)(0x80 | (c & 63));
	}
	*at = 0;
	*to = at;
	return true;
}

/* ---- functions ---- */

/* Returns the number of the function with this hash, or -1 if the table is full. */
static int32_t number_of(uint64_t hash)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t number = ((uint32_t)hash + i) % PYTHON_FUNCTIONS_MAX;
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

/* Describes a function to the collector as a module with this path. */
static void tell_function(const struct call *call, uint32_t number, const char *path)
{
	struct thread *thread = call->thread;
	uint32_t length = (uint32_t)plain_length(path) + 1;
	struct record_module *record = (struct record_module *)ring_reserve(
		thread, RECORD_MODULE, ((uint32_t)sizeof(*record) + length + 7) & ~7u);

	if (!record)
		return;
	record->record.more = MODULE_WITHOUT_NUMBER;
	record->record.time = call->enter - 1;
	record->base = record->start = PYTHON_BASE + ((uint64_t)number << PYTHON_LINE_BITS);
	record->end = record->start + (1u << PYTHON_LINE_BITS) - 1;
	record->offset = 0;
	record->path_size = (uint16_t)length;
	record->build_id_size = 0;
	record->pad = 0;
	plain_copy((char *)(record + 1), path, length);
	ring_publish(&record->record);
	__atomic_store_n(&functions[number].told, python.life, __ATOMIC_RELAXED);
}

/*
 * Returns the address that represents the line at offset `at` of a code object, which the cache
 * lacks, or 0 if the object is not readable.
 */
static uint64_t define(const struct call *call, uintptr_t code, int32_t at)
{
	const struct layout *layout = python.layout;
	char *path = call->thread->python.text, *end = path;
	uintptr_t lines = word_at(code + layout->lines);
	uint64_t hash = 14695981039346656037ull;
	int32_t number;

	/*
	 * CPython 3.13 inserts internal code objects between two frames; their name and file are
	 * the same text
	 */
	if (word_at(code + layout->file) == word_at(code + layout->name))
		return 0;
	if (!is_readable(lines, BYTES_DATA) ||
	    !is_readable(lines, BYTES_DATA + word_at(lines + BYTES_SIZE)))
		return 0;
	end += plain_copy(end, PYTHON_MODULE, sizeof(PYTHON_MODULE)) - 1;
	if (!add_text(&end, word_at(code + layout->name), PYTHON_NAME_MAX))
		return 0;
	for (char *blank = path; blank < end; blank++)
		if (*blank == ' ')
			*blank = '_';
	*end++ = ' ';
	if (!add_text(&end, word_at(code + layout->file), PYTHON_PATH_MAX))
		return 0;
	for (const char *byte = path; byte < end; byte++)
		hash = mix(hash, (uint8_t)*byte);
	number = number_of(hash ? hash : 1);
	if (number < 0) {
		if (plain_claim(&python.is_full, 0, 1))
			tell_python();
		return 0;
	}
	if (__atomic_load_n(&functions[number].told, __ATOMIC_RELAXED) != python.life)
		tell_function(call, (uint32_t)number, path);
	return PYTHON_BASE + ((uint64_t)(uint32_t)number << PYTHON_LINE_BITS) +
	       decode_line(code, at) + 1;
}

static inline bool is_line(const struct python_line *line, uintptr_t code, int32_t at)
{
	return line->code == code && line->at == at;
}

/* Returns the address that represents the line at offset `at`; 0: none. */
static uint64_t look_up(const struct call *call, uintptr_t code, int32_t at)
{
	struct python_memory *memory = &call->thread->python;
	uint32_t place = (uint32_t)(mix(code, (uint32_t)at) >> (64 - PYTHON_LINES_BITS));
	struct python_line *line = &memory->lines[place], *other = &memory->lines[place ^ 1];
	struct python_print print;

	if (!is_code(code))
		return 0;
	print = fingerprint(code);
	if (!is_line(line, code, at) && is_line(other, code, at))
		line = other;
	if (likely(is_line(line, code, at) && is_equal(&line->print, &print) &&
		   functions[(line->address - PYTHON_BASE) >> PYTHON_LINE_BITS].told ==
			   python.life))
		return line->address;
	/*
	 * the cache has two entries for this hash; if the first entry is in use, replace the second
	 */
	if (line->code && !is_line(line, code, at))
		line = other;
	*line = (struct python_line){ 0 };
	line->address = define(call, code, at);
	if (!line->address)
		return 0;
	line->at = at;
	line->print = print;
	line->code = code;
	return line->address;
}

/* ---- backtraces ---- */

/* The frame's current instruction: a pointer or, before 3.11, an index. */
static inline uintptr_t instruction_of(const struct layout *layout, uintptr_t frame)
{
	return layout->is_instruction ? word_at(frame + layout->at)
				      : (uintptr_t) * (const int32_t *)(frame + layout->at);
}

static inline int32_t offset_in(const struct layout *layout, uintptr_t code, uintptr_t instruction)
{
	return layout->is_instruction ? (int32_t)(instruction - code - layout->instructions)
				      : (int32_t)instruction * layout->scale;
}

/*
 * Lists the frames of the interpreter, innermost first, at most `most`. `entries` gets the address
 * of each entry frame, at the index of the outermost frame that runs in it.
 */
static uint32_t list_frames(struct python_memory *memory, const struct layout *layout,
			    uintptr_t state, uint32_t most)
{
	uintptr_t cframe = layout->cframe ? word_at(state + layout->cframe) : 0;
	uintptr_t from = layout->is_in_cframe ? cframe : state;
	uint32_t count = 0;

	if (layout->cframe && !cframe)
		return 0;
	for (uintptr_t frame = word_at(from + layout->current); frame && count < most;
	     frame = word_at(frame + layout->previous)) {
		if (layout->owner && *(const uint8_t *)(frame + layout->owner) >= OWNED_BY_C) {
			if (count && !memory->entries[count - 1])
				memory->entries[count - 1] = frame;
			continue;
		}
		memory->chain[count] = frame;
		memory->entries[count++] = 0;
		if (!layout->cframe || layout->owner ||
		    (layout->is_entry && !*(const uint8_t *)(frame + layout->is_entry)))
			continue;
		memory->entries[count - 1] = cframe;
		if (cframe)
			cframe = word_at(cframe + layout->cframe_previous);
	}
	return count;
}

/*
 * Returns the number of C frames from the outermost C frame to the one whose stack frame contains
 * the entry frame; at least `place`.
 */
static uint32_t place_of(const struct capture_memory *c, uint32_t place, uintptr_t entry)
{
	uint32_t at = place ? place - 1 : 0;

	while (at < c->count && c->frames[at].sp > entry)
		at++;
	return at < c->count ? at + 1 : c->count;
}

/*
 * Whether a frame is unchanged since the last event. Another instruction of the same line is no
 * change.
 */
static inline bool is_same(const struct call *call, const struct layout *layout,
			   struct python_frame *known, uintptr_t frame)
{
	uintptr_t code = word_at(frame + layout->code);
	uintptr_t instruction = instruction_of(layout, frame);

	if (known->frame != frame || known->code != code)
		return false;
	if (likely(known->instruction == instruction))
		return is_code(code) &&
		       word_at(word_at(code + layout->lines) + BYTES_DATA) == known->lines;
	if (look_up(call, code, offset_in(layout, code, instruction)) != known->address)
		return false;
	known->instruction = instruction;
	known->lines = word_at(word_at(code + layout->lines) + BYTES_DATA);
	return true;
}

/*
 * Merges the thread's C frames and Python frames into memory->merged, outermost first. state: the
 * interpreter's state of this thread; 0: there are no Python frames. before, same: see
 * python_merge().
 */
static uint32_t merge(const struct call *call, uintptr_t state, uint32_t before, uint32_t same)
{
	struct python_memory *memory = &call->thread->python;
	const struct capture_memory *c = &call->thread->memory;
	const struct layout *layout = python.layout;
	uint32_t most = PYTHON_FRAMES_MAX < life.depth ? PYTHON_FRAMES_MAX : life.depth;
	uint32_t room = CAPTURE_MEMORY_MAX - c->count, count = 0, kept = 0, place, merged;
	/* number of C frames that are outer to the outermost changed Python frame */
	uint32_t first = UINT32_MAX;

	if (!before)
		memory->count = memory->merged_count = same = 0;
	if (state)
		count = list_frames(memory, layout, state, most < room ? most : room);
	while (kept < count && kept < memory->count &&
	       is_same(call, layout, &memory->frames[kept], memory->chain[count - 1 - kept]))
		kept++;
	if (kept == count && kept == memory->count && same == before && same == c->count)
		return memory->merged_count;
	while (kept && memory->frames[kept - 1].place > same)
		kept--;
	if (kept < memory->count)
		first = memory->frames[kept].place;
	memory->count = kept;
	place = kept					      ? memory->frames[kept - 1].place
		: layout && (layout->cframe || layout->owner) ? 0
							      : c->count;
	for (uint32_t i = kept; i < count; i++) {
		uintptr_t frame = memory->chain[count - 1 - i];
		uintptr_t code = word_at(frame + layout->code);
		uintptr_t instruction = instruction_of(layout, frame);
		uint64_t address = look_up(call, code, offset_in(layout, code, instruction));

		if (memory->entries[count - 1 - i])
			place = place_of(c, place, memory->entries[count - 1 - i]);
		if (address)
			memory->frames[memory->count++] = (struct python_frame){
				.frame = frame,
				.code = code,
				.instruction = instruction,
				.place = place,
				.address = address,
				.lines = word_at(word_at(code + layout->lines) + BYTES_DATA),
			};
	}
	if (kept < memory->count && memory->frames[kept].place < first)
		first = memory->frames[kept].place;
	/* `first` C frames and `kept` Python frames precede the first change */
	if (same < first)
		first = same;
	same = merged = first + kept;
	for (uint32_t frame = first;; kept++) {
		uint32_t end = kept < memory->count ? memory->frames[kept].place : c->count;

		while (frame < end)
			memory->merged[merged++] = c->frames[frame++].ip;
		if (kept >= memory->count)
			break;
		memory->merged[merged++] = memory->frames[kept].address;
	}
	memory->merged_count = merged;
	return same;
}

uint32_t python_merge(const struct call *call, uint32_t before, uint32_t same)
{
	bool is_reading = begin_reading();

	same = merge(call, is_reading ? find_state(call->thread) : 0, before, same);
	if (is_reading)
		end_reading();
	return same;
}
