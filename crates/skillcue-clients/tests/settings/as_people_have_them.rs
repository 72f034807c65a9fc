//! Configuration files as people have them: connected and disconnected, unchanged but for ours, or refused with a reason.

use skillcue_clients::Client;

use crate::{Home, is_only_added_to};

const CLAUDE: (Client, &str) = (Client::Claude, ".claude/settings.json");
const SERVERS: (Client, &str) = (Client::Claude, ".claude.json");
const GEMINI: (Client, &str) = (Client::Gemini, ".gemini/settings.json");
const QWEN: (Client, &str) = (Client::Qwen, ".qwen/settings.json");
const CODEX: (Client, &str) = (Client::Codex, ".codex/config.toml");
const HOOKS: (Client, &str) = (Client::Codex, ".codex/hooks.json");
const OPENCODE: (Client, &str) = (Client::Opencode, ".config/opencode/opencode.json");
const COMMENTED: (Client, &str) = (Client::Opencode, ".config/opencode/opencode.jsonc");
const COPILOT: (Client, &str) = (Client::Copilot, ".copilot/mcp-config.json");
const CURSOR: (Client, &str) = (Client::Cursor, ".cursor/mcp.json");
const ZED: (Client, &str) = (Client::Zed, ".config/zed/settings.json");

/// A file, and what is in it.
type Case = (&'static str, (Client, &'static str), &'static str);

