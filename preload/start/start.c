/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "hooks.h"
#include "injected.h"
#include "late.h"
#include "patch.h"
#include "preload/ground/clock.h"
#include "preload/ground/linkage.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/real.h"
#include "preload/ground/self.h"
#include "preload/ground/sys.h"
#include "preload/record/bypass.h"
#include "preload/record/facts.h"
#include "preload/record/life.h"
#include "preload/record/memory.h"
#include "preload/record/reach.h"
#include "preload/record/ring.h"
#include "preload/record/thread.h"
#include "preload/walk/accessors.h"
#include "settings.h"
#include "terms.h"

/*
 * Processes that the library never traces, even if it is preloaded into all processes
 * (/etc/ld.so.preload): programs that acquired privileges by exec, and holdtrace's own programs,
 * which would trace themselves endlessly.
 */

#define OURS "holdtrace"

/* Whether the library must not trace this process. Called once, before anything else. */
static bool gate_is_closed(void)
{
	const char *name;

	/* the environment may come from a user with fewer rights than the program */
	if (self_auxiliary(AT_SECURE))
		return true;
	name = plain_last_part(self_path());
	if (!plain_begins(name, OURS))
		return false;
	/* holdtrace-WORD, followed by " (deleted)" while a new version is being installed */
	name += sizeof(OURS) - 1;
	return !*name || *name == '-' || *name == ' ';
}

/* ---- sanitizers ---- */

/*
 * Whether a sanitizer with its own malloc is compiled into the program. Programs that gcc has
 * compiled do not export the sanitizer's init function, but they export its malloc.
 */
