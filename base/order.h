/* SPDX-License-Identifier: MIT */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

/*
 * What a comparison for qsort() returns: -1, 0 or 1, the smaller one first; ORDER(b, a) is the
 * larger one first. By several keys, where the next one decides if those before it are equal:
 *
 *   return ORDER(b->bytes, a->bytes) ?: ORDER(a->address, b->address);
 */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
