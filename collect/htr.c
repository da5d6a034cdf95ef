/* SPDX-License-Identifier: MIT */
#include "collect/htr_parts.h"

#include <stdlib.h>
#include <sys/mman.h>

/* maximum number of events in a block of an .htr file; such a block has about 256 KiB */
#define EVENTS_MAX 24576u

inline_ bool is_full(const struct htr *htr)
{
	return htr->header.events >= EVENTS_MAX || htr->model_count >= HTR_MODELS ||
	       column_size(&htr->definitions) >= HTR_OTHERS_FULL ||
	       column_size(&htr->columns[HTR_COLUMN_others]) >= HTR_OTHERS_FULL;
}

/* ---- creation ---- */

/* All columns get the size that the largest column, `others`, needs. */
#define COLUMN_ROOM (HTR_OTHERS_FULL + 2 * HTR_EVENT_MOST)
_Static_assert(COLUMN_ROOM >= (EVENTS_MAX + 1) * 2 * HTR_VARINT_MAX,
	       "a column must hold two numbers of each event");

#define COLUMNS_ROOM ((HTR_COLUMN_COUNT + 1) * (size_t)COLUMN_ROOM)

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
	uint8_t *room;

	if (!htr)
		return NULL;
	/*
	 * Maps enough memory for all columns, so that the code that adds an event does not check
	 * whether there is room. Uses mmap(), since a short stream touches few pages of a new
	 * mapping, whereas malloc() may return pages that were touched before.
	 */
	room = mmap(NULL, COLUMNS_ROOM, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED) {
		free(htr);
		return NULL;
	}
	htr->definitions.start = room;
	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		htr->columns[i].start = room + (i + 1) * COLUMN_ROOM;
	hash_table_init(&htr->functions.table);
	hash_table_init(&htr->argument_names.table);
	htr->node_mask = 4095;
	htr->node_room = 1024;
	htr->shape_mask = 255;
	htr->thread_mask = 15;
	htr->nodes = malloc(htr->node_room * sizeof(*htr->nodes));
	htr->node_table = calloc(htr->node_mask + 1, sizeof(*htr->node_table));
	htr->shapes = calloc(htr->shape_mask + 1, sizeof(*htr->shapes));
	htr->thread_table = calloc(htr->thread_mask + 1, sizeof(*htr->thread_table));
	if (!htr->nodes || !htr->node_table || !htr->shapes || !htr->thread_table) {
		htr_destroy(htr);
		return NULL;
	}
	htr->nodes[0] = (struct node){ 0 };
	begin_block(htr);
	return htr;
}

uint64_t htr_calls(const struct htr *htr)
{
	return htr->header.first_call + htr->header.calls;
}

struct htr *htr_next(const struct htr *before)
{
	struct htr *htr = htr_create();

	if (!htr)
		return NULL;
	htr->header.first_call = htr_calls(before);
	htr->see = before->see;
	htr->see_context = before->see_context;
	return htr;
}

void htr_watch(struct htr *htr, void (*see)(void *context, uint64_t address), void *context)
{
	htr->see = see;
	htr->see_context = context;
}

void htr_destroy(struct htr *htr)
{
	if (!htr)
		return;
	munmap(htr->definitions.start, COLUMNS_ROOM);
	for (uint32_t i = 0; i < HTR_MODELS; i++)
		free(htr->models[i]);
	htr_free_names(&htr->functions);
	htr_free_names(&htr->argument_names);
	free(htr->nodes);
	free(htr->node_table);
	free(htr->shapes);
	free(htr->thread_table);
	free(htr->lists);
	free(htr);
}

/* ---- lookups ---- */

/* Returns how many outer frames are the same as in the thread's previous event. */
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

