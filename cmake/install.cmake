# What `make install` puts under a prefix: the program in bin, what it starts in lib/darope, manual and
# completions in share. Torch, CUDA's runtime and the Python that has torch stay where they are: links lead
# there, and no file knows the folder of the build, so that what is installed may be moved.
foreach(target darope_objects trainer compute_objects)   # torch's checks name the files they stand in
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>
    $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${TORCH_DIR}/=torch/>)
endforeach()
set_target_properties(darope_compute darope_ops PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/torch;$ORIGIN/cuda")
install(TARGETS darope DESTINATION bin)
install(TARGETS darope_compute darope_ops DESTINATION lib/darope)
install(DIRECTORY python/darope DESTINATION lib/darope/python
  FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)

get_filename_component(python_dir ${DAROPE_PYTHON} DIRECTORY)
get_filename_component(environment ${python_dir} DIRECTORY)
set(links "${TORCH_DIR}/lib" torch "${environment}" environment)
if(DAROPE_CUDA)
  get_target_property(cudart CUDA::cudart IMPORTED_LOCATION)
  get_filename_component(cudart_dir ${cudart} DIRECTORY)
  list(APPEND links ${cudart_dir} cuda)
endif()
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(links \"${links}\")
  while(links)
    list(POP_FRONT links there name)
    file(CREATE_LINK \"\${there}\" \"\${prefix}/lib/darope/\${name}\" SYMBOLIC)
  endwhile()
  file(CREATE_LINK ../../libdarope_ops.so \"\${prefix}/lib/darope/python/darope/libdarope_ops.so\" SYMBOLIC)
  function(printed words folder name)
    file(MAKE_DIRECTORY \"\${prefix}/share/\${folder}\")
    execute_process(COMMAND $<TARGET_FILE:darope> \${words}
      OUTPUT_FILE \"\${prefix}/share/\${folder}/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  printed(man man/man1 darope.1)
  printed(\"completion;bash\" bash-completion/completions darope)
  printed(\"completion;zsh\" zsh/site-functions _darope)
  printed(\"completion;fish\" fish/vendor_completions.d darope.fish)
")
