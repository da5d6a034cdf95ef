/* SPDX-License-Identifier: MIT */
#include "launch/session.h"

#include "base/cleanup.h"
#include "base/memory.h"
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* limits so that all labels fit into one note of the trace, whose packet has at most 4 KiB */
#define LABELS_BYTES_MAX 1000
#define LABELS_MAX	 16

/* names: environment variables, then NULL. Returns the value of the first that is set, or NULL. */
static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

const char *labels_rank(void)
{
	static const char *const names[] = { RANK_VARIABLES, NULL };
	const char *rank = first_of(names);

	return rank && !rank[strspn(rank, "0123456789")] ? rank : NULL;
}

const char *labels_job(void)
{
	static const char *const names[] = { "SLURM_JOB_ID", "PBS_JOBID",      "LSB_JOBID",
					     "FLUX_JOB_ID",  "PMIX_NAMESPACE", NULL };

	return first_of(names) ?: "";
}

/* Returns the label in `labels` with the name of `label`, or NULL. name: length of the name. */
static char *find_label(char *labels, const char *label, size_t name)
{
	for (char *at = labels; *at; at += strcspn(at, ","), at += *at == ',')
		if (!strncmp(at, label, name + 1))
			return at;
	return NULL;
}

static int add_label(char *labels, const char *label, size_t length, struct error *err)
{
	size_t name = 0, count = 1, used;
	char *known;

	while (isalnum((unsigned char)label[name]) || (label[name] && strchr("._-", label[name])))
		name++;

	if (!name || name >= length || label[name] != '=')
		return error_set(err, EINVAL,
				 "label \"%.*s\": expected NAME=VALUE; a name has letters, digits, "
				 "dots, - and _",
				 (int)length, label);
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)label[i]))
			return error_set(err, EINVAL,
					 "label \"%.*s\": the value has a control character",
					 (int)name, label);
	known = find_label(labels, label, name);
	if (known) {
		const char *next = known + strcspn(known, ",");

		next += *next == ',';
		memmove(known, next, strlen(next) + 1);
	}
	used = strlen(labels);
	used -= used && labels[used - 1] == ',';
	labels[used] = 0;
	for (size_t i = 0; i < used; i++)
		count += labels[i] == ',';
	count += used != 0;
	if (count > LABELS_MAX || used + length + 2 > LABELS_BYTES_MAX)
		return error_set(
			err, EINVAL,
			"label \"%.*s\": a run has at most %d labels with %d bytes in total",
			(int)name, label, LABELS_MAX, LABELS_BYTES_MAX);
	snprintf(labels + used, LABELS_BYTES_MAX - used, "%s%.*s", used ? "," : "", (int)length,
		 label);
	return 0;
}

int labels_add(struct settings *settings, const char *list, struct error *err)
{
	for (size_t length; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		if (add_label(settings->labels, list, length, err) && err)
			return -EINVAL;
	}
	return 0;
}

/*
 * Returns the host ('h'), job ('j') or rank ('r'), or NULL if it is unknown. The caller frees it.
 */
static char *find_fact(char letter)
{
	struct utsname host = { .nodename = "" };
	const char *value = letter == 'j' ? labels_job() : labels_rank();
	char *text;

	if (letter == 'h' && uname(&host) == 0)
		value = host.nodename;
	if (!value || !*value)
		return NULL;
	text = memory_text_part(value, strnlen(value, 64));
	/* replace all bytes that are not suitable for a file name and a list of labels */
	for (char *at = text; *at; at++)
		if (!isprint((unsigned char)*at) || strchr("/,=%| ", *at))
			*at = '_';
	return text;
}

void labels_finish(struct settings *settings, bool is_node)
{
	static const char *const names[] = { "host", "job", "rank" };
	struct error ignored;

	if (!*settings->labels && !labels_rank() && !is_node)
		return;
	if (is_node && !find_label(settings->labels, "node=", strlen("node")))
		add_label(settings->labels, "node=all", strlen("node=all"), &ignored);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) - is_node; i++) {
		cleanup_free char *value = find_fact(*names[i]);
		cleanup_free char *label = memory_format("%s=%s", names[i], value ? value : "");

		/* facts that do not fit are left out, because they must not prevent a run */
		if (value && !find_label(settings->labels, label, strlen(names[i])))
			add_label(settings->labels, label, strlen(label), &ignored);
	}
}

int labels_expand(struct settings *settings, struct error *err)
{
	char made[SETTINGS_TEXT_MAX] = "";
	size_t used = 0;

	if (*settings->out == '|')
		return 0;
	for (const char *at = settings->out; *at; at++) {
		cleanup_free char *value = NULL;
		const char *text = "none";

		if (*at != '%' || !at[1] || !strchr("hjr", at[1])) {
			value = memory_text_part(at, 1);
			text = value;
		} else {
			value = find_fact(*++at);
			text = value ? value : text;
		}
		used += (size_t)snprintf(made + used, sizeof(made) - used, "%s", text);
		if (used >= sizeof(made))
			return error_set(err, ENAMETOOLONG,
					 "--output=%.200s…: the name is too long", settings->out);
	}
	memcpy(settings->out, made, used + 1);
	return 0;
}

int labels_has_rank(const char *list, const char *rank, struct error *err)
{
	uint64_t wanted = rank ? strtoull(rank, NULL, 10) : 0;
	bool is_found = false;
	const char *at = list;

	if (!rank)
		return error_set(err, EINVAL,
				 "--ranks=%s: the rank is unknown: none of PMI_RANK, "
				 "OMPI_COMM_WORLD_RANK, PMIX_RANK and SLURM_PROCID is set",
				 list);
	do {
		uint64_t first, last;
		char *end;

		first = last = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : 1;
		if (isdigit((unsigned char)*at) && *end == '-' && isdigit((unsigned char)end[1]))
			last = strtoull(end + 1, &end, 10);
		if (!isdigit((unsigned char)*at) || (*end && *end != ',') || first > last)
			return error_set(err, EINVAL,
					 "--ranks=%s: expected numbers and ranges: 0,7,100-107",
					 list);
		is_found |= wanted >= first && wanted <= last;
		at = end + (*end == ',');
	} while (*at);
	return is_found;
}
