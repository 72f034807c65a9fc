//! Schemas and arguments, by hand and by the official suite.

use super::*;
use serde_json::json;

#[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
fn wrong(schema: Value, arguments: Value) -> Vec<String> {
    let (schema, unchecked) = Schema::new(schema).unwrap();
    assert!(unchecked.is_empty());
    schema.violations(arguments.as_object().unwrap())
}

#[expect(clippy::needless_pass_by_value, reason = "written down where it is called")]
fn of(schema: Value, value: Value) -> Vec<String> {
    wrong(
        json!({"type": "object", "properties": {"x": schema}, "$defs": {"even": {"multipleOf": 2}}}),
        json!({ "x": value }),
    )
}

#[test]
fn the_offending_argument_is_named() {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "tags": {"type": "array", "items": {"type": "object", "required": ["id"]}}},
        "required": ["name"],
        "additionalProperties": false,
    });
    assert_eq!(wrong(schema.clone(), json!({"name": "ok", "tags": [{"id": 1}]})), [] as [&str; 0]);
    assert_eq!(wrong(schema.clone(), json!({})), ["`name` is missing"]);
    assert_eq!(wrong(schema.clone(), json!({"name": 1})), ["`name` must be a string, not a number"]);
    assert_eq!(wrong(schema.clone(), json!({"name": "a"})), ["`name` must have at least 2 characters, not 1"]);
    assert_eq!(wrong(schema.clone(), json!({"name": "ab", "tags": [{"id": 1}, {}]})), ["`tags[1].id` is missing"]);
    assert_eq!(wrong(schema, json!({"name": "ab", "nmae": 1})), ["`nmae` is not known; there is name, tags"]);
}

#[test]
fn keywords_hold() {
    for (schema, good, bad) in [
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"type": "integer"}), json!(1.0), json!(1.5)),
        (json!({"enum": ["a", 1]}), json!(1.0), json!("b")),
        (json!({"const": {"a": [1]}}), json!({"a": [1.0]}), json!({"a": []})),
        (json!({"minimum": 1, "exclusiveMaximum": 3}), json!(1), json!(3)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.25)),
        (json!({"pattern": "^[a-z]+$"}), json!("abc"), json!("ABC")),
        (json!({"maxLength": 1}), json!("😀"), json!("ab")),
        (json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}), json!(["a", 1]), json!(["a", "b"])),
        (json!({"minItems": 1, "uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
        (json!({"contains": {"const": 1}}), json!([0, 1]), json!([0])),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 5}]}), json!(6), json!(4)),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 5}]}), json!(2), json!(6)),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}), json!(2), json!(6)),
        (json!({"not": {"type": "string"}}), json!(2), json!("x")),
        (json!({"$ref": "#/$defs/even"}), json!(2), json!(3)),
        (json!({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}), json!("ab"), json!(1)),
        (
            json!({"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"type": "number"}}),
            json!({"ab": "x", "b": 1}),
            json!({"b": "x"}),
        ),
        (json!({"propertyNames": {"maxLength": 1}, "maxProperties": 2}), json!({"a": 1}), json!({"ab": 1})),
        (json!({"format": "email"}), json!("no mail"), json!(null)),
    ] {
        assert_eq!(of(schema.clone(), good.clone()), [] as [&str; 0], "{schema} {good}");
        if schema != json!({"format": "email"}) {
            assert!(!of(schema.clone(), bad.clone()).is_empty(), "{schema} {bad}");
        }
    }
    assert!(!of(json!(false), json!(1)).is_empty() && of(json!(true), json!(1)).is_empty());
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    for endless in [
        json!({"$ref": "#"}),
        json!({"properties": {"next": {"$ref": "#"}}, "anyOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}),
        json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"dependentSchemas": {"a": {"if": {"$ref": "#"}}}}),
    ] {
        let why = Schema::new(endless.clone()).unwrap_err();
        assert!(why.starts_with("refers to itself by `$ref: \"#"), "{endless}: {why}");
    }
    // A definition that no check gets to harms none.
    assert!(wrong(json!({"$defs": {"a": {"$ref": "#/$defs/a"}}}), json!({})).is_empty());
    let list = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "number"}}});
    assert_eq!(wrong(list, json!({"next": {"next": {"v": "x"}}})), ["`next.next.v` must be a number, not a string"]);
    // As deep as JSON is read, each level by way of `properties`, `items`, `anyOf` and `$ref`.
    let tree = json!({
        "properties": {"children": {"items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "v": {"type": "number"}}
    });
    let deep = |leaf: Value| (0..62).fold(json!({"v": leaf}), |inner, _| json!({"children": [inner]}));
    assert_eq!(wrong(tree.clone(), deep(json!(1))), [] as [&str; 0]);
    assert_eq!(wrong(tree, deep(json!("x"))), ["`children[0]` fits none of the forms it may have"]);
}

/// Runs on a stack that is as small as any in use.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(512 << 10);
        thread.spawn_scoped(scope, work).unwrap().join().unwrap()
    })
}

