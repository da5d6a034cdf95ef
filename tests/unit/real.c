/* SPDX-License-Identifier: MIT */
/*
 * Of functions that libc has in several versions, the hooks must call the default version, which a
 * program linked today gets. To know it, this program uses the addresses that the linker bound.
 * Mixing versions of pthread_cond_* corrupts memory.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "arena.h"
#include "collect/libc_places.h"
#include "preload/ground/behind.h"
#include "preload/ground/real.h"
#include "tests/lib/tap.h"

#define SAME(name) check(#name, (void *)real.name, (void *)name)

static void check(const char *name, void *ours, void *linked)
{
	char sentence[128];

	snprintf(sentence, sizeof(sentence), "%s is the function's default version", name);
	ok(ours == linked, sentence);
}

/* Checks that `ours` is not the older version, if the function has one. */
static void check_old(const char *name, void *ours)
{
	void *old = dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5");
	void *new = dlvsym(RTLD_DEFAULT, name, "GLIBC_2.3.2");
	char sentence[128];

	if (!old || !new)
		return;
	snprintf(sentence, sizeof(sentence), "%s is version GLIBC_2.3.2, not GLIBC_2.2.5", name);
	ok(ours == new &&ours != old, sentence);
}

static void check_alias(const char *name, void *ours, void *heir)
{
	char sentence[128];

	snprintf(sentence, sizeof(sentence), "%s is the function without the underscores", name);
	ok(ours && ours == heir, sentence);
}

/* The library's own look-up, which is cheaper, must find what dlsym() finds. */
static void check_all(void)
{
	unsigned int sure = 0, different = 0;

	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		const char *name = real_name(i);
		bool is_sure;
		void *found = behind_find(name, &is_sure);

		sure += is_sure;
		if (!is_sure || found == dlsym(RTLD_NEXT, name))
			continue;
		printf("# %s\n", name);
		different++;
	}
	ok(!different, "behind_find() finds the functions that dlsym finds");
	ok(sure == HOOK_holdtrace_acquired, "all hooked functions are found without dlsym");
	ok(!behind_find("no_such_function", &(bool){ 0 }),
	   "a function that no module defines is not found");
}

/* glibc 2.35 lacks these functions; a program may find the library's by dlsym(). */
static void check_stand_ins(void)
{
	__typeof__(real.pidfd_open) pidfd = real.pidfd_open;
	__typeof__(real.fsopen) fs = real.fsopen;

	real.pidfd_open = NULL;
	real.fsopen = NULL;
	real_stand_in();
	errno = 0;
	ok(real.pidfd_open && real.pidfd_open(getpid(), 0) == -1 && errno == ENOSYS,
	   "a function that libc lacks fails as one whose system call the kernel lacks");
	errno = 0;
	ok(real.fsopen && real.fsopen("tmpfs", 0) == -1 && errno == ENOSYS,
	   "so does one with other parameters");
	real.pidfd_open = pidfd;
	real.fsopen = fs;
}

/* The addresses that the maker of a run stores must be those that each process would find. */
static void check_known(void)
{
	static struct libc_places places;
	unsigned int known = 0, different = 0;

	libc_places_find(&places);
	if (!places.id_size) {
		printf("ok %d # SKIP a libc without a build-id\n", ++tap_number);
		return;
	}
	ok(behind_begin(&places), "known addresses of libc's functions are accepted");
	for (unsigned int i = 0; i < HOOK_holdtrace_acquired; i++) {
		void *found = behind_known(i, real_name(i));
		bool is_sure;

		known += found != NULL;
		if (found && real_name(i)[0] != '_')
			different += found != behind_find(real_name(i), &is_sure);
	}
	ok(known > HOOK_holdtrace_acquired - 20,
	   "nearly all hooked functions have a known address");
	ok(!different, "known addresses equal those that a look-up finds");
	places.id[0]++;
	ok(behind_begin(&places) && !behind_known(HOOK_malloc, "malloc"),
	   "a libc with another build-id has no known addresses");
}

/* In a process with an allocator before libc, the allocator's functions have no known address. */
static int look_behind_another(void)
{
	static struct libc_places places;
	bool is_sure;

	libc_places_find(&places);
	if (!behind_begin(&places))
		return 1;
	if (behind_find("free", &is_sure) != dlsym(RTLD_NEXT, "free"))
		return 2;
	if (behind_known(HOOK_malloc, "malloc") || behind_known(HOOK_free, "free"))
		return 3;
	return !places.id_size || behind_known(HOOK_open, "open") ? 0 : 4;
}

#define ANOTHER "./tests/tools/count-calls.so"

static void check_behind_another(const char *self)
{
	char command[4096];

	if (access(ANOTHER, R_OK)) {
		printf("ok %d # SKIP no %s\n", ++tap_number, ANOTHER);
		return;
	}
	snprintf(command, sizeof(command),
		 "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=%s '%s' behind", ANOTHER, self);
	ok(system(command) == 0, "functions of an allocator before libc are not taken from libc");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return look_behind_another();
	check_stand_ins();
	check_known();
	check_behind_another(argv[0]);
	ok(behind_begin(NULL) && behind_is_first(), "the modules after this one are found");
	check_all();
	real_find(NULL);
	SAME(pthread_cond_init);
	SAME(pthread_cond_destroy);
	SAME(pthread_cond_wait);
	SAME(pthread_cond_timedwait);
	SAME(pthread_cond_clockwait);
	SAME(pthread_cond_signal);
	SAME(pthread_cond_broadcast);
	SAME(pthread_create);
	SAME(pthread_join);
	SAME(pthread_timedjoin_np);
	SAME(pthread_exit);
	SAME(pthread_mutex_lock);
	SAME(pthread_mutex_timedlock);
	SAME(pthread_rwlock_rdlock);
	SAME(pthread_spin_lock);
	SAME(pthread_barrier_wait);
	SAME(sem_init);
	SAME(sem_open);
	SAME(sem_post);
	SAME(sem_wait);
	SAME(semctl);
	SAME(semtimedop);
	SAME(thrd_create);
	SAME(mtx_lock);
	SAME(cnd_wait);
	SAME(posix_memalign);
	SAME(fopen);
	SAME(fclose);
	SAME(fdopen);
	check_old("pthread_cond_init", (void *)real.pthread_cond_init);
	check_old("pthread_cond_destroy", (void *)real.pthread_cond_destroy);
	check_old("pthread_cond_wait", (void *)real.pthread_cond_wait);
	check_old("pthread_cond_timedwait", (void *)real.pthread_cond_timedwait);
	check_old("pthread_cond_signal", (void *)real.pthread_cond_signal);
	check_old("pthread_cond_broadcast", (void *)real.pthread_cond_broadcast);
	check_alias("__pthread_mutex_lock", (void *)real.__pthread_mutex_lock,
		    (void *)pthread_mutex_lock);
	check_alias("__pthread_rwlock_unlock", (void *)real.__pthread_rwlock_unlock,
		    (void *)pthread_rwlock_unlock);
	return tap_end();
}
