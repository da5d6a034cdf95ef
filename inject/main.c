/* SPDX-License-Identifier: MIT */
/*
 * holdtrace-inject: started by `holdtrace attach` and `holdtrace ctl PID detach` to load the
 * library into a program, or to stop its recording there. It is a separate program, so that no
 * other program needs the right to trace processes. One thread of the program is stopped for some
 * milliseconds; the others run on.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "inject/arch.h"
#include "inject/target.h"
#include "injected.h"
#include "process/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_OWN_FAILURE 125

/* Statistics of an attach or detach. */
struct inject_result {
	uint64_t pause_ns; /* time for which the thread was stopped */
	unsigned stops;	  /* number of threads that were stopped until a thread could be borrowed */
	unsigned retries; /* number of attempts that failed for a temporary reason */
};

#if ARCH_INJECTS

#include "base/cleanup.h"
#include "contract.h"
#include "inject/borrowed.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define PATIENCE_NS    10000000000ull /* limit of the search for a thread that can make calls */
#define LEADER_NS      5000000000ull /* for this time, only the first thread of the process is tried */
#define RETRY_NS       20000000
#define UNANSWERED_MAX 2u /* maximum retries for a silent collector: each stops a thread */
#define LIBRARY_MOST   (64u << 20)
#define SEGMENTS_MOST  32
#define LEFT_MOST      64

/* The library's file, and the position of its entry point. */
struct library {
	uint8_t *bytes;
	size_t size, used;  /* used: number of bytes from the start that the loader maps */
	size_t entry_point; /* offset in the file */
	uint64_t address;   /* address of the entry point, relative to the library's base */
};

struct work {
	struct target target;
	struct safe *safe;
	struct library library;
	struct late_order *order;
	struct inject_result *result;
	uint64_t entry_point; /* address in the target; 0: the library is not loaded */
	uint64_t function;    /* the library's function that executes the injector's orders */
	unsigned round;
	int left[LEFT_MOST]; /* descriptors that unfinished attaches left open */
	size_t left_count;
};

/* ---- the library's file ---- */

static const char late_mark[16] = LATE_MARK;

static int read_library(struct library *library, const char *path, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Ehdr *header;
	struct stat status;
	const uint8_t *at;
	uint64_t offset;
	bool is_valid;

	if (fd < 0 || fstat(fd, &status))
		return error_system(err, errno, "cannot open %s", path);
	if (status.st_size < (off_t)sizeof(Elf64_Ehdr) || status.st_size > LIBRARY_MOST)
		return error_set(err, ENOEXEC, "%s is not a library", path);
	library->size = (size_t)status.st_size;
	library->bytes = memory_alloc(library->size);
	for (size_t done = 0; done < library->size;) {
		ssize_t got = read(fd, library->bytes + done, library->size - done);

		if (got <= 0)
			return error_set(err, EIO, "cannot read %s", path);
		done += (size_t)got;
	}
	header = (const void *)library->bytes;
	at = memmem(library->bytes, library->size, late_mark, sizeof(late_mark));
	offset = at ? (uint64_t)(at - library->bytes) : 0;
	is_valid = at && header->e_phentsize == sizeof(Elf64_Phdr) &&
		   header->e_phoff <= library->size - SEGMENTS_MOST * sizeof(Elf64_Phdr) &&
		   header->e_phnum <= SEGMENTS_MOST &&
		   offset <= library->size - sizeof(struct late_entry);
	library->entry_point = offset;
	for (unsigned i = 0; is_valid && i < header->e_phnum; i++) {
		const Elf64_Phdr *segment =
			(const Elf64_Phdr *)(const void *)(library->bytes + header->e_phoff) + i;

		if (segment->p_type != PT_LOAD || segment->p_offset > library->size ||
		    segment->p_filesz > library->size - segment->p_offset)
			continue;
		/* only the loaded segments are needed; debug information follows them */
		if (segment->p_offset + segment->p_filesz > library->used)
			library->used = segment->p_offset + segment->p_filesz;
		if (offset >= segment->p_offset && offset - segment->p_offset < segment->p_filesz)
			library->address = segment->p_vaddr + (offset - segment->p_offset);
	}
	return library->address ? 0
				: error_set(err, ENOEXEC,
					    "libholdtrace.so has no entry point for attaching: "
					    "install holdtrace again");
}

