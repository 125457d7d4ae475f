/* Waits for the tests of `punctual emulate`, `punctual exec --accurate` and `punctual trace`; what it does is its first argument. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
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

static long long now_ns(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static int word;

/* Waits of such a length by each call, from the clock of the call; how many ended early. */
static int early(long us) {
    struct timespec length = {0, us * 1000}, at;
    struct timeval in_us = {0, us};
    struct epoll_event event;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    sigset_t signals;
    int epoll = epoll_create1(0), early = 0, pipes[2];
    struct pollfd nothing = {.events = POLLIN};
    fd_set reads;
    clockid_t mono = CLOCK_MONOTONIC, day = CLOCK_REALTIME;
    long long begin;
    if (pipe(pipes) != 0) return 99;
    nothing.fd = pipes[0];
    sem_init(&semaphore, 0, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_mutex_lock(&mutex);
#define LASTS(clock, ns, call)                         \
    begin = now_ns(clock);                             \
    early += !(call) || now_ns(clock) - begin < (ns);
#define UNTIL(clock, call)                                        \
    begin = now_ns(clock) + us * 1000;                            \
    at = (struct timespec){begin / 1000000000, begin % 1000000000}; \
    early += !(call) || now_ns(clock) < begin;
    LASTS(mono, us * 1000, nanosleep(&length, NULL) == 0)
    LASTS(mono, us * 1000, clock_nanosleep(day, 0, &length, NULL) == 0)
    LASTS(mono, us * 1000, usleep(us) == 0)
    LASTS(mono, us * 1000, select(0, NULL, NULL, NULL, &in_us) == 0)
    LASTS(mono, us * 1000, ppoll(&nothing, 1, &length, NULL) == 0)
    LASTS(mono, us * 1000, sigtimedwait(&signals, NULL, &length) == -1 && errno == EAGAIN)
    LASTS(mono, 1000000, poll(&nothing, 1, 1) == 0)
    LASTS(mono, 1000000, epoll_wait(epoll, &event, 1, 1) == 0)
    FD_ZERO(&reads);
    FD_SET(pipes[0], &reads);
    LASTS(mono, us * 1000, pselect(pipes[0] + 1, &reads, NULL, NULL, &length, NULL) == 0)
    early += FD_ISSET(pipes[0], &reads) != 0;
    UNTIL(mono, clock_nanosleep(mono, TIMER_ABSTIME, &at, NULL) == 0)
    UNTIL(day, clock_nanosleep(day, TIMER_ABSTIME, &at, NULL) == 0)
    UNTIL(day, sem_timedwait(&semaphore, &at) == -1 && errno == ETIMEDOUT)
    UNTIL(day, pthread_cond_timedwait(&condition, &mutex, &at) == ETIMEDOUT)
    UNTIL(day, pthread_mutex_timedlock(&mutex, &at) == ETIMEDOUT)
    LASTS(mono, us * 1000, syscall(SYS_futex, &word, FUTEX_WAIT, 0, &length, NULL, 0) == -1 && errno == ETIMEDOUT)
    pthread_mutex_unlock(&mutex);
    close(epoll);
    close(pipes[0]);
    close(pipes[1]);
    return early;
}

static int pipe_ends[2];
static sem_t posted;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_changed;

static void *happening(void *unused) {
    struct timespec soon = {0, 3000000};
    nanosleep(&soon, NULL);
    if (write(pipe_ends[1], "x", 1) != 1) return NULL;
    nanosleep(&soon, NULL);
    sem_post(&posted);
    nanosleep(&soon, NULL);
    pthread_mutex_lock(&guard);
    is_changed = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
    return unused;
}

/* Each event ends a wait that would last for minutes. */
static int events(void) {
    pthread_t thread;
    int wrong = 0, epoll = epoll_create1(0);
    long long begin, took, left;
    struct epoll_event event = {.events = EPOLLIN};
    struct timeval minutes = {600, 0};
    struct timespec at = in_ms(CLOCK_REALTIME, 0);
    struct pollfd ready = {.events = POLLIN};
    fd_set reads;
    at.tv_sec += 600;
    sem_init(&posted, 0, 0);
    wrong += pipe(pipe_ends) != 0;
    ready.fd = pipe_ends[0];
    epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_ends[0], &event);
    FD_ZERO(&reads);
    FD_SET(pipe_ends[0], &reads);
    pthread_create(&thread, NULL, happening, NULL);
    begin = now_ns(CLOCK_MONOTONIC);
    wrong += select(pipe_ends[0] + 1, &reads, NULL, NULL, &minutes) != 1;
    took = now_ns(CLOCK_MONOTONIC) - begin;
    left = minutes.tv_sec * 1000000LL + minutes.tv_usec;
    /* The event may come before the call. */
    wrong += !FD_ISSET(pipe_ends[0], &reads) || left > 600000000 - (took > 2000000) || left < 600000000 - took / 1000 - 1;
    wrong += poll(&ready, 1, 600000) != 1 || ready.revents != POLLIN;
    wrong += epoll_wait(epoll, &event, 1, 600000) != 1;
    wrong += sem_timedwait(&posted, &at) != 0;
    pthread_mutex_lock(&guard);
    while (!is_changed) wrong += pthread_cond_timedwait(&changed, &guard, &at) != 0;
    pthread_mutex_unlock(&guard);
    pthread_join(thread, NULL);
    return wrong;
}

