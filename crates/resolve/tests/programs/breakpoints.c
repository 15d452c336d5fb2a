/* Loaded before a program whose marks were replaced by breakpoint instructions: each time a thread hits one, writes
 * down its registers and the memory around what they point to. x86-64.
 *
 * Writes one line for each hit to the file $BREAKPOINTS: the offset in the program's file, then, for each word of
 * `struct pt_regs` that a mark can name, WORD=VALUE:MEMORY; MEMORY is from 256 bytes before to 256 behind, or empty. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

static FILE *output;

static const struct {
    int word, reg;
} registers[] = { { 0, REG_R15 }, { 1, REG_R14 }, { 2, REG_R13 }, { 3, REG_R12 }, { 4, REG_RBP },  { 5, REG_RBX },
                  { 6, REG_R11 }, { 7, REG_R10 }, { 8, REG_R9 },  { 9, REG_R8 },  { 10, REG_RAX }, { 11, REG_RCX },
                  { 12, REG_RDX }, { 13, REG_RSI }, { 14, REG_RDI }, { 19, REG_RSP } };

static unsigned long place_in_file(unsigned long address)
{
    char line[4096];
    unsigned long start, end, offset, place = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && address >= start && address < end)
            place = address - start + offset;
    if (maps)
        fclose(maps);
    return place;
}

static void met(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number;
    (void)info;
    greg_t *values = ((ucontext_t *)context)->uc_mcontext.gregs;
    /* The breakpoint is one byte long, and the thread has just passed it. */
    fprintf(output, "%lx", place_in_file((unsigned long)values[REG_RIP] - 1));
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
        unsigned char bytes[512];
        unsigned long value = (unsigned long)values[registers[i].reg];
        struct iovec here = { bytes, sizeof bytes }, there = { (void *)(value - 256), sizeof bytes };
        fprintf(output, " %d=%lx:", registers[i].word, value);
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof bytes)
            for (size_t j = 0; j < sizeof bytes; j++)
                fprintf(output, "%02x", bytes[j]);
    }
    fprintf(output, "\n");
    fflush(output);
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = { .sa_sigaction = met, .sa_flags = SA_SIGINFO };
    const char *path = getenv("BREAKPOINTS");
    output = path ? fopen(path, "w") : NULL;
    if (!output || sigaction(SIGTRAP, &action, NULL) != 0)
        abort();
}
