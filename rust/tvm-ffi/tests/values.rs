// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Any, strings, numbers, optionals, containers and tensors.

use std::collections::HashMap;
use std::mem::size_of;
use tvm_ffi::tvm_ffi_sys::TVMFFITypeIndex as Index;
use tvm_ffi::*;

#[test]
fn layouts_are_those_of_the_abi() {
    assert_eq!(size_of::<Any>(), 16);
    assert_eq!(size_of::<AnyView<'_>>(), 16);
    assert_eq!(size_of::<String>(), 16);
    assert_eq!(size_of::<BigInt>(), 16);
    assert_eq!(size_of::<Array<i64>>(), 8);
    assert_eq!(size_of::<Option<Tensor>>(), 8);
    assert_eq!(size_of::<Optional<Tensor>>(), 8);
    assert_eq!(size_of::<Optional<i64>>(), 16);
}

#[test]
fn plain_values_round_trip() {
    assert_eq!(i32::try_from(Any::from(-7i64)).unwrap(), -7);
    assert!(bool::try_from(Any::from(1i64)).unwrap());
    assert_eq!(f32::try_from(Any::from(3i64)).unwrap(), 3.0);
    assert_eq!(Any::from(1i64).try_as::<bool>(), None, "strict");
    let error = i64::try_from(Any::from(1.5f64)).unwrap_err();
    assert_eq!(error.to_string(), "TypeError: Cannot convert from type `float` to `int`");
    let device = DLDevice::new(DLDeviceType::kDLCUDA, 1);
    assert_eq!(Any::from(device).cast::<DLDevice>().unwrap(), device);
    assert_eq!(Any::from(String::from("cuda:1")).cast::<DLDevice>().unwrap(), device);
    let dtype = DLDataType::try_from_str("float16x4").unwrap();
    assert_eq!((dtype.bits, dtype.lanes, dtype.item_size()), (16, 4, 8));
    assert_eq!(DLDataTypeExt::to_string(&dtype), "float16x4");
    assert_eq!(Any::from(String::from("float16x4")).cast::<DLDataType>().unwrap(), dtype);
    let error = Any::from(String::from("floot")).cast::<DLDataType>().unwrap_err();
    assert_eq!(error.to_string(), "ValueError: unknown dtype `floot`");
}

#[test]
#[should_panic(expected = "Integer value 18446744073709551615 is too large to fit in int64_t.")]
fn huge_unsigned_values_are_refused() {
    let _ = Any::from(u64::MAX);
}

#[test]
fn strings_small_and_large() {
    for text in ["", "1234567", "12345678", "naïve – text"] {
        let string = String::from(text);
        let any = Any::from(string.clone());
        let small = any.type_index() == Index::kTVMFFISmallStr as i32;
        assert_eq!(small, text.len() <= 7);
        assert_eq!(any.cast::<String>().unwrap(), string);
        assert_eq!(string.as_str(), text);
        assert_eq!(string.len(), text.len());
    }
    let map: HashMap<String, i32> = [(String::from("key"), 1)].into();
    assert_eq!(map.get("key"), Some(&1), "hashes as str does");
    let text = String::from("shared between two owners");
    let any = Any::from(text.clone());
    assert_eq!(any.debug_strong_count(), Some(2));
    drop(text);
    assert_eq!(any.debug_strong_count(), Some(1));
    let bytes = Bytes::from(b"\xff\x00 raw bytes");
    assert_eq!(&Any::from(bytes.clone()).cast::<Bytes>().unwrap()[..], &bytes[..]);
    assert!(Any::from(bytes).cast::<String>().is_err());
}

#[test]
fn big_integers() {
    for text in [
        "0",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "340282366920938463463374607431768211456",
        "-10000000000000000000000000000000000000000",
    ] {
        let value: BigInt = text.parse().unwrap();
        assert_eq!(value.to_string(), text);
        let echo = Function::from_typed(|x: BigInt| -> Result<BigInt> { Ok(x) });
        assert_eq!(echo.call_tuple((&value,)).unwrap().cast::<BigInt>().unwrap(), value);
    }
    assert_eq!(i64::try_from(&BigInt::from(5i64)).unwrap(), 5);
    let big = BigInt::from(1i128 << 100);
    assert_eq!(i128::try_from(&big).unwrap(), 1 << 100);
    assert_eq!(Any::from(big.clone()).type_index(), Index::kTVMFFIBigInt as i32);
    assert_eq!(i64::try_from(&big).unwrap_err().kind(), OVERFLOW_ERROR);
    assert!(BigInt::from(-1i64) < BigInt::from(0i64) && big > BigInt::from(i64::MAX));
    assert!(BigInt::from(-(1i128 << 100)) < BigInt::from(i64::MIN));
    assert!("12x".parse::<BigInt>().is_err());
}

#[test]
fn big_integers_calculate() {
    let samples: Vec<i128> =
        [0, 1, -1, 7, i64::MAX as i128, i64::MIN as i128, 1 << 64, -(1 << 64), (1 << 62) * 3]
            .into();
    for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (*a, *b))) {
        let (x, y) = (BigInt::from(a), BigInt::from(b));
        assert_eq!(i128::try_from(&(&x + &y)).unwrap(), a + b, "{a} + {b}");
        assert_eq!(i128::try_from(&(&x - &y)).unwrap(), a - b, "{a} - {b}");
        if let Some(product) = a.checked_mul(b) {
            assert_eq!(i128::try_from(&(&x * &y)).unwrap(), product, "{a} * {b}");
        }
        assert_eq!(i128::try_from(&-&x).unwrap(), -a);
        assert_eq!(x.cmp(&y), a.cmp(&b));
    }
    let ten: BigInt = 10i64.into();
    let power = (0..40).fold(BigInt::from(-1i64), |product, _| &product * &ten);
    assert_eq!(power.to_string(), format!("-1{}", "0".repeat(40)));
}

