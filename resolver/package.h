/* SPDX-License-Identifier: MIT */
#ifndef PACKAGE_H
#define PACKAGE_H

#include <stdbool.h>

/* Which package a file came with, as dpkg's lists have it. Nothing is run. */

/* root: of the system that is asked, or NULL. Returns the package's name, to be freed, or NULL. */
char *package_of(const char *root, const char *path);

/* Does the system under root keep its packages with dpkg? Else with what, nobody knows. */
bool package_is_debian(const char *root);

#endif
