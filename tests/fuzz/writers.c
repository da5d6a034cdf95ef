/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes each writer of formats.def with a trace of any kind, with selections and views. An input
 * begins with four bytes: the number of the writer (above the last number: all writers in turn),
 * flags, the maximum depth of backtraces, and a mask of classes. The trace follows, as an .htr in
 * loose form (loose.h).
 *
 * Text output must have no control characters (except etrace's, which escapes nothing). An output
 * that is a trace must be readable without damage.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "postproc/engine/pass.h"
#include "postproc/reporting.h"
#include "tests/fuzz/loose.h"

#define HEAD 4u

enum flag {
	FLAG_LEAKS = 1,
	FLAG_COMPRESS = 2,
	FLAG_NO_ARGUMENTS = 4,
	FLAG_DEPTH = 8,
	FLAG_RESOURCES = 16,
	FLAG_CONTEXTS = 32,
	FLAG_ORDER = 64,
};

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	return fuzz_mutate(bytes, size, max, seed, HEAD);
}

static int printed = -1; /* the file that writers use as standard output */

static void begin_output(void)
{
	if (printed < 0) {
		printed = memfd_create("output", MFD_CLOEXEC);
		if (printed < 0 || dup2(printed, STDOUT_FILENO) < 0)
			exit(99);
		signal(SIGPIPE, SIG_IGN);
	}
	if (ftruncate(printed, 0) != 0 || lseek(printed, 0, SEEK_SET) != 0)
		exit(99);
}

/* Checks that the output contains no control characters that a terminal would obey. */
static void check_text(void)
{
	off_t size = lseek(printed, 0, SEEK_END);
	const unsigned char *text;

	if (size <= 0)
		return;
	text = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, printed, 0);
	fuzz_check(text != MAP_FAILED, "output that cannot be looked at");
	for (off_t i = 0; i < size; i++)
		fuzz_check((text[i] >= 0x20 && text[i] != 0x7f) || text[i] == '\n' ||
				   text[i] == '\t',
			   "a control character in a text");
	munmap((void *)text, (size_t)size);
}

/* Checks that the output is an undamaged trace. It is empty if no event could be read. */
static void check_stream(bool has_failed)
{
	struct trace_options options = { .no_wait = true };
	struct error err = { 0 };
	struct trace *trace;
	int rc;

	if (has_failed || lseek(printed, 0, SEEK_END) <= 0 || lseek(printed, 0, SEEK_SET) != 0)
		return;
	rc = trace_open_fd(&trace, printed, &options, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.text);
	fuzz_check(rc == 0, "a trace was written that is none");
	fuzz_read(trace, 0);
	if (trace_is_damaged(trace))
		fprintf(stderr, "%s\n", trace_tally(trace)->damage_text);
	fuzz_check(!trace_is_damaged(trace), "a trace was written that is damaged");
	trace_close(trace);
}

static void fill_select(struct select_options *select, const uint8_t *head)
{
	static char mask[8];

	snprintf(mask, sizeof(mask), "%x", head[3]);
	*select = (struct select_options){
		.classes = head[1] & FLAG_RESOURCES ? mask : NULL,
		.has_contexts = head[1] & FLAG_CONTEXTS,
		.contexts = head[3] / 16,
		.depth = head[1] & FLAG_DEPTH ? head[2] : -1,
		.modules = head[3] == 0xa5 ? "demo:100+1000" : NULL,
	};
}

static int run_pass(int fd, const struct writer *writer, const uint8_t *head, struct error *err)
{
	struct output output = { .directory = (writer->flags & FORMAT_DIRECTORY) ? fuzz_directory()
										 : NULL };
	struct pass_options options = {
		.writer = writer,
		.force = true,
		.output = &output,
		.reading.trace = { .memory_max = FUZZ_MEMORY_MAX,
				   .no_wait = true,
				   .wants_repeats = (writer->flags & FORMAT_REPEATS) },
	};
	struct engine_result result = { 0 };
	char path[40];
	const char *const paths[] = { path };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fill_select(&options.reading.select, head);
	options.remove_arguments = head[1] & FLAG_NO_ARGUMENTS;
	if (writer == writer_at(0)) {
		options.is_leaks = head[1] & FLAG_LEAKS;
		options.is_compressed = head[1] & FLAG_COMPRESS;
		options.order = head[1] & FLAG_ORDER ? (enum sort_order)(head[2] % SORT_COUNT_OF)
						     : SORT_SIZE_ASC;
	}
	return pass(paths, 1, &options, &result, err);
}

static int run_screen(int fd, const struct writer *screen, const uint8_t *head, struct error *err)
{
	struct reporting_options how = {
		.style.format = tables_at(0),
		.reading.trace = { .memory_max = FUZZ_MEMORY_MAX, .no_wait = true },
	};
	struct reporting_result result;
	char path[40];
	const char *const paths[] = { path, path };
	struct out out;
	int rc, closed;

	out_open(&out, STDOUT_FILENO);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fill_select(&how.reading.select, head);
	if (choice_make(
		    &how.choice,
		    &(struct choice_request){ .words = screen->name, .format = how.style.format },
		    err))
		exit(99);
	rc = reporting(paths, head[1] & FLAG_LEAKS ? 2 : 1, &how, &out, &result, err);
	closed = out_close(&out);
	return rc ? rc : closed;
}

static void write_it(const uint8_t *trace, size_t size, const struct writer *writer,
		     const uint8_t *head)
{
	int fd = fuzz_open(trace, size), rc;
	struct error err = { 0 };

	begin_output();
	if (writer->kind == FORMAT_SCREEN)
		rc = run_screen(fd, writer, head, &err);
	else
		rc = run_pass(fd, writer, head, &err);
	fuzz_check(rc == 0 || err.text[0], "an error without words");
	if ((writer->flags & FORMAT_REPEATS))
		check_stream(rc != 0);
	else if (!(writer->flags & FORMAT_DIRECTORY) && strcmp(writer->name, "etrace") != 0)
		check_text();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct writer *writer;
	uint8_t *sealed;

	if (size <= HEAD)
		return 0;
	sealed = loose_seal(bytes + HEAD, size - HEAD, &size);
	if (!sealed)
		return 0;
	writer = writer_at(bytes[0]);
	for (unsigned i = 0; !writer && writer_at(i); i++)
		write_it(sealed, size, writer_at(i), bytes);
	if (writer)
		write_it(sealed, size, writer, bytes);
	free(sealed);
	return 0;
}
