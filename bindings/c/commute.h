#ifndef COMMUTE_H
#define COMMUTE_H

/* Made from crates/client/client-c by cbindgen; tests/header.rs there says how to make it again. */

#include <stddef.h>
#include <stdint.h>

// The version of this interface. It changes with every function or struct that is added or changed.
#define CM_ABI_VERSION 4

// The outcome of a function or a call.
enum cm_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Done.
  CM_OK = 0,
  // Nothing now; an event will say when to ask again.
  CM_AGAIN = 1,
  // There is no more.
  CM_END = 2,
  // An argument is null, out of range, or no URL or header.
  CM_E_ARGUMENT = -1,
  // The engine was closed, or never was.
  CM_E_CLOSED = -2,
  // No such call: released, of another engine, or never was.
  CM_E_NO_CALL = -3,
  // The buffer is too small; the length says what it takes.
  CM_E_ROOM = -4,
  // More calls at a time than are kept (16,384).
  CM_E_TOO_MANY = -5,
  // The platform gave no thread, socket or random numbers.
  CM_E_PLATFORM = -6,
  // The engine was made before fork(2) and belongs to the parent process. Make another one.
  CM_E_FORKED = -7,
  // This thread took a certificate chain and has not answered it, and the engine waits for the answer. Call
  // `cm_answer_chain` first.
  CM_E_CHAIN_WAITS = -8,
  // The name could not be resolved.
  CM_E_NAME = -10,
  // No connection.
  CM_E_CONNECT = -11,
  // The TLS handshake failed.
  CM_E_TLS = -12,
  // The certificate was refused.
  CM_E_CERTIFICATE = -13,
  // A time limit passed; `CM_TEXT_ERROR` names the phase.
  CM_E_TIMEOUT = -14,
  // The connection broke or the request was reset.
  CM_E_RESET = -15,
  // The peer broke the protocol.
  CM_E_PROTOCOL = -16,
  // Cancelled by `cm_cancel`.
  CM_E_CANCELLED = -17,
  // The device has no network.
  CM_E_OFFLINE = -18,
  // The engine is switched off, or turned itself off (`cm_worked_without`): the app's own client may take
  // the request.
  CM_E_PLAIN = -19,
  // A bug: something panicked in this engine, which is of no more use. Close it.
  CM_E_PANIC = -90,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_status cm_status;
#else
typedef int32_t cm_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The kinds of events.
enum cm_event_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The head of a response is there; `number` is its status.
  CM_EVENT_HEAD = 1,
  // `cm_read` has something to read. Comes again only after `cm_read` returned `CM_AGAIN`.
  CM_EVENT_READABLE = 2,
  // `cm_write` has room. Comes only after `cm_write` returned `CM_AGAIN`.
  CM_EVENT_WRITABLE = 3,
  // The call has ended with `status`, and this is its last event. What was received can still
  // be read. If `status` is an error, `number` is 1 if the server may have acted on the request.
  CM_EVENT_DONE = 4,
  // A server's certificate chain waits for `cm_answer_chain`; `number` names it, and `call` is
  // 0. Comes in every handshake, with the chain of the session if one is resumed.
  CM_EVENT_CHECK_CHAIN = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_event_kind cm_event_kind;
#else
typedef uint32_t cm_event_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How requests are routed.
enum cm_policy
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // By what was learnt.
  CM_POLICY_ADAPTIVE = 0,
  // By races alone.
  CM_POLICY_RACE = 1,
  // HTTP/3 only.
  CM_POLICY_H3 = 2,
  // TCP only.
  CM_POLICY_TCP = 3,
  // HTTP/1.1 only.
  CM_POLICY_H1 = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_policy cm_policy;
#else
typedef uint32_t cm_policy;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whose certificates are accepted.
enum cm_trust
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Those of the authorities that Mozilla trusts.
  CM_TRUST_WEBPKI = 0,
  // Those of `roots_pem`.
  CM_TRUST_ROOTS = 1,
  // Those that the app accepts: it answers `CM_EVENT_CHECK_CHAIN`.
  CM_TRUST_APP = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_trust cm_trust;
#else
typedef uint32_t cm_trust;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Properties of a request.
enum cm_flags
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The body is written with `cm_write` and `cm_finish`; `cm_request.body` is empty.
  CM_STREAMED = 1,
  // It may be sent twice, although its method does not say so (RFC 9110 section 9.2.2).
  CM_REPLAYABLE = 2,
  // It is never taken to learn from.
  CM_URGENT = 4,
  // It may be sent before the handshake is done, as with `cm_config.early_data`.
  CM_EARLY_DATA = 8,
  // It may not, whatever `cm_config.early_data` says.
  CM_NO_EARLY_DATA = 16,
  // The engine never sends it again by itself, which it does otherwise where that is safe.
  CM_NO_RESENDS = 32,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_flags cm_flags;
