/* HTTP/2 (RFC 9113): which requests of a connection are under way, each a stream of its own; gRPC is HTTP/2, too.
 *
 * When data has passed a socket it is still in the program's buffer, and the registers of its system call say where. Of
 * each frame the header is read there, nothing else. A request begins with the first HEADERS frame of a stream that the
 * client opens, and is answered by the first HEADERS or DATA frame that the server sends on it, as HTTP/1 is by the
 * first data; what follows on the stream, such as trailers, counts for nothing. RST_STREAM drops a request. After GOAWAY
 * the server answers what it still does; the rest is never answered, so never counted.
 *
 * A connection is HTTP/2 if the client's first data is the preface. Of connections that are older than the recording of
 * a running process it was not seen: in their data chains of frames are looked for, both ways.
 *
 * Where frames cannot be followed, the connection is counted like any other: see by_stream().
 */
#ifndef KNEE_HTTP2_H
#define KNEE_HTTP2_H

#include "maps.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_BYTES 24
#define HEADER_BYTES 9
/* How often the data of an older connection is looked at before it counts as another protocol. Data may begin inside of
 * a frame, so one look is not enough. Too few if a program writes large frames in that many parts. */
#define LOOKS 16
/* So many frames in a row, each way, are taken for HTTP/2. Nine random bytes can be a header in one of a million cases.
 * Too few for a protocol that has the same header in front of its messages. */
#define CHAIN 3
/* The largest frame that is believed while a chain is looked for: larger ones must have been agreed upon (6.5.2). */
#define USUAL_FRAME 16384
/* Pieces and frames that are looked at in one system call: it bounds the time that is spent there, at a tenth of
 * a microsecond each, and is more than 64 KiB of the shortest requests. */
#define MOST_STEPS 4096

enum frame { FRAME_DATA, FRAME_HEADERS, FRAME_PRIORITY, FRAME_RST, FRAME_SETTINGS, FRAME_PUSH, FRAME_PING, FRAME_GOAWAY,
	     FRAME_WINDOW, FRAME_CONTINUATION };

struct walk {
	struct http2 *http2;
	u64 now;
	u64 by_client;
};

/* True if this descriptor of the current task is the socket. Data may pass while the registers are those of another call:
 * io_uring sends and receives at the end of any. */
static __always_inline bool is_socket(u64 descriptor, struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = task->files->fdt;
	struct file *own = sk->sk_socket->file, *file = 0;
	if (descriptor >= table->max_fds)
		return false;
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
	return file && file == own;
}

/* Goes to the next piece. */
static __always_inline bool next_piece(struct passing *data)
{
	u64 piece[2];
	if (!data->more || bpf_probe_read_user(piece, sizeof(piece), (void *)data->vectors))
		return false;
	data->more--;
	data->vectors += sizeof(piece);
	data->at = piece[0];
	data->piece = piece[1] < data->rest ? piece[1] : data->rest;
	return true;
}

/* Finds data that has just passed. What cannot be found is one piece without an address; it can still be followed where
 * it is the inside of a frame, as of a file that sendfile(2) sends. */
static __noinline void find(struct passing *data, struct sock *sk, u32 bytes)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	s64 call = REGS_SYSCALL(regs);
	u64 second = REGS_ARG2(regs), third = REGS_ARG3(regs), message[2];
	/* Keeps the compiler from one load for the register and the message below, which the verifier refuses. */
	asm volatile("" : "+r"(third));
	data->rest = bytes;
	data->at = 0;
	data->piece = bytes;
	data->vectors = 0;
	data->more = 0;
	if (!is_socket((u32)REGS_ARG1(regs), sk))
		return;
	if (PASSES_BUFFER(call)) {
		data->at = second;
		return;
	}
	if (PASSES_VECTORS(call)) {
		data->vectors = second;
		data->more = third;
	} else if (PASSES_MESSAGE(call) &&
		   !bpf_probe_read_user(message, sizeof(message), (void *)(second + MESSAGE_VECTORS))) {
		data->vectors = message[0];
		data->more = message[1];
	}
	next_piece(data);
}

static __always_inline u32 stream_of(const u8 *header)
{
	return (u32)header[5] << 24 | (u32)header[6] << 16 | (u32)header[7] << 8 | header[8];
}

static __always_inline u32 length_of(const u8 *header)
{
	return (u32)header[0] << 16 | (u32)header[1] << 8 | header[2];
}

/* True for what can be the header of a frame (RFC 9113, 6). While it is not sure that these are frames at all, also
 * what is rare is refused. */
