/* SPDX-License-Identifier: MIT */
/*
 * sleeper KIND MS COUNT [all|kill]: sleeps COUNT times for MS in one kind of system call, and
 * says of each sleep how late it ended, in us; "wrong" if one ended early, or with another result
 * than an undisturbed one has. Behind a filter of system calls: "all" allows all but ptrace(2),
 * "kill" kills the process for restart_syscall(2). Calls without a limit of time are ended by a
 * child. Ends with 1 if anything was wrong. Without words it prints the kinds.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long ms;
static struct timespec span;
static int never, epoll, pair[2], stream[2], semaphore, queue, file, listener;
static uint32_t word;
static void *kept; /* a block that a scan finds */

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct timespec end_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	time.tv_sec += span.tv_sec + (time.tv_nsec + span.tv_nsec) / 1000000000;
	time.tv_nsec = (time.tv_nsec + span.tv_nsec) % 1000000000;
	return time;
}

/* ---- with a limit: the result is what an undisturbed call has ---- */

/* 0 if the call has failed by this error. */
static int fails_by(long result, int error)
{
	return result == -1 && errno == error ? 0 : -1;
}

static int sleep_nanosleep(void)
{
	return (int)syscall(SYS_nanosleep, &span, NULL);
}

static int sleep_nanosleep_same(void)
{
	struct timespec time = span;

	return (int)syscall(SYS_nanosleep, &time, &time);
}

static int sleep_clock(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
}

static int sleep_clock_absolute(void)
{
	struct timespec end = end_of(CLOCK_MONOTONIC);

	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static int sleep_poll(void)
{
	struct pollfd poller = { .fd = never, .events = POLLIN };

	return poll(&poller, 1, (int)ms);
}

static int sleep_ppoll(void)
{
	struct pollfd poller = { .fd = never, .events = POLLIN };

	return ppoll(&poller, 1, &span, NULL);
}

static int sleep_select(void)
{
	struct timeval time = { .tv_sec = span.tv_sec, .tv_usec = span.tv_nsec / 1000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(never, &set);
	return select(never + 1, &set, NULL, NULL, &time);
}

static int sleep_futex(void)
{
	return fails_by(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &span), ETIMEDOUT);
}

static int sleep_futex_absolute(void)
{
	struct timespec end = end_of(CLOCK_MONOTONIC);

	return fails_by(
		syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &end, NULL, FUTEX_BITSET_MATCH_ANY),
		ETIMEDOUT);
}

static int sleep_futex_pi(void)
{
	struct timespec end = end_of(CLOCK_REALTIME);
	pid_t owner = getppid();
	uint32_t lock = (uint32_t)owner;

	return fails_by(syscall(SYS_futex, &lock, FUTEX_LOCK_PI, 0, &end), ETIMEDOUT);
}

static int sleep_epoll(void)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, (int)ms);
}

static int sleep_epoll2(void)
{
	struct epoll_event event;

	return (int)syscall(SYS_epoll_pwait2, epoll, &event, 1, &span, NULL, 0);
}

static int sleep_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return fails_by(sigtimedwait(&set, NULL, &span), EAGAIN);
}

static int sleep_semtimedop(void)
{
	struct sembuf operation = { .sem_op = -1 };

	return fails_by(semtimedop(semaphore, &operation, 1, &span), EAGAIN);
}

static int sleep_receive(void)
{
	char byte;

	return fails_by(recv(pair[0], &byte, 1, 0), EAGAIN);
}

/* ---- without: a child ends it ---- */

static void nap(void)
{
	struct timespec end = end_of(CLOCK_MONOTONIC);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
}

/* Forks a child that does this after the time, with the parent's number at hand. */
#define LATER(...)                                        \
	do {                                              \
		pid_t parent = getpid();                  \
                                                          \
		(void)parent;                             \
		if (fork() == 0) {                        \
			prctl(PR_SET_PDEATHSIG, SIGKILL); \
			nap();                            \
			__VA_ARGS__;                      \
			_exit(0);                         \
		}                                         \
	} while (0)

static int reap(int result)
{
	int status;

	return wait(&status) > 0 && status == 0 ? result : -1;
}

static int sleep_read(void)
{
	char byte;

	LATER(if (write(stream[1], "x", 1) != 1) _exit(1));
	return reap(read(stream[0], &byte, 1) == 1 ? 0 : -1);
}

static int sleep_accept(void)
{
	struct sockaddr_un name;
	socklen_t size = sizeof(name);
	int guest;

	getsockname(listener, (struct sockaddr *)&name, &size);
	LATER(int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	      if (connect(fd, (struct sockaddr *)&name, size)) _exit(1));
	guest = accept(listener, NULL, NULL);
	close(guest);
	return reap(guest >= 0 ? 0 : -1);
}

static int sleep_wait(void)
{
	LATER(;);
	return reap(0);
}

static void do_nothing(int number)
{
	(void)number;
}

static int sleep_pause(void)
{
	LATER(kill(parent, SIGUSR2));
	return reap(fails_by(pause(), EINTR));
}

static int sleep_sigsuspend(void)
{
	sigset_t set, none;
	int result;

	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	LATER(kill(parent, SIGUSR2));
	result = reap(fails_by(sigsuspend(&none), EINTR));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return result;
}

static int sleep_sigwaitinfo(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	LATER(kill(parent, SIGUSR1));
	return reap(sigwaitinfo(&set, NULL) == SIGUSR1 ? 0 : -1);
}

static int sleep_epoll_for_ever(void)
{
	struct epoll_event event;
	char byte;

	LATER(if (write(stream[1], "x", 1) != 1) _exit(1));
	return reap(epoll_wait(epoll, &event, 1, -1) == 1 && read(stream[0], &byte, 1) == 1 ? 0
											    : -1);
}

