/* SPDX-License-Identifier: MIT */
#include "collect/htr.h"

#include <stdlib.h>

#include "base/table.h"

#define EVENTS_MAX	24576u	     /* in a block: about 256 KiB */
#define OTHERS_FULL	(192u << 10) /* bytes of others or of definitions that end a block early */
#define EVENT_MOST	(320u << 10) /* what one event, or one piece of packets, adds at most */
#define PATH_MAX_FRAMES WIRE_FRAMES_MAX

/* A frame under a backtrace, and the backtrace of both. */
struct node {
	uint64_t address;
	uint32_t parent;
	uint32_t id; /* 0: free */
};

struct name {
	const char *text;
	size_t length;
	uint32_t id;
};

struct names {
	struct table table;
	uint32_t count;
};

struct thread {
	uint32_t id;
	uint32_t number;
	uint64_t pthread;
	uint32_t block; /* the block in which model is its own */
	uint32_t model;
};

/* All fields of struct htr_shape, packed to be compared at once. */
struct shape_key {
	uint64_t words[3];
};

struct shape {
	struct shape_key key;
	uint32_t id; /* 0: free */
};

/*
 * What was sent of a thread in this block, and its last backtrace: addresses and nodes, outermost
 * at the end, as merge has its frames.
 */
struct model {
	struct htr_model model;
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
	struct htr_block header; /* of the block that is being filled */
	uint64_t last_ns;	 /* time of its last event */
	uint64_t node_address;	 /* of the last node defined in it */
	struct htr_stamp stamp;
	uint32_t block; /* its number, from 1 */
	bool has_failed;
	struct names functions, argument_names;

	struct node *nodes; /* a table, by parent and address */
	uint64_t node_mask;
	uint32_t node_count;

	struct shape *shapes;
	uint32_t shape_mask, shape_count;
	struct shape *recent[256];

	struct thread *thread_table; /* by number and pthread_t */
	uint32_t thread_mask, thread_count;
	struct thread *thread; /* of the last event; NULL: the block has none */
	struct model *models[HTR_MODELS];
	uint32_t model_count; /* that are in use in this block */
};

/* ---- bytes ---- */

inline_ uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static void put_number(struct column *to, uint64_t value)
{
	to->at = put_varint(to->at, value);
}

static void put_difference(struct column *to, uint64_t value)
{
	to->at = put_varint(to->at, htr_zigzag(value));
}

static void put_text_bytes(struct column *to, const char *text, size_t length)
{
	memcpy(to->at, text, length);
	to->at += length;
	*to->at++ = 0;
}

static void put_text(struct column *to, const char *text)
{
	put_text_bytes(to, text, strlen(text));
}

static void put_bytes(struct column *to, struct htr_bytes bytes)
{
	put_number(to, bytes.size);
	memcpy(to->at, bytes.at, bytes.size);
	to->at += bytes.size;
}

