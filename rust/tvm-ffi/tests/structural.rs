// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The OpenTVM authors

//! Walks, maps, visits and mutations.

use std::cell::RefCell;
use tvm_ffi::*;

#[rs_class("rust_test.Expr", s_eq_hash_kind = TreeNode, child_slots = 8)]
struct ExprObj {
    base: Object,
}
def_object_ref!(Expr, ObjectRef, ExprObj);

#[rs_class("rust_test.Const", final, s_eq_hash_kind = TreeNode)]
struct ConstObj {
    base: ExprObj,
    pub value: i64,
}
def_object_ref!(Const, Expr, ConstObj, ObjectRef);

#[rs_class("rust_test.Add", final, s_eq_hash_kind = TreeNode)]
struct AddObj {
    base: ExprObj,
    pub a: Expr,
    pub b: Expr,
}
def_object_ref!(Add, Expr, AddObj, ObjectRef);

fn constant(value: i64) -> Expr {
    Const::from(ConstObj::new(ExprObj::new(Object::new()), value)).into()
}

fn add(a: Expr, b: Expr) -> Expr {
    Add::from(AddObj::new(ExprObj::new(Object::new()), a, b)).into()
}

fn sum(expr: &Expr) -> i64 {
    match_any! {
        expr {
            ConstObj(ref node) => node.value,
            AddObj(ref node) => sum(&node.a) + sum(&node.b),
            _ => panic!("unknown expression"),
        }
    }
}

#[test]
fn walk_sees_everything_in_order() {
    let values = Array::new(vec![Any::from(1i64), Any::from(2.5), Any::from(String::from("x"))]);
    let mut keys = Vec::new();
    let collect = |value: AnyView<'_>| keys.push(value.type_key());
    structural_walk(&values, collect, WalkOrder::PreOrder).unwrap();
    assert_eq!(keys, ["ffi.Array", "int", "float", "ffi.SmallStr"]);
    let mut last = "";
    let collect = |value: AnyView<'_>| last = value.type_key();
    structural_walk(&values, collect, WalkOrder::PostOrder).unwrap();
    assert_eq!(last, "ffi.Array");
}

#[test]
fn walk_chain_of_callbacks() {
    let tree = add(constant(1), add(constant(2), constant(3)));
    let (mut nodes, mut total) = (0, 0);
    structural_walk(
        &tree,
        (|_: &AddObj| nodes += 1, |node: &ConstObj, _: DefRegionKind| total += node.value),
        WalkOrder::PreOrder,
    )
    .unwrap();
    assert_eq!((nodes, total), (2, 6));
    let mut seen = 0;
    let skip = |_: Expr| {
        seen += 1;
        WalkResult::Skip
    };
    structural_walk(&tree, skip, WalkOrder::PreOrder).unwrap();
    assert_eq!(seen, 1);
}

#[test]
fn walk_interrupts_and_fails() {
    let tree = add(constant(1), constant(-5));
    let negative = |node: &ConstObj| -> Result<WalkResult> {
        Ok(match node.value < 0 {
            true => WalkResult::Interrupt(VisitInterrupt::new(node.value)?),
            false => WalkResult::Advance,
        })
    };
    let found = structural_walk(&tree, negative, WalkOrder::PreOrder).unwrap().unwrap();
    assert_eq!(found.value().unwrap().cast::<i64>().unwrap(), -5);
    let fail = |_: &ConstObj| -> Result<()> { bail!(VALUE_ERROR, "stop here") };
    let error = structural_walk(&tree, fail, WalkOrder::PostOrder).unwrap_err();
    assert_eq!((error.kind(), error.message()), (VALUE_ERROR, "stop here"));
    let panics = |_: &ConstObj| -> WalkResult { panic!("no") };
    let error = structural_walk(&tree, panics, WalkOrder::PostOrder).unwrap_err();
    assert_eq!(error.kind(), RUNTIME_ERROR);
}

#[derive(Default)]
struct Probe {
    total: i64,
    adds: usize,
    rest: usize,
}

#[dispatch(visit)]
impl Probe {
    fn visit_constant(&mut self, node: &ConstObj) -> WalkResult {
        self.total += node.value;
        WalkResult::Skip
    }

    fn visit_add(&mut self, _add: Add, kind: DefRegionKind) -> WalkResult {
        assert_eq!(kind, DefRegionKind::None);
        self.adds += 1;
        WalkResult::Advance
    }

    fn visit_rest(&mut self, _value: AnyView<'_>) -> WalkResult {
        self.rest += 1;
        WalkResult::Advance
    }
}

