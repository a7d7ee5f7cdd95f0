# `make package`: a Debian package of the portable build, and one of the MPI plug-in if that is built.
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
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL magva)
set(CPACK_DEBIAN_MAGVA_PACKAGE_NAME magva)
set(CPACK_DEBIAN_MAGVA_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
if(TARGET magva_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "magva on the ranks of an MPI job
 The plug-in that the program loads when mpirun starts it as one of several.")
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME magva-mpi)
  # Of one build: program and plug-in speak the same language. mpirun itself is in openmpi-bin.
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "magva (= ${PROJECT_VERSION}), openmpi-bin")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS "")
  set(CPACK_DEBIAN_MPI_PACKAGE_SUGGESTS "")
  set(CPACK_DEBIAN_MPI_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
endif()
include(CPack)
