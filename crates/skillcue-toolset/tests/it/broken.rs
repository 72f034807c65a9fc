//! Toolsets that are wrong: each a diagnostic with its place, and the others work.

use serde_json::json;

use crate::harness::{Skill, hasty};

const GOOD: &str = "import { Tool } from '@agent/tools';
export const Good = [Tool.define('good', { description: 'd', execute: () => 'good' })];";

#[test]
fn one_broken_toolset_leaves_the_others() {
    for (text, code, place, word) in [
        ("const x: number = ;\nexport const Bad = [];", "toolset_syntax", (Some(1), Some(19)), "Unexpected"),
        ("export const Bad = [\n  1,\n  let y\n];", "toolset_syntax", (Some(3), Some(7)), ""),
        ("export const Other = [];", "toolset_export", (Some(1), Some(1)), "exports no `Bad`"),
        ("export const Bad = 5;", "toolset_shape", (Some(1), Some(14)), "not an array"),
        ("export const Bad = [5];", "toolset_shape", (Some(1), Some(14)), "not a tool"),
        ("export const Bad = [{ id: 'x', description: 'd' }];", "toolset_shape", (Some(1), Some(14)), "execute"),
        ("export const Bad = [{ id: 'x', execute() {} }];", "toolset_shape", (Some(1), Some(14)), "description"),
        ("\n  throw new Error('on load');\nexport const Bad = [];", "toolset_threw", (Some(2), Some(13)), "on load"),
        ("export const Bad: string[] = (undefined as any).x;", "toolset_threw", (Some(1), Some(31)), ""),
        (
            "import { nothing } from './good';\nexport const Bad = [nothing];",
            "toolset_export",
            (Some(1), Some(10)),
            "nothing",
        ),
        (
            "let a = 1;\nimport './nowhere';\nexport const Bad = [];",
            "module_not_found",
            (Some(2), Some(8)),
            "./nowhere",
        ),
        ("import fs from 'fs';\nexport const Bad = [fs];", "module_refused", (Some(1), Some(16)), "module of node"),
        ("import './broken-too';\nexport const Bad = [];", "toolset_syntax", (Some(2), Some(1)), ""),
        ("import './data.json';\nexport const Bad = [];", "toolset_syntax", (Some(1), Some(2)), "JSON"),
        ("\n throw 'words';\nexport const Bad = [];", "toolset_threw", (Some(2), Some(2)), "words"),
        ("throw { a: 1 };\nexport const Bad = [];", "toolset_threw", (Some(1), Some(1)), "thrown"),
        (
            "enum E { A, B } throw new Error('behind an enum');\nexport const Bad = [];",
            "toolset_threw",
            (Some(1), Some(27)),
            "behind",
        ),
        (
            "const é = '😀'; throw new Error('behind letters');\nexport const Bad = [];",
            "toolset_threw",
            (Some(1), Some(26)),
            "behind",
        ),
        ("import './dependency';\nexport const Bad = [];", "module_not_found", (Some(2), Some(8)), "./nowhere"),
        ("while (true) {}\nexport const Bad = [];", "toolset_threw", (Some(1), Some(1)), "in time"),
        ("await new Promise(() => {});\nexport const Bad = [];", "toolset_threw", (Some(2), Some(14)), "never comes"),
        (
            "import { Tool } from '@agent/tools';\nexport const Bad = [\n  Tool.define('good', { description: 'd', execute() {} })];",
            "toolset_duplicate",
            (Some(3), Some(8)),
            "two tools",
        ),
        (
            "import { Tool } from '@agent/tools';\nexport const Bad = [Tool.define('no good', { description: 'd', execute() {} })];",
            "toolset_shape",
            (Some(2), Some(26)),
            "no good",
        ),
        (
            "import { Tool } from '@agent/tools';\nexport const Bad = [Tool.define('x', { description: 'd', parameters: { type: 'string' }, execute() {} })];",
            "toolset_shape",
            (Some(2), Some(1)),
            "type",
        ),
        (
            "import { Tool } from '@agent/tools'; const d: any = { 5500: {} }; for (let i = 0; i < 5500; i++) d[i] = { allOf: [{ $ref: `#/$defs/${i + 1}` }] };\nexport const Bad = [Tool.define('x', { description: 'd', parameters: { type: 'object', $defs: d, properties: { x: { $ref: '#/$defs/0' } } }, execute() {} })];",
            "toolset_shape",
            (Some(2), Some(1)),
            "applies more than 128 schemas to one value",
        ),
        (
            "import { Tool } from '@agent/tools';\nexport const Bad = [Tool.define('x', { description: 'd', parameters: { _zod: {} }, execute() {} })];",
            "toolset_shape",
            (Some(2), Some(26)),
            "zod/mini",
        ),
        (
            "namespace N { export const x = 1 }\nexport const Bad = [];",
            "toolset_syntax",
            (Some(1), Some(1)),
            "namespace",
        ),
    ] {
        let skill = Skill::with(
            hasty(),
            &[
                ("good.ts", GOOD),
                ("more.ts", &GOOD.replace("'good'", "'more'")),
                ("third.ts", &GOOD.replace("'good'", "'third'")),
                ("fourth.ts", &GOOD.replace("'good'", "'fourth'")),
                ("bad.ts", text),
                ("broken-too.ts", "let a;\n} b"),
                ("data.json", "{,}"),
                ("dependency.ts", "let a;\nimport './nowhere';"),
            ],
            &["good:Good", "more:Good", "bad:Bad", "third:Good", "fourth:Good"],
        );
        let offered = skill.tools();
        let ids: Vec<&str> = offered.tools.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, ["good", "more", "third", "fourth"], "{text}: {:?}", offered.diagnostics);
        assert_eq!(offered.diagnostics.len(), 1, "{text}: {:#?}", offered.diagnostics);
        let finding = &offered.diagnostics[0];
        assert_eq!(finding.code.as_str(), code, "{text}: {finding:?}");
        assert!(finding.is_error(), "{text}: {finding:?}");
        assert!(finding.path.is_some(), "{text}: {finding:?}");
        assert_eq!((finding.line(), finding.column()), place, "{text}: {finding:?}");
        for id in ["more", "third", "fourth"] {
            assert_eq!(skill.call(id, json!({})).unwrap().output, id, "{text}");
        }
        assert!(finding.message.contains(word), "{text}: {finding:?}");
    }
}

#[test]
fn lines_of_the_manifest_may_be_wrong_too() {
    let skill = Skill::new(&[("good.ts", GOOD)], &["good", ":x", "../good:Good", "nope:Good", "good:Good"]);
    let offered = skill.tools();
    let codes: Vec<&str> = offered.diagnostics.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["toolset_entry", "toolset_entry", "module_refused", "module_not_found"]);
    assert_eq!(offered.tools.len(), 1);
}
