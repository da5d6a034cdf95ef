/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reports of reports.def with a trace of any kind. An input begins with four bytes: the
 * number of the report (above the last number: all reports at once), the format and other choices,
 * and two unused bytes. The trace follows, as an .htr in loose form (loose.h).
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "postproc/gate/verdicts.h"
#include "postproc/reporting.h"
#include "tests/fuzz/loose.h"

#define HEAD 4u

/* one limit for each report that has limits */
#define LIMITS \
	"leak>0,fd>=1,live>7,peak>1MB,wait>1ms,deadlock>0,lock-order>0,unreachable>0,dropped>0"

static const char *const names[] = {
#define REPORT(name, question, next)	 #name,
#define COMMAND(name, question, instead) #name,
#include "postproc/reports.def"
};

#define NAME_COUNT (sizeof(names) / sizeof(*names))

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	return fuzz_mutate(bytes, size, max, seed, HEAD);
}

/* Returns the names of all reports that need neither a directory nor a second run. */
static const char *all_names(void)
{
	static char all[64 * NAME_COUNT];
	static bool is_complete;

	for (size_t i = 0; i < NAME_COUNT && !is_complete; i++) {
		const struct choice_request request = { .words = names[i], .format = tables_at(0) };
		struct choice one;

		if (choice_make(&one, &request, NULL) == 0 && !one.wants_directories &&
		    !one.wants_base)
			strcat(strcat(all, all[0] ? "," : ""), names[i]);
	}
	is_complete = true;
	return all;
}

/* Text, JSON and CSV must not contain control characters of terminals. */
static bool is_binary; /* whether the last output was in a binary format */

static void check_output(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	unsigned char *text;

	if (size <= 0 || is_binary)
		return;
	text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	fuzz_check(text != MAP_FAILED, "output that cannot be looked at");
	for (off_t i = 0; i < size; i++)
		fuzz_check(text[i] >= 0x20 ? text[i] != 0x7f : strchr("\r\n\t", text[i]) != NULL,
			   "a control character in a report");
	munmap(text, (size_t)size);
}

static unsigned tables_count(void)
{
	unsigned count = 0;

	while (tables_at(count))
		count++;
	return count;
}

static int run(const uint8_t *head, int fd, int output, struct error *err)
{
	struct reporting_options how = {
		.style = { .format = tables_at(head[1] % tables_count()), .width = head[2] },
		.report = { .top = head[1] & 4 ? head[3] : 0 },
		.reading = { .select = { .depth = -1 },
			     .trace = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true } },
	};
	char path[40];
	const char *const paths[] = { path, path };
	struct reporting_result result;
	struct baseline learned;
	struct verdicts verdicts = { .count = 0 };
	const struct source_style source = { .here = "/" };
	struct limits limits = { 0 };
	bool is_whole =
		how.style.format->kind == FORMAT_VIEWER || how.style.format->flags & FORMAT_MODEL;
	struct choice_request request;
	struct out out;
	int rc, closed;

	baseline_init(&learned);
	how.style.verdicts = how.verdicts = &verdicts;
	how.style.source = &source;
	how.style.is_verbose = head[1] & 8;
	if (head[1] & 32 || head[0] >= NAME_COUNT) {
		how.report.has_limits = true;
		how.limits = &limits;
		how.baseline = how.learned = &learned;
		fuzz_check(limits_parse(&limits, "--fail-on", LIMITS, false, err) == 0,
			   "limits that are refused");
	}
	is_binary = how.style.format->flags & FORMAT_BINARY;
	request = (struct choice_request){
		.words = is_whole		? "summary"
			 : head[0] < NAME_COUNT ? names[head[0]]
						: all_names(),
		.limits = how.limits,
		.format = how.style.format,
		.has_object = head[1] & 64,
	};
	if (choice_make(&how.choice, &request, err) || how.choice.wants_directories)
		return 0; /* the baseline has not been learned yet, so nothing must be freed */
	if (how.choice.wants_base) {
		how.base = paths;
		how.base_count = 1;
	}
	out_open(&out, output);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = reporting(paths, head[1] & 16 ? 2 : 1, &how, &out, &result, err);
	baseline_free(&learned);
	verdicts_free(&verdicts);
	closed = out_close(&out);
	fuzz_check(closed == 0, "output that cannot be written");
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int output = -1;
	struct error err = { 0 };
	uint8_t *sealed;
	int rc;

	if (output < 0)
		output = memfd_create("output", MFD_CLOEXEC);
	if (size <= HEAD || ftruncate(output, 0) != 0 || lseek(output, 0, SEEK_SET) != 0)
		return 0;
	sealed = loose_seal(bytes + HEAD, size - HEAD, &size);
	if (!sealed)
		return 0;
	rc = run(bytes, fuzz_open(sealed, size), output, &err);
	fuzz_check(rc == 0 || err.text[0], "an error without words");
	check_output(output);
	free(sealed);
	return 0;
}