#[test]
fn optionals() {
    let echo = Function::from_typed(|x: Option<String>| -> Result<Option<String>> { Ok(x) });
    assert!(echo.call_tuple(((),)).unwrap().is_none());
    assert_eq!(echo.call_tuple(("a",)).unwrap().cast::<Option<String>>().unwrap().unwrap(), "a");
    let mut optional = Optional::<Array<i64>>::none();
    assert!(optional.is_none());
    optional = Optional::from(Array::new(vec![1]));
    assert_eq!(optional.get().unwrap().len(), 1);
    assert_eq!(Any::from(Optional::from(3i64)).cast::<i64>().unwrap(), 3);
    assert_eq!(Optional::<i64>::try_from(Any::new()).unwrap().into_option(), None);
}

#[test]
fn arrays_copy_on_write() {
    let mut array: Array<i64> = (0..3).collect();
    let kept = array.clone();
    array.push(3);
    array.set(0, 10).unwrap();
    assert_eq!(array.iter().collect::<Vec<_>>(), [10, 1, 2, 3]);
    assert_eq!(kept.iter().collect::<Vec<_>>(), [0, 1, 2]);
    for i in 4..100 {
        array.push(i);
    }
    assert_eq!((array.len(), array.get(99).unwrap()), (100, 99));
    let error = array.get(100).unwrap_err();
    assert_eq!(error.to_string(), "IndexError: Index 100 out of bounds 100");
    // An array made here, read by C++.
    let size = Function::get_global("ffi.ArraySize").unwrap();
    assert_eq!(size.call_tuple((&array,)).unwrap().cast::<i64>().unwrap(), 100);
    let item = Function::get_global("ffi.ArrayGetItem").unwrap();
    assert_eq!(item.call_tuple((&array, 50)).unwrap().cast::<i64>().unwrap(), 50);
}

