/* SPDX-License-Identifier: MIT */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

/*
 * Arrays that grow: all 0 at first, free(items) ends them.
 *
 *   ARRAY_OF(struct thing) things;
 *   struct thing *thing = ARRAY_ADD(&things);   NULL: no memory; else an unset item
 *
 * A struct of the user's with these members will do as well.
 */

#include <stddef.h>
#include <stdint.h>

#define ARRAY_OF(type)                  \
	struct {                        \
		type *items;            \
		size_t count, capacity; \
	}

/*
 * Makes room for one more item of size bytes. items: address of the pointer.
 * Returns 0 or -ENOMEM (the array is then as before).
 */
int array_grow(void *items, size_t *capacity, size_t size);

#define ARRAY_ADD(array)                                                                       \
	((array)->count < (array)->capacity || array_grow(&(array)->items, &(array)->capacity, \
							  sizeof(*(array)->items)) == 0        \
		 ? &(array)->items[(array)->count++]                                           \
		 : NULL)

/* Makes the array longer than index, by items that are all 0. Returns 0 or -ENOMEM. */
int array_reach(void *items, size_t *count, size_t *capacity, size_t size, size_t index);

/* Whether the array is, or could be made, longer than index. */
#define ARRAY_REACH(array, index)                                          \
	((index) < (array)->count ||                                       \
	 array_reach(&(array)->items, &(array)->count, &(array)->capacity, \
		     sizeof(*(array)->items), index) == 0)

/* The address of the item with that index, which is all 0 if there was none. NULL: no memory. */
#define ARRAY_AT(array, index) (ARRAY_REACH(array, index) ? &(array)->items[index] : NULL)

/* Empty, to be filled again: the memory of a large one is given back. */
void array_clear(void *items, size_t *count, size_t *capacity, size_t size);

#define ARRAY_CLEAR(array) \
	array_clear(&(array)->items, &(array)->count, &(array)->capacity, sizeof(*(array)->items))

/*
 * For arrays whose items stand from 1 on, so that 0 is none: adds one that is all 0 and sets its
 * number. Returns the number, or 0: no memory.
 */
uint32_t array_number(void *items, size_t *count, size_t *capacity, size_t size);

#define ARRAY_NUMBER(array) \
	array_number(&(array)->items, &(array)->count, &(array)->capacity, sizeof(*(array)->items))

/*
 * Binary search: the first index below count for which the condition over `at` does not hold, as it
 * does for all before and none behind; count: it holds for all.
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
