//! Loops over naga's program: those that have no end, and those with so many constant turns that a compiler unrolls for
//! minutes.

use naga::{
    BinaryOperator, Block, Expression, Function, Handle, Literal, LocalVariable, Module, Statement, TypeInner,
};

use super::portable::each_statement;

/// Most turns of nested loops whose counts are all constant. FXC (Direct3D without DXC) unrolls such loops as a whole, and its
/// time grows with the square of their statements; Mesa's drivers unroll them for each pipeline.
const MOST_TURNS: u64 = 1024;

/// The rules that a function's loops break.
pub fn problems(module: &Module, function: &Function) -> Vec<String> {
    let mut problems = Vec::new();
    Walk { module, function, problems: &mut problems }.block(&function.body, 1, false);
    problems
}

struct Walk<'a> {
    module: &'a Module,
    function: &'a Function,
    problems: &'a mut Vec<String>,
}

impl Walk<'_> {
    /// * `turns`: the product of the constant counts of the loops around
    /// * `unrolls`: whether the count of the innermost loop is constant
    fn block(&mut self, block: &Block, turns: u64, unrolls: bool) {
        for (index, statement) in block.iter().enumerate() {
            match statement {
                Statement::Block(inner) => self.block(inner, turns, unrolls),
                Statement::If { accept, reject, .. } => {
                    self.block(accept, turns, unrolls);
                    self.block(reject, turns, unrolls);
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.block(&case.body, turns, unrolls))
                }
                Statement::Loop { body, continuing, break_if } => {
                    let mut ends = break_if.is_some();
                    each_statement(body, &mut |it| {
                        ends |= matches!(it, Statement::Break | Statement::Return { .. })
                    });
                    if !ends {
                        self.problems.push("a loop has no end".into());
                    }
                    // a loop of unknown count is not unrolled, so what is in it counts once
                    let count = self.count(&block[..index], body, continuing);
                    let all = count.map_or(1, |count| turns * count);
                    if all > MOST_TURNS {
                        self.problems.push(format!("nested loops of {all} turns, all constant"));
                    }
                    self.block(body, all, count.is_some());
                    self.block(continuing, all, count.is_some());
                }
                // FXC cannot address a vector's components: it has to unroll the loop around, or gives up
                Statement::Store { pointer, .. } if !unrolls && self.is_component(*pointer) => {
                    self.problems.push("a component of a local vector is written by number".into());
                }
                _ => {}
            }
        }
    }

    /// Whether it is a component of a local vector whose number is known only when the shader runs.
    fn is_component(&self, pointer: Handle<Expression>) -> bool {
        let Expression::Access { base, .. } = self.function.expressions[pointer] else { return false };
        let Expression::LocalVariable(variable) = self.function.expressions[base] else { return false };
        let ty = &self.module.types[self.function.local_variables[variable].ty].inner;
        matches!(ty, TypeInner::Vector { .. } | TypeInner::Matrix { .. })
    }

    /// The turns of `for (var i = A; i < B; i += C)` with constants.
    fn count(&self, before: &[Statement], body: &Block, continuing: &Block) -> Option<u64> {
        let condition = body.iter().find_map(|statement| match statement {
            Statement::If { condition, accept, reject } => {
                let leaves = |block: &Block| matches!(block.last(), Some(Statement::Break));
                (leaves(reject) || leaves(accept)).then_some(*condition)
            }
            _ => None,
        })?;
        let (op, left, right) = match self.function.expressions[condition] {
            Expression::Binary { op, left, right } => (op, left, right),
            Expression::Unary { expr, .. } => match self.function.expressions[expr] {
                Expression::Binary { op, left, right } => (op, left, right),
                _ => return None,
            },
            _ => return None,
        };
        let variable = self.loaded(left)?;
        let end = self.number(right)?;
        let start = before.iter().rev().find_map(|statement| self.stored(statement, variable));
        let start = match start {
            Some(value) => self.number(value)?,
            None => self.number_of_init(variable)?,
        };
        let value = continuing.iter().find_map(|statement| self.stored(statement, variable))?;
        let Expression::Binary { op: step_op, left: from, right: step } = self.function.expressions[value]
        else {
            return None;
        };
        if self.loaded(from)? != variable {
            return None;
        }
        let step = self.number(step)?.max(1);
        let distance = match op {
            BinaryOperator::Less | BinaryOperator::LessEqual | BinaryOperator::NotEqual => {
                end.saturating_sub(start)
            }
            BinaryOperator::Greater | BinaryOperator::GreaterEqual => start.saturating_sub(end),
            _ => return None,
        };
        match step_op {
            BinaryOperator::Add | BinaryOperator::Subtract => Some(distance.div_ceil(step)),
            BinaryOperator::Multiply | BinaryOperator::Divide => Some(64 - distance.leading_zeros() as u64),
            _ => None,
        }
    }

    fn loaded(&self, expression: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        let Expression::Load { pointer } = self.function.expressions[expression] else { return None };
        match self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        }
    }

    fn stored(&self, statement: &Statement, variable: Handle<LocalVariable>) -> Option<Handle<Expression>> {
        let Statement::Store { pointer, value } = *statement else { return None };
        match self.function.expressions[pointer] {
            Expression::LocalVariable(stored) if stored == variable => Some(value),
            _ => None,
        }
    }

    fn number_of_init(&self, variable: Handle<LocalVariable>) -> Option<u64> {
        self.number(self.function.local_variables[variable].init?)
    }

    fn number(&self, expression: Handle<Expression>) -> Option<u64> {
        let of_literal = |literal: Literal| match literal {
            Literal::U32(value) => Some(value.into()),
            Literal::I32(value) => u64::try_from(value).ok(),
            _ => None,
        };
        match self.function.expressions[expression] {
            Expression::Literal(literal) => of_literal(literal),
            Expression::ZeroValue(_) => Some(0),
            Expression::Constant(constant) => {
                match self.module.global_expressions[self.module.constants[constant].init] {
                    Expression::Literal(literal) => of_literal(literal),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
