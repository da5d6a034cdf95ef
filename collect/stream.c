/* SPDX-License-Identifier: MIT */
#include "collect/stream.h"

#include "base/lock.h"
#include "collect/pack.h"
#include "collect/shared.h"
#include "terms.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * The output of a stream: a queue of jobs, and a thread that compresses and writes the data. The
 * thread keeps a slow sink from stopping the merge. After the first failure, it writes nothing
 * more, and counts the dropped events.
 */

/* limit, in bytes, of all streams' queues together, unless 1/8 of the memory budget is less */
#define OUTPUT_MOST   (256u << 20)
#define OUTPUT_BUFFER (512u << 10) /* size of a buffer for packets */
#define SPARE_MAX     4		   /* maximum number of unused buffers that are kept */
#define IDLE_MAX      8		   /* maximum number of threads that wait for a stream */
#define STACK_SIZE    (256u << 10)
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
	bool is_copy; /* whether `packets` is a copy, not a buffer of OUTPUT_BUFFER bytes */
};

struct output {
	struct sink *sink;
	struct bundle_stream bundle;
	struct pack *pack; /* created for the first block; NULL before */
	/* where the thread keeps a pack for its next stream; NULL: the output has no thread */
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

/* Frees the output. If it has a thread, first waits until the thread has done the last job. */
static void output_destroy(struct output *output)
{
	if (!output)
		return;
	if (output->has_thread) {
		/* after setting is_closed and unlocking, the thread does not use the output */
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

static void do_job(struct output *output, const struct job *job)
{
	struct error err = { 0 };
	size_t written = 0, whole;
	struct pack_piece piece;
	uint64_t calls;

	switch (job->kind) {
	case JOB_PACKETS:
		if (!output->has_failed &&
		    sink_write(output->sink, job->packets, job->used, &written, &err) == 0)
			break;
		/* the file keeps those packets that were written completely */
		whole = encode_whole(job->packets, job->used, written, &calls);
		sink_cut(output->sink, written - whole);
		output_fail(output, &err, calls);
		break;
	case JOB_BLOCK:
		if (output->has_failed || start_pack(output, &err) < 0 ||
		    pack_block(output->pack, job->parts, &piece, &err) < 0 ||
		    write_piece(output, piece, &err) < 0)
			output_fail(output, &err, job->parts->header.events);
		break;
	case JOB_SECTION:
		if (output->pack && !output->has_failed &&
		    (write_piece(output, pack_end(output->pack), &err) < 0 ||
		     write_piece(output, pack_start(output->pack), &err) < 0))
			output_fail(output, &err, 0);
		break;
	case JOB_CLOSE:
		if (output->pack && !output->has_failed &&
		    write_piece(output, pack_end(output->pack), &err) < 0)
			output_fail(output, &err, 0);
		if (sink_close(output->sink, &err) < 0)
			output_fail(output, &err, 0);
		if (output->kept && !*output->kept) {
			*output->kept = output->pack;
			output->pack = NULL;
		}
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
	/* stream_close() set output->wake before it added the last job */
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

static void start_thread(struct output *output)
{
	pthread_attr_t attributes;
	struct idle *idle;
	pthread_t thread;

	if (output->has_thread)
		return;
	pthread_mutex_lock(&idle_lock);
	idle = idle_first;
	if (idle) {
		idle_first = idle->next;
		idle_count--;
		idle->output = output;
		pthread_cond_signal(&idle->given);
	}
	pthread_mutex_unlock(&idle_lock);
	output->has_thread = idle != NULL;
	if (idle)
		return;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	output->has_thread = pthread_create(&thread, &attributes, output_thread, output) == 0;
	pthread_attr_destroy(&attributes);
}

/* Waits until the queue is empty, but at most a second. */
static void output_wait(struct output *output)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&output->lock);
	while (output->first || output->is_busy)
		if (pthread_cond_timedwait(&output->done, &output->lock, &until))
			break;
	pthread_mutex_unlock(&output->lock);
}

/*
 * Adds a copy of the job. If there is no memory, waits until earlier jobs have freed memory. Waits
 * while the queues of all streams together are full. Does not wait for this if the queue of this
 * stream is empty, so that a stuck stream does not stop the other streams.
 */
static void output_add(struct output *output, const struct job *job)
{
	struct job *copy = malloc(sizeof(*copy));

	while (!copy) {
		output_wait(output);
		copy = malloc(sizeof(*copy));
	}
	*copy = *job;
	start_thread(output);
	__atomic_add_fetch(&queued, copy->size, __ATOMIC_RELAXED);
	if (!output->has_thread) {
		do_job(output, copy);
		end_job(output, copy);
		return;
	}
	pthread_mutex_lock(&output->lock);
	while (copy->kind != JOB_CLOSE && (output->first || output->is_busy) &&
	       __atomic_load_n(&queued, __ATOMIC_RELAXED) > queued_most)
		pthread_cond_wait(&output->done, &output->lock);
	copy->next = NULL;
	*output->last = copy;
	output->last = &copy->next;
	pthread_cond_signal(&output->work);
	pthread_mutex_unlock(&output->lock);
}

/* ---- the stream ---- */

/* time between two writes of a compressed stream; zstd compresses small amounts of data badly */
#define FLUSH_PACKED_NS 500000000u
/* time between two writes of an .htr, and so the most that is lost if the collector is killed */
#define FLUSH_HTR_NS 1000000000u
/* time to the first write of an .htr: the stream of a shorter process has a single block */
#define FLUSH_FIRST_NS 100000000u

static void set_known(struct stream *stream, uint64_t bytes)
{
	bounds_know(stream->known, 0, (int64_t)(bytes - stream->known_bytes));
	stream->known_bytes = bytes;
}

struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks,
			     struct bounds_known *known)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->sink.fd = -1;
	stream->known = known;
	bounds_know(known, 1, 0);
	encode_init(&stream->encoder, NULL, OUTPUT_BUFFER, protocol, ticks);
	return stream;
}

/* The common buffer of all encoders with an htr: each passes its data to the htr immediately. */
static uint8_t handed[OUTPUT_BUFFER];

static void free_encoder(struct encoder *encoder)
{
	htr_destroy(encoder->htr);
	if (encoder->buffer != handed)
		free(encoder->buffer);
	encoder->htr = NULL;
	encoder->buffer = NULL;
}

void stream_free(struct stream *stream)
{
	if (!stream)
		return;
	set_known(stream, 0);
	bounds_know(stream->known, -1, 0);
	output_destroy(stream->output);
	free_encoder(&stream->encoder);
	code_free(&stream->code);
	free(stream);
}

void stream_break(struct stream *stream, const struct error *err)
{
	if (!stream->broken)
		stream->failure = *err;
	stream->broken = true;
}

/* If the output has failed, copies the error and the number of dropped events to the stream. */
static void look_back(struct stream *stream)
{
	struct output *output = stream->output;

	if (!output)
		return;
	pthread_mutex_lock(&output->lock);
	if (output->has_failed)
		stream_break(stream, &output->failure);
	stream->unwritten += output->lost;
	output->lost = 0;
	pthread_mutex_unlock(&output->lock);
}

static void out_of_memory(struct stream *stream)
{
	struct error err = { 0 };

	error_system(&err, ENOMEM, "cannot write %s", stream->sink.name);
	stream_break(stream, &err);
}

/* Adds the encoder's packets to the queue, and gives the encoder an empty buffer. */
static void flush_packets(struct output *output, struct encoder *encoder)
{
	struct job job = { .kind = JOB_PACKETS, .used = encoder->used };
	uint8_t *copy = job.used < SMALL ? malloc(job.used + 1) : NULL;
	uint8_t *buffer = NULL;

	if (copy) {
		memcpy(copy, encoder->buffer, job.used);
		job.packets = copy;
		job.size = job.used;
		job.is_copy = true;
	} else {
		job.packets = encoder->buffer;
		job.size = OUTPUT_BUFFER;
		for (;;) {
			pthread_mutex_lock(&output->lock);
			if (output->spare_count)
				buffer = output->spare[--output->spare_count];
			pthread_mutex_unlock(&output->lock);
			if (!buffer)
				buffer = malloc(OUTPUT_BUFFER);
			if (buffer)
				break;
			output_wait(output);
		}
		encoder->buffer = buffer;
	}
	output_add(output, &job);
	encoder->used = 0;
}

void stream_flush(struct stream *stream)
{
	struct encoder *encoder = &stream->encoder;
	struct htr_block_parts *parts;

	look_back(stream);
	if (!stream->output) {
		encoder->used = 0;
	} else if (encoder->htr) {
		if (htr_is_empty(encoder->htr))
			return;
		parts = htr_has_failed(encoder->htr) ? NULL : htr_take(encoder->htr);
		if (parts)
			output_add(stream->output,
				   &(struct job){ .kind = JOB_BLOCK,
						  .parts = parts,
						  .size = sizeof(*parts) +
							  parts->header.definitions_size +
							  parts->header.events_size });
		else
			out_of_memory(stream);
	} else if (encoder->used) {
		flush_packets(stream->output, encoder);
	}
}

void stream_sync(struct stream *stream)
{
	stream_flush(stream);
	if (stream->output)
		output_wait(stream->output);
	look_back(stream);
}

/* Begins a section. The caller must have flushed the stream. */
static void begin_section(struct stream *stream)
{
	struct encoder *encoder = &stream->encoder;
	struct htr *next = stream->broken ? NULL : htr_next(encoder->htr);

	/* no memory: a later call tries again */
	if (!next)
		return;
	htr_destroy(encoder->htr);
	encode_to(encoder, next);
	stream->cut_calls = htr_calls(next);
	stream->sections++;
	output_add(stream->output, &(struct job){ .kind = JOB_SECTION });
	set_known(stream, htr_known_bytes(next));
}

void stream_section(struct stream *stream)
{
	struct encoder *encoder = &stream->encoder;

	if (stream->broken || !encoder->htr || htr_calls(encoder->htr) == stream->cut_calls)
		return;
	stream_flush(stream);
	begin_section(stream);
}

/* Between events: flushes the stream, and begins a section if it has too many definitions. */
static void flush_between(struct stream *stream)
{
	stream_flush(stream);
	if (stream->broken || !stream->encoder.htr)
		return;
	set_known(stream, htr_known_bytes(stream->encoder.htr));
	if (bounds_knows_too_much(stream->known, stream->known_bytes))
		begin_section(stream);
}

bool stream_has_sections(const struct stream *stream)
{
	struct output *output = stream->output;

	if (stream->broken || !output)
		return true;
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&output->lock);

