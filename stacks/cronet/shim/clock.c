/* CLOCK_MONOTONIC, the clock of every time that the shim reports. */

#include <time.h>

#include "shim.h"

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
