#pragma once
// What a run carries on, written to a checksummed file and read back to the same bits. A struct says once
// what its fields are, for both ways:
//   template <class Visit, io::ConstOrNot<Gain> T>
//   void visit_fields(Visit& visit, T& gain) { visit(gain.signal); ... }
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/checksummed_file.hpp"

namespace magva::io {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T, class Of>
concept ConstOrNot = std::same_as<std::remove_const_t<T>, Of>;
template <class T>
concept IntegerLike = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T>
concept VectorOrMatrix = std::same_as<T, Vector> || std::same_as<T, Matrix>;

struct Put {
  ChecksummedWriter& out;

  template <class T>
  void operator()(const T& value) {
    if constexpr (IntegerLike<T>) {
      out.integer(static_cast<std::int64_t>(value));
    } else if constexpr (std::same_as<T, double>) {
      out.number(value);
    } else if constexpr (std::same_as<T, std::string>) {
      out.text(value);
    } else if constexpr (VectorOrMatrix<T>) {
      out.matrix(value);
    } else if constexpr (is_optional<T>) {
      out.integer(value ? 1 : 0);
      if (value) (*this)(*value);
    } else if constexpr (is_vector<T>) {
      out.integer(static_cast<std::int64_t>(value.size()));
      for (const auto& element : value) (*this)(element);
    } else {
      visit_fields(*this, value);
    }
  }
};

struct Get {
  ChecksummedReader& in;

  template <class T>
  void operator()(T& value) {
    if constexpr (IntegerLike<T>) {
      value = static_cast<T>(in.integer());
    } else if constexpr (std::same_as<T, double>) {
      value = in.number();
    } else if constexpr (std::same_as<T, std::string>) {
      value = in.text();
    } else if constexpr (std::same_as<T, Vector>) {
      value = in.matrix().reshaped();
    } else if constexpr (std::same_as<T, Matrix>) {
      value = in.matrix();
    } else if constexpr (is_optional<T>) {
      value.reset();
      if (in.integer() != 0) (*this)(value.emplace());
    } else if constexpr (is_vector<T>) {
      value.clear();
      for (std::size_t left = in.count(); left > 0; --left) (*this)(value.emplace_back());
    } else {
      visit_fields(*this, value);
    }
  }
};

}  // namespace magva::io