	return output->sections >= stream->sections;
}

static inline void make_room(struct stream *stream)
{
	const struct encoder *encoder = &stream->encoder;

	if (encoder->htr ? htr_is_full(encoder->htr) : encoder->room - encoder->used < ENCODE_MOST)
		flush_between(stream);
}

void stream_begin(struct stream *stream, const struct encode_process *process)
{
	struct encoder *encoder = &stream->encoder;
	struct output *output;

	if (stream->broken)
		return;
	/* only once, since budget_memory() reads the limits of control groups */
	if (!queued_most) {
		queued_most = budget_memory() / MOST_PART;
		if (queued_most > OUTPUT_MOST)
			queued_most = OUTPUT_MOST;
	}
	output = calloc(1, sizeof(*output));
	if (output) {
		output->sink = &stream->sink;
		output->bundle = stream->bundle;
		output->last = &output->first;
		pthread_mutex_init(&output->lock, NULL);
		pthread_cond_init(&output->work, NULL);
		pthread_cond_init(&output->done, NULL);
	}
	stream->output = output;
	if (stream->sink.is_htr) {
		encode_to(encoder, htr_create());
		if (encoder->htr)
			htr_watch(encoder->htr, code_see, &stream->code);
		encoder->tails = true;
	}
	encoder->buffer = stream->sink.is_htr ? handed : malloc(OUTPUT_BUFFER);
	if (stream->output && encoder->buffer && (encoder->htr || !stream->sink.is_htr)) {
		encode_start(encoder, process);
		return;
	}
	output_destroy(stream->output);
	stream->output = NULL;
	out_of_memory(stream);
}

