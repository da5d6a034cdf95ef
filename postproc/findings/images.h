/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_IMAGES_H
#define FINDINGS_IMAGES_H

/*
 * Chooses which process images of a run to show if there are too many. An image is a program in a
 * process; each exec begins another image.
 */

#include "postproc/totals/summary.h"

/* The last image of the run's first process. */
const struct summary_process *images_last(const struct summary *summary);

/* The next image of the same process, after an exec; NULL: there is none, or it was not traced. */
const struct summary_process *images_next(const struct summary *summary,
					  const struct summary_process *process);

/*
 * Sets is_chosen[index] for up to `room` images: the last image of the first process, then images
 * with the most live memory (up to half of `room`), then images with problems (damaged, killed,
 * failed), then the rest.
 */
void images_choose(const struct summary *summary, size_t room, bool *is_chosen);

/*
 * Groups the images that executed the same untraced program and have the same reason why it was not
 * traced. Returns the number of images in a group for its first image, and 0 for all other images.
 */
uint64_t images_untraced(const struct summary *summary, size_t index);

#endif