/* Whether the `fresh` frames lead from `node` up to its ancestor `from`. Adds them to the model. */
inline_ bool leads_to(const struct htr *htr, struct model *model, const uint64_t *frames,
		      uint32_t fresh, uint32_t from, uint32_t node)
{
	uint32_t at = PATH_MAX_FRAMES - (model->path_count + fresh);

	for (uint32_t i = 0; i < fresh; i++) {
		const struct node *one = &htr->nodes[node];

		if (!node || one->address != frames[i])
			return false;
		model->addresses[at + i] = one->address;
		model->nodes[at + i] = node;
		node = one->parent;
	}
	return node == from;
}

/*
 * Finds the node of a backtrace in the tree of backtraces. same: number of outer frames that are
 * the same as in the thread's previous event; only the other frames are looked up. likely: a guess
 * at the result, the node that came next when the previous event's node last occurred.
 */
inline_ uint32_t find_path(struct htr *htr, struct model *model, const uint64_t *frames,
			   uint32_t count, uint32_t same, uint32_t likely)
{
	uint32_t node = same ? model->nodes[PATH_MAX_FRAMES - same] : 0;

	model->path_count = same;
	if (count == same)
		return node;
	if (__builtin_expect(leads_to(htr, model, frames, count - same, node, likely), 1)) {
		model->path_count = count;
		return likely;
	}
	for (uint32_t i = same; i < count; i++) {
		uint64_t address = frames[count - 1 - i];
		uint32_t child;

		child = *htr_child(&htr->nodes[node], address);
		node = __builtin_expect(child && htr->nodes[child].address == address, 1)
			       ? child
			       : htr_find_node(htr, node, address);
		model->addresses[PATH_MAX_FRAMES - 1 - i] = address;
		model->nodes[PATH_MAX_FRAMES - 1 - i] = node;
	}
	model->path_count = count;
	return node;
}

/* The parts of an event's shape (struct htr_shape) that depend on the event's values. */
struct draft {
	uint32_t has, rules, depth;
};

/* Returns the key of a shape without the parts that depend on values. */
inline_ struct htr_key key_of(const struct encode_packet_call *call, uint32_t function)
{
	return (struct htr_key){ {
		function | (uint64_t)call->resource << 56,
		call->error | (uint64_t)call->context << 32,
		call->what.operation | (uint64_t)call->what.moment << 8 |
			(uint64_t)call->what.part << 16 | (uint64_t)call->what.bits << 24 |
			(uint64_t)call->type << 32,
	} };
}

static void define(struct htr *htr, const struct htr_key *key)
{
	const uint64_t *words = key->words;

	define_shape(htr, &(struct htr_shape){
				  .function = words[0] & UINT16_MAX,
				  .values = words[0] >> 16 & UINT16_MAX,
				  .rules = words[0] >> 32 & UINT16_MAX,
				  .depth = words[0] >> 48 & UINT8_MAX,
				  .resource = words[0] >> 56,
				  .error = words[1] & UINT32_MAX,
				  .context = words[1] >> 32,
				  .operation = words[2] & UINT8_MAX,
				  .moment = words[2] >> 8 & UINT8_MAX,
				  .part = words[2] >> 16 & UINT8_MAX,
				  .bits = words[2] >> 24 & UINT8_MAX,
				  .type = words[2] >> 32,
			  });
}

static uint32_t shape_number(struct htr *htr, const struct draft *draft, struct htr_key key)
{
	struct shape **recent;
	bool is_new;

	key.words[0] |= (uint64_t)draft->has << 16 | (uint64_t)draft->rules << 32 |
			(uint64_t)draft->depth << 48;
	recent = &htr->recent[(hash_shape(&key) >> 32) & 255];
	if (__builtin_expect(*recent && same_shape(&(*recent)->key, &key), 1))
		return (*recent)->id;
	/* htr_find_shape() may move all shapes; then grow_shapes() empties htr->recent */
	*recent = htr_find_shape(htr, &key, &is_new);
	if (is_new)
		define(htr, &key);
	return (*recent)->id;
}

_Static_assert(HTR_VALUE_COUNT <= 16 && HTR_RULE_COUNT <= 16,
	       "struct htr_key has at most 16 values and 16 rules");

