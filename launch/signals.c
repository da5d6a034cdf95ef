/* SPDX-License-Identifier: MIT */
/*
 * Forwards signals from the launcher to the program. A signal does not show whether it was sent to
 * one process or to its process group. So the launcher starts a child in its group, the witness,
 * which blocks all signals. A signal to the group is then also pending in the witness. The kernel
 * delivers a signal to the newest member of a group first, so the signal is pending in the witness
 * before the launcher receives it.
 */
#include "launch/session.h"

#include "base/cleanup.h"
#include "control/control.h"
#include "launch/command.h"
#include "process/proc.h"

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* time to wait for a signal to the group: timeout(1) signals the launcher first, then its group */
#define SECOND_LOOK_NS 5000000
#define ANCESTORS_MAX  100

static const int kinds[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct sigaction by_default = { .sa_handler = SIG_DFL };
static sigset_t held, mask_before;
static struct sigaction child_before; /* action of SIGCHLD before signals_hold() */
static pid_t witness = -1;
static int asked = -1; /* socket to the witness */

static void do_nothing(int number)
{
	(void)number;
}

static bool take_pending(int number)
{
	const struct timespec now = { 0 };
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, number);
	return sigtimedwait(&one, NULL, &now) == number;
}

void signals_hide(const char *name)
{
	cleanup_file FILE *facts = fopen("/proc/self/stat", "re");
	unsigned long from = 0, to = 0;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, name);
	if (!facts || fscanf(facts, "%*d (%*[^)])") < 0)
		return;
	for (int field = 3; field < 48; field++)
		if (fscanf(facts, "%*s") < 0)
			return;
	if (fscanf(facts, "%lu %lu", &from, &to) == 2 && from && from < to)
		memset((void *)from, 0, to - from);
}

void signals_hold(void)
{
	const struct sigaction nothing = { .sa_handler = do_nothing, .sa_flags = SA_RESTART };
	unsigned char word;
	int ends[2];

	sigemptyset(&held);
	sigaddset(&held, SIGCHLD);
	for (size_t i = 0; i < KINDS; i++) {
		struct sigaction before;

		/*
		 * a signal that the launcher ignores (nohup) remains ignored, by the launcher and
		 * the program
		 */
		if (sigaction(kinds[i], NULL, &before) || before.sa_handler == SIG_IGN)
			continue;
		sigaction(kinds[i], &nothing, NULL);
		sigaddset(&held, kinds[i]);
	}
	sigaction(SIGCHLD, &by_default, &child_before);
	sigprocmask(SIG_BLOCK, &held, &mask_before);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return;
	witness = fork();
	if (!witness) {
		/*
		 * for each signal number that the launcher sends, answer whether the signal is
		 * pending, until the launcher ends
		 */
		signals_hide("signal-witness");
		close(ends[0]);
		dup2(ends[1], STDIN_FILENO);
		/* close the caller's pipes, so that their readers see the end */
		close_range(STDIN_FILENO + 1, ~0u, 0);
		while (read(STDIN_FILENO, &word, 1) == 1) {
			word = take_pending(word);
			if (write(STDIN_FILENO, &word, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(ends[1]);
	asked = ends[0];
}

void signals_give_back(void)
{
	for (size_t i = 0; i < KINDS; i++)
		if (sigismember(&held, kinds[i]) == 1)
			sigaction(kinds[i], &by_default, NULL);
	sigaction(SIGCHLD, &child_before, NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/*
 * Whether `pid` is the program or a descendant of it. A descendant is not recognized if one of the
 * processes between them has ended.
 */
static bool is_of_run(pid_t pid, pid_t program)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && pid != program; i++) {
		char text[PROC_STAT_SIZE];
		const char *facts = proc_stat(pid, 0, text);

		if (!facts || sscanf(facts, "%*c %d", &pid) != 1)
			return false;
	}
	return pid == program;
}

/*
 * Whether the signal was sent to the group. Removes it from the pending signals of the launcher and
 * the witness. Repeats until the signal is pending in neither process, because a signal to the
 * group may arrive between the two checks. As in the kernel, equal signals that are pending at the
 * same time count as one.
 */
static bool has_group_signal(int number)
{
	bool was_group = false, is_more = true;

	while (is_more) {
		unsigned char word = (unsigned char)number;

		/*
		 * ask the witness; wake it first, because the group may have been stopped, and only
		 * the launcher continued
		 */
		if (witness >= 0)
			kill(witness, SIGCONT);
		is_more = witness >= 0 && send(asked, &word, 1, MSG_NOSIGNAL) == 1 &&
			  read(asked, &word, 1) == 1 && word;
		was_group |= is_more;
		is_more |= take_pending(number);
	}
	return was_group;
}

static void forward_signal(const siginfo_t *info, pid_t program)
{
	const struct timespec second_look = { .tv_nsec = SECOND_LOOK_NS };
	bool was_group = has_group_signal(info->si_signo);

	if (!was_group) {
		nanosleep(&second_look, NULL);
		was_group = has_group_signal(info->si_signo);
	}
	if (was_group && getpgid(program) == getpgrp())
		return;
	if ((info->si_code == SI_USER || info->si_code == SI_TKILL || info->si_code == SI_QUEUE) &&
	    is_of_run(info->si_pid, program))
		return;
	if (info->si_code == SI_QUEUE)
		sigqueue(program, info->si_signo, info->si_value);
	else
		kill(program, info->si_signo);
}

int signals_wait(pid_t program, const char *mark)
{
	int number = !mark ? 0 : !strcmp(mark, "USR1") ? SIGUSR1 : SIGUSR2;
	siginfo_t end = { 0 }, info;

	while (waitid(P_PID, (id_t)program, &end, WEXITED | WNOWAIT | WNOHANG) == 0 &&
	       !end.si_pid) {
		if (sigwaitinfo(&held, &info) <= 0 || info.si_signo == SIGCHLD)
			continue;
		if (info.si_signo == number) {
			cleanup_free struct ctl_run *run = NULL;
			cleanup_free char *answer = NULL;
			struct error err = { 0 };

			if (ctl_find(program, &run, &err) ||
			    ctl_ask(run, program, CONTROL_MARK, mark, &answer, &err))
				say("--mark-on=%s: no mark: %s", mark, err.text);
		} else {
			forward_signal(&info, program);
		}
	}
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
	if (asked >= 0)
		close(asked);
	if (witness > 0)
		waitpid(witness, NULL, 0);
	return end.si_code == CLD_EXITED ? end.si_status << 8 : end.si_status;
}
