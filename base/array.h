/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

/*
 * Arrays that grow. A zeroed struct is an empty array; free(items) releases it.
 *
 *   ARRAY_OF(struct thing) things;
 *   struct thing *thing = ARRAY_ADD(&things);   uninitialised; NULL if no memory is left
 *
 * The macros also accept any struct that has these members.
 */

#include <stddef.h>
#include <stdint.h>

#define ARRAY_OF(type)                  \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

/*
 * Enlarges the array for at least one more item of `size` bytes. items: address of the pointer to
 * the items. Returns 0, or -ENOMEM without a change to the array.
 */
int array_grow(void *items, size_t *capacity, size_t size);

#define ARRAY_ADD(array)                                                                       \
	((array)->count < (array)->capacity || array_grow(&(array)->items, &(array)->capacity, \
							  sizeof(*(array)->items)) == 0        \
		 ? &(array)->items[(array)->count++]                                           \
		 : NULL)

/* Extends the array with zeroed items until `index` is valid. Returns 0 or -ENOMEM. */
int array_reach(void *items, size_t *count, size_t *capacity, size_t size, size_t index);

/*
 * Extends the array with zeroed items if necessary, so that `index` is valid. False if no memory is
 * left.
 */
#define ARRAY_REACH(array, index)                                          \
	((index) < (array)->count ||                                       \
	 array_reach(&(array)->items, &(array)->count, &(array)->capacity, \
		     sizeof(*(array)->items), index) == 0)

/*
 * The address of the item at `index`. Extends the array with zeroed items if necessary. NULL if no
 * memory is left.
 */
#define ARRAY_AT(array, index) (ARRAY_REACH(array, index) ? &(array)->items[index] : NULL)

/* Empties the array for reuse. Frees its memory if that is more than 1 MiB. */
void array_clear(void *items, size_t *count, size_t *capacity, size_t size);

#define ARRAY_CLEAR(array) \
	array_clear(&(array)->items, &(array)->count, &(array)->capacity, sizeof(*(array)->items))

/*
 * Appends a zeroed item to an array whose first index is 1, so that 0 can mean "none". Returns the
 * index of the item, or 0 if no memory is left.
 */
uint32_t array_number(void *items, size_t *count, size_t *capacity, size_t size);

#define ARRAY_NUMBER(array) \
	array_number(&(array)->items, &(array)->count, &(array)->capacity, sizeof(*(array)->items))

/* Sorts the items with qsort(), which must not be called for an array without items. */
#define ARRAY_SORT(array, compare)                                                                \
	((array)->count ? qsort((array)->items, (array)->count, sizeof(*(array)->items), compare) \
			: (void)0)

/*
 * Finds by binary search the first index below `count` at which `holds` is false, or returns
 * `count` if there is none. holds: an expression that uses the index `at`. It must be true at all
 * indices below some index, and false from that index on.
 *
 *   ARRAY_SEARCH(runs->count, at, runs->items[at].to <= address)
 */
#define ARRAY_SEARCH(count, at, holds)                         \
	__extension__({                                        \
		size_t low_ = 0, high_ = (count);              \
                                                               \
		while (low_ < high_) {                         \
			size_t at = low_ + (high_ - low_) / 2; \
                                                               \
			if (holds)                             \
				low_ = at + 1;                 \
			else                                   \
				high_ = at;                    \
		}                                              \
		low_;                                          \
	})

#endif
