/* SPDX-License-Identifier: MIT */
#ifndef SHORTEN_H
#define SHORTEN_H

/* Names of functions as people say them. Both work in place and make no name longer. */

#define SHORTEN_MAX 60 /* characters that remain at most */

/*
 * Makes a C++ or Rust name short: no parameters of templates, no std::__cxx11, no hashes. What is
 * too long even so loses first what it implements, then its outer namespaces.
 */
void shorten_name(char *name);

/*
 * Makes of a C library's name within the one that programs call: setlocale of __GI_setlocale,
 * strdup of __strdup, fopen of _IO_new_fopen, asprintf of __asprintf_chk.
 */
void shorten_public(char *name);

#endif
