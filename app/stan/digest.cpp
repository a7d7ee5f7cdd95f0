#include "stan/digest.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace magva::stan {
namespace {

void require(int ok) {
  if (ok != 1) throw std::runtime_error("OpenSSL cannot compute a SHA-256 digest");
}

}  // namespace

struct Digest::Context {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> evp{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Digest::Digest() : context_(std::make_unique<Context>()) {
  require(EVP_DigestInit_ex(context_->evp.get(), EVP_sha256(), nullptr));
}

Digest::~Digest() = default;

void Digest::add(std::string_view text) {
  const std::string length = std::to_string(text.size()) + ":";
  require(EVP_DigestUpdate(context_->evp.get(), length.data(), length.size()));
  require(EVP_DigestUpdate(context_->evp.get(), text.data(), text.size()));
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context_->evp.get(), bytes.data(), &size));
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes.at(i));
  return text;
}

}  // namespace magva::stan
