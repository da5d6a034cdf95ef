/* SPDX-License-Identifier: MIT */
/*
 * busy KIND: a program to be attached to while it works. It checks all that it does itself, ends at
 * SIGTERM, says what was wrong, and ends with status 1 if something was.
 *
 * threads: allocates, locks, waits, loads libraries, makes threads; some wait for what never comes.
 * alarm: one thread allocates, and handlers interrupt it all the time.
 * alone: one thread allocates; it must remain a program of one thread.
 * exact: at SIGUSR1 makes a known number of calls.
 * wait: a thread is in pthread_cond_wait from SIGUSR1 to SIGUSR2.
 * opens: opens descriptors, 200 of them.
 * arenas: one thread allocates and sleeps, another one sleeps and never allocates.
 * small: threads with small stacks sleep, and look afterwards whether all below is as it was.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define BLOCKS	256

static volatile sig_atomic_t is_over, was_asked;
static unsigned long wrong, interrupted, rounds;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long guarded, signalled;

static void end(int number)
{
	(void)number;
	is_over = 1;
}

static void ask(int number)
{
	was_asked = number;
}

static void note_wrong(void)
{
	__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void nap(long us)
{
	const struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

/* ---- threads ---- */

struct block {
	unsigned char *bytes;
	size_t size;
};

static void check(const struct block *block, unsigned char mark)
{
	for (size_t i = 0; i < block->size; i += 13)
		if (block->bytes[i] != mark)
			note_wrong();
}

static void change(struct block *block, unsigned int *seed, unsigned char mark)
{
	*seed = *seed * 1103515245 + 12345;
	if (block->bytes) {
		check(block, mark);
		free(block->bytes);
		block->bytes = NULL;
		return;
	}
	block->size = *seed / 65536 % 700 + 1;
	block->bytes = *seed & 8192 ? malloc(block->size) : calloc(1, block->size);
	memset(block->bytes, mark, block->size);
}

static void *work(void *argument)
{
	unsigned int seed = (unsigned int)(uintptr_t)argument * 77 + 1;
	unsigned char mark = (unsigned char)(uintptr_t)argument;
	struct block blocks[BLOCKS] = { 0 };

	while (!is_over) {
		for (int i = 0; i < 1000; i++)
			change(&blocks[seed / 65536 % BLOCKS], &seed, mark);
		pthread_mutex_lock(&lock);
		guarded++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
		nap(2000);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i].bytes);
	return NULL;
}

/* Registers that hold numbers across whatever comes between. */
static void *count(void *argument)
{
	while (!is_over) {
		volatile double one = 1;
		double a = 0, b = 1, c = 2, d = 3;

		for (int i = 0; i < 20000; i++) {
			a += one;
			b += a * 0;
			c += b * 0;
			d += c * 0;
		}
		if (a != 20000 || b != 1 || c != 2 || d != 3)
			note_wrong();
		nap(500);
	}
	return argument;
}

static void *poll_nothing(void *argument)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), never = eventfd(0, 0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, never, &event);
	while (!is_over)
		if (epoll_wait(epoll, &event, 1, 50) < 0 && errno == EINTR)
			__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	close(epoll);
	close(never);
	return argument;
}

static void *wait_for_signal(void *argument)
{
	const struct timespec time = { .tv_nsec = 40000000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	while (!is_over)
		if (sigtimedwait(&set, NULL, &time) < 0 && errno == EINTR)
			__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	return argument;
}

static void *sleep_exactly(void *argument)
{
	const struct timespec time = { .tv_nsec = 30000000 };

	while (!is_over) {
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		if (nanosleep(&time, NULL))
			__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
		clock_gettime(CLOCK_MONOTONIC, &after);
		if ((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec <
		    time.tv_nsec)
			note_wrong();
	}
	return argument;
}

static void *wait_for_change(void *argument)
{
	pthread_mutex_lock(&lock);
	while (!is_over) {
		pthread_cond_wait(&changed, &lock);
		signalled++;
	}
	pthread_mutex_unlock(&lock);
	return argument;
}

static void *give(void *argument)
{
	return malloc((size_t)argument);
}

/* Threads come and go, libraries, too. */
static void *make_and_load(void *argument)
{
	static const char *const names[] = { "libm.so.6", "libresolv.so.2" };

	while (!is_over) {
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, give, (void *)100) == 0) {
			pthread_join(thread, &result);
			free(result);
		}
		for (int i = 0; i < 2; i++) {
			void *library = dlopen(names[i], RTLD_NOW);

			if (library)
				dlclose(library);
		}
		nap(3000);
	}
	return argument;
}

