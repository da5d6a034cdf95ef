/* SPDX-License-Identifier: MIT */
/*
 * asleep: a thread in each kind of wait, named by what it waits for and, behind a colon, by the
 * name of the thread that has it. asleep ring|self|join|three: threads that wait for each other.
 * Says "ready" when all sleep, and ends at the end of its input: with 1 if a wait was disturbed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust, inherits, left;
static pthread_mutex_t ring[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				   PTHREAD_MUTEX_INITIALIZER };
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, is_read = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t prefers_writers;
static int ranges; /* a file of which bytes are locked */
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_t last;
static const char file[] = "/proc/self/exe"; /* one that is there, and nobody has to remove */
static int disturbed;

static const struct timespec hour = { .tv_sec = 3600 };

static struct timespec in_an_hour(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec += 3600;
	return now;
}

/* Nobody should notice that somebody looks: whatever comes back was disturbed. */
static void disturb(void)
{
	__atomic_fetch_add(&disturbed, 1, __ATOMIC_RELAXED);
	pause();
}

static void wait_mutex(void)
{
	pthread_mutex_lock(&plain);
}

static void wait_mutex_timed(void)
{
	struct timespec until = in_an_hour();

	pthread_mutex_timedlock(&plain, &until);
}

static void wait_robust(void)
{
	pthread_mutex_lock(&robust);
}

static void wait_inherits(void)
{
	pthread_mutex_lock(&inherits);
}

static void wait_left(void)
{
	pthread_mutex_lock(&left);
}

static void wait_reader(void)
{
	pthread_rwlock_rdlock(&written);
}

static void wait_writer(void)
{
	pthread_rwlock_wrlock(&written);
}

static void wait_readers(void)
{
	pthread_rwlock_wrlock(&is_read);
}

static void wait_readers_first(void)
{
	pthread_rwlock_wrlock(&prefers_writers);
}

/* Of no lock of glibc's, whatever the function is called. */
static void mtx_own_lock(void)
{
	static int word;

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* By code of the program's own, where it can be. */
static void wait_for_word(int *word, int operation, int value)
{
#ifdef __x86_64__
	register void *timeout __asm__("r10") = NULL;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"((long)SYS_futex), "D"(word), "S"((long)operation), "d"((long)value),
			   "r"(timeout)
			 : "rcx", "r11", "memory");
#else
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
#endif
}

/* Words of the program's that look like those of glibc's locks: main's number is 1 in a container.
 */
static void wait_like_join(void)
{
	static int word;

	word = getpid();
	wait_for_word(&word, FUTEX_WAIT, word);
}

static void wait_like_mutex(void)
{
	static int words[5] = { 2 };

	words[2] = getpid();
	wait_for_word(words, FUTEX_WAIT_PRIVATE, 2);
}

static void call_like_join(void)
{
	static int word;

	word = getpid();
	syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
}

static void call_like_mutex(void)
{
	static int words[5] = { 2 };

	words[2] = getpid();
	words[3] = 1;
	syscall(SYS_futex, words, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

/* Bytes that a child has. */
static void wait_range(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 10, .l_len = 5 };

	fcntl(ranges, F_SETLKW, &lock);
}

/* The same bytes, of an open file of one's own. */
static void wait_open_file_range(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = 12, .l_len = 1 };

	fcntl(ranges, F_OFD_SETLKW, &lock);
}

/* Bytes that another child has, from where the file stands, … */
static void wait_from_here(void)
{
	if (lseek(ranges, 105, SEEK_SET) != 105 || lockf(ranges, F_LOCK, 5))
		disturb();
}

/* … and before where it ends. */
static void wait_from_end(void)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_END, .l_start = -10, .l_len = -5
	};

	fcntl(ranges, F_SETLKW, &lock);
}

static void wait_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&condition, &mutex);
}

static void wait_condition_timed(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until = in_an_hour();

	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
}

static void wait_semaphore(void)
{
	sem_wait(&semaphore);
}

static void wait_barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void wait_join(void)
{
	pthread_join(last, NULL);
}

static void wait_file_lock(void)
{
	flock(open(file, O_RDONLY), LOCK_EX);
}

static void wait_read(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) == 0 && read(ends[0], &byte, 1) != 2)
		disturb();
}

/* Opens a FIFO that no process opens for writing; its name is gone. */
static void wait_open(void)
{
	char path[] = "/tmp/asleep-XXXXXX", again[32];
	int fd;

	if (!mkdtemp(path) || rmdir(path) || mkfifo(path, 0600))
		disturb();
	fd = open(path, O_PATH);
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	unlink(path);
	if (open(again, O_RDONLY) >= 0)
		disturb();
}

static void wait_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

static void wait_poll(void)
{
	poll(NULL, 0, 3600000);
}

static void wait_select(void)
{
	select(0, NULL, NULL, NULL, NULL);
}

