/* SPDX-License-Identifier: MIT */
/*
 * Effects (effects.h) of calls on sockets, which record addresses. Hooked by hand: calls that
 * receive messages with descriptors.
 */
#include "hand.h"

#include "preload/ground/sys.h"

#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/un.h>

/* Space for a copy of any address, because the program's own may be unaligned or truncated. */
union address {
	struct sockaddr any;
	struct sockaddr_un local;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_nl netlink;
	struct sockaddr_ll packet;
	char bytes[sizeof(struct sockaddr_un)];
};

static char *put_text(char *to, const char *text)
{
	return to + plain_copy(to, text, ADDRESS_FAMILY_MAX) - 1;
}

/* The name of an abstract socket begins with a NUL and may contain more NULs. */
static void put_local(char *to, const struct sockaddr_un *address, size_t length)
{
	size_t end = length - offsetof(struct sockaddr_un, sun_path);
	bool is_abstract = end && !address->sun_path[0];

	for (size_t i = 0; i < end && (is_abstract || address->sun_path[i]); i++)
		*to++ = address->sun_path[i] ? address->sun_path[i] : '@';
	*to = 0;
}

static void put_v4(char *to, const struct sockaddr_in *address)
{
	const uint8_t *byte = (const uint8_t *)&address->sin_addr;

	for (int i = 0; i < 4; i++) {
		to = plain_number(to, byte[i], 10);
		*to++ = i < 3 ? '.' : ':';
	}
	plain_number(to, __builtin_bswap16(address->sin_port), 10);
}

static unsigned int group_of(const struct sockaddr_in6 *address, int i)
{
	const uint8_t *byte = address->sin6_addr.s6_addr + 2 * (ptrdiff_t)i;

	return byte[0] * 256u + byte[1];
}

/*
 * Returns the index at which the longest run of two or more zero groups begins, or -1 if the
 * address has no such run. RFC 5952 writes this run as `::`.
 */
static int longest_zeros(const struct sockaddr_in6 *address, int *count)
{
	int best = -1;

	*count = 1;
	for (int from = 0, to; from < 8; from = to + 1) {
		for (to = from; to < 8 && !group_of(address, to);)
			to++;
		if (to - from > *count) {
			best = from;
			*count = to - from;
		}
	}
	return best;
}

static void put_v6(char *to, const struct sockaddr_in6 *address)
{
	int zeros, first = longest_zeros(address, &zeros);

	*to++ = '[';
	for (int i = 0; i < 8; i++) {
		if (i == first) {
			to = put_text(to, i ? ":" : "::");
			i += zeros - 1;
			continue;
		}
		to = plain_number(to, group_of(address, i), 16);
		if (i < 7)
			*to++ = ':';
	}
	if (address->sin6_scope_id) {
		*to++ = '%';
		to = plain_number(to, address->sin6_scope_id, 10);
	}
	to = put_text(to, "]:");
	plain_number(to, __builtin_bswap16(address->sin6_port), 10);
}

/* Writes an address as text: empty if it is NULL or too short to have a family. */
static void describe_address(struct spare *to, const struct sockaddr *given, size_t length)
{
	union address address = { .bytes = { 0 } };
	char *text = to->text;

	to->family[0] = to->text[0] = 0;
	if (length > sizeof(address))
		length = sizeof(address);
	if (!given || length < sizeof(given->sa_family))
		return;
	for (size_t i = 0; i < length; i++)
		address.bytes[i] = ((const char *)given)[i];
	switch (address.any.sa_family) {
	case AF_UNIX:
		put_text(to->family, "AF_UNIX");
		put_local(to->text, &address.local, length);
		break;
	case AF_INET:
		put_text(to->family, "AF_INET");
		put_v4(to->text, &address.v4);
		break;
	case AF_INET6:
		put_text(to->family, "AF_INET6");
		put_v6(to->text, &address.v6);
		break;
	case AF_NETLINK:
		put_text(to->family, "AF_NETLINK");
		text = plain_number(put_text(text, "pid "), address.netlink.nl_pid, 10);
		plain_number(put_text(text, " groups 0x"), address.netlink.nl_groups, 16);
		break;
	case AF_PACKET:
		put_text(to->family, "AF_PACKET");
		text = plain_number(put_text(text, "protocol 0x"),
				    __builtin_bswap16(address.packet.sll_protocol), 16);
		plain_number(put_text(text, " interface "),
			     (unsigned int)address.packet.sll_ifindex, 10);
		break;
	default:
		plain_number(put_text(to->family, "0x"), address.any.sa_family, 16);
	}
}

void address_known(struct call *call, struct call_event *event, const struct sockaddr *address,
		   socklen_t length, struct spare *spare)
{
	/* after a failure, check both ends of the address, which is shorter than a page */
	bool is_readable =
		!event->failed || (length >= 8 && length <= sizeof(struct sockaddr_storage) &&
				   sys_are_readable(address, length));

	(void)call;
	describe_address(spare, is_readable ? address : NULL, length);
}

/*
 * Remembers the size of the program's buffer for the address. The peer's address is recorded only
 * if the program asks for it. If the library asked the kernel, a sandbox could kill the program for
 * that system call.
 */
void peer_asked(struct call *call, struct call_event *event, const struct sockaddr *address,
		const socklen_t *length, struct spare *spare)
{
	(void)call;
	(void)event;
	spare->word = address && sys_is_readable(length) ? *length : 0;
}

