//! Native methods and functions with type hints. Python lets no built-in method have annotations, so `typing.get_type_hints`, and
//! libraries that turn functions into tools or commands, would find none. So each public one is a [`Function`] that calls the built-in
//! one. Its hints, its signature and its documentation are those of the package's stub, which `agentjob/_hints.py` reads when a program
//! first asks for them.

use agentjob_core::Delivery;
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::errors::add_note;

/// The methods of `Client` that deliver a message.
const DELIVERING: [&str; 3] = ["send_message", "create_job", "send_and_wait"];

// Without a documentation comment: `__doc__` of each is the stub's.
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct Function {
    built_in: Py<PyAny>,
    delivers: bool,
}

#[pymethods]
impl Function {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.built_in.bind(args.py()).call(args, kwargs).inspect_err(|raised| {
            if self.delivers {
                note_refusal(args.py(), raised);
            }
        })
    }

    /// As for a function of Python: a method of an object, or this itself for its class.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _class: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if object.is_none() { Ok(slf.as_any().clone()) } else { method_type(slf.py())?.call1((slf, object)) }
    }

    /// The rest is the built-in one's: its name, its class.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.built_in
            .bind(py)
            .getattr(name)
            .map_err(|_| PyAttributeError::new_err(format!("this function has no attribute '{name}'")))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<agentjob function {}>", self.qualified_name(py)?))
    }

    /// It pickles by its name.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<String> {
        self.qualified_name(py)
    }

    #[getter]
    fn __doc__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.of_stub(py, "doc")
    }

    #[getter]
    fn __annotations__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.of_stub(py, "annotations")
    }

    #[getter]
    fn __signature__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.of_stub(py, "signature")
    }
}

impl Function {
    fn qualified_name(&self, py: Python<'_>) -> PyResult<String> {
        self.built_in.bind(py).getattr("__qualname__")?.extract()
    }

    fn of_stub<'py>(&self, py: Python<'py>, what: &str) -> PyResult<Bound<'py, PyAny>> {
        py.import("agentjob._hints")?.call_method1(what, (&self.built_in,))
    }
}

/// Gives the verdict to pyo3's own TypeError for an argument that is missing, surplus or there twice. Any other TypeError has it already.
fn note_refusal(py: Python<'_>, raised: &PyErr) {
    let raised = raised.value(py);
    if raised.is_exact_instance_of::<PyTypeError>() && raised.hasattr(intern!(py, "delivery")).is_ok_and(|has| !has) {
        add_note(raised, Delivery::NotSent);
    }
}

/// `types.MethodType`.
fn method_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static METHOD: pyo3::sync::PyOnceLock<Py<PyType>> = pyo3::sync::PyOnceLock::new();
    METHOD.import(py, "types", "MethodType")
}

/// Gives every public method of these classes, and these functions of the module, their type hints.
pub(crate) fn with_hints(module: &Bound<'_, PyModule>, classes: &[&str], functions: &[&str]) -> PyResult<()> {
    let public = |name: &str| !name.starts_with('_');
    for class in classes {
        let class = module.getattr(*class)?;
        let members = class.getattr("__dict__")?.call_method0("copy")?.cast_into::<PyDict>()?;
        for (name, member) in members {
            let name: String = name.extract()?;
            if public(&name) && member.is_callable() {
                let delivers = DELIVERING.contains(&name.as_str());
                class.setattr(name, Function { built_in: member.unbind(), delivers })?;
            }
        }
    }
    for name in functions {
        let built_in = module.getattr(*name)?.unbind();
        module.setattr(*name, Function { built_in, delivers: false })?;
    }
    Ok(())
}
