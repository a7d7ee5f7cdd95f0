#include "mixed/block_system.hpp"

#include <Eigen/Cholesky>
#include <algorithm>

namespace magva::mixed {

namespace {

constexpr Index kRowsAtATime = 256;

// Calls visit(first, rows of the design) for some rows at a time.
template <class Visit>
void for_each_chunk(const Design& design, Visit visit) {
  RowMatrix rows;
  for (Index first = 0; first < design.rows(); first += kRowsAtATime) {
    rows.resize(std::min(kRowsAtATime, design.rows() - first), design.cols());
    if (design.cols() > 0) read_rows(design, first, rows);
    visit(first, rows);
  }
}

// Entry (i, j) of a block at its place.
std::size_t entry(const BlockPlace& place, Index i, Index j) {
  return static_cast<std::size_t>(place.offset +
                                  (place.transposed ? i * place.stride + j : j * place.stride + i));
}

}  // namespace

BlockSystem::BlockSystem(const Problem& problem) : problem_(problem), coefficients_(problem.coefficients()) {
  BlockPattern pattern;
  for (const GroupTerm& term : problem.data.terms) {
    first_block_.push_back(static_cast<Index>(pattern.sizes.size()));
    pattern.sizes.insert(pattern.sizes.end(), static_cast<std::size_t>(term.level_count()),
                         term.effect_count());
  }
  find_pairs(pattern);
  below_x_ = static_cast<Index>(pattern.below.size());
  if (coefficients_ > 0) {
    const auto last = static_cast<std::int32_t>(pattern.sizes.size());
    for (std::int32_t b = 0; b < last; ++b) pattern.below.emplace_back(last, b);
    pattern.sizes.push_back(coefficients_);
    pattern.pinned = 1;
  }
  blocks_ = static_cast<Index>(pattern.sizes.size());
  cholesky_ = std::make_unique<const SparseCholesky>(pattern);
}

// Which groups of two terms have a row in common, and for each row which of these pairs it belongs to.
void BlockSystem::find_pairs(BlockPattern& pattern) {
  for (std::size_t second = 1; second < terms(); ++second)
    for (std::size_t first = 0; first < second; ++first) {
      const std::vector<std::int32_t>& a = term(first).group;
      const std::vector<std::int32_t>& b = term(second).group;
      const auto key = [&](std::size_t i) {
        return static_cast<std::uint64_t>(a[i]) << 32U | static_cast<std::uint32_t>(b[i]);
      };
      std::vector<std::uint64_t> keys(a.size());
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key(i);
      std::sort(keys.begin(), keys.end());
      keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
      TermPair pair{first, second, std::vector<std::int32_t>(a.size()),
                    static_cast<std::int64_t>(keys.size()), static_cast<Index>(pattern.below.size())};
      for (std::size_t i = 0; i < a.size(); ++i)
        pair.of_row[i] =
            static_cast<std::int32_t>(std::lower_bound(keys.begin(), keys.end(), key(i)) - keys.begin());
      for (const std::uint64_t k : keys)
        pattern.below.emplace_back(
            static_cast<std::int32_t>(first_block_[second] + static_cast<std::int64_t>(k & 0xffffffffU)),
            static_cast<std::int32_t>(first_block_[first] + static_cast<std::int64_t>(k >> 32U)));
      pairs_.push_back(std::move(pair));
    }
}

namespace {

template <int kRows, int kColumns>
void add_small_blocks(const TermRows& a, const TermRows& b, const std::int32_t* block_of_row,
                      ConstVectorRef weights, Vector& blocks) {
  for (Index i = 0; i < weights.size(); ++i) {
    double* block = blocks.data() + block_of_row[i] * kRows * kColumns;
    const double *left = a.of(i), *right = b.of(i);
    for (int l = 0; l < kColumns; ++l)
      for (int k = 0; k < kRows; ++k) block[l * kRows + k] += weights(i) * left[k] * right[l];
  }
}

/// blocks[block_of_row] += w a b', for all rows.
void add_blocks(const TermRows& a, const TermRows& b, const std::int32_t* block_of_row,
                ConstVectorRef weights, Vector& blocks) {
  if (!a.z && !b.z) {
    for (Index i = 0; i < weights.size(); ++i) blocks(block_of_row[i]) += weights(i);
    return;
  }
  if (a.count == 2 && b.count == 2) return add_small_blocks<2, 2>(a, b, block_of_row, weights, blocks);
  if (a.count == 2 && b.count == 1) return add_small_blocks<2, 1>(a, b, block_of_row, weights, blocks);
  if (a.count == 1 && b.count == 2) return add_small_blocks<1, 2>(a, b, block_of_row, weights, blocks);
  for (Index i = 0; i < weights.size(); ++i) {
    double* block = blocks.data() + block_of_row[i] * a.count * b.count;
    const double *left = a.of(i), *right = b.of(i);
    for (Index l = 0; l < b.count; ++l)
      for (Index k = 0; k < a.count; ++k) *block++ += weights(i) * left[k] * right[l];
  }
}

}  // namespace

BlockSystem::Gram BlockSystem::gram(ConstMatrixRef weights) const {
  const Index p = problem_.columns(), predictors = problem_.predictors;
  Gram out;
  out.x = Matrix::Zero(coefficients_, coefficients_);
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    out.term.push_back(Vector::Zero(term(k).level_count() * effects.count * effects.count));
    out.with_x.push_back(RowMatrix::Zero(term(k).level_count() * effects.count, coefficients_));
    add_blocks(effects, effects, effects.group, weights.col(place(k, k)), out.term[k]);
  }
  for (const TermPair& pair : pairs_) {
    const TermRows a(term(pair.first)), b(term(pair.second));
    Vector& blocks = out.pair.emplace_back(Vector::Zero(pair.count * a.count * b.count));
    add_blocks(a, b, pair.of_row.data(), weights.col(place(pair.first, pair.second)), blocks);
  }
  if (coefficients_ == 0) return out;
  std::vector<RowMatrix> weighted(static_cast<std::size_t>(pair_count(predictors)));
  for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
    for (Index c = 0; c < predictors; ++c)
      for (Index d = 0; d <= c; ++d) {
        RowMatrix& own = weighted[static_cast<std::size_t>(pair_place(c, d))];
        own = weights.col(pair_place(c, d)).segment(first, rows.rows()).asDiagonal() * rows;
        out.x.block(c * p, d * p, p, p).noalias() += rows.transpose() * own;
      }
    for (std::size_t k = 0; k < terms(); ++k) {
      const TermRows effects(term(k));
      for (Index d = 0; d < predictors; ++d) {
        const double* from = weighted[static_cast<std::size_t>(pair_place(predictor(k), d))].data();
        for (Index i = 0; i < rows.rows(); ++i, from += p) {
          const double* z = effects.of(first + i);
          double* to =
              out.with_x[k].data() + effects.group[first + i] * effects.count * coefficients_ + d * p;
          for (Index a = 0; a < effects.count; ++a, to += coefficients_)
            for (Index j = 0; j < p; ++j) to[j] += z[a] * from[j];
        }
      }
    }
  });
  for (Index c = 0; c < predictors; ++c)
    for (Index d = 0; d < c; ++d)
      out.x.block(d * p, c * p, p, p) = out.x.block(c * p, d * p, p, p).transpose();
  return out;
}