/* Like shape_number(), but for a call on the fast path. Usually `kind` has the shape already. */
inline_ uint32_t shape_of_kind(struct htr *htr, const struct draft *draft, struct htr_kind *kind)
{
	uint32_t own = draft->has | draft->rules << HTR_VALUE_COUNT |
		       draft->depth << (HTR_VALUE_COUNT + HTR_RULE_COUNT);
	uint64_t *known = &kind->shapes[(own * 0x9e3779b1u) >> 28];

	if (__builtin_expect(*known >> 32 != own || !*known, 0))
		*known = (uint64_t)own << 32 | shape_number(htr, draft, kind->key);
	return (uint32_t)*known;
}

_Static_assert(HTR_VALUE_COUNT + HTR_RULE_COUNT + 4 <= 32 && HTR_DEPTH_MAX < 1u << 4,
	       "shape_of_kind() packs these values into 32 bits");
_Static_assert(HTR_KIND_SHAPES == 1u << (32 - 28),
	       "shape_of_kind() takes the index from the 4 highest bits");

/* ---- events ---- */

/*
 * Defines put_value_time(htr, &draft, value) and so on, one for each VALUE row of htr.def. Each
 * writes a value into its column. The values of a column must be written in the order of the rows.
 */
#define VALUE(column, sign, name, description)                                              \
	inline_ void put_value_##name(struct htr *htr, struct draft *draft, uint64_t value) \
	{                                                                                   \
		draft->has |= HTR_HAS_##name;                                               \
		put_##sign(&htr->columns[HTR_COLUMN_##column], value);                      \
	}
#include "htr.def"

/* Writes a value unless it is 0. */
#define PUT(htr, draft, name, value)                              \
	do {                                                      \
		uint64_t number = (value);                        \
		if (number)                                       \
			put_value_##name((htr), (draft), number); \
	} while (0)

/*
 * Returns all ones if the condition is true, otherwise 0. A mask is used instead of a branch if the
 * condition is unpredictable, since a mispredicted branch costs more than all other work on a
 * value. Compilers may compile a conditional expression to a branch, but not a mask.
 */
inline_ uint64_t mask_of(bool condition)
{
	return 0 - (uint64_t)condition;
}

inline_ uint64_t magnitude(uint64_t difference)
{
	uint64_t sign = (uint64_t)((int64_t)difference >> 63);

	return (difference ^ sign) - sign;
}

inline_ void draft_time(struct htr *htr, struct draft *draft, uint64_t time)
{
	uint64_t step = time - htr->last_ns;

	if (step >> 63) {
		draft->rules |= HTR_BACK;
		step = 0 - step;
	}
	draft->has |= step ? HTR_HAS_time : 0;
	put_little(&htr->columns[HTR_COLUMN_times], step);
	htr->last_ns = time;
	if (time < htr->header.first_ns)
		htr->header.first_ns = time;
	if (time > htr->header.last_ns)
		htr->header.last_ns = time;
}

inline_ void draft_object(struct htr *htr, struct draft *draft, uint64_t *last,
			  struct htr_site *site, uint64_t object)
{
	uint64_t step = object - *last, at_site = object - site->object;
	bool is_nearer = magnitude(at_site) < magnitude(step), is_by_16;

	step ^= (step ^ at_site) & mask_of(is_nearer);
	is_by_16 = !(step & 15) & (step != 0);
	step = (uint64_t)((int64_t)step >> 4 * is_by_16);
	draft->rules |= is_nearer * HTR_OBJECT_AT_SITE | is_by_16 * HTR_OBJECT_BY_16;
	draft->has |= (step != 0) * HTR_HAS_object;
	put_any(&htr->columns[HTR_COLUMN_objects], htr_zigzag(step));
	*last = site->object = object;
}

inline_ void draft_frame(struct htr *htr, struct draft *draft, struct htr_model *model,
			 struct htr_site *site, uint64_t frame)
{
	uint64_t step = frame - site->frame;