#else
typedef uint32_t cm_flags;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The texts of a call, each in lines `name: value\r\n`, but for the last.
enum cm_text
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The header fields of the response, from `CM_EVENT_HEAD` on.
  CM_TEXT_HEADERS = 1,
  // The trailer fields, once `cm_read` returned `CM_END`.
  CM_TEXT_TRAILERS = 2,
  // How the response came, or how far the call got, once the request was sent. The names are `protocol` (`http/1.1`,
  // `h2`, `h3`), `why` (a word), `because` (a sentence), `connection`, `reused`, `resumed`, `early-data`,
  // `attempts`, `local-port`; `dns-ns`, `connect-ns`, `tls-ns`, `sent-ns` and `head-ns` after the call was
  // submitted, as far as these happened for it; `age-ns` since it was submitted, always in 20 digits, so that the
  // caller's clock can tell when that was.
  CM_TEXT_REPORT = 3,
  // Why the call failed, as a sentence, from `CM_EVENT_DONE` on.
  CM_TEXT_ERROR = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_text cm_text;
#else
typedef uint32_t cm_text;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What metrics compare.
enum cm_arms
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // HTTP/3, HTTP/2 and HTTP/1.1.
  CM_ARMS_PROTOCOLS = 0,
  // Installations with HTTP/3 on and those with HTTP/3 off.
  CM_ARMS_ROLLOUT = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_arms cm_arms;
#else
typedef uint32_t cm_arms;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a network is, for metrics; nothing is decided by it.
enum cm_network_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Not known, or none of the others.
  CM_NETWORK_OTHER = 0,
  // Wi-Fi.
  CM_NETWORK_WIFI = 1,
  // 2G to 5G.
  CM_NETWORK_CELLULAR = 2,
  // A cable.
  CM_NETWORK_ETHERNET = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cm_network_kind cm_network_kind;
#else
typedef uint32_t cm_network_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Bytes that the callee reads only before it returns. `ptr` may be null if `len` is 0.
typedef struct cm_bytes {
  // The first byte.
  const uint8_t *ptr;
  // How many.
  size_t len;
} cm_bytes;

// A name and its value, e.g. a header field.
typedef struct cm_field {
  // The name.
  struct cm_bytes name;
  // The value.
  struct cm_bytes value;
} cm_field;

// What an engine is made of. All zeros is a valid one.
typedef struct cm_config {
  // A `cm_policy`.
  uint32_t policy;
  // A `cm_trust`.
  uint32_t trust;
  // Authorities, as PEM.
  struct cm_bytes roots_pem;
  // The client's certificate chain as PEM, its own first. Empty: none is shown.
  struct cm_bytes identity_chain_pem;
  // Its key, as PEM.
  struct cm_bytes identity_key_pem;
  // Folder for what is learnt, in UTF-8. Empty: it is forgotten when the engine is closed.
  struct cm_bytes memory_folder;
  // URLs whose origins support HTTP/3.
  const struct cm_bytes *h3_hints;
  // How many.
  size_t h3_hint_count;
  // Addresses for names that are not looked up: a host name, an IP address. A name may repeat.
  const struct cm_field *addresses;
  // How many.
  size_t address_count;
  // 1 if GET, HEAD and OPTIONS requests without a body may be sent before the handshake is done (0-RTT). That needs
  // a session that is resumed over QUIC. An attacker on the path may replay such a request (RFC 8470). Has no effect
  // with `CM_TRUST_APP`: the app is asked after the handshake.
  uint32_t early_data;
  // How long the app may take to answer `CM_EVENT_CHECK_CHAIN`; then the chain is refused.
  // Meanwhile no other call of the engine proceeds. 0: 10 s.
  uint32_t check_chain_ms;
} cm_config;

// An engine. 0 is none. Ids are never used twice in a process, so an old one is an error.
typedef uint64_t cm_engine;

// A network that the device uses by default.
typedef struct cm_network {
  // Distinguishes networks, e.g. a digest of operator or gateway.
  uint8_t id[16];
  // 1 if data costs money there: nothing is opened just to learn.
  uint32_t metered;
  // A `cm_network_kind`.
  uint32_t kind;
} cm_network;

// What the app allows.
typedef struct cm_switches {
  // Older switches do not replace newer ones.
  uint32_t generation;
  // 0 if the engine takes no request: calls end with `CM_E_PLAIN`.
  uint32_t engine;
  // HTTP/3 is used by this percentage of installations.
  uint32_t h3_percent;
  // 0 if nothing is sent or opened just to learn.
  uint32_t explore;
} cm_switches;

