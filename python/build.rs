//! On macOS, an extension module's symbols of Python are looked up when it is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
