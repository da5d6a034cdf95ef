/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/* Shortens names of functions in place. Neither function makes a name longer. */

#define SHORTEN_MAX 60 /* limit of the result in characters */

/*
 * Shortens a C++ or Rust name: removes template parameters, std::__cxx11 and hashes. If the name is
 * still too long, removes first the trait that a Rust method implements, then outer namespaces.
 */
void shorten_name(char *name);

/*
 * Converts an internal name of the C library to the public name: __GI_setlocale to setlocale,
 * __strdup to strdup, _IO_new_fopen to fopen, __asprintf_chk to asprintf.
 */
void shorten_public(char *name);

#endif
