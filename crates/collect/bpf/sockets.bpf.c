/* Requests and replies over TCP: how many, how long each took, and for which of them threads waited.
 *
 * At a connection that the program accepted, a request begins with the first data after an answer, and is answered by
 * the first data sent after that. At a connection that the program made itself it is the other way round: data sent,
 * then data received. Several requests sent at once (pipelining, HTTP/2 streams) count as one.
 */
#include <bpf/bpf_tracing.h>
#include "place.h"

/* Network byte order to the processor's; both architectures are little-endian here. */
#define HOST_ORDER(port) __builtin_bswap16(port)

static __always_inline bool accepted(u16 port)
{
	u32 key = port;
	return bpf_map_lookup_elem(&LISTENERS, &key) != 0;
}

static __always_inline void key_of(struct peer_key *key, struct thread_record *record, struct sock *sk)
{
	struct sock_common *common = &sk->__sk_common;
	u16 own = common->skc_num;
	key->thread = record->thread;
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
static __noinline int passed(struct sock *sk, bool received)
{
	struct thread_record *record = record_of(bpf_get_current_task_btf());
	if (!record || record->fresh)
		return 0;
	u64 waited = record->polled_ns;
	record->polled_ns = 0;
	unsigned short family = sk->__sk_common.skc_family;
	if (sk->sk_type != SOCK_STREAM || (family != AF_INET && family != AF_INET6))
		return 0;
	struct peer_key key = {};
	key_of(&key, record, sk);
	u64 id = (u64)sk, now = bpf_ktime_get_ns();
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
	u64 *since = bpf_map_lookup_elem(&EXCHANGES, &id);
	if (begins) {
		if (!since)
			bpf_map_update_elem(&EXCHANGES, &id, &now, BPF_ANY);
		else if (!*since)
			*since = now;
		return 0;
	}
	if (!since || !*since)
		return 0;
	u64 took = now - *since;
	*since = 0;
	value = peer_of(&key);
	if (!value)
		return 0;
	value->exchanges++;
	value->exchange_ns += took;
	if (took > value->longest_ns)
		value->longest_ns = took;
	return 0;
}

/* Since Linux 6.3. */
SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int result, int flags)
{
	return result > 0 && !(flags & MSG_PEEK) ? passed(sk, true) : 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int result, int flags)
{
	return result > 0 ? passed(sk, false) : 0;
}

/* The program opens a port; those that were open before are told by user space. Or a connection ends, in whatever
 * task: the next one may have the same struct sock, and must not answer what this one left open. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int before, int after)
{
	if (after == TCP_CLOSE) {
		u64 id = (u64)sk;
		bpf_map_delete_elem(&EXCHANGES, &id);
		return 0;
	}
	if (after != TCP_LISTEN || !record_of(bpf_get_current_task_btf()))
		return 0;
	u32 port = sk->__sk_common.skc_num;
	u32 one = 1;
	bpf_map_update_elem(&LISTENERS, &port, &one, BPF_ANY);
	return 0;
}
