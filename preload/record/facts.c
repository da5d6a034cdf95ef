/* SPDX-License-Identifier: MIT */
#include "facts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/stat.h>

#include "bypass.h"
#include "call.h"
#include "inherited.h"
#include "injected.h"
#include "life.h"
#include "notes.h"
#include "preload/ground/behind.h"
#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/walk/maps.h"
#include "ring.h"
#include "thread.h"

#define NOTE_MAX  8192 /* bytes of a note at the start, in a buffer on the first thread's stack */
#define SHORT_MAX 1024 /* bytes of a note that any thread may write, even on a small stack */
#define TINY_MAX  128  /* bytes of a note with only two numbers */
#define PART_MAX  3000 /* bytes of one value, which must fit into a packet */

/* A note under construction, in the caller's buffer. */
struct note {
	uint32_t pairs, used, room;
	char *text;
};

static void note_begin(struct note *note, const char *name)
{
	note->pairs = 0;
	note->used = (uint32_t)plain_copy(note->text, name, note->room);
}

/* Adds a pair. Truncates the value to PART_MAX bytes. Returns false if the pair does not fit. */
static bool note_add(struct note *note, const char *name, const char *value)
{
	size_t length = plain_length(value);
	uint32_t at = note->used;

	if (length > PART_MAX)
		length = PART_MAX;
	if (at + plain_length(name) + length + 2 > note->room)
		return false;
	at += (uint32_t)plain_copy(note->text + at, name, 64);
	at += (uint32_t)plain_copy(note->text + at, value, length + 1);
	note->used = at;
	note->pairs++;
	return true;
}

static void note_add_number(struct note *note, const char *name, uint64_t value)
{
	char text[24];

	plain_number(text, value, 10);
	note_add(note, name, text);
}

static void note_end(const struct note *note)
{
	struct thread *thread = thread_self;
	uint32_t size = ((uint32_t)sizeof(struct record_note) + note->used + 7) & ~7u;
	struct record_note *record = (struct record_note *)ring_reserve(thread, RECORD_NOTE, size);
	uint32_t i = 0;
	char *at;

	if (!record)
		return;
	at = (char *)(record + 1);
	record->record.more = (uint16_t)note->pairs;
	record->record.time = thread->last;
	record->text = note->used;
	record->pad = 0;
	/* plain loops: memcpy() may be on a page of libc that a short program never touches */
	for (; i + 8 <= note->used; i += 8)
		__builtin_memcpy(at + i, note->text + i, 8);
	for (; i < note->used; i++)
		at[i] = note->text[i];
	ring_publish(&record->record);
}

static bool find_file(const char *path, struct statx *file)
{
	return !sys_statx(AT_FDCWD, path, 0, STATX_INO, file);
}

/* Adds the program's name; for a script also that of its interpreter, the file that runs. */
static void note_add_program(struct note *note)
{
	const char *program = (const char *)self_auxiliary(AT_EXECFN);
	struct statx asked, runs;

	if (program && (self_is_as_told() || plain_equal(program, self_path()))) {
		note_add(note, "program", program);
		return;
	}
	/* the link in /proc is slower, but also finds a file that was unlinked or renamed */
	if (!program || !find_file(program, &asked) ||
	    (!find_file(self_path(), &runs) && !find_file("/proc/self/exe", &runs)))
		return;
	note_add(note, "program", program);
	if (asked.stx_ino != runs.stx_ino || asked.stx_dev_minor != runs.stx_dev_minor ||
	    asked.stx_dev_major != runs.stx_dev_major)
		note_add(note, "interpreter", self_path());
}

/* not inlined, so that only this function uses stack for the large buffer */
static __attribute__((noinline)) void note_add_long_directory(struct note *note)
{
	char path[4096];

	if (sys_getcwd(path, sizeof(path)) > 0)
		note_add(note, "directory", path);
}

