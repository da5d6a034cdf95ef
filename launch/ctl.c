/* SPDX-License-Identifier: MIT */
#include "launch/command.h"

#include "base/cleanup.h"
#include "control/control.h"
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *word;
	enum control_command command;
	bool takes_text;
	const char *text; /* text of the request; NULL: the text comes from the command line */
} words[] = {
	{ "start", CONTROL_START, false, NULL }, { "stop", CONTROL_STOP, false, NULL },
	{ "mark", CONTROL_MARK, true, NULL },	 { "snapshot", CONTROL_SNAPSHOT, false, NULL },
	{ "scan", CONTROL_SCAN, false, NULL },	 { "resident", CONTROL_SCAN, false, SCAN_LIGHT },
};

#define WORDS ((int)(sizeof(words) / sizeof(words[0])))

/* Parses the arguments PID WORD [TEXT]; PID and WORD may be swapped. */
int command_ctl(int argc, char **argv, struct error *err)
{
	bool is_swapped = argc > 2 && !ctl_is_process(argv[1]) && ctl_is_process(argv[2]);
	const char *process = argc > 2 ? argv[is_swapped ? 2 : 1] : "";
	const char *order = argc > 2 ? argv[is_swapped ? 1 : 2] : "";
	const char *text = argc > 3 ? argv[3] : NULL;
	bool is_keep = !strcmp(order, "keep"), is_detach = !strcmp(order, "detach");
	cleanup_free struct ctl_run *run = NULL;
	cleanup_free char *answer = NULL;
	int word = 0, pid = atoi(process), status;

	while (word < WORDS && strcmp(words[word].word, order) != 0)
		word++;
	if (word == WORDS)
		word = -1;

	if (argc > 4 || !ctl_is_process(process) || (word < 0 && !is_keep && !is_detach) ||
	    ((word >= 0 || is_detach) && (word >= 0 && words[word].takes_text) != (text != NULL))) {
		say("ctl: expected one process id, and start, stop, mark TEXT, snapshot, keep "
		    "[FILE], scan, resident or detach: holdtrace ctl 4711 snapshot");
		return STATUS_USAGE;
	}
	if (is_detach)
		return detach(process, err);
	if (word >= 0 && words[word].text)
		text = words[word].text;
	status = ctl_find(pid, &run, err);
	/* ctl_keep() copies the files itself; every other word is a request to the collector */
	if (!status && is_keep)
		status = ctl_keep(run, pid, text, err);
	else if (!status)
		status = ctl_ask(run, pid, words[word].command, text ? text : "", &answer, err);
	if (answer) {
		status = ctl_cut(answer, err);
		ctl_print(answer);
	}
	return fflush(stdout) || status ? STATUS_OWN_FAILURE : 0;
}
