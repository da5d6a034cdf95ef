/* SPDX-License-Identifier: MIT */
#ifndef HTR_PARTS_H
#define HTR_PARTS_H

/*
 * Internals of htr.h. htr.c writes events and their arguments into the columns of a block;
 * htr_known.c numbers and defines the parts that events have in common. Only these two files
 * include this header.
 */

#include <endian.h>

#include "base/hash_table.h"
#include "collect/htr.h"

#define PATH_MAX_FRAMES WIRE_FRAMES_MAX
#define HTR_OTHERS_FULL \
	(192u << 10) /* a block ends when its column `others` or its definitions are this large */
/* maximum number of bytes that one event, or one chunk of packets, adds to a column */
#define HTR_EVENT_MOST (320u << 10)

/*
 * A frame with its callers: a node of the tree of backtraces, identified by its parent's number and
 * its address. Each node remembers two recently found children, since the next backtrace often has
 * the same frames. Comparing with these children costs little, since the lookup reads the right
 * child next anyway.
 */
struct node {
	uint64_t address;
	uint32_t parent;
	uint32_t children[2]; /* indexed by a bit of the child's address; 0: none yet */
};

struct name {
	const char *text;
	size_t length;
	uint32_t id;
};

struct names {
	struct hash_table table;
	uint32_t count;
	size_t bytes;
};

struct thread {
	uint32_t id;
	uint32_t number;
	uint64_t pthread;
	uint32_t block; /* the block for which the thread's `model` is valid */
	uint32_t model;
};

struct shape {
	struct htr_key key;
	uint32_t id; /* number of the shape; 0: the entry is free */
};

/*
 * What a reader of the block knows about a thread at this point (struct htr_model). Also the
 * addresses and nodes of the thread's last backtrace, innermost frame first.
 */
struct model {
	struct htr_model model;
	/* from the thread's last call on the fast path (struct fast_call); memory NULL: unknown */
	const void *memory;
	uint64_t turn;
	uint32_t path_count;
	uint64_t addresses[PATH_MAX_FRAMES];
	uint32_t nodes[PATH_MAX_FRAMES];
};

struct column {
	uint8_t *start, *at;
};

struct htr {
	struct column columns[HTR_COLUMN_COUNT];
	struct column definitions;
	struct htr_block header; /* header of the block that is being filled */
	uint64_t last_ns;	 /* time of the last event in the block */
	uint64_t node_address;	 /* address of the last node that was defined in the block */
	struct htr_stamp stamp;
	uint32_t block; /* number of the block, from 1 */
	bool has_failed;
	struct names functions, argument_names;
	/* callback for the address of each new node; NULL: none */
	void (*see)(void *context, uint64_t address);
	void *see_context;

	struct node *nodes; /* indexed by number; node 0 is the root, not a frame */
	uint32_t node_room, node_count;
	uint32_t *node_table; /* hash table of the nodes' numbers, by parent and address; 0: free */
	uint64_t node_mask;

	struct shape *shapes;
	uint32_t shape_mask, shape_count;
	struct shape *recent[256];

	struct thread *thread_table; /* hash table of the threads, by number and pthread_t */
	uint32_t thread_mask, thread_count;
	struct thread *thread; /* thread of the last event; NULL: the block has no events yet */
	struct model *models[HTR_MODELS];
	uint32_t model_count; /* number of models in use in this block */

	/* remembered lists of arguments; their keys are bytes of records; NULL: none yet */
	struct htr_list *lists;
	/* the list that is being added and will be remembered when it is complete; NULL: none */
	struct htr_list *list;
	size_t list_begin; /* where the list begins, as an offset in the column */
};

inline_ uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

inline_ void put_number(struct column *to, uint64_t value)
{
	to->at = put_varint(to->at, value);
}

inline_ void put_difference(struct column *to, uint64_t value)
{
	to->at = put_varint(to->at, htr_zigzag(value));
}

/*
 * Shifts those bits of `value` that are at position `bit` or above to the left by one. This makes
 * room for the highest bit of a byte, since each byte of a varint has only seven bits of the value.
 */