/* Whether no module before this library defines malloc. Reads only Bloom filters, which is fast. */
static bool is_first_allocator(void)
{
	struct linkage linkage;

	for (const struct link_map *map = linkage_first(); map; map = map->l_next) {
		if (plain_equal(map->l_name, "linux-vdso.so.1"))
			continue;
		if (!linkage_read(&linkage, map))
			return false;
		if (linkage_is_own(&linkage))
			return true;
		if (linkage_may_define(&linkage, "malloc"))
			return false;
	}
	return false;
}

/*
 * Adds the file of an allocator that precedes our stub. If the program, or a library before ours,
 * defines malloc, no call of malloc reaches our stub and no memory is recorded; the trace must say
 * so. After a late attach our stub precedes even the first definition, unless this definition is in
 * the program: calls within the program use no linkage table.
 */
static void note_add_allocator(struct note *note)
{
	void *first = is_first_allocator() ? NULL : loader_symbol(RTLD_DEFAULT, "malloc");
	struct loaded behind, own, found;
	const struct link_map *map;
	struct linkage linkage;

	if (!first || loader_find(first, &found) || loader_find((void *)real.malloc, &behind) ||
	    loader_find((void *)(uintptr_t)note_begin, &own))
		return;
	/*
	 * In a program that is linked to a fixed address, the symbol may be a linkage stub in the
	 * program. It leads to the next module that defines malloc.
	 */
	for (map = found.link_map; map && map != own.link_map; map = map->l_next)
		if (linkage_read(&linkage, map) &&
		    (!linkage.hash || linkage_find(&linkage, "malloc")))
			break;
	if (!map || map == own.link_map)
		return;
	if (!map->l_prev)
		note_add(note, "allocator", self_path());
	else if (map != behind.link_map)
		note_add(note, "allocator", map->l_name);
}

static void tell_argument(struct note *note, const char *name, const char *value)
{
	if (note_add(note, name, value))
		return;
	note_end(note);
	note_begin(note, NOTE_PROCESS);
	note_add(note, name, value);
}

/* Continues a long argument argvN in values named argvN+1, argvN+2 and so on. */
static void tell_rest(struct note *note, char *name, const char *value)
{
	size_t length = plain_length(value), end = plain_length(name);

	name[end++] = '+';
	for (uint64_t part = 1; length > PART_MAX; part++) {
		value += PART_MAX;
		length -= PART_MAX;
		plain_number(name + end, part, 10);
		tell_argument(note, name, value);
	}
}

/* Reports the arguments in as many notes as they need; the first note also has all other facts. */
static void tell_identity(struct note *note, int argc, char **argv)
{
	char directory[256];
	long length = sys_getcwd(directory, sizeof(directory));

	note_begin(note, NOTE_PROCESS);
	note_add(note, "executable", self_path());
	note_add_program(note);
	if (length == -ERANGE)
		note_add_long_directory(note);
	else if (length > 0)
		note_add(note, "directory", directory);
	note_add_allocator(note);
	note_add(note, "durations", life.one_time ? "waits" : "all");
	for (int i = 0; i < argc && argv[i]; i++) {
		char name[32];

		plain_number(name + plain_copy(name, "argv", 8) - 1, (uint64_t)i, 10);
		tell_argument(note, name, argv[i]);
		tell_rest(note, name, argv[i]);
	}
	note_end(note);
}

/*
 * Buffers for paths. The stack may be a signal stack of 2 KiB, too small for a path. If all buffers
 * are in use, the note is not written.
 */
#define FILE_ROOMS 16

static SPARSE struct file_room {
	uint32_t is_taken;
	char path[4096];
	char text[4096 + 256];
} file_rooms[FILE_ROOMS];

