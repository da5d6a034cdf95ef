/* SPDX-License-Identifier: MIT */
/* Children are held until somebody waits for their end, however they were made. */
#include "expect.h"

#include <errno.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(void)
{
	char *argv[] = { (char *)"true", NULL };
	int status;
	pid_t child;

	prctl(PR_SET_NAME, "parent");
	expect("prctl<event>(*)\n\t$name = parent");
	child = fork();
	if (!child)
		_exit(3);
	expect("fork<process>(1) = 0x%x", child);
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
		return 1;
	expect("waitpid<process>(0x%x)", child);
	if (posix_spawnp(&child, "true", NULL, NULL, argv, environ))
		return 1;
	expect("posix_spawnp<process>(1) = 0x%x\n\t$path = true", child);
	if (wait(NULL) != child)
		return 1;
	expect("wait<process>(0x%x)", child);
	child = vfork();
	if (!child) {
		close(0);
		execlp("true", "true", (char *)NULL);
		_exit(1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 1;
	expect("close<event>(0x0)\nexeclp<event>(0x0)\n\t$path = true");
	expect("vfork<process>(1) = 0x%x\nwaitpid<process>(0x%x)", child, child);
	if (system("exit 4") != 4 << 8 || wait(NULL) != -1 || errno != ECHILD)
		return 1;
	expect("system<event>(0x0)\n\t$command = exit 4\nwait<event>(0x0)");
	if (execl("/nowhere", "nowhere", (char *)NULL) != -1 || errno != ENOENT)
		return 1;
	expect("execl<event>(0x0)\n\t$path = /nowhere\nexecl<event>(0x0)\n\t$path = /nowhere");
	expect_print();
	return 0;
}
