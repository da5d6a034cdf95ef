/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_OUTPUT_H
#define COLLECT_OUTPUT_H

/*
 * The output queue of a stream, and a thread that compresses and writes the data, so that a slow
 * sink does not stop the merge. The queues of all streams together hold at most OUTPUT_MOST bytes;
 * beyond that, a caller that adds to a queue has to wait. After the first failure nothing more is
 * written, and dropped events are counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/bundle.h"
#include "collect/htr.h"
#include "collect/sink.h"

/* limit of all queues, or 1/8 of the memory budget if that is less */
#define OUTPUT_MOST (256u << 20)

struct output;

/*
 * Creates the output of a stream. Until output_finished() returns true, only the output's thread
 * may use an open sink. If the stream goes to a bundle, the sink is not open, and only its name is
 * used. Returns NULL if there is no memory.
 */
struct output *output_create(struct sink *sink, struct bundle_stream bundle);

/* Frees the output. If the output has a thread, first waits until it has written the last job. */
void output_destroy(struct output *output);

/* Returns a buffer of OUTPUT_BUFFER bytes, which may contain old data. NULL: no memory. */
#define OUTPUT_BUFFER (512u << 10)
uint8_t *output_buffer(struct output *output);

/* Adds whole packets to the queue, and takes over the buffer. */
void output_packets(struct output *output, uint8_t *buffer, size_t used);

/* Adds a block of an .htr to the queue, and takes over the block. */
void output_block(struct output *output, struct htr_block_parts *parts);

/* Begins a section of an .htr: the blocks after it are readable without the blocks before it. */
void output_section(struct output *output);

/* Returns how many calls of output_section() the thread has processed. */
uint32_t output_sections(struct output *output);

/*
 * Ends the stream and closes the sink. Nothing may be added to the queue afterwards. wake: the
 * address of control_page.sleeping, through which the thread wakes the collector when the stream
 * has ended; may be NULL.
 */
void output_close(struct output *output, uint32_t *wake);

/* Whether a closed output has finished. */
bool output_finished(struct output *output);

/* Whether the queue is empty: all data was written, or was dropped because of a failure. */
bool output_is_idle(struct output *output);

/* Waits until output_is_idle() returns true, but at most timeout_ns. */
void output_wait(struct output *output, uint64_t timeout_ns);

/* Returns for how long nothing could be written since the last call, because the disk was full. */
uint64_t output_stalled_ns(struct output *output);

/*
 * Whether the output has failed. If so, sets *failure, and sets *events to the number of events
 * that were dropped since the last call.
 */
bool output_failed(struct output *output, struct error *failure, uint64_t *events);

#endif
