//! The cost of a training in floating-point operations.

use serde_json::json;

/// What the paper multiplies: "the training time, the number of GPUs used, and an estimate of the sustained single-precision
/// floating-point capacity of each GPU" (Vaswani et al. 2017, section 6.1).
#[derive(Clone, Copy)]
pub struct Rule {
    pub hours: f64,
    pub gpus: f64,
    /// 10¹² operations a second.
    pub tflops: f64,
}

impl Rule {
    pub fn operations(&self) -> f64 {
        self.hours * 3600.0 * self.gpus * self.tflops * 1e12
    }
}

/// A training: by the paper's rule, and by its arithmetic.
pub struct Training {
    pub rule: Option<Rule>,
    pub arithmetic: Option<f64>,
}

/// Operations of a training on pairs of `target` tokens. A multiplication is two operations with its addition; gradients take two
/// more products for each.
pub fn arithmetic(multiplications: u128, target: u64, batch: u64, steps: u64) -> f64 {
    let pairs = batch as f64 / target as f64;
    3.0 * 2.0 * multiplications as f64 * pairs * steps as f64
}

impl Training {
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(rule) = &self.rule {
            let Rule { hours, gpus, tflops } = rule;
            let many = if *gpus == 1.0 { "" } else { "s" };
            lines.push(format!(
                "training by the paper's rule: {:.1e} operations = {hours} h × {gpus} GPU{many} × {tflops} TFLOPS",
                rule.operations()
            ));
        }
        if let Some(arithmetic) = self.arithmetic {
            lines.push(format!("training by its arithmetic: {arithmetic:.1e} operations"));
        }
        if let (Some(rule), Some(arithmetic)) = (&self.rule, self.arithmetic) {
            let share = 100.0 * arithmetic / rule.operations();
            lines.push(format!("the arithmetic is {share:.0} % of the rule's"));
        }
        lines
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "hours": self.rule.map(|rule| rule.hours),
            "gpus": self.rule.map(|rule| rule.gpus),
            "tflops": self.rule.map(|rule| rule.tflops),
            "operations_by_rule": self.rule.map(|rule| rule.operations()),
            "operations_by_arithmetic": self.arithmetic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    /// Table 2 of the paper: 12 hours and 3.5 days on eight P100.
    #[test]
    fn the_rule_gives_the_paper_s_numbers() {
        let operations = |hours| format!("{:.1e}", Rule { hours, gpus: 8.0, tflops: 9.5 }.operations());
        assert_eq!(operations(12.0), "3.3e18");
        assert_eq!(operations(3.5 * 24.0), "2.3e19");
    }
}