static void run_threads(void)
{
	static void *(*const others[])(void *) = { count,	  poll_nothing,	   wait_for_signal,
						   sleep_exactly, wait_for_change, make_and_load };
	enum { OTHERS = sizeof(others) / sizeof(others[0]) };
	pthread_t threads[WORKERS + OTHERS];

	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (size_t i = 0; i < OTHERS; i++)
		pthread_create(&threads[WORKERS + i], NULL, others[i], NULL);
	while (!is_over)
		nap(20000);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < WORKERS + OTHERS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- one thread ---- */

static unsigned long handled;

static void handle(int number)
{
	(void)number;
	handled++;
	for (volatile int i = 0; i < 20000; i++)
		;
}

static void allocate(void)
{
	static void *volatile blocks[64];

	while (!is_over) {
		unsigned int i = rounds & 63;

		free(blocks[i]);
		blocks[i] = malloc(100 + rounds % 5000);
		rounds++;
	}
	for (int i = 0; i < 64; i++)
		free(blocks[i]);
}

static void run_alarm(void)
{
	const struct itimerval often = { { 0, 300 }, { 0, 300 } };
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	allocate();
	if (!handled)
		note_wrong();
}

static void *sleep_only(void *argument)
{
	while (!is_over)
		pause();
	return argument;
}

static void run_arenas(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleep_only, NULL))
		note_wrong();
	while (!is_over) {
		free(malloc(5000));
		nap(2000);
	}
}

static void run_alone(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN }, after;
	sigset_t before = { 0 }, mask = { 0 }; /* the kernel fills in a part */

	sigaction(SIGTRAP, &action, NULL);
	sigprocmask(SIG_SETMASK, NULL, &before);
	allocate();
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigaction(SIGTRAP, NULL, &after);
	if (!__libc_single_threaded || after.sa_handler != SIG_IGN ||
	    memcmp(&before, &mask, sizeof(mask)) != 0)
		note_wrong();
}

/* From here on one system call is the end. */
static void run_without(int number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		note_wrong();
	allocate();
}

static void run_jailed(void)
{
	run_without(SYS_memfd_create);
}

static void run_locked(void)
{
	run_without(SYS_fcntl);
}

static void run_fenced(void)
{
	run_without(SYS_ptrace);
}

/* ---- known calls ---- */

static void wait_until_asked(int number)
{
	while (was_asked != number && !is_over)
		nap(2000);
}

static __attribute__((noinline)) void *acquisition(size_t size)
{
	return malloc(size);
}

static __attribute__((noinline)) void lose(void *block)
{
	free(block);
}

struct functions {
	void *(*malloc)(size_t);
	void (*free)(void *);
};

/* Pointers that the loader fills in, in memory that is written and in memory that is closed. */
static struct functions written = { malloc, free };
static const struct functions closed = { malloc, free };

static void use(const struct functions *functions, int times)
{
	for (volatile int i = 0; i < times; i++)
		functions->free(functions->malloc(30));
}

static void *use_in_thread(void *argument)
{
	use(&written, 10);
	return argument;
}

static void run_exact(void)
{
	void *earlier[20], *kept[10];
	pthread_t thread;
	pid_t child;
	int fd = open("/dev/null", O_RDONLY);

	for (int i = 0; i < 20; i++)
		earlier[i] = malloc(200);
	pthread_create(&thread, NULL, use_in_thread, NULL);
	pthread_join(thread, NULL);
	puts("ready");
	fflush(stdout);
	wait_until_asked(SIGUSR1);
	for (int i = 0; i < 20; i++)
		lose(earlier[i]);
	close(fd);
	for (int i = 0; i < 100; i++)
		lose(acquisition(11));
	for (int i = 0; i < 10; i++)
		kept[i] = acquisition(12);
	use(&written, 100);
	use(&closed, 100);
	pthread_create(&thread, NULL, use_in_thread, NULL);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		lose(kept[0]);
		lose(acquisition(13));
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	puts("done");
	fflush(stdout);
	wait_until_asked(SIGUSR2);
	for (int i = 0; i < 10; i++)
		lose(kept[i]);
}

