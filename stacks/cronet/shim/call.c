/* One call: prepared before the run, started in it, timestamped in Cronet's callbacks on the
 * executor's thread, read when it has ended. */
#include "shim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READ_BYTES = 64 * 1024 };

struct call {
    struct facts facts;
    Cronet_UrlRequestPtr request;
    Cronet_UrlRequestParamsPtr params;
    Cronet_UrlRequestCallbackPtr callback;
    Cronet_RequestFinishedInfoListenerPtr listener;
    Cronet_UploadDataProviderPtr upload; /* NULL for a GET */
    char *url;
    const uint8_t *body;
    uint64_t body_bytes, room;
    bool redirected, finished, upload_closed;
    struct call *next_ended;
};

/* Guards the queue of ended calls and the fields that Cronet sets after a call's end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct call *ended, **ended_last = &ended;

static void end(struct call *call, enum outcome outcome, Cronet_UrlResponseInfoPtr info);

static void read_info(struct facts *facts, Cronet_UrlResponseInfoPtr info)
{
    facts->status = Cronet_UrlResponseInfo_http_status_code_get(info);
    snprintf(facts->protocol, sizeof facts->protocol, "%s",
             Cronet_UrlResponseInfo_negotiated_protocol_get(info));
}

static struct call *call_of(Cronet_UrlRequestCallbackPtr callback)
{
    return Cronet_UrlRequestCallback_GetClientContext(callback);
}

static void on_redirect(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                        Cronet_UrlResponseInfoPtr info, const char *location)
{
    (void)location;
    struct call *call = call_of(self);
    call->facts.first_byte_ns = now_ns();
    read_info(&call->facts, info);
    call->redirected = true; /* not followed; Cronet gives no body of a redirect */
    Cronet_UrlRequest_Cancel(request);
}

static void on_response_started(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                                Cronet_UrlResponseInfoPtr info)
{
    (void)info;
    struct call *call = call_of(self);
    call->facts.first_byte_ns = now_ns();
    Cronet_BufferPtr buffer = Cronet_Buffer_Create();
    Cronet_Buffer_InitWithAlloc(buffer, READ_BYTES);
    Cronet_UrlRequest_Read(request, buffer); /* takes over the buffer */
}

static void on_read_completed(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                              Cronet_UrlResponseInfoPtr info, Cronet_BufferPtr buffer, uint64_t bytes)
{
    (void)info;
    struct call *call = call_of(self);
    struct facts *facts = &call->facts;
    if (facts->response_bytes + bytes > call->room) {
        call->room = 2 * (facts->response_bytes + bytes);
        facts->response = realloc(facts->response, call->room);
        if (!facts->response)
            abort();
    }
    memcpy(facts->response + facts->response_bytes, Cronet_Buffer_GetData(buffer), bytes);
    facts->response_bytes += bytes;
    Cronet_UrlRequest_Read(request, buffer);
}

static void on_succeeded(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                         Cronet_UrlResponseInfoPtr info)
{
    (void)request;
    end(call_of(self), SUCCEEDED, info);
}

static void on_failed(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                      Cronet_UrlResponseInfoPtr info, Cronet_ErrorPtr error)
{
    (void)request;
    struct call *call = call_of(self);
    call->facts.net_error = Cronet_Error_internal_error_code_get(error);
    call->facts.quic_error = Cronet_Error_quic_detailed_error_code_get(error);
    snprintf(call->facts.message, sizeof call->facts.message, "%s", Cronet_Error_message_get(error));
    end(call, FAILED, info);
}

static void on_canceled(Cronet_UrlRequestCallbackPtr self, Cronet_UrlRequestPtr request,
                        Cronet_UrlResponseInfoPtr info)
{
    (void)request;
    struct call *call = call_of(self);
    end(call, call->redirected ? REDIRECTED : CANCELED, info);
}

static void end(struct call *call, enum outcome outcome, Cronet_UrlResponseInfoPtr info)
{
    struct facts *facts = &call->facts;
    facts->end_ns = now_ns();
    if (info)
        read_info(facts, info);
    pthread_mutex_lock(&lock);
    facts->outcome = outcome;
    *ended_last = call;
    ended_last = &call->next_ended;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Converts wall-clock time to CLOCK_MONOTONIC. */
static int64_t monotonic_ns(int64_t since_1970_ms)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t ago_ns = wall.tv_sec * 1000000000LL + wall.tv_nsec - since_1970_ms * 1000000;
    return now_ns() - ago_ns;
}