const GOOD: &[Case] = &[
    ("empty", CLAUDE, ""),
    ("blank", CLAUDE, "\n\n"),
    ("an empty object", GEMINI, "{}"),
    ("an empty object with a line end", GEMINI, "{}\n"),
    ("an open empty object", GEMINI, "{\n}\n"),
    ("comments alone", ZED, "// Zed settings\n// see the docs\n"),
    ("two spaces", CLAUDE, "{\n  \"model\": \"opus\",\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n"),
    ("four spaces, no line end", CLAUDE, "{\n    \"model\": \"opus\"\n}"),
    ("tabs", QWEN, "{\n\t\"general\": {\n\t\t\"vimMode\": true\n\t}\n}\n"),
    ("odd indentation", QWEN, "{\n   \"a\" : 1 ,\n \"b\":[1,\n2],\n      \"c\":{}}\n"),
    ("one line", GEMINI, "{\"theme\":\"dark\",\"mcpServers\":{\"x\":{\"command\":\"y\"}}}\n"),
    (
        "line comments",
        ZED,
        "// mine\n{\n  // the font\n  \"buffer_font_size\": 14, // big\n  \"vim_mode\": true // yes\n}\n// end\n",
    ),
    ("block comments", ZED, "/* a */ {\n  /* b */ \"a\": /* c */ 1 /* d */\n  /* e */\n} /* f */\n"),
    (
        "trailing commas",
        ZED,
        "{\n  \"a\": [1, 2,],\n  \"context_servers\": {\n    \"x\": {\"command\": \"y\",},\n  },\n}\n",
    ),
    (
        "trailing comma and comment",
        COMMENTED,
        "{\n  \"mcp\": {\n    \"x\": {\"type\": \"local\", \"command\": [\"y\"]}, // mine\n  }, // servers\n}\n",
    ),
    (
        "commented-out lines at the end",
        COMMENTED,
        "{\n  \"mcp\": {\n    \"x\": {\"enabled\": false}\n    // \"y\": {}\n  }\n  // \"model\": \"z\"\n}\n",
    ),
    (
        "Windows line ends",
        CLAUDE,
        "{\r\n  \"model\": \"opus\",\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(ls)\"\r\n    ]\r\n  }\r\n}\r\n",
    ),
    ("a byte order mark", CURSOR, "\u{feff}{\n  \"mcpServers\": {}\n}\n"),
    (
        "other hooks",
        CLAUDE,
        "{\n  \"hooks\": {\n    \"UserPromptSubmit\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"./remind.sh\" }\n        ]\n      }\n    ],\n    \"Stop\": []\n  }\n}\n",
    ),
    (
        "other hooks on one line",
        HOOKS,
        "{\"hooks\":{\"UserPromptSubmit\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x hook y\"}]}]}}",
    ),
    ("an empty list of hooks", GEMINI, "{\n  \"hooks\": {\n    \"BeforeAgent\": []\n  }\n}\n"),
    (
        "arrays on one line",
        CLAUDE,
        "{\n  \"permissions\": { \"allow\": [ \"Read\" ], \"deny\": [ \"Bash(rm:*)\" ] }\n}\n",
    ),
    ("deep nesting", SERVERS, "{\"projects\":{\"/a\":{\"history\":[[[[[[[[[[{\"x\":[[[[]]]]}]]]]]]]]]]}}}\n"),
    (
        "keys with escapes",
        COPILOT,
        "{\n  \"mcp\\u0053ervers\": {\n    \"ü \\\"x\\\"\": {\"command\": \"y // no comment /* nor */\"}\n  }\n}\n",
    ),
    ("equal keys", GEMINI, "{\n  \"mcpServers\": {\"a\": {}},\n  \"mcpServers\": {\"b\": {}}\n}\n"),
    ("large numbers", QWEN, "{\n  \"n\": 123456789012345678901234567890.5e-300,\n  \"m\": -0\n}\n"),
    ("a schema", OPENCODE, "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"provider\": {}\n}\n"),
    ("TOML", CODEX, "model = \"gpt-5\" # mine\n\n[profiles.x]\nmodel = \"y\"\n"),
    ("TOML without a line end", CODEX, "model = \"gpt-5\""),
    (
        "TOML with Windows line ends",
        CODEX,
        "model = \"gpt-5\"\r\n\r\n# servers\r\n[mcp_servers.x]\r\ncommand = \"y\"\r\n",
    ),
    ("TOML with an inline table", CODEX, "mcp_servers = { x = { command = \"y\" } } # mine\nmodel = \"z\"\n"),
    ("TOML with an empty inline table", CODEX, "mcp_servers = {}\n"),
    (
        "TOML with dotted keys",
        CODEX,
        "mcp_servers.x.command = \"y\"\nmcp_servers.x.args = [\n  \"a\", # b\n]\nmodel = \"z\"\n\n[tui]\ntheme = \"dark\"\n",
    ),
    (
        "TOML with hooks of its own",
        CODEX,
        "[[hooks.UserPromptSubmit]]\n\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\ncommand = \"./remind.sh\"\n\n# the end\n",
    ),
    ("TOML with tables out of order", CODEX, "[b.c]\nx = 1\n[mcp_servers]\n[a]\ny = 2\n[b]\nz = 3\n# last\n"),
    ("TOML with a byte order mark", CODEX, "\u{feff}# mine\n"),
    ("empty TOML", CODEX, ""),
];

