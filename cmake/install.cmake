# What `make install` puts under a prefix: the program in bin, what it starts in lib/darope, manual and
# completions in share. Torch and the Python that has it stay where they are: two links lead there, and no
# file knows the folder of the build, so that what is installed may be moved.
foreach(target darope_objects trainer compute_objects)   # torch's checks name the files they stand in
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>
    $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${TORCH_DIR}/=torch/>)
endforeach()
set_target_properties(darope_compute darope_ops PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/torch")
install(TARGETS darope DESTINATION bin)
install(TARGETS darope_compute darope_ops DESTINATION lib/darope)
install(DIRECTORY python/darope DESTINATION lib/darope/python
  FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)

get_filename_component(python_dir ${DAROPE_PYTHON} DIRECTORY)
get_filename_component(environment ${python_dir} DIRECTORY)
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(CREATE_LINK \"${TORCH_DIR}/lib\" \"\${prefix}/lib/darope/torch\" SYMBOLIC)
  file(CREATE_LINK \"${environment}\" \"\${prefix}/lib/darope/environment\" SYMBOLIC)
  file(CREATE_LINK ../../libdarope_ops.so \"\${prefix}/lib/darope/python/darope/libdarope_ops.so\" SYMBOLIC)
  function(printed words folder name)
    file(MAKE_DIRECTORY \"\${prefix}/share/\${folder}\")
    execute_process(COMMAND $<TARGET_FILE:darope> \${words} OUTPUT_FILE \"\${prefix}/share/\${folder}/\${name}\"
      COMMAND_ERROR_IS_FATAL ANY)
  endfunction()
  printed(man man/man1 darope.1)
  printed(\"completion;bash\" bash-completion/completions darope)
  printed(\"completion;zsh\" zsh/site-functions _darope)
  printed(\"completion;fish\" fish/vendor_completions.d darope.fish)
")
