/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace in the Common Trace Format 1.8. Blocks of memory, mutexes and mapped modules are
 * written as the events of LTTng's wrappers for libc and pthreads, which existing tools read. Other
 * calls are holdtrace's own events. Readers require events in order of time, so events are sorted
 * in a temporary file. The output is one stream of packets.
 */
#include "formats/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/spill_sort.h"
#include "dialects/outdir.h"

#define PACKET	   (256u << 10) /* approximate size of a packet's events in bytes */
#define MAGIC	   0xc1fc1fc1u
#define FRAMES_MAX 512u
#define TEXT_MAX   4096u /* maximum size of a string in bytes */
#define HEAD_SIZE  (4u + 16 + 4 + 5 * 8 + 4)

/* For each event: the suffix of its constant, its name and its fields. */
#define CTF_EVENTS(_)                                                                             \
	_(MALLOC, "lttng_ust_libc:malloc", "uint64_t _size; ptr_t _ptr;")                         \
	_(CALLOC, "lttng_ust_libc:calloc", "uint64_t _nmemb; uint64_t _size; ptr_t _ptr;")        \
	_(FREE, "lttng_ust_libc:free", "ptr_t _ptr;")                                             \
	_(LOCK_REQ, "lttng_ust_pthread:pthread_mutex_lock_req", "ptr_t _mutex;")                  \
	_(LOCK_ACQ, "lttng_ust_pthread:pthread_mutex_lock_acq", "ptr_t _mutex; int32_t _status;") \
	_(TRYLOCK, "lttng_ust_pthread:pthread_mutex_trylock", "ptr_t _mutex; int32_t _status;")   \
	_(UNLOCK, "lttng_ust_pthread:pthread_mutex_unlock", "ptr_t _mutex; int32_t _status;")     \
	_(BIN_INFO, "lttng_ust_statedump:bin_info",                                               \
	  "ptr_t _baddr; uint64_t _memsz; string _path; uint8_t _is_pic; uint8_t _has_build_id; " \
	  "uint8_t _has_debug_link;")                                                             \
	_(CALL, "holdtrace:call",                                                                 \
	  "string _function; string _class; ptr_t _object; uint64_t _size; uint64_t _duration; "  \
	  "uint8_t _acquires; uint8_t _releases; uint8_t _fails;")

enum ctf_event {
#define EVENT(name, text, fields) CTF_##name,
	CTF_EVENTS(EVENT)
#undef EVENT
};

struct ctf {
	const struct trace *trace;
	struct outdir directory;
	struct spill_sort sort;
	const struct trace_process *first;
	uint64_t last_ns; /* time of the last event, which is also used for events without a time */
	/* buffer for the event or packet that is being encoded */
	unsigned char *bytes;
	size_t used, capacity;
	/* the output of the stream, and the times of its first and last event */
	struct out out;
	uint64_t begin_ns, end_ns;
};

/* ---- bytes ---- */

static void put_bytes(struct ctf *ctf, const void *bytes, size_t size)
{
	size_t capacity = ctf->capacity ? ctf->capacity : 1024;

	while (capacity - ctf->used < size)
		capacity *= 2;
	if (capacity != ctf->capacity) {
		ctf->bytes = memory_resize(ctf->bytes, capacity);
		ctf->capacity = capacity;
	}
	memcpy(ctf->bytes + ctf->used, bytes, size);
	ctf->used += size;
}

static size_t put_little(unsigned char *to, uint64_t number, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		to[i] = (unsigned char)(number >> 8 * i);
	return size;
}

static void put_number(struct ctf *ctf, uint64_t number, unsigned size)
{
	unsigned char bytes[8];

	put_bytes(ctf, bytes, put_little(bytes, number, size));
}

/* Adds a text and a NUL. Replaces invalid UTF-8 with question marks. */
static void put_text(struct ctf *ctf, const char *text)
{
	size_t length = strnlen(text, TEXT_MAX);
	uint32_t code;

	while (length) {
		unsigned step = utf8_decode(text, length, &code);

		put_bytes(ctf, step ? text : "?", step ? step : 1);
		text += step ? step : 1;
		length -= step ? step : 1;
	}
	put_bytes(ctf, "", 1);
}

/* ---- events ---- */

/* Adds the header and the context of an event. */
static void begin_event(struct ctf *ctf, enum ctf_event number, const struct event *event,
			uint64_t time_ns)
{
	const struct backtrace *backtrace = event->backtrace;
	const struct trace_node *at = backtrace ? backtrace->node : &trace_no_node;
	uint32_t count = at->count;
	const char *name = event->process->name ? event->process->name : "";

	ctf->used = 0;
	put_number(ctf, number, 2);
	put_number(ctf, time_ns, 8);
	put_number(ctf, event->process->pid, 4);
	put_number(ctf, event->thread, 4);
	put_text(ctf, name);
	count = count < FRAMES_MAX ? count : FRAMES_MAX;
	put_number(ctf, count, 2);
	for (; count; count--, at = at->caller)
		put_number(ctf, at->address, 8);
}