static int early_in_threads;

static void *waiting(void *us) {
    for (int i = 0; i < 10; i++)
        __atomic_fetch_add(&early_in_threads, early((long)us), __ATOMIC_RELAXED);
    return NULL;
}

/* A thread that only waits for so little that its waits spin is cancelled all the same. */
static void *always(void *unused) {
    for (;;) usleep(3);
    return unused;
}

static int storm(void) {
    pthread_t threads[40], one;
    void *result;
    for (long i = 0; i < 40; i++) pthread_create(&threads[i], NULL, waiting, (void *)(100 + 20 * i));
    for (int i = 0; i < 40; i++) pthread_join(threads[i], NULL);
    pthread_create(&one, NULL, always, NULL);
    usleep(20000);
    pthread_cancel(one);
    pthread_join(one, &result);
    return early_in_threads + (result != PTHREAD_CANCELED);
}

/* A condition variable that threads or processes share. */
struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int is_waiting, is_notified, is_over;
};

enum { SHORT = 40000, ENOUGH = 1000, MOST = 20000 };

static void *notifying(void *of) {
    struct shared *it = of;
    for (int is_over = 0; !is_over;) {
        pthread_mutex_lock(&it->mutex);
        is_over = it->is_over;
        it->is_notified = it->is_waiting;
        if (it->is_notified) pthread_cond_signal(&it->condition);
        pthread_mutex_unlock(&it->mutex);
        sched_yield();
    }
    return NULL;
}

/* Short waits. Every other one ends by its timer, and so the thread learns to spin. The rest is notified; whether more than one
   in four missed that. A computer that is busy has few. */
static int miss_notifications(struct shared *it) {
    int notified = 0, missed = 0, wrong = 0;
    pthread_mutex_lock(&it->mutex);
    for (int i = 0; i < MOST && notified < ENOUGH; i++) {
        long long end = now_ns(CLOCK_REALTIME) + SHORT;
        struct timespec at = {end / 1000000000, end % 1000000000};
        it->is_notified = 0;
        it->is_waiting = i % 2;
        int result = pthread_cond_timedwait(&it->condition, &it->mutex, &at);
        it->is_waiting = 0;
        wrong += result != 0 && result != ETIMEDOUT;
        wrong += result == ETIMEDOUT && now_ns(CLOCK_REALTIME) < end;
        notified += it->is_notified;
        missed += it->is_notified && result == ETIMEDOUT;
    }
    it->is_over = 1;
    pthread_mutex_unlock(&it->mutex);
    return wrong + (notified < 20) + (missed * 4 > notified);
}

static int is_changing;

