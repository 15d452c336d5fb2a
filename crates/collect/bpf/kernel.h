/* The few kernel types that the programs read. CO-RE relocates every field at load time, so a declaration needs only
 * the fields used, in any order, and works for every kernel version. */
#ifndef KNEE_KERNEL_H
#define KNEE_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

/* linux/bpf.h, uapi: the values that these programs use. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1024 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };
#define BPF_F_CURRENT_CPU 0xffffffffULL

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Only used for its offset inside mm_struct. */
struct rw_semaphore {
	u64 any;
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct inode {
	unsigned short i_mode;
};

struct file {
	struct inode *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct task_struct {
#if defined(__TARGET_ARCH_x86)
	struct thread_struct thread;
#endif
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	struct sched_entity se;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct files_struct *files;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
};

struct in6_addr {
	u8 any[16];
};

struct sock_common {
	u32 skc_daddr;
	u16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
};

struct socket {
	struct file *file;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_type;
	struct socket *sk_socket;
};

struct refcount_struct {
	int any;
};

struct sockaddr_un {
	u16 sun_family;
};

/* `name` has `len` bytes; after the family comes the path. */
struct unix_address {
	struct refcount_struct refcnt;
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct bpf_iter_meta {
	u64 session_id;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r14, bp, r10, dx, si, di, orig_ax, ip, sp;
};
#define REGS_IP(r) ((r)->ip)
#define REGS_SP(r) ((r)->sp)
#define REGS_FP(r) ((r)->bp)
#define REGS_LR(r) 0
/* The register in which Go keeps the running goroutine (cmd/compile/abi-internal.md). */
#define REGS_GOROUTINE(r) ((r)->r14)
/* What pthread_self() returns in glibc and musl. The kernel's copy is right also for a running task, unless the program
 * itself wrote the register (wrfsbase), and threads do not move their own thread-local storage. */
#define PTHREAD_SELF(task) ((task)->thread.fsbase)
#define REGS_SYSCALL(r) ((s64)(r)->orig_ax)
#define REGS_ARG1(r) ((r)->di)
#define REGS_ARG2(r) ((r)->si)
#define REGS_ARG3(r) ((r)->dx)
#define REGS_ARG4(r) ((r)->r10)
#define SYSCALL_FUTEX 202
/* Calls that wait at sockets: read, poll, readv, select, accept, recvfrom, recvmsg, epoll_wait, pselect6, ppoll,
 * epoll_pwait, accept4, io_uring_enter, epoll_pwait2. */
#define WAITS_AT_SOCKETS(n)                                                                                      \
	((n) == 0 || (n) == 7 || (n) == 19 || (n) == 23 || (n) == 43 || (n) == 45 || (n) == 47 || (n) == 232 ||  \
	 (n) == 270 || (n) == 271 || (n) == 281 || (n) == 288 || (n) == 426 || (n) == 441)
/* Calls whose second argument is the data: read, write, sendto, recvfrom; an array of `struct iovec`: readv, writev; a
 * `struct msghdr`: sendmsg, recvmsg. */
#define PASSES_BUFFER(n) ((n) == 0 || (n) == 1 || (n) == 44 || (n) == 45)
#define PASSES_VECTORS(n) ((n) == 19 || (n) == 20)
#define PASSES_MESSAGE(n) ((n) == 46 || (n) == 47)
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
};
struct pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
	u64 pstate;
	u64 orig_x0;
	__s32 syscallno;
};
#define REGS_IP(r) ((r)->pc)
#define REGS_SP(r) ((r)->sp)
#define REGS_FP(r) ((r)->regs[29])
#define REGS_LR(r) ((r)->regs[30])
#define REGS_SYSCALL(r) ((s64)(r)->syscallno)
#define REGS_ARG1(r) ((r)->orig_x0)
#define REGS_ARG2(r) ((r)->regs[1])
#define REGS_ARG3(r) ((r)->regs[2])
#define REGS_ARG4(r) ((r)->regs[3])
#define SYSCALL_FUTEX 98
/* As above: epoll_pwait, read, readv, pselect6, ppoll, accept, recvfrom, recvmsg, accept4, io_uring_enter,
 * epoll_pwait2. */
#define WAITS_AT_SOCKETS(n)                                                                                      \
	((n) == 22 || (n) == 63 || (n) == 65 || (n) == 72 || (n) == 73 || (n) == 202 || (n) == 207 || (n) == 212 || \
	 (n) == 242 || (n) == 426 || (n) == 441)
#define PASSES_BUFFER(n) ((n) == 63 || (n) == 64 || (n) == 206 || (n) == 207)
#define PASSES_VECTORS(n) ((n) == 65 || (n) == 66)
#define PASSES_MESSAGE(n) ((n) == 211 || (n) == 212)
#else
#error "name the target with -D__TARGET_ARCH_x86 or -D__TARGET_ARCH_arm64"
#endif

struct bpf_perf_event_data {
	struct pt_regs regs;
};

#pragma clang attribute pop

/* The kernel lives in the upper half of the address space on both architectures. */
#define REGS_FROM_USER(r) ((s64)REGS_IP(r) >= 0)

/* linux/socket.h, linux/net.h, net/tcp_states.h */
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define SOCK_STREAM 1
#define SOCK_SEQPACKET 5
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
/* Where `struct msghdr` has the address and the number of its `struct iovec`s, on 64 bits. */
#define MESSAGE_VECTORS 16

/* include/trace/events/lock.h: flags of contention_begin. */
#define LCB_F_SPIN 1
#define LCB_F_MUTEX 32

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000
#define PF_EXITING 0x00000004
#define TASK_RUNNING 0
#define TASK_WAKING 0x200

#endif
