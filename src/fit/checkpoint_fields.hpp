#pragma once
// The fields of what several ways of fitting keep in their checkpoints.
#include "core/archive.hpp"
#include "core/evaluator.hpp"
#include "fit/full_pass.hpp"
#include "magva/fit.hpp"

namespace magva {

template <class Visit, io::ConstOrNot<StartReport> T>
void visit_fields(Visit& visit, T& report) {
  visit(report.log_density);
  visit(report.converged);
  visit(report.elbo);
}

template <class Visit, io::ConstOrNot<RankStep> T>
void visit_fields(Visit& visit, T& step) {
  visit(step.rank);
  visit(step.gain);
}

template <class Visit, io::ConstOrNot<Evaluator::Counters> T>
void visit_fields(Visit& visit, T& counters) {
  visit(counters.evaluations);
  visit(counters.rejected);
  visit(counters.calls);
}

template <class Visit, io::ConstOrNot<Control::Position> T>
void visit_fields(Visit& visit, T& position) {
  visit(position.view.phase);
  visit(position.view.iteration);
  visit(position.view.gradient_evaluations);
  visit(position.view.seconds);
  visit(position.view.elbo);
  visit(position.spent);
}

template <class Visit, io::ConstOrNot<Warning> T>
void visit_fields(Visit& visit, T& warning) {
  visit(warning.kind);
  visit(warning.message);
}

template <class Visit, io::ConstOrNot<FullPass> T>
void visit_fields(Visit& visit, T& pass) {
  visit(pass.anchor.theta);
  visit(pass.anchor.log_density);
  visit(pass.anchor.gradient);
  visit(pass.log_density);
  visit(pass.step);
  visit(pass.gain);
}

}  // namespace magva