static void end_event(struct ctf *ctf, uint64_t time_ns)
{
	memcpy(spill_sort_reserve(&ctf->sort, ctf->used), ctf->bytes, ctf->used);
	spill_sort_commit(&ctf->sort, (struct spill_key){ .first = time_ns }, ctf->used);
}

static void put_mutex(struct ctf *ctf, enum ctf_event number, const struct event *event,
		      uint64_t time_ns)
{
	begin_event(ctf, number, event, time_ns);
	put_number(ctf, event->object, 8);
	if (number != CTF_LOCK_REQ)
		put_number(ctf, event->flags & CALL_FAILED ? event->error : 0, 4);
	end_event(ctf, time_ns);
}

/* Adds a call: as LTTng's event if LTTng has one for it, else as holdtrace's own event. */
static void on_call(struct ctf *ctf, const struct event *event)
{
	const char *name = event->function->name;
	bool has_failed = event->flags & CALL_FAILED;

	if (event->resource->known == RESOURCE_MEMORY && !has_failed &&
	    (event->type == CALL_TYPE_ALLOC || event->type == CALL_TYPE_FREE)) {
		bool is_calloc = !strcmp(event->function->name, "calloc");

		if (event->type == CALL_TYPE_FREE) {
			begin_event(ctf, CTF_FREE, event, event->time_ns);
		} else {
			begin_event(ctf, is_calloc ? CTF_CALLOC : CTF_MALLOC, event,
				    event->time_ns);
			if (is_calloc)
				put_number(ctf, 1, 8);
			put_number(ctf, event->size, 8);
		}
		put_number(ctf, event->object, 8);
		end_event(ctf, event->time_ns);
	} else if (!strcmp(name, "pthread_mutex_lock")) {
		put_mutex(ctf, CTF_LOCK_REQ, event,
			  event->enter_ns ? event->enter_ns : event->time_ns);
		put_mutex(ctf, CTF_LOCK_ACQ, event, event->time_ns);
	} else if (!strcmp(name, "pthread_mutex_trylock")) {
		put_mutex(ctf, CTF_TRYLOCK, event, event->time_ns);
	} else if (!strcmp(name, "pthread_mutex_unlock")) {
		put_mutex(ctf, CTF_UNLOCK, event, event->time_ns);
	} else {
		begin_event(ctf, CTF_CALL, event, event->time_ns);
		put_text(ctf, event->function->name);
		put_text(ctf, event->resource->is_registered ? event->resource->type : "");
		put_number(ctf, event->object, 8);
		put_number(ctf, event->size, 8);
		put_number(ctf,
			   event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns
							     : 0,
			   8);
		put_number(ctf, event->type == CALL_TYPE_ALLOC, 1);
		put_number(ctf, event->type == CALL_TYPE_FREE, 1);
		put_number(ctf, (event->flags & CALL_FAILED) != 0, 1);
		end_event(ctf, event->time_ns);
	}
}

int write_ctf_event(void *state, const struct event *event, struct error *err)
{
	struct ctf *ctf = state;
	struct event mapped = *event;

	if (event->process && !ctf->first) {
		ctf->first = event->process;
		ctf->last_ns = event->process->start_ns;
	}
	if (event->kind == EVENT_MAPPING) {
		const struct trace_mapping *mapping = event->mapping;

		mapped.thread = event->process->pid;
		mapped.backtrace = NULL;
		begin_event(ctf, CTF_BIN_INFO, &mapped, ctf->last_ns);
		put_number(ctf, mapping->from, 8);
		put_number(ctf, mapping->to > mapping->from ? mapping->to - mapping->from : 0, 8);
		put_text(ctf, mapping->path);
		put_number(ctf, 1, 1);
		put_number(ctf, 0, 1);
		put_number(ctf, 0, 1);
		end_event(ctf, ctf->last_ns);
	} else if (event->kind == EVENT_CALL) {
		if (event->time_ns > ctf->last_ns)
			ctf->last_ns = event->time_ns;
		on_call(ctf, event);
	}
	return spill_error(&ctf->sort.spill, err);
}

/* ---- files ---- */

/* Makes a UUID from the session, so that the same trace always has the same UUID. */
static void make_uuid(const struct ctf *ctf, unsigned char *uuid)
{
	const struct trace_process *process = ctf->first;

	put_little(uuid, process ? process->session[0] : 0, 8);
	put_little(uuid + 8, process ? process->session[1] : 0, 8);
	uuid[6] = (unsigned char)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (unsigned char)((uuid[8] & 0x3f) | 0x80);
}

