/* SPDX-License-Identifier: MIT */
/*
 * Pushes a run as a pprof profile over HTTP: to Pyroscope (a URL that ends in /ingest), to Parca
 * (/profiles/writeraw), or as the body of a request. Uses libcurl, which verifies certificates.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "serve/written.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM	   "holdtrace: push"
#define TIMEOUT_NS (10 * UINT64_C(1000000000))
#define TOKEN_MAX  8192
#define ANSWER_MAX 200 /* bytes of an answer that are shown */

enum receiver { RECEIVER_PYROSCOPE, RECEIVER_PARCA, RECEIVER_OTHER };

struct asked {
	struct option_values values;
#define OPTION(kind, name, ...) option_##kind name;
#include "serve/push.def"
#undef OPTION
};

static const struct option_row rows[] = {
#define OPTION(...) { OPTION_FIELDS(struct asked, __VA_ARGS__), .is_own = true },
#include "serve/push.def"
#undef OPTION
};

/* The options that this program reads; the post-processor gets all others. */
static const struct option_table table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.passes_others = true,
};

struct push {
	CURLU *url;
	char *host; /* scheme and host, for messages: the rest of a URL may have a password */
	enum receiver receiver;
	struct curl_slist *headers;
	uint64_t timeout_ns;
	const char *name;
	time_t since;		 /* when the previous profile was pushed; 0: this is the first */
	char answer[ANSWER_MAX]; /* start of the answer */
	size_t answer_size;
};

/* ---- where to ---- */

/* Parses the URL. Accepts only http and https, since libcurl also knows file and others. */
static int take_url(struct push *push, const char *text, struct error *err)
{
	char *scheme = NULL, *host = NULL, *path = NULL;
	size_t length;

	push->url = curl_url();
	if (curl_url_set(push->url, CURLUPART_URL, text, 0) ||
	    curl_url_get(push->url, CURLUPART_SCHEME, &scheme, 0) ||
	    (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0) ||
	    curl_url_get(push->url, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(push->url, CURLUPART_PATH, &path, 0))
		return error_set(err, EINVAL,
				 "not a URL of http or https: https://HOST/ingest (Pyroscope), or "
				 "https://HOST/profiles/writeraw (Parca)");
	push->host = memory_format("%s://%s", scheme, host);
	length = strlen(path);
	push->receiver = length >= 7 && !strcmp(path + length - 7, "/ingest") ? RECEIVER_PYROSCOPE
			 : length >= 18 && !strcmp(path + length - 18, "/profiles/writeraw")
				 ? RECEIVER_PARCA
				 : RECEIVER_OTHER;
	curl_free(scheme);
	curl_free(host);
	curl_free(path);
	return 0;
}

/* Adds the token in the file to the headers. Refuses to send it to another machine without TLS. */
static int take_token(struct push *push, const char *path, struct error *err)
{
	char token[TOKEN_MAX + 2] = "";
	cleanup_free char *header = NULL;
	cleanup_file FILE *file = fopen(path, "re");
	size_t length = 0;

	if (strncmp(push->host, "https:", 6) != 0 && strcmp(push->host, "http://localhost") != 0 &&
	    strcmp(push->host, "http://127.0.0.1") != 0 && strcmp(push->host, "http://[::1]") != 0)
		return error_set(err, EINVAL,
				 "--token-file: a token is sent only by https, or to "
				 "this machine");
	if (file)
		length = fread(token, 1, TOKEN_MAX + 1, file);
	if (!file || ferror(file))
		return error_system(err, errno, "--token-file=%s", path);
	while (length && isspace((unsigned char)token[length - 1]))
		token[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (!isgraph((unsigned char)token[i]))
			length = 0;
	if (!length || length > TOKEN_MAX)
		return error_set(err, EINVAL, "--token-file=%s: not a token: expected one word",
				 path);
	header = memory_format("Authorization: Bearer %s", token);
	push->headers = curl_slist_append(push->headers, header);
	return 0;
}

/* ---- what ---- */

static void base64(const unsigned char *bytes, size_t size, char *to)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; size; bytes += 3, size -= size < 3 ? size : 3) {
		uint32_t bits = (uint32_t)bytes[0] << 16 | (size > 1 ? bytes[1] << 8 : 0) |
				(size > 2 ? bytes[2] : 0);

		*to++ = digits[bits >> 18];
		*to++ = digits[bits >> 12 & 63];
		*to++ = size > 1 ? digits[bits >> 6 & 63] : '=';
		*to++ = size > 2 ? digits[bits & 63] : '=';
	}
	*to = '\0';
}