Vector BlockSystem::transposed_times(ConstMatrixRef t) const {
  const Index p = problem_.columns();
  Vector out = Vector::Zero(size());
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    const auto own = t.col(predictor(k));
    for (Index i = 0; i < own.size(); ++i) {
      double* to = out.data() + effect(k, effects.group[i]);
      const double* z = effects.of(i);
      for (Index a = 0; a < effects.count; ++a) to[a] += z[a] * own(i);
    }
  }
  if (coefficients_ > 0)
    for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
      for (Index c = 0; c < problem_.predictors; ++c)
        out.segment(coefficient() + c * p, p).noalias() +=
            rows.transpose() * t.col(c).segment(first, rows.rows());
    });
  return out;
}

Matrix BlockSystem::times(ConstVectorRef b) const {
  const Index p = problem_.columns();
  Matrix out = Matrix::Zero(problem_.rows(), problem_.predictors);
  if (coefficients_ > 0)
    for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
      for (Index c = 0; c < problem_.predictors; ++c)
        out.col(c).segment(first, rows.rows()).noalias() = rows * b.segment(coefficient() + c * p, p);
    });
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    double* to = out.col(predictor(k)).data();
    for (Index i = 0; i < out.rows(); ++i) {
      const double* from = b.data() + effect(k, effects.group[i]);
      const double* z = effects.of(i);
      for (Index a = 0; a < effects.count; ++a) to[i] += z[a] * from[a];
    }
  }
  return out;
}

template <int kSize>
void BlockSystem::assemble_term(std::size_t k, const Gram& gram, const Scales& scales,
                                AlignedNumbers& values) const {
  using Block = Eigen::Matrix<double, kSize, kSize>;
  const Block lambda = scales.term[k];
  const Index q = lambda.rows();
  for (Index g = 0; g < term(k).level_count(); ++g) {
    const BlockPlace& place = cholesky_->diagonal(first_block_[k] + g);
    const Eigen::Map<const Block> own(gram.term[k].data() + g * q * q, q, q);
    const Block block = lambda.transpose() * own * lambda;
    for (Index b = 0; b < q; ++b)
      for (Index a = b; a < q; ++a) values[entry(place, a, b)] = block(a, b) + (a == b ? 1 : 0);
  }
}