/* Writes a ~file note. is_own: the program opened the descriptor, not the library. */
static void tell_file(int fd, bool is_own)
{
	struct file_room *room = file_rooms, *const end = file_rooms + FILE_ROOMS;
	char link[40] = "/proc/self/fd/", *const number = link + sizeof("/proc/self/fd/") - 1;
	struct note note = { .room = sizeof(room->text) };
	struct statx file;
	long length;

	while (room < end && __atomic_exchange_n(&room->is_taken, 1, __ATOMIC_ACQUIRE))
		room++;
	if (room == end)
		return;
	note.text = room->text;
	plain_number(number, (uint64_t)fd, 10);
	length = sys_readlinkat(AT_FDCWD, link, room->path, sizeof(room->path) - 1);
	if (length > 0) {
		room->path[length] = 0;
		note_begin(&note, NOTE_FILE);
		if (is_own)
			note_add(&note, "fd", number);
		note_add(&note, "path", room->path);
		if (length > PART_MAX)
			note_add(&note, "path+1", room->path + PART_MAX);
		/* the current size, if the kernel knows it without a request to a server */
		if (!sys_statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE,
			       &file) &&
		    (file.stx_mode & S_IFMT) == S_IFREG)
			note_add_number(&note, "size", file.stx_size);
		note_end(&note);
	}
	__atomic_store_n(&room->is_taken, 0, __ATOMIC_RELEASE);
}

void facts_tell_file(int fd)
{
	tell_file(fd, true);
}

