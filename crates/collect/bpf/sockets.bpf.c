/* Requests and replies over TCP and over stream sockets in the file system: how many, how long each took, and for which
 * of them threads waited.
 *
 * At a connection that the program accepted, a request begins with the first data after an answer, and is answered by
 * the first data sent after that. At a connection that the program made itself it is the other way round: data sent,
 * then data received. Several requests sent at once (pipelining) count as one, but those of HTTP/2, which are told apart
 * by their streams: see http2.h.
 */
#include <bpf/bpf_tracing.h>
#include "place.h"
#include "http2.h"

/* Network byte order to the processor's; both architectures are little-endian here. */
#define HOST_ORDER(port) __builtin_bswap16(port)

static __always_inline bool accepted(u16 port)
{
	u32 key = port;
	return bpf_map_lookup_elem(&LISTENERS, &key) != 0;
}

static __always_inline void key_of(struct peer_key *key, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	u16 own = common->skc_num;
	if (accepted(own)) {
		key->side = PEER_CLIENTS;
		key->port = own;
		return;
	}
	key->side = PEER_SERVICE;
	key->port = HOST_ORDER(common->skc_dport);
	if (common->skc_family == AF_INET6) {
		bpf_core_read(key->address, sizeof(key->address), &common->skc_v6_daddr);
	} else {
		/* As IPv6 writes an IPv4 address (RFC 4291, 2.5.5.2). */
		u32 address = common->skc_daddr;
		key->address[10] = 0xff;
		key->address[11] = 0xff;
		__builtin_memcpy(&key->address[12], &address, sizeof(address));
	}
}

/* The number of a path; 0 when there is no room for it. */
static __always_inline u32 path_number(struct unix_address *address)
{
	struct socket_path path = {};
	int bytes = 0;
	bpf_core_read(&bytes, sizeof(bytes), &address->len);
	/* Before the path comes the family. */
	u32 length = bytes - sizeof(u16);
	if (length > SOCKET_PATH)
		length = bytes > 0 ? SOCKET_PATH : 0;
	path.length = length;
	bpf_probe_read_kernel(path.bytes, length, (void *)__builtin_preserve_access_index(&address->name) + sizeof(u16));
	u32 *known = bpf_map_lookup_elem(&PATHS, &path);
	if (known)
		return *known;
	struct globals *g = globals();
	if (!g)
		return 0;
	u32 number = __sync_fetch_and_add(&g->next_path, 1) + 1;
	if (!bpf_map_update_elem(&PATHS, &path, &number, BPF_NOEXIST))
		return number;
	/* Another processor was first, or the table is full. */
	known = bpf_map_lookup_elem(&PATHS, &path);
	if (known)
		return *known;
	lost(LOSS_PEERS);
	return 0;
}

/* Finds out which side of its connection a Unix socket is on. An accepted socket shares the address of its listener
 * (unix_stream_connect in net/unix/af_unix.c). A connecting socket usually has no address; if it was bound to one before,
 * it shares that with no other socket. The two sockets of a socketpair(2) have no address at all. */
static __noinline int look_at(struct sock *sk, struct connection *connection)
{
	struct unix_address *own = 0, *other = 0;
	u32 side = PEER_CLIENTS, path;
	/* The kernel's type information lacks the type where these sockets are in a module. */
	if (bpf_core_type_exists(struct unix_sock)) {
		struct unix_sock *socket = (void *)sk, *peer = 0;
		int sharers = 0;
		bpf_core_read(&own, sizeof(own), &socket->addr);
		bpf_core_read(&peer, sizeof(peer), &socket->peer);
		if (peer)
			bpf_core_read(&other, sizeof(other), &peer->addr);
		if (own)
			bpf_core_read(&sharers, sizeof(sharers), &own->refcnt);
		if (other && sharers < 2) {
			side = PEER_SERVICE;
			own = other;
		}
	}
	path = own ? path_number(own) : 0;
	connection->path = path;
	connection->side = path ? side : PEER_NOBODY;
	return 0;
}

