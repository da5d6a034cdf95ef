/* SPDX-License-Identifier: MIT */
#include "launch/node.h"

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "base/memory.h"
#include "launch/labels.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the path of the file for the runs of this job that write to the same output. */
static char *make_path(const struct settings *settings)
{
	cleanup_free char *here = getcwd(NULL, 0);
	cleanup_free char *text =
		memory_format("%s\n%s\n%s", labels_job(), here ? here : "", settings->out);
	const char *directory = getenv("XDG_RUNTIME_DIR");

	return memory_format("%s/holdtrace-node-%u-%016" PRIx64,
			     directory && *directory ? directory : "/tmp", (unsigned)geteuid(),
			     hash_bytes(0, text, strlen(text)));
}

/* Opens and locks the file. Another user must not be able to choose the run, so it must be ours. */
static int open_locked(struct node *node, struct error *err)
{
	struct stat facts = { .st_nlink = 0 };

	/* the file may be removed while we wait for the lock */
	while (!facts.st_nlink) {
		if (node->fd >= 0)
			close(node->fd);
		node->fd = open(node->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (node->fd < 0 || fstat(node->fd, &facts))
			return error_system(err, errno, "--node: %s", node->path);
		if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || facts.st_mode & 077)
			return error_set(err, EPERM, "--node: %s: belongs to another user",
					 node->path);
		while (flock(node->fd, LOCK_EX) && errno == EINTR)
			;
		if (fstat(node->fd, &facts))
			return error_system(err, errno, "--node: %s", node->path);
	}
	return 0;
}

int node_enter(struct node *node, struct session *session, struct error *err)
{
	char name[SESSION_TEXT_MAX] = "";
	int rc;

	node->path = make_path(&session->control->settings);
	rc = open_locked(node, err);
	if (rc == 0 && read(node->fd, name, sizeof(name) - 1) > 0 && !session_join(session, name))
		/* all ranks so far have ended: do not overwrite their file */
		session->control->settings.force = 0;
	return rc;
}

void node_announce(struct node *node, const struct session *session)
{
	char name[SESSION_TEXT_MAX];

	session_name(session, name);
	/* if this fails, the other ranks create runs of their own */
	if (!session->joined && (ftruncate(node->fd, 0) ||
				 pwrite(node->fd, name, strlen(name), 0) != (ssize_t)strlen(name)))
		unlink(node->path);
	close(node->fd);
	node->fd = -1;
}

void node_leave(struct node *node, struct session *session)
{
	session_wait_for_all(session);
	unlink(node->path);
	free(node->path);
}
