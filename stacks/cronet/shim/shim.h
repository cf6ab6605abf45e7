/* Between Cronet's callbacks and the driver's steps: every stamp is taken here, in C, in the
 * callback itself; the interpreter only asks for results. library.py mirrors this file. */
#pragma once

#include "cronet.h"

enum outcome { UNDER_WAY, SUCCEEDED, FAILED, CANCELED, REDIRECTED };

/* What is known of a call. Times are CLOCK_MONOTONIC; 0: it did not happen. */
struct facts {
    int64_t start_ns, first_byte_ns, end_ns;
    int64_t sending_ns; /* by Cronet's metrics, which have whole milliseconds */
    uint64_t request_bytes, response_bytes;
    uint8_t *response;
    int32_t outcome, status, net_error, quic_error;
    int32_t opened;  /* 1: it opened its connection, 0: it found one, -1: Cronet does not tell */
    int32_t rewinds; /* times Cronet asked for the request's body anew, to send it again */
    char protocol[16];
    char message[160];
};

struct engine_options {
    bool quic;
    const char *hint_host; /* NULL: no QUIC hint */
    int32_t hint_port;
    const char *experimental; /* Cronet's experimental options, JSON */
    bool accept_any_certificate;
};

/* One question to the lab-only verifier. `source` is who asked, a QUIC session or a TLS socket,
 * and `source_ns` when that began, both by Cronet's own log. */
struct verification {
    int64_t at_ns, source_ns;
    uint32_t source_type, source;
};

struct engine;
struct call;

int64_t now_ns(void);

const char *cronet_version(void);
struct engine *engine_open(const struct engine_options *options);
void engine_close(struct engine *engine);
/* Copies the engine's latest verifications, newest first, at most `room`; returns how many. */
int32_t engine_verifications(struct engine *engine, struct verification *copy, int32_t room);

/* A call that is ready to start, but for its body where one is to be given. NULL: no such header. */
struct call *call_new(uint32_t id, const char *url, const char *method, const char *content_type,
                      const char *accept_encoding, uint64_t response_room);
/* Its body, which stays the caller's until the call is freed. */
void call_give(struct call *call, const uint8_t *body, uint64_t body_bytes);
Cronet_RESULT call_start(struct call *call, struct engine *engine);
void call_cancel(struct call *call);
/* The next call that has ended, or NULL when `timeout_ns` has passed. */
struct call *call_next_ended(int64_t timeout_ns);
/* What is known of an ended call so far: its response is whole. */
const struct facts *call_facts(struct call *call);
/* Waits until Cronet has told all of an ended call; the facts are the call's own. */
const struct facts *call_settle(struct call *call);
void call_free(struct call *call);

Cronet_EnginePtr engine_cronet(struct engine *engine);
Cronet_ExecutorPtr executor(void);