static int sleep_poll_for_ever(void)
{
	struct pollfd poller = { .fd = stream[0], .events = POLLIN };
	char byte;

	LATER(if (write(stream[1], "x", 1) != 1) _exit(1));
	return reap(poll(&poller, 1, -1) == 1 && read(stream[0], &byte, 1) == 1 ? 0 : -1);
}

static int sleep_semop(void)
{
	struct sembuf operation = { .sem_op = -1 };

	LATER(struct sembuf other = { .sem_op = 1 }; semop(semaphore, &other, 1));
	return reap(semop(semaphore, &operation, 1));
}

static int sleep_msgrcv(void)
{
	struct {
		long kind;
		char byte;
	} message = { .kind = 1 };

	LATER(msgsnd(queue, &message, 1, 0));
	return reap(msgrcv(queue, &message, 1, 0, 0) == 1 ? 0 : -1);
}

/* The child has the lock for so long. */
static int sleep_behind(int (*lock)(int fd))
{
	char byte, path[64];
	int ends[2], result;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), file);
	if (pipe(ends))
		return -1;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (lock(open(path, O_RDWR)) || write(ends[1], "x", 1) != 1)
			_exit(1);
		nap();
		_exit(0);
	}
	result = read(ends[0], &byte, 1) == 1 ? lock(file) : -1;
	close(ends[0]);
	close(ends[1]);
	return reap(result);
}

static int lock_all(int fd)
{
	return flock(fd, LOCK_EX);
}

static int lock_range(int fd)
{
	struct flock range = { .l_type = F_WRLCK, .l_len = 1 };

	return fcntl(fd, F_SETLKW, &range);
}

static int sleep_flock(void)
{
	int result = sleep_behind(lock_all);

	flock(file, LOCK_UN);
	return result;
}

static int sleep_lockf(void)
{
	int result = sleep_behind(lock_range);
	struct flock none = { .l_type = F_UNLCK };

	fcntl(file, F_SETLK, &none);
	return result;
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	int (*sleep)(void);
} kinds[] = {
	{ "nanosleep", sleep_nanosleep },
	{ "nanosleep-same", sleep_nanosleep_same },
	{ "clock_nanosleep", sleep_clock },
	{ "clock_nanosleep-absolute", sleep_clock_absolute },
	{ "poll", sleep_poll },
	{ "ppoll", sleep_ppoll },
	{ "select", sleep_select },
	{ "futex", sleep_futex },
	{ "futex-absolute", sleep_futex_absolute },
	{ "futex-pi", sleep_futex_pi },
	{ "epoll", sleep_epoll },
	{ "epoll2", sleep_epoll2 },
	{ "sigtimedwait", sleep_sigtimedwait },
	{ "semtimedop", sleep_semtimedop },
	{ "receive", sleep_receive },
	{ "read", sleep_read },
	{ "accept", sleep_accept },
	{ "wait", sleep_wait },
	{ "pause", sleep_pause },
	{ "sigsuspend", sleep_sigsuspend },
	{ "sigwaitinfo", sleep_sigwaitinfo },
	{ "epoll-for-ever", sleep_epoll_for_ever },
	{ "poll-for-ever", sleep_poll_for_ever },
	{ "semop", sleep_semop },
	{ "msgrcv", sleep_msgrcv },
	{ "flock", sleep_flock },
	{ "lockf", sleep_lockf },
};

static int prepare(void)
{
	struct sigaction action = { .sa_handler = do_nothing };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = span.tv_sec, .tv_usec = span.tv_nsec / 1000 };
	struct epoll_event event = { .events = EPOLLIN };
	sigset_t set;

	sigaction(SIGUSR2, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kept = malloc(100);
	never = eventfd(0, 0);
	epoll = epoll_create1(0);
	file = memfd_create("file", 0);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	return !kept || pipe(stream) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ||
	       setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	       epoll_ctl(epoll, EPOLL_CTL_ADD, stream[0], &event) ||
	       bind(listener, (struct sockaddr *)&name, sizeof(name.sun_family)) ||
	       listen(listener, 1) || semaphore < 0 || queue < 0;
}

static int put_filter(const char *kind)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 strcmp(kind, "kill") ? SYS_ptrace : SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/*
 * One sleep; returns whether it was right. Its frame has a size that the stack pointer alone does
 * not tell, so who walks the stack from outside needs a register, and must stop the thread.
 */
static int sleep_once(int (*sleep)(void))
{
	char *volatile room = __builtin_alloca((size_t)ms % 100 + 16);
	int64_t begun = now_us(), late;
	int result = sleep(), number = errno;

	room[0] = 0;
	late = now_us() - begun - ms * 1000;
	printf("%lld%s\n", (long long)late, result || late < 0 ? " wrong" : "");
	if (result)
		printf("result %d, %s\n", result, strerror(number));
	fflush(stdout);
	return !result && late >= 0;
}

int main(int argc, char **argv)
{
	int (*sleep)(void) = NULL;
	int count, wrong = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc == 1)
			puts(kinds[i].name);
		else if (!strcmp(argv[1], kinds[i].name))
			sleep = kinds[i].sleep;
	}
	if (argc < 4 || !sleep)
		return argc != 1;
	ms = atol(argv[2]);
	span = (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	count = atoi(argv[3]);
	prctl(PR_SET_TIMERSLACK, 1);
	if (prepare() || (argc > 4 && put_filter(argv[4]))) {
		perror("sleeper");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < count; i++)
		wrong += !sleep_once(sleep);
	semctl(semaphore, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	return wrong > 0;
}
