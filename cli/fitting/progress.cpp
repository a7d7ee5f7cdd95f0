#include "fitting/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>

#include "results/text.hpp"
#include "terminal/terminal.hpp"

namespace magva::fitting {

namespace {

constexpr double kBarEvery = .1;  // seconds
constexpr double kLineEvery = 5;  // seconds
constexpr double kMemory = .97;   // of the moving mean of Algorithm 1's ELBO, which single draws make noisy

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(std::ceil(seconds));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

/// What both kinds of display say: the ELBO, and the time left at the pace so far where an end is in sight.
class Pace {
 public:
  void add(const FitView& view, const Stage& stage) {
    if (first_done_ < 0) {
      first_done_ = stage.done;
      first_seconds_ = view.seconds;
    }
    if (!std::isfinite(view.elbo)) return;
    const double memory = view.phase == Phase::kIterations ? kMemory : 0;
    weight_ = memory * weight_ + (1 - memory);
    sum_ = memory * sum_ + (1 - memory) * view.elbo;
  }
  std::string elbo() const { return weight_ > 0 ? results::elbo_text(sum_ / weight_, 2) : "not yet known"; }
  /// Behind `separator`, or nothing.
  std::string left(const FitView& view, const Stage& stage, std::string_view separator) const {
    const auto done = static_cast<double>(stage.done - first_done_);
    if (!stage.most || done <= 0) return {};
    const double pace = (view.seconds - first_seconds_) / done;
    return fmt::format(
        "{}{}{} left", separator, stage.certain ? "" : "at most ",
        duration(pace * static_cast<double>(std::max<std::int64_t>(0, *stage.most - stage.done))));
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

/// Shows the last that was heard of a fit, at regular times, also while it is busy with something long in
/// which nothing can be counted: a decomposition of a large matrix, say.
class Ticking : public Progress {
 public:
  explicit Ticking(double every) : every_(every) {}
  ~Ticking() override { stop(); }

  void show(const FitView& view, const Stage& stage) final {
    const std::lock_guard guard(mutex_);
    pace_.add(view, stage);
    view_ = view;
    stage_ = stage;
    heard_ = Clock::now();
    if (!ticker_.joinable()) ticker_ = std::thread([this] { tick(); });
    if (seconds_since(shown_) >= every_) draw_now();
  }
  void say(const std::string& sentence) final {
    const std::lock_guard guard(mutex_);
    clear();
    terminal::say_line(sentence);
  }
  void finish() final {
    stop();
    clear();
  }

 protected:
  virtual void draw(const FitView& view, const Stage& stage) = 0;
  virtual void clear() = 0;
  const Pace& pace() const { return pace_; }
  /// To the end of a derived object's life, which the thread must not outlast.
  void stop() {
    {
      const std::lock_guard guard(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    if (ticker_.joinable()) ticker_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
  }

  void draw_now() {
    FitView now = view_;
    now.seconds += seconds_since(heard_);
    draw(now, stage_);
    shown_ = Clock::now();
  }
  void tick() noexcept {
    std::unique_lock lock(mutex_);
    while (!stopped_) {
      wake_.wait_for(lock, std::chrono::duration<double>(std::max(every_, kTick)));
      if (stopped_ || seconds_since(shown_) < every_) continue;
      try {
        draw_now();
      } catch (...) {  // nothing is lost but a line on the screen
      }
    }
  }

  static constexpr double kTick = .5;  // seconds
  double every_;
  Pace pace_;
  FitView view_{};
  Stage stage_{};
  Clock::time_point heard_, shown_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread ticker_;
};

class Lines final : public Ticking {
 public:
  Lines() : Ticking(kLineEvery) {}
  ~Lines() override { stop(); }

 private:
  void draw(const FitView& view, const Stage& stage) override {
    const std::string most =
        stage.most ? fmt::format(" of {}{}", stage.certain ? "" : "at most ", *stage.most) : "";
    terminal::say_line(fmt::format("{} {}{}, ELBO {}, {} so far{}", stage.name, stage.done, most,
                                   pace().elbo(), duration(view.seconds), pace().left(view, stage, ", ")));
  }
  void clear() override {}
};

class Bar final : public Ticking {
 public:
  Bar() : Ticking(kBarEvery) {}
  ~Bar() override {
    stop();
    clear();
  }

 private:
  void draw(const FitView& view, const Stage& stage) override {
    const std::string most = stage.most ? fmt::format("/{}", *stage.most) : "";
    const std::string facts =
        fmt::format(" {} {}{}  ELBO {}{}  {}", stage.name, stage.done, most, pace().elbo(),
                    pace().left(view, stage, "  "), duration(view.seconds));
    const int room = terminal::width(stderr) - static_cast<int>(facts.size()) - 3;
    const int size = std::min(room, 40);
    std::string line;
    if (stage.most && size > 3) {
      const double share = std::min(1., static_cast<double>(stage.done) / static_cast<double>(*stage.most));
      const auto filled = static_cast<int>(static_cast<double>(size) * share);
      line = fmt::format("[{:#<{}}{:.<{}}]", "", filled, "", size - filled);
    }
    terminal::say(fmt::format("\r\033[K{}{}", line, facts));
    drawn_ = true;
  }
  void clear() override {
    if (drawn_) terminal::say("\r\033[K");
    drawn_ = false;
  }

  bool drawn_ = false;
};

}  // namespace

std::unique_ptr<Progress> make_progress(bool quiet) {
  if (quiet) return std::make_unique<Silent>();
  if (terminal::is_terminal(stderr)) return std::make_unique<Bar>();
  return std::make_unique<Lines>();
}

}  // namespace magva::fitting