/* ---- stacks with next to nothing left, and words of the program's own below them ---- */

#define SLEEPERS 4
#ifdef __x86_64__
#define STACK_SIZE 65536
#else
#define STACK_SIZE 262144 /* the least stack is one of 128 KiB on aarch64 */
#endif
#define RED_ZONE 128
#define PATTERN	 0x5ca1ab1e0ddba11ull

/* The sleeper's frame is the last one, so what is below its red zone is nobody's but ours. */
static __attribute__((noinline)) void sleep_above(uint64_t *low, int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000l };
	uint64_t *high = (uint64_t *)((uintptr_t)__builtin_frame_address(0) - 1024);
	long result = -EINTR;

	for (volatile uint64_t *at = low; at < high; at++)
		*at = PATTERN;
#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(SYS_nanosleep), "D"(&time), "S"(0)
			 : "rcx", "r11", "memory");
#else
	result = syscall(SYS_nanosleep, &time, NULL);
#endif
	if (result)
		__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	for (volatile uint64_t *at = low; at < high; at++)
		if (*at != PATTERN)
			note_wrong();
}

/* argument: the lowest word, of the stack or of what the program has below it. */
static void *sleep_low(void *argument)
{
	for (int ms = 5; !is_over; ms = ms % 40 + 5) {
		sleep_above(argument, ms);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Half of them have the least stack that a thread may have. */
static void run_small(void)
{
	static _Alignas(4096) char memory[SLEEPERS][STACK_SIZE];
	pthread_t threads[SLEEPERS];
	sigset_t set;

	/* a handler's frame would lie below a stack, too */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < SLEEPERS; i++) {
		size_t size = i % 2 ? STACK_SIZE : (size_t)PTHREAD_STACK_MIN;
		pthread_attr_t attributes;

		pthread_attr_init(&attributes);
		if (pthread_attr_setstack(&attributes, memory[i] + STACK_SIZE - size, size) ||
		    pthread_create(&threads[i], &attributes, sleep_low, memory[i]))
			note_wrong();
		pthread_attr_destroy(&attributes);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	while (!is_over)
		nap(2000);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- what is held grows ---- */

static void run_opens(void)
{
	for (int i = 0; !is_over; i++) {
		if (i < 200 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			note_wrong();
		nap(20000);
	}
}

/* ---- a call that lasts ---- */

static bool is_there;

static void *wait_long(void *argument)
{
	pthread_mutex_lock(&lock);
	while (!is_there)
		pthread_cond_wait(&changed, &lock);
	free(acquisition(77));
	pthread_mutex_unlock(&lock);
	return argument;
}

static void run_wait(void)
{
	pthread_t thread;

	puts("ready");
	fflush(stdout);
	wait_until_asked(SIGUSR1);
	pthread_create(&thread, NULL, wait_long, NULL);
	nap(50000);
	puts("waiting");
	fflush(stdout);
	wait_until_asked(SIGUSR2);
	pthread_mutex_lock(&lock);
	is_there = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	puts("done");
	fflush(stdout);
	while (!is_over)
		nap(5000);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "threads", run_threads }, { "alarm", run_alarm },   { "alone", run_alone },
		      { "jailed", run_jailed },	  { "fenced", run_fenced }, { "exact", run_exact },
		      { "wait", run_wait },	  { "opens", run_opens },   { "small", run_small },
		      { "locked", run_locked },	  { "arenas", run_arenas } };
	struct sigaction action = { .sa_handler = end };
	sigset_t set;

	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = ask;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
			kinds[i].run();
	printf("rounds %lu guarded %lu wrong %lu interrupted %lu\n", rounds, guarded, wrong,
	       interrupted);
	return wrong || interrupted;
}
