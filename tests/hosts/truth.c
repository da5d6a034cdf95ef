/* SPDX-License-Identifier: MIT */
/*
 * Calls every hooked function and counts its own calls of each. It prints where its code lies
 * ("code FIRST LAST"), since libc calls hooked functions, too, and then "NAME CALLS" for each name:
 * what any report or format says of calls that were made from there must be this. The children that
 * it makes count, too. A name with 0 does not exist in this libc or may not be used here.
 */
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <mntent.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <wchar.h>

#define NAMES_MAX 640

extern char **environ;
extern const char __executable_start[], etext[];

/* Shared with the children. The lock is none that is hooked. */
static struct counts {
	char is_locked;
	struct {
		char name[32];
		unsigned int calls;
	} of[NAMES_MAX];
	unsigned int names;
} * counts;

static void add(const char *name, unsigned int calls)
{
	unsigned int i = 0;

	while (__atomic_test_and_set(&counts->is_locked, __ATOMIC_ACQUIRE))
		;
	while (i < counts->names && strcmp(counts->of[i].name, name) != 0)
		i++;
	if (i == counts->names && i < NAMES_MAX)
		strcpy(counts->of[counts->names++].name, name);
	if (i < NAMES_MAX)
		counts->of[i].calls += calls;
	__atomic_clear(&counts->is_locked, __ATOMIC_RELEASE);
}

/* One call of a function, counted before it is made: it may not return. */
#define DO(name, ...) (add(#name, 1), name(__VA_ARGS__))

/* A function that no header has, or not every libc. NULL: it is not there. */
static void *find(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	add(name, found ? 1 : 0);
	return found;
}

/* Says a line by a call that is not recorded. */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	char text[128];
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	if (syscall(SYS_write, STDOUT_FILENO, text, length) != length)
		_exit(1);
}

static void expect(int good, const char *what)
{
	if (!good)
		fprintf(stderr, "truth: %s: %m\n", what);
}

static void memory(void)
{
	void (*release)(void *) = (void (*)(void *))find("cfree");
	void (*release_sized)(void *, size_t) = (void (*)(void *, size_t))find("free_sized");
	void (*release_aligned)(void *, size_t, size_t) =
		(void (*)(void *, size_t, size_t))find("free_aligned_sized");
	void *block;

	DO(free, DO(malloc, 70001));
	DO(free, DO(calloc, 3, 70002));
	block = DO(realloc, NULL, 70003);
	DO(free, DO(realloc, block, 70004));
	block = DO(reallocarray, NULL, 2, 70005);
	DO(free, DO(reallocarray, block, 3, 70006));
	if (DO(posix_memalign, &block, 64, 70007) == 0)
		DO(free, block);
	DO(free, DO(aligned_alloc, 64, 70016));
	DO(free, DO(memalign, 64, 70009));
	DO(free, DO(valloc, 70010));
	DO(free, DO(pvalloc, 70011));
	DO(free, NULL);
	malloc_usable_size(NULL);
	add("malloc_usable_size", 0); /* never recorded */
	block = DO(malloc, 70012);
	if (release)
		release(block);
	else
		DO(free, block);
	if (release_sized)
		release_sized(DO(malloc, 70013), 70013);
	if (release_aligned)
		release_aligned(DO(aligned_alloc, 64, 70080), 64, 70080);
}

