/* SPDX-License-Identifier: MIT */
/*
 * PROBE_CUSTOM: marks and contexts of the program. A mark is SWAP's da_mark. Contexts are functions
 * of ours, with the context's bit as handle; entering or leaving is not an event, so it is written
 * with the next call of the thread.
 */
#include "dialects/swap/swap.h"

#include <errno.h>
#include <string.h>

#define FIXED_MOST 512

struct custom {
	uint32_t api, thread, handle;
	const char *text;
};

static void add_custom(struct swap *swap, struct swap_process *process, const struct custom *custom,
		       uint64_t unix_ns)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_PROBE_CUSTOM, &unix_ns,
		 FIXED_MOST + 2 * strlen(custom->text));
	swap_put_u32(&message, custom->api);
	swap_put_u32(&message, process->process->pid);
	swap_put_u32(&message, custom->thread);
	swap_put_u32(&message, 1);
	swap_put_char(&message, 's');
	swap_put_text(&message, custom->text);
	swap_put_char(&message, 'd');
	swap_put_u32(&message, 0);
	swap_put_u64(&message, 0); /* errno */
	swap_put_u32(&message, swap->dialect == SWAP_DIALECT_DOC ? UINT32_MAX : 0);
	swap_put_u64(&message, 0); /* caller: not recorded */
	swap_put_u64(&message, 0); /* reserved */
	swap_put_u32(&message, custom->handle);
	swap_put_u32(&message, 0); /* type: auto */
	swap_put_text(&message, custom->text);
	swap_put_u32(&message, 0); /* colour: auto */
	swap_put_u64(&message, 0); /* value: 0.0 */
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

void swap_mark(struct swap *swap, struct swap_process *process, const struct event *event)
{
	const struct custom custom = { .api = SWAP_API_MARK,
				       .thread = event->thread,
				       .text = event_argument(event, "text") };

	if (custom.text)
		add_custom(swap, process, &custom, swap_unix(process, event->time_ns));
}

static void add_change(struct swap *swap, struct swap_process *process, const struct event *event,
		       uint32_t bit)
{
	struct custom custom = {
		.api = swap_api_id(event->context & bit ? SWAP_CONTEXT_ENTER : SWAP_CONTEXT_LEAVE),
		.thread = event->thread,
		.handle = bit,
		.text = "",
	};
	size_t number = (size_t)__builtin_ctz(bit);

	if (number < process->contexts.count && process->contexts.items[number])
		custom.text = process->contexts.items[number];
	add_custom(swap, process, &custom,
		   swap_unix(process, event->has_tail ? event->enter_ns : event->time_ns));
}

void swap_context_change(struct swap *swap, struct swap_process *process, const struct event *event)
{
	struct swap_thread *thread = swap_thread(process, event->thread);
	uint32_t changed;

	changed = thread->context ^ event->context;
	thread->context = event->context;
	for (; changed; changed &= changed - 1)
		add_change(swap, process, event, changed & -changed);
}
