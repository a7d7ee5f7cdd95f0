#include "mixed/block_system.hpp"

#include <Eigen/LU>
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

using ConstMap = Eigen::Map<const Matrix>;

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

/// What the effects of a term multiply in a row; null: an intercept.
struct TermRows {
  explicit TermRows(const GroupTerm& term)
      : z(term.z.cols() > 0 ? term.z.data() : nullptr),
        count(term.effect_count()),
        group(term.group.data()) {}
  const double* of(Index row) const { return z ? z + row * count : &one; }

  const double* z;
  Index count;
  const std::int32_t* group;
  double one = 1;
};

/// blocks[block_of_row] += w a b', for all rows.
void add_blocks(const TermRows& a, const TermRows& b, const std::int32_t* block_of_row,
                ConstVectorRef weights, Vector& blocks) {
  if (!a.z && !b.z) {
    for (Index i = 0; i < weights.size(); ++i) blocks(block_of_row[i]) += weights(i);
    return;
  }
  for (Index i = 0; i < weights.size(); ++i) {
    double* block = blocks.data() + block_of_row[i] * a.count * b.count;
    const double *left = a.of(i), *right = b.of(i);
    for (Index l = 0; l < b.count; ++l)
      for (Index k = 0; k < a.count; ++k) *block++ += weights(i) * left[k] * right[l];
  }
}

}  // namespace

BlockSystem::Gram BlockSystem::gram(ConstVectorRef weights) const {
  Gram out;
  out.x = Matrix::Zero(coefficients_, coefficients_);
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    out.term.push_back(Vector::Zero(term(k).level_count() * effects.count * effects.count));
    out.with_x.push_back(RowMatrix::Zero(term(k).level_count() * effects.count, coefficients_));
    add_blocks(effects, effects, effects.group, weights, out.term[k]);
  }
  for (const TermPair& pair : pairs_) {
    const TermRows a(term(pair.first)), b(term(pair.second));
    Vector& blocks = out.pair.emplace_back(Vector::Zero(pair.count * a.count * b.count));
    add_blocks(a, b, pair.of_row.data(), weights, blocks);
  }
  if (coefficients_ == 0) return out;
  for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
    const RowMatrix weighted = weights.segment(first, rows.rows()).asDiagonal() * rows;
    out.x.noalias() += rows.transpose() * weighted;
    for (std::size_t k = 0; k < terms(); ++k) {
      const TermRows effects(term(k));
      for (Index i = 0; i < rows.rows(); ++i) {
        const double* from = weighted.data() + i * coefficients_;
        const double* z = effects.of(first + i);
        double* to = out.with_x[k].data() + effects.group[first + i] * effects.count * coefficients_;
        for (Index a = 0; a < effects.count; ++a)
          for (Index j = 0; j < coefficients_; ++j) *to++ += z[a] * from[j];
      }
    }
  });
  return out;
}

Vector BlockSystem::transposed_times(ConstVectorRef t) const {
  Vector out = Vector::Zero(size());
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    for (Index i = 0; i < t.size(); ++i) {
      double* to = out.data() + effect(k, effects.group[i]);
      const double* z = effects.of(i);
      for (Index a = 0; a < effects.count; ++a) to[a] += z[a] * t(i);
    }
  }
  if (coefficients_ > 0)
    for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
      out.segment(coefficient(), coefficients_).noalias() += rows.transpose() * t.segment(first, rows.rows());
    });
  return out;
}

Vector BlockSystem::times(ConstVectorRef b) const {
  Vector out = Vector::Zero(problem_.rows());
  if (coefficients_ > 0)
    for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
      out.segment(first, rows.rows()).noalias() = rows * b.segment(coefficient(), coefficients_);
    });
  for (std::size_t k = 0; k < terms(); ++k) {
    const TermRows effects(term(k));
    for (Index i = 0; i < out.size(); ++i) {
      const double* from = b.data() + effect(k, effects.group[i]);
      const double* z = effects.of(i);
      for (Index a = 0; a < effects.count; ++a) out(i) += z[a] * from[a];
    }
  }
  return out;
}