	if (step && !(step & 7)) {
		step = (uint64_t)((int64_t)step >> 3);
		draft->rules |= HTR_FRAME_BY_8;
	}
	PUT(htr, draft, frame, step);
	model->frame = site->frame = frame;
}

inline_ void draft_size(struct htr *htr, struct draft *draft, struct htr_site *site, uint64_t size)
{
	bool is_as_before = (size == site->size) & (size != 0);
	uint64_t said = size & ~mask_of(is_as_before);

	draft->rules |= is_as_before * HTR_SIZE_AT_SITE;
	draft->has |= (said != 0) * HTR_HAS_size;
	put_little(&htr->columns[HTR_COLUMN_sizes], said);
	site->size = size;
}

inline_ void draft_number(struct htr *htr, struct draft *draft, struct htr_model *model,
			  uint64_t call)
{
	if (call == model->call)
		draft->rules |= HTR_CALL_SAME;
	else
		PUT(htr, draft, call, call - (model->call + 1));
	model->call = call;
}

inline_ void draft_related(struct htr *htr, struct draft *draft, uint64_t related, uint64_t object)
{
	uint64_t step = related - object;

	if (!related)
		return;
	/* `related` is a number, or the address of a second object, usually near the first */
	if (magnitude(step) <= magnitude(related))
		draft->rules |= HTR_RELATED_NEAR;
	else
		step = related;
	PUT(htr, draft, related, step);
}

inline_ void draft_result(struct htr *htr, struct draft *draft, uint64_t result, uint64_t object)
{
	bool is_near = (result == object) & (result != 0);

	draft->rules |= is_near * HTR_RESULT_NEAR;
	PUT(htr, draft, result, result & ~mask_of(is_near));
}

inline_ void draft_cpu(struct htr *htr, struct draft *draft, struct htr_model *model, uint32_t cpu)
{
	if (cpu != model->cpu)
		put_value_cpu(htr, draft, cpu + 1ull);
	model->cpu = cpu;
}

inline_ void draft_depth(struct htr *htr, struct draft *draft, uint32_t depth)
{
	draft->depth = depth < HTR_DEPTH_MAX ? depth : HTR_DEPTH_MAX;
	PUT(htr, draft, depth, depth - draft->depth);
}

inline_ void put_shape(struct htr *htr, uint32_t shape)
{
	put_number(&htr->columns[HTR_COLUMN_shapes], shape);
	htr->header.events++;
	htr->header.calls++;
}

inline_ struct model *model_of(struct htr *htr, uint32_t thread, uint64_t pthread)
{
	const struct thread *last = htr->thread;

	if (__builtin_expect(last && last->number == thread && last->pthread == pthread, 1))
		return htr->models[last->model];
	return htr_change_thread(htr, thread, pthread);
}

/* Returns the site of the thread's last event. Its `next` is a guess at the next event's node. */
inline_ struct htr_site *last_site(struct model *model)
{
	return &model->model.sites[model->model.last];
}

inline_ struct htr_site *draft_node(struct htr *htr, struct draft *draft, struct model *model,
				    uint32_t node)
{
	struct htr_site *before = last_site(model);

	if (node != before->next)
		put_value_node(htr, draft, node);
	before->next = node;
	model->model.last = node % HTR_SITES;
	return htr_model_site(&model->model, node);
}

inline_ void draft_call(struct htr *htr, struct draft *draft, struct htr_model *model,
			struct htr_site *site, const struct encode_packet_call *call)
{
	draft_object(htr, draft, htr_model_object(model, call->resource), site, call->object);
	draft_frame(htr, draft, model, site, call->frame);
	draft_size(htr, draft, site, call->bytes);
	draft_number(htr, draft, model, call->call);
	draft_related(htr, draft, call->related, call->object);
	draft_result(htr, draft, call->result, call->object);
	draft_cpu(htr, draft, model, call->cpu);
	draft_depth(htr, draft, call->depth);
}

