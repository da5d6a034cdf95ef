/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

/* True in AddressSanitizer builds, whose shadow memory exceeds any memory limit. */

#ifndef __has_feature /* gcc has it since version 14 */
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

#endif
