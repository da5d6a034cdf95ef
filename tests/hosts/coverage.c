/* SPDX-License-Identifier: MIT */
/*
 * coverage MODE...: a child for each mode, which is blocked in a way that is planned and reads from
 * the kernel for how long its threads were blocked. For each: "MODE PID BLOCKED KIND MOST QUEUED
 * ELSE", in ns; KIND is what a report may say that they were blocked in: recorded, other or
 * unobserved, or mixed. Some kernels take a sleep for a wait for a processor now and then: MOST is
 * the plan's time if BLOCKED is less than that. QUEUED: for so long they waited for a processor.
 * ELSE: the part of BLOCKED that was in what KIND does not name.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000u
#define THREADS 4

/* ---- what the kernel says ---- */

static _Atomic uint64_t blocked_ns, queued_ns, else_ns;

struct mark {
	uint64_t now, ran, queued;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 * MS + (uint64_t)time.tv_nsec;
}

/*
 * Reads the clock and the kernel's counters at the same time. A thread that loses its processor in
 * between tries again: it would take that time for time in which it was blocked. The kernel brings
 * the counters up to date when a thread yields.
 */
static struct mark mark(void)
{
	struct mark mark;
	uint64_t begin;
	int tries = 0;

	do {
		FILE *file;

		sched_yield();
		begin = now();
		file = fopen("/proc/thread-self/schedstat", "r");
		if (!file || fscanf(file, "%" SCNu64 " %" SCNu64, &mark.ran, &mark.queued) != 2)
			exit(77);
		mark.now = now();
		fclose(file);
	} while (mark.now - begin > MS / 2 && ++tries < 100);
	return mark;
}

static uint64_t add(struct mark before)
{
	struct mark after = mark();
	uint64_t busy = after.ran - before.ran + after.queued - before.queued;
	uint64_t all = after.now - before.now;

	queued_ns += after.queued - before.queued;
	blocked_ns += all > busy ? all - busy : 0;
	return all > busy ? all - busy : 0;
}

/* syscall(); or libc's own function, which no hook sees. */
static long (*call_futex)(long number, ...);

/* ---- plans ---- */

static void nap(unsigned ms)
{
	struct timespec time = { ms / 1000, (long)(ms % 1000) * MS };

	nanosleep(&time, NULL);
}

static void sleep_long(void)
{
	nap(500);
}

static void sleep_often(void)
{
	for (int i = 0; i < 100; i++)
		nap(5);
}

static void wait_in_poll(void)
{
	for (int i = 0; i < 5; i++)
		poll(NULL, 0, 100);
}

static void read_pipe(void)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		exit(99);
	if (!fork()) {
		nap(500);
		_exit(write(ends[1], "x", 1) != 1);
	}
	if (read(ends[0], &byte, 1) != 1)
		exit(99);
	wait(NULL);
}

/* What blocks, if anything, are pages that are read from a file. */
static void fault(void)
{
	char name[] = "faults.XXXXXX";
	int fd = mkstemp(name);
	size_t size = 16 << 20;
	char *map;

	unlink(name);
	if (ftruncate(fd, (off_t)size))
		exit(99);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < size; i += 4096)
			map[i]++;
		nap(50);
	}
	munmap(map, size);
	close(fd);
}

static void spin(void)
{
	struct timespec time;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	while (time.tv_nsec < 300 * (long)MS && !time.tv_sec);
}

/* ---- plans of several threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static atomic_int word, is_over;
static void (*work)(void);

static void *measured(void *unused)
{
	struct mark begin = mark();

	work();
	add(begin);
	return unused;
}

static void run(void (*what)(void), int threads)
{
	pthread_t thread[THREADS];

	work = what;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, measured, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

/* Held for so long that those who wait are read while they do. */
static void lock_mutex(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		for (uint64_t since = now(); now() - since < 60 * MS;)
			;
		pthread_mutex_unlock(&mutex);
	}
}

static void contend(void)
{
	run(lock_mutex, THREADS);
}

