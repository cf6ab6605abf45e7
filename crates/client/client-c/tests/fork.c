/* Forks while engines are in use: `fork URL ROOTS.pem`. Prints what is wrong and exits with 1. */
#define _POSIX_C_SOURCE 200809L
#include "commute.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 20, THREADS = 2, CHILD_SECONDS = 60 };

static uint8_t roots[1 << 20];
static cm_config config;
static cm_field localhost = {{(const uint8_t *)"localhost", 9}, {(const uint8_t *)"127.0.0.1", 9}};
static cm_engine inherited;
static volatile int done;

static void check(int holds, const char *what) {
    if (!holds) {
        printf("failed: %s\n", what);
        fflush(stdout);
        _exit(1);
    }
}

static cm_engine make(void) {
    cm_engine engine = 0;
    check(cm_engine_new(&config, &engine, NULL, 0, NULL) == CM_OK, "cm_engine_new");
    return engine;
}

static cm_call get(cm_engine engine, const char *url) {
    cm_request request = {0};
    cm_call call = 0;
    request.method.ptr = (const uint8_t *)"GET";
    request.method.len = 3;
    request.url.ptr = (const uint8_t *)url;
    request.url.len = strlen(url);
    check(cm_submit(engine, &request, 0, &call) == CM_OK, "cm_submit");
    return call;
}

/* Waits for the end of a call and checks its protocol report. */
static void finish(cm_engine engine, cm_call call, const char *report) {
    uint8_t text[4096] = {0};
    cm_event event = {0};
    size_t length;
    while (event.kind != CM_EVENT_DONE || event.call != call) {
        while (cm_read(engine, call, text, sizeof text, &length) == CM_OK)
            ;
        check(cm_wait(engine, &event, 1, 60000, &length) == CM_OK, "an event within a minute");
    }
    check(event.status == CM_OK, "the call succeeds");
    memset(text, 0, sizeof text);
    check(cm_get_text(engine, call, CM_TEXT_REPORT, text, sizeof text - 1, &length) == CM_OK, "a report");
    check(strstr((char *)text, report) != NULL, report);
}

/* Holds the library's locks much of the time. */
static void *use(void *unused) {
    while (!done) {
        check(cm_finish(inherited, 1) == CM_E_NO_CALL, "no such call");
        check(cm_engine_close(make()) == CM_OK, "close");
    }
    return unused;
}

static void child(cm_call call, const char *url, int sends) {
    cm_request request = {0};
    cm_switches switches = {0};
    cm_event event;
    cm_call other;
    uint8_t byte = 0;
    size_t length;
    cm_engine own;
    /* A function that hangs ends the child by a signal. */
    alarm(CHILD_SECONDS);
    check(cm_submit(inherited, &request, 0, &other) == CM_E_FORKED, "cm_submit");
    check(cm_connect(inherited, (const uint8_t *)url, strlen(url), 0, &other) == CM_E_FORKED, "cm_connect");
    check(cm_write(inherited, call, &byte, 1, &length) == CM_E_FORKED, "cm_write");
    check(cm_finish(inherited, call) == CM_E_FORKED, "cm_finish");
    check(cm_read(inherited, call, &byte, 1, &length) == CM_E_FORKED, "cm_read");
    check(cm_get_text(inherited, call, CM_TEXT_REPORT, &byte, 1, &length) == CM_E_FORKED, "cm_get_text");
    check(cm_cancel(inherited, call) == CM_E_FORKED, "cm_cancel");
    check(cm_release(inherited, call) == CM_E_FORKED, "cm_release");
    check(cm_wait(inherited, &event, 1, -1, &length) == CM_E_FORKED, "cm_wait");
    check(cm_get_chain(inherited, 1, 0, &byte, 1, &length) == CM_E_FORKED, "cm_get_chain");
    check(cm_answer_chain(inherited, 1, 1) == CM_E_FORKED, "cm_answer_chain");
    check(cm_set_network(inherited, NULL) == CM_E_FORKED, "cm_set_network");
    check(cm_disconnect(inherited, 0) == CM_E_FORKED, "cm_disconnect");
    check(cm_close_idle(inherited) == CM_E_FORKED, "cm_close_idle");
    check(cm_https_record(inherited, &byte, 1, NULL, 0) == CM_E_FORKED, "cm_https_record");
    check(cm_save(inherited) == CM_E_FORKED, "cm_save");
    check(cm_set_switches(inherited, &switches) == CM_E_FORKED, "cm_set_switches");
    check(cm_worked_without(inherited) == CM_E_FORKED, "cm_worked_without");
    check(cm_get_metrics(inherited, 0, &byte, 1, &length) == CM_E_FORKED, "cm_get_metrics");
    check(cm_engine_close(inherited) == CM_E_FORKED, "cm_engine_close");
    check(cm_engine_close(0) == CM_E_CLOSED, "no engine");
    own = make();
    if (sends)
        finish(own, get(own, url), "\r\nreused: 0\r\n");
    check(cm_engine_close(own) == CM_OK, "close");
    check(cm_engine_close(own) == CM_E_CLOSED, "close again");
    check(cm_finish(inherited, call) == CM_E_FORKED, "still forked");
    exit(0);
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    cm_call call;
    int number, status;
    pid_t pid;
    FILE *file;
    if (argc < 3)
        return 2;
    file = fopen(argv[2], "rb");
    if (!file)
        return perror(argv[2]), 2;
    config.trust = CM_TRUST_ROOTS;
    config.roots_pem.ptr = roots;
    config.roots_pem.len = fread(roots, 1, sizeof roots, file);
    config.addresses = &localhost;
    config.address_count = 1;
    fclose(file);
    inherited = make();
    finish(inherited, get(inherited, argv[1]), "\r\nreused: 0\r\n");
    /* Its body waits for the app while there are children. */
    call = get(inherited, argv[1]);
    for (number = 0; number < THREADS; number++)
        check(pthread_create(&threads[number], NULL, use, NULL) == 0, "a thread");
    for (number = 0; number < CHILDREN; number++) {
        pid = fork();
        check(pid >= 0, "fork");
        if (pid == 0)
            child(call, argv[1], number % 5 == 0);
        check(waitpid(pid, &status, 0) == pid, "waitpid");
        check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with 0");
    }
    done = 1;
    for (number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    finish(inherited, call, "\r\nreused: 1\r\n");
    finish(inherited, get(inherited, argv[1]), "\r\nreused: 1\r\n");
    check(cm_engine_close(inherited) == CM_OK, "close");
    return 0;
}