/*
 * Like draft_call(), but for a call on the fast path. Reads each value where it is needed, since a
 * struct with copies of all values would have to be written and read again.
 */
inline_ void draft_fast(struct htr *htr, struct draft *draft, struct htr_model *model,
			struct htr_site *site, const struct htr_kind *kind,
			const struct fast_call *fast)
{
	const struct record_short *record = fast->record;
	bool made = record->form & SHORT_MADE;

	draft_object(htr, draft, htr_model_object(model, kind->key.words[0] >> 56), site,
		     record->object);
	draft_frame(htr, draft, model, site, fast->model->frame);
	draft_size(htr, draft, site, record->size);
	draft_number(htr, draft, model, fast->model->call);
	draft_related(htr, draft, fast->related, record->object);
	draft_result(htr, draft, record->object & mask_of(made), record->object);
	draft_cpu(htr, draft, model, (uint32_t)fast->model->cpu);
	draft_depth(htr, draft, record->depth);
}

bool htr_event(struct htr *htr, const struct htr_event *event)
{
	const struct encode_packet_call *call = event->call;
	struct draft draft = { .rules = event->has_arguments ? HTR_ARGUMENTS : 0 };
	bool is_entry = call->what.moment == MOMENT_ENTER || call->what.moment == MOMENT_HALF;
	const uint64_t *frames = event->frames;
	uint32_t count = event->frame_count, node;
	struct htr_site *site;
	struct model *model;

	/* events of holdtrace never exceed these limits, but events of other tools may */
	if (__builtin_expect(htr->shape_count >= HTR_SHAPES_MAX || event->function >= 1u << 16 ||
				     call->resource >= 1u << 8,
			     0))
		return false;
	model = model_of(htr, call->thread, call->pthread);
	if (!model)
		return false;
	model->memory = NULL;
	if (count > PATH_MAX_FRAMES)
		count = PATH_MAX_FRAMES;
	node = find_path(htr, model, frames, count, common_frames(model, frames, count),
			 last_site(model)->next);
	site = draft_node(htr, &draft, model, node);
	draft_time(htr, &draft, is_entry ? call->enter_ns : call->leave_ns);
	PUT(htr, &draft, lasted, call->leave_ns - call->enter_ns);
	draft_call(htr, &draft, &model->model, site, call);
	PUT(htr, &draft, stamp,
	    (uint64_t)call->timestamp - htr_stamp_at(&htr->stamp, htr->last_ns));
	put_shape(htr, shape_number(htr, &draft, key_of(call, event->function)));
	return true;
}

void htr_make_kind(struct htr_kind *kind, const struct encode_packet_call *call, uint32_t function)
{
	*kind = (struct htr_kind){ .key = key_of(call, function) };
}

/*
 * Like common_frames(), but without a comparison if the call is the next update of the same
 * remembered backtrace.
 */
inline_ uint32_t kept_frames(const struct model *model, const struct fast_call *fast)
{
	if (__builtin_expect(fast->memory && fast->memory == model->memory &&
				     fast->turn == model->turn + 1,
			     1))
		return fast->kept < model->path_count ? fast->kept : model->path_count;
	return common_frames(model, fast->frames, fast->frame_count);
}

bool htr_fast(struct htr *htr, struct htr_kind *kind, const struct fast_call *fast,
	      uint64_t time_ns, uint64_t lasted_ns)
{
	struct draft draft = { .rules = fast_has_arguments(fast) ? HTR_ARGUMENTS : 0 };
	struct model *model = NULL;
	struct htr_site *site;
	uint32_t node;

	if (__builtin_expect(htr->shape_count < HTR_SHAPES_MAX && !is_full(htr), 1))
		model = model_of(htr, (uint32_t)fast->thread, fast->pthread);
	if (__builtin_expect(!model, 0))
		return false;
	node = find_path(htr, model, fast->frames, fast->frame_count, kept_frames(model, fast),
			 last_site(model)->next);
	model->memory = fast->memory;
	model->turn = fast->turn;
	site = draft_node(htr, &draft, model, node);
	draft_time(htr, &draft, time_ns);
	if (fast->more)
		PUT(htr, &draft, lasted, lasted_ns);
	draft_fast(htr, &draft, &model->model, site, kind, fast);
	put_shape(htr, shape_of_kind(htr, &draft, kind));
	return true;
}

