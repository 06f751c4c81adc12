# plait_folder(NAME [EXCLUDE pattern] LINK libs...): the static library plait_NAME from all sources of the
# folder NAME and its subfolders, but those whose path matches. A folder without sources yet becomes
# an interface library.
# plait_program(NAME FOLDER LINK libs...): the executable NAME from the sources of FOLDER.

add_library(plait_options INTERFACE)
target_compile_features(plait_options INTERFACE cxx_std_20)
target_include_directories(plait_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                           $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated>)
# For plait itself; who uses the installed library has options of their own.
set(own_options -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
    # Results must not depend on the compiler's choice to fuse multiply and add.
    -ffp-contract=off)
target_compile_options(plait_options INTERFACE
                       "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:${own_options}>>")
option(PLAIT_SANITIZE "Address and undefined behaviour sanitizers" OFF)
if(PLAIT_SANITIZE)
  # Null pointers fault anyway, and nothing is cast to what it is not: with these three, which stand
  # before every access, compilation takes a third longer.
  target_compile_options(plait_options INTERFACE -fsanitize=address,undefined
                         -fno-sanitize=null,alignment,vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(plait_options INTERFACE -fsanitize=address,undefined)
  # An index beyond a vector's end may still lie in what was allocated.
  target_compile_definitions(plait_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

function(plait_folder name)
  cmake_parse_arguments(arg "" "EXCLUDE" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${arg_EXCLUDE})
  endif()
  if(sources)
    add_library(plait_${name} STATIC ${sources})
    target_link_libraries(plait_${name} PUBLIC plait_options ${arg_LINK})
    set_target_properties(plait_${name} PROPERTIES EXPORT_NAME ${name})
  else()
    add_library(plait_${name} INTERFACE)
    target_link_libraries(plait_${name} INTERFACE plait_options ${arg_LINK})
  endif()
endfunction()

function(plait_program name folder)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE plait_options ${arg_LINK})
endfunction()