// A request.
typedef struct cm_request {
  // E.g. `GET`.
  struct cm_bytes method;
  // An `https` URL.
  struct cm_bytes url;
  // Header fields.
  const struct cm_field *headers;
  // How many.
  size_t header_count;
  // The body.
  struct cm_bytes body;
  // The length of a streamed body in bytes; -1 if it is not known.
  int64_t streamed_bytes;
  // About how many bytes the response has; 0 if it is not known.
  uint64_t expect_bytes;
  // Requests with the same label are compared with each other to learn which transport is
  // faster. Empty: those with the same method and about the same size are.
  struct cm_bytes label;
  // Any of `cm_flags`, added up.
  uint32_t flags;
  // The time until the response is complete. 0: no limit; likewise in those that follow.
  uint32_t limit_ms;
  // The time until there is a connection, all attempts together. If it fails, the wait for the next is limited, too.
  uint32_t connect_ms;
  // The time until the head of the response is there, including that for a connection.
  uint32_t first_byte_ms;
  // The time between two pieces of the response's body.
  uint32_t idle_ms;
} cm_request;

// A call: a request and its response. 0 is none.
typedef uint64_t cm_call;

// What happened.
typedef struct cm_event {
  // What.
  cm_event_kind kind;
  // For `CM_EVENT_DONE`.
  cm_status status;
  // The call that it happened to.
  cm_call call;
  // What `cm_submit` or `cm_connect` was given for this call. An event may come before they return.
  uint64_t user;
  // By kind.
  uint64_t number;
} cm_event;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the library's `CM_ABI_VERSION`. A binding compares it with its own before it calls anything else.
uint32_t cm_abi_version(void);

// Makes an engine and starts its thread. If that fails, `error` gets up to `cap` bytes of the
// reason in UTF-8, and `error_len` their number; both may be null.
//
// # Safety
//
// The pointers are null or point to as much as their types and lengths say.
cm_status cm_engine_new(const struct cm_config *config,
                        cm_engine *out,
                        uint8_t *error,
                        size_t cap,
                        size_t *error_len);

// Closes an engine: `cm_wait` returns `CM_E_CLOSED`, calls end, connections are closed, and what was learnt is saved.
// Waits for the engine's thread, unless another thread already waits in `cm_disconnect` or `cm_save`. The engine's
// calls need no `cm_release` any more.
//
// After fork(2), the child process cannot use the engines of its parent: each function returns `CM_E_FORKED` at
// once, this one, too, and sends nothing. The child may make engines of its own. Sockets of the parent's engines stay
// open in the child until it ends or calls exec(3).
cm_status cm_engine_close(cm_engine engine);

// Reports a change of the network that the device uses by default; null: it has none.
//
// # Safety
//
// `network` is null or points to one.
cm_status cm_set_network(cm_engine engine, const struct cm_network *network);

// Closes all connections, e.g. when the user logs out. Requests under way fail, or are sent again where that is safe.
// `forget_sessions`: 1 if TLS sessions, by which servers would know the client again, are forgotten, too; else 0.
// Waits for the engine's thread. `CM_E_CHAIN_WAITS`: this thread took a `CM_EVENT_CHECK_CHAIN` and has not answered
// it, and the engine's thread waits for the answer.
cm_status cm_disconnect(cm_engine engine,
                        uint32_t forget_sessions);

// Closes the connections that carry no request, and returns before that is done.
cm_status cm_close_idle(cm_engine engine);

// Writes what was learnt to `cm_config.memory_folder` and returns when that is done, e.g. when the app goes to the
// background, where the system may end it. Without this it is written after the first request, at most every 30 s
// after that, and by `cm_engine_close`. `CM_E_CHAIN_WAITS` as in `cm_disconnect`.
cm_status cm_save(cm_engine engine);

// Sets what the app allows.
//
// # Safety
//
// `switches` points to one.
cm_status cm_set_switches(cm_engine engine, const struct cm_switches *switches);

// Reports that a request which failed here worked by the app's own client, right afterwards. Do not report failures
// that say nothing against the engine: `CM_E_ARGUMENT`, `CM_E_TOO_MANY`, `CM_E_CERTIFICATE`, `CM_E_CANCELLED`,
// `CM_E_OFFLINE` and `CM_E_PLAIN`. The engine turns itself off once at least fifty requests were made and more than
// one in fifty was reported. Requests then end with `CM_E_PLAIN` until the engine is closed.
cm_status cm_worked_without(cm_engine engine);

