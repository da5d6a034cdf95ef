/* SPDX-License-Identifier: MIT */
#include "collect/output.h"

#include "base/lock.h"
#include "collect/budget.h"
#include "collect/encode.h"
#include "collect/pack.h"
#include "collect/shared.h"
#include "collect/ticks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define SPARE_MAX  4 /* maximum number of unused buffers that are kept */
#define IDLE_MAX   8 /* maximum number of threads that wait for a stream */
#define STACK_SIZE (256u << 10)
/* packets of fewer bytes are copied, so that a long queue does not occupy large buffers */
#define SMALL	  (OUTPUT_BUFFER / 8)
#define LEVEL	  1 /* compression level of zstd */
#define MOST_PART 8u

enum job_kind { JOB_PACKETS, JOB_BLOCK, JOB_SECTION, JOB_CLOSE };

struct job {
	struct job *next;
	enum job_kind kind;
	size_t used; /* number of bytes in `packets` */
	size_t size; /* bytes of memory that the job uses */
	uint8_t *packets;
	struct htr_block_parts *parts;
	bool is_copy; /* whether packets is a copy, and not a buffer of OUTPUT_BUFFER bytes */
};

struct output {
	struct sink *sink;
	struct bundle_stream bundle;
	struct pack *pack; /* created for the first block; NULL before */
	/*
	 * address of the thread's variable for a pack that the next stream can reuse; NULL: the
	 * output has no thread
	 */
	struct pack **kept;
	uint32_t *wake;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	/* the lock guards all members below */
	struct job *first, **last;
	bool is_busy, is_closed;
	uint32_t sections;
	uint8_t *spare[SPARE_MAX];
	int spare_count;
	bool has_failed;
	uint64_t lost; /* number of dropped events */
	struct error failure;
	bool is_closing;
	uint64_t stalled_ns; /* for how long the disk had no space, in ns */
};

/*
 * if the disk is full, a flight recorder tries again every ROOM_STEP_NS, for ROOM_NS, or for
 * ROOM_AT_END_NS if the stream is being closed
 */
#define ROOM_NS	       60000000000u
#define ROOM_AT_END_NS 3000000000u
#define ROOM_STEP_NS   50000000

/* number of bytes in the queues of all streams, and its limit */
static uint64_t queued, queued_most;

/* Sets queued_most. Called only once, since budget_memory() reads the limits of control groups. */
static void find_most(void)
{
	uint64_t part = budget_memory() / MOST_PART;

	queued_most = part < OUTPUT_MOST ? part : OUTPUT_MOST;
}

struct output *output_create(struct sink *sink, struct bundle_stream bundle)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct output *output = calloc(1, sizeof(*output));

	pthread_once(&once, find_most);
	if (!output)
		return NULL;
	output->sink = sink;
	output->bundle = bundle;
	output->last = &output->first;
	pthread_mutex_init(&output->lock, NULL);
	pthread_cond_init(&output->work, NULL);
	pthread_cond_init(&output->done, NULL);
	return output;
}

void output_destroy(struct output *output)
{
	if (!output)
		return;
	if (output->has_thread) {
		/*
		 * the thread sets is_closed and unlocks the output; after that, it does not use the
		 * output any more
		 */
		cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

		while (!output->is_closed)
			pthread_cond_wait(&output->done, &output->lock);
	}
	while (output->spare_count)
		free(output->spare[--output->spare_count]);
	pack_destroy(output->pack);
	pthread_cond_destroy(&output->done);
	pthread_cond_destroy(&output->work);
	pthread_mutex_destroy(&output->lock);
	free(output);
}

/* ---- the thread ---- */

static void output_fail(struct output *output, const struct error *err, uint64_t events)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	if (!output->has_failed)
		output->failure = *err;
	output->has_failed = true;
	output->lost += events;
}

/* Writes packets. After a failure, the file keeps those packets that were written completely. */
static void write_packets(struct output *output, const struct job *job)
{
	struct error err = { 0 };
	size_t written = 0, whole;
	uint64_t calls;

	if (!output->has_failed &&
	    sink_write(output->sink, job->packets, job->used, &written, &err) == 0)
		return;
	whole = encode_whole(job->packets, job->used, written, &calls);
	sink_cut(output->sink, written - whole);
	output_fail(output, &err, calls);
}

static int try_piece(struct output *output, struct pack_piece piece, struct error *err)
{
	size_t written = 0;
	int ret;

	if (output->bundle.bundle)
		return bundle_write(&output->bundle, piece.bytes, piece.size, err);
	ret = sink_write(output->sink, piece.bytes, piece.size, &written, err);
	if (ret < 0)
		sink_cut(output->sink, written);
	return ret;
}

static bool is_closing(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	return output->is_closing;
}

/*
 * Writes a piece. If the disk is full, a flight recorder tries again for some time, so that the
 * file has no gap. During this time the traced programs count the events that they must drop.
 */