static void *changing(void *unused) {
    for (int state = 0; state >= 0; state = __atomic_load_n(&is_changing, __ATOMIC_SEQ_CST)) {
        if (state > 0) {
            __atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
            syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        }
        sched_yield();
    }
    return unused;
}

/* The same for a futex. A wait with another value than the expected one does not begin. */
static int miss_changes(void) {
    struct timespec length = {0, SHORT};
    int changed = 0, missed = 0, wrong = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, changing, NULL);
    for (int i = 0; i < MOST && changed < ENOUGH; i++) {
        int expected = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
        __atomic_store_n(&is_changing, i % 2, __ATOMIC_SEQ_CST);
        long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &length, NULL, 0);
        int is_changed = __atomic_load_n(&word, __ATOMIC_SEQ_CST) != expected;
        __atomic_store_n(&is_changing, 0, __ATOMIC_SEQ_CST);
        wrong += result != 0 && errno != EAGAIN && errno != ETIMEDOUT;
        changed += is_changed;
        missed += is_changed && result != 0 && errno == ETIMEDOUT;
    }
    __atomic_store_n(&is_changing, -1, __ATOMIC_SEQ_CST);
    pthread_join(thread, NULL);
    return wrong + (changed < 20) + (missed * 4 > changed);
}

static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }

static void *waiting_for_ever(void *of) {
    struct shared *it = of;
    pthread_mutex_lock(&it->mutex);
    pthread_cleanup_push(unlock, &it->mutex);
    for (;;) {
        struct timespec at = in_ms(CLOCK_REALTIME, 0);
        pthread_cond_timedwait(&it->condition, &it->mutex, &at);
        at.tv_nsec += 60000;
        if (at.tv_nsec < 1000000000) pthread_cond_timedwait(&it->condition, &it->mutex, &at);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

/* Another thread and another process end waits for a condition variable. A thread that is cancelled in one has the mutex. */
static int notifications(void) {
    static struct shared own = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    struct shared *common =
        mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_t thread;
    void *result;
    int wrong = miss_changes(), status;
    pthread_create(&thread, NULL, notifying, &own);
    wrong += miss_notifications(&own);
    pthread_join(thread, NULL);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&common->mutex, &mutex);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&common->condition, &condition);
    pid_t forked = fork();
    if (forked == 0) {
        notifying(common);
        _exit(0);
    }
    wrong += miss_notifications(common);
    wrong += waitpid(forked, &status, 0) != forked || status != 0;
    pthread_create(&thread, NULL, waiting_for_ever, &own);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    return wrong + (result != PTHREAD_CANCELED) + (pthread_mutex_trylock(&own.mutex) != 0);
}

static volatile sig_atomic_t ticks;
static sigjmp_buf out;

static void tick(int signal) {
    int before = errno;
    (void)signal;
    if (++ticks % 3 == 0) usleep(20);
    errno = before;
}

static void leap(int signal) {
    (void)signal;
    siglongjmp(out, 1);
}

static void tick_every(long us) {
    struct itimerval each = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &each, NULL);
}

/* Sleeps that signals interrupt, whose handlers sleep too or leave them, and children that a handler does not matter to. */
static int signals(void) {
    struct sigaction handler = {.sa_handler = tick};
    struct timespec second = {1, 0};
    volatile int wrong = 0;
    int status;
    sigaction(SIGALRM, &handler, NULL);
    tick_every(700);
    for (int i = 0; i < 100; i++) {
        struct timespec left = {0, 1000000};
        long long begin = now_ns(CLOCK_MONOTONIC);
        while (nanosleep(&left, &left) != 0) wrong += errno != EINTR;
        wrong += now_ns(CLOCK_MONOTONIC) - begin < 1000000;
    }
    wrong += ticks == 0;
    tick_every(0);
    handler.sa_handler = leap;
    handler.sa_flags = SA_NODEFER;
    sigaction(SIGALRM, &handler, NULL);
    for (volatile int i = 0; i < 20; i++)
        if (sigsetjmp(out, 1) == 0) {
            /* No tick comes before there is a place to leap to. */
            tick_every(700);
            nanosleep(&second, NULL);
            wrong++;
        }
    tick_every(0);
    pid_t forked = fork();
    if (forked == 0) _exit(early(300));
    wrong += waitpid(forked, &status, 0) != forked || status != 0;
    return wrong + early(300);
}

