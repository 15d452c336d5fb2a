/* A server that asks a service for each request, the service, and a client. Counts, not times, are checked.
 *
 *   asked service PORT            answers each line after 2 ms
 *   asked server PORT SERVICE     answers each line when the service has answered it
 *   asked client PORT NUMBER      four connections that send so many lines each and wait for each answer
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int service_port, number;

static struct sockaddr_in at(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

static int reach(int port)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = at(port);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void *serve(void *argument)
{
	int fd = (int)(intptr_t)argument, service = service_port ? reach(service_port) : -1;
	char line[64];
	while (read(fd, line, sizeof(line)) > 0) {
		if (service < 0)
			usleep(2000);
		else if (write(service, "ask\n", 4) != 4 || read(service, line, sizeof(line)) <= 0)
			exit(1);
		if (write(fd, "ok\n", 3) != 3)
			break;
	}
	close(fd);
	return 0;
}

static void listen_at(int port)
{
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in address = at(port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 16))
		exit(1);
	for (;;) {
		int client = accept(fd, 0, 0);
		pthread_t thread;
		if (client < 0)
			continue;
		setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		pthread_create(&thread, 0, serve, (void *)(intptr_t)client);
		pthread_detach(thread);
	}
}

static void *ask(void *port)
{
	int fd = reach((int)(intptr_t)port);
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
	int port = atoi(words[2]);
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(words[1], "client")) {
		pthread_t threads[4];
		number = atoi(words[3]);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], 0, ask, (void *)(intptr_t)port);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], 0);
		printf("%d requests\n", 4 * number);
		return 0;
	}
	service_port = count > 3 ? atoi(words[3]) : 0;
	listen_at(port);
}
