# A build from nothing compiles the sources of most folders in lots of up to `plait_lot` (CMake's unity
# builds): headers and templates are then compiled once for each lot and not once for each file, which
# takes half the time. PLAIT_MERGE_SOURCES is off where files are compiled again and again: by
# developers who have ccache (./dev looks for it) and by who configures by hand.
#
# Names of files of one folder must differ for it, those without linkage too; overloads would be chosen
# among the functions of a whole lot.
option(PLAIT_MERGE_SOURCES "Compile sources in lots: faster from nothing, slower after a change" OFF)
set(plait_lot 12)

if(PLAIT_MERGE_SOURCES)
  # What one file of a lot sees of another is no fault of either.
  target_compile_options(plait_options INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>>"
      "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage;-Wno-stringop-overflow>>")
endif()

# plait_merge_sources(TARGET...)
function(plait_merge_sources)
  if(NOT PLAIT_MERGE_SOURCES)
    return()
  endif()
  foreach(target ${ARGN})
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${plait_lot})
    endif()
  endforeach()
endfunction()
