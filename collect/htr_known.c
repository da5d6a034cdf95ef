/* SPDX-License-Identifier: MIT */
/* The definitions of an .htr: names, threads, backtraces and shapes. Each has a number. */
#include "collect/htr_parts.h"

#include <stdlib.h>

/* ---- names ---- */

static bool name_equal(const void *item, const void *key)
{
	const struct name *one = item, *two = key;

	return one->length == two->length && !memcmp(one->text, two->text, two->length);
}

/* Returns the number of a name; 0: no memory. *added: the name if it was added, otherwise NULL. */
static uint32_t name_number(struct htr *htr, struct names *names, const char *text, size_t length,
			    const char **added)
{
	struct name key = { text, length, 0 };
	uint64_t hash = hash_bytes(names->table.seed, text, length);
	struct name *found = hash_table_find(&names->table, hash, name_equal, &key);

	*added = NULL;
	if (found)
		return found->id;
	found = malloc(sizeof(*found) + length + 1);
	if (!found || hash_table_add(&names->table, hash, found)) {
		free(found);
		htr->has_failed = true;
		return 0;
	}
	memcpy(found + 1, text, length);
	((char *)(found + 1))[length] = 0;
	*found = (struct name){ (const char *)(found + 1), length, names->count++ };
	names->bytes += sizeof(*found) + length + 4 * sizeof(struct hash_table_slot);
	*added = found->text;
	return found->id;
}

uint32_t htr_function(struct htr *htr, const char *text, size_t length)
{
	const char *added;
	uint32_t number = name_number(htr, &htr->functions, text, length, &added);

	if (added)
		define_function(htr, &(struct htr_function){ .name = added });
	return number;
}

uint32_t htr_argument_name(struct htr *htr, const char *text, size_t length)
{
	const char *added;
	uint32_t number = name_number(htr, &htr->argument_names, text, length, &added);

	if (added)
		define_name(htr, &(struct htr_name){ .name = added });
	return number;
}

void htr_free_names(struct names *names)
{
	for (size_t i = 0; names->table.slots && i <= names->table.mask; i++)
		free(names->table.slots[i].item);
	hash_table_free(&names->table);
}

/* ---- threads ---- */

static struct thread *thread_place(struct thread *table, uint64_t mask, uint32_t number,
				   uint64_t pthread)
{
	uint64_t i = hash_two(0, number, pthread) & mask;

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

struct model *htr_change_thread(struct htr *htr, uint32_t number, uint64_t pthread)
{
	struct thread *thread = find_thread(htr, number, pthread);
	struct model *model = NULL;

	if (thread && thread->block == htr->block && thread->model < HTR_MODELS) {
		model = htr->models[thread->model];
	} else if (thread) {
		model = htr->models[htr->model_count];
		if (!model)
			model = htr->models[htr->model_count] = malloc(sizeof(*model));
		if (model) {
			thread->block = htr->block;
			thread->model = htr->model_count++;
			htr_model_begin(&model->model);
			model->path_count = 0;
			model->memory = NULL;
		}
	}
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

static inline uint32_t *node_place(const struct htr *htr, uint32_t parent, uint64_t address)
{
	uint64_t at = hash_node(parent, address) & htr->node_mask;

	for (;; at = (at + 1) & htr->node_mask) {
		uint32_t number = htr->node_table[at];
		const struct node *node = &htr->nodes[number];

		if (!number || (node->address == address && node->parent == parent))
			return &htr->node_table[at];
	}
}

/* Makes room for a further node. Returns false if there is no memory. */
static bool make_node_room(struct htr *htr)
{
	struct node *nodes;
	uint32_t *table;
	uint64_t mask;

	if (htr->node_count + 1 >= htr->node_room) {
		if (htr->node_room > UINT32_MAX / 2)
			return false;
		nodes = reallocarray(htr->nodes, htr->node_room * 2ull, sizeof(*nodes));
		if (!nodes)
			return false;
		htr->nodes = nodes;
		htr->node_room *= 2;
	}
	if (htr->node_count < htr->node_mask / 2)
		return true;
	/* four times the size: on average, only one node is moved for three added nodes */
	mask = htr->node_mask * 4 + 3;
	table = calloc(mask + 1, sizeof(*table));
	if (!table)
		return false;
	free(htr->node_table);
	htr->node_table = table;
	htr->node_mask = mask;
	for (uint32_t i = 1; i <= htr->node_count; i++)
		*node_place(htr, htr->nodes[i].parent, htr->nodes[i].address) = i;
	return true;
}

uint32_t htr_find_node(struct htr *htr, uint32_t parent, uint64_t address)
{
	uint32_t number = *node_place(htr, parent, address);

	if (!number && make_node_room(htr)) {
		if (htr->see)
			htr->see(htr->see_context, address);
		number = ++htr->node_count;
		*node_place(htr, parent, address) = number;
		htr->nodes[number] = (struct node){ .address = address, .parent = parent };
		define_node(htr, &(struct htr_node){ parent, address - htr->node_address });
		htr->node_address = address;
	} else if (!number) {
		htr->has_failed = true;
	}
	*htr_child(&htr->nodes[parent], address) = number;
	return number;
}

/* ---- shapes ---- */

static struct shape *shape_place(struct shape *table, uint64_t mask, const struct htr_key *key)
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

struct shape *htr_find_shape(struct htr *htr, const struct htr_key *key, bool *is_new)
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

size_t htr_known_bytes(const struct htr *htr)
{
	return htr->node_room * sizeof(*htr->nodes) +
	       (htr->node_mask + 1) * sizeof(*htr->node_table) +
	       (htr->shape_mask + 1ull) * sizeof(*htr->shapes) +
	       (htr->thread_mask + 1ull) * sizeof(*htr->thread_table) + htr->functions.bytes +
	       htr->argument_names.bytes;
}
