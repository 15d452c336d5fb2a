/* A server that speaks HTTP/2 by itself, one that asks another, and their client. Counts, and times that are slept, are
 * checked.
 *
 *   streams server PORT HOW [SERVICE]   answers requests three at a time, the nth of them after n times 2 ms, or, with a
 *                                       SERVICE at a port, when that has answered the same three
 *   streams client PORT HOW ROUNDS [held]  one connection: three requests at once, and a fourth that it takes back
 *
 * HOW: `whole` in one piece; `split` in pieces of at most 5 bytes; `vectors` by readv(2) and writev(2) from odd pieces;
 * `message` by recvmsg(2) and sendmsg(2) from them; `hidden` by recvmmsg(2), which knee does not look at, and `late`
 * so, but the first round as a whole; `http1` is HTTP/1, three requests one after the other, each with the preface of
 * HTTP/2 as its body. held: one round, then a line of standard input is waited for, and the rounds follow.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define HTTP1 "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 24\r\n\r\n"
#define OK1 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
enum { DATA, HEADERS, RST = 3, SETTINGS };
enum { END_STREAM = 1, END_HEADERS = 4 };

static const char *how;
static int service;

/* A connection: what was read and not used yet, and what is to be sent. */
struct line {
	int fd, rounds;
	size_t have, sends;
	char in[4096], out[4096];
};

static int is(const char *word)
{
	return !strcmp(how, word);
}

/* The pieces of a buffer: 3, 4, 1, 1000 bytes and so on; an empty one, too. */
static int pieces(char *at, size_t length, struct iovec *into)
{
	static const size_t sizes[] = {3, 0, 4, 1, 1000};
	int count = 0;
	for (size_t from = 0; from < length; count++) {
		size_t size = sizes[count % 5] < length - from ? sizes[count % 5] : length - from;
		into[count] = (struct iovec){at + from, size};
		from += size;
	}
	return count;
}

static void receive(struct line *line)
{
	struct iovec parts[32];
	char *at = line->in + line->have;
	size_t room = sizeof(line->in) - line->have;
	struct msghdr message = {.msg_iov = parts};
	ssize_t count;
	if (is("vectors")) {
		count = readv(line->fd, parts, pieces(at, room, parts));
	} else if (is("message")) {
		message.msg_iovlen = pieces(at, room, parts);
		count = recvmsg(line->fd, &message, 0);
	} else if (is("hidden") || (is("late") && line->rounds)) {
		struct mmsghdr one = {.msg_hdr = {.msg_iov = parts, .msg_iovlen = pieces(at, room, parts)}};
		count = recvmmsg(line->fd, &one, 1, 0, 0) == 1 ? (ssize_t)one.msg_len : -1;
	} else {
		count = read(line->fd, at, is("split") ? 5 : room);
	}
	if (count <= 0)
		pthread_exit(0);
	line->have += count;
}

/* Waits until so many bytes are there. */
static void need(struct line *line, size_t bytes)
{
	while (line->have < bytes)
		receive(line);
}

static void use(struct line *line, size_t bytes)
{
	line->have -= bytes;
	memmove(line->in, line->in + bytes, line->have);
}

static void say(struct line *line, const char *bytes, size_t length)
{
	memcpy(line->out + line->sends, bytes, length);
	line->sends += length;
}

static void frame(struct line *line, int type, int flags, uint32_t stream, size_t length)
{
	char payload[64] = {0};
	unsigned char header[9] = {0, length >> 8, length, type, flags, stream >> 24, stream >> 16, stream >> 8, stream};
	say(line, (char *)header, sizeof(header));
	say(line, payload, length);
}

static void flush_line(struct line *line)
{
	struct iovec parts[32];
	struct msghdr message = {.msg_iov = parts};
	size_t done = 0;
	while (done < line->sends) {
		size_t rest = line->sends - done;
		ssize_t sent;
		if (is("vectors")) {
			sent = writev(line->fd, parts, pieces(line->out + done, rest, parts));
		} else if (is("message")) {
			message.msg_iovlen = pieces(line->out + done, rest, parts);
			sent = sendmsg(line->fd, &message, 0);
		} else {
			sent = write(line->fd, line->out + done, is("split") && rest > 4 ? 4 : rest);
		}
		if (sent <= 0)
			pthread_exit(0);
		done += sent;
	}
	line->sends = 0;
}

