//! Keys and values of packed sentences as sums of their rows, with the gradients of rows and factors, for training. Wang et
//! al. 2020, "Linformer", equation (7).

use super::project_length::FactorShape;
use super::{Access, ColumnLayout, Dispatch, Kernel, fold, stride};

/// A quad of queries or of a sum per invocation.
pub static PROJECT_PACKED: Kernel = Kernel {
    name: "project_packed",
    wgsl: wgsl!("project_packed" + "length_projection" + "grid"),
    storage: &[
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Read,
        Access::Write,
        Access::Write,
        Access::Write,
        Access::Write,
    ],
    params: ProjectPackedParams::FIELDS,
};

/// A quad of a row per invocation.
pub static PROJECT_PACKED_GRADIENT: Kernel = Kernel {
    name: "project_packed_gradient",
    wgsl: wgsl!("project_packed_gradient" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: ProjectPackedGradientParams::FIELDS,
};

/// A factor per workgroup.
pub static LENGTH_PROJECTION_GRADIENT: Kernel = Kernel {
    name: "length_projection_gradient",
    wgsl: wgsl!("length_projection_gradient" + "reduce" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: LengthProjectionGradientParams::FIELDS,
};

params! {
    /// Group 1 of [`PROJECT_PACKED`].
    pub struct ProjectPackedParams {
        /// Rows of all sentences.
        pub rows: u32,
        /// Sums of a text.
        pub rank: u32,
        /// Quads of a row of sums, with padding.
        pub quads: u32,
        /// Quads of a row of queries, with padding.
        pub query_quads: u32,
        /// Columns of the keys.
        pub keys: u32,
        /// Columns of keys and values.
        pub width: u32,
        /// Row stride of x, elements.
        pub x_stride: u32,
        /// Columns of the queries, the first ones of x.
        pub x_first: u32,
        /// Row stride of the factors, elements.
        pub factor_stride: u32,
    }
}

params! {
    /// Group 1 of [`PROJECT_PACKED_GRADIENT`].
    pub struct ProjectPackedGradientParams {
        /// Rows of all sentences.
        pub rows: u32,
        /// Sums of a text.
        pub rank: u32,
        /// Quads of a row of the gradient, with padding.
        pub quads: u32,
        /// Columns of the queries.
        pub queries: u32,
        /// Columns of the keys.
        pub keys: u32,
        /// Columns of keys and values.
        pub width: u32,
        /// Row stride of the factors, elements.
        pub factor_stride: u32,
    }
}

params! {
    /// Group 1 of [`LENGTH_PROJECTION_GRADIENT`].
    pub struct LengthProjectionGradientParams {
        /// Rows of all sentences.
        pub rows: u32,
        /// Sums of a text.
        pub rank: u32,
        /// Most tokens of a text.
        pub positions: u32,
        /// Columns of the keys, or of the values.
        pub width: u32,
        /// Row stride of x, elements.
        pub x_stride: u32,
        /// First of the columns in x.
        pub x_first: u32,
        /// Row stride of dy, elements.
        pub dy_stride: u32,
        /// First of the columns in dy.
        pub dy_first: u32,
        /// Row stride of the factors, elements.
        pub factor_stride: u32,
    }
}

/// Rows of packed sentences, and columns of their queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedShape {
    /// Rows of all sentences.
    pub rows: usize,
    /// Columns of the queries, the keys and the values.
    pub widths: [usize; 3],
    /// Rows and columns of the factors.
    pub factors: FactorShape,
}

impl PackedShape {
    fn qkv_stride(&self) -> usize {
        stride(self.widths.iter().sum())
    }

    fn key_values(&self) -> usize {
        self.widths[1] + self.widths[2]
    }
}

/// Projects keys and values. The sums of a sentence take the places of its first rows.
///
/// * storage: x `[rows, queries + keys + values]`, sentences u32 `[rows, 2]` (first row of the row's sentence, and the end; rows
///   without a sentence come last), factors of keys and of values `[rank, positions]` each, queries `[rows, queries]`, y `[rows,
///   keys + values]`, u32 `[rows, 2]` each: the rows of y that a token sees, and the tokens that see a row of y
pub fn dispatch(shape: &PackedShape) -> Dispatch {
    let [queries, keys, _] = shape.widths;
    let (quads, query_quads) = (stride(shape.key_values()) / 4, stride(queries) / 4);
    let params = ProjectPackedParams {
        rows: shape.rows as u32,
        rank: shape.factors.rank as u32,
        quads: quads as u32,
        query_quads: query_quads as u32,
        keys: keys as u32,
        width: shape.key_values() as u32,
        x_stride: shape.qkv_stride() as u32,
        x_first: queries as u32,
        factor_stride: stride(shape.factors.positions) as u32,
    };
    Dispatch::new(&PROJECT_PACKED, Vec::new(), &params, fold(shape.rows * (quads + query_quads), 64))
}

/// The gradient of the rows.
///
/// * storage: gradient of the queries `[rows, queries]`, that of y `[rows, keys + values]`, sentences, factors of keys and of
///   values, gradient of x `[rows, queries + keys + values]`
pub fn row_gradient_dispatch(shape: &PackedShape) -> Dispatch {
    let [queries, keys, _] = shape.widths;
    let quads = shape.qkv_stride() / 4;
    let params = ProjectPackedGradientParams {
        rows: shape.rows as u32,
        rank: shape.factors.rank as u32,
        quads: quads as u32,
        queries: queries as u32,
        keys: keys as u32,
        width: shape.key_values() as u32,
        factor_stride: stride(shape.factors.positions) as u32,
    };
    Dispatch::new(&PROJECT_PACKED_GRADIENT, Vec::new(), &params, fold(shape.rows * quads, 64))
}

/// Adds the gradient of the factors of keys or values, whose `width` columns are these of x and of dy.
///
/// * storage: dy `[rows, …]`, x `[rows, …]`, sentences, gradient of the factors `[rank, positions]`
pub fn factor_gradient_dispatch(
    rows: usize,
    factors: FactorShape,
    width: usize,
    [dy, x]: [ColumnLayout; 2],
) -> Dispatch {
    let FactorShape { rank, positions } = factors;
    let params = LengthProjectionGradientParams {
        rows: rows as u32,
        rank: rank as u32,
        positions: positions as u32,
        width: width as u32,
        x_stride: x.stride as u32,
        x_first: x.first as u32,
        dy_stride: dy.stride as u32,
        dy_first: dy.first as u32,
        factor_stride: stride(positions) as u32,
    };
    Dispatch::new(&LENGTH_PROJECTION_GRADIENT, Vec::new(), &params, fold(rank * positions, 1))
}