static void wait_for_condition(void)
{
	pthread_mutex_lock(&second);
	while (!is_over)
		pthread_cond_wait(&condition, &second);
	pthread_mutex_unlock(&second);
}

static void *end_soon(void *unused)
{
	struct mark begin = mark();

	nap(500);
	else_ns += add(begin);
	pthread_mutex_lock(&second);
	is_over = 1;
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&second);
	for (int i = 0; i < THREADS; i++)
		sem_post(&semaphore);
	return unused;
}

static void wait_for_semaphore(void)
{
	while (sem_wait(&semaphore))
		;
}

static void end_later(void (*what)(void))
{
	pthread_t thread;

	sem_init(&semaphore, 0, 0);
	work = what;
	pthread_create(&thread, NULL, end_soon, NULL);
	run(what, THREADS);
	pthread_join(thread, NULL);
}

static void signalled(void)
{
	end_later(wait_for_condition);
}

static void posted(void)
{
	end_later(wait_for_semaphore);
}

static void lock_word(void)
{
	for (int i = 0; i < 2; i++) {
		int zero = 0;

		if (!atomic_compare_exchange_strong(&word, &zero, 1))
			while (atomic_exchange(&word, 2))
				call_futex(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
		for (uint64_t since = now(); now() - since < 60 * MS;)
			;
		if (atomic_exchange(&word, 0) == 2)
			call_futex(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static void own_lock(void)
{
	run(lock_word, THREADS);
}

/* A deadlock of two locks that are no pthread's, until a timeout. */
static void wait_for_each_other(void)
{
	const struct timespec time = { .tv_nsec = 500 * MS };

	call_futex(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
}

static void own_deadlock(void)
{
	run(wait_for_each_other, 2);
}

static void short_nap(void)
{
	nap(2);
}

static void short_threads(void)
{
	for (int i = 0; i < 50; i++)
		run(short_nap, THREADS);
}

static const struct {
	const char *name, *kind;
	void (*plan)(void);
	unsigned plan_ms; /* for which it is blocked in all if nothing is late */
} modes[] = {
	{ "sleeps-once", "recorded", sleep_long, 500 },
	{ "sleeps-often", "recorded", sleep_often, 500 },
	{ "polls", "recorded", wait_in_poll, 500 },
	{ "reads-a-pipe", "recorded", read_pipe, 500 },
	{ "faults", "other", fault, 250 },
	{ "spins", "mixed", spin, 0 },
	{ "contends", "recorded", contend, 0 },
	{ "waits-for-a-condition", "recorded", signalled, 2500 },
	{ "waits-for-a-semaphore", "recorded", posted, 2500 },
	{ "own-lock", "unobserved", own_lock, 0 },
	{ "own-deadlock", "unobserved", own_deadlock, 1000 },
	{ "futexes", "recorded", own_lock, 0 },
	{ "short-threads", "mixed", short_threads, 400 },
};

/* The first thread of a plan with threads waits for them: that is in recorded joins. */
static int be(size_t mode)
{
	bool is_unseen = !strcmp(modes[mode].kind, "unobserved");
	struct mark begin = mark();
	uint64_t most = modes[mode].plan_ms * (uint64_t)MS, first_ns;

	call_futex = syscall;
	if (is_unseen)
		call_futex = (long (*)(long, ...))dlsym(dlopen("libc.so.6", RTLD_LAZY), "syscall");
	modes[mode].plan();
	first_ns = add(begin);
	if (is_unseen)
		else_ns += first_ns;
	if (most < blocked_ns)
		most = blocked_ns;
	printf("%s %d %" PRIu64 " %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", modes[mode].name,
	       getpid(), (uint64_t)blocked_ns, modes[mode].kind, most, (uint64_t)queued_ns,
	       (uint64_t)else_ns);
	return 0;
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(modes) / sizeof(*modes); k++)
			if (!strcmp(modes[k].name, argv[i]) || !strcmp("all", argv[i])) {
				fflush(stdout);
				if (argc == 2 && strcmp("all", argv[i]) != 0)
					return be(k);
				if (!fork())
					exit(be(k));
			}
	while (wait(&status) > 0)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status);
	return failed;
}
