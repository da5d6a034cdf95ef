/* SPDX-License-Identifier: MIT */
#ifndef HTR_TABLE_H
#define HTR_TABLE_H

/*
 * The .htr container in C: a struct for each row of htr.def, and the values from which the next
 * event is predicted. The writer and the reader must compute these values in the same way.
 * collect/htr and collect/pack write the container, trace/read_htr reads it.
 */

#include <stdint.h>
#include <string.h>

#define HTR_MAGIC	   0x0a1a0a0d52544889ull /* 89 "HTR" CR LF 1a LF, with the lowest byte first */
#define HTR_MAGIC_BUNDLE   0x0a1a0a0d53544889ull /* 89 "HTS" CR LF 1a LF */
#define HTR_MAGIC_PIECE	   0x50525448u		 /* "HTRP" */
#define HTR_MAGIC_BLOCK	   0x42525448u		 /* "HTRB" */
#define HTR_MAGIC_INDEX	   0x49525448u		 /* "HTRI" */
#define HTR_MAGIC_END	   0x45525448u		 /* "HTRE" */
#define HTR_VERSION	   1u
#define HTR_BUNDLE_VERSION 1u
/* maximum uncompressed size, in bytes, of a block's definitions, and of its events */
#define HTR_PART_MAX   (2u << 20)
#define HTR_PACKED_MAX (HTR_PART_MAX + (64u << 10))
/* maximum number of shapes; an event that needs a further shape is written as a packet */
#define HTR_SHAPES_MAX (1u << 16)
/* maximum number of threads in one block */
#define HTR_MODELS 256u
/* maximum value of the field `depth` of a shape */
#define HTR_DEPTH_MAX  15u
#define HTR_VARINT_MAX 10u
#define HTR_DAY_MS     86400000u

/* The C type of each kind of field. */
typedef uint32_t htr_dword;
typedef uint64_t htr_qword;
typedef uint64_t htr_number;
typedef uint64_t htr_difference; /* the value itself, not its zigzag form */
typedef const char *htr_text;
typedef struct htr_bytes {
	const uint8_t *at;
	size_t size;
} htr_bytes;

/* the next lines define struct htr_file, htr_block, ...; struct htr_function, htr_thread, ... */
#define HEADER(name, description)      struct htr_##name {
#define FIXED(kind, name, description) htr_##kind name;
#define HEADER_END(name) \
	}                \
	;
#define DEFINITION(name, description)  struct htr_##name {
#define FIELD(kind, name, description) htr_##kind name;
#define DEFINITION_END(name) \
	}                    \
	;
#include "htr.def"

/* The kinds of definitions. The first byte of a definition is its kind. */
enum htr_definition {
#define DEFINITION(name, description) HTR_DEFINITION_##name,
#include "htr.def"
	HTR_DEFINITION_COUNT
};

enum htr_column {
#define COLUMN(name, description) HTR_COLUMN_##name,
#include "htr.def"
	HTR_COLUMN_COUNT
};

enum htr_value {
#define VALUE(column, sign, name, description) HTR_VALUE_##name,
#include "htr.def"
	HTR_VALUE_COUNT
};

/* Bits of htr_shape.values: the values that each event of the shape has of its own. */
enum htr_has {
#define VALUE(column, sign, name, description) HTR_HAS_##name = 1 << HTR_VALUE_##name,
#include "htr.def"
};

/* The values that an event has of its own, not from its shape. */
struct htr_values {
#define VALUE(column, sign, name, description) uint64_t name;
#include "htr.def"
};

enum htr_rule_row {
#define RULE(name, description) HTR_RULE_##name,
#include "htr.def"
	HTR_RULE_COUNT
};

/* Bits of htr_shape.rules. */
enum htr_rule {
#define RULE(name, description) HTR_##name = 1 << HTR_RULE_##name,
#include "htr.def"
};

