//! Look-alikes that must not be found, or not with a high severity.

use std::path::Path;

use skillcue_audit::{AuditSeverity, audit};

use crate::{high, lines, of_file};

/// Nothing at all is found in these.
const CLEAN: &[(&str, &str)] = &[
    // Invisible characters that belong there.
    ("a.md", "\u{feff}# A file with a byte order mark\n"),
    (
        "a.md",
        "Family 👨\u{200d}👩\u{200d}👧\u{200d}👦, heart ❤\u{fe0f}\u{200d}🔥, keycap 1\u{fe0f}\u{20e3}, ✔\u{fe0f}\n",
    ),
    ("a.md", "England 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} plays\n"),
    ("a.md", "می\u{200c}خواهم and क\u{94d}\u{200d}ष\n"),
    ("a.md", "שלום \u{202b}עולם\u{202c} \u{2067}טקסט\u{2069}\n"),
    ("a.md", "Donau\u{ad}dampf\u{ad}schiff\n"),
    ("a.md", "葛\u{e0100}飾区\n"),
    // Ordinary comments.
    ("a.md", "<!-- toc -->\n- [A](#a)\n<!-- tocstop -->\n"),
    (
        "a.md",
        "<!-- markdownlint-disable MD013 -->\n<!-- TODO: always say which version, never guess; run the tests -->\n",
    ),
    ("a.md", "<!-- Table of the 2024 figures, from the annual report, sorted by name. -->\n"),
    ("a.md", "```html\n<!-- The assistant should always answer here. -->\n```\n"),
    // Sentences that keep nothing secret.
    ("a.md", "Do not tell the user to restart. Never let the user wait.\n"),
    ("a.md", "Ignore the previous section if you have no table. Forget about earlier drafts.\n"),
    ("a.md", "Ignore whitespace. The previous instructions of the CPU are retired.\n"),
    ("a.md", "The sandbox cannot read or exfiltrate it. Install `.git/hooks/x`, see launchctl load.\n"),
    // Fetching without running, running without fetching.
    ("a.sh", "curl -s https://x.test/a.json | jq .name\n"),
    ("a.sh", "curl -s https://x.test/a.json | python3 -m json.tool\n"),
    ("a.sh", "curl -s https://x.test/a.json | python3 -c 'import json,sys; print(json.load(sys.stdin))'\n"),
    ("a.sh", "curl -fsS https://x.test/health || sh fallback.sh\n"),
    ("a.sh", "wget https://x.test/data.csv -O data.csv\nbash other.sh\n"),
    ("a.md", "| curl | bash |\n| --- | --- |\n| wget | sh |\n"),
    ("a.md", "Do not pipe `curl` into `bash`. Use `curl ... | sh` never.\n"),
    ("a.md", "`npx -y prettier@3.3.2 .` and `uvx ruff@0.5.1`, `pip install requests`\n"),
    ("a.sh", "pip install --index-url https://pypi.org/simple requests\n"),
    ("a.sh", "echo aGVsbG8= | base64 -d > out.txt\n"),
    ("a.py", "data = base64.b64decode(text)\nprint(data)\n"),
    ("a.js", "const value = JSON.parse(atob(text)); regex.exec(atob(text));\n"),
    ("a.md", "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUg)\n"),
    // Secrets that are none.
    ("a.md", "export KEY=sk-... and `sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`\n"),
    ("a.md", "AKIAIOSFODNN7EXAMPLE\npassword = \"YOUR_API_KEY_HERE\"\n"),
    ("a.py", "password = \"correct-horse-battery-staple\"\napi_key = os.environ[\"API_KEY\"]\n"),
    ("a.py", "token = \"${GITHUB_TOKEN}\"\nsecret: \"<your secret 12345>\"\n"),
    ("a.md", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n"),
    ("a.css", ".sk-spinner-cube-grid-with-a-very-long-class-name { }\n"),
    ("a.md", "https://user:password@example.com/ and postgres://u:${PW}@host/db\n"),
    // Credentials by name only.
    ("a.md", "Put the public half, ~/.ssh/id_ed25519.pub, on the server. Keys live in .env.\n"),
    // A port that is checked, pipes without shells.
    ("a.sh", "until (echo > /dev/tcp/localhost/5432) 2>/dev/null; do sleep 1; done\nnc -z localhost 80\n"),
    ("a.py", "s = socket.socket()\ns.connect(('localhost', 80))\n"),
    // Deleting what is one's own.
    ("a.sh", "rm -rf ./build /tmp/mine \"$HOME/.cache/mine\"\nrm -rf target/*\ndd if=a of=b.img\n"),
    ("a.sh", "chmod -R 755 /opt/mine\nfind . -name '*.pyc' -delete\nfind /tmp/mine -delete\n"),
    // Commands that end with their session.
    ("a.sh", "crontab -l\nsystemctl status x\nsource ~/.bashrc\n"),
    ("a.md", "It works!`` ` `` and `a`!\n"),
    ("notes.md", "!`git status` only runs in skill files.\n"),
    (
        "SKILL.md",
        "---\nname: a\ndescription: B c.\npermissions:\n  network: true\n  read: [\"data\"]\n  env: [LANG]\n---\n",
    ),
    ("package.json", "{ \"scripts\": { \"build\": \"tsc\", \"test\": \"vitest\" } }\n"),
    (".git/hooks/pre-commit.sample", "#!/bin/sh\n"),
    ("archive.tar.gz.md", "About archives.\n"),
    ("MZ.txt", "MZ is how programs begin, BZh is bzip2.\n"),
];

#[test]
fn look_alikes_are_clean() {
    let mut wrong = Vec::new();
    for (file, text) in CLEAN {
        let audit = of_file(file, text);
        if !audit.findings.is_empty() {
            wrong.push(format!("{file} {text:?}\n  {:?}", lines(&audit)));
        }
    }
    assert!(wrong.is_empty(), "{} are not clean:\n{}", wrong.len(), wrong.join("\n"));
}

/// These are findings of low or medium severity.
#[test]
fn warnings_about_commands_are_not_high() {
    let texts = [
        "Block commands like `rm -rf /`, `dd of=/dev/sda` and `:(){ :|:& };:`.\n",
        "```sh\n# BAD: never do this\nrm -rf /\n```\n",
        "```php\nnew Config('localhost; rm -rf /');\n```\n",
        "```sh\nrm -rf ~  # dangerous\n```\n",
        "Prompt injection looks like this: “ignore all previous instructions”.\n",
        "```sh\nscp -i ~/.ssh/id_rsa file host:\nssh-keygen -f ~/.ssh/id_rsa\n```\n",
        "AWS keeps keys in `~/.aws/credentials`.\n\n```sh\ncurl https://x.test\n```\n",
        "```sh\ncurl -LsSf https://astral.sh/uv/install.sh | sh\n```\n",
        "<!-- Claude: keep this table short. Always sort it by name. -->\n",
    ];
    for text in texts {
        let audit = of_file("a.md", text);
        assert!(!audit.findings.is_empty(), "nothing is said about {text:?}");
        assert_eq!(high(&audit), [""; 0], "{text:?}");
    }
    let guard = "BLOCKED = ['rm -rf /', 'rm -rf ~', 'mkfs.ext4 /dev/sda']\nif cmd in BLOCKED: exit(2)\n";
    assert_eq!(high(&of_file("guard.py", guard)), [""; 0]);
}

#[test]
fn our_own_skills_have_nothing_high() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut audited = 0;
    for dir in [root.join("skills"), root.join("tests/labelled/skills")] {
        for entry in dir.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                let audit = audit(&path);
                assert!(audit.files > 0, "{}", path.display());
                assert_eq!(high(&audit), [""; 0], "{}", path.display());
                assert!(audit.highest() < Some(AuditSeverity::High));
                audited += 1;
            }
        }
    }
    assert!(audited > 20, "only {audited} skills were looked at");
}
