/* SPDX-License-Identifier: MIT */
#include "lasting.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

void lasting_init(struct lasting *lasting)
{
	*lasting = (struct lasting){ 0 };
	map_init(&lasting->index);
}

void lasting_free(struct lasting *lasting)
{
	map_clear(&lasting->index);
	pool_free(&lasting->pool);
	free(lasting->items.items);
}

void lasting_event(struct lasting *lasting, const struct event *event)
{
	static const char *const words[RESOURCE_COUNT] = {
		[RESOURCE_SHM_OBJECT] = "shared memory",
		[RESOURCE_SEGMENT] = "segment",
		[RESOURCE_SEMSET] = "semaphores",
		[RESOURCE_SEMAPHORE] = "semaphore",
	};
	enum resource known = event->resource->known;
	/* sem_unlink() takes a name, so the class of its event is not that of semaphores */
	bool is_unlink = known == RESOURCE_EVENT && !strcmp(event->function->name, "sem_unlink");
	bool has_name = is_unlink || known == RESOURCE_SHM_OBJECT || known == RESOURCE_SEMAPHORE;
	bool is_creation = event_is_alloc(event), is_removal = event_is_free(event);
	const char *name;

	if (is_unlink)
		known = RESOURCE_SEMAPHORE;
	if (!words[known] || event->flags & CALL_FAILED)
		return;
	name = has_name ? event_argument(event, "name") : NULL;
	if (has_name && !name)
		return;
	/* sem_close() does not remove the semaphore */
	if (known == RESOURCE_SEMAPHORE) {
		is_creation &= (event_number(event, "flags") & O_CREAT) != 0;
		is_removal = is_unlink;
	}
	if (is_creation || is_removal) {
		const char *text = name && *name == '/' ? name + 1 : name;
		uint64_t key = name ? hash_bytes(0, text, strlen(text)) : event->object;
		struct map_entry *entry = map_put(&lasting->index, known, key);
		struct lasting_item *item;

		if (!entry->value) {
			*ARRAY_ADD(&lasting->items) = (struct lasting_item){
				.what = words[known],
				.name = name ? pool_text(&lasting->pool, name, strlen(name)) : NULL,
				.number = event->object,
			};
			entry->value = (uint32_t)lasting->items.count;
		}
		item = &lasting->items.items[entry->value - 1];
		if (is_creation && event->time_ns >= item->created_ns) {
			item->created_ns = event->time_ns;
			item->bytes = name ? 0 : event->size;
		}
		if (!is_creation && event->time_ns > item->removed_ns)
			item->removed_ns = event->time_ns;
	}
}