/* Waits of 40 ms whose process is stopped and continued meanwhile; how many were wrong. */
static int stops(void) {
    struct timespec at, length = {0, 40000000};
    int wrong = 0, status;
    for (int way = 0; way < 3; way++) {
        long long begin = now_ns(CLOCK_MONOTONIC), end = begin + 40000000;
        pid_t self = getpid(), forked = fork();
        if (forked == 0) {
            usleep(1000);
            kill(self, SIGSTOP);
            usleep(1000);
            kill(self, SIGCONT);
            _exit(0);
        }
        at = (struct timespec){end / 1000000000, end % 1000000000};
        if (way == 0) wrong += nanosleep(&length, NULL) != 0;
        if (way == 1) wrong += ppoll(NULL, 0, &length, NULL) != 0;
        if (way == 2) wrong += clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0;
        wrong += now_ns(CLOCK_MONOTONIC) < end;
        wrong += waitpid(forked, &status, 0) != forked || status != 0;
    }
    return wrong;
}

/* A program that wants to be traced by its parent, as one under a debugger does, and goes on if it is not. */
static int traced(void) {
    int refused = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM;
    sleeps(1);
    return !refused;
}

/* A register that is loaded once for two sleeps, a call of the kernel that libc does not make, and sleeps of 30 ms that a
   signal interrupts after 20 ms, with what is left of them. A supervisor sees a call a moment after it. */
static int raw(void) {
    struct timespec ms = {0, 1000000}, length = {0, 30000000}, left = {9, 0};
    struct sigaction handler = {.sa_handler = nothing};
    struct itimerval soon = {{0, 0}, {0, 20000}};
    int wrong = 0;
    sigaction(SIGALRM, &handler, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    wrong += nanosleep(&length, &left) != -1 || errno != EINTR;
    wrong += left.tv_sec != 0 || left.tv_nsec >= 30000000;
#ifdef __x86_64__
    struct timeval us = {0, 1000};
    long failed;
    wrong += syscall(SYS_select, 0, NULL, NULL, NULL, &us) != 0 || us.tv_sec != 0 || us.tv_usec != 0;
    us.tv_usec = 30000;
    setitimer(ITIMER_REAL, &soon, NULL);
    wrong += syscall(SYS_select, 0, NULL, NULL, NULL, &us) != -1 || errno != EINTR;
    wrong += us.tv_sec != 0 || us.tv_usec >= 30000;
    __asm__ volatile(
        "mov %1, %%rdi\n xor %%esi, %%esi\n mov $35, %%eax\n syscall\n mov %%rax, %%rbx\n"
        "mov $35, %%eax\n syscall\n or %%rbx, %%rax"
        : "=a"(failed)
        : "r"(&ms)
        : "rbx", "rcx", "rdi", "rsi", "r11", "memory");
    wrong += failed != 0;
#endif
    return wrong + (ms.tv_sec != 0 || ms.tv_nsec != 1000000);
}

/* Sleeps while a child stops this process for a second, and lets it go on. */
static int stopped(void) {
    struct timespec length = {0, 300000000}, second = {1, 0};
    int status, wrong = 0;
    pid_t self = getpid(), forked = fork();
    if (forked == 0) {
        usleep(20000);
        kill(self, SIGSTOP);
        nanosleep(&second, NULL);
        kill(self, SIGCONT);
        _exit(0);
    }
    while (waitpid(forked, &status, WNOHANG) == 0) wrong += nanosleep(&length, NULL) != 0;
    return wrong + (status != 0);
}

/* Calls on sockets with a timeout: one that it ends, two that data end, two that do not block, and one without. */
static int sockets(void) {
    struct timeval some = {0, 20000};
    char byte[2];
    /* Not known to the compiler: with _FORTIFY_SOURCE it calls __recv_chk and __recvfrom_chk. */
    volatile size_t one = 1;
    int pair[2], wrong = 0;
    long long begin;
    wrong += socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0;
    wrong += setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &some, sizeof some) != 0;
    begin = now_ns(CLOCK_MONOTONIC);
    wrong += recv(pair[0], byte, one, 0) != -1 || errno != EAGAIN;
    wrong += now_ns(CLOCK_MONOTONIC) - begin < 20000000;
    wrong += send(pair[1], "xy", 2, 0) != 2;
    wrong += recv(pair[0], byte, one, 0) != 1 || recvfrom(pair[0], byte, one, 0, NULL, NULL) != 1;
    wrong += recv(pair[0], byte, one, MSG_DONTWAIT) != -1 || errno != EAGAIN;
    wrong += recv(pair[1], byte, one, MSG_DONTWAIT) != -1 || errno != EAGAIN;
    wrong += fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0;
    wrong += recv(pair[0], byte, one, 0) != -1 || errno != EAGAIN;
    wrong += connect(-1, NULL, 0) != -1 || errno != EBADF;
    return wrong;
}

