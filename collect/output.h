/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_OUTPUT_H
#define COLLECT_OUTPUT_H

/*
 * What a stream has still to write: a queue, and a thread that compresses and writes, so that a
 * slow sink does not stop the merge. The queues of all streams together hold OUTPUT_MOST bytes;
 * then whoever adds to one waits for it. The first failure ends the writing: the rest is counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/bundle.h"
#include "collect/htr.h"
#include "collect/sink.h"

#define OUTPUT_MOST (256u << 20) /* or an eighth of the memory that we are allowed */

struct output;

/*
 * sink: open, and the thread's own until output_finished(); or not, where the stream's bytes go to
 * a bundle: then it is only what it is called. NULL: no memory.
 */
struct output *output_create(struct sink *sink, struct bundle_stream bundle);

/* Frees it, waiting for its end if it was closed. */
void output_destroy(struct output *output);

/* A buffer of OUTPUT_BUFFER bytes, perhaps one that was used before. NULL: no memory. */
#define OUTPUT_BUFFER (512u << 10)
uint8_t *output_buffer(struct output *output);

/* Whole packets; takes over the buffer. */
void output_packets(struct output *output, uint8_t *buffer, size_t used);

/* A block of an .htr; takes it over. */
void output_block(struct output *output, struct htr_block_parts *parts);

/* The blocks behind begin a section of an .htr: they need none of those before. */
void output_section(struct output *output);

/* How many sections were begun so. */
uint32_t output_sections(struct output *output);

/* Nothing more will come: ends the stream and closes the sink. wake: board.sleeping, of who waits
 * for that; or NULL. */
void output_close(struct output *output, uint32_t *wake);

/* Whether a closed one has done everything. */
bool output_finished(struct output *output);

/* Whether everything up to now has been written, or has failed. */
bool output_is_idle(struct output *output);

/* Waits for that, at most so long. */
void output_wait(struct output *output, uint64_t timeout_ns);

/* For how long nothing could be written since it was asked last, for there was no room on the disk.
 */
uint64_t output_stalled_ns(struct output *output);

/* Whether it has failed; then *failure, and how many events that has cost since it was asked last.
 */
bool output_failed(struct output *output, struct error *failure, uint64_t *events);

#endif
