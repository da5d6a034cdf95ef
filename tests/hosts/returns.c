/* SPDX-License-Identifier: MIT */
/* Children that return from main, and are waited for at once: every fourth one returns 3. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 20

int main(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		siginfo_t info;

		if (child < 0)
			return 1;
		if (!child) {
			free(malloc(10));
			return i % 4 == 3 ? 3 : 0;
		}
		if (i % 2)
			waitpid(child, NULL, 0);
		else
			waitid(P_PID, (id_t)child, &info, WEXITED);
	}
	return 0;
}
