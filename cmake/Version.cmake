# "plait_version.h": kVersion is the VERSION of project(plait), kRevision the git commit that was
# built ("unknown" outside of a git checkout). The header is refreshed by every build and rewritten
# only when the revision changes, so a build without new commits compiles nothing again.
set(version_command
    ${CMAKE_COMMAND} -DVERSION=${PROJECT_VERSION} -DSOURCE_DIR=${CMAKE_SOURCE_DIR}
    -DOUTPUT=${CMAKE_BINARY_DIR}/generated/plait_version.h
    -P ${CMAKE_CURRENT_LIST_DIR}/write_version.cmake)
execute_process(COMMAND ${version_command} COMMAND_ERROR_IS_FATAL ANY)
add_custom_target(plait_version ALL COMMAND ${version_command}
                  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/plait_version.h VERBATIM)
add_dependencies(plait_options plait_version)
