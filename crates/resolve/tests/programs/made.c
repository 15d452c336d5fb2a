/* A stack through code that was made at run time and keeps no frame pointer: main -> outer -> made -> inner -> raise.
   The made function uses the frame pointer's register for something else. x86-64 only. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static volatile int sink;

__attribute__((noipa)) static void inner(void) {
    raise(SIGSTOP);
    sink++;
}

__attribute__((noipa)) static void outer(void (*made)(void (*)(void))) {
    made(inner);
    sink++;
}

int main(void) {
    static const unsigned char code[] = {
        0x48, 0x83, 0xec, 0x38,       /* sub $0x38, %rsp */
        0x48, 0x89, 0x6c, 0x24, 0x20, /* mov %rbp, 0x20(%rsp) */
        0xbd, 0x39, 0x30, 0x00, 0x00, /* mov $12345, %ebp */
        0xff, 0xd7,                   /* call *%rdi */
        0x48, 0x8b, 0x6c, 0x24, 0x20, /* mov 0x20(%rsp), %rbp */
        0x48, 0x83, 0xc4, 0x38,       /* add $0x38, %rsp */
        0xc3,                         /* ret */
    };
    void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) {
        return 1;
    }
    memcpy(made, code, sizeof code);
    mprotect(made, 4096, PROT_READ | PROT_EXEC);
    outer((void (*)(void (*)(void)))made);
    return 0;
}
