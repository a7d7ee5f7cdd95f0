#include "sparse/factored_precision.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

/// Entries of the lower triangle, as a share of m^2, and columns from which on a product with a dense matrix
/// is faster: it takes twice the multiplications, and a tenth of the time of each.
constexpr double kDenseShare = .1;
constexpr Index kDenseColumns = 32;

/// Columns that go through a matrix together.
constexpr Index kLanes = 8;
using Lane = Eigen::Array<double, kLanes, 1>;
using Lanes = Eigen::Array<double, kLanes, Eigen::Dynamic>;

std::size_t slot(Index i) { return static_cast<std::size_t>(i); }

BlockPattern scalar_pattern(Index m, const std::vector<Index>& rows, const std::vector<Index>& columns) {
  BlockPattern out;
  out.sizes.assign(slot(m), 1);
  for (std::size_t k = 0; k < rows.size(); ++k)
    if (rows[k] != columns[k])
      out.below.emplace_back(static_cast<std::int32_t>(std::max(rows[k], columns[k])),
                             static_cast<std::int32_t>(std::min(rows[k], columns[k])));
  return out;
}

Matrix as_matrix(const PrecisionStructure& structure) {
  Matrix out(structure.entries(), 2);
  for (Index k = 0; k < structure.entries(); ++k)
    out.row(k) << static_cast<double>(structure.rows()[slot(k)]),
        static_cast<double>(structure.columns()[slot(k)]);
  return out;
}

std::vector<Index> as_indices(ConstVectorRef stored) {
  std::vector<Index> out;
  for (const double value : stored) out.push_back(static_cast<Index>(value));
  return out;
}

/// Each once, whichever of the two comes first, and the whole diagonal.
bool are_places(Index m, const Matrix& stored) {
  if (stored.cols() != 2 || stored.rows() < m || !stored.allFinite() || !(stored.minCoeff() >= 0) ||
      !(stored.maxCoeff() < static_cast<double>(m)))
    return false;
  std::vector<std::pair<Index, Index>> places;
  Index diagonal = 0;
  for (Index k = 0; k < stored.rows(); ++k) {
    const auto i = static_cast<Index>(stored(k, 0));
    const auto j = static_cast<Index>(stored(k, 1));
    places.emplace_back(std::max(i, j), std::min(i, j));
    if (i == j) ++diagonal;
  }
  std::sort(places.begin(), places.end());
  return diagonal == m && std::adjacent_find(places.begin(), places.end()) == places.end();
}

}  // namespace

PrecisionStructure::PrecisionStructure(Index m, std::vector<Index> rows, std::vector<Index> columns)
    : m_(m),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      cholesky_(scalar_pattern(m, rows_, columns_)) {
  Index below = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k)
    places_.push_back(rows_[k] == columns_[k] ? diagonal_place(rows_[k])
                                              : static_cast<std::size_t>(cholesky_.below(below++).offset));
}

std::size_t PrecisionStructure::diagonal_place(Index row) const {
  return static_cast<std::size_t>(cholesky_.diagonal(row).offset);
}

Vector PrecisionStructure::entries_of_rows() const {
  Vector out = Vector::Zero(m_);
  for (std::size_t k = 0; k < rows_.size(); ++k)
    if (rows_[k] != columns_[k]) {
      out(rows_[k]) += 1;
      out(columns_[k]) += 1;
    }
  return out;
}

Matrix PrecisionStructure::times(ConstVectorRef values, ConstMatrixRef x) const {
  return is_better_dense(x.cols()) ? dense(values) * x : times_by_entries(values, x);
}

Vector PrecisionStructure::squared_lengths(ConstVectorRef values, ConstMatrixRef x) const {
  if (!is_better_dense(x.cols())) return squared_lengths_by_entries(values, x);
  return x.cwiseProduct(dense(values) * x).colwise().sum().transpose();
}

bool PrecisionStructure::is_better_dense(Index columns) const {
  return columns >= kDenseColumns &&
         kDenseShare * static_cast<double>(m_ * m_) < static_cast<double>(entries());
}

Matrix PrecisionStructure::dense(ConstVectorRef values) const {
  Matrix out = Matrix::Zero(m_, m_);
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    out(rows_[k], columns_[k]) = values(static_cast<Index>(k));
    out(columns_[k], rows_[k]) = values(static_cast<Index>(k));
  }
  return out;
}

