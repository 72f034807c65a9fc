//! Values of Rust as objects of Python, and JSON-like objects of Python as values of Rust.

use std::fmt::Display;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::ser::{self, Serialize};
use serde_json::{Map, Number, Value};

/// The number of containers inside each other that are read: deeper ones, and those that contain themselves, are refused.
const MAX_DEPTH: usize = 128;

/// Returns a value as plain objects: dictionaries, lists, texts, numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(ToPython(py)).map_err(|ConversionError(error)| error)
}

/// Returns the JSON of an object that is made of dictionaries, lists, tuples, texts, numbers, booleans and `None`.
pub(crate) fn to_json(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    json_at(object, 0)
}

/// Returns the members of a mapping as JSON.
pub(crate) fn to_object(object: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
    match to_json(object)? {
        Value::Object(members) => Ok(members),
        _ => Err(PyTypeError::new_err("expected a dict")),
    }
}

fn json_at(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MAX_DEPTH {
        return Err(PyValueError::new_err("the value is nested too deeply"));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    // Before numbers: a bool is an int.
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        if let Ok(number) = object.extract::<i64>() {
            return Ok(number.into());
        }
        let number: u64 = object.extract().map_err(|_| PyValueError::new_err("the number is too large for JSON"))?;
        return Ok(number.into());
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        let number = number.extract::<f64>()?;
        return Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| PyValueError::new_err(format!("{number} is no number of JSON")));
    }
    if let Ok(members) = object.cast::<PyDict>() {
        let mut map = Map::new();
        for (key, value) in members.iter() {
            let key = key.cast::<PyString>().map_err(|_| PyTypeError::new_err("the keys of a dict must be str"))?;
            map.insert(key.to_cow()?.into_owned(), json_at(&value, depth + 1)?);
        }
        return Ok(Value::Object(map));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| json_at(&item?, depth + 1));
        return items.collect::<PyResult<Vec<Value>>>().map(Value::Array);
    }
    Err(PyTypeError::new_err(format!("{} is not a type of JSON", object.get_type().name()?)))
}

/// An error of Python, as the serializer's error.
#[derive(Debug)]
pub(crate) struct ConversionError(PyErr);

impl Display for ConversionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ConversionError {}

impl ser::Error for ConversionError {
    fn custom<T: Display>(message: T) -> ConversionError {
        ConversionError(PyValueError::new_err(message.to_string()))
    }
}

impl From<PyErr> for ConversionError {
    fn from(error: PyErr) -> ConversionError {
        ConversionError(error)
    }
}

type Converted<'py> = Result<Bound<'py, PyAny>, ConversionError>;

/// The serializer whose output is an object.
#[derive(Clone, Copy)]
struct ToPython<'py>(Python<'py>);

/// A list under construction.
struct Items<'py> {
    py: Python<'py>,
    items: Vec<Bound<'py, PyAny>>,
}

/// A dictionary under construction.
struct Members<'py> {
    dict: Bound<'py, PyDict>,
    key: Option<Bound<'py, PyAny>>,
    /// The name of the variant that it is the content of.
    variant: Option<&'static str>,
}

impl<'py> ToPython<'py> {
    fn members(self, variant: Option<&'static str>) -> Members<'py> {
        Members { dict: PyDict::new(self.0), key: None, variant }
    }
}

macro_rules! plain {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Converted<'py> {
            match value.into_pyobject(self.0) {
                Ok(object) => Ok(object.to_owned().into_any()),
                Err(error) => Err(ConversionError(error.into())),
            }
        })*
    };
}

impl<'py> ser::Serializer for ToPython<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ConversionError;
    type SerializeSeq = Items<'py>;
    type SerializeTuple = Items<'py>;
    type SerializeTupleStruct = Items<'py>;
    type SerializeTupleVariant = Items<'py>;
    type SerializeMap = Members<'py>;
    type SerializeStruct = Members<'py>;
    type SerializeStructVariant = Members<'py>;

    plain!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f64: f64,
        serialize_char: char, serialize_str: &str
    );

    fn serialize_f32(self, value: f32) -> Converted<'py> {
        // By its digits: 0.7 is to be 0.7, and not 0.699999988079071.
        self.serialize_f64(value.to_string().parse().unwrap_or_else(|_| f64::from(value)))
    }

    fn serialize_bytes(self, value: &[u8]) -> Converted<'py> {
        Ok(PyBytes::new(self.0, value).into_any())
    }

    fn serialize_none(self) -> Converted<'py> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Converted<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Converted<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Converted<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Converted<'py> {
        Ok(PyString::intern(self.0, variant).into_any())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Converted<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Converted<'py> {
        let outer = PyDict::new(self.0);
        outer.set_item(variant, value.serialize(self)?)?;
        Ok(outer.into_any())
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Items<'py>, ConversionError> {
        Ok(Items { py: self.0, items: Vec::with_capacity(len.unwrap_or(0).min(1 << 16)) })
    }

    fn serialize_tuple(self, len: usize) -> Result<Items<'py>, ConversionError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Items<'py>, ConversionError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        len: usize,
    ) -> Result<Items<'py>, ConversionError> {
        self.serialize_seq(Some(len))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Members<'py>, ConversionError> {
        Ok(self.members(None))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Members<'py>, ConversionError> {
        Ok(self.members(None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Members<'py>, ConversionError> {
        Ok(self.members(Some(variant)))
    }
}

impl<'py> Items<'py> {
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConversionError> {
        self.items.push(value.serialize(ToPython(self.py))?);
        Ok(())
    }

    fn done(self) -> Converted<'py> {
        Ok(PyList::new(self.py, self.items)?.into_any())
    }
}

macro_rules! items {
    ($($name:ident: $method:ident),*) => {
        $(impl<'py> ser::$name for Items<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = ConversionError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConversionError> {
                self.put(value)
            }

            fn end(self) -> Converted<'py> {
                self.done()
            }
        })*
    };
}

items!(
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

impl<'py> Members<'py> {
    fn put<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), ConversionError> {
        let py = self.dict.py();
        Ok(self.dict.set_item(PyString::intern(py, key), value.serialize(ToPython(py))?)?)
    }

    fn done(self) -> Converted<'py> {
        match self.variant {
            None => Ok(self.dict.into_any()),
            Some(variant) => {
                let outer = PyDict::new(self.dict.py());
                outer.set_item(variant, self.dict)?;
                Ok(outer.into_any())
            }
        }
    }
}

impl<'py> ser::SerializeMap for Members<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ConversionError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ConversionError> {
        self.key = Some(key.serialize(ToPython(self.dict.py()))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ConversionError> {
        let value = value.serialize(ToPython(self.dict.py()))?;
        Ok(self.dict.set_item(self.key.take(), value)?)
    }

    fn end(self) -> Converted<'py> {
        self.done()
    }
}

macro_rules! members {
    ($($name:ident),*) => {
        $(impl<'py> ser::$name for Members<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = ConversionError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), ConversionError> {
                self.put(key, value)
            }

            fn end(self) -> Converted<'py> {
                self.done()
            }
        })*
    };
}

members!(SerializeStruct, SerializeStructVariant);
