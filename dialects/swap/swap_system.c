/* SPDX-License-Identifier: MIT */
/*
 * MSG_SYSTEM and MSG_SAMPLE from the state that load.h keeps. Facts that only Tizen devices have
 * (WiFi, brightness, voltage ...) and energy are 0; other processes are not covered. The message
 * does not contain the number of processors; the JSON file does.
 */
#include "dialects/swap/swap.h"

#define FIXED_MOST   512
#define DEVICE_WORDS 13 /* WiFi, BT, GPS, brightness, camera ... DNet */

static void put_counters(struct swap_message *message, const struct load *load)
{
	for (int i = 0; i < LOAD_COUNTERS; i++)
		swap_put_u32(message, load->differences[i] < UINT32_MAX
					      ? (uint32_t)load->differences[i]
					      : UINT32_MAX);
}

static void put_process(struct swap_message *message, uint32_t pid, const struct load *load)
{
	swap_put_u32(message, pid);
	swap_put_f32(message, load->percent);
	swap_put_u64(message, load->virtual_bytes);
	swap_put_u64(message, load->resident_bytes);
	swap_put_u64(message, load->shared_bytes);
	swap_put_u64(message, load->pss_bytes);
	swap_put_u64(message, load->held_bytes);
	swap_put_u32(message, (uint32_t)load->threads.count);
	for (size_t i = 0; i < load->threads.count; i++) {
		swap_put_u32(message, load->threads.items[i].id);
		swap_put_f32(message, load->threads.items[i].percent);
	}
}

static void add_system(struct swap *swap, struct swap_process *process, uint64_t unix_ns)
{
	const struct load *load = &process->load;
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_SYSTEM, &unix_ns,
		 FIXED_MOST + 8 * (load->cpus.count + load->threads.count));
	for (size_t i = 0; i < load->cpus.count; i++)
		swap_put_f32(&message, load->cpus.items[i].khz);
	for (size_t i = 0; i < load->cpus.count; i++)
		swap_put_f32(&message, load->cpus.items[i].percent);
	swap_put_u64(&message, load->memory_bytes);
	swap_put_u32(&message, 1);
	put_process(&message, process->process->pid, load);
	swap_put_u32(&message, 0); /* other processes */
	swap_put_u32(&message, (uint32_t)load->drive_mib);
	put_counters(&message, load);
	for (int i = 0; i < DEVICE_WORDS; i++)
		swap_put_u32(&message, 0);
	swap_put_u32(&message, 0); /* energy; no devices follow */
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

/* The program counter is 0: only a timer inside the program could know it. */
static void add_sample(struct swap *swap, struct swap_process *process, uint64_t unix_ns,
		       const struct load_thread *thread)
{
	struct swap_message message;

	swap_new(swap, process, &message, SWAP_SAMPLE, &unix_ns, FIXED_MOST);
	swap_put_u32(&message, process->process->pid);
	swap_put_u64(&message, 0);
	swap_put_u32(&message, thread->id);
	swap_put_u32(&message, thread->cpu);
	swap_add(swap, &message, unix_ns, SWAP_RANK_EVENT);
}

void swap_sample(struct swap *swap, struct swap_process *process, const struct event *event)
{
	uint64_t unix_ns;

	load_sample(&process->load, event);
	unix_ns = swap_unix(process, process->load.time_ns);
	add_system(swap, process, unix_ns);
	for (size_t i = 0; i < process->load.threads.count; i++)
		if (process->load.threads.items[i].state == 'R')
			add_sample(swap, process, unix_ns, &process->load.threads.items[i]);
}
