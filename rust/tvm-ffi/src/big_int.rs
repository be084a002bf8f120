// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! [`BigInt`]: an integer of any size.

use std::cmp::Ordering;

use tvm_ffi_sys::{
    TVMFFIAny, TVMFFIBigIntFromByteArray, TVMFFIBigIntGetContentByteArray, TVMFFIByteArray,
    TVMFFITypeIndex,
};

use crate::any::{Any, AnyView};
use crate::error::{Error, Result, OVERFLOW_ERROR, VALUE_ERROR};
use crate::type_traits::{simple_schema, AnyCompatible};

const INT: i32 = TVMFFITypeIndex::kTVMFFIInt as i32;
const BOOL: i32 = TVMFFITypeIndex::kTVMFFIBool as i32;
const BIG_INT: i32 = TVMFFITypeIndex::kTVMFFIBigInt as i32;

/// An integer of any size; one that fits `i64` is stored in place.
#[repr(transparent)]
#[derive(Clone)]
pub struct BigInt {
    any: Any,
}

// SAFETY: immutable content with an atomic count.
unsafe impl Send for BigInt {}
// SAFETY: as above.
unsafe impl Sync for BigInt {}

impl BigInt {
    /// Integer from two's complement words, least significant first; no words mean 0.
    pub fn from_words(words: &[i64]) -> Self {
        let size = std::mem::size_of_val(words);
        let input = TVMFFIByteArray { data: words.as_ptr().cast(), size };
        let mut cell = TVMFFIAny::new();
        // SAFETY: the words live through the call and are a whole number of words.
        let code = unsafe { TVMFFIBigIntFromByteArray(&input, &mut cell) };
        assert_eq!(code, 0, "out of memory for an integer of {} words", words.len());
        // SAFETY: the call returned an owned integer.
        Self { any: unsafe { Any::from_raw(cell) } }
    }

    /// Two's complement words, least significant first, as few as hold the value.
    pub fn words(&self) -> Vec<i64> {
        // SAFETY: the cell is an Int or BigInt; the words are copied while it is borrowed. They
        // are 8-byte aligned: the cell's payload or the object's own words.
        unsafe {
            let content = TVMFFIBigIntGetContentByteArray(self.any.as_raw());
            std::slice::from_raw_parts(content.data.cast::<i64>(), content.size / 8).to_vec()
        }
    }

    /// Whether the value is below 0.
    pub fn is_negative(&self) -> bool {
        self.words().last().is_some_and(|word| *word < 0)
    }

    fn magnitude(&self) -> Vec<u64> {
        let mut words: Vec<u64> = self.words().iter().map(|word| *word as u64).collect();
        if self.is_negative() {
            let mut carry = true;
            for word in &mut words {
                let (sum, overflow) = (!*word).overflowing_add(carry as u64);
                (*word, carry) = (sum, overflow);
            }
        }
        words
    }
}

/// Word `index` of a two's complement number, the sign repeated beyond its end.
fn word_at(words: &[i64], index: usize) -> u64 {
    match words.get(index) {
        Some(word) => *word as u64,
        None if words.last().is_some_and(|word| *word < 0) => u64::MAX,
        None => 0,
    }
}

/// `left + right`, or with `invert` `left - right` (as `left + !right + 1`).
fn add_words(left: &[i64], right: &[i64], invert: bool) -> BigInt {
    let count = left.len().max(right.len()) + 1;
    let mut carry = invert;
    let sum = (0..count).map(|i| {
        let other = word_at(right, i);
        let (sum, first) = word_at(left, i).overflowing_add(if invert { !other } else { other });
        let (sum, second) = sum.overflowing_add(carry as u64);
        carry = first || second;
        sum as i64
    });
    BigInt::from_words(&sum.collect::<Vec<_>>())
}

impl std::ops::Add for &BigInt {
    type Output = BigInt;
    fn add(self, other: &BigInt) -> BigInt {
        add_words(&self.words(), &other.words(), false)
    }
}

impl std::ops::Sub for &BigInt {
    type Output = BigInt;
    fn sub(self, other: &BigInt) -> BigInt {
        add_words(&self.words(), &other.words(), true)
    }
}

impl std::ops::Neg for &BigInt {
    type Output = BigInt;
    fn neg(self) -> BigInt {
        add_words(&[], &self.words(), true)
    }
}

impl std::ops::Mul for &BigInt {
    type Output = BigInt;
    fn mul(self, other: &BigInt) -> BigInt {
        let (left, right) = (self.magnitude(), other.magnitude());
        // One more word keeps the sign bit of the product clear.
        let mut product = vec![0u64; left.len() + right.len() + 1];
        for (i, l) in left.iter().enumerate() {
            let mut carry = 0u128;
            for (j, r) in right.iter().enumerate() {
                let value = u128::from(product[i + j]) + u128::from(*l) * u128::from(*r) + carry;
                product[i + j] = value as u64;
                carry = value >> 64;
            }
            product[i + right.len()] = carry as u64;
        }
        let words: Vec<i64> = product.into_iter().map(|word| word as i64).collect();
        let product = BigInt::from_words(&words);
        if self.is_negative() == other.is_negative() {
            product
        } else {
            -&product
        }
    }
}

impl From<i64> for BigInt {
    fn from(value: i64) -> Self {
        Self { any: Any::from(value) }
    }
}

