# cmake --install, and CPack for a relocatable tarball and a Debian package: the command with its
# plug-ins, manual page, completions, scenarios and pages, and the library for other CMake projects
# (find_package(plait), target plait::plait: plans, costs, simulation, search, reports and predictions).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS plait RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(plugin plait_mpi plait_cuda)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION lib/plait)  # where the command looks for them
  endif()
endforeach()

# Written by the command itself.
set(manual ${CMAKE_BINARY_DIR}/generated/plait.1)
set(generated ${manual})
add_custom_command(OUTPUT ${manual} COMMAND plait man > ${manual} DEPENDS plait VERBATIM)
install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(entry "bash|bash-completion/completions|plait" "zsh|zsh/site-functions|_plait"
        "fish|fish/vendor_completions.d|plait.fish")
  string(REPLACE "|" ";" entry ${entry})
  list(GET entry 0 shell)
  list(GET entry 1 folder)
  list(GET entry 2 name)
  set(script ${CMAKE_BINARY_DIR}/generated/completions/${shell})
  add_custom_command(OUTPUT ${script} COMMAND plait completion ${shell} > ${script} DEPENDS plait VERBATIM)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/completions)
  list(APPEND generated ${script})
  install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name})
endforeach()
add_custom_target(plait_shell_files ALL DEPENDS ${generated})

install(DIRECTORY scenarios/ DESTINATION ${CMAKE_INSTALL_DATADIR}/plait/scenarios FILES_MATCHING PATTERN *.json)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(library_folders core model topologies plan costmodel scenarios sim serving search reports prediction)
set(library_targets plait_options)
foreach(folder IN LISTS library_folders)
  list(APPEND library_targets plait_${folder})
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plait FILES_MATCHING PATTERN *.h)
endforeach()
add_library(plait_all INTERFACE)
target_link_libraries(plait_all INTERFACE plait_prediction)
set_target_properties(plait_all PROPERTIES EXPORT_NAME plait)
add_library(plait::plait ALIAS plait_all)
install(TARGETS ${library_targets} plait_all EXPORT plait_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plait)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/plait)
install(EXPORT plait_targets NAMESPACE plait:: FILE plaitTargets.cmake DESTINATION ${config_folder})
configure_package_config_file(cmake/plaitConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/plaitConfig.cmake
                              INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/plaitConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/plaitConfig.cmake
        ${CMAKE_BINARY_DIR}/generated/plaitConfigVersion.cmake DESTINATION ${config_folder})

set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_CONTACT "Plait developers <plait@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# CUDA's libraries come from NVIDIA, not from Debian; the plug-in that needs them is optional.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopenblas0)  # real runs load it
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libboost-graph-dev, nlohmann-json3-dev, libfmt-dev, libpugixml-dev, libeigen3-dev")
include(CPack)
