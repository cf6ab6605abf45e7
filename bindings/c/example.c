/* Fetches a URL: prints status and body, and says on standard error how it came.
 *
 *   cc -I bindings/c bindings/c/example.c -L target/debug -lcommute_client -o example
 *   ./example https://www.example.com/ [ROOTS.pem]
 */
#include "commute.h"

#include <stdio.h>
#include <string.h>

static cm_bytes text(const char *s) {
    cm_bytes bytes = {(const uint8_t *)s, strlen(s)};
    return bytes;
}

static void print_text(cm_engine engine, cm_call call, uint32_t what) {
    uint8_t buffer[16384];
    size_t length;
    if (cm_get_text(engine, call, what, buffer, sizeof buffer, &length) == CM_OK)
        fwrite(buffer, 1, length, stderr);
}

/* Prints what has come of the body. */
static void print_body(cm_engine engine, cm_call call) {
    uint8_t buffer[16384];
    size_t length;
    while (cm_read(engine, call, buffer, sizeof buffer, &length) == CM_OK)
        fwrite(buffer, 1, length, stdout);
}

int main(int argc, char **argv) {
    static uint8_t roots[1 << 20];
    cm_config config = {0};
    cm_engine engine;
    cm_request request = {0};
    cm_call call;
    cm_event event = {0};
    size_t length;
    uint8_t why[256];
    if (argc < 2 || cm_abi_version() != CM_ABI_VERSION)
        return fprintf(stderr, "usage: example https://... [ROOTS.pem]\n"), 2;
    if (argc > 2) {
        FILE *file = fopen(argv[2], "rb");
        if (!file)
            return perror(argv[2]), 2;
        config.trust = CM_TRUST_ROOTS;
        config.roots_pem.ptr = roots;
        config.roots_pem.len = fread(roots, 1, sizeof roots, file);
        fclose(file);
    }
    if (cm_engine_new(&config, &engine, why, sizeof why, &length) != CM_OK)
        return fprintf(stderr, "no engine: %.*s\n", (int)length, (char *)why), 1;
    request.method = text("GET");
    request.url = text(argv[1]);
    request.limit_ms = 30000;
    if (cm_submit(engine, &request, 0, &call) != CM_OK)
        return fprintf(stderr, "%s is refused\n", argv[1]), 2;
    while (event.kind != CM_EVENT_DONE && cm_wait(engine, &event, 1, -1, &length) == CM_OK) {
        if (event.kind == CM_EVENT_HEAD) {
            printf("%u\n", (unsigned)event.number);
            print_text(engine, call, CM_TEXT_REPORT);
        }
        print_body(engine, call);
    }
    print_text(engine, call, CM_TEXT_ERROR);
    cm_engine_close(engine);
    return event.status == CM_OK ? 0 : 1;
}
