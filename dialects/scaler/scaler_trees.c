/* SPDX-License-Identifier: MIT */
/* Scaler's threads: a file of records for each, breadth-first after a root. */
#include "dialects/scaler/scaler.h"

#include <inttypes.h>
#include <stdio.h>

#define RECORD_MAX 65 /* bytes of a record of TYPE_PTHREAD */

static unsigned char *put_number(unsigned char *at, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		*at++ = (unsigned char)(number >> 8 * i);
	return at;
}

/* Unix time in us; clamped on overflow. */
static uint64_t unix_microseconds(const struct scaler *scaler, uint64_t time_ns)
{
	uint64_t sum;

	if (__builtin_add_overflow(time_ns, scaler->process->realtime_ns, &sum))
		sum = UINT64_MAX;
	return sum / 1000;
}

static void put_root(struct out *out, uint64_t children)
{
	unsigned char record[RECORD_MAX], *at = record;

	*at++ = TYPE_NORMAL;
	for (int i = 0; i < 4; i++)
		at = put_number(at, UINT64_MAX);
	at = put_number(at, 1);
	at = put_number(at, children);
	out_bytes(out, record, (size_t)(at - record));
}

static void put_node(const struct scaler *scaler, struct out *out, const struct calltree_node *node)
{
	const struct function_facts *facts = &scaler->facts[node->symbol];
	unsigned char record[RECORD_MAX], *at = record;

	*at++ = (unsigned char)facts->type;
	at = put_number(at, (uint64_t)facts->file);
	at = put_number(at, (uint64_t)facts->function);
	at = put_number(at, unix_microseconds(scaler, node->enter_ns));
	at = put_number(at, unix_microseconds(scaler, node->leave_ns));
	at = put_number(at, (uint64_t)node->first_child);
	at = put_number(at, node->children);
	if (facts->type != TYPE_NORMAL)
		at = put_number(at, node->extra[0]);
	if (facts->type == TYPE_PTHREAD)
		at = put_number(at, facts->has_second ? node->extra[1] : 0);
	out_bytes(out, record, (size_t)(at - record));
}

static int put_nodes(struct scaler *scaler, struct out *out, struct error *err)
{
	struct calltree_node node;
	int rc;

	for (;;) {
		rc = calltree_next(&scaler->tree, &node, err);
		if (rc <= 0)
			return rc;
		put_node(scaler, out, &node);
		if (out_error(out))
			return 0; /* outdir_finish() reports it */
	}
}

static int write_thread(struct scaler *scaler, struct outdir *directory, uint64_t handle,
			uint64_t children, struct error *err)
{
	struct error later = { 0 };
	struct out out;
	char name[64];
	int rc, end;

	snprintf(name, sizeof(name), "thread_0x%" PRIx64 ".bin", handle);
	rc = outdir_create(directory, name, &out, err);
	if (rc)
		return rc;
	put_root(&out, children);
	rc = put_nodes(scaler, &out, err);
	end = outdir_finish(directory, &out, &later);
	if (rc == 0 && end)
		*err = later;
	return rc ? rc : end;
}

int scaler_write_threads(struct scaler *scaler, struct outdir *directory, struct error *err)
{
	uint64_t handle, children;
	int rc = calltree_finish(&scaler->tree, err);

	while (rc == 0) {
		rc = calltree_next_thread(&scaler->tree, &handle, &children, err);
		if (rc <= 0)
			return rc;
		rc = write_thread(scaler, directory, handle, children, err);
	}
	return rc;
}