// Some columns at once, side by side: an entry is then read once for all of them. No column depends on the
// others. Entries of one column of the matrix mostly follow each other: their sum stays in registers.
Matrix PrecisionStructure::times_by_entries(ConstVectorRef values, ConstMatrixRef x) const {
  Matrix out(m_, x.cols());
  Lanes from(kLanes, m_), to(kLanes, m_);
  for (Index first = 0; first < x.cols(); first += kLanes) {
    const Index count = std::min(kLanes, x.cols() - first);
    from.bottomRows(kLanes - count).setZero();
    from.topRows(count) = x.middleCols(first, count).transpose().array();
    to.setZero();
    for (std::size_t k = 0; k < rows_.size();) {
      const Index j = columns_[k];
      const Lane at = from.col(j);
      Lane sum = Lane::Zero();
      for (; k < rows_.size() && columns_[k] == j; ++k) {
        const Index i = rows_[k];
        const double value = values(static_cast<Index>(k));
        to.col(i) += value * at;
        if (i != j) sum += value * from.col(i);
      }
      to.col(j) += sum;
    }
    out.middleCols(first, count) = to.topRows(count).transpose().matrix();
  }
  return out;
}

// Half of the memory traffic of a product: the image of x is not formed.
Vector PrecisionStructure::squared_lengths_by_entries(ConstVectorRef values, ConstMatrixRef x) const {
  Vector out(x.cols());
  Lanes from(kLanes, m_);
  for (Index first = 0; first < x.cols(); first += kLanes) {
    const Index count = std::min(kLanes, x.cols() - first);
    from.bottomRows(kLanes - count).setZero();
    from.topRows(count) = x.middleCols(first, count).transpose().array();
    Lane total = Lane::Zero();
    for (std::size_t k = 0; k < rows_.size();) {
      const Index j = columns_[k];
      Lane sum = Lane::Zero();
      for (; k < rows_.size() && columns_[k] == j; ++k)
        sum += (rows_[k] == j ? .5 : 1) * values(static_cast<Index>(k)) * from.col(rows_[k]);
      total += sum * from.col(j);
    }
    out.segment(first, count) = 2 * total.head(count).matrix();
  }
  return out;
}

std::shared_ptr<const FactoredPrecision> FactoredPrecision::make(
    std::shared_ptr<const PrecisionStructure> structure, Vector values, Matrix sums) {
  std::shared_ptr<FactoredPrecision> out(new FactoredPrecision);
  out->structure_ = std::move(structure);
  out->values_ = std::move(values);
  out->sums_ = std::move(sums);
  return out->factorise() ? out : nullptr;
}

bool FactoredPrecision::factorise() {
  const SparseCholesky& cholesky = structure_->cholesky();
  factor_.assign(slot(cholesky.storage()), 0.);
  for (Index k = 0; k < values_.size(); ++k) factor_[structure_->place(k)] = values_(k);
  FrontStack stack = cholesky.make_stack();
  if (!cholesky.factorise(factor_, stack)) return false;
  log_det_ = -cholesky.log_determinant(factor_);
  if (!std::isfinite(log_det_)) return false;
  if (sums_.cols() == 0) return true;
  sums_solved_ = solve_sparse(sums_);
  const Eigen::LLT<Matrix> between(Matrix::Identity(sums_.cols(), sums_.cols()) +
                                   sums_.transpose() * sums_solved_);
  if (between.info() != Eigen::Success) return false;
  between_sums_ = between.matrixL();
  log_det_ -= 2 * between_sums_.diagonal().array().log().sum();
  return std::isfinite(log_det_);
}

Matrix FactoredPrecision::times(ConstMatrixRef v) const {
  Matrix out = structure_->times(values_, v);
  if (sums_.cols() > 0) out += sums_ * (sums_.transpose() * v);
  return out;
}

Vector FactoredPrecision::squared_lengths(ConstMatrixRef v) const {
  Vector out = structure_->squared_lengths(values_, v);
  if (sums_.cols() > 0) out += (sums_.transpose() * v).colwise().squaredNorm().transpose();
  return out;
}

Matrix FactoredPrecision::solve_upper(ConstMatrixRef z) const {
  const SparseCholesky& cholesky = structure_->cholesky();
  Matrix out(dimension(), z.cols());
  Vector work(dimension());
  for (Index s = 0; s < z.cols(); ++s) {
    work = z.col(s);
    cholesky.solve_upper(factor_, work);
    for (Index i = 0; i < dimension(); ++i) out(i, s) = work(cholesky.first(i));
  }
  return out;
}

Matrix FactoredPrecision::solve_sparse(ConstMatrixRef v) const {
  const SparseCholesky& cholesky = structure_->cholesky();
  Matrix out(dimension(), v.cols());
  Vector work(dimension());
  for (Index s = 0; s < v.cols(); ++s) {
    for (Index i = 0; i < dimension(); ++i) work(cholesky.first(i)) = v(i, s);
    cholesky.solve_lower(factor_, work);
    cholesky.solve_upper(factor_, work);
    for (Index i = 0; i < dimension(); ++i) out(i, s) = work(cholesky.first(i));
  }
  return out;
}