template <int kSize>
void BlockSystem::assemble_pair(std::size_t t, const Gram& gram, const Scales& scales,
                                AlignedNumbers& values) const {
  using Block = Eigen::Matrix<double, kSize, kSize>;
  const TermPair& pair = pairs_[t];
  const Block first = scales.term[pair.first], second = scales.term[pair.second];
  const Index qa = first.rows(), qb = second.rows();
  for (Index g = 0; g < pair.count; ++g) {
    const BlockPlace& place = cholesky_->below(pair.below + g);
    const Eigen::Map<const Block> own(gram.pair[t].data() + g * qa * qb, qa, qb);
    const Block block = first.transpose() * own * second;
    for (Index b = 0; b < qb; ++b)
      for (Index a = 0; a < qa; ++a) values[entry(place, b, a)] = block(a, b);
  }
}

void BlockSystem::assemble(const Gram& gram, const Scales& scales, AlignedNumbers& values) const {
  std::fill(values.begin(), values.end(), 0.0);
  // Sizes that are known to the compiler are worth a copy of the code.
  for (std::size_t k = 0; k < terms(); ++k) {
    const Index q = term(k).effect_count();
    if (q == 1)
      assemble_term<1>(k, gram, scales, values);
    else if (q == 2)
      assemble_term<2>(k, gram, scales, values);
    else
      assemble_term<Eigen::Dynamic>(k, gram, scales, values);
  }
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    const Index qa = term(pairs_[t].first).effect_count(), qb = term(pairs_[t].second).effect_count();
    if (qa == 1 && qb == 1)
      assemble_pair<1>(t, gram, scales, values);
    else if (qa == 2 && qb == 2)
      assemble_pair<2>(t, gram, scales, values);
    else
      assemble_pair<Eigen::Dynamic>(t, gram, scales, values);
  }
  if (coefficients_ == 0) return;
  Vector row(coefficients_);
  for (std::size_t k = 0; k < terms(); ++k) {
    const Index q = term(k).effect_count();
    for (Index g = 0; g < term(k).level_count(); ++g) {
      const BlockPlace& place = cholesky_->below(below_x_ + first_block_[k] + g);
      for (Index a = 0; a < q; ++a) {
        row.setZero();
        for (Index b = a; b < q; ++b) row += scales.term[k](b, a) * gram.with_x[k].row(g * q + b).transpose();
        Eigen::Map<Vector>(values.data() + entry(place, 0, a), coefficients_) =
            row.cwiseProduct(scales.coefficient);
      }
    }
  }
  const BlockPlace& place = cholesky_->diagonal(blocks_ - 1);
  for (Index b = 0; b < coefficients_; ++b)
    for (Index a = b; a < coefficients_; ++a)
      values[entry(place, a, b)] =
          gram.x(a, b) * scales.coefficient(a) * scales.coefficient(b) + (a == b ? 1 : 0);
}

void BlockSystem::scale(const Scales& scales, VectorRef b) const {
  for (std::size_t k = 0; k < terms(); ++k)
    for (Index g = 0; g < term(k).level_count(); ++g) {
      if (scales.term[k].rows() == 1) {
        b(effect(k, g)) *= scales.term[k](0, 0);
        continue;
      }
      auto part = b.segment(effect(k, g), scales.term[k].rows());
      part = (scales.term[k].triangularView<Eigen::Lower>() * part).eval();
    }
  if (coefficients_ > 0) b.segment(coefficient(), coefficients_).array() *= scales.coefficient.array();
}

void BlockSystem::scale_transposed(const Scales& scales, VectorRef b) const {
  for (std::size_t k = 0; k < terms(); ++k)
    for (Index g = 0; g < term(k).level_count(); ++g) {
      if (scales.term[k].rows() == 1) {
        b(effect(k, g)) *= scales.term[k](0, 0);
        continue;
      }
      auto part = b.segment(effect(k, g), scales.term[k].rows());
      part = (scales.term[k].triangularView<Eigen::Lower>().transpose() * part).eval();
    }
  if (coefficients_ > 0) b.segment(coefficient(), coefficients_).array() *= scales.coefficient.array();
}