/* Reads up to the next HEADERS that ends a stream's half, and returns the stream: the trailers, as each request and
 * answer here has them. */
static uint32_t next_end(struct line *line)
{
	for (;;) {
		need(line, 9);
		const unsigned char *head = (unsigned char *)line->in;
		size_t length = head[1] << 8 | head[2];
		uint32_t stream = head[7] << 8 | head[8];
		int ends = head[3] == HEADERS && (head[4] & END_STREAM);
		need(line, 9 + length);
		use(line, 9 + length);
		if (ends)
			return stream;
	}
}

/* A request or an answer. */
static void whole_message(struct line *line, uint32_t stream)
{
	frame(line, HEADERS, END_HEADERS, stream, 17);
	frame(line, DATA, 0, stream, 40);
	frame(line, HEADERS, END_HEADERS | END_STREAM, stream, 6);
}

static void at_once(int fd)
{
	int one = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int reach(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
		exit(1);
	at_once(fd);
	return fd;
}

static void begin(struct line *line)
{
	say(line, PREFACE, 24);
	frame(line, SETTINGS, 0, 0, 12);
}

/* Sends three requests, the numbers of whose streams begin at `first`, and a fourth to take it back. */
static void ask(struct line *line, uint32_t first)
{
	for (int i = 0; i < 3; i++)
		whole_message(line, first + 2 * i);
	frame(line, HEADERS, END_HEADERS, first + 6, 17);
	frame(line, RST, 0, first + 6, 4);
	flush_line(line);
}

static void serve_http1(struct line *line)
{
	size_t length = strlen(HTTP1);
	for (;;) {
		need(line, length + 24);
		use(line, length + 24);
		usleep(2000);
		say(line, OK1, strlen(OK1));
		flush_line(line);
	}
}

static void *serve(void *argument)
{
	struct line line = {.fd = (int)(intptr_t)argument}, asked = {.fd = service ? reach(service) : -1};
	uint32_t streams[3], first = 1;
	if (is("http1"))
		serve_http1(&line);
	if (service)
		begin(&asked);
	need(&line, 24);
	use(&line, 24);
	frame(&line, SETTINGS, 0, 0, 0);
	for (;; line.rounds++, first += 8) {
		for (int i = 0; i < 3; i++)
			streams[i] = next_end(&line);
		if (service)
			ask(&asked, first);
		for (int i = 0; i < 3; i++) {
			if (service)
				next_end(&asked);
			else
				usleep(2000);
			whole_message(&line, streams[i]);
			flush_line(&line);
		}
	}
	return 0;
}

static void listen_at(int port)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 16))
		exit(1);
	for (;;) {
		int client = accept(fd, 0, 0);
		pthread_t thread;
		if (client < 0)
			continue;
		at_once(client);
		pthread_create(&thread, 0, serve, (void *)(intptr_t)client);
		pthread_detach(thread);
	}
}

static void client(int port, int rounds, int held)
{
	struct line line = {.fd = reach(port)};
	uint32_t first = 1;
	if (!is("http1"))
		begin(&line);
	for (int round = 0; round < rounds + held; round++, first += 8) {
		if (is("http1")) {
			/* The body in a packet of its own, so that what the server reads begins with it. */
			for (int i = 0; i < 3; i++) {
				say(&line, HTTP1, strlen(HTTP1));
				flush_line(&line);
				usleep(500);
				say(&line, PREFACE, 24);
				flush_line(&line);
				need(&line, strlen(OK1));
				use(&line, strlen(OK1));
			}
			continue;
		}
		ask(&line, first);
		for (int i = 0; i < 3; i++)
			next_end(&line);
		if (held && !round) {
			puts("held");
			fflush(stdout);
			getchar();
		}
	}
	printf("%d requests\n", 3 * rounds);
}

int main(int count, char **words)
{
	if (count < 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	how = words[3];
	if (!strcmp(words[1], "client")) {
		client(atoi(words[2]), atoi(words[4]), count > 5);
		return 0;
	}
	service = count > 4 ? atoi(words[4]) : 0;
	listen_at(atoi(words[2]));
}
