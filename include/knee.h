/* knee.h: marks that tell a profiler what a program is doing.
 *
 *     KNEE_BEGIN();              the measured part begins
 *     KNEE_END();                the measured part ends
 *     KNEE_TASK_BEGIN("parse");  the calling thread begins a task of that name
 *     KNEE_TASK_END("parse");    the calling thread ends it
 *     KNEE_WORK(rows);           this many more units of work are done
 *
 * One header for C99 and C++11, without a library and without other headers. A
 * mark is a single no-op instruction, and a note in the file says where it is. A
 * value that is neither constant nor in a register is brought into one first.
 *
 * Without a listener nothing is called, stored or tested, so marks can stay in
 * released programs. docs/marks.md explains them to users.
 *
 * Define KNEE_DISABLE before the header is included to leave the marks out. They
 * are also left out where they cannot work: anywhere but on 64-bit Linux on x86-64
 * or little-endian AArch64, with a compiler that takes GNU assembly. An argument
 * of a mark that is left out is checked by the compiler but never evaluated, so it
 * should have no side effects. KNEE_ENABLED is 1 where there are marks, else 0.
 *
 * The notes are those of static user-space probes ("SDT", version 3), provider
 * `knee`, so that other tracing tools find the marks too:
 *
 *     probe        arguments
 *     begin, end   -
 *     task_begin   the name, pointer to a zero-terminated string
 *     task_end     the same
 *     work         units, unsigned 64 bits */
#ifndef KNEE_H
#define KNEE_H

#if !defined(KNEE_DISABLE) && defined(__GNUC__) && defined(__linux__) && \
    defined(__ELF__) && defined(__LP64__) &&                             \
    (defined(__x86_64__) || (defined(__aarch64__) && !defined(__AARCH64EB__)))
#define KNEE_ENABLED 1
#else
#define KNEE_ENABLED 0
#endif

#if KNEE_ENABLED

/* Compilers guess the size of inline assembly by its lines, of which a note has
 * many, and would inline the functions around a mark less often than without it.
 * `asm inline` says that it is small. */
#if (defined(__clang__) && __clang_major__ >= 11) || \
    (!defined(__clang__) && __GNUC__ >= 9)
#define KNEE_ASM_ __asm__ __inline__ __volatile__
#else
#define KNEE_ASM_ __asm__ __volatile__
#endif

/* A no-op and the note about it: three words (length of the owner's name, length
 * of the contents, type), the owner's name, the contents. These are the no-op's
 * address, the address that `.stapsdt.base` has before anything moves the file's
 * addresses, the address of a semaphore (none), and three strings: provider,
 * name, arguments. "?" puts the note into the section group of the code around it,
 * so that a linker which drops one of two equal inline functions drops its notes
 * as well. The words are quoted and no operand is in memory, so that the text is
 * right in both assembler dialects of x86-64. */
#define KNEE_SITE_(name, arguments)                                      \
    "990:\tnop\n"                                                        \
    "\t.pushsection .note.stapsdt,\"?\",\"note\"\n"                      \
    "\t.balign 4\n"                                                      \
    "\t.4byte 992f-991f,994f-993f,3\n"                                   \
    "991:\t.asciz \"stapsdt\"\n"                                         \
    "992:\t.balign 4\n"                                                  \
    "993:\t.8byte 990b\n"                                                \
    "\t.8byte _.stapsdt.base\n"                                          \
    "\t.8byte 0\n"                                                       \
    "\t.asciz \"knee\"\n"                                                \
    "\t.asciz \"" name "\"\n"                                            \
    "\t.asciz \"" arguments "\"\n"                                       \
    "994:\t.balign 4\n"                                                  \
    "\t.popsection\n"                                                    \
    "\t.ifndef _.stapsdt.base\n"                                         \
    "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    "\t.weak _.stapsdt.base\n"                                           \
    "\t.hidden _.stapsdt.base\n"                                         \
    "_.stapsdt.base:\n"                                                  \
    "\t.space 1\n"                                                       \
    "\t.size _.stapsdt.base,1\n"                                         \
    "\t.popsection\n"                                                    \
    "\t.endif\n"

/* Functions, so that arguments are converted and checked as they are everywhere
 * else; inlined even without optimisation, so that a mark is where it was written.
 *
 * Arguments are constants or in registers ("nr"). In memory ("o") they would save
 * a load, but a listener cannot always read them there: compilers name variables
 * by symbols, which the note keeps as text and which a stripped program lacks.
 *
 * The measured part and tasks are fences to the compiler ("memory"): what is
 * written before them stays before them, and a name is in memory when it is read.
 * Counting work is no fence, so that it does not disturb the loop around it. */
#define KNEE_FUNCTION_ static __inline__ __attribute__((__always_inline__)) void

KNEE_FUNCTION_ knee_begin_(void)
{
    KNEE_ASM_(KNEE_SITE_("begin", "") : : : "memory");
}

KNEE_FUNCTION_ knee_end_(void)
{
    KNEE_ASM_(KNEE_SITE_("end", "") : : : "memory");
}

KNEE_FUNCTION_ knee_task_begin_(const char *name)
{
    KNEE_ASM_(KNEE_SITE_("task_begin", "8@%0") : : "nr"(name) : "memory");
}

KNEE_FUNCTION_ knee_task_end_(const char *name)
{
    KNEE_ASM_(KNEE_SITE_("task_end", "8@%0") : : "nr"(name) : "memory");
}

KNEE_FUNCTION_ knee_work_(unsigned long long units)
{
    KNEE_ASM_(KNEE_SITE_("work", "8@%0") : : "nr"(units));
}

#define KNEE_BEGIN() knee_begin_()
#define KNEE_END() knee_end_()
#define KNEE_TASK_BEGIN(name) knee_task_begin_(name)
#define KNEE_TASK_END(name) knee_task_end_(name)
#ifdef __cplusplus
#define KNEE_WORK(n) knee_work_(static_cast<unsigned long long>(n))
#else
#define KNEE_WORK(n) knee_work_((unsigned long long)(n))
#endif

#else

/* The operand of sizeof is checked and counts as a use, but is not evaluated. */
#define KNEE_BEGIN() ((void)0)
#define KNEE_END() ((void)0)
#define KNEE_TASK_BEGIN(name) ((void)sizeof(name))
#define KNEE_TASK_END(name) ((void)sizeof(name))
#define KNEE_WORK(n) ((void)sizeof(n))

#endif

#endif