static size_t take_answer(char *bytes, size_t size, size_t count, void *user)
{
	struct push *push = user;

	for (size_t i = 0; i < size * count && push->answer_size < ANSWER_MAX - 1; i++)
		push->answer[push->answer_size++] = bytes[i];
	return size * count;
}

/* ---- a request ---- */

static int send_profile(struct push *push, const unsigned char *profile, size_t size,
			struct error *err)
{
	bool is_parca = push->receiver == RECEIVER_PARCA;
	cleanup_free char *text = is_parca ? memory_alloc((size + 2) / 3 * 4 + 1) : NULL;
	cleanup_free char *json = NULL;
	const char *type = is_parca ? "Content-Type: application/json"
				    : "Content-Type: application/octet-stream";
	struct curl_slist *headers = NULL;
	char reason[CURL_ERROR_SIZE] = "";
	CURL *curl = curl_easy_init();
	CURLU *url = curl_url_dup(push->url);
	curl_mime *form = NULL;
	long code = 0;
	CURLcode rc;

	push->answer_size = 0;
	if (is_parca) {
		base64(profile, size, text);
		/* the name has no characters that JSON escapes */
		json = memory_format("{\"series\":[{\"labels\":{\"labels\":["
				     "{\"name\":\"__name__\",\"value\":\"memory\"},"
				     "{\"name\":\"job\",\"value\":\"%s\"}]},"
				     "\"samples\":[{\"raw_profile\":\"%s\"}]}]}",
				     push->name, text);
	}
	for (const struct curl_slist *at = push->headers; at; at = at->next)
		headers = curl_slist_append(headers, at->data);
	if (push->receiver == RECEIVER_PYROSCOPE) {
		curl_mimepart *part;

		time_t now = time(NULL), since = push->since ? push->since : now - 1;
		cleanup_free char *name = memory_format("name=%s", push->name);
		cleanup_free char *times = memory_format("format=pprof&from=%lld&until=%lld",
							 (long long)since, (long long)now);

		curl_url_set(url, CURLUPART_QUERY, name, CURLU_APPENDQUERY | CURLU_URLENCODE);
		curl_url_set(url, CURLUPART_QUERY, times, CURLU_APPENDQUERY);
		push->since = now;
		form = curl_mime_init(curl);
		part = curl_mime_addpart(form);
		curl_mime_name(part, "profile");
		curl_mime_filename(part, "profile.pprof");
		curl_mime_data(part, (const char *)profile, size);
		curl_easy_setopt(curl, CURLOPT_MIMEPOST, form);
	} else {
		headers = curl_slist_append(headers, type);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)(json ? strlen(json) : size));
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json ? json : (const char *)profile);
	}
	curl_easy_setopt(curl, CURLOPT_CURLU, url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "holdtrace/" PACKAGE_VERSION);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(push->timeout_ns / 1000000));
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	/* do not send a token in clear text to a proxy that the environment names */
	if (push->headers && strncmp(push->host, "https:", 6) != 0)
		curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, push);
	rc = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
	curl_mime_free(form);
	curl_easy_cleanup(curl);
	curl_url_cleanup(url);
	curl_slist_free_all(headers);
	if (rc == CURLE_OK) {
		push->answer[push->answer_size] = '\0';
		push->answer[strcspn(push->answer, "\r\n")] = '\0';
		if (code >= 200 && code < 300)
			return 0;
		return error_set(err, EPROTO, "%s answered with status %ld%s%s%s", push->host, code,
				 code == 401 || code == 403
					 ? ": the token is missing or wrong (--token-file)"
					 : "",
				 *push->answer ? ": " : "", push->answer);
	}
	return error_set(err, EIO, "%s: %s", push->host, *reason ? reason : curl_easy_strerror(rc));
}

