/* SPDX-License-Identifier: MIT */
/*
 * Does what etrace has events for, in the directory that it is given, and prints what check-etrace
 * must say of it: a line for each event.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *top;
static FILE *wanted;

#define WANT(...) (fprintf(wanted, "task1 " __VA_ARGS__), fputc('\n', wanted))

static void open_files(void)
{
	int at = open(top, O_RDONLY | O_DIRECTORY), fd;
	FILE *file;

	WANT("Open flags=65536 mode=0 fd=%d FN=%s FO=%s", at, top, top);
	fd = openat(at, "./a", O_CREAT | O_RDWR, 0640);
	WANT("Open flags=66 mode=416 fd=%d FN=%s/a FO=%s/./a", fd, top, top);
	close(fd);
	WANT("Close fd=%d", fd);
	fd = creat("a", 0600);
	WANT("Open flags=577 mode=384 fd=%d FN=%s/a FO=%s/a", fd, top, top);
	if (open("nowhere/file", O_RDONLY) != -1)
		exit(1);
	close(fd);
	WANT("Close fd=%d", fd);
	file = fopen("../../../../../../../../../../dev//null", "r+e");
	fd = fileno(file);
	WANT("Open flags=524290 mode=438 fd=%d FN=/dev/null FO=%s/"
	     "../../../../../../../../../../dev//null",
	     fd, top);
	fclose(file);
	WANT("Close fd=%d", fd);
	file = fopen("a", "a");
	WANT("Open flags=1089 mode=438 fd=%d FN=%s/a FO=%s/a", fd, top, top);
	fclose(file);
	WANT("Close fd=%d", fd);
	close(at);
	WANT("Close fd=%d", at);
	if (!close(at))
		exit(1);
}

static void copy_descriptors(void)
{
	int ends[2], others[2];

	if (pipe(ends) || pipe2(others, O_CLOEXEC))
		exit(1);
	WANT("Pipe fd1=%d fd2=%d flags=0", ends[0], ends[1]);
	WANT("Pipe fd1=%d fd2=%d flags=524288", others[0], others[1]);
	dup2(ends[0], 50);
	WANT("Dup oldfd=%d newfd=50 flags=0", ends[0]);
	dup3(ends[1], 50, O_CLOEXEC);
	WANT("Dup oldfd=%d newfd=50 flags=524288", ends[1]);
	dup2(50, 50);
	WANT("Dup oldfd=50 newfd=50 flags=0");
	fcntl(50, F_DUPFD, 60);
	WANT("Dup oldfd=50 newfd=60 flags=0");
	fcntl(50, F_DUPFD_CLOEXEC, 61);
	WANT("Dup oldfd=50 newfd=61 flags=524288");
	if (close_range(60, 61, 0))
		exit(1);
	WANT("Close fd=60");
	WANT("Close fd=61");
	close(50);
	WANT("Close fd=50");
}

static void change_names(void)
{
	int at;

	if (chdir("sub"))
		exit(1);
	at = open("..", O_RDONLY);
	WANT("Open flags=0 mode=0 fd=%d FN=%s FO=%s/sub/..", at, top, top);
	if (rename("../a", "b") || renameat(AT_FDCWD, "b", at, "c") || fchdir(at) ||
	    renameat2(at, "c", at, "d", RENAME_NOREPLACE))
		exit(1);
	WANT("Rename RF=%s/a RT=%s/sub/b", top, top);
	WANT("Rename RF=%s/sub/b RT=%s/c", top, top);
	WANT("Rename2 flags=1 RF=%s/c RT=%s/d", top, top);
	if (!rename("nothing", "x") || !rename("d", "sub") || errno != EISDIR)
		exit(1);
	WANT("RenameFailed");
	WANT("Rename RF=%s/d RenameFailed", top);
	if (link("d", "e") || linkat(at, "d", at, "f", 0) || !link("d", "e") || !link("g", "h") ||
	    !linkat(at, "d", at, "f", 0))
		exit(1);
	WANT("Link LF=%s/d LT=%s/e", top, top);
	WANT("Linkat flags=0 LF=%s/d LT=%s/f", top, top);
	WANT("Link LF=%s/d LinkFailed", top);
	WANT("LinkFailed");
	WANT("Linkat flags=0 LF=%s/d LinkFailed", top);
	if (!mount("none", "sub", "no-such-type", MS_RDONLY, NULL) ||
	    !mount(NULL, "sub", NULL, MS_REMOUNT, NULL) || !umount2("sub", MNT_DETACH) ||
	    !umount("nowhere"))
		exit(1);
	WANT("Mount flags=1 MS=none MT=%s/sub MX=no-such-type MountFailed", top);
	WANT("Mount flags=32 MT=%s/sub MountFailed", top);
	WANT("Umount flags=2 MT=%s/sub UmountFailed", top);
	WANT("UmountFailed");
	prctl(PR_SET_NAME, "a name that is too long");
	WANT("Comm CN=a name that is ");
}

/* Texts of any length and with newlines: targets of symbolic links are not looked at. */
static void make_links(void)
{
	static const char *const texts[] = { "this is\na string with\nnew lines", "\n",
					     "a\n\nb\n" };
	static const int sizes[] = { 899, 900, 901, 1800, 2700, 4000 };
	char text[5000], shown[5000], name[32];

	for (int i = 0; i < 9; i++) {
		int size = i < 3 ? (int)strlen(texts[i]) : sizes[i - 3], at = 0;

		memset(text, 'x', sizeof(text));
		if (i < 3)
			memcpy(text, texts[i], (size_t)size);
		if (i > 6) /* a line's end in the first part, at its end, and two behind it */
			text[5] = text[899] = text[900] = text[1000] = '\n';
		text[size] = 0;
		for (const char *c = text; *c; c++)
			at += sprintf(shown + at, "%s", *c == '\n' ? "\\n" : (char[]){ *c, 0 });
		snprintf(name, sizeof(name), "link%d", i);
		if (symlink(text, name))
			exit(1);
		WANT("Symlink ST=%s SL=%s/%s", shown, top, name);
	}
}