Matrix FactoredPrecision::solve(ConstMatrixRef v) const {
  Matrix out = solve_sparse(v);
  if (sums_.cols() == 0) return out;
  Matrix along = sums_solved_.transpose() * v;
  between_sums_.triangularView<Eigen::Lower>().solveInPlace(along);
  between_sums_.triangularView<Eigen::Lower>().transpose().solveInPlace(along);
  return out - sums_solved_ * along;
}

Matrix FactoredPrecision::root_times(ConstMatrixRef z) const {
  Matrix out = solve_upper(z.topRows(dimension()));
  if (sums_.cols() == 0) return out;
  Matrix along = sums_.transpose() * out + z.bottomRows(sums_.cols());
  between_sums_.triangularView<Eigen::Lower>().solveInPlace(along);
  between_sums_.triangularView<Eigen::Lower>().transpose().solveInPlace(along);
  return out - sums_solved_ * along;
}

Vector FactoredPrecision::diagonal() const {
  Vector out = sums_.rowwise().squaredNorm();
  for (Index k = 0; k < values_.size(); ++k)
    if (structure_->rows()[slot(k)] == structure_->columns()[slot(k)])
      out(structure_->rows()[slot(k)]) += values_(k);
  return out;
}

AlignedNumbers FactoredPrecision::sparse_inverse() const {
  const SparseCholesky& cholesky = structure_->cholesky();
  AlignedNumbers inverse(factor_.size());
  FrontStack stack = cholesky.make_stack();
  cholesky.invert(factor_, inverse, stack);
  return inverse;
}

Matrix FactoredPrecision::taken_by_sums() const {
  return between_sums_.triangularView<Eigen::Lower>().solve(sums_solved_.transpose());
}

Vector FactoredPrecision::compute_variances() const {
  const AlignedNumbers inverse = sparse_inverse();
  Vector out(dimension());
  for (Index i = 0; i < dimension(); ++i) out(i) = inverse[structure_->diagonal_place(i)];
  if (sums_.cols() > 0) out -= taken_by_sums().colwise().squaredNorm().transpose();
  return out;
}

bool FactoredPrecision::has_pattern_of(const FactoredPrecision& other) const {
  return structure_ == other.structure_ || (structure_->rows() == other.structure_->rows() &&
                                            structure_->columns() == other.structure_->columns());
}

// tr((S + V V') Sigma) from Sigma's entries where S has some, and V' Sigma V.
double FactoredPrecision::trace_with_inverse_of(const FactoredPrecision& other) const {
  const AlignedNumbers inverse = other.sparse_inverse();
  const Matrix taken = other.sums_.cols() > 0 ? other.taken_by_sums() : Matrix(0, dimension());
  double trace = 0;
  for (Index k = 0; k < values_.size(); ++k) {
    const Index i = structure_->rows()[slot(k)];
    const Index j = structure_->columns()[slot(k)];
    const double covariance = inverse[other.structure_->place(k)] - taken.col(i).dot(taken.col(j));
    trace += (i == j ? 1 : 2) * values_(k) * covariance;
  }
  if (sums_.cols() > 0) trace += sums_.cwiseProduct(other.solve(sums_)).sum();
  return trace;
}

const Vector& FactoredPrecision::variances() const {
  std::call_once(variances_once_, [&] { variances_ = compute_variances(); });
  return variances_;
}

std::shared_ptr<const FactoredPrecision> FactoredPrecision::scaled(ConstVectorRef scale) const {
  Vector values = values_;
  for (Index k = 0; k < values.size(); ++k)
    values(k) /= scale(structure_->rows()[slot(k)]) * scale(structure_->columns()[slot(k)]);
  return make(structure_, std::move(values), scale.cwiseInverse().asDiagonal() * sums_);
}

void FactoredPrecision::write(io::ChecksummedWriter& out) const {
  out.integer(dimension());
  out.matrix(as_matrix(*structure_));
  out.matrix(sums_);
  out.matrix(values_);
}

std::shared_ptr<const FactoredPrecision> FactoredPrecision::read(io::ChecksummedReader& in) {
  const Index m = in.integer();
  const Matrix places = in.matrix();
  Matrix sums = in.matrix();
  Vector values = in.matrix().reshaped();
  const bool fits = m > 0 && are_places(m, places) && sums.rows() == m && places.rows() == values.size() &&
                    values.allFinite() && sums.allFinite();
  if (!fits) in.fail("its parts do not fit each other");
  auto out = make(
      std::make_shared<const PrecisionStructure>(m, as_indices(places.col(0)), as_indices(places.col(1))),
      std::move(values), std::move(sums));
  if (!out) in.fail("its parts do not fit each other");
  return out;
}

}  // namespace magva
