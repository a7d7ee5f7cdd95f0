#include "magva/fit_folder.hpp"

#include <fmt/format.h>

#include <cmath>

#include "magva/version.hpp"
#include "results/parameter_summary.hpp"

namespace magva::results {

namespace {

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json batch_details(const Minibatch& minibatch, std::int64_t iterations, Index diagnostic_draws) {
  const auto batches = minibatch.batches();
  return {{"rows", minibatch.options().rows},
          {"run", minibatch.options().run},
          {"batches_per_epoch", batches},
          {"epochs", static_cast<double>(iterations) / static_cast<double>(batches)},
          {"elbo_rows", minibatch.rows()},
          {"elbo_draws", diagnostic_draws}};
}

/// The way to the result: ranks, starts, minibatches.
Json details_of(const FitResult& result, const source::ModelSource& source) {
  Json out = Json::object();
  if (!result.manifold) {
    out = {{"expectations", result.expectations == Expectations::kExact ? "exact" : "draws"},
           {"rank_path", Json::array()},
           {"starts", Json::array()}};
    for (const auto& step : result.rank_path)
      out["rank_path"].push_back({{"rank", step.rank}, {"gain", or_null(step.gain)}});
    for (const auto& start : result.starts)
      out["starts"].push_back({{"log_density", or_null(start.log_density)},
                               {"converged", start.converged},
                               {"elbo", or_null(start.elbo)}});
  }
  if (!result.manifold) out["shape"] = result.posterior.best().shape();
  for (const auto& tried : result.shapes)
    out["shapes"].push_back({{"shape", tried.shape},
                             {"elbo", or_null(tried.elbo)},
                             {"elbo_se", or_null(tried.elbo_se)},
                             {"trusted", tried.trusted},
                             {"doubts", tried.doubts},
                             {"kept", tried.kept}});
  const auto& minibatch = source.minibatch;
  if (minibatch && (result.manifold || minibatch->batches() > 1))
    out["batch"] = batch_details(*minibatch, result.iterations, source.diagnostic_draws);
  for (const source::PriorRecord& prior : source.priors)
    out["priors"].push_back({{"parameter", prior.parameter},
                             {"prior", prior.text},
                             {"location", prior.location},
                             {"scale", prior.scale ? Json(*prior.scale) : Json(nullptr)}});
  return out;
}

/// By the best posterior, beside the sds of the fitted Gaussian.
PosteriorSummary summarise_both(const source::Reporter& reporter, const FitResult& result,
                                std::uint64_t seed) {
  // Of a large Stan program 20,000 draws take seconds, which a time limit has not left.
  const bool hurry = result.stopped == StopReason::kTimeLimit || result.stopped == StopReason::kInterrupted;
  const Gaussian& posterior = result.posterior;
  PosteriorSummary out =
      summarise(reporter, posterior.best(), seed, .9, hurry ? kHurriedSummaryDraws : kSummaryDraws);
  if (&posterior.best() == &posterior) {
    for (ParameterSummary& parameter : out.parameters) parameter.sd_gaussian = parameter.sd;
    return out;
  }
  const Vector sd =
      summarise_sds(reporter, posterior, seed, hurry ? kHurriedSummaryDraws : kGaussianSummaryDraws);
  for (std::size_t i = 0; i < out.parameters.size(); ++i)
    out.parameters[i].sd_gaussian = sd(static_cast<Index>(i));
  return out;
}

/// Which sds the record has, and how sure they are.
void record_sds(const source::ModelSource& source, const FitResult& result, FitRecord& record) {
  const bool corrected = !result.posterior.has_shape() && result.posterior.has_correction();
  record.details["sd"] = result.chain_draws > 0 ? "short chains"
                         : corrected            ? "linear response"
                         : source.mixed         ? "importance draws"
                                                : result.posterior.best().shape();
  if (result.chain_draws > 0) record.details["chain_draws"] = result.chain_draws;
  if (corrected && result.sd_se > 0) record.details["sd_se"] = result.sd_se;
}

}  // namespace

FitRecord begin_record(const source::ModelSource& source) {
  FitRecord record;
  record.version = magva::version();
  record.model = source.description;
  record.stopped = FitRecord::kRunning;
  record.notes = source.notes;
  record.data = source.data;
  return record;
}

void complete_record(FitRecord& record, const source::ModelSource& source, const FitResult& result,
                     std::uint64_t seed) {
  const PosteriorSummary summary = summarise_both(*source.reporter, result, seed);
  record.stopped = to_string(result.stopped);
  record.stop_detail = result.stop_detail;
  record.trusted = result.trusted;
  for (const auto& warning : result.warnings) record.warnings.push_back(warning.message);
  record.doubts = result.doubts;
  record.elbo = result.elbo;
  record.elbo_se = result.elbo_se;
  record.khat = result.khat;
  record.iterations = result.iterations;
  record.gradient_evaluations = result.gradient_evaluations;
  record.rejected_draws = result.rejected_draws;
  record.seconds = result.seconds;
  record.family = result.manifold ? name(*result.manifold) : to_string(result.posterior.kind());
  record.rank = result.posterior.rank();
  if (!result.posterior.is_full_rank()) {
    const Vector shares = result.posterior.factor_shares();
    record.factor_shares.assign(shares.begin(), shares.end());
  }
  record.details = details_of(result, source);
  record.details["summary_draws"] = summary.draws;
  record.parameters = summary.parameters;
  record_sds(source, result, record);
  if (summary.failed > 0)
    record.warnings.push_back(
        fmt::format("the model could not report {} of {} draws", summary.failed, summary.draws));
  for (auto& warning : source.reporter->warnings()) record.warnings.push_back(std::move(warning));
  for (auto& remark : source::remarks(source, result.posterior)) record.notes.push_back(std::move(remark));
}

}  // namespace magva::results
