/* The part of Cronet's C API that this driver uses, with the names and types of
 * components/cronet/native in Chromium 133; the wheel has no header. Objects are opaque on both
 * sides. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Cronet_Buffer *Cronet_BufferPtr;
typedef struct Cronet_DateTime *Cronet_DateTimePtr;
typedef struct Cronet_Engine *Cronet_EnginePtr;
typedef struct Cronet_EngineParams *Cronet_EngineParamsPtr;
typedef struct Cronet_Error *Cronet_ErrorPtr;
typedef struct Cronet_Executor *Cronet_ExecutorPtr;
typedef struct Cronet_HttpHeader *Cronet_HttpHeaderPtr;
typedef struct Cronet_Metrics *Cronet_MetricsPtr;
typedef struct Cronet_QuicHint *Cronet_QuicHintPtr;
typedef struct Cronet_RequestFinishedInfo *Cronet_RequestFinishedInfoPtr;
typedef struct Cronet_RequestFinishedInfoListener *Cronet_RequestFinishedInfoListenerPtr;
typedef struct Cronet_Runnable *Cronet_RunnablePtr;
typedef struct Cronet_UploadDataProvider *Cronet_UploadDataProviderPtr;
typedef struct Cronet_UploadDataSink *Cronet_UploadDataSinkPtr;
typedef struct Cronet_UrlRequest *Cronet_UrlRequestPtr;
typedef struct Cronet_UrlRequestCallback *Cronet_UrlRequestCallbackPtr;
typedef struct Cronet_UrlRequestParams *Cronet_UrlRequestParamsPtr;
typedef struct Cronet_UrlResponseInfo *Cronet_UrlResponseInfoPtr;
typedef int32_t Cronet_RESULT; /* 0 is success */

/* Engine */
Cronet_EngineParamsPtr Cronet_EngineParams_Create(void);
void Cronet_EngineParams_Destroy(Cronet_EngineParamsPtr);
void Cronet_EngineParams_enable_check_result_set(Cronet_EngineParamsPtr, bool);
void Cronet_EngineParams_enable_quic_set(Cronet_EngineParamsPtr, bool);
void Cronet_EngineParams_experimental_options_set(Cronet_EngineParamsPtr, const char *);
void Cronet_EngineParams_quic_hints_add(Cronet_EngineParamsPtr, Cronet_QuicHintPtr);
Cronet_QuicHintPtr Cronet_QuicHint_Create(void);
void Cronet_QuicHint_Destroy(Cronet_QuicHintPtr);
void Cronet_QuicHint_host_set(Cronet_QuicHintPtr, const char *);
void Cronet_QuicHint_port_set(Cronet_QuicHintPtr, int32_t);
void Cronet_QuicHint_alternate_port_set(Cronet_QuicHintPtr, int32_t);
Cronet_EnginePtr Cronet_Engine_Create(void);
void Cronet_Engine_Destroy(Cronet_EnginePtr);
Cronet_RESULT Cronet_Engine_StartWithParams(Cronet_EnginePtr, Cronet_EngineParamsPtr);
Cronet_RESULT Cronet_Engine_Shutdown(Cronet_EnginePtr);
const char *Cronet_Engine_GetVersionString(Cronet_EnginePtr);
void Cronet_Engine_SetMockCertVerifierForTesting(Cronet_EnginePtr, void *);

/* Executor */
Cronet_ExecutorPtr Cronet_Executor_CreateWith(void (*execute)(Cronet_ExecutorPtr, Cronet_RunnablePtr));
void Cronet_Runnable_Run(Cronet_RunnablePtr);
void Cronet_Runnable_Destroy(Cronet_RunnablePtr);

/* Request */
Cronet_HttpHeaderPtr Cronet_HttpHeader_Create(void);
void Cronet_HttpHeader_Destroy(Cronet_HttpHeaderPtr);
void Cronet_HttpHeader_name_set(Cronet_HttpHeaderPtr, const char *);
void Cronet_HttpHeader_value_set(Cronet_HttpHeaderPtr, const char *);
Cronet_UrlRequestParamsPtr Cronet_UrlRequestParams_Create(void);
void Cronet_UrlRequestParams_Destroy(Cronet_UrlRequestParamsPtr);
void Cronet_UrlRequestParams_http_method_set(Cronet_UrlRequestParamsPtr, const char *);
void Cronet_UrlRequestParams_request_headers_add(Cronet_UrlRequestParamsPtr, Cronet_HttpHeaderPtr);
void Cronet_UrlRequestParams_upload_data_provider_set(Cronet_UrlRequestParamsPtr,
                                                      Cronet_UploadDataProviderPtr);
void Cronet_UrlRequestParams_upload_data_provider_executor_set(Cronet_UrlRequestParamsPtr,
                                                               Cronet_ExecutorPtr);
void Cronet_UrlRequestParams_request_finished_listener_set(Cronet_UrlRequestParamsPtr,
                                                           Cronet_RequestFinishedInfoListenerPtr);
