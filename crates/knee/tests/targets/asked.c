/* A server that asks a service for each request, the service, and a client. Counts, not times, are checked.
 *
 *   asked service AT            answers each line after 2 ms
 *   asked server AT SERVICE     answers each line when the service has answered it
 *   asked client AT NUMBER      four connections that each send NUMBER lines and wait for each answer
 *
 * AT and SERVICE: a TCP port, /PATH of a socket in the file system, or @NAME of one outside of it.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *service_at;
static int number;

union name {
	struct sockaddr any;
	struct sockaddr_in tcp;
	struct sockaddr_un path;
};

static int in_files(const char *where)
{
	return where[0] == '/' || where[0] == '@';
}

static socklen_t name_of(const char *where, union name *name)
{
	memset(name, 0, sizeof(*name));
	if (in_files(where)) {
		int abstract = where[0] == '@';
		name->path.sun_family = AF_UNIX;
		strncpy(name->path.sun_path + abstract, where + abstract, sizeof(name->path.sun_path) - 1);
		return offsetof(struct sockaddr_un, sun_path) + strlen(where) + !abstract;
	}
	name->tcp.sin_family = AF_INET;
	name->tcp.sin_port = htons(atoi(where));
	name->tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(name->tcp);
}

/* Abstract names have sockets that keep messages apart. */
static int socket_for(const char *where)
{
	return in_files(where) ? socket(AF_UNIX, where[0] == '@' ? SOCK_SEQPACKET : SOCK_STREAM, 0)
			       : socket(AF_INET, SOCK_STREAM, 0);
}

static void at_once(int fd, const char *where)
{
	int one = 1;
	if (!in_files(where))
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int reach(const char *where)
{
	union name name;
	sa_family_t any = AF_UNIX;
	int fd = socket_for(where);
	/* A client of an abstract name gets a name of its own, which the kernel chooses. */
	if (fd < 0 || (where[0] == '@' && bind(fd, (struct sockaddr *)&any, sizeof(any))))
		exit(1);
	if (connect(fd, &name.any, name_of(where, &name)))
		exit(1);
	at_once(fd, where);
	return fd;
}

/* Messages of a program to itself, or without a connection, must not count as requests. */
static void talk_to_itself(void)
{
	char line[64];
	for (int type = SOCK_STREAM; type <= SOCK_DGRAM; type++) {
		int ends[2];
		if (socketpair(AF_UNIX, type, 0, ends))
			exit(1);
		for (int i = 0; i < 4; i++)
			if (write(ends[i % 2], "self\n", 5) != 5 || read(ends[1 - i % 2], line, sizeof(line)) != 5)
				exit(1);
		close(ends[0]);
		close(ends[1]);
	}
}

static void *serve(void *argument)
{
	int fd = (int)(intptr_t)argument, service = service_at ? reach(service_at) : -1;
	char line[64];
	while (read(fd, line, sizeof(line)) > 0) {
		if (service < 0)
			usleep(2000);
		else if (write(service, "ask\n", 4) != 4 || read(service, line, sizeof(line)) <= 0)
			exit(1);
		if (service >= 0 && in_files(service_at))
			talk_to_itself();
		if (write(fd, "ok\n", 3) != 3)
			break;
	}
	close(fd);
	if (service >= 0)
		close(service);
	return 0;
}

static void listen_at(const char *where)
{
	int one = 1, fd = socket_for(where);
	union name name;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (where[0] == '/')
		unlink(where);
	if (bind(fd, &name.any, name_of(where, &name)) || listen(fd, 16))
		exit(1);
	for (;;) {
		int client = accept(fd, 0, 0);
		pthread_t thread;
		if (client < 0)
			continue;
		at_once(client, where);
		pthread_create(&thread, 0, serve, (void *)(intptr_t)client);
		pthread_detach(thread);
	}
}

static void *ask(void *where)
{
	int fd = reach(where);
	char line[64];
	for (int i = 0; i < number; i++)
		if (write(fd, "get\n", 4) != 4 || read(fd, line, sizeof(line)) <= 0)
			exit(1);
	close(fd);
	return 0;
}

int main(int count, char **words)
{
	if (count < 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(words[1], "client")) {
		pthread_t threads[4];
		number = atoi(words[3]);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], 0, ask, words[2]);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], 0);
		printf("%d requests\n", 4 * number);
		return 0;
	}
	service_at = count > 3 ? words[3] : 0;
	listen_at(words[2]);
}
