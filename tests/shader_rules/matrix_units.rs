//! Kernels for matrix units: naga's program of each is valid, fits, and becomes SPIR-V.

use std::collections::BTreeSet;

use naga::AddressSpace;
use naga::back::spv;
use naga::proc::Layouter;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use wordloom::activation::Activation;
use wordloom::kernels::linear::{self, LinearShape};
use wordloom::kernels::shares::Shares;
use wordloom::kernels::{AdapterClass, Dispatch, linear_gradient, matrix_units, unit_gradient};
use wordloom::precision::WeightPrecision;

use super::module_of;

/// They are Vulkan's alone so far.
#[test]
fn kernels_for_matrix_units_are_valid() {
    let needed = Capabilities::SHADER_FLOAT16_IN_FLOAT32
        | Capabilities::SHADER_FLOAT16
        | Capabilities::COOPERATIVE_MATRIX;
    let launched: BTreeSet<_> = launches_on_units().map(|launch| launch.kernel.name).collect();
    assert_eq!(launched, matrix_units::all().map(|kernel| kernel.name).collect());
    for launch in launches_on_units() {
        let kernel = launch.kernel;
        let (module, text) = (module_of(kernel), kernel.text());
        let info = Validator::new(ValidationFlags::all(), needed)
            .validate(&module)
            .unwrap_or_else(|error| panic!("{}: {}", kernel.name, error.emit_to_string(&text)));
        let constants = launch.constants.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let (module, info) =
            naga::back::pipeline_constants::process_overrides(&module, &info, None, &constants)
                .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).expect("a valid module");
        let shared = module.global_variables.iter().filter(|(_, it)| it.space == AddressSpace::WorkGroup);
        let sizes: Vec<u32> = shared.map(|(_, it)| layouter[it.ty].size).collect();
        // a matrix is read from a multiple of 16 bytes (VK_KHR_cooperative_matrix), and arrays lie one after another
        assert!(sizes.iter().all(|bytes| bytes % 16 == 0), "{}: arrays of {sizes:?} bytes", kernel.name);
        let bytes: u32 = sizes.iter().sum();
        assert!(bytes <= matrix_units::WORKGROUP_BYTES, "{}: {bytes} bytes a workgroup", kernel.name);
        let [lanes, ..] = module.entry_points[0].workgroup_size;
        assert!(lanes <= matrix_units::WORKGROUP_INVOCATIONS, "{}: {lanes}", kernel.name);
        let options = spv::Options { lang_version: (1, 4), ..Default::default() };
        let words = spv::write_vec(&module, &info, &options, None).expect("SPIR-V");
        assert!(words.len() > 100, "{}", kernel.name);
    }
}

/// A launch of each kernel for matrix units.
fn launches_on_units() -> impl Iterator<Item = Dispatch> {
    let gradients = linear_gradient::LinearGradientShape { rows: 70, inputs: 132, outputs: 200, scale: 1.0 };
    let shares = Shares::new(200, 1);
    let earlier = linear_gradient::Earlier::Nothing;
    let gradients = [
        linear_gradient::input_dispatch(&gradients, 0..200, earlier, shares),
        linear_gradient::weight_dispatch(&gradients, 0..200, shares),
    ];
    let layers = WeightPrecision::ALL.into_iter().flat_map(|precision| {
        let shape = LinearShape {
            rows: 70,
            inputs: 132,
            outputs: 200,
            scale: 1.0,
            bias: false,
            activation: Activation::Identity,
            join: None,
            precision,
        };
        let layer = linear::dispatch(&shape, 0..shape.outputs, AdapterClass::Hardware);
        let variants = matrix_units::Variant::ALL.into_iter();
        variants.filter_map(move |variant| matrix_units::dispatch_variant(&layer, variant))
    });
    let gradients = gradients.into_iter().map(|gradient| unit_gradient::on_units(&gradient));
    layers.chain(gradients).chain([unit_gradient::largest_dispatch(96)])
}
