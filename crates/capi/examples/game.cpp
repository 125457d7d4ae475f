// A game loop with SDL3: each frame begins as late as is safe, so what is drawn is as new as can
// be. SDL_Delay would end up to a tick of the system late, and SDL_DelayPrecise spins for a fixed
// margin.

#include <SDL3/SDL.h>

#include <cstdio>

#include <punctual.hpp>

int main() {
  SDL_Window* window = nullptr;
  SDL_Renderer* renderer = nullptr;
  if (!SDL_Init(SDL_INIT_VIDEO) ||
      !SDL_CreateWindowAndRenderer("punctual", 640, 480, SDL_WINDOW_RESIZABLE, &window, &renderer)) {
    std::fprintf(stderr, "%s\n", SDL_GetError());
    return 1;
  }
  const SDL_DisplayMode* mode = SDL_GetCurrentDisplayMode(SDL_GetDisplayForWindow(window));
  const auto rate = mode && mode->refresh_rate_numerator > 0
                        ? punctual::Rate(static_cast<std::uint64_t>(mode->refresh_rate_numerator),
                                         static_cast<std::uint64_t>(mode->refresh_rate_denominator))
                        : punctual::Rate(60, 1);
  auto frames = punctual::Frames::late(rate);

  for (bool is_on = true; is_on;) {
    const auto frame = frames.begin();
    for (SDL_Event event; SDL_PollEvent(&event);) is_on = is_on && event.type != SDL_EVENT_QUIT;
    // For when it is seen, not for when it is drawn.
    const double shown = static_cast<double>(frame.target_ns) * 1e-9;
    const auto grey = static_cast<Uint8>(127 + 127 * SDL_sin(shown));
    SDL_SetRenderDrawColor(renderer, grey, grey, grey, 255);
    SDL_RenderClear(renderer);
    frames.end();
    // With vsync it can block, and would count as work before the end.
    SDL_RenderPresent(renderer);
  }
  SDL_Quit();
  return 0;
}