impl From<i128> for BigInt {
    fn from(value: i128) -> Self {
        Self::from_words(&[value as i64, (value >> 64) as i64])
    }
}

impl From<u64> for BigInt {
    fn from(value: u64) -> Self {
        Self::from(value as i128)
    }
}

impl TryFrom<&BigInt> for i128 {
    type Error = Error;
    fn try_from(value: &BigInt) -> Result<i128> {
        match value.words()[..] {
            [] => Ok(0),
            [low] => Ok(low as i128),
            [low, high] => Ok((high as i128) << 64 | low as u64 as i128),
            _ => crate::bail!(OVERFLOW_ERROR, "BigInt does not fit i128"),
        }
    }
}

impl TryFrom<&BigInt> for i64 {
    type Error = Error;
    fn try_from(value: &BigInt) -> Result<i64> {
        match value.words()[..] {
            [] => Ok(0),
            [low] => Ok(low),
            _ => crate::bail!(OVERFLOW_ERROR, "BigInt does not fit int64_t"),
        }
    }
}

impl std::str::FromStr for BigInt {
    type Err = Error;

    /// Parses decimal digits with an optional sign.
    fn from_str(text: &str) -> Result<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        crate::ensure!(
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()),
            VALUE_ERROR,
            "Invalid decimal string for ffi.BigInt: {text:?}"
        );
        let mut words: Vec<u64> = Vec::new();
        for digit in digits.bytes() {
            let mut carry = u128::from(digit - b'0');
            for word in &mut words {
                let value = u128::from(*word) * 10 + carry;
                *word = value as u64;
                carry = value >> 64;
            }
            if carry != 0 {
                words.push(carry as u64);
            }
        }
        words.push(0); // room for the sign
        if negative {
            let mut carry = true;
            for word in &mut words {
                let (sum, overflow) = (!*word).overflowing_add(carry as u64);
                (*word, carry) = (sum, overflow);
            }
        }
        let words: Vec<i64> = words.into_iter().map(|word| word as i64).collect();
        Ok(Self::from_words(&words))
    }
}

impl std::fmt::Display for BigInt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const CHUNK: u128 = 10_000_000_000_000_000_000; // 10^19, the most digits of one word
        let mut words = self.magnitude();
        let mut chunks = Vec::new();
        while words.iter().any(|word| *word != 0) {
            let mut rest = 0u128;
            for word in words.iter_mut().rev() {
                let value = rest << 64 | u128::from(*word);
                *word = (value / CHUNK) as u64;
                rest = value % CHUNK;
            }
            chunks.push(rest);
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:019}"));
        }
        f.pad_integral(!self.is_negative(), "", &text)
    }
}

impl std::fmt::Debug for BigInt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl PartialEq for BigInt {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for BigInt {}

impl PartialOrd for BigInt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BigInt {
    fn cmp(&self, other: &Self) -> Ordering {
        let (left, right) = (self.words(), other.words());
        let sign = |words: &[i64]| words.last().is_none_or(|word| *word >= 0);
        // Words are as few as possible, so of two numbers of one sign the longer is larger in
        // magnitude; equally long ones compare from the top, the top word with its sign.
        sign(&left).cmp(&sign(&right)).then_with(|| {
            let by_length = left.len().cmp(&right.len());
            let by_length = if sign(&left) { by_length } else { by_length.reverse() };
            by_length.then_with(|| {
                let words = left.iter().rev().zip(right.iter().rev()).enumerate();
                words
                    .map(|(i, (l, r))| match i {
                        0 => l.cmp(r),
                        _ => (*l as u64).cmp(&(*r as u64)),
                    })
                    .find(|order| order.is_ne())
                    .unwrap_or(Ordering::Equal)
            })
        })
    }
}

// SAFETY: Int and BigInt cells are this type's own representation.
unsafe impl AnyCompatible for BigInt {
    const ZERO_IS_VALUE: bool = false;

    fn type_str() -> std::string::String {
        "BigInt".to_string()
    }
    fn type_schema() -> std::string::String {
        simple_schema("ffi.BigInt")
    }
    unsafe fn copy_to_any_view(src: &Self, data: &mut TVMFFIAny) {
        *data = *src.any.as_raw();
    }
    unsafe fn move_to_any(src: Self, data: &mut TVMFFIAny) {
        *data = Any::into_raw(src.any);
    }
    unsafe fn check_any_strict(data: &TVMFFIAny) -> bool {
        data.type_index == INT || data.type_index == BIG_INT
    }
    unsafe fn copy_from_any_view_after_check(data: &TVMFFIAny) -> Self {
        // SAFETY: promised by the caller.
        Self { any: Any::from(unsafe { AnyView::from_raw(*data) }) }
    }
    unsafe fn move_from_any_after_check(data: &mut TVMFFIAny) -> Self {
        // SAFETY: promised by the caller; the cell becomes None.
        Self { any: unsafe { Any::from_raw(std::mem::take(data)) } }
    }
    unsafe fn try_cast_from_any_view(data: &TVMFFIAny) -> Option<Self> {
        match data.type_index {
            BOOL => Some(Self::from((data.bits() != 0) as i64)),
            // SAFETY: the type is checked.
            INT | BIG_INT => Some(unsafe { Self::copy_from_any_view_after_check(data) }),
            _ => None,
        }
    }
}
crate::impl_any_compatible_conversions!(BigInt);