/* ---- the library if it is loaded ---- */

/*
 * Finds the entry point of the library in the target, where an earlier attach or the program's
 * start has loaded the library. Leaves work->entry_point 0 if the library is not loaded.
 */
static int find_loaded(struct work *work, struct error *err)
{
	struct late_entry entry_point;

	work->entry_point = 0;
	for (size_t i = 0; i < work->target.subject.maps.count; i++) {
		const struct mapping *map = &work->target.subject.maps.items[i];

		if (map->offset || (!strstr(map->path, "/memfd:" LATE_LIBRARY) &&
				    strncmp(mapping_name(map), "libholdtrace.so", 15) != 0))
			continue;
		if (subject_get(&work->target.subject, map->from + work->library.address,
				&entry_point, sizeof(entry_point)) ||
		    memcmp(entry_point.mark, late_mark, sizeof(late_mark)) != 0 ||
		    entry_point.contract != CONTRACT_HASH)
			return error_set(
				err, EPROTO,
				"the process has loaded the library of another build of holdtrace: "
				"attach with that build, or restart the program");
		work->entry_point = map->from + work->library.address;
		work->function = (uint64_t)(uintptr_t)entry_point.obey;
		return 0;
	}
	return 0;
}

/* ---- a thread to borrow ---- */

static void pause_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

/*
 * Returns the pass of choose_once() that tries the thread. 0: the thread sleeps in a call that can
 * simply be repeated; 1: it sleeps in another call; 2: it does not sleep; -1: no pass tries it.
 */
static int turn_of(const struct stopping *stopping, const char **where)
{
	const char *objection = stopping_objection(stopping);

	if (objection)
		*where = objection;
	if (stopping->effect == STOPPING_KEPT && remote_may_suspend(stopping))
		objection = NULL;
	if (objection || strchr("DZX", stopping->state))
		return -1;
	if (stopping->state != 'S')
		return 2;
	return stopping->effect == STOPPING_NONE || stopping->effect == STOPPING_AGAIN ? 0 : 1;
}

/*
 * Stops the thread. Returns 0 if it may be borrowed (made to call functions). Otherwise lets the
 * thread continue and returns -EAGAIN or another negative errno.
 */
static int try_thread(struct work *work, struct remote *remote, const struct stopping *stopping,
		      const char **where, struct error *err)
{
	int64_t filters;
	int status = jail_look(work->target.subject.pid, stopping->tid, &filters, err);

	if (!status)
		status = remote_stop(remote, &work->target, stopping, err);
	if (status)
		return status;
	work->result->stops++;
	status = jail_check(remote, filters, err);
	if (!status) {
		*where = safe_judge(work->safe, remote);
		if (!*where && !remote_has_room(remote))
			*where = "a stack without space for a signal frame";
		status = *where ? -EAGAIN : 0;
	}
	if (status)
		remote_release(remote);
	return status;
}

/*
 * Tries all threads once. Returns 0 and leaves one thread stopped, which may be borrowed; -EAGAIN
 * if there is no such thread; or another negative errno.
 */
static int choose_once(struct work *work, struct remote *remote, bool wants_leader,
		       const char **where, struct error *err)
{
	size_t count;
	cleanup_free int32_t *threads = proc_threads(work->target.subject.pid, &count);

	if (!count || target_read_maps(&work->target, err))
		return error_set(err, ESRCH, "process %d has ended", (int)work->target.subject.pid);
	for (int turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < count; i++) {
			pid_t thread = threads[(work->round + i) % count];
			struct stopping stopping;
			int status;

			if (wants_leader && thread != work->target.subject.pid)
				continue;
			stopping_look(&stopping, work->target.subject.pid, thread);
			if (turn_of(&stopping, where) != turn)
				continue;
			status = try_thread(work, remote, &stopping, where, err);
			if (status != -EAGAIN)
				return status;
		}
	safe_prepare(work->safe);
	return -EAGAIN;
}

