//! A graph with a custom operator, softsign, `x / (1 + |x|)`. It needs a shape rule, a GPU kernel and CPU code:
//! `cargo run --release --example custom_operator`

use std::error::Error;
use std::ops::Range;

use wordloom::graph::{
    Access, CpuRun, Dispatch, Dtype, Field, Graph, GraphError, Kernel, Lowering, Operator, Plan, Session,
    StateTable, Upload, Value, WeightSource, WeightTable, Weights, fold, stride,
};
use wordloom::ops::{Activation, Linear};
use wordloom::{Device, DeviceChoice, WeightPrecision};

#[derive(Debug)]
struct Softsign {
    x: Value,
    y: Value,
}

/// Appends the operator. The result has the shape of `x`.
fn softsign(graph: &mut Graph, x: Value) -> Result<Value, GraphError> {
    let shape = graph.shape(x);
    graph.expect("softsign", "x", x, shape, Dtype::F32)?;
    let y = graph.value("softsign", shape, Dtype::F32)?;
    graph.push(Softsign { x, y });
    Ok(y)
}

static KERNEL: Kernel = Kernel {
    name: "softsign",
    wgsl: &["
        struct Params { count: u32 }
        @group(0) @binding(0) var<storage, read>       x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @group(1) @binding(0) var<uniform> p: Params;

        @compute @workgroup_size(64)
        fn main(
            @builtin(workgroup_id) group: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) lane: u32,
        ) {
            let i = (group.y * groups.x + group.x) * 64u + lane;
            if (i < p.count) { y[i] = x[i] / (1.0 + abs(x[i])); }
        }"],
    storage: &[Access::Read, Access::Write],
    params: &[Field { name: "count", dtype: "u32", offset: 0 }],
};

impl Operator for Softsign {
    fn name(&self) -> &'static str {
        "softsign"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = to.shape(self.x);
        let count = shape.rows * stride(shape.width); // with the padding, whose zeros stay zeros
        let dispatch = Dispatch::new(&KERNEL, Vec::new(), &[count as u32], fold(count, 64));
        to.launch(dispatch, vec![self.x.into(), self.y.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            for (y, x) in y.iter_mut().zip(run.f32(self.x)) {
                *y = x / (1.0 + x.abs());
            }
        });
    }
}

struct Waves<'a>(&'a WeightTable);

impl WeightSource for Waves<'_> {
    type Error = Box<dyn Error>;

    fn read_rows(&mut self, index: usize, rows: Range<usize>, out: &mut [f32]) -> Result<(), Self::Error> {
        let first = rows.start * self.0.entries()[index].width;
        out.iter_mut().zip(first..).for_each(|(value, at)| *value = (at as f32).sin());
        Ok(())
    }
}

async fn run(device: &Device, tokens: &[u32]) -> Result<Vec<f32>, Box<dyn Error>> {
    let (vocabulary, width, outputs) = (10, 8, 3);
    let (mut states, mut table) = (StateTable::default(), WeightTable::default());
    let ids = states.u32("tokens", tokens.len(), 1);
    let result = states.f32("result", tokens.len(), outputs);
    let embedding = table.matrix("embedding", vocabulary, width);
    let layer = Linear { weight: table.matrix("layer", outputs, width), bias: None, scale: 1.0 };

    let mut graph = Graph::new("example");
    let ids_in_graph = graph.state(ids);
    let x = graph.embed(ids_in_graph, None, embedding, 1.0)?;
    let x = graph.linear(x, layer, Activation::Identity, None)?;
    let y = softsign(&mut graph, x)?;
    graph.keep(y, result)?;

    let mut weights = Weights::allocate(device, &table, WeightPrecision::F32)?;
    let mut upload = Upload::new((0..table.entries().len()).collect());
    while upload.advance(device.gpu(), &table, &mut weights, &mut Waves(&table))? {}
    let mut session = Session::new(device, &weights, &states, vec![Plan::new(graph)])?;
    session.write(ids, tokens);
    session.run(session.program(0), &weights);
    Ok(session.read(result).await?)
}

#[pollster::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tokens = [3, 1, 4];
    println!("CPU: {:.4?}", run(&Device::Cpu, &tokens).await?);
    match Device::open(&DeviceChoice::Gpu).await {
        Ok(gpu) => println!("{gpu}: {:.4?}", run(&gpu, &tokens).await?),
        Err(error) => println!("no GPU: {error}"),
    }
    Ok(())
}