void stream_event(struct stream *stream, const struct merge_event *event)
{
	if (__builtin_expect(stream->broken, 0)) {
		stream->unwritten += event->record->kind == RECORD_CALL;
		return;
	}
	if (event->record->kind == RECORD_MODULE && event->record->more != MODULE_WITHOUT_NUMBER) {
		uint64_t bit = 1ull << (event->record->more & 63);
		uint64_t *word = &stream->modules[event->record->more >> 6];
		const struct record_module *module = (const struct record_module *)event->record;
		const char *path = (const char *)(module + 1);

		/* several threads may report the same module */
		if (*word & bit)
			return;
		*word |= bit;
		code_module(&stream->code, module->base, module->end, path,
			    strnlen(path, module->path_size));
	}
	make_room(stream);
	encode_event(&stream->encoder, event);
}

void stream_code(struct stream *stream, uint64_t address, const char *name)
{
	struct {
		struct record_module module;
		char path[sizeof(CODE_MODULE) + CODE_NAME_MAX];
	} record = { .module = { .record = { .kind = RECORD_MODULE, .more = MODULE_WITHOUT_NUMBER },
				 .base = address - 1,
				 .start = address - 1,
				 .end = address } };
	int length = snprintf(record.path, sizeof(record.path), "%s%s", CODE_MODULE, name);

	if (stream->broken || length < 0)
		return;
	record.module.path_size = (uint16_t)(strlen(record.path) + 1);
	make_room(stream);
	encode_event(&stream->encoder, &(struct merge_event){ .record = &record.module.record });
}

