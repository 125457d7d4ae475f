/* A wait in a signal handler allocates nothing: signals, or with -DLOADS signals LIBRARY.
   Linked with the library, a thread may use it first in its handler. With LOADS the program loads
   the LIBRARY while it runs, and each thread calls punctual_sleep_ns once before the signal. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <punctual.h>

typedef enum punctual_result sleep_ns(uint64_t, struct punctual_outcome *);

#ifdef LOADS
static sleep_ns *sleeps;
#else
static sleep_ns *sleeps = punctual_sleep_ns;
#endif
static __thread int is_in_handler;
static volatile int allocated, handled;

/* Those of glibc, also for the thread-local storage of libraries that are loaded. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  allocated += is_in_handler;
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  allocated += is_in_handler;
  return __libc_calloc(count, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  allocated += is_in_handler;
  return __libc_memalign(alignment, size);
}

static void handler(int signal) {
  (void)signal;
  is_in_handler = 1;
  handled += sleeps(50000, NULL) == PUNCTUAL_RESULT_OK;
  is_in_handler = 0;
}

static void *waits_in_handler(void *unused) {
#ifdef LOADS
  sleeps(0, NULL);
#endif
  raise(SIGUSR1);
  return unused;
}

int main(int count, char **arguments) {
#ifdef LOADS
  void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  void *symbol = library != NULL ? dlsym(library, "punctual_sleep_ns") : NULL;
  if (symbol == NULL) return 2;
  memcpy(&sleeps, &symbol, sizeof symbol);
#else
  (void)count, (void)arguments;
#endif
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  for (int at = 0; at < 20; at++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, waits_in_handler, NULL) != 0) return 2;
    pthread_join(thread, NULL);
  }
  printf("%d waits in handlers, %d allocations\n", handled, allocated);
  return handled == 20 && allocated == 0 ? 0 : 1;
}
