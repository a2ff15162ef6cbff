//! The environment's variables, as the settings read them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::error::Error;
use crate::text::describe;

/// The process's variables, or a test's. An empty variable counts as not set. In a program with more rights than the user who
/// started it every variable counts as not set, because that user may have set it.
#[derive(Clone, Default)]
pub(crate) struct Environment(Option<BTreeMap<String, OsString>>);

impl Environment {
    #[cfg(test)]
    pub(crate) fn of(variables: &[(&str, &str)]) -> Environment {
        Environment(Some(variables.iter().map(|(name, value)| ((*name).into(), value.into())).collect()))
    }

    /// # Errors
    /// It is not text.
    pub(crate) fn get(&self, name: &str) -> Result<Option<String>, Error> {
        match self.get_os(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err(Error::invalid(format!("{name} is not valid UTF-8"))),
        }
    }

    /// The same for a path, which need not be text.
    pub(crate) fn get_os(&self, name: &str) -> Option<OsString> {
        let value = match &self.0 {
            Some(variables) => variables.get(name).cloned(),
            None if crate::os::privilege::is_raised() => None,
            None => std::env::var_os(name),
        };
        value.filter(|value| !value.is_empty())
    }
}

/// Reads a variable that is 1 or 0; one that is not set is 0.
///
/// # Errors
/// It has another value.
pub(crate) fn flag(environment: &Environment, name: &str) -> Result<bool, Error> {
    match environment.get(name)?.as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(Error::invalid(format!("{name} is {:?}", describe(other))).with_hint("Give 1 or 0.")),
    }
}

/// Returns the argument, or else the variable.
///
/// # Errors
/// Neither is set.
pub(crate) fn required(
    given: Option<String>,
    environment: &Environment,
    name: &str,
    variable: &str,
) -> Result<String, Error> {
    match given.map_or_else(|| environment.get(variable), |given| Ok(Some(given)))? {
        Some(text) => Ok(text),
        None => Err(Error::invalid(format!("{name} is missing")).with_hint(format!("Pass {name} or set {variable}."))),
    }
}
