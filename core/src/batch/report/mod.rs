//! One page of HTML about a batch, as a pure function of its journal. It loads nothing, and nothing in it is from a prompt: the journal
//! has none. [`html`] escapes every text from outside, and the page's own policy allows no script and no style but its own two.

mod chart;
mod html;
mod moments;
mod next_steps;
pub(crate) mod page;
mod table;
pub(crate) mod timeline;
