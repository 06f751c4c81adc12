# A build from nothing compiles sources in lots (CMake's unity builds): headers and templates are then
# compiled once for each lot and not once for each file, which takes less than half the time.
# PLAIT_MERGE_SOURCES is off where files are compiled again and again: by developers who have ccache
# (./dev looks for it) and by who configures by hand.
#
# Names of sources of one folder must differ for it, those without linkage too; overloads would be
# chosen among the functions of a whole lot. A test has a namespace of its own, named as its file.
option(PLAIT_MERGE_SOURCES "Compile sources in lots: faster from nothing, slower after a change" OFF)

if(PLAIT_MERGE_SOURCES)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 40)
  # A lot is garbage in the end: to look for it meanwhile takes g++ a fifth of its time.
  target_compile_options(plait_options INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1500000>>")
  # What one file of a lot sees of another is no fault of either.
  target_compile_options(plait_options INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>>"
      "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-stringop-overflow>>")
endif()

# plait_merge_cuda(VARIABLE): the CUDA sources of a list, likewise (CMake itself does so from 3.31 on).
# A file as dear as all others together would only keep them waiting: it stays alone.
function(plait_merge_cuda variable)
  if(NOT PLAIT_MERGE_SOURCES)
    return()
  endif()
  set(merged ${${variable}})
  set(apart "/attention_fused_|\\.cpp$")
  set(lot ${${variable}})
  list(FILTER lot EXCLUDE REGEX ${apart})
  list(FILTER merged INCLUDE REGEX ${apart})
  list(LENGTH lot count)
  math(EXPR half "(${count} + 1) / 2")
  foreach(first 0 ${half})
    list(SUBLIST lot ${first} ${half} sources)
    list(TRANSFORM sources REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN sources "" text)
    set(file ${CMAKE_BINARY_DIR}/generated/cuda_lot_${first}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND merged ${file})
  endforeach()
  set(${variable} ${merged} PARENT_SCOPE)
endfunction()