void BlockSystem::assemble(const Gram& gram, const Scales& scales, AlignedNumbers& values) const {
  std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t k = 0; k < terms(); ++k) {
    const Index q = term(k).effect_count();
    const Matrix& lambda = scales.term[k];
    for (Index g = 0; g < term(k).level_count(); ++g) {
      const BlockPlace& place = cholesky_->diagonal(first_block_[k] + g);
      if (q == 1) {
        values[entry(place, 0, 0)] = lambda(0, 0) * lambda(0, 0) * gram.term[k](g) + 1;
        continue;
      }
      const Matrix block = lambda.transpose() * ConstMap(gram.term[k].data() + g * q * q, q, q) * lambda;
      for (Index b = 0; b < q; ++b)
        for (Index a = b; a < q; ++a) values[entry(place, a, b)] = block(a, b) + (a == b ? 1 : 0);
    }
  }
  for (std::size_t t = 0; t < pairs_.size(); ++t) {
    const TermPair& pair = pairs_[t];
    const Matrix& first = scales.term[pair.first];
    const Matrix& second = scales.term[pair.second];
    const Index qa = first.rows(), qb = second.rows();
    const double both = first(0, 0) * second(0, 0);
    for (Index g = 0; g < pair.count; ++g) {
      const BlockPlace& place = cholesky_->below(pair.below + g);
      if (qa * qb == 1) {
        values[static_cast<std::size_t>(place.offset)] = both * gram.pair[t](g);
        continue;
      }
      const Matrix block = first.transpose() * ConstMap(gram.pair[t].data() + g * qa * qb, qa, qb) * second;
      for (Index b = 0; b < qb; ++b)
        for (Index a = 0; a < qa; ++a) values[entry(place, b, a)] = block(a, b);
    }
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

Vector BlockSystem::row_forms(const Scales& scales, const AlignedNumbers& inverse) const {
  Vector out(problem_.rows());
  const Matrix corner =
      coefficients_ > 0 ? Matrix(Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(
                              inverse.data() + cholesky_->diagonal(blocks_ - 1).offset, coefficients_,
                              coefficients_, Eigen::OuterStride<>(cholesky_->diagonal(blocks_ - 1).stride)))
                        : Matrix(0, 0);
  std::vector<Vector> f(terms());
  const auto dot = [&](const double* a, const double* b) {
    double sum = 0;
    for (Index j = 0; j < coefficients_; ++j) sum += a[j] * b[j];
    return sum;
  };
  for_each_chunk(problem_.data.design, [&](Index first, const RowMatrix& rows) {
    const RowMatrix x = rows * scales.coefficient.asDiagonal();
    const RowMatrix xc = x * corner;
    for (Index i = 0; i < rows.rows(); ++i) {
      const Index row = first + i;
      double sum = dot(x.data() + i * coefficients_, xc.data() + i * coefficients_);
      for (std::size_t k = 0; k < terms(); ++k) {
        const Index q = term(k).effect_count(), g = term(k).group[static_cast<std::size_t>(row)];
        f[k].setZero(q);
        for (Index a = 0; a < q; ++a)
          for (Index b = a; b < q; ++b) f[k](a) += scales.term[k](b, a) * z(k, row, b);
        const BlockPlace& own = cholesky_->diagonal(first_block_[k] + g);
        for (Index b = 0; b < q; ++b)
          for (Index a = 0; a < q; ++a) sum += f[k](a) * f[k](b) * inverse[entry(own, a, b)];
        if (coefficients_ == 0) continue;
        const BlockPlace& with_x = cholesky_->below(below_x_ + first_block_[k] + g);
        for (Index a = 0; a < q; ++a)
          sum += 2 * f[k](a) * dot(x.data() + i * coefficients_, inverse.data() + entry(with_x, 0, a));
      }
      for (const TermPair& pair : pairs_) {
        const BlockPlace& place = cholesky_->below(pair.below + pair.of_row[static_cast<std::size_t>(row)]);
        for (Index a = 0; a < f[pair.first].size(); ++a)
          for (Index b = 0; b < f[pair.second].size(); ++b)
            sum += 2 * f[pair.first](a) * f[pair.second](b) * inverse[entry(place, b, a)];
      }
      out(row) = sum;
    }
  });
  return out;
}

namespace {

/// Pairs within larger groups are many, and what they add is of the order of one over their number.
constexpr std::size_t kMostRowsOfPairs = 256;

std::vector<std::vector<Index>> rows_by_group(const GroupTerm& term) {
  std::vector<std::vector<Index>> rows(static_cast<std::size_t>(term.level_count()));
  for (std::size_t i = 0; i < term.group.size(); ++i)
    rows[static_cast<std::size_t>(term.group[i])].push_back(static_cast<Index>(i));
  return rows;
}

/// Sum over the pairs of columns f_i, f_j, i != j, of t_i t_j (f_i' C f_j)^3 with C = (I + sum w_i f_i
/// f_i')^-1.
double cubes_of_group(const Matrix& f, const Vector& weights, const Vector& t) {
  const Index q = f.rows();
  const Matrix c = (Matrix::Identity(q, q) + f * weights.asDiagonal() * f.transpose()).inverse();
  const Matrix cubes = (f.transpose() * c * f).array().cube();
  return t.dot(cubes * t) - t.cwiseAbs2().dot(cubes.diagonal());
}

}  // namespace

double BlockSystem::shared_cubes(const Scales& scales, ConstVectorRef weights, ConstVectorRef t) const {
  double sum = 0;
  for (std::size_t k = 0; k < terms(); ++k)
    for (const std::vector<Index>& rows : rows_by_group(term(k))) {
      if (rows.empty() || rows.size() > kMostRowsOfPairs) continue;
      Matrix f = Matrix::Ones(term(k).effect_count(), static_cast<Index>(rows.size()));
      if (term(k).z.cols() > 0) f = term(k).z(rows, Eigen::all).transpose();
      sum += cubes_of_group(scales.term[k].transpose() * f, weights(rows), t(rows));
    }
  return sum;
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
