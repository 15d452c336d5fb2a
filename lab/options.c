/* options.c: the command line, see harness.h. */
#define _GNU_SOURCE
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *summary_text = "";
static const struct lab_option *option_table;

static void print_default(FILE *out, const struct lab_option *o)
{
    switch (o->kind) {
    case LAB_COUNT:
    case LAB_BYTES:
        fprintf(out, "%llu", *(unsigned long long *)o->value);
        break;
    case LAB_REAL:
        fprintf(out, "%g", *(double *)o->value);
        break;
    case LAB_CHOICE:
        fprintf(out, "%s", o->choices[*(unsigned *)o->value]);
        break;
    case LAB_TEXT:
        fprintf(out, "%s", *(const char **)o->value);
        break;
    case LAB_FLAG:
        fprintf(out, "%s", *(bool *)o->value ? "yes" : "no");
        break;
    }
}

static void print_usage(FILE *out)
{
    fprintf(out, "usage: %s [--name=value ...]\n%s\n",
            program_invocation_short_name, summary_text);
    for (const struct lab_option *o = option_table; o && o->name; o++) {
        fprintf(out, "  --%-12s %s", o->name, o->help);
        if (o->kind == LAB_CHOICE) {
            fprintf(out, ": ");
            for (unsigned i = 0; o->choices[i]; i++)
                fprintf(out, "%s%s", i ? "|" : "", o->choices[i]);
        }
        fprintf(out, " [");
        print_default(out, o);
        fprintf(out, "]\n");
    }
    fprintf(out, "Counts take K, M, G (thousands); sizes in bytes take K, M, G "
                 "(powers of 1024).\n");
}

void lab_usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    print_usage(stderr);
    exit(2);
}

/* A number with an optional suffix; `step` is what one K stands for. */
static bool parse_number(const char *text, double step, double *number)
{
    char *end;
    *number = strtod(text, &end);
    if (end == text || !isfinite(*number))
        return false;
    double factor = 1;
    if (step > 1 && *end) {
        const char *suffix = strchr("KMGkmg", *end);
        if (!suffix)
            return false;
        for (int i = (int)(suffix - strchr("KMGkmg", 'K')) % 3; i >= 0; i--)
            factor *= step;
        end++;
    }
    *number *= factor;
    return *end == '\0';
}

static void set_number(const struct lab_option *o, const char *text)
{
    double step = o->kind == LAB_COUNT ? 1000 : o->kind == LAB_BYTES ? 1024 : 1;
    double number;
    if (!parse_number(text, step, &number))
        lab_usage_error("--%s: '%s' is not a number", o->name, text);
    if (number < o->min || number > o->max)
        lab_usage_error("--%s: %s is not between %.15g and %.15g", o->name, text,
                        o->min, o->max);
    if (o->kind == LAB_REAL)
        *(double *)o->value = number;
    else if (number == floor(number))
        *(uint64_t *)o->value = (uint64_t)number;
    else
        lab_usage_error("--%s: '%s' is not a whole number", o->name, text);
}

static void set_option(const struct lab_option *o, const char *text)
{
    if (o->kind == LAB_FLAG) {
        if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            lab_usage_error("--%s: '%s' is neither yes nor no", o->name, text);
        *(bool *)o->value = !text || strcmp(text, "yes") == 0;
        return;
    }
    if (!text)
        lab_usage_error("--%s needs a value: --%s=...", o->name, o->name);
    if (o->kind == LAB_TEXT) {
        *(const char **)o->value = text;
    } else if (o->kind == LAB_CHOICE) {
        unsigned i = 0;
        while (o->choices[i] && strcmp(o->choices[i], text) != 0)
            i++;
        if (!o->choices[i])
            lab_usage_error("--%s: there is no '%s'", o->name, text);
        *(unsigned *)o->value = i;
    } else {
        set_number(o, text);
    }
}

void lab_options(int argc, char **argv, const char *summary,
                 const struct lab_option *options)
{
    summary_text = summary;
    option_table = options;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage(stdout);
            exit(0);
        }
        if (strncmp(argv[i], "--", 2) != 0)
            lab_usage_error("'%s' is not an option", argv[i]);
        const char *name = argv[i] + 2;
        size_t length = strcspn(name, "=");
        const struct lab_option *o = options;
        while (o->name &&
               (strlen(o->name) != length || strncmp(o->name, name, length) != 0))
            o++;
        if (!o->name)
            lab_usage_error("there is no option '%s'", argv[i]);
        set_option(o, name[length] == '=' ? name + length + 1 : NULL);
    }
}
