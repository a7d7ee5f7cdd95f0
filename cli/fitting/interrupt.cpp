#include "fitting/interrupt.hpp"

#include <unistd.h>
#include <csignal>

#include "exit_codes.hpp"

namespace magva::fitting {

namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

void on_signal(int) {
  if (asked_to_stop != 0) ::_exit(kKilledByInterrupt);
  asked_to_stop = 1;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  asked_to_stop = 0;
  handle(on_signal);
}

InterruptGuard::~InterruptGuard() { handle(SIG_DFL); }

bool InterruptGuard::asked() { return asked_to_stop != 0; }

}  // namespace magva::fitting