/* Sizes of headers in the file, in bytes. */
#define HTR_BYTES_dword 4
#define HTR_BYTES_qword 8
enum htr_size {
#define HEADER(name, description)      HTR_SIZE_##name = 0
#define FIXED(kind, name, description) +HTR_BYTES_##kind
#define HEADER_END(name)	       ,
#include "htr.def"
};

/* Defines the functions htr_put_block(bytes, &block), htr_get_block(bytes, &block) and so on. */
static inline void htr_put_qword(uint8_t **at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

static inline void htr_put_dword(uint8_t **at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		*(*at)++ = (uint8_t)(value >> 8 * i);
}

static inline uint64_t htr_get_qword(const uint8_t **at)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

static inline uint32_t htr_get_dword(const uint8_t **at)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value |= (uint32_t) * (*at)++ << 8 * i;
	return value;
}

#define HEADER(name, description)                                                       \
	static inline void htr_put_##name(uint8_t *at, const struct htr_##name *header) \
	{
#define FIXED(kind, name, description) htr_put_##kind(&at, header->name);
#define HEADER_END(name)	       }
#include "htr.def"

#define HEADER(name, description)                                                       \
	static inline void htr_get_##name(const uint8_t *at, struct htr_##name *header) \
	{
#define FIXED(kind, name, description) header->name = htr_get_##kind(&at);
#define HEADER_END(name)	       }
#include "htr.def"

static inline uint64_t htr_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t htr_unzigzag(uint64_t number)
{
	return number >> 1 ^ (0 - (number & 1));
}

/*
 * The state from which a thread's next event is predicted: values of the thread, and of the call
 * sites of its events. The writer and the reader both keep this state within a block. Each site
 * belongs to one backtrace. A new site replaces the site whose backtrace has the same number modulo
 * HTR_SITES.
 */
#define HTR_SITES    256u
#define HTR_CLASSES  33u
#define HTR_CPU_NONE 0xffffffffu

struct htr_site {
	uint32_t node;
	/* backtrace of the event that followed this site's last event in the same thread */
	uint32_t next;
	uint64_t object, size, frame;
};

struct htr_model {
	uint64_t call;	/* number of the thread's last call */
	uint64_t frame; /* stack pointer at the thread's last event */
	uint32_t cpu;
	uint32_t last; /* index in `sites` of the last event's site */
	uint64_t objects[HTR_CLASSES];
	struct htr_site sites[HTR_SITES];
};

static inline void htr_model_begin(struct htr_model *model)
{
	memset(model, 0, sizeof(*model));
	model->cpu = HTR_CPU_NONE;
}

/* Returns the site of a backtrace. A new site gets the stack pointer of the thread's last event. */
static inline struct htr_site *htr_model_site(struct htr_model *model, uint32_t node)
{
	struct htr_site *site = &model->sites[node % HTR_SITES];

	if (site->node != node) {
		site->node = node;
		site->next = 0;
		site->object = site->size = 0;
		site->frame = model->frame;
	}
	return site;
}

static inline uint64_t *htr_model_object(struct htr_model *model, uint64_t resource)
{
	return &model->objects[resource < HTR_CLASSES ? resource : 0];
}

/*
 * The last timestamp (ms modulo one day), and the start of its millisecond in ns. htr_stamp_at()
 * converts a time to the timestamp of a CALL packet.
 */
struct htr_stamp {
	uint64_t ms_start;
	uint32_t stamp;
};

static inline uint32_t htr_stamp_at(struct htr_stamp *stamp, uint64_t time_ns)
{
	if (!stamp->stamp || time_ns - stamp->ms_start >= 1000000) {
		stamp->ms_start = time_ns - time_ns % 1000000;
		stamp->stamp = (uint32_t)(time_ns / 1000000 % HTR_DAY_MS);
		if (!stamp->stamp)
			stamp->stamp = 1;
	}
	return stamp->stamp;
}

#endif