static bool is_sanitized(void)
{
	static const char entries[][16] = { "__asan_init", "__hwasan_init", "__lsan_init",
					    "__msan_init", "__tsan_init" };
	/* libraries of sanitizers; process/program.c has the same names */
	static const char names[][20] = { "libasan.",		"libhwasan.",
					  "liblsan.",		"libtsan.",
					  "libclang_rt.asan",	"libclang_rt.msan",
					  "libclang_rt.hwasan", "libclang_rt.tsan" };
	const struct link_map *first = linkage_first();
	struct linkage linkage;

	for (const struct link_map *map = first; map; map = map->l_next)
		for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (plain_begins(plain_last_part(map->l_name), names[i]))
				return true;
	if (!first || !linkage_read_symbols(&linkage, first))
		return false;
	for (unsigned int i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (linkage_find(&linkage, entries[i]))
			return true;
	if (!linkage_find(&linkage, "malloc"))
		return false;
	/* undefined symbols precede those with a hash */
	for (uint32_t i = 1; linkage.hash && i < linkage.hash[1]; i++)
		if (plain_begins(linkage.names + linkage.symbols[i].st_name, "__sanitizer_"))
			return true;
	return false;
}

/*
 * Programs with a sanitizer that has its own malloc are not traced: AddressSanitizer ends a program
 * in which it is not the first library, and other sanitizers examine our memory. If this process
 * has such a sanitizer and LD_PRELOAD names this library, executes the program again without the
 * library, before any code of the program has run. Otherwise, or if exec fails, returns.
 */
static void leave_sanitized(char **argv, char *const *environment)
{
	static const char text[] =
		"holdtrace: not tracing: the program runs with a sanitizer, which has its own "
		"malloc and must be the first library\n";
	size_t size = is_sanitized() ? late_size_without(environment) : 0;
	const char *name = (const char *)self_auxiliary(AT_EXECFN);
	char **arguments = argv;
	bool is_of_run = false;

	/* if the loader was started as a command, it has changed the arguments */
	if (!size || !self_auxiliary(AT_BASE))
		return;
	for (char *const *entry = environment; *entry; entry++)
		is_of_run |= settings_value(*entry, CONTROL_ENVIRONMENT) != NULL;
	/* if this is part of a run, the collector finds and reports the reason */
	if (!is_of_run)
		sys_call3(__NR_write, 2, (long)text, sizeof(text) - 1);
	environment = late_without(__builtin_alloca(size), environment);
	/*
	 * `name` is the file that was executed. If that is a script, the name is an argument of its
	 * interpreter, and the kernel will add the arguments before the name again.
	 */
	if (name && !self_is_program(name))
		while (*arguments && !plain_equal(*arguments, name))
			arguments++;
	if (name && *arguments)
		sys_execve(name, arguments, environment);
	sys_execve("/proc/self/exe", argv, environment);
}

/* ---- --follow ---- */

/*
 * Whether a name matches the pattern, which ends at `end`: * matches any text, ? matches any
 * character. After a mismatch, the last * takes one more character, so the time is at most the
 * product of the two lengths.
 */
static bool matches(const char *pattern, const char *end, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool is_listed(const char *list, const char *name)
{
	while (*list) {
		const char *end = list;

		while (*end && *end != ',')
			end++;
		if (matches(list, end, name))
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* Whether --follow (choice: "all", "no", or globs of programs) includes this program. */
static bool gate_follows(const char *choice, bool is_first)
{
	const char *asked = (const char *)self_auxiliary(AT_EXECFN);

	if (plain_equal(choice, "all"))
		return true;
	if (plain_equal(choice, "no"))
		return is_first;
	return is_listed(choice, plain_last_part(self_path())) ||
	       (asked && is_listed(choice, plain_last_part(asked)) && self_is_program(asked));
}

/*
 * Maps a page that the kernel zeroes in every child, whichever call creates the child. Such a page
 * is the only way to recognise a child without a system call. Kernels before 4.14 do not support
 * such pages; there, a child of fork would write to its parent's slot, so the library does not
 * trace.
 */
static bool mark_process(void)
{
	volatile uint32_t *page =
		sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (sys_error((const void *)page))
		return false;
	if (sys_madvise((void *)page, 4096, MADV_WIPEONFORK))
		return false;
	own_add((const void *)page, 4096);
	*page = 1;
	life.fork_mark = page;
	return true;
}

/*
 * The columns of hook_table that arm_hooks() needs, without pointers. hook_table has a thousand
 * pointers, which the loader would relocate in each process, page by page.
 */
#define RESOURCE_WORD_MAX 32

struct arming {
	uint8_t resource;
	bool names[HOOK_ARGUMENTS_MAX]; /* whether the argument is a file name */
};

/* clang-format off */
#define IS_NAME(name)  !__builtin_strcmp(#name, "path") || !__builtin_strcmp(#name, "name")
#define VALUES(...)    .names = { __VA_ARGS__ },
#define NAMED(kind, name, value) IS_NAME(name)
#define DECIMAL(name)  IS_NAME(name)
#define HEX(name)      IS_NAME(name)
#define OCTAL(name)    IS_NAME(name)
#define TEXT(name)     IS_NAME(name)
#define TIME(name)     IS_NAME(name)
#define HOOK(fn, result, parameters, class, op, returns, ...)                                     \
	[HOOK_##fn] = { .resource = RESOURCE_##class, __VA_ARGS__ },
static const struct arming armings[HOOK_COUNT] = {
#include "hooks.def"
	[HOOK_holdtrace_acquired] = { .resource = RESOURCE_EVENT },
	[HOOK_holdtrace_released] = { .resource = RESOURCE_EVENT },
};

static const char resource_words[RESOURCE_COUNT][RESOURCE_WORD_MAX] = {
#define RESOURCE(name, word, bits, text) [RESOURCE_##name] = word,
#include "resources.def"
#undef RESOURCE
};
/* clang-format on */

/* Whether the hook opens a file by name, or creates a symbolic link. */
static bool names_file(enum hook_number hook)
{
	const struct arming *arming = &armings[hook];

	if (arming->resource == RESOURCE_EVENT)
		return hook == HOOK_symlink || hook == HOOK_symlinkat;
	if (arming->resource != RESOURCE_FD && arming->resource != RESOURCE_FILE &&
	    arming->resource != RESOURCE_DIRECTORY && arming->resource != RESOURCE_SHM_FD)
		return false;
	for (unsigned int i = 0; i < HOOK_ARGUMENTS_MAX; i++)
		if (arming->names[i])
			return true;
	return hook == HOOK_tmpfile || hook == HOOK_tmpfile64;
}

static void arm_hooks(void)
{
	const struct settings *settings = &life.control->settings;
	bool is_all = life_is_listed("all");
	uint8_t armed[HOOK_COUNT] = { 0 };

	/*
	 * In the user's list of classes, "memory" includes the program's own mappings, but not the
	 * blocks that the program allocates in these mappings.
	 */
	for (unsigned int i = 0; i < HOOK_COUNT; i++) {
		uint8_t resource = armings[i].resource;

		if (!is_all &&
		    !life_is_listed(i == HOOK_holdtrace_acquired   ? "holdtrace_acquired"
				    : i == HOOK_holdtrace_released ? "holdtrace_released"
								   : real_name(i)) &&
		    !life_is_listed(resource_words[resource]) &&
		    !(resource == RESOURCE_MAPPING && life_is_listed("memory")))
			continue;
		armed[i] = LIFE_RECORDS;
		if (settings->detail & DETAIL_PATHS && names_file(i))
			armed[i] |= LIFE_FOLLOWS;
		/* mappings are not sampled: they are few, and most would contain a sample */
		if (life.sample && resource == RESOURCE_MEMORY)
			armed[i] |= LIFE_SAMPLES;
		if (settings->locks == LOCKS_CONTENDED && resource == RESOURCE_LOCK)
			armed[i] |= LIFE_CONTENDED;
	}
	/*
	 * In a running program, the hooks of functions that release objects must be armed first;
	 * they are last in the table. Otherwise an object could be recorded as acquired while its
	 * release is missed.
	 */
	for (unsigned int i = HOOK_COUNT; i-- > 0;)
		__atomic_store_n(&life_armed[i], armed[i], __ATOMIC_RELEASE);
}

/* Prepares everything that the process needs for recording. The control page must already exist. */
static bool prepare_process(const struct memory_image *image)
{
	const struct settings *settings = &life.control->settings;
	struct stack_bounds stack = thread_main_stack();
	int64_t depth = settings->backtrace.depth;

	life.depth = depth < 0			 ? 0
		     : depth > CAPTURE_DEPTH_MAX ? CAPTURE_DEPTH_MAX
						 : (uint32_t)depth;
	life.backtrace = (enum setting_backtrace)settings->backtrace.which;
	life.sample = (uint64_t)settings->sample < SETTINGS_BYTES_MAX ? (uint64_t)settings->sample
								      : SETTINGS_BYTES_MAX;
	life.one_time = !(settings->detail & DETAIL_DURATIONS);
	life.monitored = settings->backtrace.sizes;
	if (*life.monitored && life.backtrace == BACKTRACE_ALL)
		life.backtrace = BACKTRACE_ALLOC;
	life.records_children = !plain_equal(settings->follow, "no");
	clock_is_counter = life.control->clock == CONTROL_CLOCK_COUNTER;
	/* make the collector's membarrier(2) reach this process and its children */
	sys_call3(__NR_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	if (!memory_begin(image))
		return false;
	return thread_attach(thread_id() == life.pid ? &stack : NULL, NULL) != NULL;
}

/* ---- the signal that pauses and resumes recording ---- */

/*
 * Asks the collector to pause or resume. Waits, for a limited time, until the collector has
 * informed all processes and has recorded the time in all streams. So the change applies to
 * everything that the program does after the signal handler. errno is not changed.
 */
static void toggle_recording(int number)
{
	static const struct timespec most = { .tv_nsec = 100000000 };
	const struct control_page *control = life.control;
	struct arena *head = memory_head();
	uint32_t before;

	(void)number;
	if (!control || !head || !life_is_running())
		return;
	before = __atomic_load_n(&control->paused, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&head->toggles, 1, __ATOMIC_RELEASE);
	ring_wake();
	if (!ring_is_quiet())
		sys_futex_wait(&control->paused, before, &most, 1);
}

/*
 * Installs the handler by libc's sigaction. The bare system call would need a function of ours that
 * returns from the handler (SA_RESTORER), but unwinders recognise only libc's. sigaction is looked
 * up by name, so that the library depends on it only if the options name a signal.
 */
static void install_toggle(int number)
{
	__typeof__(sigaction) *install;
	struct sigaction action = { .sa_handler = toggle_recording, .sa_flags = SA_RESTART };

	if (!number)
		return;
	install = (__typeof__(install))loader_symbol(RTLD_NEXT, "sigaction");
	loader_forget_error();
	if (install)
		install(number, &action, NULL);
}

/* ---- the start ---- */

static bool start_tracing(int argc, char **argv, char **environment)
{
	const char *name = argc > 0 ? plain_last_part(argv[0]) : "unknown";
	const struct control_page *control = NULL;

	/* the name of a login shell begins with - */
	if (*name == '-' && name[1])
		name++;
	/*
	 * call real_find() later: the control page may contain the addresses of the real functions,
	 * which neither gate_is_closed() nor attach_control() needs
	 */
	if (!gate_is_closed()) {
		life.pid = sys_getpid();
		control = attach_control(environment, name);
	}
	real_find(control && reach_is_trusted() ? &control->libc : NULL);
	patch_hide_missing();
	bypass_begin();
	facts_begin();
	life.control = control;
	if (!control)
		return false;
	if (!gate_follows(life.control->settings.follow, attach_is_first())) {
		/* keep the page mapped: the collector waits for processes that we may start */
		reach_leave_out(name);
		return false;
	}
	if (!mark_process() || !prepare_process(&(struct memory_image){ .name = name }))
		return false;
	facts_tell_process(argc, argv);
	arm_hooks();
	install_toggle((int)life.control->settings.toggle_signal);
	return true;
}

bool start_attached(const struct late_order *order)
{
	static bool is_marked;
	char **argv = (char **)__libc_stack_end + 1;

	life.pid = sys_getpid();
	if (!is_marked && !mark_process())
		return false;
	is_marked = true;
	life_renew();
	if (!prepare_process(&(struct memory_image){ .name = order->name, .is_attached = true }))
		return false;
	facts_tell_process((int)*(long *)__libc_stack_end, argv);
	facts_tell_attached(order);
	return true;
}

void start_recording(void)
{
	arm_hooks();
	life_run();
}

/* Starts the library once. Calls in the meantime are not recorded (dlsym calls calloc). */
static void start_once(int argc, char **argv, char **environment)
{
	if (!life_begin())
		return;
	/* a running program must not be executed again, whatever it has loaded */
	if (!self_auxiliary(AT_SECURE) && !late_is_injected())
		leave_sanitized(argv, environment);
	if (start_tracing(argc, argv, environment)) {
		life_run();
	} else {
		life.control = NULL;
		life_silence();
	}
}

/*
 * The first hooked call may precede every constructor, even ours, if ld.so or a preinit function of
 * the program makes the call. The arguments and the environment are then read from the stack, where
 * the kernel stored them.
 */
bool start_wake(enum hook_number hook)
{
	if (life_is_unborn()) {
		char **argv = (char **)__libc_stack_end + 1;
		int argc = (int)*(long *)__libc_stack_end;

		start_once(argc, argv, argv + argc + 1);
	}
	life_count_sealed(hook);
	return life_armed[hook];
}

/*
 * Linked with -z initfirst: runs before the constructors of all other libraries and of the program.
 * Priority 101: also before the other constructor of this library.
 */
__attribute__((constructor(101))) static void start_construct(int argc, char **argv,
							      char **environment)
{
	/* an injected library only executes its orders */
	if (late_is_injected()) {
		if (life_begin())
			life_silence();
		late_obey_first();
		return;
	}
	start_once(argc, argv, environment);
	/* here, and not in start_tracing(), which may run inside a call of malloc by the loader */
	if (!life.control)
		return;
	if (life.control->settings.unwind == UNWIND_LIBUNWIND) {
		uint8_t armed[HOOK_COUNT];

		/* do not record the calls of the loader and of libunwind's constructors */
		for (int i = 0; i < HOOK_COUNT; i++) {
			armed[i] = life_armed[i];
			life_armed[i] = 0;
		}
		life.is_remote = remote_open() == 0;
		for (int i = 0; i < HOOK_COUNT; i++)
			life_armed[i] = armed[i];
		/* without libunwind, backtraces may differ from those that libunwind would make */
		if (life.depth)
			facts_tell_walker(life.is_remote);
	}
}

/*
 * This destructor runs near the end of exit(). Destructors of libraries may run later (libuv's
 * closes descriptors then), and are recorded, too.
 */
__attribute__((destructor)) static void start_destruct(void)
{
	struct arena *head = memory_head();

	if (!life_is_running())
		return;
	facts_tell_heap();
	facts_tell_bypass(true);
	life_note_end(true);
	ending_look();
	if (head)
		__atomic_fetch_or(&head->flags, PROCESS_EXITED, __ATOMIC_RELAXED);
	ending_await_scan();
}
