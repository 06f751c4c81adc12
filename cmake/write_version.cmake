# cmake -DVERSION=... -DSOURCE_DIR=... -DOUTPUT=... -P write_version.cmake
# `configure_file` leaves OUTPUT untouched when its content stays the same.
set(REVISION "")
find_program(git_program git)
if(git_program)
  execute_process(COMMAND ${git_program} describe --always --tags --dirty --abbrev=12
                  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE REVISION
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT REVISION)
  set(REVISION unknown)
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/plait_version.h.in ${OUTPUT} @ONLY)
