/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"
#include "base/error.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/out.h"
#include "serve/written.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Serves one file over HTTP to a browser on this machine: only on the loopback address, only under
 * a random path, and only to pages of one origin. Uses libmicrohttpd.
 */

struct viewer {
	const char *format, *name, *type, *origin, *address;
	uint16_t port;
	size_t offset; /* offset of the viewer's option in struct asked */
};

struct serve {
	int fd; /* a regular file, which is served from its start, not from its offset */
	const struct viewer *viewer;
	struct MHD_Daemon *daemon;
	char host[32], other_host[32]; /* the two values of the Host header that name this server */
	char path[128];		       /* "/SECRET/NAME" */
	char address[192];	       /* "http://127.0.0.1:PORT/SECRET/NAME" */
	unsigned port;
};

/*
 * Finds the user of a connection from this machine in the kernel's list of TCP sockets. from: the
 * port of the client. Returns false if the list lacks the connection.
 */
static bool find_client(const char *list, unsigned from, unsigned to, uid_t *user)
{
	cleanup_file FILE *file = fopen(list, "re");
	char line[512], local[33], remote[33];
	unsigned local_port, remote_port;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %u",
			   local, &local_port, remote, &remote_port, user) == 5 &&
		    local_port == from && remote_port == to)
			return true;
	return false;
}

/*
 * Whether the client is a process of this user. Other users of this machine can find the address in
 * the arguments of the browser.
 */
static bool is_ours(const struct serve *serve, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	unsigned from = info ? ntohs(((const struct sockaddr_in *)info->client_addr)->sin_port) : 0;
	uid_t user;

	return (find_client("/proc/net/tcp", from, serve->port, &user) ||
		find_client("/proc/net/tcp6", from, serve->port, &user)) &&
	       user == getuid();
}

static enum MHD_Result send_status(struct MHD_Connection *connection, unsigned status)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result =
		response ? MHD_queue_response(connection, status, response) : MHD_NO;

	if (response)
		MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_file(const struct serve *serve, struct MHD_Connection *connection,
				 bool with_body)
{
	int fd = with_body ? fcntl(serve->fd, F_DUPFD_CLOEXEC, 0) : -1;
	struct stat status;
	struct MHD_Response *response;
	enum MHD_Result result;

	if (with_body && (fd < 0 || fstat(fd, &status) != 0))
		return MHD_NO;
	response = with_body
			   ? MHD_create_response_from_fd64((uint64_t)status.st_size, fd)
			   : MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	if (!response) {
		if (fd >= 0)
			close(fd);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	if (*serve->viewer->origin) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN,
					serve->viewer->origin);
		/*
		 * lets a page from the Internet read from this machine (Private Network Access, a
		 * draft)
		 */
		MHD_add_response_header(response, "Access-Control-Allow-Private-Network", "true");
	}
	if (with_body)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					serve->viewer->type);
	result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

/* Answers a request (MHD_AccessHandlerCallback). Refuses requests with a body. */
static enum MHD_Result answer_request(void *context, struct MHD_Connection *connection,
				      const char *url, const char *method, const char *version,
				      const char *data, size_t *size, void **state)
{
	const struct serve *serve = context;
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	(void)version;
	(void)data;
	(void)state;
	/* a malicious page may make its own host name resolve to this machine (DNS rebinding) */
	if (*size || !host ||
	    (strcmp(host, serve->host) != 0 && strcmp(host, serve->other_host) != 0) ||
	    !is_ours(serve, connection))
		return send_status(connection, MHD_HTTP_FORBIDDEN);
	if (strcmp(url, serve->path) != 0)
		return send_status(connection, MHD_HTTP_NOT_FOUND);
	if (!strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_file(serve, connection, true);
	if (!strcmp(method, MHD_HTTP_METHOD_OPTIONS))
		return send_file(serve, connection, false);
	return send_status(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
}

/*
 * Starts a thread that serves the file. port: the port to listen on; 0: any. Returns 0, -EADDRINUSE
 * or another negative errno.
 */
static int serve_begin(struct serve *serve, uint16_t port, struct error *err)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const union MHD_DaemonInfo *info;
	uint64_t secret[2] = { 0 };

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return error_system(err, errno, "random numbers");
	snprintf(serve->path, sizeof(serve->path), "/%016" PRIx64 "%016" PRIx64 "/%s", secret[0],
		 secret[1], serve->viewer->name);
	serve->daemon =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, answer_request,
				 serve, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT,
				 64u, MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
	if (!serve->daemon && port)
		return error_set(err, EADDRINUSE,
				 "port %u of this machine is in use by another program", port);
	info = serve->daemon ? MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info)
		return error_set(err, EIO, "no server can be started on this machine");
	serve->port = info->port;
	snprintf(serve->host, sizeof(serve->host), "127.0.0.1:%u", serve->port);
	snprintf(serve->other_host, sizeof(serve->other_host), "localhost:%u", serve->port);
	snprintf(serve->address, sizeof(serve->address), "http://%s%s", serve->host, serve->path);
	return 0;
}

