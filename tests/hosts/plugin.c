/* SPDX-License-Identifier: MIT */
/* The library that loads-often loads: one block as it comes, one when it is called, one as it goes.
 */
#include <stdlib.h>

void allocate(void);

__attribute__((constructor, destructor)) void allocate(void)
{
	free(malloc(1057));
}