static __always_inline bool is_header(const u8 *header, bool by_client, bool sure)
{
	u32 length = length_of(header), stream = stream_of(header);
	if (stream >> 31 || (!sure && length > USUAL_FRAME))
		return false;
	switch (header[3]) {
	case FRAME_DATA:
	case FRAME_CONTINUATION:
		return stream;
	case FRAME_HEADERS:
		return by_client ? stream & 1 : stream;
	case FRAME_PRIORITY:
		return stream && length == 5;
	case FRAME_RST:
		return stream && length == 4;
	case FRAME_SETTINGS:
		return !stream && length % 6 == 0;
	case FRAME_PUSH:
		return stream && !by_client;
	case FRAME_PING:
		return !stream && length == 8;
	case FRAME_GOAWAY:
		return !stream && length >= 8;
	case FRAME_WINDOW:
		return length == 4;
	default:
		return sure;
	}
}

/* True if the bytes are the beginning of the preface. */
static __always_inline bool is_preface(const u8 *bytes, u32 count)
{
#pragma unroll
	for (u32 i = 0; i < PREFACE_BYTES; i++) {
		if (i < count && bytes[i] != (u8)PREFACE[i])
			return false;
	}
	return true;
}

/* Where a stream may be noted. Streams that are open together mostly have numbers in a row, two apart; old ones that are
 * still open are in nobody's way, because there are four places. */
#define PLACES_OF_STREAM 4
static __always_inline u32 place_of_stream(u32 stream, u32 nth)
{
	return (stream / 2 + nth * (OPEN_STREAMS / PLACES_OF_STREAM)) % OPEN_STREAMS;
}

static __always_inline void open_stream(struct http2 *http2, u32 stream, u64 now)
{
	u32 at = place_of_stream(stream, 0);
#pragma unroll
	for (u32 nth = 0; nth < PLACES_OF_STREAM; nth++) {
		u32 place = place_of_stream(stream, nth);
		if (!http2->streams[place]) {
			at = place;
			break;
		}
		if (http2->since_ns[place] < http2->since_ns[at])
			at = place;
	}
	/* The oldest one makes room. */
	if (http2->streams[at])
		lost(LOSS_STREAMS);
	http2->since_ns[at] = now;
	http2->streams[at] = stream;
}

/* Since when a stream waits for its answer; 0 if it does not. It does no more. */
static __always_inline u64 close_stream(struct http2 *http2, u32 stream)
{
#pragma unroll
	for (u32 nth = 0; nth < PLACES_OF_STREAM; nth++) {
		u32 place = place_of_stream(stream, nth);
		if (http2->streams[place] == stream) {
			http2->streams[place] = 0;
			return http2->since_ns[place];
		}
	}
	return 0;
}

/* A frame begins. */
static __always_inline void begin_frame(struct walk *walk, struct http2 *http2, struct direction *to)
{
	u32 stream = stream_of(to->header), type = to->header[3];
	if (walk->by_client) {
		bool is_new = stream > to->last;
		/* Data of a stream that began before knee looked. */
		if (is_new && (type == FRAME_HEADERS || type == FRAME_DATA))
			to->last = stream;
		if (is_new && type == FRAME_HEADERS && http2->sure)
			open_stream(http2, stream, walk->now);
	}
	if (type == FRAME_RST)
		close_stream(http2, stream);
	if (walk->by_client || (type != FRAME_HEADERS && type != FRAME_DATA))
		return;
	u64 since = close_stream(http2, stream);
	if (!since)
		return;
	u64 took = walk->now - since;
	http2->answers.count++;
	http2->answers.ns += took;
	if (took > http2->answers.longest_ns)
		http2->answers.longest_ns = took;
}

/* Looks at one piece of data, up to the end of the first header in it. 1 ends the walk. What changes is in the map: up
 * to Linux 6.6 the verifier does not see what this function does to its caller's stack. */
