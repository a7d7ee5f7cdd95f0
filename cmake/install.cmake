include(CMakePackageConfigHelpers)
install(TARGETS magva EXPORT magva_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS magva_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/magva DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT magva_targets NAMESPACE magva:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/magva)
configure_package_config_file(cmake/magva-config.cmake.in ${PROJECT_BINARY_DIR}/magva-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/magva)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/magva-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/magva-config.cmake ${PROJECT_BINARY_DIR}/magva-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/magva)
install(FILES ${PROJECT_BINARY_DIR}/share/magva.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/share/magva.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME magva)
install(FILES ${PROJECT_BINARY_DIR}/share/_magva DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES data/ionosphere.csv DESTINATION ${CMAKE_INSTALL_DATADIR}/magva)
