// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Reads and writes numpy's `.npy` files (little-endian, row-major).

use tvm_ffi::{
    bail, ensure, ffi_error, AsDLDataType, DLDataType, Error, Result, Tensor, RUNTIME_ERROR,
    VALUE_ERROR,
};

const MAGIC: &[u8] = b"\x93NUMPY";

fn io_error(path: &str, error: std::io::Error) -> Error {
    ffi_error!(RUNTIME_ERROR, "{path}: {error}")
}

/// Text after `'key':` in the header's dictionary.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let start = header.find(&format!("'{key}':"))? + key.len() + 3;
    Some(header[start..].trim_start())
}

fn shape_of(header: &str) -> Option<Vec<i64>> {
    let inside = entry(header, "shape")?.strip_prefix('(')?.split(')').next()?;
    let extents = inside.split(',').map(str::trim).filter(|text| !text.is_empty());
    extents.map(|text| text.parse().ok()).collect()
}

/// Header text and data of a file.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (size, rest) = match rest.first()? {
        1 => (u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?) as usize, rest.get(4..)?),
        _ => (u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize, rest.get(6..)?),
    };
    Some((std::str::from_utf8(rest.get(..size)?).ok()?, rest.get(size..)?))
}

macro_rules! element_types {
    ($($descr:literal $t:ty),* $(,)?) => {
        fn tensor_of(descr: &str, data: &[u8], shape: &[i64]) -> Result<Tensor> {
            match descr {
                $($descr => {
                    const SIZE: usize = std::mem::size_of::<$t>();
                    let chunks = data.chunks_exact(SIZE);
                    ensure!(chunks.remainder().is_empty(), VALUE_ERROR, "the data is cut off");
                    let values = chunks.map(|chunk| {
                        let mut bytes = [0u8; SIZE];
                        bytes.copy_from_slice(chunk);
                        <$t>::from_le_bytes(bytes)
                    });
                    Tensor::from_slice(&values.collect::<Vec<$t>>(), shape)
                })*
                _ => bail!(VALUE_ERROR, "cannot read element type {descr}"),
            }
        }

        fn bytes_of(tensor: &Tensor) -> Result<(&'static str, Vec<u8>)> {
            let dtype: DLDataType = tensor.dtype();
            $(if dtype == <$t>::DL_DATA_TYPE {
                let values = tensor.data_as_slice::<$t>()?;
                return Ok(($descr, values.iter().flat_map(|v| v.to_le_bytes()).collect()));
            })*
            bail!(VALUE_ERROR, "cannot write {tensor:?}")
        }
    };
}
element_types!(
    "<f4" f32, "<f8" f64, "|i1" i8, "<i2" i16, "<i4" i32, "<i8" i64, "|u1" u8, "<u2" u16,
    "<u4" u32, "<u8" u64,
);

/// Tensor with the content of a file.
pub fn read(path: &str) -> Result<Tensor> {
    let bytes = std::fs::read(path).map_err(|error| io_error(path, error))?;
    let parts = split(&bytes).and_then(|(header, data)| {
        let descr = entry(header, "descr")?.split('\'').nth(1)?;
        let order = entry(header, "fortran_order")?.starts_with("False");
        Some((descr, order, shape_of(header)?, data))
    });
    let Some((descr, row_major, shape, data)) = parts else {
        bail!(VALUE_ERROR, "{path} is no .npy file");
    };
    ensure!(row_major, VALUE_ERROR, "{path} is not in row-major order");
    tensor_of(descr, data, &shape)
        .map_err(|error| Error::with_cause(VALUE_ERROR, &format!("cannot read {path}"), "", error))
}

/// Writes a host tensor.
pub fn write(path: &str, tensor: &Tensor) -> Result<()> {
    let (descr, data) = bytes_of(tensor)?;
    let shape: String = tensor.shape().iter().map(|extent| format!("{extent},")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data starts at a multiple of 64 bytes.
    while (MAGIC.len() + 4 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes()].concat();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&data);
    std::fs::write(path, bytes).map_err(|error| io_error(path, error))
}