static long step(u32 index, struct walk *walk)
{
	struct http2 *http2 = walk->http2;
	struct direction *to = walk->by_client ? &http2->client : &http2->server;
	struct passing *data = &to->data;
	if (!data->rest)
		return 1;
	if (!data->piece && !next_piece(data)) {
		to->broken = 1;
		return 1;
	}
	u64 bytes = to->left < data->piece ? to->left : data->piece;
	to->left -= bytes;
	if (!to->left && bytes < data->piece) {
		u32 have = to->have & 31, want = to->preface ? PREFACE_BYTES : HEADER_BYTES;
		u64 here = data->piece - bytes;
		u32 count = have < want ? want - have : 0;
		if (here < count)
			count = here;
		if (!data->at || bpf_probe_read_user(&to->header[have], count & 31, (void *)(data->at + bytes))) {
			to->broken = 1;
			return 1;
		}
		bytes += count;
		have += count;
		to->have = have;
		if (to->preface) {
			to->broken = !is_preface(to->header, have);
			to->preface = have < want;
			http2->sure = have == want && !to->broken;
		} else if (have == want) {
			to->broken = !is_header(to->header, walk->by_client, http2->sure);
			if (to->broken)
				return 1;
			to->left = length_of(to->header);
			to->chain++;
			begin_frame(walk, http2, to);
		}
		if (have == want)
			to->have = 0;
	}
	data->at = data->at ? data->at + bytes : 0;
	data->piece -= bytes;
	data->rest -= bytes;
	return to->broken ? 1 : 0;
}

/* True if the connection may be HTTP/2, by the first data that is seen of it; `preface` is set if the client's is to
 * come, or to be read now. */
static __always_inline bool may_be_http2(struct connection *connection, struct passing *data, bool by_client,
					 bool *preface)
{
	struct globals *g = globals();
	/* Data that threads pass which are not observed yet would be missing between frames. */
	if (!g || (g->attached_ns && !g->enrolled))
		return false;
	bool was_before = g->attached_ns && ++connection->looks < LOOKS;
	u8 head[PREFACE_BYTES] = {};
	u32 count = data->piece < PREFACE_BYTES ? data->piece : PREFACE_BYTES;
	bool hidden = !count || !data->at || bpf_probe_read_user(head, count, (void *)data->at);
	if (!hidden) {
		*preface = by_client && is_preface(head, count);
		if (*preface)
			return true;
		if (count >= HEADER_BYTES && is_header(head, by_client, false)) {
			/* A server may send its settings before it has the preface. */
			*preface = !by_client && head[3] == FRAME_SETTINGS && !head[4];
			if (*preface || was_before)
				return true;
		}
	}
	if (was_before)
		return false;
	if (hidden)
		lost(LOSS_HIDDEN);
	connection->protocol = PROTOCOL_OTHER;
	return false;
}

/* Follows the frames in data that passed. True if the requests of this connection are counted by their streams. */
static __noinline bool by_stream(struct sock *sk, struct connection *connection, bool by_client, u32 bytes,
				 struct answers *answers)
{
	struct walk walk = { .by_client = by_client, .now = bpf_ktime_get_ns() };
	struct passing data = {};
	bool preface = false;
	find(&data, sk, bytes);
	if (connection->protocol == PROTOCOL_UNKNOWN && !may_be_http2(connection, &data, by_client, &preface))
		return false;
	struct http2 *http2 = bpf_sk_storage_get(&HTTP2, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!http2) {
		lost(LOSS_FRAMES);
		connection->protocol = PROTOCOL_OTHER;
		return false;
	}
	if (connection->protocol == PROTOCOL_UNKNOWN) {
		connection->protocol = PROTOCOL_HTTP2;
		http2->client.preface = preface;
	}
	struct direction *to = by_client ? &http2->client : &http2->server;
	to->data = data;
	to->broken = 0;
	if (!by_client)
		__builtin_memset(&http2->answers, 0, sizeof(http2->answers));
	walk.http2 = http2;
	bpf_loop(MOST_STEPS, step, &walk, 0);
	if (to->broken || to->data.rest) {
		struct globals *g = globals();
		/* The next data may begin with a frame. */
		if (!http2->sure && g && g->attached_ns && ++connection->looks < LOOKS) {
			__builtin_memset(to, 0, sizeof(*to));
			return false;
		}
		if (http2->sure)
			lost(LOSS_FRAMES);
		connection->protocol = PROTOCOL_OTHER;
		bpf_sk_storage_delete(&HTTP2, sk);
		return false;
	}
	if (http2->client.chain >= CHAIN && http2->server.chain >= CHAIN)
		http2->sure = 1;
	if (!http2->sure)
		return false;
	/* What was begun before that was sure. */
	connection->since_ns = 0;
	if (!by_client)
		*answers = http2->answers;
	return true;
}

/* A connection ends. */
static __always_inline void forget_streams(struct sock *sk, struct connection *connection)
{
	if (connection->protocol == PROTOCOL_HTTP2)
		bpf_sk_storage_delete(&HTTP2, sk);
	connection->protocol = PROTOCOL_UNKNOWN;
	connection->looks = 0;
}

#endif
