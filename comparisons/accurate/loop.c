/* Waits of one length, one after the other: nanosleep, poll on a pipe, or pthread_cond_timedwait. Prints the CPU time and
 * the time of the loop, and how late each wait ended, in nanoseconds. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int main(int count, char **arguments) {
    if (count < 4) return 2;
    const char *call = arguments[1];
    long long length = atoll(arguments[2]), waits = atoll(arguments[3]);
    long long *late = malloc(waits * sizeof *late);
    int pipes[2];
    struct pollfd nothing = {.events = POLLIN};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    if (!late || pipe(pipes) != 0) return 1;
    nothing.fd = pipes[0];
    pthread_mutex_lock(&mutex);
    long long cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID), begin = now_ns(CLOCK_MONOTONIC);
    for (long long i = 0; i < waits; i++) {
        long long due = now_ns(CLOCK_MONOTONIC) + length;
        if (!strcmp(call, "nanosleep")) {
            struct timespec time = {length / 1000000000, length % 1000000000};
            nanosleep(&time, NULL);
        } else if (!strcmp(call, "ppoll")) {
            struct timespec time = {length / 1000000000, length % 1000000000};
            ppoll(&nothing, 1, &time, NULL);
        } else {
            long long day = now_ns(CLOCK_REALTIME) + length;
            struct timespec time = {day / 1000000000, day % 1000000000};
            pthread_cond_timedwait(&condition, &mutex, &time);
        }
        late[i] = now_ns(CLOCK_MONOTONIC) - due;
    }
    printf("%lld %lld\n", now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu, now_ns(CLOCK_MONOTONIC) - begin);
    for (long long i = 0; i < waits; i++) printf("%lld\n", late[i]);
    return 0;
}