Matrix BlockSystem::row_forms(const Scales& scales, const AlignedNumbers& inverse) const {
  const Index p = problem_.columns(), predictors = problem_.predictors;
  Matrix out = Matrix::Zero(problem_.rows(), pair_count(predictors));
  const Matrix corner =
      coefficients_ > 0 ? Matrix(Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(
                              inverse.data() + cholesky_->diagonal(blocks_ - 1).offset, coefficients_,
                              coefficients_, Eigen::OuterStride<>(cholesky_->diagonal(blocks_ - 1).stride)))
                        : Matrix(0, 0);
  // What lies on one side of the diagonal of blocks counts on both.
  const auto times = [&](Index c, Index d) { return c == d ? 2.0 : 1.0; };
  std::vector<Vector> f(terms());
  for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
    const Index count = rows.rows();
    std::vector<RowMatrix> x;
    for (Index c = 0; c < predictors; ++c)
      x.emplace_back(rows * scales.coefficient.segment(c * p, p).asDiagonal());
    for (Index c = 0; c < predictors; ++c)
      for (Index d = 0; d <= c; ++d)
        out.col(pair_place(c, d)).segment(first, count) =
            (x[static_cast<std::size_t>(c)] * corner.block(c * p, d * p, p, p))
                .cwiseProduct(x[static_cast<std::size_t>(d)])
                .rowwise()
                .sum();
    for (Index i = 0; i < count; ++i) {
      const Index row = first + i;
      for (std::size_t k = 0; k < terms(); ++k) {
        const Index q = term(k).effect_count(), g = term(k).group[static_cast<std::size_t>(row)];
        f[k].setZero(q);
        for (Index a = 0; a < q; ++a)
          for (Index b = a; b < q; ++b) f[k](a) += scales.term[k](b, a) * z(k, row, b);
        const BlockPlace& own = cholesky_->diagonal(first_block_[k] + g);
        double& to = out(row, place(k, k));
        for (Index b = 0; b < q; ++b)
          for (Index a = 0; a < q; ++a) to += f[k](a) * f[k](b) * inverse[entry(own, a, b)];
        if (coefficients_ == 0) continue;
        const BlockPlace& with_x = cholesky_->below(below_x_ + first_block_[k] + g);
        for (Index d = 0; d < predictors; ++d) {
          const double* right = x[static_cast<std::size_t>(d)].data() + i * p;
          double sum = 0;
          for (Index a = 0; a < q; ++a) {
            const double* left = inverse.data() + entry(with_x, d * p, a);
            for (Index j = 0; j < p; ++j) sum += f[k](a) * left[j] * right[j];
          }
          out(row, pair_place(predictor(k), d)) += times(predictor(k), d) * sum;
        }
      }
      for (const TermPair& pair : pairs_) {
        const BlockPlace& at = cholesky_->below(pair.below + pair.of_row[static_cast<std::size_t>(row)]);
        double sum = 0;
        for (Index a = 0; a < f[pair.first].size(); ++a)
          for (Index b = 0; b < f[pair.second].size(); ++b)
            sum += f[pair.first](a) * f[pair.second](b) * inverse[entry(at, b, a)];
        out(row, place(pair.first, pair.second)) +=
            times(predictor(pair.first), predictor(pair.second)) * sum;
      }
    }
  });
  return out;
}

Matrix BlockSystem::second_moments(std::size_t k, ConstVectorRef v, const AlignedNumbers& inverse) const {
  const Index q = term(k).effect_count(), levels = term(k).level_count();
  Matrix sum = -static_cast<double>(levels) * Matrix::Identity(q, q);
  for (Index g = 0; g < levels; ++g) {
    const BlockPlace& place = cholesky_->diagonal(first_block_[k] + g);
    const Index at = effect(k, g);
    for (Index b = 0; b < q; ++b)
      for (Index a = 0; a < q; ++a) sum(a, b) += v(at + a) * v(at + b) + inverse[entry(place, a, b)];
  }
  return sum;
}

Vector BlockSystem::coefficient_variances(const AlignedNumbers& inverse) const {
  Vector out(coefficients_);
  for (Index j = 0; j < coefficients_; ++j) out(j) = inverse[entry(cholesky_->diagonal(blocks_ - 1), j, j)];
  return out;
}

double BlockSystem::trace(const AlignedNumbers& inverse) const {
  double sum = coefficient_variances(inverse).sum();
  for (std::size_t k = 0; k < terms(); ++k)
    for (Index g = 0; g < term(k).level_count(); ++g)
      for (Index a = 0; a < term(k).effect_count(); ++a)
        sum += inverse[entry(cholesky_->diagonal(first_block_[k] + g), a, a)];
  return sum;
}

std::unique_ptr<SystemMemory> MemoryPool::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return std::make_unique<SystemMemory>(cholesky_);
  std::unique_ptr<SystemMemory> memory = std::move(free_.back());
  free_.pop_back();
  return memory;
}

void MemoryPool::give_back(std::unique_ptr<SystemMemory> memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(memory));
}

}  // namespace magva::mixed