/* Writes the run as pprof and sends it. Returns an exit status. */
static int push_once(struct push *push, char **words)
{
	cleanup_fd int fd = memfd_create("holdtrace-push", MFD_CLOEXEC);
	int status = written_run("pprof", words, fd), rc;
	struct error err = { 0 };
	struct stat facts;
	void *profile;

	if (status)
		return status;
	if (fstat(fd, &facts) || (profile = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_SHARED,
						 fd, 0)) == MAP_FAILED) {
		print_message(stderr, PROGRAM ": %s", strerror(errno));
		return STATUS_FAILURE;
	}
	rc = send_profile(push, profile, (size_t)facts.st_size, &err);
	if (rc)
		print_message(stderr, PROGRAM ": %s", err.text);
	else
		print_message(stdout, "%s: %lld bytes", push->host, (long long)facts.st_size);
	fflush(stdout);
	munmap(profile, (size_t)facts.st_size);
	return rc ? STATUS_FAILED : 0;
}

/* ---- the program ---- */

/* Returns the name of the process with this pid, or of the file, without unusual characters. */
static char *find_name(const char *run)
{
	cleanup_free char *path = memory_format("/proc/%s/comm", run);
	bool is_process = !run[strspn(run, "0123456789")];
	cleanup_file FILE *file = is_process ? fopen(path, "re") : NULL;
	char comm[64] = "";
	const char *slash = strrchr(run, '/');
	char *name;

	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	name = memory_text(*comm ? comm : slash ? slash + 1 : run);
	if (!is_process && strstr(name, ".htr"))
		*strstr(name, ".htr") = '\0';
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			*at = '_';
	return name;
}

/* Usage: holdtrace-push POST-PROCESSOR URL WORD...; `holdtrace push` runs it. */
int main(int argc, char **argv)
{
	static const char usage[] =
		"Usage: holdtrace-push POST-PROCESSOR URL WORD...\n"
		"Pushes a run as pprof. `holdtrace push` starts this program.\n";
	struct push push = { .since = 0 };
	struct asked asked = { 0 };
	struct error err = { 0 };
	int at = 2, status = written_begin("push", usage, &table, &asked, argc, argv);
	cleanup_free char *name = NULL;
	const char *url, *run = NULL;

	if (status >= 0)
		return status;
	while (argv[at] && argv[at][0] == '-')
		at++;
	if (!argv[at] || !argv[at + 1])
		return written_refuse(
			"name the URL of the receiver, and a trace or the pid of a process: "
			"holdtrace push https://HOST/ingest run.htr");
	url = argv[at];
	memmove(argv + at, argv + at + 1, (options_count(argv + at + 1) + 1) * sizeof(*argv));
	run = argv[at];
	curl_global_init(CURL_GLOBAL_DEFAULT);
	push.timeout_ns = asked.timeout.is_set ? asked.timeout.value : TIMEOUT_NS;
	push.name = name = find_name(asked.name ? asked.name : run);
	if (take_url(&push, url, &err) ||
	    (asked.token_file && take_token(&push, asked.token_file, &err)))
		return written_refuse(err.text);
	status = push_once(&push, argv + 1);
	while (asked.every.value && status <= STATUS_FAILED) {
		const struct timespec pause = { (time_t)(asked.every.value / 1000000000),
						(long)(asked.every.value % 1000000000) };

		nanosleep(&pause, NULL);
		/* after a failure, the receiver may answer later; stop if the process has ended */
		if (!run[strspn(run, "0123456789")] && kill(atoi(run), 0) && errno == ESRCH)
			break;
		status = push_once(&push, argv + 1);
	}
	curl_slist_free_all(push.headers);
	curl_url_cleanup(push.url);
	free(push.host);
	return status;
}