bool stream_fast(struct stream *stream, const struct fast_call *fast)
{
	return !stream->broken && encode_fast(&stream->encoder, fast);
}

void stream_note(struct stream *stream, const struct encode_note *note)
{
	if (stream->broken)
		return;
	make_room(stream);
	encode_note(&stream->encoder, note);
}

void stream_idle(struct stream *stream, uint64_t now_ns)
{
	struct output *output = stream->output;
	uint64_t patience_ns = FLUSH_HTR_NS;
	bool is_idle;

	look_back(stream);
	if (!output)
		return;
	pthread_mutex_lock(&output->lock);
	is_idle = !output->first && !output->is_busy;
	pthread_mutex_unlock(&output->lock);
	if (!is_idle)
		return;
	/* no job is in progress, so the output's thread does not use the sink */
	if (!stream->encoder.htr)
		patience_ns = stream->sink.zstd ? FLUSH_PACKED_NS : 0;
	if (now_ns - stream->flushed_ns < patience_ns)
		return;
	flush_between(stream);
	stream->flushed_ns = now_ns;
}

uint64_t stream_stalled_ns(struct stream *stream)
{
	struct output *output = stream->output;
	uint64_t ns;

	if (!output)
		return 0;
	pthread_mutex_lock(&output->lock);
	ns = output->stalled_ns;
	output->stalled_ns = 0;
	pthread_mutex_unlock(&output->lock);
	return ns;
}

void stream_postpone(struct stream *stream, uint64_t now_ns)
{
	stream->flushed_ns = now_ns - FLUSH_HTR_NS + FLUSH_FIRST_NS;
}

void stream_close(struct stream *stream)
{
	struct output *output = stream->output;
	struct error err = { 0 };

	stream_flush(stream);
	/* free the encoder now, since closing the output may have to wait for other writes */
	free_encoder(&stream->encoder);
	code_free(&stream->code);
	set_known(stream, 0);
	if (output) {
		output->wake = stream->wake;
		pthread_mutex_lock(&output->lock);
		output->is_closing = true;
		pthread_mutex_unlock(&output->lock);
		output_add(output, &(struct job){ .kind = JOB_CLOSE });
	} else if (sink_close(&stream->sink, &err) < 0) {
		stream_break(stream, &err);
	}
}

bool stream_finished(struct stream *stream)
{
	struct output *output = stream->output;
	bool is_closed = true;

	if (output) {
		pthread_mutex_lock(&output->lock);
		is_closed = output->is_closed;
		pthread_mutex_unlock(&output->lock);
	}
	if (!is_closed)
		return false;
	look_back(stream);
	return sink_finished(&stream->sink);
}