static void *in_thread(void *unused)
{
	free(malloc(10));
	return unused;
}

static int closes(void *unused)
{
	(void)unused;
	close(1);
	_exit(55);
}

static void make_others(void)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pthread_t thread;
	pid_t child;

	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		exit(1);
	WANT("SysClone flags=4001536 SchedFork task2");
	child = fork();
	if (!child) {
		close(0);
		_exit(300 & 255);
	}
	waitpid(child, NULL, 0);
	WANT("SchedFork task3");
	child = fork();
	if (!child) {
		close(0);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, NULL, 0);
	WANT("SchedFork task4");
	child = vfork();
	if (!child) {
		execl("/bin/sh", "sh", "-c", "exit 9", "", NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	WANT("SchedFork task5");
	child = vfork();
	if (!child) {
		close(0);
		_exit(33);
	}
	waitpid(child, NULL, 0);
	WANT("SchedFork task6");
	child = clone(closes, stack + sizeof(stack), SIGCHLD, NULL);
	waitpid(child, NULL, 0);
	WANT("SysClone flags=17 SchedFork task7");
	child = clone(closes, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	waitpid(child, NULL, 0);
	WANT("SysClone flags=16657 SchedFork task8");
	if (clone(closes, stack + sizeof(stack), CLONE_THREAD, NULL) != -1)
		exit(1);
	WANT("SysClone flags=65536 failed");
	if (system("exit 8") != 8 << 8)
		exit(1);
	WANT("SchedFork task9");
}

int main(int argc, char **argv)
{
	if (argc < 3 || chdir(argv[1]))
		return 1;
	top = argv[1];
	wanted = fdopen(atoi(argv[2]), "w");
	open_files();
	copy_descriptors();
	change_names();
	make_links();
	make_others();
	WANT("Exit status=7");
	fflush(wanted);
	return 7;
}
