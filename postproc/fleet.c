/* SPDX-License-Identifier: MIT */
#include "fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "base/pool.h"
#include "runs.h"

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
	const char *suffix; /* of the files with rows: "tsv" or "tsv.zst" */
	FILE *tables[TABLES];
	struct hash_table sites; /* the call sites that were already written to the file */
	struct pool pool;
	size_t whole; /* number of runs without an error or damage */
	uint64_t rows;
};

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

static void take_rows(void *user, size_t run, enum parallel_end end, char *output, size_t length)
{
	struct fleet *fleet = user;
	const char *line = output, *after;

	(void)run;
	fleet->whole += end == PARALLEL_WHOLE;
	for (; (after = memchr(line, '\n', length)) != NULL; line = after + 1) {
		size_t size = (size_t)(after - line) + 1, name = 0;

		/* write a line TABLE<tab>ROW<newline> to the file of its table */
		while (line[name] != '\t' && line[name] != '\n')
			name++;
		for (size_t i = 0; i < TABLES; i++)
			if (strlen(table_names[i]) == name &&
			    !strncmp(table_names[i], line, name) &&
			    (i != SITES || is_new_site(fleet, line + name + 1)))
				fleet->rows += fwrite(line + name + 1, size - name - 1, 1,
						      fleet->tables[i]);
		length -= size;
	}
}

/* ---- files ---- */

static char *file_path(const struct fleet *fleet, const char *name, const char *suffix)
{
	return memory_format("%s/%s.%s", fleet->directory, name, suffix);
}

/* A file that is compressed while it is written. */
struct packed_file {
	FILE *file;
	ZSTD_CCtx *context;
};

/* Compresses and writes bytes. Returns false if this fails. */
static bool write_packed(const struct packed_file *packed, const char *bytes, size_t size,
			 ZSTD_EndDirective mode)
{
	ZSTD_inBuffer in = { .src = bytes, .size = size };
	char buffer[64 << 10];
	size_t left;

	do {
		ZSTD_outBuffer out = { .dst = buffer, .size = sizeof(buffer) };

		left = ZSTD_compressStream2(packed->context, &out, &in, mode);
		if (ZSTD_isError(left) || fwrite(buffer, 1, out.pos, packed->file) != out.pos)
			return false;
	} while (in.pos < in.size || (mode == ZSTD_e_end && left));
	return true;
}

static ssize_t on_write(void *cookie, const char *bytes, size_t size)
{
	return write_packed(cookie, bytes, size, ZSTD_e_continue) ? (ssize_t)size : 0;
}

static int on_close(void *cookie)
{
	struct packed_file *packed = cookie;
	bool is_good = write_packed(packed, NULL, 0, ZSTD_e_end);

	is_good &= fclose(packed->file) == 0;
	ZSTD_freeCCtx(packed->context);
	free(packed);
	return is_good ? 0 : -1;
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
		cleanup_free char *path = file_path(fleet, table_names[i], fleet->suffix);
		bool is_packed = strcmp(fleet->suffix, "tsv") != 0;

		/*
		 * If a file name begins with |, sqlite3 executes the rest of the name as a shell
		 * command. There, the path is in single quotes, and a ' in the path becomes '\''.
		 */
		fprintf(file, ".import \"%s",
			is_packed      ? "|zstd -dcq -- '"
			: *path == '|' ? "./"
				       : "");
		for (const char *at = path; *at; at++)
			if (*at == '\'' && is_packed)
				fputs("'\\\\''", file);
			else
				fprintf(file, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
		fprintf(file, "%s\" load_%s\n", is_packed ? "'" : "", table_names[i]);
	}
	/*
	 * Without the program zstd, sqlite3 would read no rows and report no error. So count the
	 * changes, three for each row: inserted into load_TABLE and TABLE, removed from load_TABLE.
	 */
	fprintf(file,
		"CREATE TEMP TABLE loaded (rows INTEGER CONSTRAINT "
		"\"not all rows were read: is the program zstd installed?\" CHECK (rows = %" PRIu64
		"));\nINSERT INTO loaded SELECT total_changes() / 3;\nCOMMIT;\n",
		fleet->rows);
	return fclose(file) ? error_system(err, errno, "%s/load.sql", fleet->directory) : 0;
}

static int close_tables(struct fleet *fleet, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < TABLES; i++) {
		bool is_bad = fleet->tables[i] && ferror(fleet->tables[i]);

		if (fleet->tables[i] && (fclose(fleet->tables[i]) || is_bad))
			rc = error_system(err, errno ? errno : EIO, "%s/%s.%s", fleet->directory,
					  table_names[i], fleet->suffix);
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

/* ---- the whole command ---- */

int fleet_rows(const struct report_plan *plan, const struct options *options, size_t *failed,
	       struct error *err)
{
	const char *parent = getenv("TMPDIR");
	cleanup_free char *temporary =
		memory_format("%s/holdtrace-rows.XXXXXX", parent && *parent ? parent : "/tmp");
	struct fleet fleet = { .directory = options->directory,
			       .suffix = options->zstd ? "tsv.zst" : "tsv" };
	int rc = 0;

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
		fleet.tables[i] =
			open_new(&fleet, table_names[i], fleet.suffix, options->force, err);
		rc = fleet.tables[i] ? 0 : -err->number;
		if (rc == 0 && options->zstd) {
			struct packed_file *packed = memory_zalloc(1, sizeof(*packed));

			packed->file = fleet.tables[i];
			packed->context = ZSTD_createCCtx();
			fleet.tables[i] = fopencookie(
				packed, "w",
				(cookie_io_functions_t){ .write = on_write, .close = on_close });
		}
	}
	if (rc == 0)
		rc = runs_read(&plan->runs, &plan->how, take_rows, &fleet, err);
	*failed = plan->runs.count - fleet.whole;
	rc = close_tables(&fleet, rc ? &(struct error){ 0 } : err) && rc == 0 ? -err->number : rc;
	/* load.sql is the last file: if it exists, the others are complete */
	if (rc == 0)
		rc = write_load(&fleet, options->force, err);
	if (rc == 0 && options->into)
		rc = load(&fleet, options->into, err);
	if (!options->directory) {
		for (size_t i = 0; i <= TABLES; i++) {
			cleanup_free char *path =
				file_path(&fleet, i < TABLES ? table_names[i] : "load",
					  i < TABLES ? fleet.suffix : "sql");

			unlink(path);
		}
		rmdir(fleet.directory);
	}
	hash_table_free(&fleet.sites);
	pool_free(&fleet.pool);
	return rc;
}