/// An author may write a chain of any length: none overflows the stack, and none is checked by halves.
#[test]
fn chains_of_any_length_leave_the_process_alive() {
    let chain = |links: usize| {
        let link = |at: usize| (at.to_string(), json!({"allOf": [{"$ref": format!("#/$defs/{}", at + 1)}]}));
        let mut links: Map<String, Value> = (0..links).map(link).chain([(links.to_string(), json!({}))]).collect();
        links.insert("last".to_owned(), json!({"type": "number"}));
        json!({"properties": {"x": {"$ref": "#/$defs/0"}, "y": {"$ref": "#/$defs/last"}}, "$defs": links})
    };
    on_a_small_stack(|| {
        for links in [70, 600, 1_500, 5_500, 20_000] {
            let why = Schema::new(chain(links)).unwrap_err();
            assert!(why.starts_with("applies more than 128 schemas to one value"), "{links}: {why}");
        }
        // The control: what is short enough is checked, and what refers to itself is still found.
        assert_eq!(wrong(chain(60), json!({"x": 1, "y": 2})), [] as [&str; 0]);
        assert_eq!(wrong(chain(60), json!({"x": 1, "y": "a"})), ["`y` must be a number, not a string"]);
        let mut endless = chain(5_500);
        endless["$defs"]["5500"] = json!({"$ref": "#/$defs/0"});
        assert!(Schema::new(endless).unwrap_err().starts_with("refers to itself by `$ref: \"#/$defs/"));
    });
}

/// Schemas and values that are as deep as JSON is read, on a small stack.
#[test]
fn deep_schemas_and_values_are_checked_on_a_small_stack() {
    let read = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let deep = |open: &str, inner: &str, close: &str, levels| {
        read(format!("{}{inner}{}", open.repeat(levels), close.repeat(levels)))
    };
    on_a_small_stack(|| {
        for keyword in ["not", "items", "additionalProperties", "if", "contains", "propertyNames"] {
            let schema = deep(&format!("{{\"{keyword}\":"), "{\"const\": [[1]]}", "}", 120);
            let (schema, _) = Schema::new(json!({"properties": {"x": schema}})).unwrap();
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let value = json!({"x": deep(open, "1", close, 120)});
                let _ = schema.violations(value.as_object().unwrap());
            }
        }
        let value = deep("[", "1", "]", 120);
        let same = json!({"enum": [value.clone()], "const": value.clone()});
        assert_eq!(of(same, value.clone()), [] as [&str; 0]);
        assert_eq!(of(json!({"uniqueItems": true}), json!([value.clone(), value])), ["`x` has an item twice"]);
    });
}

