/* SPDX-License-Identifier: MIT */
#include "live/live.h"

#include "base/human.h"
#include "base/out.h"
#include "live/look.h"
#include "live/run.h"
#include "terms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUMP_MS 200
#define LOOK_MS 1000 /* between two looks at threads: a deadlock is told after as long */

enum term_kind { TERM_OBJECTS, TERM_BYTES, TERM_DROPPED, TERM_WAITING, TERM_DEADLOCK };

/* fd>900: what each process of the run must keep. */
struct term {
	const char *text;
	enum term_kind kind;
	char class[32];
	bool is_equal_enough; /* ">=" */
	double most;
};

struct watch {
	struct run run;
	struct term *terms;
	size_t term_count;
	uint64_t left_out; /* files of the run, as was told last */
	int teller;	   /* where the number of the process goes that breaks one; -1: nowhere */
	bool wants_looks;
	uint64_t looked_ns;
};

/* ---- terms ---- */

static bool is_class(const char *word)
{
	static const char *const types[] = {
#define RESOURCE(name, type, flags, description) type,
#include "resources.def"
#undef RESOURCE
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i], word))
			return true;
	return false;
}

static int name_term(struct term *term, const char *unit)
{
	if (!strcmp(term->class, "dropped"))
		term->kind = TERM_DROPPED;
	else if (!strcmp(term->class, "waiting"))
		term->kind = TERM_WAITING;
	else if (!strcmp(term->class, "deadlock"))
		term->kind = TERM_DEADLOCK;
	else if (is_class(term->class))
		term->kind = *unit ? TERM_BYTES : TERM_OBJECTS;
	else
		return -EINVAL;
	return *unit && (term->kind != TERM_BYTES || !human_unit(unit, strlen(unit))) ? -EINVAL : 0;
}

static int parse(struct term *term, const char *text, struct error *err)
{
	size_t length = strcspn(text, ">");
	const char *number = text + length + 1;
	char *unit = NULL;

	*term = (struct term){ .text = text };
	if (!text[length] || !length || length >= sizeof(term->class))
		return error_set(err, EINVAL, "%s: a limit is NAME>NUMBER, as fd>900", text);
	memcpy(term->class, text, length);
	term->is_equal_enough = *number == '=';
	number += *number == '=';
	term->most = strtod(number, &unit);
	if (unit == number || !(term->most >= 0) || name_term(term, unit))
		return error_set(err, EINVAL,
				 "%s: a limit is that of a class (fd>900, memory>2GB), or waiting, "
				 "deadlock or dropped, as deadlock>0",
				 text);
	if (*unit)
		term->most *= (double)human_unit(unit, strlen(unit));
	return 0;
}

/* ---- judging ---- */

static bool is_broken(const struct term *term, uint64_t value)
{
	return (double)value > term->most || (term->is_equal_enough && (double)value >= term->most);
}

static uint64_t held(struct watched *watched, const struct term *term)
{
	if (term->kind == TERM_DROPPED)
		return watched->lost;
	for (uint32_t i = 0; i < ledger_class_count(watched->ledger); i++) {
		const struct ledger_sum *sum = ledger_sum(watched->ledger, i);

		if (!strcmp(ledger_class(watched->ledger, i)->type, term->class))
			return term->kind == TERM_BYTES ? sum->bytes : sum->count;
	}
	return 0;
}

static void tell(const struct watch *watch, const struct term *term, uint64_t value,
		 const struct watched *watched)
{
	struct human human;

	print_message(stdout, "BROKEN  %s: %s in process %u (%s)", term->text,
		      term->kind == TERM_BYTES ? human_bytes(&human, value)
					       : human_count(&human, value),
		      watched->pid, watched->name);
	if (watch->teller >= 0)
		dprintf(watch->teller, "%u %u", watched->pid, watched->stream);
}

static bool breaks_held(const struct watch *watch, struct watched *watched)
{
	bool is_any = false;

	watched_lock(watched);
	for (size_t i = 0; !is_any && i < watch->term_count; i++) {
		const struct term *term = &watch->terms[i];
		uint64_t value = term->kind <= TERM_DROPPED ? held(watched, term) : 0;

		is_any = term->kind <= TERM_DROPPED && is_broken(term, value);
		if (is_any)
			tell(watch, term, value, watched);
	}
	watched_unlock(watched);
	return is_any;
}