// Reports the HTTPS record (RFC 9460) of a URL's origin, by which a server may offer HTTP/3. `answer` is the resolver's
// whole DNS message, e.g. that of `res_query`. The type to ask for is 65, the name is the host, with `_8443._https.`
// before it if the port is 8443. `answer_len` is 0 if the app has only just asked: requests that look the origin up within a
// second then wait for the answer, at most 50 ms longer than for addresses. An answer may come at any time, and an offer
// counts for as long as the record holds, and 1 s at least. `CM_END`: the answer offers no HTTP/3, is malformed, is for
// another name, or leads to one.
//
// # Safety
//
// `url` points to `url_len` bytes, `answer` to `answer_len`.
cm_status cm_https_record(cm_engine engine,
                          const uint8_t *url,
                          size_t url_len,
                          const uint8_t *answer,
                          size_t answer_len);

// Copies what the last requests took, at most 1,024 of them, as CSV with a header, which `commute import` reads;
// `arms` is a `cm_arms`. The CSV names neither origins nor networks. `CM_E_ROOM` as in `cm_get_text`; the CSV may have
// grown by the next call.
//
// # Safety
//
// `into` points to `cap` bytes, `len` to a length.
cm_status cm_get_metrics(cm_engine engine,
                         uint32_t arms,
                         uint8_t *into,
                         size_t cap,
                         size_t *len);

// Sends a request, which is copied. Events of the call carry `user`.
//
// # Safety
//
// The pointers, also those in `request`, are null or point to as much as their types and lengths
// say.
cm_status cm_submit(cm_engine engine,
                    const struct cm_request *request,
                    uint64_t user,
                    cm_call *out);

// Opens a connection to the server of an `https` URL, or finds an open one, so that the next request need not wait for
// it. This is a call without a response. Its only event is `CM_EVENT_DONE`, and no time but the engine's own limits
// it.
//
// # Safety
//
// `url` points to `len` bytes, `out` to a call.
cm_status cm_connect(cm_engine engine,
                     const uint8_t *url,
                     size_t len,
                     uint64_t user,
                     cm_call *out);

// Writes the next bytes of a streamed body; `taken` says how many are copied. `CM_AGAIN`: there is no room;
// `CM_EVENT_WRITABLE` will say when there is. `CM_END`: the call has ended, and wants no more.
//
// # Safety
//
// `bytes` points to `len` bytes, `taken` to a length.
cm_status cm_write(cm_engine engine,
                   cm_call call,
                   const uint8_t *bytes,
                   size_t len,
                   size_t *taken);

// Ends a streamed body.
cm_status cm_finish(cm_engine engine, cm_call call);

// Copies up to `cap` bytes of the response's body; `got` says how many. `CM_AGAIN`: nothing is
// there; `CM_EVENT_READABLE` or `CM_EVENT_DONE` will say when to ask again. `CM_END`: that was
// all. An error of the call comes after what was received before it.
//
// # Safety
//
// `into` points to `cap` bytes, `got` to a length.
cm_status cm_read(cm_engine engine, cm_call call, uint8_t *into, size_t cap, size_t *got);

// Copies a text of a call, a `cm_text`; `len` says how long it is. `CM_E_ROOM`: longer than `cap`,
// and nothing was copied. `CM_AGAIN`: it is not there yet. `CM_END`: the call has ended and has
// none.
//
// # Safety
//
// `into` points to `cap` bytes, `len` to a length.
cm_status cm_get_text(cm_engine engine,
                      cm_call call,
                      uint32_t what,
                      uint8_t *into,
                      size_t cap,
                      size_t *len);

// Cancels a call, which then ends with `CM_E_CANCELLED` unless it already ended.
cm_status cm_cancel(cm_engine engine, cm_call call);

// Cancels a call unless it ended, and forgets it. Its id is invalid from now on. It has no more events, but for those
// that another thread is taking from `cm_wait`.
cm_status cm_release(cm_engine engine,
                     cm_call call);

// Waits for events, up to `cap`, until there is one or `wait_ms` have passed (then `CM_AGAIN`);
// -1: for ever.
//
// # Safety
//
// `into` points to room for `cap` events, `count` to a length.
cm_status cm_wait(cm_engine engine,
                  struct cm_event *into,
                  size_t cap,
                  int32_t wait_ms,
                  size_t *count);

// Copies a part of the chain that `CM_EVENT_CHECK_CHAIN` named: 0 is the host name, 1 the server's certificate as DER.
// The parts from 2 on are the certificates that it sent with that one. `CM_END`: there is no such part.
// `CM_E_NO_CALL`: the chain no longer waits.
//
// # Safety
//
// `into` points to `cap` bytes, `len` to a length.
cm_status cm_get_chain(cm_engine engine,
                       uint64_t number,
                       size_t part,
                       uint8_t *into,
                       size_t cap,
                       size_t *len);

// Accepts a chain (1) or refuses it (0). `CM_E_NO_CALL`: it no longer waits.
cm_status cm_answer_chain(cm_engine engine, uint64_t number, uint32_t accepted);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* COMMUTE_H */
