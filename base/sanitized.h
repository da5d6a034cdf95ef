/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

/* Whether this is a build whose shadow memory is larger than any limit of memory. */

#ifndef __has_feature /* clang's way to say it */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#endif
