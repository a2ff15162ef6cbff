//! Puts the ABI number into the shared library's name, so programs load a library with the ABI that they were linked with.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number is AGENTJOB_ABI_VERSION; tests/abi/check.sh compares the two.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagentjob.0.dylib"),
        Ok("linux") => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagentjob.so.0");
            // dlclose() does not unload it: its threads and thread-local values may outlive the handle.
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        _ => {}
    }
}
