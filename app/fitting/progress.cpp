#include "fitting/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "terminal/terminal.hpp"

namespace magva::fitting {

namespace {

constexpr double kBarEvery = .1;  // seconds
constexpr double kLineEvery = 5;  // seconds
constexpr double kMemory = .97;   // of the moving mean of the ELBO, which single draws make noisy

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

/// What both kinds of display say: a smoothed ELBO, and the time left at the pace so far.
class Pace {
 public:
  void add(const IterationView& view) {
    if (first_iteration_ < 0) {
      first_iteration_ = view.iteration;
      first_seconds_ = view.seconds;
    }
    if (!std::isfinite(view.elbo)) return;
    weight_ = kMemory * weight_ + (1 - kMemory);
    sum_ = kMemory * sum_ + (1 - kMemory) * view.elbo;
  }
  std::string elbo() const { return weight_ > 0 ? fmt::format("{:.2f}", sum_ / weight_) : "not finite"; }
  std::string left(const IterationView& view, std::int64_t most) const {
    const auto done = static_cast<double>(view.iteration - first_iteration_);
    if (done <= 0) return "?";
    return duration((view.seconds - first_seconds_) / done * static_cast<double>(most - view.iteration));
  }

 private:
  std::int64_t first_iteration_ = -1;
  double first_seconds_ = 0;
  double weight_ = 0;
  double sum_ = 0;
};

class Silent final : public Progress {
 public:
  void show(const IterationView&, std::int64_t) override {}
  void say(const std::string&) override {}
  void finish() override {}
};

class Lines final : public Progress {
 public:
  void show(const IterationView& view, std::int64_t most) override {
    pace_.add(view);
    if (view.seconds < next_) return;
    next_ = view.seconds + kLineEvery;
    say(fmt::format("iteration {} of at most {}, ELBO {}, {} left", view.iteration, most, pace_.elbo(),
                    pace_.left(view, most)));
  }
  void say(const std::string& sentence) override { fmt::print(stderr, "{}\n", sentence); }
  void finish() override {}

 private:
  Pace pace_;
  double next_ = 0;
};

class Bar final : public Progress {
 public:
  void show(const IterationView& view, std::int64_t most) override {
    pace_.add(view);
    if (view.seconds < next_) return;
    next_ = view.seconds + kBarEvery;
    draw(view, most);
  }
  void say(const std::string& sentence) override {
    finish();
    fmt::print(stderr, "{}\n", sentence);
  }
  void finish() override {
    if (drawn_) fmt::print(stderr, "\r\033[K");
    drawn_ = false;
  }

 private:
  void draw(const IterationView& view, std::int64_t most) {
    const std::string facts =
        fmt::format(" {}/{}  ELBO {}  {} left", view.iteration, most, pace_.elbo(), pace_.left(view, most));
    const int room = terminal::width(stderr) - static_cast<int>(facts.size()) - 3;
    const int size = room > 40 ? 40 : room;
    std::string line;
    if (size > 3) {
      const auto filled = static_cast<int>(static_cast<double>(size) * static_cast<double>(view.iteration) /
                                           static_cast<double>(most));
      line = fmt::format("[{:#<{}}{:.<{}}]", "", filled, "", size - filled);
    }
    fmt::print(stderr, "\r\033[K{}{}", line, facts);
    drawn_ = true;
  }

  Pace pace_;
  double next_ = 0;
  bool drawn_ = false;
};

}  // namespace

std::unique_ptr<Progress> make_progress(bool quiet) {
  if (quiet) return std::make_unique<Silent>();
  if (terminal::is_terminal(stderr)) return std::make_unique<Bar>();
  return std::make_unique<Lines>();
}

}  // namespace magva::fitting
