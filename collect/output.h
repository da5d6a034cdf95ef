/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_OUTPUT_H
#define COLLECT_OUTPUT_H

/*
 * The output queue of a stream, and a thread that compresses and writes, so that a slow sink does
 * not stop the merge. The queues of all streams together hold at most OUTPUT_MOST bytes; beyond
 * that, adding to a queue waits. After the first failure nothing more is written, and events are
 * counted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/bundle.h"
#include "collect/htr.h"
#include "collect/sink.h"

#define OUTPUT_MOST (256u << 20) /* or an eighth of the memory that we may use */

struct output;

/*
 * sink: open, and used by the thread alone until output_finished(); or not open, if the stream goes
 * to a bundle: then only its name is used. NULL: no memory.
 */
struct output *output_create(struct sink *sink, struct bundle_stream bundle);

/* Frees it. If it was closed, waits for its end. */
void output_destroy(struct output *output);

/* Returns a buffer of OUTPUT_BUFFER bytes, which may be a used one. NULL: no memory. */
#define OUTPUT_BUFFER (512u << 10)
uint8_t *output_buffer(struct output *output);

/* Queues whole packets; takes over the buffer. */
void output_packets(struct output *output, uint8_t *buffer, size_t used);

/* Queues a block of an .htr; takes it over. */
void output_block(struct output *output, struct htr_block_parts *parts);

/* Begins a section of an .htr: the blocks that follow need none of those before. */
void output_section(struct output *output);

/* How many sections were begun this way. */
uint32_t output_sections(struct output *output);

/*
 * Ends the stream and closes the sink; nothing may be added any more. wake: the word control
 * page.sleeping of the collector that waits for the end; or NULL.
 */
void output_close(struct output *output, uint32_t *wake);

/* Whether a closed output has finished. */
bool output_finished(struct output *output);

/* Whether everything up to now was written, or has failed. */
bool output_is_idle(struct output *output);

/* Waits until output_is_idle(), at most timeout_ns. */
void output_wait(struct output *output, uint64_t timeout_ns);

/* For how long nothing could be written since the last call, because the disk was full. */
uint64_t output_stalled_ns(struct output *output);

/* Whether it has failed: sets *failure, and how many events this has cost since the last call. */
bool output_failed(struct output *output, struct error *failure, uint64_t *events);

#endif