#define PROGRAM "holdtrace: view"

struct asked {
	struct option_values values;
#define VIEWER(word, ...)	option_flag word;
#define OPTION(kind, name, ...) option_##kind name;
#include "serve/viewers.def"
#include "serve/view.def"
#undef VIEWER
#undef OPTION
};

static const struct option_row rows[] = {
#define VIEWER(word, format, name, type, port, origin, address, sentence) \
	{ OPTION_FIELDS(struct asked, flag, word, #word, 0, NULL, NULL, sentence), .is_own = true },
#define OPTION(...) { OPTION_FIELDS(struct asked, __VA_ARGS__), .is_own = true },
#include "serve/viewers.def"
#include "serve/view.def"
#undef VIEWER
#undef OPTION
};

/* The options that this program reads; the post-processor gets all others. */
static const struct option_table table = {
	.rows = rows,
	.count = sizeof(rows) / sizeof(rows[0]),
	.passes_others = true,
};

static const struct viewer viewers[] = {
#define VIEWER(word, format, name, type, port, origin, address, sentence) \
	{ format, name, type, origin, address, port, offsetof(struct asked, word) },
#include "serve/viewers.def"
#undef VIEWER
};

/* Runs xdg-open(1) if there is a desktop, and does not wait for it. */
static void open_browser(const char *address)
{
	sigset_t none;
	int nothing;

	if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) || fork() != 0)
		return;
	/*
	 * The browser may outlive this program. So it must not keep open the run's descriptors, the
	 * terminal or the caller's pipes, and its signal actions are reset.
	 */
	setsid();
	syscall(SYS_close_range, 0u, ~0u, 0u);
	nothing = open("/dev/null", O_RDWR);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execlp("xdg-open", "xdg-open", address, (char *)NULL);
	_exit(127);
}

/* Usage: holdtrace-view POST-PROCESSOR WORD...; `holdtrace view` runs it. */
int main(int argc, char **argv)
{
	static const char usage[] =
		"Usage: holdtrace-view POST-PROCESSOR WORD...\n"
		"Shows a run in a browser of this machine. `holdtrace view` starts this program.\n";
	struct asked asked = { 0 };
	/* global, because another thread uses it until the program ends */
	static struct serve serve;
	const struct viewer *viewer = &viewers[0];
	struct error err = { 0 };
	char address[1024];
	int used;
	sigset_t signals;
	int number, status = written_begin("view", usage, &table, &asked, argc, argv);

	if (status >= 0)
		return status;
	if (asked.port.value > UINT16_MAX) {
		error_set(&err, EINVAL, "--port=%" PRIu64 ": expected 1 to 65535",
			  asked.port.value);
		return written_refuse(err.text);
	}
	for (size_t i = 0; i < sizeof(viewers) / sizeof(viewers[0]); i++)
		if (*(const option_flag *)((const char *)&asked + viewers[i].offset)) {
			viewer = &viewers[i];
			break;
		}
	serve.viewer = viewer;
	serve.fd = memfd_create("holdtrace-view", MFD_CLOEXEC);
	status = written_run(viewer->format, argv + 1, serve.fd);
	if (status)
		return status;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGCHLD, SIG_IGN);
	if (serve_begin(&serve, asked.port.value ? (uint16_t)asked.port.value : viewer->port,
			&err)) {
		print_message(stderr, "%s: %s", PROGRAM, err.text);
		return STATUS_FAILURE;
	}
	used = snprintf(address, sizeof(address), "%s",
			*viewer->address ? viewer->address : serve.address);
	/* percent-encode all but unreserved characters (RFC 3986, section 2.1) */
	for (const char *at = serve.address; *viewer->address && *at; at++) {
		bool is_plain = strchr("-._~", *at) || (*at >= '0' && *at <= '9') ||
				(*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z');

		used += sprintf(address + used, is_plain ? "%c" : "%%%02X", (unsigned char)*at);
	}
	print_message(stdout, "%s", address);
	fflush(stdout);
	fprintf(stderr, PROGRAM ": served only on this machine until Ctrl-C\n");
	if (!asked.no_open)
		open_browser(address);
	sigwait(&signals, &number);
	MHD_stop_daemon(serve.daemon);
	return 0;
}
