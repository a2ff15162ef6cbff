"""The Conan recipe of libagentjob. It packs the library that this clone builds:

    conan export-pkg ffi-c/packaging/conan                          the shared library; -o shared=False: the static one
    conan install --requires=agentjob/0.1.0 -g CMakeDeps            in a project, which then uses find_package(agentjob)
"""

import os
import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import cross_building
from conan.tools.files import copy, rm

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Agentjob(ConanFile):
    name = "agentjob"
    description = "Send a follow-up message to an agent job and wait until the job is done"
    license = "MIT OR Apache-2.0"
    topics = ("agent", "job", "http", "client")
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    def set_version(self):
        workspace = (ROOT / "Cargo.toml").read_text("utf-8")
        self.version = re.search(r'^version = "(.*)"', workspace, re.M)[1]
        self.homepage = self.url = re.search(r'^repository = "(.*)"', workspace, re.M)[1]

    def configure(self):
        # One library for every C compiler and build type; nothing of C++ is in it.
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def package_id(self):
        self.info.settings.rm_safe("compiler")
        self.info.settings.rm_safe("build_type")

    def package(self):
        if cross_building(self):
            raise ConanInvalidConfiguration(f"this recipe builds for {self.settings_build.os} on {self.settings_build.arch}, which runs it")
        emulator = os.environ.get("BUILT_EMULATOR")
        self.run(f'make -C "{ROOT}/ffi-c" install PREFIX="{self.package_folder}"' + (f' BUILT_EMULATOR="{emulator}"' if emulator else ""))
        documents = os.path.join(self.package_folder, "share", "doc", "agentjob")
        copy(self, "*", documents, os.path.join(self.package_folder, "licenses"))
        # Conan writes files of its own for pkg-config and CMake.
        lib = os.path.join(self.package_folder, "lib")
        for folder in ("pkgconfig", os.path.join("cmake", "agentjob")):
            rm(self, "*", os.path.join(lib, folder))
        for pattern in ["*.a"] if self.options.shared else ["*.so*", "*.dylib"]:
            rm(self, pattern, lib)

    def package_info(self):
        self.cpp_info.libs = ["agentjob"]
        self.cpp_info.set_property("cmake_file_name", "agentjob")
        self.cpp_info.set_property("cmake_target_name", "agentjob::agentjob")
        self.cpp_info.set_property("pkg_config_name", "agentjob")
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "m", "dl", "rt", "util"]