static bool breaks_waits(const struct watch *watch, const struct watched *watched)
{
	bool is_any = false;
	struct look look;

	if (look_take(&look, (int)watched->pid, false, NULL) == 0 && look_is_traced(&look))
		for (size_t i = 0; !is_any && i < watch->term_count; i++) {
			const struct term *term = &watch->terms[i];
			uint64_t value = term->kind == TERM_DEADLOCK
						 ? look.rings
						 : look_count(&look, look_is_held_up);

			is_any = term->kind > TERM_DROPPED && is_broken(term, value);
			if (is_any)
				tell(watch, term, value, watched);
		}
	look_free(&look);
	return is_any;
}

static bool breaks_any(struct watch *watch)
{
	bool looks = watch->wants_looks && live_now_ns() - watch->looked_ns >= LOOK_MS * 1000000ull;

	if (looks)
		watch->looked_ns = live_now_ns();
	for (size_t i = 0; i < watch->run.processes.count; i++) {
		struct watched *watched = watch->run.processes.items[i];

		if (breaks_held(watch, watched))
			return true;
		if (looks && watched->pid && !watched->has_ended && !watched->is_unproven &&
		    breaks_waits(watch, watched))
			return true;
	}
	return false;
}

/* A limit cannot break in what is not read. */
static void tell_left_out(struct watch *watch)
{
	uint64_t count = run_left_out(&watch->run);

	if (count > watch->left_out)
		printf("LEFT OUT  %llu file%s of the run: too many to be followed\n",
		       (unsigned long long)count, count == 1 ? "" : "s");
	if (count > watch->left_out)
		fflush(stdout);
	watch->left_out = count;
}

static int watch_run(struct watch *watch, bool *is_any, struct error *err)
{
	const struct timespec pause = { .tv_nsec = PUMP_MS * 1000000 };
	bool is_complete = false;
	int status = 0;

	while (!status && !is_complete && !*is_any) {
		status = run_pump(&watch->run, err);
		tell_left_out(watch);
		is_complete = run_is_complete(&watch->run);
		if (is_complete)
			run_settle(&watch->run);
		*is_any = !status && breaks_any(watch);
		if (!*is_any && !is_complete)
			nanosleep(&pause, NULL);
	}
	return status;
}

/* ---- the command ---- */

static int take_terms(struct watch *watch, int argc, char **argv, int *used, struct error *err)
{
	watch->terms = calloc((size_t)argc, sizeof(*watch->terms));
	if (!watch->terms)
		return error_system(err, ENOMEM, "watch");
	for (*used = 1; *used < argc && !strncmp(argv[*used], "--when=", 7); ++*used) {
		struct term *term = &watch->terms[watch->term_count];

		if (parse(term, argv[*used] + 7, err))
			return -EINVAL;
		watch->wants_looks |= term->kind > TERM_DROPPED;
		watch->term_count++;
	}
	if (!watch->term_count)
		return error_set(err, EINVAL, "--when=LIMIT is needed, as --when='fd>900'");
	if (*used < argc && !strncmp(argv[*used], "--tell=", 7))
		watch->teller = atoi(argv[(*used)++] + 7);
	if (*used == argc || argv[*used][0] == '-')
		return error_set(err, EINVAL, "of which run? holdtrace watch --when=LIMIT PID");
	return 0;
}

/* watch --when=LIMIT... FILE...: ends when a limit breaks, with 1, or with the run. */
int live_watch(int argc, char **argv, struct error *err)
{
	struct watch watch = { .teller = -1 };
	bool is_any = false;
	int used = 1, status;

	if (take_terms(&watch, argc, argv, &used, err)) {
		free(watch.terms);
		return LIVE_USAGE;
	}
	status = run_open(&watch.run, argv + used, (size_t)(argc - used), err);
	if (!status)
		status = watch_run(&watch, &is_any, err);
	run_free(&watch.run);
	free(watch.terms);
	fflush(stdout);
	return status ? LIVE_FAILURE : is_any ? LIVE_FOUND : 0;
}
