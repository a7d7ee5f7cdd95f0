#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "magva/distribute.hpp"
#include "models/row_sample.hpp"
#include "scale/likelihood_model.hpp"
#include "scale/row_sections.hpp"

namespace magva::detail {

/// A rank's rows, section by section.
class OwnRows {
 public:
  /// `own` are the rank's among all `total` rows, and whole ones of `sections`.
  OwnRows(const Regression& regression, Range own, Index total, Index sections, const Communicator& ranks)
      : sections_of_all_(sections) {
    const Range mine = sections_of_rank(sections, ranks.rank(), ranks.size());
    first_section_ = mine.begin;
    for (Index k = mine.begin; k <= mine.end; ++k) starts_.push_back(piece(total, sections, k).begin);
    for (std::size_t k = 0; k + 1 < starts_.size(); ++k)
      sections_.push_back(
          make_likelihood_model(regression.on_rows({starts_[k] - own.begin, starts_[k + 1] - own.begin})));
  }
  /// All of them are one section, and each rank has one.
  OwnRows(std::unique_ptr<const SampledModel> all, Range own, const Communicator& ranks)
      : first_section_(ranks.rank()), sections_of_all_(ranks.size()), starts_{own.begin, own.end} {
    sections_.push_back(std::move(all));
  }

  Index sections_of_all() const { return sections_of_all_; }
  Index dimension() const { return first().dimension(); }
  /// Any of them, for what all have in common.
  const SampledModel& first() const { return *sections_.front(); }

  /// Memory for all sections: they differ by a row at most, and what they need by that alone. It is that of
  /// all their rows, which decides how these are cut, though a sample has fewer.
  struct SectionScratch final : Scratch {
    std::map<Index, std::unique_ptr<Scratch>> of_rows;
    std::vector<Vector> level;  // sums of groups of sections
    std::vector<Index> chosen;
  };
  std::unique_ptr<Scratch> make_scratch(Index draws) const {
    return make_section_scratch([&](const SampledModel& section) { return section.make_scratch(draws); });
  }
  std::unique_ptr<Scratch> make_expectation_scratch(Index factors) const {
    return make_section_scratch(
        [&](const SampledModel& section) { return section.expectations()->make_scratch(factors); });
  }

  /// Log densities of each node, and then gradients, one after another at `nodes`.
  void evaluate(ConstMatrixRef theta, double* nodes, Evaluation& evaluation) const {
    add_nodes(theta.cols() + theta.size(), nodes, evaluation,
              [&](std::size_t k, VectorRef out, Evaluation& inner) {
                sections_[k]->evaluate(theta, out.head(theta.cols()), gradients(out, theta), inner);
              });
  }
  /// On those of `rows`, numbered among the rows of all and in order, that are this rank's.
  void evaluate_sample(const std::vector<Index>& rows, double scale, ConstMatrixRef theta, double* nodes,
                       Evaluation& evaluation) const {
    auto& chosen = static_cast<SectionScratch&>(evaluation.scratch).chosen;
    add_nodes(theta.cols() + theta.size(), nodes, evaluation,
              [&](std::size_t k, VectorRef out, Evaluation& inner) {
                chosen.clear();
                for (auto row = std::lower_bound(rows.begin(), rows.end(), starts_[k]);
                     row != rows.end() && *row < starts_[k + 1]; ++row)
                  chosen.push_back(*row - starts_[k]);
                sections_[k]->evaluate_sample({chosen.data(), static_cast<Index>(chosen.size()), scale},
                                              theta, out.head(theta.cols()), gradients(out, theta), inner);
              });
  }
  /// Sums of `values` that evaluate(expectations, out, evaluation) writes for each section.
  template <class Evaluate>
  void expect(Index values, double* nodes, Evaluation& evaluation, const Evaluate& evaluate) const {
    add_nodes(values, nodes, evaluation, [&](std::size_t k, VectorRef out, Evaluation& inner) {
      evaluate(*sections_[k]->expectations(), out, inner);
    });
  }

 private:
  static Eigen::Map<Matrix> gradients(VectorRef out, ConstMatrixRef theta) {
    return {out.data() + theta.cols(), theta.rows(), theta.cols()};
  }

  template <class Make>
  std::unique_ptr<Scratch> make_section_scratch(const Make& make) const {
    auto scratch = std::make_unique<SectionScratch>();
    for (const auto& section : sections_) {
      auto& own = scratch->of_rows[section->rows()];
      if (!own) own = make(*section);
    }
    return scratch;
  }

  template <class EvaluateSection>
  void add_nodes(Index values, double* nodes, Evaluation& evaluation, const EvaluateSection& evaluate) const {
    const auto count = static_cast<Index>(sections_.size());
    for (const Range node : nodes_of({first_section_, first_section_ + count})) {
      add_group(node, 0, Eigen::Map<Vector>(nodes, values), evaluation, evaluate);
      nodes += values;
    }
  }

  /// The sums of a node: of a section, or of the two halves.
  template <class EvaluateSection>
  void add_group(Range group, std::size_t depth, VectorRef out, Evaluation& evaluation,
                 const EvaluateSection& evaluate) const {
    auto& scratch = static_cast<SectionScratch&>(evaluation.scratch);
    if (group.size() == 1) {
      const auto k = static_cast<std::size_t>(group.begin - first_section_);
      Evaluation inner{*scratch.of_rows.at(sections_[k]->rows()), evaluation.workers, evaluation.iteration};
      return evaluate(k, out, inner);
    }
    const Index middle = group.begin + group.size() / 2;
    add_group({group.begin, middle}, depth + 1, out, evaluation, evaluate);
    if (scratch.level.size() <= depth) scratch.level.resize(depth + 1);
    scratch.level[depth].resize(out.size());
    // Deeper groups may move the levels, not what they hold.
    const Eigen::Map<Vector> half(scratch.level[depth].data(), out.size());
    add_group({middle, group.end}, depth + 1, half, evaluation, evaluate);
    out += half;
  }

  std::vector<std::unique_ptr<const SampledModel>> sections_;
  Index first_section_ = 0;
  Index sections_of_all_;
  std::vector<Index> starts_;  // of sections, among the rows of all
};

}  // namespace magva::detail