static void mappings(void)
{
	void *at = DO(mmap, NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	at = DO(mremap, at, 8192, 4096, 0);
	expect(DO(munmap, at, 4096) == 0, "munmap");
	at = DO(mmap64, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(DO(munmap, at, 4096) == 0, "munmap");
	at = DO(sbrk, 4096);
	expect(at != (void *)-1 && DO(brk, at) == 0, "brk");
}

static void shared_memory(void)
{
	char name[32];
	int fd, id;
	void *at;

	snprintf(name, sizeof(name), "/holdtrace-truth-%d", (int)getpid());
	fd = DO(shm_open, name, O_CREAT | O_RDWR, 0600);
	expect(fd >= 0 && DO(close, fd) == 0, "shm_open");
	expect(DO(shm_unlink, name) == 0, "shm_unlink");
	id = DO(shmget, IPC_PRIVATE, 4096, 0600);
	at = DO(shmat, id, NULL, 0);
	expect(DO(shmdt, at) == 0, "shmdt");
	expect(DO(shmctl, id, IPC_RMID, NULL) == 0, "shmctl");
}

static char directory[] = "/tmp/holdtrace-truth.XXXXXX";

static const char *in_directory(const char *name)
{
	static char paths[4][64];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static void files(void)
{
	const char *path = in_directory("file");
	int (*open_2)(const char *, int) = (int (*)(const char *, int))find("__open_2");
	int (*open64_2)(const char *, int) = (int (*)(const char *, int))find("__open64_2");
	int (*openat_2)(int, const char *, int) =
		(int (*)(int, const char *, int))find("__openat_2");
	int (*openat64_2)(int, const char *, int) =
		(int (*)(int, const char *, int))find("__openat64_2");

	DO(close, DO(creat, path, 0600));
	DO(close, DO(creat64, path, 0600));
	DO(close, DO(open, path, O_RDONLY));
	DO(close, DO(open64, path, O_RDONLY));
	DO(close, DO(openat, AT_FDCWD, path, O_RDONLY));
	DO(close, DO(openat64, AT_FDCWD, path, O_RDONLY));
	DO(close, open_2(path, O_RDONLY));
	DO(close, open64_2(path, O_RDONLY));
	DO(close, openat_2(AT_FDCWD, path, O_RDONLY));
	DO(close, openat64_2(AT_FDCWD, path, O_RDONLY));
}

static void temporary_files(void)
{
#define TEMPORARY(name, ending, ...)                         \
	do {                                                 \
		char path[64];                               \
                                                             \
		strcpy(path, in_directory("XXXXXX" ending)); \
		DO(close, DO(name, path, ##__VA_ARGS__));    \
	} while (0)
	TEMPORARY(mkstemp, "");
	TEMPORARY(mkstemp64, "");
	TEMPORARY(mkstemps, ".c", 2);
	TEMPORARY(mkstemps64, ".c", 2);
	TEMPORARY(mkostemp, "", O_CLOEXEC);
	TEMPORARY(mkostemp64, "", O_CLOEXEC);
	TEMPORARY(mkostemps, ".c", 2, O_CLOEXEC);
	TEMPORARY(mkostemps64, ".c", 2, O_CLOEXEC);
}

/* Those that not everybody may use: what they return is closed if it is a descriptor. */
#define MAY_FAIL(name, ...)                       \
	do {                                      \
		int fd = DO(name, ##__VA_ARGS__); \
                                                  \
		if (fd >= 0)                      \
			DO(close, fd);            \
	} while (0)

/* As a system call by number. */
#define BY_NUMBER(name, ...)                                                          \
	do {                                                                          \
		int fd = (add(#name, 1), (int)syscall(NUMBER_##name, ##__VA_ARGS__)); \
                                                                                      \
		if (fd >= 0)                                                          \
			(add("close", 1), syscall(SYS_close, fd));                    \
	} while (0)

enum {
	NUMBER_memfd_create = SYS_memfd_create,
	NUMBER_eventfd = SYS_eventfd2,
	NUMBER_userfaultfd = SYS_userfaultfd,
	NUMBER_perf_event_open = SYS_perf_event_open,
	NUMBER_bpf = SYS_bpf,
	NUMBER_io_uring_setup = 425,
	NUMBER_openat2 = 437,
	NUMBER_landlock_create_ruleset = 444,
	NUMBER_memfd_secret = 447,
};

static void numbers(void)
{
	uint64_t how[3] = { O_RDONLY, 0, 0 };
	char zeros[128] = { 0 };

	BY_NUMBER(memfd_create, "by number", 0);
	BY_NUMBER(eventfd, 0, 0);
	BY_NUMBER(userfaultfd, 0);
	BY_NUMBER(perf_event_open, zeros, 0, -1, -1, 0);
	BY_NUMBER(bpf, 0, zeros, sizeof(zeros));
	BY_NUMBER(io_uring_setup, 1, zeros);
	BY_NUMBER(openat2, AT_FDCWD, "/dev/null", how, sizeof(how));
	BY_NUMBER(landlock_create_ruleset, zeros, 8, 0);
	BY_NUMBER(memfd_secret, 0);
}

static void rare_descriptors(void)
{
	struct file_handle handle = { .handle_bytes = 0 };
	char name[40];

	MAY_FAIL(fanotify_init, 0, O_RDONLY);
	MAY_FAIL(pidfd_open, getpid(), 0);
	MAY_FAIL(pidfd_getfd, 0, 0, 0);
	MAY_FAIL(open_by_handle_at, AT_FDCWD, &handle, O_RDONLY);
	MAY_FAIL(open_tree, AT_FDCWD, "/", 0);
	MAY_FAIL(fspick, AT_FDCWD, "/", 0);
	MAY_FAIL(fsopen, "tmpfs", 0);
	MAY_FAIL(fsmount, -1, 0, 0);
	numbers();
	snprintf(name, sizeof(name), "/holdtrace-truth-%d", (int)getpid());
	{
		mqd_t (*open_2)(const char *, int) =
			(mqd_t(*)(const char *, int))find("__mq_open_2");
		mqd_t queue = DO(mq_open, name, O_CREAT | O_RDWR, 0600, NULL);

		if (queue != (mqd_t)-1)
			expect(DO(mq_close, open_2(name, O_RDONLY)) == 0, "mq_open");
		else
			open_2(name, O_RDONLY);
		DO(mq_close, queue);
		DO(mq_unlink, name);
	}
}

static void terminals(void)
{
	int master, slave, status;
	pid_t child;

	expect(DO(openpty, &master, &slave, NULL, NULL, NULL) == 0, "openpty");
	child = DO(fork);
	if (!child) {
		DO(login_tty, slave);
		DO(_exit, 0);
	}
	expect(DO(waitpid, child, &status, 0) == child, "waitpid");
	DO(close, master);
	DO(close, slave);
	child = DO(forkpty, &master, NULL, NULL, NULL);
	if (!child)
		DO(_exit, 0);
	expect(child > 0 && DO(waitpid, child, &status, 0) == child, "forkpty");
	DO(close, master);
}

static void descriptors(void)
{
	sigset_t set;
	int fds[2];

	DO(close, DO(dup, 0));
	DO(dup2, 0, 100);
	DO(dup3, 0, 101, O_CLOEXEC);
	DO(close, DO(fcntl, 0, F_DUPFD, 102));
	DO(close, DO(fcntl64, 0, F_DUPFD_CLOEXEC, 102));
	fcntl(0, F_GETFD); /* gains nothing: not recorded */
	DO(close_range, 100, 100, 0);
	DO(closefrom, 101);
	expect(DO(pipe, fds) == 0 && DO(close, fds[0]) + DO(close, fds[1]) == 0, "pipe");
	expect(DO(pipe2, fds, O_CLOEXEC) == 0 && DO(close, fds[0]) + DO(close, fds[1]) == 0,
	       "pipe2");
	DO(close, DO(eventfd, 0, 0));
	DO(close, DO(timerfd_create, CLOCK_MONOTONIC, 0));
	sigemptyset(&set);
	DO(close, DO(signalfd, -1, &set, 0));
	DO(close, DO(inotify_init));
	DO(close, DO(inotify_init1, 0));
	DO(close, DO(epoll_create, 1));
	DO(close, DO(epoll_create1, 0));
	DO(close, DO(memfd_create, "truth", 0));
	DO(close, DO(posix_openpt, O_RDWR | O_NOCTTY));
	DO(close, DO(getpt));
	expect(DO(close, -1) == -1, "close(-1)");
}

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static int listener(void)
{
	int fd = DO(socket, AF_UNIX, SOCK_STREAM, 0);

	expect(DO(bind, fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
	listen(fd, 4);
	return fd;
}

static int client(void)
{
	int fd = DO(socket, AF_UNIX, SOCK_STREAM, 0);

	expect(DO(connect, fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	return fd;
}

/* A message that brings a descriptor. */
static void send_descriptor(int to)
{
	char byte = 0;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.header), (int[]){ 0 }, sizeof(int));
	expect(DO(sendmsg, to, &message, 0) == 1, "sendmsg");
}

static void receive_descriptors(int from)
{
	char byte;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part,
						.msg_iovlen = 1,
						.msg_control = &control,
						.msg_controllen = sizeof(control) } };
	int fd;

	expect(DO(recvmsg, from, &message.msg_hdr, 0) == 1, "recvmsg");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	DO(close, fd);
	message.msg_hdr.msg_controllen = sizeof(control);
	expect(DO(recvmmsg, from, &message, 1, 0, NULL) == 1, "recvmmsg");
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	DO(close, fd);
}

static void sockets(void)
{
	int fds[2], server, one, two;

	strcpy(address.sun_path, in_directory("socket"));
	server = listener();
	one = client();
	two = client();
	DO(close, DO(accept, server, NULL, NULL));
	DO(close, DO(accept4, server, NULL, NULL, SOCK_CLOEXEC));
	DO(close, one);
	DO(close, two);
	DO(close, server);
	expect(DO(socketpair, AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
	send_descriptor(fds[0]);
	send_descriptor(fds[0]);
	receive_descriptors(fds[1]);
	DO(close, fds[0]);
	DO(close, fds[1]);
}

static void streams(void)
{
	const char *path = in_directory("stream");
	cookie_io_functions_t nothing = { 0 };
	char bytes[16], *buffer = NULL;
	wchar_t *wide = NULL;
	size_t size;

	DO(fclose, DO(fopen, path, "w"));
	DO(fclose, DO(fopen64, path, "r"));
	DO(fclose, DO(fdopen, DO(dup, 0), "r"));
	DO(fclose, DO(freopen, path, "r", DO(freopen64, path, "r", DO(fopen, path, "r"))));
	DO(endmntent, DO(setmntent, path, "r"));
	{
		FILE *(*set)(const char *, const char *) =
			(FILE * (*)(const char *, const char *)) find("__setmntent");
		int (*end)(FILE *) = (int (*)(FILE *))find("__endmntent");

		end(set(path, "r"));
	}
	DO(flockfile, stdin);
	DO(ftrylockfile, stdin);
	DO(funlockfile, stdin);
	DO(funlockfile, stdin);
	DO(fclose, DO(tmpfile));
	DO(fclose, DO(tmpfile64));
	DO(pclose, DO(popen, "true", "r"));
	DO(fclose, DO(fmemopen, bytes, sizeof(bytes), "w"));
	DO(fclose, DO(open_memstream, &buffer, &size));
	DO(free, buffer);
	DO(fclose, DO(open_wmemstream, &wide, &size));
	DO(free, wide);
	DO(fclose, DO(fopencookie, NULL, "r", nothing));
	DO(fcloseall);
	DO(closedir, DO(opendir, directory));
	DO(closedir, DO(fdopendir, DO(open, directory, O_RDONLY | O_DIRECTORY)));
}

static void names(void)
{
	const char *from = in_directory("from"), *to = in_directory("to");
	int here = DO(open, ".", O_RDONLY | O_DIRECTORY);

	DO(close, DO(creat, from, 0600));
	DO(rename, from, to);
	DO(renameat, AT_FDCWD, to, AT_FDCWD, from);
	DO(renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
	DO(link, to, from);
	DO(unlink, from);
	DO(linkat, AT_FDCWD, to, AT_FDCWD, from, 0);
	DO(unlinkat, AT_FDCWD, from, 0);
	DO(symlink, to, from);
	DO(unlink, from);
	DO(symlinkat, to, AT_FDCWD, from);
	DO(chdir, directory);
	DO(fchdir, here);
	DO(close, here);
	DO(mount, "/nowhere", "/nowhere", "none", 0, NULL);
	DO(umount, "/nowhere");
	DO(umount2, "/nowhere", 0);
}

static void *work(void *leave)
{
	if (leave)
		DO(pthread_exit, NULL);
	return NULL;
}

static int work_c11(void *leave)
{
	if (leave)
		DO(thrd_exit, 1);
	return 0;
}

static void *wait_for_ever(void *nothing)
{
	for (;;)
		DO(pause);
	return nothing;
}

static void threads(void)
{
	struct timespec late = { .tv_sec = time(NULL) + 100 };
	pthread_t thread;
	thrd_t other;

	DO(pthread_create, &thread, NULL, work, NULL);
	DO(pthread_join, thread, NULL);
	DO(pthread_create, &thread, NULL, work, &late);
	DO(pthread_timedjoin_np, thread, NULL, &late);
	DO(pthread_create, &thread, NULL, wait_for_ever, NULL);
	DO(pthread_setname_np, thread, "waiter");
	DO(pthread_tryjoin_np, thread, NULL);
	DO(pthread_cancel, thread);
	DO(pthread_clockjoin_np, thread, NULL, CLOCK_REALTIME, &late);
	DO(pthread_create, &thread, NULL, work, NULL);
	DO(pthread_detach, thread);
	DO(thrd_create, &other, work_c11, NULL);
	DO(thrd_join, other, NULL);
	DO(thrd_create, &other, work_c11, &late);
	DO(thrd_detach, other);
	DO(prctl, PR_SET_NAME, "truth");
	prctl(PR_GET_DUMPABLE); /* not recorded */
}

/* The names that programs have which were built against a libc before 2.34. */
static int old_name(const char *name, void *object, const void *attributes)
{
	int (*function)(void *, const void *) = (int (*)(void *, const void *))find(name);

	return function ? function(object, attributes) : -1;
}

static void mutexes(void)
{
	struct timespec late = { .tv_sec = time(NULL) + 100 };
	pthread_mutexattr_t robust;
	pthread_mutex_t mutex;
	mtx_t other;

	pthread_mutexattr_init(&robust);
	pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
	DO(pthread_mutex_init, &mutex, &robust);
	DO(pthread_mutex_lock, &mutex);
	DO(pthread_mutex_trylock, &mutex);
	DO(pthread_mutex_unlock, &mutex);
	DO(pthread_mutex_timedlock, &mutex, &late);
	DO(pthread_mutex_unlock, &mutex);
	DO(pthread_mutex_clocklock, &mutex, CLOCK_REALTIME, &late);
	DO(pthread_mutex_consistent, &mutex);
	DO(pthread_mutex_unlock, &mutex);
	DO(pthread_mutex_destroy, &mutex);
	old_name("__pthread_mutex_init", &mutex, NULL);
	old_name("__pthread_mutex_lock", &mutex, NULL);
	old_name("__pthread_mutex_unlock", &mutex, NULL);
	old_name("__pthread_mutex_trylock", &mutex, NULL);
	DO(pthread_mutex_unlock, &mutex);
	old_name("__pthread_mutex_destroy", &mutex, NULL);
	DO(mtx_init, &other, mtx_timed);
	DO(mtx_lock, &other);
	DO(mtx_trylock, &other);
	DO(mtx_unlock, &other);
	DO(mtx_timedlock, &other, &late);
	DO(mtx_unlock, &other);
	DO(mtx_destroy, &other);
}

static void rwlocks(void)
{
	struct timespec late = { .tv_sec = time(NULL) + 100 };
	pthread_rwlock_t lock;

	DO(pthread_rwlock_init, &lock, NULL);
	DO(pthread_rwlock_rdlock, &lock);
	DO(pthread_rwlock_tryrdlock, &lock);
	DO(pthread_rwlock_timedrdlock, &lock, &late);
	DO(pthread_rwlock_clockrdlock, &lock, CLOCK_REALTIME, &late);
	for (int i = 0; i < 4; i++)
		DO(pthread_rwlock_unlock, &lock);
	DO(pthread_rwlock_wrlock, &lock);
	DO(pthread_rwlock_trywrlock, &lock);
	DO(pthread_rwlock_unlock, &lock);
	DO(pthread_rwlock_timedwrlock, &lock, &late);
	DO(pthread_rwlock_unlock, &lock);
	DO(pthread_rwlock_clockwrlock, &lock, CLOCK_REALTIME, &late);
	DO(pthread_rwlock_unlock, &lock);
	DO(pthread_rwlock_destroy, &lock);
	old_name("__pthread_rwlock_init", &lock, NULL);
	old_name("__pthread_rwlock_rdlock", &lock, NULL);
	old_name("__pthread_rwlock_unlock", &lock, NULL);
	old_name("__pthread_rwlock_tryrdlock", &lock, NULL);
	DO(pthread_rwlock_unlock, &lock);
	old_name("__pthread_rwlock_wrlock", &lock, NULL);
	DO(pthread_rwlock_unlock, &lock);
	old_name("__pthread_rwlock_trywrlock", &lock, NULL);
	DO(pthread_rwlock_unlock, &lock);
	old_name("__pthread_rwlock_destroy", &lock, NULL);
}

static void other_locks(void)
{
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;

	DO(pthread_spin_init, &spin, PTHREAD_PROCESS_PRIVATE);
	DO(pthread_spin_lock, &spin);
	DO(pthread_spin_trylock, &spin);
	DO(pthread_spin_unlock, &spin);
	DO(pthread_spin_destroy, &spin);
	DO(pthread_barrier_init, &barrier, NULL, 1);
	DO(pthread_barrier_wait, &barrier);
	DO(pthread_barrier_destroy, &barrier);
}

static int is_set;

static void *signal_posix(void *cond)
{
	is_set = 1;
	DO(pthread_cond_signal, cond);
	DO(pthread_cond_broadcast, cond);
	return NULL;
}

static void conditions(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = { 0, 0 };
	pthread_cond_t cond;
	pthread_t thread;
	mtx_t other;
	cnd_t word;

	DO(pthread_cond_init, &cond, NULL);
	DO(pthread_mutex_lock, &mutex);
	DO(pthread_create, &thread, NULL, signal_posix, &cond);
	do
		DO(pthread_cond_timedwait, &cond, &mutex, &past);
	while (!__atomic_load_n(&is_set, __ATOMIC_RELAXED));
	DO(pthread_join, thread, NULL);
	DO(pthread_cond_clockwait, &cond, &mutex, CLOCK_REALTIME, &past);
	DO(pthread_mutex_unlock, &mutex);
	DO(pthread_cond_destroy, &cond);
	DO(mtx_init, &other, mtx_plain);
	DO(cnd_init, &word);
	DO(mtx_lock, &other);
	DO(cnd_timedwait, &word, &other, &past);
	DO(mtx_unlock, &other);
	DO(cnd_signal, &word);
	DO(cnd_broadcast, &word);
	DO(cnd_destroy, &word);
	DO(mtx_destroy, &other);
}

struct meeting {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	mtx_t other;
	cnd_t word;
	int state;
};

/* Each wait is woken by one signal that is sent behind the mutex, so none comes too early. */
static void *wake(void *of)
{
	struct meeting *meeting = of;

	DO(pthread_mutex_lock, &meeting->mutex);
	DO(pthread_cond_signal, &meeting->cond);
	DO(pthread_mutex_unlock, &meeting->mutex);
	DO(mtx_lock, &meeting->other);
	DO(cnd_signal, &meeting->word);
	DO(mtx_unlock, &meeting->other);
	return NULL;
}

static void meetings(void)
{
	struct meeting meeting = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				   .cond = PTHREAD_COND_INITIALIZER };
	pthread_t thread;

	DO(mtx_init, &meeting.other, mtx_plain);
	DO(cnd_init, &meeting.word);
	DO(mtx_lock, &meeting.other);
	DO(pthread_mutex_lock, &meeting.mutex);
	DO(pthread_create, &thread, NULL, wake, &meeting);
	DO(pthread_cond_wait, &meeting.cond, &meeting.mutex);
	DO(pthread_mutex_unlock, &meeting.mutex);
	DO(cnd_wait, &meeting.word, &meeting.other);
	DO(mtx_unlock, &meeting.other);
	DO(pthread_join, thread, NULL);
	DO(cnd_destroy, &meeting.word);
	DO(mtx_destroy, &meeting.other);
}

static void semaphores(void)
{
	struct timespec late = { .tv_sec = time(NULL) + 100 }, soon = { .tv_nsec = 1 };
	struct sembuf post = { 0, 1, 0 }, wait = { 0, -1, 0 };
	sem_t sem, *named;
	char name[40];
	int value, set;

	DO(sem_init, &sem, 0, 4);
	DO(sem_wait, &sem);
	DO(sem_trywait, &sem);
	DO(sem_timedwait, &sem, &late);
	DO(sem_clockwait, &sem, CLOCK_REALTIME, &late);
	DO(sem_post, &sem);
	DO(sem_getvalue, &sem, &value);
	expect(value == 1, "sem_getvalue");
	DO(sem_destroy, &sem);
	expect(DO(syscall, SYS_futex, &value, FUTEX_WAIT, value, &soon, NULL, 0) == -1, "syscall");
	snprintf(name, sizeof(name), "/holdtrace-truth-%d", (int)getpid());
	named = DO(sem_open, name, O_CREAT, 0600, 0);
	DO(sem_close, named);
	DO(sem_unlink, name);
	set = DO(semget, IPC_PRIVATE, 1, 0600);
	expect(DO(semop, set, &post, 1) == 0, "semop");
	expect(DO(semtimedop, set, &wait, 1, NULL) == 0, "semtimedop");
	expect(DO(semctl, set, 0, IPC_RMID) == 0, "semctl");
}

/* A child that replaces itself by a program, or ends, in one of the ways. */
static void be_child(const char *how)
{
	char path[] = "/bin/true", name[] = "true";
	char *argv[] = { name, NULL };

#define HOW(name, ...)               \
	if (strcmp(how, #name) == 0) \
	DO(name, ##__VA_ARGS__)
	HOW(execve, path, argv, environ);
	HOW(execv, path, argv);
	HOW(execvp, name, argv);
	HOW(execvpe, name, argv, environ);
	HOW(execl, path, name, (char *)NULL);
	HOW(execlp, name, name, (char *)NULL);
	HOW(execle, path, name, (char *)NULL, environ);
	HOW(execveat, AT_FDCWD, path, argv, environ, 0);
	HOW(fexecve, DO(open, path, O_RDONLY | O_CLOEXEC), argv, environ);
	HOW(_exit, 0);
	HOW(_Exit, 0);
	HOW(quick_exit, 0);
	HOW(abort);
	DO(_exit, 9);
}

/* Waits in one of the ways. */
static void wait_for(unsigned int way, pid_t child)
{
	siginfo_t info;
	int status;

	switch (way % 5) {
	case 0:
		expect(DO(wait, &status) == child, "wait");
		break;
	case 1:
		expect(DO(waitpid, child, &status, 0) == child, "waitpid");
		break;
	case 2:
		expect(DO(wait3, &status, 0, NULL) == child, "wait3");
		break;
	case 3:
		expect(DO(wait4, child, &status, 0, NULL) == child, "wait4");
		break;
	default:
		expect(DO(waitid, P_PID, (id_t)child, &info, WEXITED) == 0, "waitid");
	}
}

static int be_clone(void *nothing)
{
	(void)nothing;
	_exit(0);
}

static void processes(void)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	static const char *const ways[] = { "execve", "execv",	    "execvp",	"execvpe", "execl",
					    "execlp", "execle",	    "execveat", "fexecve", "_exit",
					    "_Exit",  "quick_exit", "abort" };
	char name[] = "true", *argv[] = { name, NULL };
	pid_t child;

	for (unsigned int i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		child = i % 2 ? DO(fork) : DO(_Fork);
		if (!child)
			be_child(ways[i]);
		wait_for(i, child);
	}
	add("_exit", 1); /* the child's counts are the same memory, but its stack is ours */
	child = DO(vfork);
	if (!child)
		_exit(0);
	wait_for(1, child);
	add("_exit", 1); /* of the next child, which is in no memory of ours */
	child = DO(clone, be_clone, stack + sizeof(stack), SIGCHLD, NULL);
	wait_for(1, child);
	expect(DO(posix_spawn, &child, "/bin/true", NULL, NULL, argv, environ) == 0, "posix_spawn");
	wait_for(0, child);
	expect(DO(posix_spawnp, &child, "true", NULL, NULL, argv, environ) == 0, "posix_spawnp");
	wait_for(0, child);
	expect(DO(system, "true") == 0, "system");
}

static void libraries(void)
{
	void *handle = dlopen("libm.so.6", RTLD_NOW);

	if (handle)
		DO(dlclose, handle);
	else
		add("dlclose", 0);
}

static void on_alarm(int number)
{
	(void)number;
}

/* An alarm every 2 ms ends the calls that would wait longer. */
static void wait_for_signals(void)
{
	const struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { { 0, 0 }, { 0, 0 } };
	const struct timespec little = { .tv_nsec = 1000 };
	sigset_t none, alarms;
	int number;

	sigemptyset(&none);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	DO(pause);
	DO(sigsuspend, &none);
	DO(sleep, 1);
	sigprocmask(SIG_BLOCK, &alarms, NULL);
	DO(sigwait, &alarms, &number);
	DO(sigwaitinfo, &alarms, NULL);
	DO(sigtimedwait, &alarms, NULL, &little);
	setitimer(ITIMER_REAL, &never, NULL);
	DO(usleep, 1);
	DO(nanosleep, &little, NULL);
	DO(clock_nanosleep, CLOCK_MONOTONIC, 0, &little, NULL);
	DO(thrd_sleep, &little, NULL);
}

static void wait_for_descriptors(int fd)
{
	int (*poll_chk)(struct pollfd *, nfds_t, int, size_t) =
		(int (*)(struct pollfd *, nfds_t, int, size_t))find("__poll_chk");
	int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
			 size_t) = (int (*)(struct pollfd *, nfds_t, const struct timespec *,
					    const sigset_t *, size_t))find("__ppoll_chk");
	const struct timespec soon = { .tv_nsec = 1000 };
	struct timeval soon_us = { .tv_usec = 1 };
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	int epoll = DO(epoll_create1, 0);
	struct epoll_event event = { .events = EPOLLIN };
	fd_set set;

	DO(poll, &polled, 1, 1);
	poll(&polled, 1, 0); /* cannot block: not recorded */
	DO(ppoll, &polled, 1, &soon, NULL);
	if (poll_chk)
		poll_chk(&polled, 1, 1, sizeof(polled));
	if (ppoll_chk)
		ppoll_chk(&polled, 1, &soon, NULL, sizeof(polled));
	FD_ZERO(&set);
	DO(select, 0, &set, NULL, NULL, &soon_us);
	DO(pselect, 0, &set, NULL, NULL, &soon, NULL);
	DO(epoll_wait, epoll, &event, 1, 1);
	DO(epoll_pwait, epoll, &event, 1, 1, NULL);
	DO(epoll_pwait2, epoll, &event, 1, &soon, NULL);
	DO(close, epoll);
}

static void copies(void)
{
	int fds[2], source = DO(open, "/proc/self/exe", O_RDONLY),
		    sink = DO(open, "/dev/null", O_WRONLY);

	DO(pipe, fds);
	DO(splice, source, NULL, fds[1], NULL, 1, 0);
	DO(sendfile, sink, source, NULL, 1);
	DO(sendfile64, sink, source, NULL, 1);
	DO(close, fds[0]);
	DO(close, fds[1]);
	DO(close, source);
	DO(close, sink);
}

static void messages(void)
{
	struct mq_attr limits = { .mq_maxmsg = 2, .mq_msgsize = 8 };
	struct timespec past = { 1, 0 };
	struct {
		long kind;
		char text[8];
	} message = { 1, "" };
	int id = msgget(IPC_PRIVATE, 0600);
	char name[64], bytes[8] = "";
	mqd_t queue;

	snprintf(name, sizeof(name), "/truth.%d", getpid());
	queue = DO(mq_open, name, O_CREAT | O_RDWR, 0600, &limits);
	DO(mq_unlink, name);
	DO(mq_send, queue, bytes, 1, 0);
	DO(mq_timedsend, queue, bytes, 1, 0, &past);
	DO(mq_receive, queue, bytes, sizeof(bytes), NULL);
	DO(mq_timedreceive, queue, bytes, sizeof(bytes), NULL, &past);
	DO(mq_close, queue);
	DO(msgsnd, id, &message, 1, 0);
	DO(msgrcv, id, &message, 8, 0, 0);
	msgrcv(id, &message, 8, 0, IPC_NOWAIT); /* cannot block: not recorded */
	msgctl(id, IPC_RMID, NULL);
}

/* Each read finds the buffer of its stream empty. */
static void reads_of_streams(void)
{
	char *(*fgets_chk)(char *, size_t, int, FILE *) =
		(char *(*)(char *, size_t, int, FILE *))find("__fgets_chk");
	size_t (*fread_chk)(void *, size_t, size_t, size_t, FILE *) =
		(size_t(*)(void *, size_t, size_t, size_t, FILE *))find("__fread_chk");
	ssize_t (*delimited)(char **, size_t *, int, FILE *) =
		(ssize_t(*)(char **, size_t *, int, FILE *))find("__getdelim");
	ssize_t (*line_of)(char **, size_t *, FILE *) =
		(ssize_t(*)(char **, size_t *, FILE *))find("getline");
	FILE *stream = DO(fopen, "/dev/zero", "r");
	char bytes[8], *line = NULL;
	size_t room = 0;

	setvbuf(stream, NULL, _IONBF, 0);
	DO(fread, bytes, 1, 1, stream);
	if (fread_chk)
		fread_chk(bytes, sizeof(bytes), 1, 1, stream);
	DO(fgets, bytes, 3, stream);
	if (fgets_chk)
		fgets_chk(bytes, sizeof(bytes), 3, stream);
	DO(fgetc, stream);
	DO(getc, stream);
	DO(getdelim, &line, &room, 0, stream);
	if (delimited)
		delimited(&line, &room, 0, stream);
	DO(fclose, stream);
	stream = DO(fopen, "/dev/null", "r");
	if (line_of) /* the header makes getline() a call of __getdelim() */
		line_of(&line, &room, stream);
	DO(fclose, stream);
	DO(free, line);
}

/* An unbuffered stream: each call reads or writes the file. */
static FILE *open_unbuffered(const char *path)
{
	FILE *stream = DO(fopen, path, "r+");

	setvbuf(stream, NULL, _IONBF, 0);
	return stream;
}

/* Calls a function with variable arguments that no header has under this name. */
#define FIND(name, result, ...) \
	result (*found_##name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))find(#name)
#define TRY(name, ...)                             \
	do {                                       \
		if (found_##name)                  \
			found_##name(__VA_ARGS__); \
	} while (0)

static void lists_of_arguments(FILE *in, FILE *out, int fd, ...)
{
	FIND(vfscanf, int, FILE *, const char *, va_list);
	FIND(__isoc99_vfscanf, int, FILE *, const char *, va_list);
	FIND(vscanf, int, const char *, va_list);
	FIND(__isoc99_vscanf, int, const char *, va_list);
	FIND(__isoc23_vfscanf, int, FILE *, const char *, va_list);
	FIND(__isoc23_vscanf, int, const char *, va_list);
	FIND(__vfprintf_chk, int, FILE *, int, const char *, va_list);
	FIND(__vprintf_chk, int, int, const char *, va_list);
	FIND(__vdprintf_chk, int, int, int, const char *, va_list);
	FIND(vprintf, int, const char *, va_list); /* the header makes it a call of vfprintf() */
	va_list list;

	va_start(list, fd);
	TRY(vfscanf, in, "x", list);
	TRY(__isoc99_vfscanf, in, "x", list);
	TRY(vscanf, "x", list);
	TRY(__isoc99_vscanf, "x", list);
	TRY(__isoc23_vfscanf, in, "x", list);
	TRY(__isoc23_vscanf, "x", list);
	DO(vfprintf, out, "x", list);
	TRY(__vfprintf_chk, out, 0, "x", list);
	TRY(vprintf, "x", list);
	TRY(__vprintf_chk, 0, "x", list);
	DO(vdprintf, fd, "x", list);
	TRY(__vdprintf_chk, fd, 0, "x", list);
	va_end(list);
}

static void wide_lists(FILE *in, FILE *out, ...)
{
	FIND(__isoc99_vfwscanf, int, FILE *, const wchar_t *, va_list);
	FIND(__isoc99_vwscanf, int, const wchar_t *, va_list);
	FIND(__isoc23_vfwscanf, int, FILE *, const wchar_t *, va_list);
	FIND(__isoc23_vwscanf, int, const wchar_t *, va_list);
	va_list list;

	va_start(list, out);
	TRY(__isoc99_vfwscanf, in, L"x", list);
	TRY(__isoc99_vwscanf, L"x", list);
	TRY(__isoc23_vfwscanf, in, L"x", list);
	TRY(__isoc23_vwscanf, L"x", list);
	DO(vfwprintf, out, L"x", list);
	DO(vwprintf, L"x", list);
	va_end(list);
}

static void wide_streams(void)
{
	FIND(__isoc99_fwscanf, int, FILE *, const wchar_t *, ...);
	FIND(__isoc99_wscanf, int, const wchar_t *, ...);
	FIND(__isoc23_fwscanf, int, FILE *, const wchar_t *, ...);
	FIND(__isoc23_wscanf, int, const wchar_t *, ...);
	FILE *in = open_unbuffered("/dev/zero"), *out = open_unbuffered("/dev/null");
	wchar_t letters[4];

	stdin = in;
	stdout = out;
	DO(fgetwc, in);
	DO(getwc, in);
	DO(getwchar);
	DO(fgetws, letters, 3, in);
	DO(fputwc, L'x', out);
	DO(putwc, L'x', out);
	DO(putwchar, L'x');
	DO(fputws, L"x", out);
	DO(fwprintf, out, L"x");
	DO(wprintf, L"x");
	TRY(__isoc99_fwscanf, in, L"x");
	TRY(__isoc99_wscanf, L"x");
	TRY(__isoc23_fwscanf, in, L"x");
	TRY(__isoc23_wscanf, L"x");
	wide_lists(in, out);
	DO(fclose, in);
	DO(fclose, out);
}

static void streams_that_wait(void)
{
	FIND(__fgets_unlocked_chk, char *, char *, size_t, int, FILE *);
	FIND(__fread_unlocked_chk, size_t, void *, size_t, size_t, size_t, FILE *);
	FIND(fread_unlocked, size_t, void *, size_t, size_t, FILE *);
	FIND(fwrite_unlocked, size_t, const void *, size_t, size_t, FILE *);
	FIND(fgetc_unlocked, int, FILE *);
	FIND(getc_unlocked, int, FILE *);
	FIND(getchar, int, void);
	FIND(getchar_unlocked, int, void);
	FIND(fputc_unlocked, int, int, FILE *);
	FIND(putc_unlocked, int, int, FILE *);
	FIND(putchar, int, int);
	FIND(putchar_unlocked, int, int);
	FIND(__uflow, int, FILE *);
	FIND(__overflow, int, FILE *, int);
	FIND(scanf, int, const char *, ...);
	FIND(fscanf, int, FILE *, const char *, ...);
	FIND(__isoc99_scanf, int, const char *, ...);
	FIND(__isoc99_fscanf, int, FILE *, const char *, ...);
	FIND(__isoc23_scanf, int, const char *, ...);
	FIND(__isoc23_fscanf, int, FILE *, const char *, ...);
	FIND(__printf_chk, int, int, const char *, ...);
	FIND(__fprintf_chk, int, FILE *, int, const char *, ...);
	FIND(__dprintf_chk, int, int, int, const char *, ...);
	FILE *usual_in = stdin, *usual_out = stdout;
	FILE *in = open_unbuffered("/dev/zero"), *out = open_unbuffered("/dev/null");
	char bytes[8];

	stdin = in;
	stdout = out;
	DO(fgets_unlocked, bytes, 3, in);
	TRY(__fgets_unlocked_chk, bytes, sizeof(bytes), 3, in);
	TRY(fread_unlocked, bytes, 1, 1, in);
	TRY(__fread_unlocked_chk, bytes, sizeof(bytes), 1, 1, in);
	TRY(fgetc_unlocked, in);
	TRY(getc_unlocked, in);
	TRY(getchar);
	TRY(getchar_unlocked);
	TRY(__uflow, in);
	TRY(scanf, "x");
	TRY(fscanf, in, "x");
	TRY(__isoc99_scanf, "x");
	TRY(__isoc99_fscanf, in, "x");
	TRY(__isoc23_scanf, "x");
	TRY(__isoc23_fscanf, in, "x");
	DO(fwrite, "x", 1, 1, out);
	TRY(fwrite_unlocked, "x", 1, 1, out);
	DO(fputs, "x", out);
	DO(fputs_unlocked, "x", out);
	DO(puts, "x");
	DO(fputc, 'x', out);
	TRY(fputc_unlocked, 'x', out);
	DO(putc, 'x', out);
	TRY(putc_unlocked, 'x', out);
	TRY(putchar, 'x');
	TRY(putchar_unlocked, 'x');
	TRY(__overflow, out, 'x');
	DO(fflush, NULL);
	DO(fflush_unlocked, NULL);
	DO(fprintf, out, "x%s", "x");
	TRY(__fprintf_chk, out, 0, "x");
	DO(printf, "x%s", "x");
	TRY(__printf_chk, 0, "x");
	DO(dprintf, fileno(out), "x");
	TRY(__dprintf_chk, fileno(out), 0, "x");
	lists_of_arguments(in, out, fileno(out));
	DO(fclose, in);
	DO(fclose, out);
	wide_streams();
	stdin = usual_in;
	stdout = usual_out;
}

static void calls_on_files(void)
{
	const struct timespec now = { 0 };
	int fd = DO(memfd_create, "calls", 0), fds[2], unread;
	struct iovec part = { (char[]){ "x" }, 1 };
	struct addrinfo *found;
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };

	DO(pwrite, fd, "x", 1, 0);
	DO(pwrite64, fd, "x", 1, 0);
	DO(pread, fd, part.iov_base, 1, 0);
	DO(pread64, fd, part.iov_base, 1, 0);
	DO(copy_file_range, fd, NULL, fd, NULL, 0, 0);
	if (!DO(getaddrinfo, "127.0.0.1", NULL, &(struct addrinfo){ .ai_flags = AI_NUMERICHOST },
		&found))
		freeaddrinfo(found);
	DO(gethostbyname, "127.0.0.1");
	DO(fsync, fd);
	DO(fdatasync, fd);
	DO(tcdrain, fd);
	DO(ioctl, fd, FIONREAD, &unread);
	DO(pipe, fds);
	DO(vmsplice, fds[1], &part, 1, 0);
	DO(tee, fds[0], fds[1], 0, 0);
	DO(close, fds[0]);
	DO(close, fds[1]);
	DO(socketpair, AF_UNIX, SOCK_STREAM, 0, fds);
	DO(sendmmsg, fds[0], &message, 1, 0);
	DO(close, fds[0]);
	DO(close, fds[1]);
	DO(aio_suspend, (const struct aiocb *[]){ NULL }, 0, &now);
	DO(aio_suspend64, (const struct aiocb64 *[]){ NULL }, 0, &now);
	DO(close, fd);
}

static void transfers(void)
{
	ssize_t (*read_chk)(int, void *, size_t, size_t) =
		(ssize_t(*)(int, void *, size_t, size_t))find("__read_chk");
	ssize_t (*recv_chk)(int, void *, size_t, size_t, int) =
		(ssize_t(*)(int, void *, size_t, size_t, int))find("__recv_chk");
	int fds[2], counter = DO(eventfd, 0, 0), file = DO(open, "/dev/null", O_RDWR);
	char bytes[9] = "";
	struct iovec part = { bytes, 1 };
	eventfd_t value;

	DO(pipe, fds);
	wait_for_descriptors(fds[0]);
	DO(write, fds[1], bytes, 2);
	DO(writev, fds[1], &part, 1);
	DO(read, fds[0], bytes, 1);
	DO(readv, fds[0], &part, 1);
	if (read_chk)
		read_chk(fds[0], bytes, 1, sizeof(bytes));
	DO(close, fds[0]);
	DO(close, fds[1]);
	DO(eventfd_write, counter, 1);
	DO(eventfd_read, counter, &value);
	DO(close, counter);
	DO(socketpair, AF_UNIX, SOCK_STREAM, 0, fds);
	DO(send, fds[1], bytes, 2, 0);
	DO(sendto, fds[1], bytes, 1, 0, NULL, 0);
	DO(recv, fds[0], bytes, 1, 0);
	DO(recvfrom, fds[0], bytes, 1, 0, NULL, NULL);
	if (recv_chk)
		recv_chk(fds[0], bytes, 1, sizeof(bytes), 0);
	recv(fds[0], bytes, 1, MSG_DONTWAIT); /* cannot block: not recorded */
	DO(close, fds[0]);
	DO(close, fds[1]);
	DO(flock, file, LOCK_SH);
	flock(file, LOCK_UN);
	DO(lockf, file, F_LOCK, 1);
	DO(lockf64, file, F_LOCK, 1);
	DO(close, file);
	copies();
	messages();
	reads_of_streams();
	streams_that_wait();
	calls_on_files();
}

static void clean_up(void)
{
	DIR *listed = DO(opendir, directory);
	struct dirent *entry;

	while (listed && (entry = readdir(listed)))
		if (entry->d_name[0] != '.')
			DO(unlinkat, dirfd(listed), entry->d_name, 0);
	DO(closedir, listed);
	rmdir(directory);
}

/* Until somebody has attached to us. */
static void wait_for_signal(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say("waiting\n");
	sigwait(&set, &number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* With an argument: it waits for SIGUSR1 before it begins. */
int main(int argc, char **argv)
{
	void *shared = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED || !mkdtemp(directory))
		return 1;
	counts = shared;
	(void)argv;
	if (argc > 1)
		wait_for_signal();
	else
		add("mmap", 1); /* this one */
	memory();
	mappings();
	shared_memory();
	files();
	temporary_files();
	descriptors();
	rare_descriptors();
	terminals();
	sockets();
	streams();
	names();
	threads();
	mutexes();
	rwlocks();
	other_locks();
	conditions();
	meetings();
	semaphores();
	processes();
	libraries();
	wait_for_signals();
	transfers();
	clean_up();
	add("exit", 1);
	say("code %lx %lx\n", (unsigned long)__executable_start, (unsigned long)etext);
	for (unsigned int i = 0; i < counts->names; i++)
		say("%s %u\n", counts->of[i].name, counts->of[i].calls);
	exit(0);
}
