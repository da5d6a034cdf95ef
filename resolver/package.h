/* SPDX-License-Identifier: MIT */
#ifndef PACKAGE_H
#define PACKAGE_H

#include <stdbool.h>

/* Which Debian package a file belongs to, read from dpkg's lists. No program is run. */

/*
 * root: directory of the system in question, or NULL. Returns the package's name, to be freed, or
 * NULL.
 */
char *package_of(const char *root, const char *path);

/* Does the system below root use dpkg? */
bool package_is_debian(const char *root);

#endif
