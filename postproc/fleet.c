/* SPDX-License-Identifier: MIT */
#include "fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/pool.h"
#include "console.h"

#define WORKERS_MAX 64
#define READ_SIZE   (256u << 10)
#define RUNS_MAX    256u /* number of runs after which the resolver is restarted */

/* clang-format off */
extern const char fleet_schema[];
__asm__(".section .rodata\n"
	".global fleet_schema\n"
	".hidden fleet_schema\n"
	"fleet_schema: .incbin \"sql/schema.sqlite.sql\"\n.byte 0\n"
	".previous\n");
/* clang-format on */

static const char *const table_names[] = { "runs",  "processes", "sites",
					   "holds", "waits",	 "descriptors" };
enum { TABLES = sizeof(table_names) / sizeof(*table_names), SITES = 2 };

struct fleet {
	const char *directory;
	FILE *tables[TABLES];
	struct hash_table sites; /* the call sites that were already written to the file */
	struct pool pool;
};

/* A child process that reads some of the runs. Its lines arrive in pieces. */
struct fleet_worker {
	pid_t pid;
	int fd;
	/* the incomplete line at the end of the last piece */
	char *bytes;
	size_t used;
};

/* ---- a worker ---- */

/* Writes the rows of every `step`th run, from run `first` on. Returns the number of failed runs. */
static size_t write_runs(const struct report_plan *plan, size_t first, size_t step, int fd)
{
	struct reporting_options how = plan->how;
	struct resolve *resolve = NULL;
	size_t failed = 0, read = 0;
	struct out out;

	/* most runs have the same programs, so keep the resolver with its open files */
	how.files.kept = &resolve;
	out_open(&out, fd);
	for (size_t i = first; i < plan->count; i += step) {
		struct reporting_result result;
		struct error err = { 0 };
		int rc = reporting(plan->paths + i, 1, &how, &out, &result, &err);

		if (rc)
			console_error(plan->paths[i], &err);
		failed += rc || result.reading.unread || result.damaged;
		/* restart the resolver, because it uses memory for each address of each run */
		if (++read % RUNS_MAX == 0)
			naming_end_kept(&how.files);
	}
	naming_end_kept(&how.files);
	return out_close(&out) ? plan->count : failed;
}

static int start_worker(struct fleet_worker *worker, const struct report_plan *plan, size_t first,
			size_t step, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return error_system(err, errno, "cannot make a pipe");
	worker->fd = ends[0];
	worker->pid = fork();
	if (worker->pid < 0)
		return error_system(err, errno, "cannot start a process");
	if (!worker->pid) {
		size_t failed = write_runs(plan, first, step, ends[1]);

		_exit(failed < 100 ? (int)failed : 100);
	}
	close(ends[1]);
	return 0;
}

/* ---- rows ---- */

static bool is_known(const void *item, const void *key)
{
	return *(const uint64_t *)item == *(const uint64_t *)key;
}

/* Whether a row of `sites` has a call site that no earlier row has. */
static bool is_new_site(struct fleet *fleet, const char *row)
{
	uint64_t site = (uint64_t)strtoll(row, NULL, 10), *known;
	uint64_t hash = hash_two(fleet->sites.seed, site, 0);

	if (hash_table_find(&fleet->sites, hash, is_known, &site))
		return false;
	known = pool_alloc(&fleet->pool, sizeof(*known));
	*known = site;
	hash_table_add(&fleet->sites, hash, known);
	return true;
}

/* Writes a line TABLE<tab>ROW<newline> to the file of its table. */
static void write_row(struct fleet *fleet, const char *line, size_t length)
{
	size_t name = 0;

	while (line[name] != '\t' && line[name] != '\n')
		name++;
	for (size_t i = 0; i < TABLES; i++)
		if (strlen(table_names[i]) == name && !strncmp(table_names[i], line, name) &&
		    (i != SITES || is_new_site(fleet, line + name + 1)))
			fwrite(line + name + 1, 1, length - name - 1, fleet->tables[i]);
}

/* Reads the lines that the worker has written. Returns false at their end. */
static bool read_rows(struct fleet *fleet, struct fleet_worker *worker)
{
	size_t start = 0;
	const char *end;
	ssize_t got;

	worker->bytes = memory_resize(worker->bytes, worker->used + READ_SIZE);
	got = read(worker->fd, worker->bytes + worker->used, READ_SIZE);
	if (got <= 0)
		return got < 0 && errno == EINTR;
	worker->used += (size_t)got;
	while ((end = memchr(worker->bytes + start, '\n', worker->used - start))) {
		size_t length = (size_t)(end - worker->bytes) + 1 - start;

		write_row(fleet, worker->bytes + start, length);
		start += length;
	}
	worker->used -= start;
	memmove(worker->bytes, worker->bytes + start, worker->used);
	return true;
}

static void read_workers(struct fleet *fleet, struct fleet_worker *workers, size_t count)
{
	struct pollfd polled[WORKERS_MAX];
	size_t open = count;

	for (size_t i = 0; i < count; i++)
		polled[i] = (struct pollfd){ .fd = workers[i].fd, .events = POLLIN };
	while (open) {
		if (poll(polled, count, -1) < 0)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (!polled[i].revents || read_rows(fleet, &workers[i]))
				continue;
			polled[i].fd = -1;
			open--;
		}
	}
}

/* ---- files ---- */

static char *file_path(const struct fleet *fleet, const char *name, const char *suffix)
{
	return memory_format("%s/%s.%s", fleet->directory, name, suffix);
}

