/* SPDX-License-Identifier: MIT */
/* Both ends of a terminal are gained; who logs in to one has it as 0, 1 and 2. Message queues. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

/* Makes the terminal this program's own, and its output what it was. */
static void log_in(void)
{
	int master, slave, output = dup(1);

	if (openpty(&master, &slave, NULL, NULL, NULL) || login_tty(slave))
		return; /* where this process leads its group */
	for (int standard = 0; standard <= 2; standard++)
		expect("login_tty<fd>(0x%x)", standard);
	expect("login_tty<fd>(0x%x)", slave);
	for (int standard = 0; standard <= 2; standard++)
		expect("login_tty<fd>(1) = 0x%x", standard);
	dup2(output, 1);
}

int main(void)
{
	int master, slave, status;
	mqd_t queue;
	pid_t child;

	if (openpty(&master, &slave, NULL, NULL, NULL))
		return 1;
	expect("openpty<fd>(1) = 0x%x\n\t$peer = %d", slave, master);
	expect("openpty<fd>(1) = 0x%x\n\t$peer = %d", master, slave);
	close(slave);
	expect("close<fd>(0x%x)", slave);
	close(master);
	child = forkpty(&master, NULL, NULL, NULL);
	if (!child)
		_exit(3);
	expect("forkpty<fd>(1) = 0x%x\nforkpty<process>(1) = 0x%x", master, child);
	if (waitpid(child, &status, 0) != child || status != 3 << 8)
		return 1;
	expect("waitpid<process>(0x%x)", child);
	errno = 0;
	queue = mq_open("/holdtrace-test", O_CREAT | O_RDONLY, 0600, NULL);
	if (queue != (mqd_t)-1) {
		expect("mq_open<fd>(1) = 0x%x\n\t$name = /holdtrace-test", queue);
		mq_close(queue);
		expect("mq_close<fd>(0x%x)", queue);
		mq_unlink("/holdtrace-test");
		expect("mq_unlink<event>(0x0)\n\t$name = /holdtrace-test");
	}
	log_in();
	expect_print();
	return 0;
}
