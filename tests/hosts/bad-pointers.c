/* SPDX-License-Identifier: MIT */
/*
 * Gives hooked functions pointers to nothing, and texts that end where memory does, each in a child
 * of its own, and prints what came of it: a result and an errno, or a signal. Traced or not, it
 * must print the same.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <wchar.h>

extern char **environ;

static char *bad;	    /* nobody's memory */
static char *edge;	    /* 15 letters and no end before nobody's memory */
static char *volatile none; /* NULL, which the compiler does not know */

static void tell(const char *what, long result)
{
	int error = errno;

	/* pids and descriptors differ */
	printf("%s: %ld %s\n", what,
	       result < 0 ? result
	       : result	  ? 1
			  : 0,
	       result ? strerrorname_np(error) : "");
	fflush(stdout);
	_exit(0);
}

static void wait_for(pid_t child, const char *what)
{
	int status;

	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s: signal %d\n", what, WTERMSIG(status));
	fflush(stdout);
}

#define TRY(...)                                                 \
	do {                                                     \
		pid_t child = fork();                            \
                                                                 \
		errno = 0;                                       \
		if (!child)                                      \
			tell(#__VA_ARGS__, (long)(__VA_ARGS__)); \
		wait_for(child, #__VA_ARGS__);                   \
	} while (0)

static void names(void)
{
	TRY(open(bad, O_RDONLY));
	TRY(open(edge, O_RDONLY));
	TRY(open(none, O_RDONLY));
	TRY(openat(-1, bad, O_RDONLY));
	TRY(creat(bad, 0600));
	TRY(opendir(bad));
	TRY(fopen(bad, "r"));
	TRY(freopen(bad, "r", stdin));
	TRY(rename(bad, "/nowhere/file"));
	TRY(rename("/nowhere/file", edge));
	TRY(renameat2(AT_FDCWD, bad, AT_FDCWD, edge, 0xffff));
	TRY(link(bad, edge));
	TRY(linkat(AT_FDCWD, edge, AT_FDCWD, bad, 0xffff));
	TRY(symlink(bad, edge));
	TRY(unlink(edge));
	TRY(unlinkat(AT_FDCWD, bad, 0xffff));
	TRY(chdir(bad));
	TRY(mount(bad, bad, bad, 0, NULL));
	TRY(umount2(bad, 0xffff));
	TRY(memfd_create(bad, ~0u));
	TRY(memfd_create(bad, 0));
	TRY(fsopen(bad, ~0u));
	TRY(open_tree(AT_FDCWD, bad, ~0u));
	TRY(mq_open(edge, O_RDONLY));
	TRY((long)sem_open(bad, 0));
	TRY(shm_open(bad, O_RDONLY, 0));
	TRY((long)popen(bad, "r"));
	TRY(prctl(PR_SET_NAME, bad));
	TRY(prctl(PR_SET_NAME, edge));
}

static void programs(void)
{
	char name[] = "true", *argv[] = { name, NULL };
	char *unreadable[] = { name, bad, NULL }, *endless[] = { edge, NULL };
	char **nobodys = (char **)(uintptr_t)bad, **volatile first_page = (char **)8;
	char *in_first_page[] = { (char *)first_page, NULL };
	pid_t pid;

	TRY(execve(bad, argv, environ));
	TRY(execve(edge, argv, environ));
	TRY(execve(none, argv, environ));
	TRY(execve("/bin/true", (char **)(uintptr_t)bad, environ));
	TRY(execv(bad, argv));
	TRY(execvp(bad, argv));
	TRY(execl(bad, "a", (char *)NULL));
	TRY(execle(edge, "a", (char *)NULL, environ));
	TRY(execveat(AT_FDCWD, bad, argv, environ, 0));
	TRY(fexecve(0, (char **)(uintptr_t)bad, environ));
	TRY(posix_spawn(&pid, bad, NULL, NULL, argv, environ));
	TRY(execve("/bin/true", argv, nobodys));
	TRY(execve("/bin/true", argv, unreadable));
	TRY(execve("/bin/true", argv, endless));
	TRY(execve("/bin/true", argv, first_page));
	TRY(execve("/bin/true", argv, in_first_page));
	TRY(execvpe("true", argv, unreadable));
	TRY(fexecve(0, argv, unreadable));
	TRY(posix_spawn(&pid, "/bin/true", NULL, NULL, argv, nobodys));
	TRY(posix_spawnp(&pid, "true", NULL, NULL, argv, unreadable));
}

#define TEN(...)                                                                                   \
	__VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, \
		__VA_ARGS__, __VA_ARGS__, __VA_ARGS__
#define THOUSAND(...) TEN(TEN(TEN(__VA_ARGS__)))

/* Lists are as long as they like; they print what they got. */
static void lists(void)
{
	TRY(execl("/bin/echo", "echo", THOUSAND("a"), THOUSAND("b"), "c", (char *)NULL));
	TRY(execlp("echo", "echo", THOUSAND("d"), THOUSAND("e"), "f", (char *)NULL));
	TRY(execle("/usr/bin/env", "env", "echo", THOUSAND("g"), THOUSAND("h"), (char *)NULL,
		   environ));
}

static void results(void)
{
	int *to = (int *)(uintptr_t)bad, pair[2];
	struct sockaddr *address = (struct sockaddr *)(uintptr_t)bad;
	struct msghdr *message = (struct msghdr *)(uintptr_t)bad;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	TRY(pipe(to));
	TRY(pipe2(to, 0));
	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, to));
	TRY(bind(pair[0], address, 16));
	TRY(connect(pair[0], address, 16));
	TRY(bind(-1, address, 16));
	TRY(accept(pair[0], address, (socklen_t *)to));
	TRY(accept4(-1, address, (socklen_t *)to, 0));
	TRY(recvmsg(pair[0], message, MSG_DONTWAIT));
	TRY(recvmmsg(pair[0], (struct mmsghdr *)message, 1, MSG_DONTWAIT, NULL));
	TRY(wait(to));
	TRY(waitpid(-1, to, WNOHANG));
	TRY(wait4(-1, to, 0, (struct rusage *)to));
	TRY(waitid(P_ALL, 0, (siginfo_t *)to, WEXITED));
	TRY(signalfd(-1, (sigset_t *)to, 0));
	TRY(semop(-1, (struct sembuf *)to, 1));
	TRY(semtimedop(-1, (struct sembuf *)to, 1, (struct timespec *)to));
	TRY(syscall(SYS_futex, to, FUTEX_WAKE, 1));
	TRY(syscall(SYS_futex, to, FUTEX_WAIT, 1, NULL, NULL, 0));
	TRY(closedir((DIR *)none));
	TRY(fork() == 0 ? (_exit(7), 0) : (wait(to) < 0));
}