/// A file, what is in it, and a part of the reason why it is refused.
const BAD: &[(&str, (Client, &str), &str, &str)] = &[
    ("a missing brace", CLAUDE, "{\n  \"a\": {\n}\n", "settings.json:1:1: Unterminated object"),
    ("a missing comma", CLAUDE, "{\n  \"a\": 1\n  \"b\": 2\n}\n", "settings.json:2:9: Expected comma"),
    ("no JSON", GEMINI, "theme: dark\n", "settings.json:1:1"),
    ("a list", GEMINI, "[]\n", "the document` is not an object"),
    ("hooks that are a list", CLAUDE, "{\n  \"hooks\": []\n}\n", "settings.json:2:12: `hooks` is not an object"),
    ("hooks that are null", QWEN, "{\"hooks\": null}\n", "`hooks` is not an object"),
    ("a group of hooks that is an object", CLAUDE, "{\"hooks\": {\"UserPromptSubmit\": {}}}\n", "is not a list"),
    ("servers that are a text", CURSOR, "{\"mcpServers\": \"x\"}\n", "`mcpServers` is not an object"),
    ("single quotes", ZED, "{'a': 1}\n", "settings.json:1:2"),
    ("too deep", SERVERS, "DEEP", "nesting"),
    ("broken TOML", CODEX, "model = \"x\"\n[mcp_servers\n", "config.toml:2:"),
    ("servers that are a number", CODEX, "mcp_servers = 1\n", "`mcp_servers` is not a table"),
    ("conflict markers", CLAUDE, "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "settings.json:1:1"),
];

#[test]
fn files_are_connected_and_become_what_they_were() {
    for (name, (client, path), text) in GOOD {
        let home = Home::new();
        home.write(path, text);
        let before = home.everything();
        home.connect(*client).unwrap_or_else(|error| panic!("{name}: {error}"));
        let connected = home.read(path);
        assert!(is_only_added_to(text, &connected), "{name}: {connected}");
        assert!(connected.contains("/opt/skillcue"), "{name}: {connected}");
        assert_eq!(text.contains("\r\n"), connected.contains("\r\n"), "{name}");
        assert!(!text.contains("\r\n") || !connected.replace("\r\n", "").contains('\n'), "{name}: {connected:?}");
        let again = home.connect(*client).unwrap();
        assert!(again.iter().all(|change| !change.is_change()), "{name}: connected twice is connected once");
        home.disconnect(*client);
        assert_eq!(home.read(path), *text, "{name}");
        assert_eq!(home.everything(), before, "{name}");
    }
}

#[test]
fn only_our_lines_go_from_a_file_that_was_edited_since() {
    for (name, (client, path), text) in GOOD {
        let home = Home::new();
        home.write(path, text);
        home.connect(*client).unwrap();
        // A line end is an edit in every format.
        home.write(path, home.read(path) + "\n");
        home.disconnect(*client);
        let left = home.read(path);
        assert!(!left.contains("skillcue"), "{name}: {left}");
        let expected =
            if text.trim().is_empty() && !path.ends_with("toml") { "{}\n\n".to_owned() } else { format!("{text}\n") };
        // A block behind a last line without an end is behind that end.
        let expected = if path.ends_with("toml") && !text.is_empty() && !text.ends_with('\n') {
            format!("{text}\n\n")
        } else {
            expected
        };
        let comments = *name == "comments alone";
        assert_eq!(left, if comments { format!("{text}{{}}\n\n") } else { expected }, "{name}");
    }
}

#[test]
fn files_that_cannot_be_edited_safely_are_refused() {
    for (name, (client, path), text, reason) in BAD {
        let home = Home::new();
        let text = if *text == "DEEP" { "[".repeat(100_000) } else { (*text).to_owned() };
        home.write(path, &text);
        let before = home.everything();
        let error = home.connect(*client).expect_err(name).to_string();
        assert!(error.contains(reason), "{name}: {error}");
        assert!(home.everything() == before, "{name}");
    }
}

#[test]
fn there_are_more_than_thirty_files() {
    assert!(GOOD.len() >= 30 && BAD.len() >= 10);
}

#[test]
fn a_file_that_is_not_utf_8_is_refused() {
    let home = Home::new();
    home.write(CLAUDE.1, b"{\"a\": \"\xff\"}");
    assert!(home.connect(Client::Claude).unwrap_err().to_string().ends_with("is not UTF-8"));
}

#[test]
fn a_plugin_of_another_origin_is_left_alone() {
    let home = Home::new();
    let path = ".config/opencode/plugin/skillcue.js";
    home.write(path, "export const Mine = 1;\n");
    assert!(home.connect(Client::Opencode).unwrap_err().to_string().ends_with("is not a file of Skillcue"));
    home.disconnect(Client::Opencode);
    assert_eq!(home.read(path), "export const Mine = 1;\n");
}