static void wait_child(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		for (;;)
			pause();
	waitpid(child, &status, 0);
}

static void wait_time(void)
{
	nanosleep(&hour, NULL);
}

static void wait_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwaitinfo(&set, NULL);
}

static const struct kind {
	const char *name;
	void (*wait)(void);
} kinds[] = {
	{ "mutex:main", wait_mutex },
	{ "mutex:main", wait_mutex_timed },
	{ "open", wait_open },
	{ "mutex:main", wait_robust },
	{ "mutex:main", wait_inherits },
	{ "mutex:-", wait_left },
	{ "rwlock:main", wait_reader },
	{ "rwlock:main", wait_writer },
	{ "rwlock", wait_readers },
	{ "rwlock", wait_readers_first },
	{ "futex", mtx_own_lock },
	{ "futex", wait_like_join },
	{ "futex", wait_like_mutex },
	{ "futex", call_like_join },
	{ "futex", call_like_mutex },
	{ "file-lock:main", wait_range },
	{ "file-lock:main", wait_open_file_range },
	{ "file-lock:main", wait_from_here },
	{ "file-lock:main", wait_from_end },
	{ "condition", wait_condition },
	{ "condition", wait_condition_timed },
	{ "semaphore", wait_semaphore },
	{ "barrier", wait_barrier },
	{ "join:time", wait_join },
	{ "file-lock:main", wait_file_lock },
	{ "fd", wait_read },
	{ "fds", wait_epoll },
	{ "fds", wait_poll },
	{ "fds", wait_select },
	{ "child", wait_child },
	{ "signal", wait_signal },
	{ "time", wait_time },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void *sleep_in(void *context)
{
	const struct kind *kind = context;

	pthread_setname_np(pthread_self(), kind->name);
	kind->wait();
	disturb();
	return NULL;
}

static void *take_and_end(void *context)
{
	pthread_mutex_lock(context);
	return NULL;
}

/* A child has some bytes of a file, since one's own locks are in nobody's way. */
static void hold_range(off_t start)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = start, .l_len = 20 };
	int ends[2];
	char byte;

	if (pipe(ends) == 0 && fork() == 0) {
		fcntl(ranges, F_SETLK, &lock);
		close(ends[0]);
		close(ends[1]);
		for (;;)
			pause();
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0)
		disturb();
	close(ends[0]);
}

static void hold_all(void)
{
	pthread_rwlockattr_t preference;

	ranges = memfd_create("ranges", 0);
	if (ftruncate(ranges, 130))
		disturb();
	hold_range(0);
	hold_range(100);
	pthread_rwlockattr_init(&preference);
	pthread_rwlockattr_setkind_np(&preference, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&prefers_writers, &preference);
	pthread_rwlock_rdlock(&prefers_writers);
	pthread_mutexattr_t attributes;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherits, &attributes);
	pthread_create(&thread, NULL, take_and_end, &left);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&plain);
	pthread_mutex_lock(&robust);
	pthread_mutex_lock(&inherits);
	pthread_rwlock_wrlock(&written);
	pthread_rwlock_rdlock(&is_read);
	pthread_barrier_init(&barrier, NULL, 2);
	flock(open(file, O_RDONLY), LOCK_EX);
}

static void sleep_in_all(void)
{
	hold_all();
	/* the last one first: another joins it */
	for (size_t i = KINDS; i-- > 0;) {
		pthread_t thread;

		pthread_create(&thread, NULL, sleep_in, (void *)&kinds[i]);
		if (i == KINDS - 1)
			last = thread;
	}
}

static unsigned ring_size;

static void *take_two(void *context)
{
	size_t i = (size_t)context;

	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&ring[(i + 1) % ring_size]);
	return NULL;
}

static void make_ring(unsigned size)
{
	pthread_t thread;

	ring_size = size;
	pthread_barrier_init(&barrier, NULL, size);
	for (size_t i = 0; i < size; i++)
		pthread_create(&thread, NULL, take_two, (void *)i);
}

static pthread_t joined[2];

static void *join_other(void *context)
{
	usleep(50000);
	pthread_join(joined[(size_t)context], NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "all";
	char byte;
	int status;

	setpgid(0, 0); /* whom it ends at its end are its own */
	pthread_setname_np(pthread_self(), "main");
	if (!strcmp(mode, "all"))
		sleep_in_all();
	if (!strcmp(mode, "ring") || !strcmp(mode, "three") || !strcmp(mode, "self"))
		make_ring(!strcmp(mode, "self") ? 1 : !strcmp(mode, "ring") ? 2 : 3);
	for (size_t i = 0; !strcmp(mode, "join") && i < 2; i++)
		pthread_create(&joined[1 - i], NULL, join_other, (void *)i);
	usleep(300000);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	status = disturbed > 0; /* who waits for a child's end, or for its lock, wakes up now */
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	_exit(status);
}