static void *brief(void *unused) {
    usleep(1);
    return unused;
}

static int open_files(void) {
    DIR *all = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(all)) n++;
    closedir(all);
    return n;
}

/* More threads than may keep a descriptor, one after the other and at once; whether any is left open or lacks room. */
static int descriptors(void) {
    pthread_t threads[300];
    int wrong = 0, before;
    usleep(1);
    before = open_files();
    for (int i = 0; i < 300; i++) {
        wrong += pthread_create(&threads[0], NULL, brief, NULL) != 0;
        pthread_join(threads[0], NULL);
    }
    for (int i = 0; i < 300; i++) wrong += pthread_create(&threads[i], NULL, brief, NULL) != 0;
    for (int i = 0; i < 300; i++) pthread_join(threads[i], NULL);
    return wrong + (open_files() != before);
}

/* The program closes all files that it does not know, and waits again. */
static int closed(void) {
    usleep(1000);
    for (int file = 3; file < 5000; file++) close(file);
    return usleep(1000) != 0 || open_files() > 8;
}

/* The program has a file of its own under the number of each descriptor that is not its own, and waits again. */
static void *takes(void *unused) {
    char *numbers = unused, text[6], name[32], target[64];
    FILE *own = tmpfile();
    usleep(1000);
    fputs("1 2 3\n", own);
    fflush(own);
    for (int file = 200; file < 5000; file++) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        ssize_t n = readlink(name, target, sizeof target - 1);
        if (n < 0) continue;
        target[n] = 0;
        if (!strstr(target, "schedstat")) continue;
        *numbers += dup2(fileno(own), file) != file ? 9 : 1;
    }
    rewind(own);
    for (int i = 0; i < 3; i++) usleep(1000);
    *numbers += fread(text, 1, 6, own) != 6 || memcmp(text, "1 2 3\n", 6) ? 9 : 0;
    return NULL;
}

static int taken(void) {
    pthread_t thread;
    char numbers = 0;
    int before = open_files();
    pthread_create(&thread, NULL, takes, &numbers);
    pthread_join(thread, NULL);
    /* The file is open under its own number, and under the one that it took. */
    return numbers > 1 || open_files() != before + 1 + numbers;
}

static void *holding(void *semaphore) {
    usleep(1);
    sem_wait(semaphore);
    return NULL;
}

/* A signal ends a sleep in its last second, of which no whole second is left. */
static int alarmed(void) {
    struct sigaction handler = {.sa_handler = nothing};
    sigaction(SIGALRM, &handler, NULL);
    ualarm(10000, 0);
    return sleep(1) != 0;
}

/* So many children, one after the other, of a process with two threads: each has one descriptor less than the process. */
static int forks(int n) {
    pthread_t thread;
    int wrong = 0, before = 0, status;
    sem_init(&posted, 0, 0);
    usleep(20000);
    before = open_files();
    pthread_create(&thread, NULL, holding, &posted);
    while (open_files() <= before) sched_yield();
    before++;
    for (int i = 0; i < n; i++) {
        pid_t forked = fork();
        if (forked == 0) {
            usleep(1);
            _exit(open_files() >= before);
        }
        wrong += waitpid(forked, &status, 0) != forked || status != 0;
    }
    sem_post(&posted);
    pthread_join(thread, NULL);
    return wrong;
}

