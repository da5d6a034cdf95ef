/* SPDX-License-Identifier: MIT */
#include "serve/serve.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct serve {
	const struct serve_options *options;
	struct MHD_Daemon *daemon;
	char host[32], other_host[32]; /* the two values of the Host header that name this server */
	char path[128];		       /* "/SECRET/NAME" */
	char address[192];
};

static void add_headers(const struct serve *serve, struct MHD_Response *response)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	if (!serve->options->origin)
		return;
	MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN,
				serve->options->origin);
	/* lets a page from the Internet read from this machine (Private Network Access, a draft) */
	MHD_add_response_header(response, "Access-Control-Allow-Private-Network", "true");
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
	int fd = with_body ? fcntl(serve->options->fd, F_DUPFD_CLOEXEC, 0) : -1;
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
	add_headers(serve, response);
	if (with_body)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
					serve->options->type);
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
	    (strcmp(host, serve->host) != 0 && strcmp(host, serve->other_host) != 0))
		return send_status(connection, MHD_HTTP_FORBIDDEN);
	if (strcmp(url, serve->path) != 0)
		return send_status(connection, MHD_HTTP_NOT_FOUND);
	if (!strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_file(serve, connection, true);
	if (!strcmp(method, MHD_HTTP_METHOD_OPTIONS))
		return send_file(serve, connection, false);
	return send_status(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
}

static int listen_to(struct serve *serve, struct error *err)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(serve->options->port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const union MHD_DaemonInfo *info;
	unsigned port;

	serve->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, serve->options->port,
					 NULL, NULL, answer_request, serve, MHD_OPTION_SOCK_ADDR,
					 &address, MHD_OPTION_CONNECTION_LIMIT, 64u,
					 MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
	if (!serve->daemon && serve->options->port)
		return error_set(err, EADDRINUSE,
				 "port %u of this machine is in use by another program",
				 serve->options->port);
	info = serve->daemon ? MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info)
		return error_set(err, EIO, "no server can be started on this machine");
	port = info->port;
	snprintf(serve->host, sizeof(serve->host), "127.0.0.1:%u", port);
	snprintf(serve->other_host, sizeof(serve->other_host), "localhost:%u", port);
	snprintf(serve->address, sizeof(serve->address), "http://%s%s", serve->host, serve->path);
	return 0;
}

int serve_begin(struct serve **result, const struct serve_options *options, struct error *err)
{
	struct serve *serve = memory_zalloc(1, sizeof(*serve));
	uint64_t secret[2] = { 0 };
	int status = 0;

	serve->options = options;
	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		status = error_system(err, errno, "random numbers");
	snprintf(serve->path, sizeof(serve->path), "/%016" PRIx64 "%016" PRIx64 "/%s", secret[0],
		 secret[1], options->name);
	if (!status)
		status = listen_to(serve, err);
	if (status) {
		serve_end(serve);
		return status;
	}
	*result = serve;
	return 0;
}

const char *serve_address(const struct serve *serve)
{
	return serve->address;
}

void serve_end(struct serve *serve)
{
	if (serve->daemon)
		MHD_stop_daemon(serve->daemon);
	free(serve);
}