/* Opens a file that only its owner can read. */
static FILE *open_new(const struct fleet *fleet, const char *name, const char *suffix, bool force,
		      struct error *err)
{
	cleanup_free char *path = file_path(fleet, name, suffix);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0600);

	if (fd < 0) {
		error_system(err, errno, "%s%s", path,
			     errno == EEXIST ? ": replace it with -f" : "");
		return NULL;
	}
	return fdopen(fd, "w");
}

/* Writes the commands with which sqlite3 loads the files. */
static int write_load(const struct fleet *fleet, bool force, struct error *err)
{
	FILE *file = open_new(fleet, "load", "sql", force, err);

	if (!file)
		return -err->number;
	fprintf(file, ".bail on\n%s\nBEGIN;\n.mode ascii\n.separator \"\\t\" \"\\n\"\n",
		fleet_schema);
	for (size_t i = 0; i < TABLES; i++) {
		cleanup_free char *path = file_path(fleet, table_names[i], "tsv");

		/* sqlite3 would execute the rest of a name that begins with | as a command */
		fprintf(file, ".import \"%s", *path == '|' ? "./" : "");
		for (const char *at = path; *at; at++)
			fprintf(file, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
		fprintf(file, "\" load_%s\n", table_names[i]);
	}
	fputs("COMMIT;\n", file);
	return fclose(file) ? error_system(err, errno, "%s/load.sql", fleet->directory) : 0;
}

static int close_tables(struct fleet *fleet, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < TABLES; i++) {
		bool is_bad = fleet->tables[i] && ferror(fleet->tables[i]);

		if (fleet->tables[i] && (fclose(fleet->tables[i]) || is_bad))
			rc = error_system(err, errno ? errno : EIO, "%s/%s.tsv", fleet->directory,
					  table_names[i]);
	}
	return rc;
}

/* Loads the files into a database with the program sqlite3. */
static int load(const struct fleet *fleet, const char *database, struct error *err)
{
	cleanup_free char *path = file_path(fleet, "load", "sql");
	/* a leading - would make the name an option of sqlite3 */
	cleanup_free char *name = memory_format("%s%s", *database == '-' ? "./" : "", database);
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && dup2(fd, STDIN_FILENO) >= 0)
			execlp("sqlite3", "sqlite3", "-batch", name, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		return error_set(err, ENOENT,
				 "--into=%s: the program sqlite3 cannot be run: install it, or "
				 "write the rows into files (-o DIR)",
				 database);
	return status ? error_set(err, EIO, "--into=%s: sqlite3 failed; its messages are above",
				  database)
		      : 0;
}

static void remove_files(const struct fleet *fleet)
{
	for (size_t i = 0; i <= TABLES; i++) {
		cleanup_free char *path = file_path(fleet, i < TABLES ? table_names[i] : "load",
						    i < TABLES ? "tsv" : "sql");

		unlink(path);
	}
	rmdir(fleet->directory);
}

/* ---- the whole command ---- */

static int run_workers(struct fleet *fleet, const struct report_plan *plan, size_t *failed,
		       struct error *err)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct fleet_worker workers[WORKERS_MAX] = { 0 };
	size_t count = processors < 1 ? 1 : (size_t)processors, started = 0;
	int rc = 0;

	count = count > WORKERS_MAX ? WORKERS_MAX : count;
	count = count > plan->count ? plan->count : count;
	for (; rc == 0 && started < count; started += rc == 0)
		rc = start_worker(&workers[started], plan, started, count, err);
	read_workers(fleet, workers, started);
	for (size_t i = 0; i < started; i++) {
		int status = 0;

		while (waitpid(workers[i].pid, &status, 0) < 0 && errno == EINTR)
			;
		close(workers[i].fd);
		free(workers[i].bytes);
		*failed += WIFEXITED(status) ? (size_t)WEXITSTATUS(status) : 1;
	}
	return rc;
}

int fleet_rows(const struct report_plan *plan, const struct options *options, size_t *failed,
	       struct error *err)
{
	const char *parent = getenv("TMPDIR");
	cleanup_free char *temporary =
		memory_format("%s/holdtrace-rows.XXXXXX", parent && *parent ? parent : "/tmp");
	struct fleet fleet = { .directory = options->directory };
	int rc = 0;

	*failed = 0;
	if (!fleet.directory && !options->into)
		return error_set(err, EINVAL,
				 "rows: name the destination: -o DIR for files, or --into=FILE for "
				 "a database of SQLite");
	if (!fleet.directory)
		fleet.directory = mkdtemp(temporary);
	else if (mkdir(fleet.directory, 0777) && errno != EEXIST)
		return error_system(err, errno, "%s", fleet.directory);
	if (!fleet.directory)
		return error_system(err, errno, "%s", temporary);
	hash_table_init(&fleet.sites);
	for (size_t i = 0; rc == 0 && i < TABLES; i++) {
		fleet.tables[i] = open_new(&fleet, table_names[i], "tsv", options->force, err);
		rc = fleet.tables[i] ? 0 : -err->number;
	}
	if (rc == 0)
		rc = run_workers(&fleet, plan, failed, err);
	rc = close_tables(&fleet, rc ? &(struct error){ 0 } : err) && rc == 0 ? -err->number : rc;
	/* load.sql is the last file: if it exists, the others are complete */
	if (rc == 0)
		rc = write_load(&fleet, options->force, err);
	if (rc == 0 && options->into)
		rc = load(&fleet, options->into, err);
	if (!options->directory)
		remove_files(&fleet);
	hash_table_free(&fleet.sites);
	pool_free(&fleet.pool);
	return rc;
}
