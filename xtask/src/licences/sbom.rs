//! A list of components as CycloneDX 1.6, in JSON: <https://cyclonedx.org/docs/1.6/json/>. Without time and serial number, so that
//! equal sources give equal bytes.

use std::fs;

use super::closure::{Package, Registry};

/// The list of a product's packages.
pub fn list(product: &str, packages: &[Package]) -> Result<String, String> {
    let lock = fs::read_to_string("Cargo.lock").map_err(|error| format!("Cargo.lock: {error}"))?;
    let components: Vec<String> = packages.iter().map(|package| component(package, &lock)).collect();
    Ok(format!(
        "{{\n\"bomFormat\": \"CycloneDX\",\n\"specVersion\": \"1.6\",\n\"version\": 1,\n\"metadata\": {{\"component\": \
         {{\"type\": \"application\", \"name\": {}}}}},\n\"components\": [\n{}\n]\n}}\n",
        quoted(product),
        components.join(",\n")
    ))
}

fn component(package: &Package, lock: &str) -> String {
    let Package { name, version, licence, registry } = package;
    let kind = match registry {
        Registry::Own => "machine-learning-model",
        Registry::Crates | Registry::Npm => "library",
    };
    let from = match registry {
        Registry::Npm => "npm",
        Registry::Crates | Registry::Own => "cargo",
    };
    let purl = format!("pkg:{from}/{}@{version}", name.replace('@', "%40"));
    let mut fields = vec![
        format!("\"type\": {}", quoted(kind)),
        format!("\"name\": {}", quoted(name)),
        format!("\"version\": {}", quoted(version)),
        format!("\"purl\": {}", quoted(&purl)),
        format!("\"licenses\": [{{\"expression\": {}}}]", quoted(&expression(licence))),
    ];
    if let Some(hash) = checksum(package, lock) {
        fields.push(format!("\"hashes\": [{{\"alg\": \"SHA-256\", \"content\": {}}}]", quoted(hash)));
    }
    format!("{{{}}}", fields.join(", "))
}

/// SPDX has no name for the model's licence.
fn expression(licence: &str) -> String {
    if licence == "CC-BY-2.0-FR" { "LicenseRef-CC-BY-2.0-FR".to_owned() } else { licence.to_owned() }
}

/// The hash of the crate in `Cargo.lock`.
fn checksum<'a>(Package { name, version, .. }: &Package, lock: &'a str) -> Option<&'a str> {
    let entry = lock
        .split("[[package]]")
        .find(|entry| entry.starts_with(&format!("\nname = \"{name}\"\nversion = \"{version}\"\n")))?;
    entry.lines().find_map(|line| line.strip_prefix("checksum = \"")?.strip_suffix('"'))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_has_its_name_licence_and_hash() {
        let package = Package {
            name: "serde".into(),
            version: "1.0.0".into(),
            licence: "MIT OR Apache-2.0".into(),
            registry: Registry::Crates,
        };
        let lock = "version = 4\n\n[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum = \"ab\"\n";
        let found = component(&package, lock);
        for part in ["\"pkg:cargo/serde@1.0.0\"", "\"MIT OR Apache-2.0\"", "\"content\": \"ab\""] {
            assert!(found.contains(part), "{found}");
        }
    }
}