static void on_finished(Cronet_RequestFinishedInfoListenerPtr self, Cronet_RequestFinishedInfoPtr info,
                        Cronet_UrlResponseInfoPtr response, Cronet_ErrorPtr error)
{
    (void)response, (void)error;
    struct call *call = Cronet_RequestFinishedInfoListener_GetClientContext(self);
    Cronet_MetricsPtr metrics = Cronet_RequestFinishedInfo_metrics_get(info);
    Cronet_DateTimePtr sending = metrics ? Cronet_Metrics_sending_start_get(metrics) : NULL;
    pthread_mutex_lock(&lock);
    if (sending) {
        call->facts.sending_ns = monotonic_ns(Cronet_DateTime_value_get(sending));
        call->facts.opened = !Cronet_Metrics_socket_reused_get(metrics);
    }
    call->finished = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static int64_t upload_length(Cronet_UploadDataProviderPtr self)
{
    struct call *call = Cronet_UploadDataProvider_GetClientContext(self);
    return (int64_t)call->body_bytes;
}

static void upload_read(Cronet_UploadDataProviderPtr self, Cronet_UploadDataSinkPtr sink,
                        Cronet_BufferPtr buffer)
{
    struct call *call = Cronet_UploadDataProvider_GetClientContext(self);
    uint64_t remaining = call->body_bytes - call->facts.request_bytes;
    uint64_t room = Cronet_Buffer_GetSize(buffer);
    uint64_t bytes = remaining < room ? remaining : room;
    memcpy(Cronet_Buffer_GetData(buffer), call->body + call->facts.request_bytes, bytes);
    call->facts.request_bytes += bytes;
    Cronet_UploadDataSink_OnReadSucceeded(sink, bytes, false);
}

static void upload_rewind(Cronet_UploadDataProviderPtr self, Cronet_UploadDataSinkPtr sink)
{
    struct call *call = Cronet_UploadDataProvider_GetClientContext(self);
    call->facts.request_bytes = 0;
    call->facts.rewinds++;
    Cronet_UploadDataSink_OnRewindSucceeded(sink);
}

static void upload_close(Cronet_UploadDataProviderPtr self)
{
    struct call *call = Cronet_UploadDataProvider_GetClientContext(self);
    pthread_mutex_lock(&lock);
    call->upload_closed = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void add_header(Cronet_UrlRequestParamsPtr params, const char *name, const char *value)
{
    Cronet_HttpHeaderPtr header = Cronet_HttpHeader_Create();
    Cronet_HttpHeader_name_set(header, name);
    Cronet_HttpHeader_value_set(header, value);
    Cronet_UrlRequestParams_request_headers_add(params, header);
    Cronet_HttpHeader_Destroy(header);
}

struct call *call_new(uint32_t id, const char *url, const char *method, const char *content_type,
                      const char *accept_encoding, uint64_t response_room)
{
    struct call *call = calloc(1, sizeof *call);
    call->url = strdup(url);
    call->room = response_room;
    call->facts.response = malloc(response_room);
    call->facts.opened = -1;
    call->callback = Cronet_UrlRequestCallback_CreateWith(on_redirect, on_response_started,
                                                          on_read_completed, on_succeeded, on_failed,
                                                          on_canceled);
    Cronet_UrlRequestCallback_SetClientContext(call->callback, call);
    call->listener = Cronet_RequestFinishedInfoListener_CreateWith(on_finished);
    Cronet_RequestFinishedInfoListener_SetClientContext(call->listener, call);

    call->params = Cronet_UrlRequestParams_Create();
    char text[16];
    snprintf(text, sizeof text, "%u", id);
    add_header(call->params, "x-commute-id", text);
    Cronet_UrlRequestParams_http_method_set(call->params, method);
    Cronet_UrlRequestParams_request_finished_listener_set(call->params, call->listener);
    Cronet_UrlRequestParams_request_finished_executor_set(call->params, executor());
    if (accept_encoding)
        add_header(call->params, "accept-encoding", accept_encoding);
    if (content_type) {
        add_header(call->params, "content-type", content_type);
        call->upload = Cronet_UploadDataProvider_CreateWith(upload_length, upload_read, upload_rewind,
                                                            upload_close);
        Cronet_UploadDataProvider_SetClientContext(call->upload, call);
        Cronet_UrlRequestParams_upload_data_provider_set(call->params, call->upload);
        Cronet_UrlRequestParams_upload_data_provider_executor_set(call->params, executor());
    }
    call->request = Cronet_UrlRequest_Create();
    return call;
}

void call_add_header(struct call *call, const char *name, const char *value)
{
    add_header(call->params, name, value);
}

void call_set_body(struct call *call, const uint8_t *body, uint64_t body_bytes)
{
    call->body = body;
    call->body_bytes = body_bytes;
}

Cronet_RESULT call_start(struct call *call, struct engine *engine)
{
    call->facts.start_ns = now_ns();
    Cronet_RESULT result = Cronet_UrlRequest_InitWithParams(
        call->request, engine_cronet(engine), call->url, call->params, call->callback, executor());
    return result ? result : Cronet_UrlRequest_Start(call->request);
}

void call_cancel(struct call *call)
{
    Cronet_UrlRequest_Cancel(call->request);
}

struct call *call_next_ended(int64_t timeout_ns)
{
    int64_t until_ns = now_ns() + timeout_ns;
    struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    pthread_mutex_lock(&lock);
    while (!ended && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
    struct call *call = ended;
    if (call) {
        ended = call->next_ended;
        if (!ended)
            ended_last = &ended;
    }
    pthread_mutex_unlock(&lock);
    return call;
}

const struct facts *call_facts(struct call *call)
{
    return &call->facts;
}

const struct facts *call_settle(struct call *call)
{
    pthread_mutex_lock(&lock);
    while (!call->finished || (call->upload && !call->upload_closed))
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return &call->facts;
}

void call_free(struct call *call)
{
    Cronet_UrlRequest_Destroy(call->request);
    Cronet_UrlRequestParams_Destroy(call->params);
    Cronet_UrlRequestCallback_Destroy(call->callback);
    Cronet_RequestFinishedInfoListener_Destroy(call->listener);
    if (call->upload)
        Cronet_UploadDataProvider_Destroy(call->upload);
    free(call->facts.response);
    free(call->url);
    free(call);
}

__attribute__((constructor)) static void init_condition(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
}
