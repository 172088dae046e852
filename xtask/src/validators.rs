//! The validators of translated shaders: `spirv-val` of SPIRV-Tools and `glslangValidator` of glslang. Tests of backends
//! validate nothing without them, and say so.

use std::process::Command;

use crate::apt;
use crate::process;
use crate::system::System;

const PACKAGES: [&str; 2] = ["spirv-tools", "glslang-tools"];

pub fn find() -> Option<String> {
    let first_line = |program: &str| {
        let version = process::probe(Command::new(program).arg("--version"))?;
        version.lines().next().map(str::to_owned)
    };
    Some(format!("{}; {}", first_line("spirv-val")?, first_line("glslangValidator")?))
}

pub fn install() -> Result<(), String> {
    match System::detect() {
        System::Debian => apt::install(&PACKAGES),
        System::MacOs => Err("run `brew install spirv-tools glslang`".into()),
        _ => Err("install SPIRV-Tools and glslang".into()),
    }
}