void facts_tell_link(int dirfd, const char *path)
{
	int fd = sys_openat(dirfd, path, O_PATH | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	tell_file(fd, false);
	sys_close(fd);
}

static void tell_inherited(void *context, const struct inherited *inherited)
{
	struct note *note = context;

	note_begin(note, NOTE_FD);
	note_add_number(note, "fd", inherited->fd);
	note_add(note, "path", inherited->path);
	if (inherited->has_size)
		note_add_number(note, "size", inherited->size);
	note_end(note);
}

/* Adds an address in hexadecimal digits. */
static void add_address(struct note *note, const char *name, uintptr_t address)
{
	char number[24] = "0x";

	plain_number(number + 2, address, 16);
	note_add(note, name, number);
}

void facts_tell_python(int minor, const char *frames, const char *objects,
		       const struct maps_python *found)
{
	char text[TINY_MAX], version[24] = "3.";
	struct note note = { .room = sizeof(text), .text = text };

	note_begin(&note, NOTE_PYTHON);
	plain_number(version + 2, (uint64_t)(minor > 0 ? minor : 0), 10);
	if (minor > 0)
		note_add(&note, "version", version);
	note_add(&note, "frames", frames);
	note_add(&note, "objects", objects);
	if (found->runtime) {
		add_address(&note, "from", found->runtime);
		add_address(&note, "to", found->runtime_end);
	}
	note_end(&note);
}

static void tell_functions(void)
{
	struct thread *thread = thread_self;
	struct record_functions *record = (struct record_functions *)ring_reserve(
		thread, RECORD_FUNCTIONS, sizeof(*record) + HOOK_COUNT * sizeof(uint64_t));

	if (!record)
		return;
	record->record.time = thread->last;
	record->count = HOOK_COUNT;
	record->pad = 0;
	real_tell((uint64_t *)(record + 1));
	ring_publish(&record->record);
}

bool facts_tell_module(struct thread *thread, uint16_t number, uint64_t time,
		       const struct module *module)
{
	uint32_t path = (uint32_t)plain_length(module->path) + 1;
	uint32_t size = (uint32_t)sizeof(struct record_module) + path + module->build_id_size;
	struct record_module *record =
		(struct record_module *)ring_reserve(thread, RECORD_MODULE, (size + 7) & ~7u);
	char *at;

	if (!record)
		return false;
	record->record.more = number;
	record->record.time = time;
	record->base = module->base;
	record->start = module->start;
	record->end = module->end;
	record->offset = module->offset;
	record->path_size = (uint16_t)path;
	record->build_id_size = module->build_id_size;
	record->pad = 0;
	at = (char *)(record + 1);
	at += plain_copy(at, module->path, path);
	for (uint32_t i = 0; i < module->build_id_size; i++)
		*at++ = (char)module->build_id[i];
	ring_publish(&record->record);
	return true;
}

void facts_tell_modules(struct thread *thread, uint64_t time)
{
	if (thread->modules < maps_count())
		life_note_namespaces();
	for (uint32_t count = maps_count(); thread->modules < count; thread->modules++) {
		const struct module *module = maps_get(thread->modules);

		if (!facts_tell_module(thread, (uint16_t)thread->modules, time, module))
			break;
		if (module->python)
			python_look_at(module);
		/* life_note_past() has no effect while the process starts, so set the bit here */
		if (module->is_go && memory_head())
			__atomic_fetch_or(&memory_head()->past, 1u << PAST_ALL, __ATOMIC_RELAXED);
	}
	/* threads that start from now on do not report these modules again */
	plain_raise(&thread_modules_told, thread->modules);
}

void facts_tell_process(int argc, char **argv)
{
	char text[NOTE_MAX];
	struct note note = { .room = sizeof(text), .text = text };

	thread_set_watermark(thread_self, thread_self->last);
	tell_identity(&note, argc, argv);
	inherited_tell(tell_inherited, &note);
	tell_functions();
	maps_find_all();
	facts_tell_modules(thread_self, thread_self->last);
	thread_set_watermark(thread_self, 0);
}

void facts_tell_functions(void)
{
	bool owns_watermark = thread_begin_alone(thread_self, false);

	tell_functions();
	thread_end_alone(thread_self, owns_watermark);
}

void facts_tell_attached(const struct late_order *order)
{
	char text[SHORT_MAX];
	struct note note = { .room = sizeof(text), .text = text };
	bool owns_watermark = thread_begin_alone(thread_self, true);

	note_begin(&note, NOTE_ATTACHED);
	note_add_number(&note, "threads", order->threads);
	note_add_number(&note, "resident", order->resident);
	note_add_number(&note, "age_ms", order->age_ms);
	note_end(&note);
	thread_end_alone(thread_self, owns_watermark);
}

void facts_tell_thread(int32_t creator, uint64_t call)
{
	char text[TINY_MAX];
	struct note note = { .room = sizeof(text), .text = text };
	bool owns_watermark = thread_begin_alone(thread_self, false);

	note_begin(&note, NOTE_THREAD);
	if (creator)
		note_add_number(&note, "creator", (uint64_t)creator);
	if (call)
		note_add_number(&note, "call", call);
	note_end(&note);
	thread_end_alone(thread_self, owns_watermark);
}

void facts_tell_thread_end(void)
{
	char text[TINY_MAX];
	struct note note = { .room = sizeof(text), .text = text };
	bool owns_watermark = thread_begin_alone(thread_self, true);

	note_begin(&note, NOTE_THREAD_END);
	note_end(&note);
	thread_end_alone(thread_self, owns_watermark);
}

/* The start of brk's heap; 0: the library was loaded after the heap had grown. */
static uint64_t first_break;

/* Reads the start of brk's heap, field 47 of /proc/self/stat (proc(5)), which is slow. */
static uint64_t ask_for_bottom(void)
{
	char text[2048];
	int fd = sys_openat(AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	long length = fd < 0 ? -1 : sys_read(fd, text, sizeof(text) - 1);
	uint64_t value = 0;
	char *at;

	if (fd >= 0)
		sys_close(fd);
	if (length <= 0)
		return 0;
	text[length] = 0;
	/* field 2 (a name) may contain blanks and parentheses; field 3 follows the last ')' */
	for (at = text + length; at > text && *at != ')'; at--)
		;
	for (int field = 2; field < 47 && *at; field++) {
		while (*at && *at != ' ')
			at++;
		if (*at)
			at++;
	}
	plain_parse(at, 10, &value);
	return value;
}

void facts_begin(void)
{
	if (behind_is_first())
		first_break = (uint64_t)sys_call1(__NR_brk, 0);
}

void facts_tell_gone(void)
{
	const struct module *module;

	while ((module = maps_take_gone()) != NULL) {
		char text[SHORT_MAX];
		struct note note = { .room = sizeof(text), .text = text };

		note_begin(&note, NOTE_UNMAP);
		add_address(&note, "from", module->base);
		add_address(&note, "to", module->end);
		note_add(&note, "path", module->path);
		note_end(&note);
	}
}

/* Does not call mallinfo2(): the program may have damaged the allocator's lists. */
void facts_tell_heap(void)
{
	struct thread *thread = thread_self;
	struct record_heap *record;
	bool owns_watermark;

	if (!thread || thread->open_count)
		return;
	owns_watermark = thread_begin_alone(thread, true);
	record = (struct record_heap *)ring_reserve(thread, RECORD_HEAP, sizeof(*record));
	if (record) {
		record->record.time = thread->last;
		record->bottom = first_break ? first_break : ask_for_bottom();
		record->top = (uint64_t)sys_call1(__NR_brk, 0);
		ring_publish(&record->record);
	}
	thread_end_alone(thread, owns_watermark);
}

void facts_tell_walker(bool is_there)
{
	struct thread *thread = thread_self;
	char text[SHORT_MAX];
	struct note note = { .room = sizeof(text), .text = text };
	bool owns_watermark;

	if (!thread)
		return;
	note_begin(&note, NOTE_UNWIND);
	note_add(&note, "libunwind", is_there ? "walks" : "missing");
	owns_watermark = thread_begin_alone(thread, true);
	note_end(&note);
	thread_end_alone(thread, owns_watermark);
}

static __attribute__((noinline)) void
tell_allocator(const char *function, const struct link_map *map, enum patch_reason reason)
{
	static const char texts[][80] = {
#define REASON(name, text) [PATCH_##name] = text,
		PATCH_REASONS(REASON)
#undef REASON
	};
	char text[SHORT_MAX];
	struct note note = { .room = sizeof(text), .text = text };

	note_begin(&note, NOTE_ALLOCATOR);
	note_add(&note, "function", function);
	if (reason)
		note_add(&note, "reason", texts[reason]);
	note_add(&note, "path", *map->l_name ? map->l_name : self_path());
	note_end(&note);
}

void facts_tell_allocator(const char *function, const struct link_map *map,
			  enum patch_reason reason)
{
	struct thread *thread = thread_self;
	bool owns_watermark;

	if (!thread)
		return;
	owns_watermark = thread_begin_alone(thread, !thread->watermark);
	tell_allocator(function, map, reason);
	thread_end_alone(thread, owns_watermark);
}

static __attribute__((noinline)) void tell_bypass(const struct bypass *bypass)
{
	char text[SHORT_MAX];
	struct note note = { .room = sizeof(text), .text = text };

	note_begin(&note, NOTE_BYPASS);
	note_add_number(&note, "functions", bypass->functions);
	note_add(&note, "example", bypass->example);
	note_add(&note, "path", *bypass->map->l_name ? bypass->map->l_name : self_path());
	note_end(&note);
}

static void tell_found(const struct bypass *bypass)
{
	if (bypass->functions)
		tell_bypass(bypass);
	if (bypass->allocator)
		tell_allocator(bypass->allocator, bypass->map, PATCH_LATER);
}

static bool can_tell(void)
{
	return life_is_running() && thread_self && !thread_self->vfork_return;
}

void facts_tell_bypass_of(const void *library)
{
	bool owns_watermark;

	if (!can_tell())
		return;
	owns_watermark = thread_begin_alone(thread_self, !thread_self->watermark);
	bypass_search(library, tell_found);
	thread_end_alone(thread_self, owns_watermark);
}

void facts_tell_bypass(bool is_held)
{
	bool owns_watermark;

	if (!can_tell())
		return;
	owns_watermark = thread_begin_alone(thread_self, !thread_self->watermark);
	bypass_search_all(is_held, tell_found);
	thread_end_alone(thread_self, owns_watermark);
}