static int write_piece(struct output *output, struct pack_piece piece, struct error *err)
{
	static const struct timespec step = { .tv_nsec = ROOM_STEP_NS };
	uint64_t begun = ticks_clock_ns(), waited = 0;
	int ret = try_piece(output, piece, err);

	while ((ret == -ENOSPC || ret == -EDQUOT) && output->sink->waits_for_room &&
	       waited < (is_closing(output) ? ROOM_AT_END_NS : ROOM_NS)) {
		nanosleep(&step, NULL);
		ret = try_piece(output, piece, err);
		waited = ticks_clock_ns() - begun;
	}
	if (waited) {
		pthread_mutex_lock(&output->lock);
		output->stalled_ns += waited;
		pthread_mutex_unlock(&output->lock);
	}
	return ret;
}

static int start_pack(struct output *output, struct error *err)
{
	if (output->pack)
		return 0;
	output->pack = output->kept && *output->kept ? *output->kept : pack_create(LEVEL);
	if (output->kept)
		*output->kept = NULL;
	if (!output->pack)
		return error_system(err, ENOMEM, "cannot compress %s", output->sink->name);
	return write_piece(output, pack_start(output->pack), err);
}

static void write_block(struct output *output, const struct job *job)
{
	struct pack_piece piece;
	struct error err = { 0 };

	if (output->has_failed || start_pack(output, &err) < 0 ||
	    pack_block(output->pack, job->parts, &piece, &err) < 0 ||
	    write_piece(output, piece, &err) < 0)
		output_fail(output, &err, job->parts->header.events);
}

static void begin_section(struct output *output)
{
	struct error err = { 0 };

	if (output->pack && !output->has_failed &&
	    (write_piece(output, pack_end(output->pack), &err) < 0 ||
	     write_piece(output, pack_start(output->pack), &err) < 0))
		output_fail(output, &err, 0);
}

static void close_sink(struct output *output)
{
	struct error err = { 0 };

	if (output->pack && !output->has_failed &&
	    write_piece(output, pack_end(output->pack), &err) < 0)
		output_fail(output, &err, 0);
	if (sink_close(output->sink, &err) < 0)
		output_fail(output, &err, 0);
	if (output->kept && !*output->kept) {
		*output->kept = output->pack;
		output->pack = NULL;
	}
}

static void do_job(struct output *output, const struct job *job)
{
	switch (job->kind) {
	case JOB_PACKETS:
		write_packets(output, job);
		break;
	case JOB_BLOCK:
		write_block(output, job);
		break;
	case JOB_SECTION:
		begin_section(output);
		break;
	case JOB_CLOSE:
		close_sink(output);
		break;
	}
}

static struct job *take_job(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);
	struct job *job;

	while (!output->first)
		pthread_cond_wait(&output->work, &output->lock);
	job = output->first;
	output->first = job->next;
	if (!output->first)
		output->last = &output->first;
	output->is_busy = true;
	return job;
}

/* Frees a finished job. Returns false after the last job. */
static bool end_job(struct output *output, struct job *job)
{
	bool is_last = job->kind == JOB_CLOSE, is_section = job->kind == JOB_SECTION;
	/* output_close() set output->wake before it added the last job */
	uint32_t *wake = is_last ? output->wake : NULL;

	pthread_mutex_lock(&output->lock);
	__atomic_sub_fetch(&queued, job->size, __ATOMIC_RELAXED);
	if (job->packets && !job->is_copy && output->spare_count < SPARE_MAX)
		output->spare[output->spare_count++] = job->packets;
	else
		free(job->packets);
	free(job->parts);
	free(job);
	output->is_busy = false;
	output->is_closed = is_last;
	output->sections += is_section;
	pthread_cond_signal(&output->done);
	pthread_mutex_unlock(&output->lock);
	if (is_last && wake)
		shared_wake(wake);
	return !is_last;
}

/* ---- threads that wait for a stream ---- */

/*
 * A thread without a stream. Most streams belong to processes that run for a short time, and need a
 * thread for only some µs. So a thread that has finished a stream waits for the next stream.
 */
struct idle {
	struct idle *next;
	struct output *output; /* output of the stream; NULL: no stream yet */
	pthread_cond_t given;
};

static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct idle *idle_first;
static int idle_count;

/* Returns the next stream for this thread, or NULL if enough threads are waiting already. */
static struct output *wait_for_output(struct idle *self)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&idle_lock);

	if (idle_count >= IDLE_MAX)
		return NULL;
	idle_count++;
	self->output = NULL;
	self->next = idle_first;
	idle_first = self;
	while (!self->output)
		pthread_cond_wait(&self->given, &idle_lock);
	return self->output;
}

