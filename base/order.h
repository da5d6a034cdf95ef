/* SPDX-License-Identifier: MIT */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

/*
 * The result of a comparison function for qsort(): -1, 0 or 1. ORDER(a, b) sorts ascending,
 * ORDER(b, a) descending. With several keys, each further key decides if the keys before it are
 * equal:
 *
 *   return ORDER(b->bytes, a->bytes) ?: ORDER(a->address, b->address);
 */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/*
 * Defines a comparison function for items of this type. order: an expression of the pointers `a`
 * and `b` to two items.
 */
#define ORDER_FUNCTION(name, type, order)                      \
	static int name(const void *left_, const void *right_) \
	{                                                      \
		const type *a = left_, *b = right_;            \
                                                               \
		return order;                                  \
	}

#endif