static int choose_thread(struct work *work, struct remote *remote, struct error *err)
{
	uint64_t begun = clock_ns();
	const char *where = "a system call that cannot be interrupted";
	bool wants_leader = false;
	size_t count;
	cleanup_free int32_t *threads = proc_threads(work->target.subject.pid, &count);
	int status;

	/*
	 * jemalloc gives an arena to each thread that allocates memory, and may start a background
	 * thread for the arena, which would remain after the attach. The first thread already has
	 * an arena; other threads may have none.
	 */
	for (size_t i = 0; i < count && !wants_leader; i++) {
		cleanup_free char *name = proc_text(work->target.subject.pid, threads[i], "comm");

		wants_leader = name && !strcmp(name, "jemalloc_bg_thd\n");
	}

	work->round++;
	while ((status = choose_once(work, remote, wants_leader, &where, err)) == -EAGAIN) {
		wants_leader &= clock_ns() - begun < LEADER_NS;
		if (clock_ns() - begun > PATIENCE_NS)
			return error_set(
				err, EAGAIN,
				"no thread of process %d could be borrowed within 10 seconds (the "
				"last thread that was tried was in %s): try again",
				(int)work->target.subject.pid, where);
		/* vary the pause, so that a thread in a loop is stopped at different points */
		pause_ns((work->result->stops ? 50000 : 1000000) +
			 (long)(work->round++ % 7) * 130000);
	}
	return status;
}

/* ---- the trigger ---- */

#define PAGE	     4096u
#define TRIGGER_SIZE 8192u

/*
 * The first page of the trigger (see make_trigger()), which is executable. The second page is
 * writable, because it has the dynamic section, to which older loaders write.
 */
struct code_page {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	Elf64_Sym symbols[1];
	uint32_t hash[4];
	char names[16];
	uint8_t code[64] __attribute__((aligned(16)));
};

_Static_assert(sizeof(struct code_page) <= PAGE, "struct code_page must fit into a page");
_Static_assert(ARCH_TRIGGER_SIZE <= 64, "the trigger's code exceeds 64 bytes");

/*
 * Makes the trigger: a minimal library that calls one function with one argument when it is loaded.
 * The loader makes this call under its lock, so all modules are in a consistent state.
 */
static void make_trigger(uint8_t image[TRIGGER_SIZE], uint64_t function, uint64_t argument)
{
	const Elf64_Dyn dynamic[] = {
		{ DT_INIT, { offsetof(struct code_page, code) } },
		{ DT_HASH, { offsetof(struct code_page, hash) } },
		{ DT_STRTAB, { offsetof(struct code_page, names) } },
		{ DT_SYMTAB, { offsetof(struct code_page, symbols) } },
		{ DT_STRSZ, { sizeof(((struct code_page *)0)->names) } },
		{ DT_SYMENT, { sizeof(Elf64_Sym) } },
		{ DT_NULL, { 0 } },
	};
	struct code_page page = {
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = ARCH_MACHINE,
			    .e_version = EV_CURRENT,
			    .e_phoff = offsetof(struct code_page, segments),
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 4 },
		.hash = { 1, 1, 0, 0 }, /* one bucket, and one symbol: the empty symbol */
	};

	size_t entries = sizeof(dynamic) / sizeof(dynamic[0]);

	page.segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_filesz = PAGE,
					 .p_memsz = PAGE,
					 .p_align = PAGE };
	page.segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
					 .p_flags = PF_R | PF_W,
					 .p_offset = PAGE,
					 .p_vaddr = PAGE,
					 .p_filesz = PAGE,
					 .p_memsz = PAGE,
					 .p_align = PAGE };
	page.segments[2] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
					 .p_flags = PF_R | PF_W,
					 .p_offset = PAGE,
					 .p_vaddr = PAGE,
					 .p_filesz = entries * sizeof(Elf64_Dyn),
					 .p_memsz = entries * sizeof(Elf64_Dyn),
					 .p_align = 8 };
	/* without this segment the loader would make all stacks executable */
	page.segments[3] = (Elf64_Phdr){ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W };
	arch_write_trigger(page.code, function, argument);
	memset(image, 0, TRIGGER_SIZE);
	memcpy(image, &page, sizeof(page));
	memcpy(image + PAGE, dynamic, sizeof(dynamic));
}

/* ---- loading libraries into the target ---- */

#define PATH_ROOM 128u

_Static_assert(PATH_ROOM + sizeof(struct late_order) <= REMOTE_DATA_SIZE,
	       "the path and the request exceed the borrowed memory");

/*
 * Loads `bytes` as a library, whose constructor executes the order (the injector's command) at
 * `order_at`. Closes the library's file, unless the constructor has closed it.
 */