static void *output_thread(void *context)
{
	struct idle self = { .given = PTHREAD_COND_INITIALIZER };
	struct output *output = context;
	struct pack *kept = NULL;

	do {
		struct job *job;

		output->kept = &kept;
		do {
			job = take_job(output);
			do_job(output, job);
		} while (end_job(output, job));
	} while ((output = wait_for_output(&self)) != NULL);
	pack_destroy(kept);
	pthread_cond_destroy(&self.given);
	return NULL;
}

static bool give_to_idle(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&idle_lock);
	struct idle *idle = idle_first;

	if (!idle)
		return false;
	idle_first = idle->next;
	idle_count--;
	idle->output = output;
	pthread_cond_signal(&idle->given);
	return true;
}

/* ---- for the merge ---- */

static void start_thread(struct output *output)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (output->has_thread)
		return;
	output->has_thread = give_to_idle(output);
	if (output->has_thread)
		return;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	output->has_thread = pthread_create(&thread, &attributes, output_thread, output) == 0;
	pthread_attr_destroy(&attributes);
}

/*
 * Adds a job. Waits while the queues of all streams are full. If the queue of this stream is empty,
 * does not wait, so that a stuck stream does not stop the other streams.
 */
static void add_job(struct output *output, struct job *job)
{
	start_thread(output);
	__atomic_add_fetch(&queued, job->size, __ATOMIC_RELAXED);
	if (!output->has_thread) {
		do_job(output, job);
		end_job(output, job);
		return;
	}
	pthread_mutex_lock(&output->lock);
	while (job->kind != JOB_CLOSE && (output->first || output->is_busy) &&
	       __atomic_load_n(&queued, __ATOMIC_RELAXED) > queued_most)
		pthread_cond_wait(&output->done, &output->lock);
	job->next = NULL;
	*output->last = job;
	output->last = &job->next;
	pthread_cond_signal(&output->work);
	pthread_mutex_unlock(&output->lock);
}

/* Adds a copy of the job. If there is no memory, waits until earlier jobs have freed memory. */
static void output_add(struct output *output, const struct job *job)
{
	struct job *copy = malloc(sizeof(*copy));

	while (!copy) {
		output_wait(output, 1000000000u);
		copy = malloc(sizeof(*copy));
	}
	*copy = *job;
	add_job(output, copy);
}

uint8_t *output_buffer(struct output *output)
{
	uint8_t *buffer = NULL;

	pthread_mutex_lock(&output->lock);
	if (output->spare_count)
		buffer = output->spare[--output->spare_count];
	pthread_mutex_unlock(&output->lock);
	return buffer ? buffer : malloc(OUTPUT_BUFFER);
}

static void give_back(struct output *output, uint8_t *buffer)
{
	pthread_mutex_lock(&output->lock);
	if (output->spare_count < SPARE_MAX) {
		output->spare[output->spare_count++] = buffer;
		buffer = NULL;
	}
	pthread_mutex_unlock(&output->lock);
	free(buffer);
}

void output_packets(struct output *output, uint8_t *buffer, size_t used)
{
	struct job job = {
		.kind = JOB_PACKETS, .used = used, .size = OUTPUT_BUFFER, .packets = buffer
	};
	uint8_t *copy = used < SMALL ? malloc(used + 1) : NULL;

	if (copy) {
		memcpy(copy, buffer, used);
		job.packets = copy;
		job.size = used;
		job.is_copy = true;
	}
	output_add(output, &job);
	if (copy)
		give_back(output, buffer);
}

void output_block(struct output *output, struct htr_block_parts *parts)
{
	output_add(output, &(struct job){ .kind = JOB_BLOCK,
					  .parts = parts,
					  .size = sizeof(*parts) + parts->header.definitions_size +
						  parts->header.events_size });
}

void output_section(struct output *output)
{
	output_add(output, &(struct job){ .kind = JOB_SECTION });
}

uint32_t output_sections(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	return output->sections;
}

void output_close(struct output *output, uint32_t *wake)
{
	output->wake = wake;
	pthread_mutex_lock(&output->lock);
	output->is_closing = true;
	pthread_mutex_unlock(&output->lock);
	output_add(output, &(struct job){ .kind = JOB_CLOSE });
}

bool output_finished(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	return output->is_closed;
}

bool output_is_idle(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	return !output->first && !output->is_busy;
}

void output_wait(struct output *output, uint64_t timeout_ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(timeout_ns / 1000000000u);
	until.tv_nsec += (long)(timeout_ns % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&output->lock);
	while (output->first || output->is_busy)
		if (pthread_cond_timedwait(&output->done, &output->lock, &until))
			break;
	pthread_mutex_unlock(&output->lock);
}

uint64_t output_stalled_ns(struct output *output)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);
	uint64_t ns = output->stalled_ns;

	output->stalled_ns = 0;
	return ns;
}

bool output_failed(struct output *output, struct error *failure, uint64_t *events)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	if (output->has_failed)
		*failure = output->failure;
	*events = output->lost;
	output->lost = 0;
	return output->has_failed;
}