#define DEFINITION(name, description)                                               \
	static void define_##name(struct htr *htr, const struct htr_##name *fields) \
	{                                                                           \
		struct column *to = &htr->definitions;                              \
		*to->at++ = HTR_DEFINITION_##name;
#define FIELD(kind, name, description) put_##kind(to, fields->name);
#define DEFINITION_END(name)	       }
#include "htr.def"

/* ---- making ---- */

static size_t column_size(const struct column *column)
{
	return (size_t)(column->at - column->start);
}

static bool make_column(struct column *column, size_t room)
{
	column->start = column->at = malloc(room);
	return column->start != NULL;
}

/* So much that no event needs to ask for room. */
static bool make_columns(struct htr *htr)
{
	size_t each = (EVENTS_MAX + 1) * 2 * HTR_VARINT_MAX;
	bool good = make_column(&htr->definitions, OTHERS_FULL + 2 * EVENT_MOST);

	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		good &= make_column(&htr->columns[i],
				    i == HTR_COLUMN_others ? OTHERS_FULL + 2 * EVENT_MOST : each);
	return good;
}

static void begin_block(struct htr *htr)
{
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		htr->columns[i].at = htr->columns[i].start;
	htr->definitions.at = htr->definitions.start;
	htr->header = (struct htr_block){
		.first_call = htr->header.first_call + htr->header.calls,
		.first_function = htr->functions.count,
		.first_thread = htr->thread_count,
		.first_name = htr->argument_names.count,
		.first_shape = htr->shape_count,
		.first_node = htr->node_count,
	};
	htr->block++;
	htr->thread = NULL;
	htr->model_count = 0;
	htr->node_address = 0;
	htr->last_ns = 0;
	htr->header.first_ns = UINT64_MAX;
	htr->stamp = (struct htr_stamp){ 0 };
}

struct htr *htr_create(void)
{
	struct htr *htr = calloc(1, sizeof(*htr));

	if (!htr)
		return NULL;
	table_init(&htr->functions.table);
	table_init(&htr->argument_names.table);
	htr->node_mask = 1023;
	htr->shape_mask = 255;
	htr->thread_mask = 15;
	htr->nodes = calloc(htr->node_mask + 1, sizeof(*htr->nodes));
	htr->shapes = calloc(htr->shape_mask + 1, sizeof(*htr->shapes));
	htr->thread_table = calloc(htr->thread_mask + 1, sizeof(*htr->thread_table));
	if (!make_columns(htr) || !htr->nodes || !htr->shapes || !htr->thread_table) {
		htr_destroy(htr);
		return NULL;
	}
	begin_block(htr);
	return htr;
}

static void free_names(struct names *names)
{
	for (size_t i = 0; names->table.slots && i <= names->table.mask; i++)
		free(names->table.slots[i].item);
	table_free(&names->table);
}

void htr_destroy(struct htr *htr)
{
	if (!htr)
		return;
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		free(htr->columns[i].start);
	free(htr->definitions.start);
	for (uint32_t i = 0; i < HTR_MODELS; i++)
		free(htr->models[i]);
	free_names(&htr->functions);
	free_names(&htr->argument_names);
	free(htr->nodes);
	free(htr->shapes);
	free(htr->thread_table);
	free(htr);
}

/* ---- names ---- */

static bool name_equal(const void *item, const void *key)
{
	const struct name *one = item, *two = key;

	return one->length == two->length && !memcmp(one->text, two->text, two->length);
}

/* The name as it is known. *is_new: it has just become so. NULL: no memory. */
static const struct name *find_name(struct names *names, const char *text, size_t length,
				    bool *is_new)
{
	struct name key = { text, length, 0 };
	uint64_t hash = hash_bytes(names->table.seed, text, length);
	struct name *found = table_find(&names->table, hash, name_equal, &key);

	*is_new = false;
	if (found)
		return found;
	found = malloc(sizeof(*found) + length + 1);
	if (!found || table_add(&names->table, hash, found)) {
		free(found);
		return NULL;
	}
	memcpy(found + 1, text, length);
	((char *)(found + 1))[length] = 0;
	*found = (struct name){ (const char *)(found + 1), length, names->count++ };
	*is_new = true;
	return found;
}

uint32_t htr_function(struct htr *htr, const char *text, size_t length)
{
	bool is_new;
	const struct name *name = find_name(&htr->functions, text, length, &is_new);

	if (!name) {
		htr->has_failed = true;
		return 0;
	}
	if (is_new)
		define_function(htr, &(struct htr_function){ .name = name->text });
	return name->id;
}

/* ---- threads ---- */

static uint64_t hash_thread(uint32_t number, uint64_t pthread)
{
	return hash_two(0, number, pthread);
}

static struct thread *thread_place(struct thread *table, uint64_t mask, uint32_t number,
				   uint64_t pthread)
{
	uint64_t i = hash_thread(number, pthread) & mask;

	while (table[i].block && (table[i].number != number || table[i].pthread != pthread))
		i = (i + 1) & mask;
	return &table[i];
}

static bool grow_threads(struct htr *htr)
{
	uint32_t mask = htr->thread_mask * 2 + 1;
	struct thread *table = calloc(mask + 1ull, sizeof(*table));

	if (!table)
		return false;
	for (uint32_t i = 0; i <= htr->thread_mask; i++) {
		const struct thread *old = &htr->thread_table[i];

		if (old->block)
			*thread_place(table, mask, old->number, old->pthread) = *old;
	}
	free(htr->thread_table);
	htr->thread_table = table;
	htr->thread_mask = mask;
	return true;
}

static struct thread *find_thread(struct htr *htr, uint32_t number, uint64_t pthread)
{
	struct thread *thread = thread_place(htr->thread_table, htr->thread_mask, number, pthread);

	if (thread->block)
		return thread;
	if (htr->thread_count >= htr->thread_mask / 2) {
		if (!grow_threads(htr))
			return NULL;
		thread = thread_place(htr->thread_table, htr->thread_mask, number, pthread);
	}
	*thread = (struct thread){ .id = htr->thread_count++,
				   .number = number,
				   .pthread = pthread,
				   .block = htr->block,
				   .model = HTR_MODELS };
	define_thread(htr, &(struct htr_thread){ .id = number, .pthread = pthread });
	return thread;
}

/* The thread's place in this block. NULL: no memory. */
static struct model *take_model(struct htr *htr, struct thread *thread)
{
	struct model *model;

	if (thread->block == htr->block && thread->model < HTR_MODELS)
		return htr->models[thread->model];
	model = htr->models[htr->model_count];
	if (!model)
		model = htr->models[htr->model_count] = malloc(sizeof(*model));
	if (!model)
		return NULL;
	thread->block = htr->block;
	thread->model = htr->model_count++;
	htr_model_begin(&model->model);
	model->path_count = 0;
	return model;
}

static struct model *change_thread(struct htr *htr, uint32_t number, uint64_t pthread)
{
	struct thread *thread = find_thread(htr, number, pthread);
	struct model *model = thread ? take_model(htr, thread) : NULL;

	if (!model) {
		htr->has_failed = true;
		return NULL;
	}
	htr->thread = thread;
	put_number(&htr->columns[HTR_COLUMN_shapes], 0);
	put_number(&htr->columns[HTR_COLUMN_shapes], thread->id);
	return model;
}

/* ---- backtraces ---- */

inline_ uint64_t hash_node(uint32_t parent, uint64_t address)
{
	return hash_mix(address ^ 0xa0761d6478bd642full, parent ^ 0xe7037ed1a0b428dbull);
}

static bool grow_nodes(struct htr *htr)
{
	uint64_t mask = htr->node_mask * 2 + 1;
	struct node *table = calloc(mask + 1, sizeof(*table));

	if (!table)
		return false;
	for (uint64_t i = 0; i <= htr->node_mask; i++) {
		const struct node *old = &htr->nodes[i];
		uint64_t at = hash_node(old->parent, old->address) & mask;

		if (!old->id)
			continue;
		while (table[at].id)
			at = (at + 1) & mask;
		table[at] = *old;
	}
	free(htr->nodes);
	htr->nodes = table;
	htr->node_mask = mask;
	return true;
}

static uint32_t new_node(struct htr *htr, uint32_t parent, uint64_t address)
{
	uint64_t at;

	if (htr->node_count >= htr->node_mask / 2 && !grow_nodes(htr)) {
		htr->has_failed = true;
		return 0;
	}
	at = hash_node(parent, address) & htr->node_mask;
	while (htr->nodes[at].id)
		at = (at + 1) & htr->node_mask;
	htr->nodes[at] = (struct node){ address, parent, ++htr->node_count };
	define_node(htr, &(struct htr_node){ parent, address - htr->node_address });
	htr->node_address = address;
	return htr->node_count;
}

inline_ uint32_t find_node(struct htr *htr, uint32_t parent, uint64_t address)
{
	for (uint64_t i = hash_node(parent, address) & htr->node_mask;;
	     i = (i + 1) & htr->node_mask) {
		const struct node *node = &htr->nodes[i];

		if (!node->id)
			return new_node(htr, parent, address);
		if (node->address == address && node->parent == parent)
			return node->id;
	}
}

/* How many outer frames are as in the thread's last event. */
inline_ uint32_t common_frames(const struct model *model, const uint64_t *frames, uint32_t count)
{
	uint32_t most = count < model->path_count ? count : model->path_count;
	const uint64_t *one = model->addresses + PATH_MAX_FRAMES, *two = frames + count;
	uint32_t same = 0;

	while (same + 4 <= most) {
		if ((one[-1] ^ two[-1]) | (one[-2] ^ two[-2]) | (one[-3] ^ two[-3]) |
		    (one[-4] ^ two[-4]))
			break;
		one -= 4;
		two -= 4;
		same += 4;
	}
	while (same < most && *--one == *--two)
		same++;
	return same;
}

/* The backtrace as a node; asks the table for the changed frames only. */
inline_ uint32_t find_path(struct htr *htr, struct model *model, const uint64_t *frames,
			   uint32_t count)
{
	uint32_t same, node;

	if (count > PATH_MAX_FRAMES)
		count = PATH_MAX_FRAMES;
	same = common_frames(model, frames, count);
	node = same ? model->nodes[PATH_MAX_FRAMES - same] : 0;
	for (uint32_t i = same; i < count; i++) {
		uint64_t address = frames[count - 1 - i];

		node = find_node(htr, node, address);
		model->addresses[PATH_MAX_FRAMES - 1 - i] = address;
		model->nodes[PATH_MAX_FRAMES - 1 - i] = node;
	}
	model->path_count = count;
	return node;
}

/* ---- shapes ---- */

/* One event on its way into the columns. */
struct draft {
	uint32_t has, rules, depth;
	struct htr_values values;
};

inline_ uint64_t hash_shape(const struct shape_key *key)
{
	return hash_mix(key->words[0] ^ 0xa0761d6478bd642full,
			key->words[1] ^ key->words[2] ^ 0xe7037ed1a0b428dbull);
}

inline_ bool same_shape(const struct shape_key *one, const struct shape_key *two)
{
	return one->words[0] == two->words[0] && one->words[1] == two->words[1] &&
	       one->words[2] == two->words[2];
}

static struct shape *shape_place(struct shape *table, uint64_t mask, const struct shape_key *key)
{
	uint64_t i = hash_shape(key) & mask;

	while (table[i].id && !same_shape(&table[i].key, key))
		i = (i + 1) & mask;
	return &table[i];
}

static bool grow_shapes(struct htr *htr)
{
	uint32_t mask = htr->shape_mask * 2 + 1;
	struct shape *table = calloc(mask + 1ull, sizeof(*table));

	if (!table)
		return false;
	for (uint32_t i = 0; i <= htr->shape_mask; i++)
		if (htr->shapes[i].id)
			*shape_place(table, mask, &htr->shapes[i].key) = htr->shapes[i];
	free(htr->shapes);
	htr->shapes = table;
	htr->shape_mask = mask;
	memset(htr->recent, 0, sizeof(htr->recent));
	return true;
}

static void define(struct htr *htr, const struct draft *draft,
		   const struct encode_packet_call *call, uint32_t function)
{
	define_shape(htr, &(struct htr_shape){
				  .function = function,
				  .resource = call->resource,
				  .context = call->context,
				  .type = call->type,
				  .operation = call->what.operation,
				  .moment = call->what.moment,
				  .part = call->what.part,
				  .bits = call->what.bits,
				  .depth = draft->depth,
				  .error = call->error,
				  .values = draft->has,
				  .rules = draft->rules,
			  });
}

/* A shape that the table of the recent ones does not have. */
static struct shape *find_shape(struct htr *htr, const struct shape_key *key, bool *is_new)
{
	struct shape *shape = shape_place(htr->shapes, htr->shape_mask, key);

	*is_new = !shape->id;
	if (shape->id)
		return shape;
	if (htr->shape_count >= htr->shape_mask / 2) {
		if (!grow_shapes(htr)) {
			htr->has_failed = true;
			return shape;
		}
		shape = shape_place(htr->shapes, htr->shape_mask, key);
	}
	shape->key = *key;
	shape->id = ++htr->shape_count;
	return shape;
}

inline_ uint32_t shape_number(struct htr *htr, const struct draft *draft,
			      const struct encode_packet_call *call, uint32_t function)
{
	struct shape_key key = { {
		function | (uint64_t)draft->has << 16 | (uint64_t)draft->rules << 32 |
			(uint64_t)draft->depth << 48 | (uint64_t)call->resource << 56,
		call->error | (uint64_t)call->context << 32,
		call->what.operation | (uint64_t)call->what.moment << 8 |
			(uint64_t)call->what.part << 16 | (uint64_t)call->what.bits << 24 |
			(uint64_t)call->type << 32,
	} };
	struct shape **recent = &htr->recent[(hash_shape(&key) >> 32) & 255];
	bool is_new;

	if (__builtin_expect(*recent && same_shape(&(*recent)->key, &key), 1))
		return (*recent)->id;
	/* its place may be another after this: grow_shapes() empties the table of the recent */
	*recent = find_shape(htr, &key, &is_new);
	if (is_new)
		define(htr, draft, call, function);
	return (*recent)->id;
}

_Static_assert(HTR_VALUE_COUNT <= 16 && HTR_RULE_COUNT <= 16, "struct shape_key has room");

/* ---- events ---- */

/* Sets a value that is there unless it is 0. */
#define SET(draft, name, value)                                            \
	do {                                                               \
		(draft)->values.name = (value);                            \
		(draft)->has |= (draft)->values.name ? HTR_HAS_##name : 0; \
	} while (0)

inline_ uint64_t magnitude(uint64_t difference)
{
	return difference >> 63 ? 0 - difference : difference;
}

inline_ void draft_times(struct htr *htr, struct draft *draft,
			 const struct encode_packet_call *call)
{
	bool is_entry = call->what.moment == MOMENT_ENTER || call->what.moment == MOMENT_HALF;
	uint64_t time = is_entry ? call->enter_ns : call->leave_ns;
	uint64_t step = time - htr->last_ns;

	if (step >> 63) {
		draft->rules |= HTR_BACK;
		step = 0 - step;
	}
	SET(draft, time, step);
	SET(draft, lasted, call->leave_ns - call->enter_ns);
	SET(draft, stamp, (uint64_t)call->timestamp - htr_stamp_at(&htr->stamp, time));
	htr->last_ns = time;
	if (time < htr->header.first_ns)
		htr->header.first_ns = time;
	if (time > htr->header.last_ns)
		htr->header.last_ns = time;
}

inline_ void draft_object(struct draft *draft, struct htr_model *model, struct htr_site *site,
			  const struct encode_packet_call *call)
{
	uint64_t *last = htr_model_object(model, call->resource);
	uint64_t step = call->object - *last, at_site = call->object - site->object;

	if (magnitude(at_site) < magnitude(step)) {
		step = at_site;
		draft->rules |= HTR_OBJECT_AT_SITE;
	}
	if (step && !(step & 15)) {
		step = (uint64_t)((int64_t)step >> 4);
		draft->rules |= HTR_OBJECT_BY_16;
	}
	SET(draft, object, step);
	*last = site->object = call->object;
}

inline_ void draft_site(struct draft *draft, struct htr_model *model, struct htr_site *site,
			const struct encode_packet_call *call)
{
	uint64_t step = call->frame - site->frame;

	if (step && !(step & 7)) {
		step = (uint64_t)((int64_t)step >> 3);
		draft->rules |= HTR_FRAME_BY_8;
	}
	SET(draft, frame, step);
	model->frame = site->frame = call->frame;
	if (call->bytes && call->bytes == site->size)
		draft->rules |= HTR_SIZE_AT_SITE;
	else
		SET(draft, size, call->bytes);
	site->size = call->bytes;
}

inline_ void draft_others(struct draft *draft, struct htr_model *model,
			  const struct encode_packet_call *call)
{
	uint32_t depth = call->depth < HTR_DEPTH_MAX ? call->depth : HTR_DEPTH_MAX;

	if (call->call == model->call)
		draft->rules |= HTR_CALL_SAME;
	else
		SET(draft, call, call->call - (model->call + 1));
	model->call = call->call;
	if (call->related) {
		draft->rules |= HTR_RELATED_NEAR;
		SET(draft, related, call->related - call->object);
	}
	if (call->result && call->result == call->object)
		draft->rules |= HTR_RESULT_NEAR;
	else
		SET(draft, result, call->result);
	if (call->cpu != model->cpu) {
		draft->values.cpu = call->cpu + 1ull;
		draft->has |= HTR_HAS_cpu;
	}
	model->cpu = call->cpu;
	draft->depth = depth;
	SET(draft, depth, call->depth - depth);
}

inline_ void put_event(struct htr *htr, uint32_t shape, const struct draft *draft)
{
	uint32_t has = draft->has;

	put_number(&htr->columns[HTR_COLUMN_shapes], shape);
#define VALUE(column, sign, name, description) \
	if (has & HTR_HAS_##name)              \
		put_##sign(&htr->columns[HTR_COLUMN_##column], draft->values.name);
#include "htr.def"
	htr->header.events++;
	htr->header.calls++;
}

/* No stream of ours has more; a strange one may. */
inline_ bool is_sayable(const struct htr *htr, const struct htr_event *event)
{
	return htr->shape_count < HTR_SHAPES_MAX && event->function < 1u << 16 &&
	       event->call->resource < 1u << 8;
}

bool htr_event(struct htr *htr, const struct htr_event *event)
{
	const struct encode_packet_call *call = event->call;
	struct model *model;
	struct htr_site *site, *before;
	struct draft draft = { .rules = event->has_arguments ? HTR_ARGUMENTS : 0 };
	uint32_t node;

	if (__builtin_expect(!is_sayable(htr, event), 0))
		return false;
	if (htr->thread && htr->thread->number == call->thread &&
	    htr->thread->pthread == call->pthread)
		model = htr->models[htr->thread->model];
	else
		model = change_thread(htr, call->thread, call->pthread);
	if (!model)
		return false;
	node = find_path(htr, model, event->frames, event->frame_count);
	before = &model->model.sites[model->model.last];
	if (node != before->next) {
		draft.values.node = node;
		draft.has |= HTR_HAS_node;
	}
	before->next = node;
	model->model.last = node % HTR_SITES;
	site = htr_model_site(&model->model, node);
	draft_times(htr, &draft, call);
	draft_object(&draft, &model->model, site, call);
	draft_site(&draft, &model->model, site, call);
	draft_others(&draft, &model->model, call);
	put_event(htr, shape_number(htr, &draft, call, event->function), &draft);
	return true;
}

void htr_argument(struct htr *htr, const char *name, size_t name_length, const char *value,
		  size_t length)
{
	struct column *to = &htr->columns[HTR_COLUMN_others];
	bool is_new;
	const struct name *known;

	/* hosts' arguments are far below; those of a strange stream need not be */
	if (column_size(to) + name_length + length > OTHERS_FULL + EVENT_MOST)
		return;
	known = find_name(&htr->argument_names, name, name_length, &is_new);
	if (!known) {
		htr->has_failed = true;
		return;
	}
	if (is_new)
		define_name(htr, &(struct htr_name){ .name = known->text });
	put_number(to, known->id + 1ull);
	put_text_bytes(to, value, length);
}

void htr_arguments_end(struct htr *htr)
{
	put_number(&htr->columns[HTR_COLUMN_others], 0);
}

void htr_packets(struct htr *htr, const uint8_t *bytes, size_t size, bool is_call)
{
	define_packet(htr, &(struct htr_packet){ htr->header.events, { bytes, size } });
	htr->header.calls += is_call;
}

/* ---- blocks ---- */

bool htr_is_full(const struct htr *htr)
{
	return htr->header.events >= EVENTS_MAX || htr->model_count >= HTR_MODELS ||
	       column_size(&htr->definitions) >= OTHERS_FULL ||
	       column_size(&htr->columns[HTR_COLUMN_others]) >= OTHERS_FULL;
}

bool htr_is_empty(const struct htr *htr)
{
	return !htr->header.events && !column_size(&htr->definitions);
}

bool htr_has_failed(const struct htr *htr)
{
	return htr->has_failed;
}

struct htr_block_parts *htr_take(struct htr *htr)
{
	struct htr_block_parts *parts;
	size_t definitions = column_size(&htr->definitions), events = 0;
	uint8_t *at;

	if (htr_is_empty(htr))
		return NULL;
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		events += column_size(&htr->columns[i]);
	parts = malloc(sizeof(*parts) + definitions + events + HTR_COLUMN_COUNT * HTR_VARINT_MAX);
	if (!parts)
		return NULL;
	memcpy(parts->bytes, htr->definitions.start, definitions);
	at = parts->bytes + definitions;
	for (int i = 0; i < HTR_COLUMN_COUNT && htr->header.events; i++)
		at = put_varint(at, column_size(&htr->columns[i]));
	for (int i = 0; i < HTR_COLUMN_COUNT && htr->header.events; i++) {
		memcpy(at, htr->columns[i].start, column_size(&htr->columns[i]));
		at += column_size(&htr->columns[i]);
	}
	parts->header = htr->header;
	if (!htr->header.events)
		parts->header.first_ns = 0;
	parts->header.definitions_size = (uint32_t)definitions;
	parts->header.events_size = (uint32_t)(at - parts->bytes - definitions);
	begin_block(htr);
	return parts;
}
