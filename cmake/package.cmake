# `make package`: a Debian package of the portable build.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME magva)
set(CPACK_PACKAGE_VENDOR magva)
set(CPACK_PACKAGE_CONTACT "magva maintainers <maintainers@magva.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Gaussian variational inference on manifolds")
set(CPACK_PACKAGE_DESCRIPTION "Posteriors of regressions, Stan models and densities of your own as Gaussians with low-rank plus
diagonal covariance: a program, a C++ library and its headers. Runs on any x86-64 processor and uses AVX2 or
AVX-512 where the processor has them.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
# Reports draw with gnuplot; the headers include those of Eigen, fmt and nlohmann-json.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libeigen3-dev, libfmt-dev, nlohmann-json3-dev")
# The loader's cache has to learn of the libraries.
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
include(CPack)
