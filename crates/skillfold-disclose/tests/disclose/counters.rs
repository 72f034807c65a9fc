//! How near the estimate comes to the truth, on texts that are at hand.
#![cfg(feature = "exact-tokens")]

use std::path::{Path, PathBuf};

use skillfold_disclose::{O200k, Segment, TokenCounter};

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["target", ".git", "corpus", "snapshots"].contains(&&*name) {
                collect(&path, found);
            }
        } else if [".md", ".rs", ".json", ".toml"].iter().any(|end| name.ends_with(end)) && name != "tables.rs" {
            found.push(path);
        }
    }
}

/// Texts of kinds that the repository does not hold.
fn written() -> Vec<String> {
    let german = "Die Erweiterung liest alle Dateien des Verzeichnisses und schreibt eine Übersicht der gefundenen \
        Fähigkeiten. Wenn eine Beschreibung fehlt, wird der erste Satz des Textes verwendet und bei Bedarf gekürzt. \
        Größere Dokumente sollten in mehrere Abschnitte geteilt werden, damit nur das Nötige geladen wird.\n";
    let chinese = "这个技能可以读取文件夹中的所有文件，并生成一份清单。如果没有找到描述，就使用正文的第一句话。\
        较大的文档应当分成几个部分，这样模型只需要加载必要的内容。请在使用之前检查配置是否正确。\n";
    let japanese = "このスキルはフォルダー内のすべてのファイルを読み込み、一覧を作成します。説明がない場合は、本文の最初の文を使用します。\
        大きな文書はいくつかの部分に分けると、必要な内容だけを読み込むことができます。\n";
    let table = "| name | source | tokens | enabled |\n| --- | --- | ---: | :---: |\n| pdf-extractor | user | 1,204 | yes |\n\
        | hello-extended | bundled | 87 | no |\n| csv-tools | project | 15 | yes |\n";
    let code = "def load(path: str, *, limit: int = 100) -> list[dict]:\n    \"\"\"Reads at most `limit` rows.\"\"\"\n    \
        rows = []\n    with open(path, encoding=\"utf-8\") as handle:\n        for i, line in enumerate(handle):\n            \
        if i >= limit:\n                break\n            rows.append(json.loads(line))\n    return rows\n";
    let json = "{\"name\": \"pdf\", \"enabled\": true, \"tokens\": 1204, \"dir\": \"/home/user/.agents/skills/pdf\", \
        \"triggers\": {\"keywords\": [\"pdf\", \"table\"], \"verbs\": []}},\n";
    [german, chinese, japanese, table, code, json].map(|text| text.repeat(4)).to_vec()
}

#[test]
fn within_fifteen_percent_on_98_of_100_documents() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let mut documents: Vec<(String, String)> = Vec::new();
    for path in files {
        if let Ok(text) = std::fs::read_to_string(&path) {
            documents.push((path.display().to_string(), text));
        }
    }
    documents.extend(written().into_iter().enumerate().map(|(i, text)| (format!("written {i}"), text)));
    documents.retain(|(_, text)| text.len() >= 500);
    assert!(documents.len() >= 100, "{}", documents.len());
    let mut off = Vec::new();
    for (name, text) in &documents {
        let (estimate, truth) = (Segment.count(text).0, O200k.count(text).0);
        if estimate * 100 < truth * 85 || estimate * 100 > truth * 115 {
            off.push(format!("{name}: {estimate} for {truth}"));
        }
    }
    assert!(off.len() * 50 <= documents.len(), "{} of {}: {off:#?}", off.len(), documents.len());
}

#[test]
fn the_registry_costs_ten_to_fifteen_tokens_a_bundled_skill() {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let root = skillfold_catalog::Root::new(skills, skillfold_catalog::Source::User);
    let catalog = skillfold_catalog::Discovery::new([root]).run();
    let config = skillfold_disclose::DiscloseConfig { counter: "o200k".parse().unwrap(), ..Default::default() };
    let discloser = skillfold_disclose::Discloser::new(std::sync::Arc::new(catalog), config).unwrap();
    let lines: Vec<&str> = discloser.registry().text.lines().filter(|line| line.starts_with("- **")).collect();
    let tokens: usize = lines.iter().map(|line| O200k.count(line).0 + 1).sum();
    assert!((10 * lines.len()..=15 * lines.len()).contains(&tokens), "{tokens} for {}", lines.len());
}
