/* SPDX-License-Identifier: MIT */
#include "collect/sample.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LINE_MOST 160

/* Adds a value with a name. Omits the value if it does not fit. */
static void sample_add(struct sample *sample, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void sample_add(struct sample *sample, const char *name, const char *format, ...)
{
	char *place = sample->text + sample->used, *value;
	size_t name_size = strlen(name) + 1;
	va_list args;
	int length;

	if (sample->count == SAMPLE_VALUES || SAMPLE_ROOM - sample->used < name_size + LINE_MOST)
		return;
	memcpy(place, name, name_size);
	value = place + name_size;
	va_start(args, format);
	length = vsnprintf(value, LINE_MOST, format, args);
	va_end(args);
	if (length < 0 || length >= LINE_MOST)
		return;
	sample->values[sample->count++] = (struct wire_value){ place, value };
	sample->used += name_size + (size_t)length + 1;
}

/*
 * Reads as much of a file as fits into `text`, and adds a NUL. Returns false if nothing was read.
 */
static bool read_text(const char *path, char *text, size_t size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 1;

	while (fd >= 0 && got > 0 && used < size - 1) {
		got = read(fd, text + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	}
	text[used] = '\0';
	return used != 0;
}

/* ---- the machine ---- */

static uint64_t frequency(unsigned number)
{
	char path[96], text[32];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq",
		 number);
	return read_text(path, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* Adds the times of a processor. The fourth and fifth numbers of the line are idle time. */
static void add_cpu(struct sample *sample, const char *line)
{
	uint64_t times[8] = { 0 }, total = 0;
	unsigned number;
	char name[16];

	if (sscanf(line,
		   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64,
		   &number, &times[0], &times[1], &times[2], &times[3], &times[4], &times[5],
		   &times[6], &times[7]) < 5)
		return;
	for (int i = 0; i < 8; i++)
		total += times[i];
	snprintf(name, sizeof(name), "cpu%u", number);
	sample_add(sample, name, "%" PRIu64 " %" PRIu64 " %" PRIu64, frequency(number),
		   total - times[3] - times[4], total);
}

static void add_cpus(struct sample *sample, char *text, size_t size)
{
	char *line = text, *end;

	if (!read_text("/proc/stat", text, size))
		return;
	for (; !strncmp(line, "cpu", 3) && (end = strchr(line, '\n')) != NULL; line = end + 1)
		if (line[3] != ' ')
			add_cpu(sample, line);
}

/* Returns the number that follows a word, or 0 if the text does not have the word. */
static uint64_t number_after(const char *text, const char *word)
{
	const char *found = strstr(text, word);

	return found ? strtoull(found + strlen(word), NULL, 10) : 0;
}

/*
 * Whether the device is a disk, not a partition or a device that stores its data on other devices.
 */
static bool is_disk(const char *name)
{
	static const char *const others[] = { "loop", "ram", "zram", "dm-", "md", NULL };
	char path[96];

	for (const char *const *other = others; *other; other++)
		if (!strncmp(name, *other, strlen(*other)))
			return false;
	snprintf(path, sizeof(path), "/sys/block/%.60s", name);
	return access(path, F_OK) == 0;
}

static void add_disks(struct sample *sample, char *text, size_t size)
{
	uint64_t sum[4] = { 0 }, one[4];
	char name[64], *line = text, *end;

	if (!read_text("/proc/diskstats", text, size))
		return;
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (sscanf(line,
			   "%*u %*u %63s %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64 " %*u %" SCNu64,
			   name, &one[0], &one[1], &one[2], &one[3]) != 5 ||
		    !is_disk(name))
			continue;
		for (int i = 0; i < 4; i++)
			sum[i] += one[i];
	}
	sample_add(sample, "disk", "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum[0], sum[1],
		   sum[2], sum[3]);
}

static void add_net(struct sample *sample, char *text, size_t size)
{
	uint64_t sent = 0, received = 0, one[2];
	char name[64], *line = text, *end;

	if (!read_text("/proc/net/dev", text, size))
		return;
	for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		if (sscanf(line, " %63[^:]: %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, name,
			   &one[0], &one[1]) != 3 ||
		    !strcmp(name, "lo"))
			continue;
		received += one[0];
		sent += one[1];
	}
	sample_add(sample, "net", "%" PRIu64 " %" PRIu64, sent, received);
}

void sample_machine(struct sample *sample, uint64_t now_ns)
{
	size_t size = 256u << 10;
	cleanup_free char *text = malloc(size);
	struct statvfs drive;

	sample->count = 0;
	sample->used = 0;
	sample_add(sample, "at", "%" PRIu64, now_ns);
	sample_add(sample, "hertz", "%ld", sysconf(_SC_CLK_TCK));
	if (!text)
		return;
	add_cpus(sample, text, size);
	if (read_text("/proc/meminfo", text, size))
		sample_add(sample, "memory", "%" PRIu64,
			   (number_after(text, "MemTotal:") - number_after(text, "MemAvailable:"))
				   << 10);
	if (statvfs("/", &drive) == 0)
		sample_add(sample, "drive", "%" PRIu64,
			   (uint64_t)(drive.f_blocks - drive.f_bfree) * drive.f_frsize >> 20);
	add_disks(sample, text, size);
	add_net(sample, text, size);
}

/* ---- a process ---- */

struct task {
	char state;
	uint64_t ticks, virtual_bytes;
	unsigned cpu;
};

/*
 * Reads a stat file of proc(5). The name in this file may contain blanks and parentheses, so
 * parsing begins at the last parenthesis.
 */
static bool read_task(const char *path, struct task *task)
{
	char text[1024];
	const char *at;
	uint64_t user, kernel;

	if (!read_text(path, text, sizeof(text)) || !(at = strrchr(text, ')')))
		return false;
	if (sscanf(at,
		   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %*u %" SCNu64
		   " %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %u",
		   &task->state, &user, &kernel, &task->virtual_bytes, &task->cpu) != 5)
		return false;
	task->ticks = user + kernel;
	return true;
}

/* Since Linux 6.2, the size of /proc/PID/fd is the number of its entries. */
static unsigned count_entries(const char *path)
{
	const struct dirent *entry;
	unsigned count = 0;
	DIR *directory;
	struct stat st;

	if (stat(path, &st) == 0 && st.st_size)
		return (unsigned)st.st_size;
	directory = opendir(path);
	if (!directory)
		return 0;
	while ((entry = readdir(directory)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

static void add_process(struct sample *sample, int32_t pid, bool with_pss)
{
	uint64_t resident = 0, shared = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t pss = 0;
	char path[64], text[2048];
	struct task task;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/statm", pid);
	if (read_text(path, text, sizeof(text)))
		sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared);
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
	if (!read_task(path, &task))
		return;
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/smaps_rollup", pid);
	if (with_pss && read_text(path, text, sizeof(text)))
		pss = number_after(text, "\nPss:") << 10;
	snprintf(path, sizeof(path), "/proc/%" PRId32 "/fd", pid);
	sample_add(sample, "process",
		   "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u", task.ticks,
		   task.virtual_bytes, resident * page, shared * page, pss, count_entries(path));
}

static void add_threads(struct sample *sample, int32_t pid)
{
	char path[128];
	DIR *directory;
	const struct dirent *entry;
	struct task task;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/task", pid);
	directory = opendir(path);
	while (directory && sample->count < SAMPLE_VALUES && (entry = readdir(directory)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%" PRId32 "/task/%.20s/stat", pid,
			 entry->d_name);
		if (entry->d_name[0] != '.' && read_task(path, &task))
			sample_add(sample, "thread", "%.20s %" PRIu64 " %c %u", entry->d_name,
				   task.ticks, task.state, task.cpu);
	}
	if (directory)
		closedir(directory);
}

void sample_process(struct sample *sample, int32_t pid, bool with_pss)
{
	/* remove the values of the previous process, which follow the values of the machine */
	for (uint32_t i = 0; i < sample->count; i++)
		if (!strcmp(sample->values[i].name, "process") ||
		    !strcmp(sample->values[i].name, "thread")) {
			sample->used = (size_t)(sample->values[i].name - sample->text);
			sample->count = i;
		}
	add_process(sample, pid, with_pss);
	add_threads(sample, pid);
}
