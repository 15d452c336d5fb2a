/*
 * rulefilter - evaluate message rules against a stream of payloads.
 *
 * Rules are written by the operators as text, "function offset threshold".
 * The functions are the ordinary character and integer functions of the C
 * library, so a new one can be used without rebuilding the filter.
 *
 * usage: rulefilter THREADS
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_MESSAGES    100000
#define N_PAYLOADS    4096
#define PAYLOAD_BYTES 64
#define MAX_RULES     40
#define MAX_THREADS   64

typedef int (*char_fn)(int);

struct rule {
    char function[16];
    int offset;
    int threshold;
};

struct verdicts {
    uint64_t matched;
    uint64_t dropped;
    uint64_t hits_per_rule[MAX_RULES];
};

struct worker {
    pthread_t tid;
    int from;
    int to;
    struct verdicts out;
};

static const char *rule_text[] = {
    "toupper 0 77",  "isalpha 3 0",  "isdigit 5 0",   "abs 7 100",
    "tolower 9 110", "ispunct 2 0",  "isspace 11 0",  "toascii 13 64",
    "ffs 15 2",      "isxdigit 8 0", "isupper 4 0",   "islower 6 0",
    "toupper 17 80", "isalnum 21 0", "isdigit 25 0",  "abs 27 120",
    "tolower 29 99", "ispunct 22 0", "isspace 31 0",  "toascii 33 90",
    "ffs 35 1",      "isxdigit 28 0", "isupper 24 0", "islower 26 0",
    "toupper 40 70", "isalpha 43 0", "isgraph 45 0",  "abs 47 60",
    "isprint 49 0",  "iscntrl 42 0",
};

static struct rule rules[MAX_RULES];
static int n_rules;
static unsigned char payloads[N_PAYLOADS][PAYLOAD_BYTES];

static void load_rules(void)
{
    size_t count = sizeof rule_text / sizeof rule_text[0];

    for (size_t i = 0; i < count; i++) {
        struct rule *r = &rules[n_rules];
        if (sscanf(rule_text[i], "%15s %d %d", r->function, &r->offset,
                   &r->threshold) != 3) {
            fprintf(stderr, "bad rule: %s\n", rule_text[i]);
            exit(1);
        }
        n_rules++;
    }
}

static void build_payloads(void)
{
    uint32_t s = 0xc0ffee11u;

    for (int p = 0; p < N_PAYLOADS; p++) {
        for (int i = 0; i < PAYLOAD_BYTES; i++) {
            s = s * 1664525u + 1013904223u;
            payloads[p][i] = (unsigned char)((s >> 24) & 0x7f);
        }
    }
}

static char_fn lookup_function(const char *name)
{
    char_fn fn;

    *(void **)(&fn) = dlsym(RTLD_DEFAULT, name);
    if (fn == NULL) {
        fprintf(stderr, "unknown function: %s\n", name);
        exit(1);
    }
    return fn;
}

/* A rule looks at a short run of bytes from its offset on. */
static int rule_matches(const struct rule *r, const unsigned char *payload)
{
    char_fn fn = lookup_function(r->function);
    int above = 0;

    for (int i = 0; i < 5; i++)
        if (fn(payload[r->offset + i]) > r->threshold)
            above++;
    return above >= 3;
}

static void filter_message(int msg, struct verdicts *v)
{
    const unsigned char *payload = payloads[(msg * 37) % N_PAYLOADS];
    int score = 0;

    for (int i = 0; i < n_rules; i++) {
        if (rule_matches(&rules[i], payload)) {
            v->hits_per_rule[i]++;
            score += 1 + (i & 3);
        }
    }
    if (score > 25)
        v->dropped++;
    else if (score > 0)
        v->matched++;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct verdicts local;

    memset(&local, 0, sizeof local);
    for (int m = w->from; m < w->to; m++)
        filter_message(m, &local);
    w->out = local;
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[MAX_THREADS];
    struct verdicts total;
    int n = argc > 1 ? atoi(argv[1]) : 1;

    if (n < 1 || n > MAX_THREADS) {
        fprintf(stderr, "usage: rulefilter THREADS\n");
        return 2;
    }
    load_rules();
    build_payloads();

    for (int t = 0; t < n; t++) {
        workers[t].from = (int)((long)N_MESSAGES * t / n);
        workers[t].to = (int)((long)N_MESSAGES * (t + 1) / n);
        if (pthread_create(&workers[t].tid, NULL, worker_main, &workers[t]) != 0) {
            perror("pthread_create");
            return 1;
        }
    }
    memset(&total, 0, sizeof total);
    for (int t = 0; t < n; t++) {
        pthread_join(workers[t].tid, NULL);
        total.matched += workers[t].out.matched;
        total.dropped += workers[t].out.dropped;
        for (int i = 0; i < n_rules; i++)
            total.hits_per_rule[i] += workers[t].out.hits_per_rule[i];
    }

    int top = 0;
    for (int i = 1; i < n_rules; i++)
        if (total.hits_per_rule[i] > total.hits_per_rule[top])
            top = i;
    printf("messages %d matched %llu dropped %llu top-rule \"%s\" %llu\n",
           N_MESSAGES, (unsigned long long)total.matched,
           (unsigned long long)total.dropped, rule_text[top],
           (unsigned long long)total.hits_per_rule[top]);
    return 0;
}
