/* Cronet engines. Each has its own connections, tickets and server properties. */
#include "shim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "verifier.h"

struct engine {
    Cronet_EnginePtr cronet;
    struct verifier *verifier; /* freed by Cronet; NULL if Cronet verifies by itself */
};

const char *cronet_version(void)
{
    static char version[64];
    Cronet_EnginePtr engine = Cronet_Engine_Create();
    strncpy(version, Cronet_Engine_GetVersionString(engine), sizeof version - 1);
    Cronet_Engine_Destroy(engine);
    return version;
}

struct engine *engine_open(const struct engine_options *options)
{
    Cronet_EngineParamsPtr params = Cronet_EngineParams_Create();
    /* Otherwise Cronet aborts the process where it could return an error. */
    Cronet_EngineParams_enable_check_result_set(params, false);
    Cronet_EngineParams_enable_quic_set(params, options->quic);
    Cronet_EngineParams_experimental_options_set(params, options->experimental);
    for (int32_t i = 0; i < options->hint_count; i++) {
        Cronet_QuicHintPtr hint = Cronet_QuicHint_Create();
        Cronet_QuicHint_host_set(hint, options->hints[i].host);
        Cronet_QuicHint_port_set(hint, options->hints[i].port);
        Cronet_QuicHint_alternate_port_set(hint, options->hints[i].port);
        Cronet_EngineParams_quic_hints_add(params, hint);
        Cronet_QuicHint_Destroy(hint);
    }
    struct engine *engine = calloc(1, sizeof *engine);
    engine->cronet = Cronet_Engine_Create();
    if (options->accept_any_certificate) {
        engine->verifier = verifier_new();
        Cronet_Engine_SetMockCertVerifierForTesting(engine->cronet, engine->verifier);
    }
    Cronet_RESULT result = Cronet_Engine_StartWithParams(engine->cronet, params);
    Cronet_EngineParams_Destroy(params);
    if (result == 0)
        return engine;
    Cronet_Engine_Destroy(engine->cronet);
    free(engine);
    return NULL;
}

void engine_close(struct engine *engine)
{
    Cronet_Engine_Shutdown(engine->cronet);
    Cronet_Engine_Destroy(engine->cronet);
    free(engine);
}

Cronet_EnginePtr engine_cronet(struct engine *engine)
{
    return engine->cronet;
}

int32_t engine_verifications(struct engine *engine, struct verification *copy, int32_t room)
{
    return engine->verifier ? verifier_latest(engine->verifier, copy, room) : 0;
}