void Cronet_UrlRequestParams_request_finished_executor_set(Cronet_UrlRequestParamsPtr,
                                                           Cronet_ExecutorPtr);
Cronet_UrlRequestPtr Cronet_UrlRequest_Create(void);
void Cronet_UrlRequest_Destroy(Cronet_UrlRequestPtr);
Cronet_RESULT Cronet_UrlRequest_InitWithParams(Cronet_UrlRequestPtr, Cronet_EnginePtr, const char *url,
                                               Cronet_UrlRequestParamsPtr,
                                               Cronet_UrlRequestCallbackPtr, Cronet_ExecutorPtr);
Cronet_RESULT Cronet_UrlRequest_Start(Cronet_UrlRequestPtr);
Cronet_RESULT Cronet_UrlRequest_Read(Cronet_UrlRequestPtr, Cronet_BufferPtr);
void Cronet_UrlRequest_Cancel(Cronet_UrlRequestPtr);

/* Callbacks */
Cronet_UrlRequestCallbackPtr Cronet_UrlRequestCallback_CreateWith(
    void (*on_redirect)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr, Cronet_UrlResponseInfoPtr,
                        const char *location),
    void (*on_response_started)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr,
                                Cronet_UrlResponseInfoPtr),
    void (*on_read_completed)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr,
                              Cronet_UrlResponseInfoPtr, Cronet_BufferPtr, uint64_t bytes_read),
    void (*on_succeeded)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr, Cronet_UrlResponseInfoPtr),
    void (*on_failed)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr, Cronet_UrlResponseInfoPtr,
                      Cronet_ErrorPtr),
    void (*on_canceled)(Cronet_UrlRequestCallbackPtr, Cronet_UrlRequestPtr, Cronet_UrlResponseInfoPtr));
void Cronet_UrlRequestCallback_Destroy(Cronet_UrlRequestCallbackPtr);
void Cronet_UrlRequestCallback_SetClientContext(Cronet_UrlRequestCallbackPtr, void *);
void *Cronet_UrlRequestCallback_GetClientContext(Cronet_UrlRequestCallbackPtr);
Cronet_UploadDataProviderPtr Cronet_UploadDataProvider_CreateWith(
    int64_t (*get_length)(Cronet_UploadDataProviderPtr),
    void (*read)(Cronet_UploadDataProviderPtr, Cronet_UploadDataSinkPtr, Cronet_BufferPtr),
    void (*rewind)(Cronet_UploadDataProviderPtr, Cronet_UploadDataSinkPtr),
    void (*close)(Cronet_UploadDataProviderPtr));
void Cronet_UploadDataProvider_Destroy(Cronet_UploadDataProviderPtr);
void Cronet_UploadDataProvider_SetClientContext(Cronet_UploadDataProviderPtr, void *);
void *Cronet_UploadDataProvider_GetClientContext(Cronet_UploadDataProviderPtr);
void Cronet_UploadDataSink_OnReadSucceeded(Cronet_UploadDataSinkPtr, uint64_t bytes, bool final_chunk);
void Cronet_UploadDataSink_OnRewindSucceeded(Cronet_UploadDataSinkPtr);
Cronet_RequestFinishedInfoListenerPtr Cronet_RequestFinishedInfoListener_CreateWith(
    void (*on_finished)(Cronet_RequestFinishedInfoListenerPtr, Cronet_RequestFinishedInfoPtr,
                        Cronet_UrlResponseInfoPtr, Cronet_ErrorPtr));
void Cronet_RequestFinishedInfoListener_Destroy(Cronet_RequestFinishedInfoListenerPtr);
void Cronet_RequestFinishedInfoListener_SetClientContext(Cronet_RequestFinishedInfoListenerPtr, void *);
void *Cronet_RequestFinishedInfoListener_GetClientContext(Cronet_RequestFinishedInfoListenerPtr);

/* Results */
Cronet_BufferPtr Cronet_Buffer_Create(void);
void Cronet_Buffer_InitWithAlloc(Cronet_BufferPtr, uint64_t size);
uint64_t Cronet_Buffer_GetSize(Cronet_BufferPtr);
void *Cronet_Buffer_GetData(Cronet_BufferPtr);
int32_t Cronet_UrlResponseInfo_http_status_code_get(Cronet_UrlResponseInfoPtr);
const char *Cronet_UrlResponseInfo_negotiated_protocol_get(Cronet_UrlResponseInfoPtr);
const char *Cronet_Error_message_get(Cronet_ErrorPtr);
int32_t Cronet_Error_internal_error_code_get(Cronet_ErrorPtr);
int32_t Cronet_Error_quic_detailed_error_code_get(Cronet_ErrorPtr);
Cronet_MetricsPtr Cronet_RequestFinishedInfo_metrics_get(Cronet_RequestFinishedInfoPtr);
bool Cronet_Metrics_socket_reused_get(Cronet_MetricsPtr);
Cronet_DateTimePtr Cronet_Metrics_sending_start_get(Cronet_MetricsPtr);
int64_t Cronet_DateTime_value_get(Cronet_DateTimePtr); /* ms since 1970 */