#[test]
fn arrays_convert_or_share() {
    let array = Array::new(vec![1i64, 2]);
    let any = Any::from(array.clone());
    let same: Array<i64> = any.clone().try_into().unwrap();
    assert!(same.same_as(&array), "shared when every element is of the type");
    let floats: Array<f64> = any.clone().try_into().unwrap();
    assert_eq!(floats.get(1).unwrap(), 2.0);
    let error = Array::<String>::try_from(any).unwrap_err();
    assert_eq!(error.message(), "Cannot convert from type `Array[index 0: int]` to `Array<str>`");
    let strings = Array::new(vec![String::from("a long enough string"); 3]);
    assert_eq!(Any::from(strings.get(0).unwrap()).debug_strong_count(), Some(4));
}

#[test]
fn lists_are_shared() {
    let list = List::new(vec![1i64]);
    let other = list.clone();
    other.append(2).unwrap();
    other.insert(0, 0).unwrap();
    list.set(1, 10).unwrap();
    assert_eq!(other.to_vec().unwrap(), [0, 10, 2]);
    assert_eq!(list.remove(0).unwrap(), 0);
    assert_eq!(list.get(9).unwrap_err().kind(), INDEX_ERROR);
    let array: Array<i64> = Any::from(list.clone()).cast().unwrap();
    list.clear().unwrap();
    assert!(other.is_empty() && array.len() == 2);
}

#[test]
fn maps_small_and_dense() {
    for count in [0i64, 1, 4, 5, 17, 1000] {
        let map: Map<String, i64> =
            (0..count).map(|i| (String::from(format!("key {i}")), i)).collect();
        assert_eq!(map.len() as i64, count);
        let keys: Vec<i64> = map.iter().map(|(_, value)| value).collect();
        assert_eq!(keys, (0..count).collect::<Vec<_>>(), "order of insertion");
        for i in 0..count {
            assert_eq!(map.get(&String::from(format!("key {i}"))).unwrap(), Some(i));
        }
        assert_eq!(map.get(&String::from("none")).unwrap(), None);
        assert_eq!(map.contains_key(&String::from("key 0")), count > 0);
    }
    let map: Map<i64, i64> = [(1, 2)].into_iter().collect();
    let any: Map<Any, Any> = Any::from(map.clone()).cast().unwrap();
    assert!(any.same_as(&map));
    let error = Any::from(map).cast::<Map<i64, String>>().unwrap_err();
    assert!(error.message().contains("Map[K, some value is int]"), "{error}");
}

#[test]
fn dicts_are_shared() {
    let dict = Dict::<i64, String>::new();
    let other = dict.clone();
    for i in 0..20 {
        other.insert(i, String::from(format!("value number {i}"))).unwrap();
    }
    assert_eq!(dict.len(), 20);
    assert_eq!(dict.get(&7).unwrap().unwrap(), "value number 7");
    dict.remove(&7).unwrap();
    dict.remove(&7).unwrap();
    assert_eq!(other.get(&7).unwrap(), None);
    let keys: Vec<i64> = other.to_vec().unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, (0..20).filter(|i| *i != 7).collect::<Vec<_>>());
    dict.clear().unwrap();
    assert!(other.is_empty() && !other.contains_key(&1).unwrap());
}

#[test]
fn shapes() {
    let shape = Shape::from([2, 3, 4]);
    assert_eq!((&shape[..], shape.numel()), (&[2i64, 3, 4][..], 24));
    let from_array: Shape = Any::from(Array::new(vec![5i64])).cast().unwrap();
    assert_eq!(from_array, Shape::from(vec![5]));
    assert_eq!(Shape::new(&[]).numel(), 1);
}