static int load_library(struct work *work, struct remote *remote, const char *name,
			const void *bytes, size_t size, int flags, uint64_t *handle,
			struct error *err)
{
	uint64_t text = remote->scratch + REMOTE_DATA, order_at = text + PATH_ROOM;
	struct late_order *order = work->order;
	char path[PATH_ROOM];
	int fd = remote_file(remote, name, bytes, size), status;

	*handle = 0;
	if (fd < 0)
		return error_system(err, -fd, "the process may not create a file in memory");
	order->result = LATE_UNSAID;
	order->file = fd;

	/*
	 * spell the path as never before: the loader identifies a library by its path, and
	 * descriptor numbers are reused
	 */
	size_t room = sizeof(path);
	uint64_t now = clock_ns() >> 10;
	size_t length = (size_t)snprintf(path, room, "/proc/self/fd");

	for (int bit = 0; bit < 32; bit++)
		length += (size_t)snprintf(path + length, room - length, "%s",
					   now >> bit & 1 ? "/." : "//");
	snprintf(path + length, room - length, "/%d", fd);
	status = target_write(&work->target, text, path, strlen(path) + 1);
	if (!status)
		status = target_write(&work->target, order_at, order, sizeof(*order));
	if (!status)
		status = remote_call(
			remote,
			&(struct arch_call){ work->target.dlopen, { text, (uint64_t)flags } },
			handle, err);
	if (status == -ENOTRECOVERABLE)
		remote_leave_page(remote, LATE_STUCK);
	if (status == -ECANCELED)
		return error_set(err, ETIMEDOUT,
				 "the machine is so busy that process %d continued before the "
				 "attach was complete: try again",
				 (int)work->target.subject.pid);
	if (remote->is_left) {
		/* the thread may finish later, without us: the order must then change nothing */
		order->command = LATE_NOTHING;
		target_write(&work->target, order_at, order, sizeof(*order));
		return status;
	}
	subject_get(&work->target.subject, order_at, order, sizeof(*order));
	if (order->file >= 0)
		remote_syscall(remote, &(struct arch_call){ SYS_close, { (uint64_t)fd } });
	if (!status && !*handle) {
		/*
		 * the call of dlerror() clears the loader's error text, so the program does not
		 * see the error
		 */
		char said[256] = "";
		uint64_t at = 0;

		if (work->target.dlerror &&
		    !remote_call(remote, &(struct arch_call){ work->target.dlerror, { 0 } }, &at,
				 err) &&
		    at)
			subject_get(&work->target.subject, at, said, sizeof(said) - 1);
		said[sizeof(said) - 1] = 0;
		return error_set(
			err, ELIBACC,
			"the process's loader refuses the library: %s; start the program by "
			"`holdtrace record --start=off`",
			*said ? said : "no reason given");
	}
	return status;
}

/*
 * Makes the library, which is already loaded, execute the order, by loading a trigger (see
 * make_trigger()). If dlclose() cannot unload the trigger, its two pages stay mapped, but are never
 * executed again.
 */
static int give_order(struct work *work, struct remote *remote, struct error *err)
{
	struct error said = { 0 };
	uint64_t handle, ignored;
	uint8_t image[TRIGGER_SIZE];
	int status;

	make_trigger(image, work->function, remote->scratch + REMOTE_DATA + PATH_ROOM);
	status = load_library(work, remote, LATE_TRIGGER, image, sizeof(image), RTLD_NOW, &handle,
			      err);
	if (status || remote_call(remote, &(struct arch_call){ work->target.dlclose, { handle } },
				  &ignored, &said) != -ENOTRECOVERABLE)
		return status;
	remote_leave_page(remote, LATE_STUCK);
	return error_set(err, ENOTRECOVERABLE, "%s", said.text);
}

static int with_thread(struct work *work, struct remote *remote, struct error *err)
{
	int status = remote_begin(remote, err);
	struct library *library = &work->library;
	uint64_t order_at = remote->scratch + REMOTE_DATA + PATH_ROOM, handle;

	if (!status && work->entry_point) {
		status = give_order(work, remote, err);
	} else if (!status) {
		/* the library's constructor finds the order through the entry point */
		memcpy(library->bytes + library->entry_point + offsetof(struct late_entry, order),
		       &order_at, sizeof(order_at));
		status = load_library(work, remote, LATE_LIBRARY, library->bytes, library->used,
				      RTLD_NOW | RTLD_NODELETE, &handle, err);
	}
	/*
	 * Keep the scratch memory. A thread that is still in a call needs it, and an abandoned call
	 * of the loader may need it. A thread that has restored its registers cannot unmap it.
	 */
	if (remote->is_left || status == -ESRCH || status == -ETIMEDOUT ||
	    status == -ENOTRECOVERABLE)
		return status;
	for (size_t i = 0; !status && i < work->left_count; i++)
		remote_close_file(remote, work->left[i]);
	remote_end(remote);
	return status;
}

