/* SPDX-License-Identifier: MIT */
#include "view/serve.h"

#include "base/out.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "holdtrace: view"

enum { STATUS_USAGE = 2, STATUS_FAILURE = 125 };

struct viewer {
	const char *word, *name, *type, *origin, *address;
	uint16_t port;
};

static const struct viewer viewers[] = {
#define VIEWER(word, format, name, type, port, origin, address, sentence) \
	{ #word, name, type, origin, address, port },
#include "view/viewers.def"
#undef VIEWER
};

static const struct viewer *find_viewer(const char *word)
{
	for (size_t i = 0; i < sizeof(viewers) / sizeof(viewers[0]); i++)
		if (!strcmp(viewers[i].word, word))
			return &viewers[i];
	return NULL;
}

/* RFC 3986, 2.1: all but what is unreserved. room for three times the text. */
static void percent_encode(const char *text, char *to)
{
	for (; *text; text++) {
		bool is_plain = strchr("-._~", *text) || (*text >= '0' && *text <= '9') ||
				(*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z');

		to += sprintf(to, is_plain ? "%c" : "%%%02X", (unsigned char)*text);
	}
	*to = 0;
}

static void address_of(const struct viewer *viewer, const char *file, char *address, size_t size)
{
	char encoded[600];

	percent_encode(file, encoded);
	snprintf(address, size, "%s%s", viewer->address, *viewer->address ? encoded : file);
}

/*
 * A browser may live longer than we do: it gets nothing of ours, neither the run, which is our
 * standard input, nor the terminal, whoever reads what we print, or how we take signals.
 */
static void leave_behind(void)
{
	sigset_t none;
	int nothing;

	setsid();
	syscall(SYS_close_range, 0u, ~0u, 0u);
	nothing = open("/dev/null", O_RDWR);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* xdg-open(1) of the desktop, if there is one. It is no child that anybody waits for. */
static void open_browser(const char *address)
{
	if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
		return;
	if (fork() == 0) {
		leave_behind();
		execlp("xdg-open", "xdg-open", address, (char *)NULL);
		_exit(127);
	}
}

/* any, as number 0, or 1 to 65535. */
static bool parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*port = (uint16_t)number;
	return !strcmp(text, "any") ||
	       (*text >= '1' && *text <= '9' && !*end && number <= UINT16_MAX);
}

/* Until Ctrl-C, or whoever started us ends. */
static void wait_for_end(void)
{
	sigset_t signals;
	int number;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigwait(&signals, &number);
}

static void block_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGCHLD, SIG_IGN);
}

static int print_about(const char *option)
{
	if (!strcmp(option, "--version"))
		puts("holdtrace-view (holdtrace) " PACKAGE_VERSION);
	else
		puts("Usage: holdtrace-view VIEWER PORT open|print <FILE\n"
		     "Serves a file to a browser of this machine; holdtrace view calls it.");
	return fflush(stdout) ? STATUS_FAILURE : 0;
}

/* holdtrace-view VIEWER PORT OPENS: serves standard input; launch/view.c calls it. */
int main(int argc, char **argv)
{
	const struct viewer *viewer = argc == 4 ? find_viewer(argv[1]) : NULL;
	struct serve_wish wish = { .fd = STDIN_FILENO };
	struct error err = { 0 };
	struct serve *serve;
	char address[1024];

	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--version")))
		return print_about(argv[1]);
	if (!viewer || !parse_port(argv[2], &wish.port)) {
		fprintf(stderr, "holdtrace-view: is called by holdtrace view\n");
		return STATUS_USAGE;
	}
	wish.name = viewer->name;
	wish.type = viewer->type;
	wish.origin = *viewer->origin ? viewer->origin : NULL;
	wish.port = wish.port ? wish.port : viewer->port;
	block_signals();
	if (serve_begin(&serve, &wish, &err)) {
		print_message(stderr, "%s: %s", PROGRAM, err.text);
		return STATUS_FAILURE;
	}
	address_of(viewer, serve_address(serve), address, sizeof(address));
	print_message(stdout, "%s", address);
	fflush(stdout);
	fprintf(stderr, PROGRAM ": served on this machine alone until Ctrl-C\n");
	if (!strcmp(argv[3], "open"))
		open_browser(address);
	wait_for_end();
	serve_end(serve);
	return 0;
}
