#pragma once
// Values as bytes and back, for what ranks tell each other. A class names what it consists of once, in
// transfer(archive).
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "magva/types.hpp"

namespace magva::table {

class ByteWriter {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (write(values), ...);
  }
  std::string& bytes() { return bytes_; }

 private:
  template <class Value>
  void write(const Value& value) {
    if constexpr (std::is_trivially_copyable_v<Value>)
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      const_cast<Value&>(value).transfer(*this);  // which changes nothing when it writes
  }
  void write(const std::string& text) {
    write(text.size());
    bytes_ += text;
  }
  void write(const Vector& values) {
    write(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()),
                  static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  template <class A, class B>
  void write(const std::pair<A, B>& pair) {
    (*this)(pair.first, pair.second);
  }
  template <class Value>
  void write(const std::vector<Value>& values) {
    write_all(values);
  }
  template <class Value>
  void write(const std::set<Value>& values) {
    write_all(values);
  }
  template <class Key, class Value>
  void write(const std::map<Key, Value>& values) {
    write_all(values);
  }
  template <class Values>
  void write_all(const Values& values) {
    write(values.size());
    for (const auto& value : values) write(value);
  }

  std::string bytes_;
};

class ByteReader {
 public:
  /// The bytes must outlive it.
  explicit ByteReader(const std::string& bytes) : at_(bytes.data()) {}
  template <class... Values>
  void operator()(Values&... values) {
    (read(values), ...);
  }

 private:
  void take(void* to, std::size_t bytes) {
    std::memcpy(to, at_, bytes);
    at_ += bytes;
  }
  template <class Value>
  Value next() {
    Value value{};
    read(value);
    return value;
  }
  template <class Value>
  void read(Value& value) {
    if constexpr (std::is_trivially_copyable_v<Value>)
      take(&value, sizeof value);
    else
      value.transfer(*this);
  }
  void read(std::string& text) {
    text.resize(next<std::size_t>());
    take(text.data(), text.size());
  }
  void read(Vector& values) {
    values.resize(next<Index>());
    take(values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  template <class Value>
  void read(std::vector<Value>& values) {
    values.resize(next<std::size_t>());
    for (Value& value : values) read(value);
  }
  template <class Value>
  void read(std::set<Value>& values) {
    values.clear();
    for (auto left = next<std::size_t>(); left > 0; --left) values.insert(values.end(), next<Value>());
  }
  template <class Key, class Value>
  void read(std::map<Key, Value>& values) {
    values.clear();
    for (auto left = next<std::size_t>(); left > 0; --left) {
      Key key = next<Key>();
      values.emplace_hint(values.end(), std::move(key), next<Value>());
    }
  }

  const char* at_;
};

}  // namespace magva::table
