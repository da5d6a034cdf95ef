/* SPDX-License-Identifier: MIT */
#include "peaks.h"

void peaks_init(struct peaks *peaks, const struct ledger *ledger)
{
	*peaks = (struct peaks){ .ledger = ledger, .is_over = true };
}

void peaks_merge(void *user, void *of_run, const void *of_process)
{
	struct peaks *peaks = user;
	struct peaks_entry *run = of_run;
	const struct peaks_entry *process = of_process;
	const struct peaks_class *class = &peaks->classes[process->class];
	struct peaks_amount amount;

	if (!class->is_best)
		return;
	/*
	 * The last epoch began at the peak. An entry that has not changed since then still has its
	 * amount at the peak.
	 */
	amount = process->epoch == class->epoch ? process->saved : process->now;
	if (run->epoch != class->run.generation)
		run->now = (struct peaks_amount){ 0 };
	run->epoch = class->run.generation;
	run->now.count += amount.count;
	run->now.bytes += amount.bytes;
	run->now.variance += amount.variance;
}

uint64_t peaks_weight(const struct peaks *peaks, uint32_t class, struct peaks_amount amount)
{
	return ledger_class(peaks->ledger, class)->has_bytes ? amount.bytes : amount.count;
}

static void begin_process(struct peaks *peaks)
{
	for (uint32_t i = 0; i < LEDGER_CLASSES; i++) {
		struct peaks_class *class = &peaks->classes[i];

		/*
		 * entries start in epoch 0, so that they save their amount when they first change
		 */
		*class = (struct peaks_class){ .epoch = 1, .run = class->run };
	}
	peaks->is_over = false;
}

static void add_move(struct peaks_amount *amount, const struct ledger_move *move)
{
	amount->count += (uint64_t)(int64_t)move->count;
	amount->bytes += move->is_acquisition ? move->bytes : -move->bytes;
	amount->variance += move->is_acquisition ? move->variance : -move->variance;
	if (!amount->count)
		amount->variance = 0; /* remove rounding errors */
}

void peaks_move(void *user, const struct ledger_move *move)
{
	struct peaks *peaks = user;
	struct peaks_entry *entry = tally_entry(peaks->tally, move->site);
	struct peaks_class *class = &peaks->classes[move->class];

	if (peaks->is_over)
		begin_process(peaks);
	entry->class = move->class;
	if (entry->epoch != class->epoch)
		entry->saved = entry->now;
	entry->epoch = class->epoch;
	add_move(&entry->now, move);
	add_move(&class->now, move);
	if (peaks_weight(peaks, move->class, class->now) <=
	    peaks_weight(peaks, move->class, class->most))
		return;
	class->most = class->now;
	class->at_ns = move->event->time_ns;
	class->epoch++;
}

void peaks_process(struct peaks *peaks, uint32_t pid, const char *program)
{
	if (peaks->is_over)
		begin_process(peaks);
	for (uint32_t i = 0; i < ledger_class_count(peaks->ledger); i++) {
		struct peaks_class *class = &peaks->classes[i];

		class->is_best = peaks_weight(peaks, i, class->most) >
				 peaks_weight(peaks, i, class->run.most);
		if (!class->is_best)
			continue;
		class->run.most = class->most;
		class->run.at_ns = class->at_ns;
		class->run.generation++;
		class->run.pid = pid;
		class->run.program = program;
	}
	peaks->is_over = true;
}

bool peaks_at(const struct peaks *peaks, uint32_t class, uint32_t place,
	      struct peaks_amount *amount)
{
	const struct peaks_entry *entry = tally_of_place(peaks->tally, place);

	if (!entry || entry->epoch != peaks->classes[class].run.generation || !entry->now.count)
		return false;
	*amount = entry->now;
	return true;
}
