/* Functions in assembler that the unwind information leaves out, in a program that has it for the rest: each stops the
   process, with its frame pointer where its stack pointer points to. With an argument, the one without a frame. */
int framed(void);
int frameless(void);

__asm__(".text\n"
        ".type framed, @function\n"
        ".type frameless, @function\n"
        "framed:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    sub $0x60, %rsp\n"
        "    mov %rbp, (%rsp)\n"
        "    mov $39, %eax\n" /* getpid */
        "    syscall\n"
        "    mov %eax, %edi\n"
        "    mov $19, %esi\n" /* SIGSTOP */
        "    mov $62, %eax\n" /* kill */
        "    syscall\n"
        "    xor %eax, %eax\n"
        "    test %edi, %edi\n"
        "    mov %rbp, %rsp\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size framed, . - framed\n"
        "frameless:\n"
        "    push %rbx\n"
        "    sub $0x60, %rsp\n"
        "    mov %rbp, (%rsp)\n"
        "    mov $39, %eax\n"
        "    syscall\n"
        "    mov %eax, %edi\n"
        "    mov $19, %esi\n"
        "    mov $62, %eax\n"
        "    syscall\n"
        "    xor %eax, %eax\n"
        "    test %edi, %edi\n"
        "    add $0x60, %rsp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size frameless, . - frameless\n");

__attribute__((noipa)) static int calls(int count) {
    return (count > 1 ? frameless() : framed()) + 1;
}

int main(int count, char **arguments) {
    (void)arguments;
    return calls(count) + 1;
}
