/* The executor that an app must give to Cronet: one thread that runs callbacks in order. */
#include "shim.h"

#include <pthread.h>
#include <stdlib.h>

struct task {
    Cronet_RunnablePtr runnable;
    struct task *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static struct task *first, **last = &first;

static void execute(Cronet_ExecutorPtr self, Cronet_RunnablePtr runnable)
{
    (void)self;
    struct task *task = malloc(sizeof *task);
    *task = (struct task){.runnable = runnable};
    pthread_mutex_lock(&lock);
    *last = task;
    last = &task->next;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static void *run_tasks(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!first)
            pthread_cond_wait(&not_empty, &lock);
        struct task *task = first;
        first = task->next;
        if (!first)
            last = &first;
        pthread_mutex_unlock(&lock);
        Cronet_Runnable_Run(task->runnable);
        Cronet_Runnable_Destroy(task->runnable);
        free(task);
    }
    return NULL;
}

static Cronet_ExecutorPtr the_executor;

static void start_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_tasks, NULL))
        abort();
    pthread_detach(thread);
    the_executor = Cronet_Executor_CreateWith(execute);
}

Cronet_ExecutorPtr executor(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_thread);
    return the_executor;
}
