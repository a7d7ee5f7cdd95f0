# What `find_package(magva)` gives: magva::magva, the engine, and magva::data, tables, Stan models and fit folders; with the
# program, its manual page and completions, and the example data.
include(CMakePackageConfigHelpers)
set(CONFIG_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/magva)
install(TARGETS magva magva_data magva_usage magva_data_usage EXPORT magva_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(level ${MAGVA_LEVELS})
  install(TARGETS magva_${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
endforeach()
install(TARGETS magva_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/magva DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT magva_targets NAMESPACE magva:: DESTINATION ${CONFIG_FOLDER})
configure_package_config_file(cmake/magva-config.cmake.in ${PROJECT_BINARY_DIR}/magva-config.cmake
  INSTALL_DESTINATION ${CONFIG_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/magva-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/magva-config.cmake ${PROJECT_BINARY_DIR}/magva-config-version.cmake
  DESTINATION ${CONFIG_FOLDER})
install(FILES ${PROJECT_BINARY_DIR}/share/magva.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/share/magva.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME magva)
install(FILES ${PROJECT_BINARY_DIR}/share/_magva DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES data/ionosphere.csv DESTINATION ${CMAKE_INSTALL_DATADIR}/magva)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