static pthread_barrier_t begun;

static void *at_once(void *unused) {
    pthread_barrier_wait(&begun);
    usleep(1000);
    return unused;
}

/* So many threads that sleep at once. */
static int threads(int n) {
    pthread_t all[2000];
    pthread_attr_t small;
    int wrong = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    pthread_barrier_init(&begun, NULL, n);
    for (int i = 0; i < n; i++) wrong += pthread_create(&all[i], &small, at_once, NULL) != 0;
    for (int i = 0; i < n; i++) pthread_join(all[i], NULL);
    return wrong;
}

/* Instants that have passed, and a sleep of no length. */
static int missed(void) {
    struct timespec at = in_ms(CLOCK_MONOTONIC, 0), day = in_ms(CLOCK_REALTIME, 0), none = {0, 0};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    int wrong = 0;
    at.tv_sec -= 1;
    day.tv_sec -= 1;
    wrong += clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0;
    wrong += clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &day, NULL) != 0;
    pthread_mutex_lock(&mutex);
    wrong += pthread_cond_timedwait(&condition, &mutex, &day) != ETIMEDOUT;
    sem_init(&semaphore, 0, 1);
    /* The first does not wait. */
    wrong += sem_timedwait(&semaphore, &day) != 0;
    wrong += sem_timedwait(&semaphore, &day) != -1 || errno != ETIMEDOUT;
    wrong += nanosleep(&none, NULL) != 0;
    wrong += poll(NULL, 0, 0) != 0;
    return wrong;
}

/* Children would be ordinary threads, and this is one. */
static int reset(void) {
    struct sched_param none = {0};
    int wrong = sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none) != 0;
    sleeps(1);
    return wrong;
}

/* Waits where a filter kills whoever asks for the number of its process or thread. */
static int unasked(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int wrong = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0;
    wrong += prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
    return wrong + each_call();
}

/* Waits where a filter refuses finer calls in this way. */
static int refused(unsigned way) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 441, 1, 0), /* epoll_pwait2 */
#ifdef SYS_poll
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
#else
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 441, 0, 1),
#endif
        BPF_STMT(BPF_RET | BPF_K, way),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0), wrong = 0, pipes[2];
    struct pollfd ready = {.events = POLLIN};
    long long begin;
    wrong += pipe(pipes) != 0;
    ready.fd = pipes[0];
    wrong += prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0;
    wrong += prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
    errno = 0;
    for (int i = 0; i < 3; i++) {
        begin = now_ns(CLOCK_MONOTONIC);
        wrong += poll(&ready, 1, 3) != 0 || now_ns(CLOCK_MONOTONIC) - begin < 3000000;
        begin = now_ns(CLOCK_MONOTONIC);
        wrong += epoll_wait(epoll, &event, 1, 3) != 0 || now_ns(CLOCK_MONOTONIC) - begin < 3000000;
        wrong += epoll_pwait(epoll, &event, 1, 3, NULL) != 0;
    }
    wrong += errno != 0;
    wrong += write(pipes[1], "x", 1) != 1;
    wrong += epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event) != 0;
    wrong += poll(&ready, 1, 600000) != 1 || epoll_wait(epoll, &event, 1, 600000) != 1;
    return wrong;
}

/* Waits for a timer of a file descriptor, and prints how long that took, in ns. */
static int timed(int timer, int flags, struct itimerspec set, int times) {
    long long begin = now_ns(CLOCK_MONOTONIC);
    struct itimerspec old;
    uint64_t expired = 0;
    int wrong = timerfd_settime(timer, flags, &set, &old) != 0 || old.it_value.tv_sec || old.it_value.tv_nsec;
    while (times-- > 0) wrong += read(timer, &expired, sizeof expired) != sizeof expired || expired < 1;
    printf("%lld\n", now_ns(CLOCK_MONOTONIC) - begin);
    return wrong;
}