void peer_known(struct call *call, struct call_event *event, const struct sockaddr *address,
		const socklen_t *length, struct spare *spare)
{
	size_t room = spare->word;

	(void)call;
	if (event->failed || !address || !room)
		describe_address(spare, NULL, 0);
	else
		describe_address(spare, address, *length < room ? *length : room);
}

/* Descriptors that a process receives in messages (SCM_RIGHTS). */

static const struct cmsghdr *first_control(const struct msghdr *message)
{
	return message->msg_controllen >= sizeof(struct cmsghdr) ? message->msg_control : NULL;
}

/* Like CMSG_NXTHDR, which would call libc. */
static const struct cmsghdr *next_control(const struct msghdr *message, const struct cmsghdr *at)
{
	const char *end = (const char *)message->msg_control + message->msg_controllen;
	size_t left = (size_t)(end - (const char *)at), step = CMSG_ALIGN(at->cmsg_len);

	if (at->cmsg_len < sizeof(*at) || step > left || left - step < sizeof(*at))
		return NULL;
	return (const struct cmsghdr *)((const char *)at + step);
}

/* The number of descriptors that one control message contains. */
static size_t passed_by(const struct cmsghdr *control)
{
	if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS ||
	    control->cmsg_len < CMSG_LEN(0))
		return 0;
	return (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
}

static size_t all_passed(const struct msghdr *message)
{
	const struct cmsghdr *at = first_control(message);
	size_t count = 0;

	for (; at; at = next_control(message, at))
		count += passed_by(at);
	return count;
}

/*
 * Records the descriptors of one message. left: the number of parts not yet recorded, including
 * those of this message. Returns the number of parts that are left after this message.
 */
static size_t passed_event(struct call *call, const struct msghdr *message, size_t left,
			   const struct call_argument *arguments)
{
	const struct cmsghdr *at = first_control(message);

	for (; at; at = next_control(message, at))
		for (size_t i = 0; i < passed_by(at); i++) {
			left--;
			fd_acquired(call, left < UINT8_MAX ? (uint8_t)left : UINT8_MAX,
				    ((const int *)CMSG_DATA(at))[i], 0, arguments);
		}
	return left;
}

/* Records a call that received no descriptors, if it waited. */
static void message_waited(struct call *call, int sockfd, bool has_failed,
			   const struct call_argument *arguments)
{
	if (call_lasted(call))
		CALL_EVENT(call, .resource = RESOURCE_CALL, .operation = OPERATION_WAIT,
			   .moment = MOMENT_LEAVE, .failed = has_failed, .object = WORD(sockfd),
			   .arguments = arguments);
}

/* A call that cannot block is recorded only afterwards, if it received descriptors. */
EXPORT ssize_t recvmsg(int sockfd, struct msghdr *message, int flags)
{
	const bool blocks = !(flags & MSG_DONTWAIT);
	ssize_t result = 0;
	size_t count;

	if (!blocks) {
		real_ready();
		result = real.recvmsg(sockfd, message, flags);
		if (result < 0 || !message->msg_controllen || !all_passed(message))
			return result;
	}
	BEGIN(recvmsg, sockfd, 0, blocks ? real.recvmsg(sockfd, message, flags) : result)
	if (blocks) {
		call_sleeps(&call);
		result = real.recvmsg(sockfd, message, flags);
	}
	call_returned(&call);
	count = result >= 0 && message->msg_controllen ? all_passed(message) : 0;
	passed_event(&call, result >= 0 ? message : &(struct msghdr){ .msg_controllen = 0 }, count,
		     VALUES_FOR(recvmsg, DECIMAL(sockfd), HEX(flags), HEX(message)));
	if (!count)
		message_waited(&call, sockfd, result < 0,
			       VALUES_FOR(recvmsg, DECIMAL(sockfd), HEX(flags), HEX(message)));
	call_end(&call);
	return result;
}

EXPORT int recvmmsg(int sockfd, struct mmsghdr *messages, unsigned int count, int flags,
		    struct timespec *timeout)
{
	const bool blocks = !(flags & MSG_DONTWAIT);
	size_t left = 0;
	int result = 0;

	if (!blocks) {
		real_ready();
		result = real.recvmmsg(sockfd, messages, count, flags, timeout);
		for (int i = 0; i < result; i++)
			left += all_passed(&messages[i].msg_hdr);
		if (!left)
			return result;
	}
	BEGIN(recvmmsg, sockfd, 0,
	      blocks ? real.recvmmsg(sockfd, messages, count, flags, timeout) : result)
	if (blocks) {
		call_sleeps(&call);
		result = real.recvmmsg(sockfd, messages, count, flags, timeout);
		for (int i = 0; i < result; i++)
			left += all_passed(&messages[i].msg_hdr);
	}
	call_returned(&call);
	if (!left)
		message_waited(&call, sockfd, result < 0,
			       VALUES_FOR(recvmmsg, DECIMAL(sockfd), HEX(flags), HEX(messages),
					  DECIMAL(count), HEX(timeout)));
	for (int i = 0; left && i < result; i++)
		left = passed_event(&call, &messages[i].msg_hdr, left,
				    VALUES_FOR(recvmmsg, DECIMAL(sockfd), HEX(flags), HEX(messages),
					       DECIMAL(count), HEX(timeout)));
	call_end(&call);
	return result;
}
