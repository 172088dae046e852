//! Searches over distributions that the tests make; no model runs here.

mod constrained;
mod reference_search;
mod rules;
mod search;
mod toy_search;
