/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/* Short names of functions. Both functions work in place and never lengthen the name. */

#define SHORTEN_MAX 60 /* limit of the result in characters */

/*
 * Shortens a C++ or Rust name: no template parameters, no std::__cxx11, no hashes. A name that is
 * still too long loses first the trait that it implements, then its outer namespaces.
 */
void shorten_name(char *name);

/*
 * Converts an internal name of the C library to the public one: __GI_setlocale to setlocale,
 * __strdup to strdup, _IO_new_fopen to fopen, __asprintf_chk to asprintf.
 */
void shorten_public(char *name);

#endif