/* Timers of file descriptors: for a length, until an instant of two clocks, periodic, stopped, and one that is none. */
static int timers(void) {
    struct timespec ms = {0, 5000000};
    struct itimerspec once = {.it_value = ms}, twice = {.it_interval = ms, .it_value = ms}, none = {{0, 0}, {0, 0}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), of_day = timerfd_create(CLOCK_REALTIME, 0), wrong = 0;
    wrong += timed(timer, 0, once, 1);
    once.it_value = in_ms(CLOCK_MONOTONIC, 5);
    wrong += timed(timer, TFD_TIMER_ABSTIME, once, 1);
    once.it_value = in_ms(CLOCK_REALTIME, 5);
    wrong += timed(of_day, TFD_TIMER_ABSTIME, once, 1);
    wrong += timed(timer, 0, twice, 2);
    wrong += timerfd_settime(timer, 0, &none, NULL) != 0;
    once.it_value = (struct timespec){0, 1};
    wrong += timed(timer, TFD_TIMER_ABSTIME, once, 1);
    wrong += timerfd_settime(-1, 0, &once, NULL) != -1 || errno != EBADF;
    once.it_value.tv_nsec = 2000000000;
    wrong += timerfd_settime(timer, 0, &once, NULL) != -1 || errno != EINVAL;
    return wrong;
}

/* Sleeps of 50 us for as many milliseconds at least. */
static void many(long ms) {
    long long end = now_ns(CLOCK_MONOTONIC) + ms * 1000000;
    while (now_ns(CLOCK_MONOTONIC) < end) usleep(50);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    if (!strcmp(what, "sleeps")) {
        sleeps(atoi(arguments[2]));
        return 0;
    }
    if (!strcmp(what, "calls")) return each_call();
    if (!strcmp(what, "others")) return others();
    if (!strcmp(what, "timers")) return timers();
    if (!strcmp(what, "children")) return children(arguments[0]);
    if (!strcmp(what, "early")) {
        int wrong = 0;
        for (int i = 0; i < 20; i++) wrong += early(40) + early(300) + early(2500);
        return wrong;
    }
    if (!strcmp(what, "events")) return events();
    if (!strcmp(what, "notifications")) return notifications();
    if (!strcmp(what, "signals")) return signals();
    if (!strcmp(what, "stops")) return stops();
    if (!strcmp(what, "traced")) return traced();
    if (!strcmp(what, "raw")) return raw();
    if (!strcmp(what, "storm")) return storm();
    if (!strcmp(what, "stopped")) return stopped();
    if (!strcmp(what, "sockets")) return sockets();
    if (!strcmp(what, "descriptors")) return descriptors();
    if (!strcmp(what, "closed")) return closed();
    if (!strcmp(what, "taken")) return taken();
    if (!strcmp(what, "alarmed")) return alarmed();
    if (!strcmp(what, "forks")) return forks(atoi(arguments[2]));
    if (!strcmp(what, "threads")) return threads(atoi(arguments[2]));
    if (!strcmp(what, "missed")) return missed();
    if (!strcmp(what, "reset")) return reset();
    if (!strcmp(what, "unasked")) return unasked();
    if (!strcmp(what, "refused-with-eperm")) return refused(SECCOMP_RET_ERRNO | EPERM);
    if (!strcmp(what, "refused-with-enosys")) return refused(SECCOMP_RET_ERRNO | ENOSYS);
    if (!strcmp(what, "killed-if-finer")) return refused(SECCOMP_RET_KILL_PROCESS);
    if (!strcmp(what, "many")) {
        many(atoi(arguments[2]));
        return 0;
    }
    if (!strcmp(what, "long")) {
        printf("%d\n", getpid());
        fflush(stdout);
        return sleep(600);
    }
    if (!strcmp(what, "exit")) return atoi(arguments[2]);
    if (!strcmp(what, "die")) raise(SIGKILL);
    return 99;
}