/* Who need not wait never looks at the time. */
static void times(void)
{
	const struct timespec *until = (const struct timespec *)(uintptr_t)bad;
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	mtx_t other;
	sem_t sem;

	sem_init(&sem, 0, 1);
	mtx_init(&other, mtx_timed);
	TRY(pthread_mutex_timedlock(&mutex, until));
	TRY(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, until));
	TRY(pthread_rwlock_timedrdlock(&rwlock, until));
	TRY(pthread_rwlock_timedwrlock(&rwlock, until));
	TRY(mtx_timedlock(&other, until));
	TRY(sem_timedwait(&sem, until));
	TRY(sem_clockwait(&sem, CLOCK_MONOTONIC, until));
}

/* Calls that read nothing, and so do not look at the stream; and calls that do. */
static void streams(void)
{
	FILE *stream = (FILE *)(void *)bad, *no_stream = (FILE *)(void *)none;
	char text[8] = "";
	wchar_t wide[8];
	char **no_line = (char **)(void *)none;
	size_t *no_size = (size_t *)(void *)none;
	volatile int one = 1, two = 2;
	volatile size_t nothing = 0;

	TRY(fread(text, nothing, 1, stream));
	TRY(fread(text, 1, nothing, no_stream));
	TRY(fread(text, 1, 1, stream));
	TRY(!fgets(text, one, stream));
	TRY(!fgets(text, two, no_stream));
	TRY(getline(no_line, no_size, stream));
	TRY(getdelim(no_line, no_size, ';', no_stream));
	TRY(getc(stream));
	TRY(fgetc(no_stream));
	TRY(fwrite(text, nothing, 1, stream));
	TRY(fwrite(text, 1, nothing, no_stream));
	TRY(fwrite(text, 1, 1, stream));
	TRY(fputs(text, no_stream));
	TRY(putc('x', stream));
	TRY(fprintf(no_stream, "%d", one));
	TRY(fflush(stream));
	TRY(!fgetws(wide, one, stream));
	TRY(!fgetws(wide, two, no_stream));
	TRY(fgetwc(stream));
	TRY(fputwc(L'x', no_stream));
	TRY(fscanf(stream, "%*d"));
}

int main(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || munmap(pages + 4096, 4096))
		return 1;
	bad = pages + 4096 + 64;
	edge = pages + 4096 - 15;
	memset(edge, 'e', 15);
	names();
	programs();
	lists();
	results();
	times();
	streams();
	return 0;
}