/* Makes one attempt to execute the order. Returns -EDEADLK if it can be repeated later. */
static int try_order(struct work *work, struct error *err)
{
	struct remote remote;
	int status;

	work->left_count = remote_find_files(work->target.subject.pid, work->left, LEFT_MOST);
	status = choose_thread(work, &remote, err);
	if (status)
		return status;
	status = find_loaded(work, err);
	if (!status)
		status = with_thread(work, &remote, err);
	remote_release(&remote);
	work->result->pause_ns = clock_ns() - remote.begun_ns;
	return status;
}

/* ---- the whole attach ---- */

/*
 * Loads the library, unless it is already loaded, and makes it execute the order; the library
 * stores its results in the order. library: path of its file. Returns 0, or a negative errno with
 * the reason; the target continues in any case.
 */
static int inject_order(int pid, const char *library, struct late_order *order,
			struct inject_result *result, struct error *err)
{
	struct work work = { .order = order, .result = result, .target.subject.memory = -1 };
	uint64_t begun = clock_ns();
	int status = target_open(&work.target, pid, err);

	remote_prepare();
	*result = (struct inject_result){ 0 };
	if (!status)
		status = read_library(&work.library, library, err);
	if (!status) {
		work.safe = safe_create(&work.target);
		status = find_loaded(&work, err);
	}
	/* a detach loads nothing: in a program without the library, there is nothing to detach */
	if (!status && order->command == LATE_DETACH && !work.entry_point)
		order->result = LATE_IS_OFF;
	else if (!status)
		/*
		 * The library may refuse the order for a temporary reason: a thread of the program
		 * is enlarging the recorder's memory, or a busy collector did not answer in time.
		 */
		while (((status = try_order(&work, err)) == -EDEADLK ||
			(!status &&
			 (order->result == LATE_BUSY ||
			  (order->result == LATE_NO_RUN && result->retries < UNANSWERED_MAX)))) &&
		       clock_ns() - begun < PATIENCE_NS) {
			result->retries++;
			/*
			 * vary the pause, so that the attempts do not coincide with the periods in
			 * which another thread owns the lock
			 */
			pause_ns(RETRY_NS + (long)(work.round % 5) * 3000000);
		}
	if (status == -EDEADLK)
		error_set(err, EDEADLK,
			  "the process's loader stayed locked: another thread is blocked while it "
			  "loads a library; try again");
	safe_destroy(work.safe);
	free(work.library.bytes);
	target_close(&work.target);
	return status;
}

/*
 * Tests whether inject_order() could work, without changing the process; one of its threads may be
 * stopped for a moment to read its seccomp filters. Returns 0, or a negative errno with the reason.
 */
static int inject_check(int pid, struct error *err)
{
	const char *where = "a sleep that cannot be interrupted";
	cleanup_free int32_t *threads = NULL;
	struct target target;
	size_t count;
	int64_t filters;
	int status = target_open(&target, pid, err);

	if (status)
		return status;
	remote_prepare();
	if (proc_status(pid, 0, "Seccomp", 10) > 0) {
		/* stop one thread for a moment, and check its seccomp filters */
		status = jail_look(pid, 0, &filters, err) ? -EPERM : -EAGAIN;
		threads = proc_threads(pid, &count);
		for (size_t i = 0; i < count && status == -EAGAIN; i++) {
			struct stopping stopping;
			struct remote remote;

			stopping_look(&stopping, pid, threads[i]);
			if (turn_of(&stopping, &where) < 0)
				continue;
			status = remote_stop(&remote, &target, &stopping, err);
			if (status)
				continue;
			status = jail_check(&remote, filters, err);
			remote_release(&remote);
		}
		if (status == -EAGAIN)
			status = jail_is_unknown(where, err);
	}
	target_close(&target);
	return status;
}