#[test]
fn tensors() {
    let values: Vec<f32> = (0..6).map(|i| i as f32).collect();
    let tensor = Tensor::from_slice(&values, &[2, 3]).unwrap();
    assert_eq!((tensor.shape(), tensor.strides()), (&[2i64, 3][..], &[3i64, 1][..]));
    assert_eq!((tensor.ndim(), tensor.numel(), tensor.is_contiguous()), (2, 6, true));
    assert_eq!(tensor.data_ptr() as usize % 64, 0);
    assert_eq!(tensor.data_as_slice::<f32>().unwrap(), values);
    tensor.clone().data_as_slice_mut::<f32>().unwrap()[0] = 9.0;
    assert_eq!(tensor.data_as_slice::<f32>().unwrap()[0], 9.0, "clones share data");
    let error = tensor.data_as_slice::<i32>().unwrap_err();
    assert_eq!(error.to_string(), "TypeError: Data type mismatch: expected int32, got float32");
    assert_eq!(format!("{tensor:?}"), "float32[2, 3]@cpu:0");
    assert!(Tensor::from_slice(&values, &[7]).is_err());
    let empty = Tensor::from_slice::<i8>(&[], &[0, 4]).unwrap();
    assert!(empty.data_as_slice::<i8>().unwrap().is_empty());
}

#[test]
fn tensors_through_dlpack_and_calls() {
    let tensor = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
    let packed = tensor.to_dlpack().unwrap();
    // SAFETY: the tensor is handed over.
    let again = unsafe { Tensor::from_dlpack(packed, 8, true) }.unwrap();
    assert_eq!(again.data_ptr(), tensor.data_ptr());
    drop(tensor);
    assert_eq!(again.data_as_slice::<i64>().unwrap(), [1, 2, 3]);
    let sum = Function::from_packed(|args: &[AnyView<'_>]| {
        let view = TensorView::try_from(args[0])?;
        Ok(Any::from(view.data_as_slice::<i64>()?.iter().sum::<i64>()))
    });
    for result in [sum.call_tuple((&again,)), sum.call_tuple((again.as_view(),))] {
        assert_eq!(result.unwrap().cast::<i64>().unwrap(), 6);
    }
    assert_eq!(sum.call_tuple((1,)).unwrap_err().kind(), TYPE_ERROR);
    let error = Tensor::from_env_alloc(&[1], again.dtype(), again.device());
    assert!(error.is_err(), "no allocator is set");
}

#[test]
fn streams_are_restored() {
    let device = DLDevice::new(DLDeviceType::kDLCUDA, 0);
    let stream = 0x10 as *mut std::ffi::c_void;
    let inside = with_stream(&device, stream, || Ok(current_stream(&device))).unwrap();
    assert_eq!(inside, stream);
    assert!(current_stream(&device).is_null());
    let panicked = std::panic::catch_unwind(|| {
        let stream = 0x20 as *mut std::ffi::c_void;
        with_stream(&device, stream, || -> Result<()> { panic!("inside") })
    });
    assert!(panicked.is_err());
    assert!(current_stream(&device).is_null());
}

#[test]
fn match_any_picks_the_first_arm() {
    fn describe(value: &Any) -> std::string::String {
        match_any! {
            value {
                i64(x) if x > 100 => format!("large {x}"),
                i64(x) => format!("int {x}"),
                f64(_) => "float".to_string(),
                String(text) => { format!("text {text}") }
                Array::<i64>(array) => format!("{} ints", array.len()),
                Tensor(tensor) => format!("tensor of rank {}", tensor.ndim()),
                other => format!("other {}", other.type_key()),
            }
        }
    }
    assert_eq!(describe(&Any::from(101i64)), "large 101");
    assert_eq!(describe(&Any::from(1i64)), "int 1");
    assert_eq!(describe(&Any::from(1.0f64)), "float");
    assert_eq!(describe(&Any::from(String::from("a"))), "text a");
    assert_eq!(describe(&Any::from(Array::new(vec![1i64]))), "1 ints");
    assert_eq!(describe(&Any::from(Array::new(vec![1.0f64]))), "other ffi.Array");
    assert_eq!(describe(&Any::from(Tensor::from_slice(&[1u8], &[1]).unwrap())), "tensor of rank 1");
    assert_eq!(describe(&Any::from(true)), "other bool");
}