void htr_packets(struct htr *htr, const uint8_t *bytes, size_t size, bool is_call)
{
	define_packet(htr, &(struct htr_packet){ htr->header.events, { bytes, size } });
	htr->header.calls += is_call;
}

/* ---- arguments ---- */

/*
 * The arguments of calls are added to the column `others` one by one, as texts. If a call has the
 * same arguments as an earlier call, their encoded list is copied: a server often opens the same
 * files. For this, lists are remembered together with the bytes of the arguments in the record.
 */
#define LIST_BITS 5    /* log2 of the number of remembered lists */
#define GIVEN_MAX 112u /* maximum bytes of a record's arguments */
#define LIST_MAX  120u /* maximum bytes of a remembered list in the column */

struct htr_list {
	uint32_t tag;
	uint16_t given_size, size; /* size 0: no list is remembered */
	uint8_t given[GIVEN_MAX], bytes[LIST_MAX];
};

inline_ bool has_room(const struct column *column, size_t size)
{
	return column_size(column) + size <= HTR_OTHERS_FULL + HTR_EVENT_MOST;
}

/* The entry of `lists` for arguments with these bytes. */
inline_ struct htr_list *list_of(struct htr *htr, uint32_t tag, const uint8_t *given, size_t size)
{
	uint64_t hash = tag, word = 0;

	for (; size >= sizeof(word); size -= sizeof(word), given += sizeof(word)) {
		memcpy(&word, given, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	}
	for (; size; size--)
		hash = (hash ^ *given++) * 0x9e3779b97f4a7c15u;
	return &htr->lists[hash >> (64 - LIST_BITS)];
}

bool htr_arguments_again(struct htr *htr, uint32_t tag, const void *given, size_t size)
{
	struct column *to = &htr->columns[HTR_COLUMN_others];
	struct htr_list *list;

	htr->list = NULL;
	if (size > GIVEN_MAX || !has_room(to, LIST_MAX))
		return false;
	if (!htr->lists)
		htr->lists = calloc(1u << LIST_BITS, sizeof(*htr->lists));
	if (!htr->lists)
		return false;
	list = list_of(htr, tag, given, size);
	if (list->size && list->tag == tag && list->given_size == size &&
	    !memcmp(list->given, given, size)) {
		memcpy(to->at, list->bytes, sizeof(list->bytes));
		to->at += list->size;
		return true;
	}
	list->tag = tag;
	list->given_size = (uint16_t)size;
	list->size = 0;
	memcpy(list->given, given, size);
	htr->list = list;
	htr->list_begin = column_size(to);
	return false;
}

void htr_argument(struct htr *htr, uint32_t name, const char *value, size_t length)
{
	struct column *to = &htr->columns[HTR_COLUMN_others];

	/* a hook's arguments always fit; an argument of a converted stream may be omitted */
	if (!has_room(to, HTR_VARINT_MAX + length)) {
		htr->list = NULL;
		return;
	}
	put_number(to, name + 1ull);
	put_text_bytes(to, value, length);
}

void htr_arguments_end(struct htr *htr)
{
	const struct column *to = &htr->columns[HTR_COLUMN_others];
	struct htr_list *list = htr->list;
	size_t size;

	put_number(&htr->columns[HTR_COLUMN_others], 0);
	htr->list = NULL;
	if (!list)
		return;
	size = column_size(to) - htr->list_begin;
	if (size > LIST_MAX)
		return;
	memcpy(list->bytes, to->start + htr->list_begin, size);
	list->size = (uint16_t)size;
}

/* ---- blocks ---- */

bool htr_is_full(const struct htr *htr)
{
	return is_full(htr);
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
