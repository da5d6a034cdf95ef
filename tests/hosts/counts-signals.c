/* SPDX-License-Identifier: MIT */
/*
 * counts-signals N LAUNCHER...: runs `LAUNCHER... counts-signals` on a terminal of its own and
 * sends it N signals of each kind in each way: to the launcher alone, to its process group, from
 * the terminal. Prints how often each arrived in the program, where that is not N; succeeds if
 * nowhere.
 */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static const int kinds[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

enum way { ALONE, GROUP, TERMINAL, WAYS };

static const char *const ways[] = { "the launcher", "the group", "the terminal" };

static void report(int number)
{
	char letter = (char)('A' + number);

	if (write(STDOUT_FILENO, &letter, 1) != 1)
		_exit(2);
}

/* The program: a letter for each signal that arrives, until the terminal closes. */
static int receive(void)
{
	struct sigaction action = { .sa_handler = report, .sa_flags = SA_RESTART };
	char end;

	sigfillset(&action.sa_mask);
	for (size_t i = 0; i < KINDS; i++)
		sigaction(kinds[i], &action, NULL);
	report(0);
	while (read(STDIN_FILENO, &end, 1) == 1 && end != '.')
		;
	return 7;
}

/* How many letters for the signal come within so many ms; the first one ends it where is_one. */
static int arrived(int terminal, int number, int ms, int is_one)
{
	struct pollfd ready = { .fd = terminal, .events = POLLIN };
	int count = 0;
	char letter;

	while (poll(&ready, 1, ms) == 1 && read(terminal, &letter, 1) == 1) {
		count += letter == 'A' + number;
		if (count && is_one)
			break;
	}
	return count;
}

static void give(int terminal, pid_t launcher, enum way way, int kind)
{
	if (way == ALONE)
		kill(launcher, kind);
	else if (way == GROUP)
		kill(-launcher, kind);
	else if (write(terminal, kind == SIGINT ? "\003" : "\034", 1) != 1)
		exit(2);
}

int main(int argc, char **argv)
{
	struct termios mode;
	int terminal, bad = 0, status;
	pid_t launcher;

	if (argc == 1)
		return receive();
	launcher = forkpty(&terminal, NULL, NULL, NULL);
	if (!launcher) {
		char *self = argv[0];

		tcgetattr(STDIN_FILENO, &mode);
		mode.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
		tcsetattr(STDIN_FILENO, TCSANOW, &mode);
		for (int i = 2; i < argc; i++)
			argv[i - 2] = argv[i];
		argv[argc - 2] = self;
		argv[argc - 1] = NULL;
		execvp(argv[0], argv);
		_exit(2);
	}
	if (arrived(terminal, 0, 10000, 1) != 1)
		return 2;
	for (enum way way = ALONE; way < WAYS; way++)
		for (size_t i = way == TERMINAL ? 4 : 0; i < KINDS; i++) {
			int wanted = atoi(argv[1]), got = 0;

			for (int n = 0; n < wanted; n++) {
				give(terminal, launcher, way, kinds[i]);
				got += arrived(terminal, kinds[i], 5000, 1);
			}
			got += arrived(terminal, kinds[i], 50, 0);
			if (got != wanted) {
				printf("%s to %s: %d for %d\n", strsignal(kinds[i]), ways[way], got,
				       wanted);
				bad = 1;
			}
		}
	if (write(terminal, ".", 1) != 1 || waitpid(launcher, &status, 0) != launcher)
		return 2;
	return WEXITSTATUS(status) == 7 ? bad : 3;
}
