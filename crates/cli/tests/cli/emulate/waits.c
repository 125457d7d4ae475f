/* Waits for the tests of `punctual emulate`; what it does is its first argument. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const long lengths_ms[] = {1, 5, 16, 20};

static struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void sleeps(int times) {
    for (int i = 0; i < times; i++) {
        for (size_t n = 0; n < 4; n++) {
            struct timespec length = {0, lengths_ms[n] * 1000000};
            nanosleep(&length, NULL);
        }
    }
}

static void *sleeping(void *unused) {
    sleeps(3);
    return unused;
}

/* One wait of a millisecond by each call; whether each says that its time is over. */
static int each_call(void) {
    struct timespec ms = {0, 1000000}, at;
    struct timeval us = {0, 1000};
    struct epoll_event event;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    sigset_t signals;
    int epoll = epoll_create1(0), wrong = 0;
    sem_init(&semaphore, 0, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    wrong += nanosleep(&ms, NULL) != 0;
    wrong += clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) != 0;
    at = in_ms(CLOCK_MONOTONIC, 1);
    wrong += clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0;
    wrong += usleep(1000) != 0;
    wrong += poll(NULL, 0, 1) != 0;
    wrong += ppoll(NULL, 0, &ms, NULL) != 0;
    wrong += select(0, NULL, NULL, NULL, &us) != 0 || us.tv_sec || us.tv_usec;
    wrong += pselect(0, NULL, NULL, NULL, &ms, NULL) != 0;
    wrong += epoll_wait(epoll, &event, 1, 1) != 0;
    wrong += epoll_pwait(epoll, &event, 1, 1, NULL) != 0;
    pthread_mutex_lock(&mutex);
    at = in_ms(CLOCK_REALTIME, 1);
    wrong += pthread_cond_timedwait(&condition, &mutex, &at) != ETIMEDOUT;
    pthread_mutex_lock(&held);
    at = in_ms(CLOCK_REALTIME, 1);
    wrong += pthread_mutex_timedlock(&held, &at) != ETIMEDOUT;
    at = in_ms(CLOCK_REALTIME, 1);
    wrong += sem_timedwait(&semaphore, &at) != -1 || errno != ETIMEDOUT;
    wrong += sigtimedwait(&signals, NULL, &ms) != -1 || errno != EAGAIN;
    return wrong;
}

static void nothing(int signal) { (void)signal; }

static void cleaned(void *flag) { *(int *)flag = 1; }

static int has_cleaned;

static void *cancelled(void *unused) {
    struct timespec long_one = {9, 0};
    pthread_cleanup_push(cleaned, &has_cleaned);
    nanosleep(&long_one, NULL);
    pthread_cleanup_pop(0);
    return unused;
}

/* Signals, cancellation and wrong arguments are as they were. */
static int others(void) {
    struct timespec left = {0, 0}, long_one = {9, 0}, bad = {0, 2000000000};
    struct sigaction handler = {.sa_handler = nothing};
    pthread_t thread;
    void *result;
    int wrong = 0, pipes[2];
    struct pollfd ready = {.events = POLLIN};
    wrong += nanosleep(&bad, NULL) != -1 || errno != EINVAL;
    wrong += clock_nanosleep(99, 0, &long_one, NULL) != EINVAL;
    sigaction(SIGALRM, &handler, NULL);
    alarm(1);
    wrong += nanosleep(&long_one, &left) != -1 || errno != EINTR;
    wrong += left.tv_sec < 1 || left.tv_sec > 8;
    pthread_create(&thread, NULL, cancelled, NULL);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    wrong += result != PTHREAD_CANCELED || !has_cleaned;
    wrong += pipe(pipes) != 0 || write(pipes[1], "x", 1) != 1;
    ready.fd = pipes[0];
    wrong += poll(&ready, 1, 9000) != 1;
    return wrong;
}

/* Threads, a fork, and programs that begin without any environment. */
static int children(char *self) {
    char *child[] = {self, "sleeps", "1", NULL}, *none[] = {NULL};
    pthread_t threads[4];
    int wrong = 0, status;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, sleeping, NULL);
    pid_t forked = fork();
    if (forked == 0) {
        sleeps(1);
        _exit(0);
    }
    wrong += waitpid(forked, &status, 0) != forked || status != 0;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    forked = fork();
    if (forked == 0) {
        execve("/proc/self/exe", child, none);
        _exit(1);
    }
    wrong += waitpid(forked, &status, 0) != forked || status != 0;
    forked = vfork();
    if (forked == 0) {
        execve("/proc/self/exe", child, none);
        _exit(1);
    }
    wrong += waitpid(forked, &status, 0) != forked || status != 0;
    return wrong;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "sleeps")) {
        sleeps(atoi(arguments[2]));
        return 0;
    }
    if (!strcmp(what, "calls")) return each_call();
    if (!strcmp(what, "others")) return others();
    if (!strcmp(what, "children")) return children(arguments[0]);
    if (!strcmp(what, "exit")) return atoi(arguments[2]);
    if (!strcmp(what, "die")) raise(SIGKILL);
    return 99;
}