/// Each level may have one of two forms that are the same: that doubles nothing, whether the leaf is right or wrong.
#[test]
fn forms_that_refer_twice_are_checked_in_few_steps() {
    for (keyword, levels) in [("anyOf", 60), ("allOf", 60)] {
        let schema = json!({
            "properties": {"c": {keyword: [{"$ref": "#"}, {"$ref": "#"}]}, "v": {"type": "number"}}
        });
        let deep = |leaf: Value| (0..levels).fold(json!({"v": leaf}), |inner, _| json!({"c": inner}));
        assert_eq!(wrong(schema.clone(), deep(json!(1))), [] as [&str; 0], "{keyword}");
        let refused = wrong(schema, deep(json!("x")));
        assert!(refused[0].contains("fits none") || refused[0].contains("must be a number"), "{keyword}: {refused:?}");
    }
    let twice = json!({"properties": {"c": {"oneOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}}});
    let deep = (0..60).fold(json!({}), |inner, _| json!({"c": inner}));
    assert_eq!(wrong(twice, deep), ["`c` fits none of the forms it may have"]);
    // Names of properties are no lasting values: a name that fits says nothing of the next.
    let names = json!({"propertyNames": {"anyOf": [{"const": "a"}, {"const": "b"}]}});
    assert_eq!(wrong(names.clone(), json!({"a": 1, "b": 1})), [] as [&str; 0]);
    assert_eq!(wrong(names, json!({"a": 1, "c": 1})), ["`c` is no allowed name"]);
    // What takes too many steps says so, and not that it is too deep.
    let many = json!({"items": {"type": "number"}});
    let refused = of(many, Value::from(vec![1; 100_001]));
    assert!(refused[0].starts_with("the arguments cannot be checked in 100000 steps"), "{refused:?}");
}

#[test]
fn arguments_are_objects_and_patterns_have_limits() {
    assert!(Schema::new(json!({"type": "string"})).is_err());
    assert!(Schema::new(json!([])).is_err());
    assert_eq!(Schema::new(json!({})).unwrap().0.value(), &json!({"type": "object"}));
    let (_, unchecked) = Schema::new(json!({"properties": {"x": {"pattern": "(?=a)"}}})).unwrap();
    assert_eq!(unchecked, ["the pattern (?=a)"]);
}

#[test]
fn types_are_known_and_lists_and_dependencies_count() {
    let unknown = json!({ "properties": { "a": { "items": { "type": ["string", "strng"] } } } });
    assert!(Schema::new(unknown).unwrap_err().contains("strng"));
    let known = json!({ "properties": { "type": { "type": "string", "default": { "type": "x" } } } });
    assert!(Schema::new(known).is_ok());
    let schema = json!({
        "properties": { "p": { "items": [{ "type": "number" }, { "type": "string" }], "additionalItems": false } },
        "dependentRequired": { "a": ["b"] }
    });
    let (schema, _) = Schema::new(schema).unwrap();
    let wrong = |arguments: Value| schema.violations(arguments.as_object().unwrap());
    assert!(wrong(json!({ "p": [1, "x"], "b": 1 })).is_empty());
    assert_eq!(wrong(json!({ "p": ["x", "x"] })).len(), 1);
    assert_eq!(wrong(json!({ "p": [1, "x", 2] })).len(), 1);
    assert!(wrong(json!({ "a": 1 }))[0].contains("`a` needs it"));
}

/// A pattern that cannot be compiled makes nothing wrong that may be right, and is reported.
#[test]
fn unsupported_patterns_refuse_no_value() {
    let odd = "^(?!x)a"; // Look-ahead, which the linear engine does not have.
    for (schema, reported, fits, refused) in [
        (
            json!({"patternProperties": {odd: {"type": "number"}}, "additionalProperties": false}),
            "the pattern ^(?!x)a",
            json!({"ab": 1}),
            None,
        ),
        (
            json!({"properties": {"n": {"type": "number"}}, "patternProperties": {odd: true}, "additionalProperties": false}),
            "the pattern ^(?!x)a",
            json!({"n": 1, "whatever": 1}),
            Some(json!({"n": "x"})),
        ),
        (
            json!({"patternProperties": {odd: true, "^b": {"type": "number"}}, "additionalProperties": {"type": "null"}}),
            "the pattern ^(?!x)a",
            json!({"a": "x", "b": 1}),
            Some(json!({"b": "x"})),
        ),
        (json!({"properties": {"a": {"not": {"pattern": odd}}}}), "the pattern ^(?!x)a", json!({"a": "b"}), None),
        (
            json!({"properties": {"a": {"oneOf": [{"pattern": odd}, {"type": "string", "maxLength": 2}]}}}),
            "the pattern ^(?!x)a",
            json!({"a": "b"}),
            None,
        ),
        (
            json!({"properties": {"a": {"anyOf": [{"$ref": "other.json"}, {"type": "number"}]}}}),
            "the reference other.json",
            json!({"a": "b"}),
            None,
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/gone", "type": "string"}}}),
            "the reference #/$defs/gone",
            json!({"a": "b"}),
            Some(json!({"a": 1})),
        ),
        (
            json!({"if": {"propertyNames": {"pattern": odd}}, "then": false, "else": false, "required": ["a"]}),
            "the pattern ^(?!x)a",
            json!({"a": 1}),
            None,
        ),
        (
            json!({"properties": {"a": {"type": "array", "contains": {"pattern": odd}, "maxContains": 1}}}),
            "the pattern ^(?!x)a",
            json!({"a": ["x", "y"]}),
            Some(json!({"a": {}})),
        ),
        (json!({"unevaluatedProperties": false}), "`unevaluatedProperties`", json!({"a": 1}), None),
    ] {
        let (checked, unchecked) = Schema::new(schema.clone()).unwrap();
        assert_eq!(unchecked, [reported], "{schema}");
        let wrong = |arguments: &Value| checked.violations(arguments.as_object().unwrap());
        assert_eq!(wrong(&fits), [] as [&str; 0], "{schema}");
        if let Some(refused) = refused {
            assert_eq!(wrong(&refused).len(), 1, "{schema}: what can be checked is");
        }
    }
    // The control: with a pattern that can be compiled, the first of them is refused.
    let checked = json!({"patternProperties": {"^a": {"type": "number"}}, "additionalProperties": false});
    assert_eq!(wrong(checked.clone(), json!({"ab": 1})), [] as [&str; 0]);
    assert_eq!(wrong(checked, json!({"b": 1})), ["`b` is not known; there is nothing"]);
}

#[test]
fn patterns_are_those_of_javascript() {
    for (pattern, fits, refused) in [
        (r"^\d$", "1", "\u{661}"),
        (r"^[\d.]+$", "1.5", "\u{661}"),
        (r"^\w$", "a", "é"),
        (r"^\W$", "é", "a"),
        (r"^\s$", "\u{feff}", "\u{85}"),
        (r"^\S$", "\u{85}", "\u{feff}"),
        (r"^[^\S]$", " ", "x"),
        (r"^[[]$", "[", "]"),
        (r"^[a&&b]+$", "&ab", "c"),
        (r"^[^]$", "\n", ""),
        (r"^.$", "x", "\u{2028}"),
        (r"^\cC$", "\u{3}", "C"),
        (r"^\0$", "\0", "0"),
        (r"^é\b", "éa", "é"),
        (r"^[\b]$", "\u{8}", "b"),
        (r"^\u0041$", "A", "B"),
    ] {
        let schema = json!({"properties": {"x": {"pattern": pattern}}});
        assert_eq!(wrong(schema.clone(), json!({"x": fits})), [] as [&str; 0], "{pattern}");
        assert_eq!(wrong(schema, json!({"x": refused})).len(), 1, "{pattern}");
    }
}

/// The official suite of the JSON Schema organisation: what is right is never refused, and what is wrong is, unless it
/// was reported when the schema was read that part of it cannot be checked.
#[test]
#[ignore = "needs the suite in the folder that SKILLCUE_TEST_SCHEMAS names: `cargo xtask test toolsets`"]
fn the_official_suite_of_schemas() {
    /// Needs metaschemas with vocabularies of their own, and a keyword of draft 7.
    const NOT_OURS: [&str; 2] = ["vocabulary.json", "dependencies-compatibility.json"];
    let suite = std::path::PathBuf::from(std::env::var_os("SKILLCUE_TEST_SCHEMAS").expect("SKILLCUE_TEST_SCHEMAS"));
    let (mut ran, mut lenient, mut failed) = (0, 0, Vec::new());
    for dir in [suite.clone(), suite.join("optional")] {
        let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        for file in files {
            let name = file.file_name().unwrap().to_str().unwrap();
            if NOT_OURS.contains(&name) || name == "format-assertion.json" {
                continue;
            }
            let groups: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            for group in groups.as_array().unwrap() {
                let (schema, unchecked) = Schema::parse(group["schema"].clone());
                for test in group["tests"].as_array().unwrap() {
                    ran += 1;
                    let (fits, should) = (schema.violations_of(&test["data"]).is_empty(), test["valid"] == true);
                    if fits && !should && !unchecked.is_empty() {
                        lenient += 1;
                    } else if fits != should {
                        failed.push(format!("{name}: {}: {}", group["description"], test["description"]));
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} of {ran} failed:\n{}", failed.len(), failed.join("\n"));
    assert!(ran > 1_200, "only {ran} cases were found below {}", suite.display());
    assert!(lenient * 5 < ran, "{lenient} of {ran} cases could not be checked");
}
