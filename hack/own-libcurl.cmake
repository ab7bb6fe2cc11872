# SPDX-License-Identifier: Apache-2.0
#
# Sets `curl` to the libcurl that hack/libcurl has built. With WITH_STATIC, `openssl` and `event` are
# static archives too: an agent then has two libraries to load, and of OpenSSL only what it uses.

execute_process(COMMAND ${PROJECT_SOURCE_DIR}/hack/libcurl --where
	OUTPUT_VARIABLE libcurl_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# A newer build of it is noticed. One that was made after a configuration without any is not: that needs
# `cmake --preset` again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${libcurl_folder}/VERSION)
if(NOT EXISTS ${libcurl_folder}/VERSION)
	message(WARNING "The programs link the system's libcurl and need 6 MiB more: hack/libcurl, which "
		"hack/deps build calls, has built no small one.")
	return()
endif()
file(STRINGS ${libcurl_folder}/VERSION libcurl_version LIMIT_COUNT 1)
message(STATUS "libcurl ${libcurl_version}, built in: ${libcurl_folder}")

add_library(own_libcurl STATIC IMPORTED)
set_target_properties(own_libcurl PROPERTIES IMPORTED_LOCATION ${libcurl_folder}/lib/libcurl.a)
target_include_directories(own_libcurl INTERFACE ${libcurl_folder}/include)
target_compile_definitions(own_libcurl INTERFACE OWN_LIBCURL="${libcurl_version}")
set(curl own_libcurl)

if(WITH_STATIC)
	foreach(name ssl crypto nghttp2 event event_openssl)
		find_library(STATIC_${name} lib${name}.a REQUIRED)
		mark_as_advanced(STATIC_${name})
	endforeach()
	set(openssl ${STATIC_ssl} ${STATIC_crypto} Threads::Threads ${CMAKE_DL_LIBS})
	set(event ${STATIC_event_openssl} ${STATIC_event})
	target_link_libraries(own_libcurl INTERFACE ${STATIC_nghttp2} ${openssl})
	add_link_options(-Wl,--gc-sections)
	# OpenSSL's tables need 20 000 relocations: this form of them is 100 times smaller.
	include(CheckLinkerFlag)
	check_linker_flag(C -Wl,-z,pack-relative-relocs has_packed_relocations)
	if(has_packed_relocations)
		add_link_options(-Wl,-z,pack-relative-relocs)
	endif()
else()
	pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
	target_link_libraries(own_libcurl INTERFACE PkgConfig::NGHTTP2 PkgConfig::OPENSSL)
endif()
