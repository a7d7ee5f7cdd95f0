#include "fitting/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "results/text.hpp"
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
  void add(const FitView& view, const Stage& stage) {
    if (first_done_ < 0) {
      first_done_ = stage.done;
      first_seconds_ = view.seconds;
    }
    if (!std::isfinite(view.elbo)) return;
    weight_ = kMemory * weight_ + (1 - kMemory);
    sum_ = kMemory * sum_ + (1 - kMemory) * view.elbo;
  }
  std::string elbo() const { return weight_ > 0 ? results::elbo_text(sum_ / weight_, 2) : "not yet known"; }
  std::string left(const FitView& view, const Stage& stage) const {
    const auto done = static_cast<double>(stage.done - first_done_);
    if (done <= 0) return "? left";
    const double pace = (view.seconds - first_seconds_) / done;
    return fmt::format(
        "{}{} left", stage.certain ? "" : "at most ",
        duration(pace * static_cast<double>(std::max<std::int64_t>(0, stage.most - stage.done))));
  }

 private:
  std::int64_t first_done_ = -1;
  double first_seconds_ = 0;
  double weight_ = 0;
  double sum_ = 0;
};

class Silent final : public Progress {
 public:
  void show(const FitView&, const Stage&) override {}
  void say(const std::string&) override {}
  void finish() override {}
};

class Lines final : public Progress {
 public:
  void show(const FitView& view, const Stage& stage) override {
    pace_.add(view, stage);
    if (view.seconds < next_) return;
    next_ = view.seconds + kLineEvery;
    say(fmt::format("{} {} of {}{}, ELBO {}, {}", stage.name, stage.done, stage.certain ? "" : "at most ",
                    stage.most, pace_.elbo(), pace_.left(view, stage)));
  }
  void say(const std::string& sentence) override { fmt::print(stderr, "{}\n", sentence); }
  void finish() override {}

 private:
  Pace pace_;
  double next_ = 0;
};

class Bar final : public Progress {
 public:
  void show(const FitView& view, const Stage& stage) override {
    pace_.add(view, stage);
    if (view.seconds < next_) return;
    next_ = view.seconds + kBarEvery;
    draw(view, stage);
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
  void draw(const FitView& view, const Stage& stage) {
    const std::string facts = fmt::format(" {} {}/{}  ELBO {}  {}", stage.name, stage.done, stage.most,
                                          pace_.elbo(), pace_.left(view, stage));
    const int room = terminal::width(stderr) - static_cast<int>(facts.size()) - 3;
    const int size = room > 40 ? 40 : room;
    std::string line;
    if (size > 3) {
      const auto filled =
          static_cast<int>(static_cast<double>(size) *
                           std::min(1., static_cast<double>(stage.done) / static_cast<double>(stage.most)));
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
