/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUN_FILES_H
#define LIVE_RUN_FILES_H

/* Reads the trace files of a run while they grow, and tracks the state of each recorded process. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "naming/naming.h"
#include "trace/trace.h"

struct run_file;

#define WATCHED_TICKS 32u /* number of values in `curve` */

/* What a process has acquired at one call site. */
struct watched_site {
	uint64_t acquired;	/* number of acquisitions since the start */
	uint64_t count, bytes;	/* number of live objects, and their size in bytes */
	double variance;	/* variance of `bytes`, if `bytes` is an estimate */
	uint64_t seen_acquired; /* seen_...: values at the previous sample_tick(); ..._rate: rates
				   since then */
	uint64_t seen_count, seen_bytes;
	float acquired_rate, growth_rate; /* acquisitions per second; growth per second, in bytes
					     or, if the class has no bytes, in objects */
	uint64_t base_count, base_bytes;  /* values at the baseline */
	/*
	 * live amount at each of the last ticks, in bytes or objects; tick N is at index N %
	 * WATCHED_TICKS
	 */
	float curve[WATCHED_TICKS];
};

/*
 * One process of a run, in the state after the last event that was read from its stream. One thread
 * reads the stream and updates the ledger (the account of live objects). Other threads access the
 * members only between watched_lock() and watched_unlock().
 */
struct watched {
	pthread_mutex_t mutex;
	unsigned lookers; /* number of threads that wait for the mutex */
	pthread_t thread;
	int input;
	const struct run_file *file;
	struct trace *trace;
	struct ledger *ledger;
	struct address_space space;
	struct naming *naming;
	ARRAY_OF(struct watched_site) sites; /* indexed by call site of the ledger */
	uint32_t pid, stream;
	/* the collector has not confirmed that the pid in the stream is the pid of the process */
	bool is_unproven;
	char name[64];
	uint64_t ticks; /* number of calls of sample_tick() */
	uint64_t events, seen_events, lost;
	uint64_t start_ns;	   /* start of the process; 0: unknown */
	uint64_t time_ns, seen_ns; /* time_ns: time of the last event; seen_ns: value of time_ns at
				      the previous sample_tick() */
	double event_rate;
	uint64_t damages;
	uint64_t taken;	       /* number of input bytes that were processed completely */
	uint32_t told_unknown; /* bit set of the limits that were reported as unknown */
	bool is_unknown;       /* result of the last check: a limit is unknown */
	bool has_ended;	       /* the process has ended, according to the stream */
	bool is_finished;      /* the stream has ended */
	struct error error;    /* why the reader stopped before the regular end of the stream */
};

void watched_lock(struct watched *watched);
void watched_unlock(struct watched *watched);

#define RUN_FILES_MAX	128u
#define RUN_STREAMS_MAX 256u /* per file */

/* A stream of a file. Its bytes are written to a pipe, which a thread reads. */
struct run_stream {
	int input; /* write end of the pipe; -1: not open, or the reader closed its end */
	struct watched *reader;
	uint64_t next; /* bytes written to the pipe so far */
};

struct run;

/* A trace file, which is read while it is being written. */
struct run_file {
	struct run *run;
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
	/* is_bundle: the file has several streams; is_known: is_bundle was read from the file */
	bool is_bundle, is_known;
	bool is_complete; /* the writer has closed the file */
	uint64_t offset;  /* position in the file up to which bytes were written to the pipes */
	struct run_stream streams[RUN_STREAMS_MAX];
	size_t stream_count;
	uint64_t left_out; /* number of streams beyond RUN_STREAMS_MAX, which are not followed */
};

struct run {
	struct run_file *files[RUN_FILES_MAX];
	size_t file_count;
	ARRAY_OF(char *) left_out; /* paths of files beyond RUN_FILES_MAX */
	uint64_t unnamed;	   /* number of files whose names the collector could not send */
	ARRAY_OF(struct watched *) processes;
	int list; /* names of new files are read from this descriptor during the run; -1: none */
	char *heard;
	size_t heard_size;
	uint64_t looked_ns;
	/* number of replaced files; a replacement makes pointers to the file's processes invalid */
	uint64_t restarts;
};

/*
 * Opens traces. `names` is a NULL-terminated array. It has either paths of traces, where FILE#N
 * means FILE, or one process id, which means all trace files of that process's run. Returns 0 or a
 * negative errno; call run_free() in any case.
 */
int run_open(struct run *run, char *const *names, struct error *err);

/* Passes new bytes of the files on to the readers of their streams, and opens new files. */
int run_pump(struct run *run, struct error *err);

/* Whether all files are complete. */
bool run_is_complete(const struct run *run);

/* Returns the number of files and streams that exceed the limits and are not followed. */
uint64_t run_left_out(const struct run *run);

/* Waits until the readers have processed all bytes that were passed on. */
void run_settle(struct run *run);

/* Closes all streams, waits until their readers have ended, and frees the run. */
void run_free(struct run *run);

#endif
