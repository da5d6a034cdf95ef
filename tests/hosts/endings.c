/* SPDX-License-Identifier: MIT */
/*
 * Ends that are told wrongly with ease: endings WAY. Where threads are stuck, it kills itself.
 *
 *   joined    two threads join each other
 *   orphan    a thread ends with a lock that another one waits for
 *   crossed   two threads take two locks in either order, and meet
 *   silent    three threads that call nothing, one of them joined
 *   cache     a block at a time for 200 ms, all given back in the end
 *   frees     free(NULL) after a call that failed
 *   closed    a descriptor is closed twice
 *   vain      20 signals that nobody waits for, and then a wait for a millisecond
 *   unheard   20 signals, and never a wait
 *   short     2000 blocks that are freed at once
 *   unrolled  64 places that a reader cannot tell apart
 *   late      a thread waits for a lock until it may read a byte; so does the end of the program
 *   held      true, which a debugger holds for longer than a second where it begins
 *   slowly    64 MiB, given back by the kernel while another process has the processor
 *   again     20 threads, one after the other, with one number if root asks; prints how many had it
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pthread_t threads[3];

static void *join_other(void *argument)
{
	pthread_barrier_wait(&both);
	pthread_join(threads[argument == NULL], NULL);
	return NULL;
}

static void *keep_lock(void *argument)
{
	pthread_mutex_lock(&first);
	return argument;
}

static void *want_lock(void *argument)
{
	pthread_mutex_lock(&first);
	return argument;
}

static void *take_both(void *argument)
{
	pthread_mutex_lock(argument ? &first : &second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(argument ? &second : &first);
	return NULL;
}

static volatile int is_over;

static void *call_nothing(void *argument)
{
	while (argument && !is_over)
		;
	return NULL;
}

static void be_stuck(void)
{
	usleep(1200000);
	kill(getpid(), SIGKILL);
}

static void pair(void *(*body)(void *))
{
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, body, NULL);
	pthread_create(&threads[1], NULL, body, &both);
	be_stuck();
}

static void orphan(void)
{
	pthread_create(&threads[0], NULL, keep_lock, NULL);
	usleep(100000);
	pthread_create(&threads[1], NULL, want_lock, NULL);
	be_stuck();
}

/* The other end of its standard input says when. */
static void late(void)
{
	char byte;

	pthread_mutex_lock(&first);
	pthread_create(&threads[0], NULL, want_lock, NULL);
	puts("ready");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		abort();
	pthread_mutex_unlock(&first);
	pthread_join(threads[0], NULL);
	puts("over");
	fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		abort();
}

static void silent(void)
{
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, call_nothing, i ? &both : NULL);
	pthread_join(threads[0], NULL);
	is_over = 1;
}

static void cache(void)
{
	static void *blocks[100];

	for (int i = 0; i < 100; i++) {
		blocks[i] = malloc(10500);
		usleep(2000);
	}
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
}

static void frees(void)
{
	int fd = open("/nonexistent/file", O_RDONLY);

	for (int i = 0; fd < 0 && i < 5; i++)
		free(NULL);
}

static void closed(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	close(fd);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void unheard(void)
{
	for (int i = 0; i < 20; i++)
		pthread_cond_signal(&condition);
}

static void vain(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec soon;

	unheard();
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &soon);
	pthread_mutex_unlock(&mutex);
}

static void short_lived(void)
{
	void *volatile block;

	for (int i = 0; i < 2000; i++) {
		block = malloc(10);
		free(block);
	}
}

#define FOUR(x)	     x x x x
#define SIXTYFOUR(x) FOUR(FOUR(FOUR(x)))

static void *volatile kept;

static void unrolled(void)
{
	SIXTYFOUR(kept = malloc(100);)
}

static void held(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	/* stopped at the exec, before anything of the new image has run */
	waitpid(child, &status, 0);
	usleep(2300000);
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	waitpid(child, &status, 0);
}

static pid_t number;

/* The kernel gives 64 MiB back, for which it gets the processor now and then. */
static void slowly(void)
{
	const struct sched_param none = { 0 };
	size_t size = 64 << 20;
	cpu_set_t first_cpu;
	char *bytes = malloc(size);

	for (size_t i = 0; i < size; i += 4096)
		bytes[i] = 1;
	CPU_ZERO(&first_cpu);
	CPU_SET(sched_getcpu(), &first_cpu);
	sched_setaffinity(0, sizeof(first_cpu), &first_cpu);
	if (!fork())
		for (time_t until = time(NULL) + 4; time(NULL) < until;)
			;
	else
		sched_setscheduler(0, SCHED_IDLE, &none);
	_exit(0);
}

static void *have_number(void *argument)
{
	number = gettid();
	free(malloc(100));
	return argument;
}

/* The next number that the kernel gives is to be this one. */
static void ask_for(pid_t wanted)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && wanted)
		dprintf(fd, "%d", (int)wanted - 1);
	close(fd);
}

static void again(void)
{
	pid_t same = 0;
	int count = 0;

	for (int i = 0; i < 20; i++) {
		ask_for(same);
		pthread_create(&threads[0], NULL, have_number, NULL);
		pthread_join(threads[0], NULL);
		same = same ? same : number;
		count += number == same;
	}
	printf("%d\n", count);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

	if (!strcmp(way, "joined"))
		pair(join_other);
	else if (!strcmp(way, "orphan"))
		orphan();
	else if (!strcmp(way, "crossed"))
		pair(take_both);
	else if (!strcmp(way, "silent"))
		silent();
	else if (!strcmp(way, "cache"))
		cache();
	else if (!strcmp(way, "unrolled"))
		unrolled();
	else if (!strcmp(way, "closed"))
		closed();
	else if (!strcmp(way, "vain"))
		vain();
	else if (!strcmp(way, "unheard"))
		unheard();
	else if (!strcmp(way, "short"))
		short_lived();
	else if (!strcmp(way, "frees"))
		frees();
	else if (!strcmp(way, "late"))
		late();
	else if (!strcmp(way, "held"))
		held();
	else if (!strcmp(way, "slowly"))
		slowly();
	else if (!strcmp(way, "again"))
		again();
	return 0;
}
