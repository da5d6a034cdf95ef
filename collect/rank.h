/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_RANK_H
#define COLLECT_RANK_H

/* Variables with the rank of a process: of MPICH and Intel MPI, of Open MPI, of PMIx, of Slurm. */
#define RANK_VARIABLES "PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"

#endif