#else

static int inject_check(int pid, struct error *err)
{
	(void)pid;
	return error_set(err, ENOTSUP,
			 "holdtrace cannot attach on this processor: start the program by "
			 "`holdtrace record --start=off`");
}

static int inject_order(int pid, const char *library, struct late_order *order,
			struct inject_result *result, struct error *err)
{
	(void)library, (void)order;
	*result = (struct inject_result){ 0 };
	return inject_check(pid, err);
}

#endif

/* ---- the program ---- */

static const char usage[] =
	"Usage: holdtrace-inject attach PID LIBRARY RUN NAME\n"
	"       holdtrace-inject detach PID LIBRARY\n"
	"       holdtrace-inject check PID\n"
	"`holdtrace attach`, `holdtrace ctl` and `holdtrace doctor` start it.\n";

static const char *const refusals[] = {
	[LATE_IS_ON] = "the process is being recorded already: use `holdtrace ctl` to control that "
		       "run",
	[LATE_IS_OFF] = "the process is not attached",
	[LATE_NO_RUN] = "the process cannot reach the collector, or is out of memory; the process "
			"was not changed",
	[LATE_BUSY] = "the process is still being recorded: its threads needed memory for "
		      "recording in each of many attempts to detach; try again",
	[LATE_NO_MALLOC] = "no allocator was found in the process; the process was not changed",
};

static int complain(const char *text)
{
	print_message(stderr, "holdtrace: %s", text);
	return STATUS_OWN_FAILURE;
}

static int run_order(struct late_order *order, int pid, const char *library)
{
	struct inject_result result;
	struct error err = { 0 };

	if (inject_order(pid, library, order, &result, &err))
		return complain(err.text);
	if (order->result != LATE_DONE)
		return complain(
			order->result < sizeof(refusals) / sizeof(*refusals) &&
					refusals[order->result]
				? refusals[order->result]
				: "the library was loaded, but recording did not change: try "
				  "again");
	printf("pause_us=%" PRIu64 " stops=%u retries=%u modules=%" PRIu32 " slots=%" PRIu32
	       " symbols=%" PRIu32 " unchanged=%" PRIu32 "\n",
	       result.pause_ns / 1000, result.stops, result.retries, order->modules, order->slots,
	       order->symbols, order->unchanged);
	return fflush(stdout) ? STATUS_OWN_FAILURE : 0;
}

/*
 * Called when memory runs out: ends the injector. A borrowed thread then restores its registers
 * (inject/borrowed.h).
 */
static void end_without_memory(void)
{
	_exit(complain("out of memory"));
}

int main(int argc, char **argv)
{
	static struct late_order order;
	struct error err = { 0 };
	int pid = argc > 2 ? atoi(argv[2]) : 0, about = options_about(argc, argv, usage);

	if (about >= 0)
		return about;
	memory_set_end(end_without_memory);
	if (argc == 6 && strcmp(argv[1], "attach") == 0) {
		order.command = LATE_ATTACH;
		snprintf(order.run, sizeof(order.run), "%s", argv[4]);
		snprintf(order.name, sizeof(order.name), "%s", argv[5]);
		snprintf(order.library, sizeof(order.library), "%s", argv[3]);

		/* state of the program before the attach, which the trace will contain */
		char text[PROC_STAT_SIZE];
		const char *fields = proc_stat(pid, 0, text);
		unsigned long long start = 0;
		double up = 0;
		FILE *file;

		if (fields)
			sscanf(fields,
			       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			       "%*d %" SCNu64 " %*d %llu %*u %" SCNu64,
			       &order.threads, &start, &order.resident);
		file = fopen("/proc/uptime", "re");
		if (file && fscanf(file, "%lf", &up) == 1)
			order.age_ms = (uint64_t)(up * 1000) -
				       start * 1000 / (unsigned long long)sysconf(_SC_CLK_TCK);
		if (file)
			fclose(file);
		order.resident *= (uint64_t)sysconf(_SC_PAGESIZE);
		return run_order(&order, pid, argv[3]);
	}
	if (argc == 4 && strcmp(argv[1], "detach") == 0) {
		order.command = LATE_DETACH;
		return run_order(&order, pid, argv[3]);
	}
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return inject_check(pid, &err) ? complain(err.text) : 0;
	fputs(usage, stderr);
	return 2;
}