static int write_metadata(struct ctf *ctf, struct error *err)
{
	static const struct {
		const char *name, *facts;
	} types[] = {
		{ "uint8_t", "size = 8; signed = false;" },
		{ "uint16_t", "size = 16; signed = false;" },
		{ "uint32_t", "size = 32; signed = false;" },
		{ "int32_t", "size = 32; signed = true;" },
		{ "uint64_t", "size = 64; signed = false;" },
		{ "ptr_t", "size = 64; signed = false; base = 16;" },
	};
	struct out out;
	int rc = outdir_create(&ctf->directory, "metadata", &out, err);
	unsigned char uuid[16];

	if (rc)
		return rc;
	out_text(&out, "/* CTF 1.8 */\n");
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		out_format(&out, "typealias integer { align = 8; %s } := %s;\n", types[i].facts,
			   types[i].name);
	make_uuid(ctf, uuid);
	out_text(&out, "trace {\n\tmajor = 1; minor = 8; byte_order = le;\n\tuuid = \"");
	for (unsigned i = 0; i < sizeof(uuid); i++)
		out_format(&out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			   uuid[i]);
	out_text(&out, "\";\n\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; "
		       "uint32_t stream_id; };\n};\n");
	out_text(&out, "env { domain = \"ust\"; tracer_name = \"lttng-ust\"; tracer_major = 2; "
		       "tracer_minor = 13; made_by = \"holdtrace " PACKAGE_VERSION "\"; };\n");
	out_format(&out,
		   "clock { name = \"monotonic\"; freq = 1000000000; offset = %" PRIu64 "; };\n",
		   ctf->first ? ctf->first->realtime_ns : 0);
	out_text(&out,
		 "typealias integer { align = 8; size = 64; signed = false; "
		 "map = clock.monotonic.value; } := ts_t;\n"
		 "stream {\n\tid = 0;\n"
		 "\tpacket.context := struct { ts_t timestamp_begin; ts_t timestamp_end; "
		 "uint64_t content_size; uint64_t packet_size; uint64_t events_discarded; "
		 "uint32_t cpu_id; };\n"
		 "\tevent.header := struct { uint16_t id; ts_t timestamp; };\n"
		 "\tevent.context := struct { int32_t _vpid; int32_t _vtid; string _procname; "
		 "uint16_t __callstack_user_length; "
		 "ptr_t _callstack_user[__callstack_user_length]; };\n};\n");
#define EVENT(number, name, fields)                                                 \
	out_format(&out,                                                            \
		   "event { name = \"%s\"; id = %d; stream_id = 0; loglevel = 13; " \
		   "fields := struct { %s }; };\n",                                 \
		   name, CTF_##number, fields);
	CTF_EVENTS(EVENT)
#undef EVENT
	return outdir_finish(&ctf->directory, &out, 0, err);
}

static void put_packet(struct ctf *ctf)
{
	unsigned char head[HEAD_SIZE];
	uint64_t bits = (HEAD_SIZE + ctf->used) * 8;
	size_t at = put_little(head, MAGIC, 4);

	make_uuid(ctf, head + at);
	at += 16;
	at += put_little(head + at, 0, 4);
	at += put_little(head + at, ctf->begin_ns, 8);
	at += put_little(head + at, ctf->end_ns, 8);
	at += put_little(head + at, bits, 8);
	at += put_little(head + at, bits, 8);
	at += put_little(head + at, 0, 8);
	at += put_little(head + at, 0, 4);
	out_bytes(&ctf->out, head, at);
	out_bytes(&ctf->out, ctf->bytes, ctf->used);
	ctf->used = 0;
}

static int write_stream(struct ctf *ctf, struct error *err)
{
	struct spill_piece piece;
	int rc = spill_sort_finish(&ctf->sort, err);

	if (rc == 0)
		rc = outdir_create(&ctf->directory, "stream", &ctf->out, err);
	if (rc)
		return rc;
	ctf->used = 0;
	while ((rc = spill_sort_next(&ctf->sort, &piece, err)) == 1) {
		if (!ctf->used)
			ctf->begin_ns = piece.key.first;
		ctf->end_ns = piece.key.first;
		put_bytes(ctf, piece.bytes, piece.size);
		if (ctf->used >= PACKET)
			put_packet(ctf);
	}
	if (ctf->used)
		put_packet(ctf);
	return outdir_finish(&ctf->directory, &ctf->out, rc, err);
}

int write_ctf_end(void *state, struct error *err)
{
	struct ctf *ctf = state;
	int rc = write_metadata(ctf, err);

	if (rc == 0)
		rc = write_stream(ctf, err);
	return rc ? rc : outdir_commit(&ctf->directory, err);
}

int write_ctf_begin(void **state, const struct trace *trace, const struct writer_options *options,
		    struct error *err)
{
	struct ctf *ctf = memory_zalloc(1, sizeof(*ctf));
	int rc;

	ctf->trace = trace;
	rc = outdir_open(&ctf->directory, options->directory, options->force, err);
	if (rc) {
		free(ctf);
		return rc;
	}
	spill_sort_init(&ctf->sort, ctf->directory.fd, 0);
	*state = ctf;
	return 0;
}

void write_ctf_destroy(void *state)
{
	struct ctf *ctf = state;

	spill_sort_free(&ctf->sort);
	free(ctf->bytes);
	outdir_close(&ctf->directory);
	free(ctf);
}
