/* The interface between Cronet and the driver. Every timestamp is taken here, in C, in the
 * callback itself; Python only fetches results. library.py mirrors this file. */
#pragma once

#include "cronet.h"

enum outcome { IN_FLIGHT, SUCCEEDED, FAILED, CANCELED, REDIRECTED };

/* What is known of a call. Times are CLOCK_MONOTONIC; 0 if it did not happen. */
struct facts {
    int64_t start_ns, first_byte_ns, end_ns;
    int64_t sending_ns; /* from Cronet's metrics, in whole milliseconds */
    uint64_t request_bytes, response_bytes;
    uint8_t *response;
    int32_t outcome, status, net_error, quic_error;
    int32_t opened;  /* 1: it opened its connection, 0: it reused one, -1: not reported */
    int32_t rewinds; /* times Cronet read the request's body again, to resend it */
    char protocol[16];
    char message[160];
};

/* An origin that offers QUIC. */
struct hint {
    const char *host;
    int32_t port;
};

struct engine_options {
    bool quic;
    const struct hint *hints;
    int32_t hint_count;
    const char *experimental; /* Cronet's experimental options as JSON */
    bool accept_any_certificate;
};

/* One request to the lab-only verifier. `source` is the QUIC session or TLS socket that made it
 * and `source_ns` the time when that began, both from Cronet's NetLog. */
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
/* Copies the engine's latest verifications, newest first, at most `room`; returns their number. */
int32_t engine_verifications(struct engine *engine, struct verification *copy, int32_t room);

/* Returns a call that is ready to start, except for its body. A header that is NULL is not sent. */
struct call *call_new(uint32_t id, const char *url, const char *method, const char *content_type,
                      const char *accept_encoding, uint64_t response_room);
/* Adds a header of a call that is not started yet. */
void call_add_header(struct call *call, const char *name, const char *value);
/* Sets the request's body, which must outlive the call. */
void call_set_body(struct call *call, const uint8_t *body, uint64_t body_bytes);
Cronet_RESULT call_start(struct call *call, struct engine *engine);
void call_cancel(struct call *call);
/* Returns the next call that has ended, or NULL after `timeout_ns`. */
struct call *call_next_ended(int64_t timeout_ns);
/* Returns what is known of an ended call so far; its response is complete. */
const struct facts *call_facts(struct call *call);
/* Waits until Cronet has reported everything about an ended call; the call owns the facts. */
const struct facts *call_settle(struct call *call);
void call_free(struct call *call);

Cronet_EnginePtr engine_cronet(struct engine *engine);
Cronet_ExecutorPtr executor(void);