static __always_inline struct connection *connection_of(struct sock *sk, bool create)
{
	struct connection *connection =
		bpf_sk_storage_get(&CONNECTIONS, sk, 0, create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!connection && create)
		lost(LOSS_PEERS);
	return connection;
}

static __always_inline struct peer_value *peer_of(struct peer_key *key)
{
	struct peer_value *value = bpf_map_lookup_elem(&PEERS, key);
	if (value)
		return value;
	struct peer_value fresh = {};
	if (bpf_map_update_elem(&PEERS, key, &fresh, BPF_NOEXIST)) {
		lost(LOSS_PEERS);
		return 0;
	}
	return bpf_map_lookup_elem(&PEERS, key);
}

/* Data went through a socket of the current thread. */
static __noinline int passed(struct sock *sk, bool received, u32 bytes)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	if (!record || record->fresh)
		return 0;
	u64 waited = record->polled_ns;
	record->polled_ns = 0;
	unsigned short family = sk->__sk_common.skc_family, type = sk->sk_type;
	struct peer_key key = { .thread = record->thread };
	struct connection *connection = 0;
	if (family == AF_UNIX && (type == SOCK_STREAM || type == SOCK_SEQPACKET)) {
		connection = connection_of(sk, true);
		if (connection && !connection->side)
			look_at(sk, connection);
		if (!connection || !connection->path)
			return 0;
		key.side = connection->side;
		key.path = connection->path;
	} else if (type == SOCK_STREAM && (family == AF_INET || family == AF_INET6)) {
		/* Closed meanwhile, by what the other end replied. Without its port it is on no side. */
		if (!sk->__sk_common.skc_num)
			return 0;
		key_of(&key, sk);
	} else {
		return 0;
	}
	u64 now = bpf_ktime_get_ns();
	struct peer_value *value;
	/* Received data ends the wait that came before it. */
	if (received && waited) {
		key.place = record->polled_place;
		value = peer_of(&key);
		if (value) {
			value->waits++;
			value->waited_ns += waited;
		}
		key.place = 0;
	}
	bool begins = received == (key.side == PEER_CLIENTS);
	if (!connection)
		connection = connection_of(sk, true);
	if (!connection)
		return 0;
	struct answers answered = {};
	if (connection->protocol == PROTOCOL_OTHER || !by_stream(sk, connection, begins, bytes, &answered)) {
		u64 since = connection->since_ns;
		if (begins && !since)
			connection->since_ns = now;
		if (begins || !since)
			return 0;
		connection->since_ns = 0;
		answered.count = 1;
		answered.ns = answered.longest_ns = now - since;
	}
	if (!answered.count)
		return 0;
	value = peer_of(&key);
	if (!value)
		return 0;
	value->exchanges += answered.count;
	value->exchange_ns += answered.ns;
	if (answered.longest_ns > value->longest_ns)
		value->longest_ns = answered.longest_ns;
	return 0;
}

/* Since Linux 6.3. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int result, int flags)
{
	return result > 0 && !(flags & (MSG_PEEK | MSG_ERRQUEUE)) ? passed(sk, true, result) : 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int result, int flags)
{
	return result > 0 ? passed(sk, false, result) : 0;
}

/* The program opens a port; those that were open before are told by user space. Or a connection ends, in whatever
 * task: its socket may be connected anew, and must not answer what was left open. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int after)
{
	if (after == TCP_CLOSE) {
		struct connection *connection = connection_of(sk, false);
		if (connection) {
			connection->since_ns = 0;
			forget_streams(sk, connection);
		}
		return 0;
	}
	if (after != TCP_LISTEN || !record_of(bpf_get_current_task_btf()))
		return 0;
	u32 port = sk->__sk_common.skc_num;
	u32 one = 1;
	bpf_map_update_elem(&LISTENERS, &port, &one, BPF_ANY);
	return 0;
}
