/* Cronet's QUIC trusts known roots only, never one that the user has added, and its C API cannot
 * name another. Cronet does accept a verifier object "for testing": a C++ object of the class
 * net::CertVerifier, whose layout in Chromium 133 under the Itanium ABI is written out here. The
 * driver refuses any other version before it gets here. */
#include "verifier.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* net::CertVerifyResult: scoped_refptr<X509Certificate>, CertStatus, ..., bool. */
struct verify_result {
    void *verified_cert;
    uint32_t cert_status;
    uint8_t unused[28];
    bool is_issued_by_known_root;
};

/* net::CertVerifier::RequestParams begins with its scoped_refptr<X509Certificate>. */
struct request_params {
    int32_t *certificate; /* the object begins with its reference count */
};

/* net::NetLogWithSource begins with its net::NetLogSource. */
struct net_log {
    uint32_t source_type, source_id;
    int64_t start_us; /* base::TimeTicks: CLOCK_MONOTONIC */
};

enum { KEPT = 64 };

struct verifier {
    void *const *virtual_functions;
    pthread_mutex_t lock;
    uint32_t count;
    struct verification seen[KEPT]; /* a ring buffer */
};

static void destroy_in_place(struct verifier *self)
{
    (void)self;
}

static void destroy(struct verifier *self)
{
    free(self);
}

static int verify(struct verifier *self, const struct request_params *params,
                  struct verify_result *result, void *callback, void *request,
                  const struct net_log *net_log)
{
    (void)callback, (void)request;
    pthread_mutex_lock(&self->lock);
    self->seen[self->count++ % KEPT] = (struct verification){
        .at_ns = now_ns(),
        .source_ns = net_log->start_us * 1000,
        .source_type = net_log->source_type,
        .source = net_log->source_id,
    };
    pthread_mutex_unlock(&self->lock);
    __atomic_add_fetch(params->certificate, 1, __ATOMIC_SEQ_CST);
    result->verified_cert = params->certificate;
    result->cert_status = 0;
    result->is_issued_by_known_root = true; /* QUIC requires this */
    return 0;                               /* net::OK, at once */
}

static void do_nothing(void)
{
}

/* ~CertVerifier (twice, as the ABI requires), Verify, SetConfig, AddObserver, RemoveObserver. */
static void *const virtual_functions[] = {
    (void *)destroy_in_place, (void *)destroy,    (void *)verify,
    (void *)do_nothing,       (void *)do_nothing, (void *)do_nothing,
};

struct verifier *verifier_new(void)
{
    struct verifier *verifier = calloc(1, sizeof *verifier);
    verifier->virtual_functions = virtual_functions;
    pthread_mutex_init(&verifier->lock, NULL);
    return verifier;
}

int32_t verifier_latest(struct verifier *verifier, struct verification *copy, int32_t room)
{
    pthread_mutex_lock(&verifier->lock);
    int32_t copied = 0;
    while (copied < room && copied < KEPT && (uint32_t)copied < verifier->count) {
        copy[copied] = verifier->seen[(verifier->count - 1 - copied) % KEPT];
        copied++;
    }
    pthread_mutex_unlock(&verifier->lock);
    return copied;
}
