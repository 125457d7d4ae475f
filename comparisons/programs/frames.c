// Frames of an SDL 3 program without a screen. Prints as accurate/loop.c does: CPU time and time in ns, then how late each
// frame is, in ns.
//
//   frames HOW LENGTH FRAMES     HOW: delay (SDL_DelayNS), precise (SDL_DelayPrecise), vsync (a renderer that simulates it)
#include <SDL3/SDL.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

int main(int count, char **arguments) {
    if (count != 4 || !SDL_Init(SDL_INIT_VIDEO)) return 2;
    const char *how = arguments[1];
    const long long length = atoll(arguments[2]);
    const int frames = atoi(arguments[3]);
    long long *late = calloc(frames, sizeof *late);
    SDL_Window *window = SDL_CreateWindow("frames", 320, 240, 0);
    SDL_Renderer *renderer = window ? SDL_CreateRenderer(window, "software") : NULL;
    if (!late || !renderer || !SDL_SetRenderVSync(renderer, strcmp(how, "vsync") == 0)) return 2;
    const long long begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    long long due = begin + length;
    for (int i = 0; i < frames; i++, due += length) {
        SDL_Event event;
        while (SDL_PollEvent(&event)) {}
        SDL_RenderClear(renderer);
        SDL_RenderPresent(renderer);
        const long long left = due - now(CLOCK_MONOTONIC);
        if (left > 0 && strcmp(how, "delay") == 0) SDL_DelayNS(left);
        if (left > 0 && strcmp(how, "precise") == 0) SDL_DelayPrecise(left);
        late[i] = now(CLOCK_MONOTONIC) - due;
        // A renderer that simulates vsync keeps its own phase.
        if (strcmp(how, "vsync") == 0) due += late[i];
    }
    printf("%lld %lld\n", now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - begin);
    for (int i = 0; i < frames; i++) printf("%lld\n", late[i]);
    SDL_Quit();
}