#[test]
fn walk_with_a_receiver() {
    let values = Array::new(vec![add(constant(4), constant(5))]);
    let mut probe = Probe::default();
    structural_walk(&values, &mut probe, WalkOrder::PreOrder).unwrap();
    assert_eq!((probe.total, probe.adds, probe.rest), (9, 1, 1));
    let one = constant(1);
    assert!(matches!(
        probe.dispatch(AnyView::from(&one), DefRegionKind::None),
        Some(WalkResult::Skip)
    ));
}

#[test]
fn map_rewrites_and_shares() {
    let left = constant(1);
    let tree = add(left.clone(), constant(2));
    let double = |node: &ConstObj| match node.value {
        1 => UnchangedOr::Unchanged,
        value => UnchangedOr::Value(Any::from(constant(2 * value))),
    };
    let mapped = structural_map(tree.clone(), double, WalkOrder::PostOrder).unwrap();
    let mapped: Expr = mapped.cast().unwrap();
    assert_eq!((sum(&tree), sum(&mapped)), (3, 5));
    let unchanged = mapped.downcast_ref::<AddObj>().unwrap();
    assert!(unchanged.a.same_as(&left), "unchanged parts stay the same objects");
    let same = structural_map(tree.clone(), |_: String| Unchanged, WalkOrder::PreOrder).unwrap();
    assert!(same.cast::<Expr>().unwrap().same_as(&tree));
}

#[test]
fn map_reuses_what_it_owns() {
    let array = Array::new(vec![1i64, 2, 3]);
    let address = ObjectArc::as_raw(Array::data(&array));
    let next = |x: i64| Any::from(x + 1);
    let mapped: Array<i64> =
        structural_map(array, next, WalkOrder::PostOrder).unwrap().cast().unwrap();
    assert_eq!(mapped.iter().collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(ObjectArc::as_raw(Array::data(&mapped)), address, "changed in place");
}

#[test]
fn visit_owns_the_recursion() {
    let tree = add(constant(1), add(constant(2), constant(3)));
    let depths = RefCell::new(Vec::new());
    let depth = std::cell::Cell::new(0);
    let enter = |node: Add, visitor: &Visitor<'_>| -> Result<()> {
        depth.set(depth.get() + 1);
        visitor.visit(&node.a)?;
        visitor.visit(&node.b)?;
        depth.set(depth.get() - 1);
        Ok(())
    };
    let leaf = |_: Const, _: &Visitor<'_>| depths.borrow_mut().push(depth.get());
    assert!(structural_visit(&tree, (enter, leaf)).unwrap().is_none());
    assert_eq!(*depths.borrow(), [1, 2, 2]);
    let kinds = RefCell::new(Vec::new());
    let region = |_: Const, visitor: &Visitor<'_>| -> Result<()> {
        kinds.borrow_mut().push(visitor.def_region_kind()?);
        visitor.with_def_region_kind(DefRegionKind::Pattern, || {
            kinds.borrow_mut().push(visitor.def_region_kind()?);
            Ok(())
        })
    };
    structural_visit(&constant(1), region).unwrap();
    assert_eq!(*kinds.borrow(), [DefRegionKind::None, DefRegionKind::Pattern]);
}

#[test]
fn mutate_owns_the_recursion() {
    let tree = add(constant(1), add(constant(2), constant(3)));
    let fold = |node: Add, mutator: &Mutator<'_>| -> Result<Any> {
        let a: Expr = mutator.mutate(&node.a)?.cast()?;
        let b: Expr = mutator.mutate(&node.b)?.cast()?;
        Ok(Any::from(constant(sum(&a) + sum(&b))))
    };
    let folded: Expr = structural_mutate(tree.clone(), fold).unwrap().cast().unwrap();
    assert_eq!(folded.downcast_ref::<ConstObj>().unwrap().value, 6);
    let with_mode = |value: i64, _: &Mutator<'_>, _: InplaceMode| Any::from(value * 10);
    let numbers = Array::new(vec![1i64, 2]);
    let numbers: Array<i64> = structural_mutate(numbers, with_mode).unwrap().cast().unwrap();
    assert_eq!(numbers.iter().collect::<Vec<_>>(), [10, 20]);
    let default = |value: AnyView<'_>, mutator: &Mutator<'_>| mutator.default_mutate(value);
    let same: Expr = structural_mutate(tree.clone(), default).unwrap().cast().unwrap();
    assert!(same.same_as(&tree));
}
