//! Names the shared library by its ABI number, so that a program finds the one it was linked against, wherever it is.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number is AGENTJOB_ABI_VERSION; tests/abi/check.sh holds the two together.
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libagentjob.0.dylib"),
        Ok("linux") => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libagentjob.so.0"),
        _ => {}
    }
}