inline_ uint32_t spread(uint32_t value, int bit)
{
	return value + (value & ~0u << bit);
}

/*
 * put_any() and put_little() write a value without a branch, since a mispredicted branch would cost
 * more than all other work: the size is unpredictable, and the value 0 has no bytes. put_any()
 * always stores four bytes, put_little() two; the next value overwrites the excess bytes.
 */
inline_ void put_any(struct column *to, uint64_t value)
{
	uint32_t bytes = spread(spread(spread((uint32_t)value, 7), 15), 23), bits;

	if (__builtin_expect(value >> 28 != 0, 0)) {
		put_number(to, value);
		return;
	}
	/*
	 * eight times the number of bytes, computed from the highest set bit of 2 * `bytes` + 1,
	 * which is bit 0 if the value is 0
	 */
	bits = (70u - (uint32_t)__builtin_clzll((uint64_t)bytes << 1 | 1)) & 56;
	bytes = htole32(bytes | 0x808080u >> ((32 - bits) & 31));
	memcpy(to->at, &bytes, sizeof(bytes));
	to->at += bits / 8;
}

inline_ void put_little(struct column *to, uint64_t value)
{
	uint32_t low = (uint32_t)value, is_two = low > 0x7f;
	uint16_t bytes = htole16((uint16_t)(spread(low, 7) | is_two << 7));

	if (__builtin_expect(value >> 14 != 0, 0)) {
		put_number(to, value);
		return;
	}
	memcpy(to->at, &bytes, sizeof(bytes));
	to->at += (low != 0) + is_two;
}

inline_ void put_text_bytes(struct column *to, const char *text, size_t length)
{
	memcpy(to->at, text, length);
	to->at += length;
	*to->at++ = 0;
}

inline_ void put_text(struct column *to, const char *text)
{
	put_text_bytes(to, text, strlen(text));
}

inline_ void put_bytes(struct column *to, struct htr_bytes bytes)
{
	put_number(to, bytes.size);
	memcpy(to->at, bytes.at, bytes.size);
	to->at += bytes.size;
}

#define DEFINITION(name, description)                                                \
	inline_ void define_##name(struct htr *htr, const struct htr_##name *fields) \
	{                                                                            \
		struct column *to = &htr->definitions;                               \
		*to->at++ = HTR_DEFINITION_##name;
#define FIELD(kind, name, description) put_##kind(to, fields->name);
#define DEFINITION_END(name)	       }
#include "htr.def"

inline_ size_t column_size(const struct column *column)
{
	return (size_t)(column->at - column->start);
}

void htr_free_names(struct names *names);

/* Switches to the thread of the next event and returns the thread's model. NULL: no memory. */
struct model *htr_change_thread(struct htr *htr, uint32_t number, uint64_t pthread);

/* Returns the child of node `parent` with this address, and adds it if it is new. 0: no memory. */
uint32_t htr_find_node(struct htr *htr, uint32_t parent, uint64_t address);

/* Finds or adds a shape that is not in htr->recent. *is_new: whether it was added. */
struct shape *htr_find_shape(struct htr *htr, const struct htr_key *key, bool *is_new);

/* Returns where a node remembers a child. Ignores bit 0: return addresses are never adjacent. */
inline_ uint32_t *htr_child(struct node *node, uint64_t address)
{
	return &node->children[(address ^ address >> 3) >> 1 & 1];
}

inline_ uint64_t hash_node(uint32_t parent, uint64_t address)
{
	return hash_mix(address ^ 0xa0761d6478bd642full, parent ^ 0xe7037ed1a0b428dbull);
}

inline_ uint64_t hash_shape(const struct htr_key *key)
{
	return hash_mix(key->words[0] ^ 0xa0761d6478bd642full,
			key->words[1] ^ key->words[2] ^ 0xe7037ed1a0b428dbull);
}

inline_ bool same_shape(const struct htr_key *one, const struct htr_key *two)
{
	return one->words[0] == two->words[0] && one->words[1] == two->words[1] &&
	       one->words[2] == two->words[2];
}

#endif
