//! The estimate's distance from the exact count, on texts of the repository.
#![cfg(feature = "exact-tokens")]

use std::path::{Path, PathBuf};

use skillcue_disclose::{O200k, Segment, TokenCounter};

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
    let root = skillcue_catalog::SkillRoot::new(skills, skillcue_catalog::Source::User);
    let catalog = skillcue_catalog::Discovery::new([root]).run();
    let config = skillcue_disclose::DiscloseConfig { counter: "o200k".parse().unwrap(), ..Default::default() };
    let discloser = skillcue_disclose::Discloser::new(std::sync::Arc::new(catalog), config).unwrap();
    let lines: Vec<&str> = discloser.registry().text.lines().filter(|line| line.starts_with("- **")).collect();
    assert!(!lines.is_empty());
    let tokens: usize = lines.iter().map(|line| O200k.count(line).0 + 1).sum();
    assert!((10 * lines.len()..=15 * lines.len()).contains(&tokens), "{tokens} for {}", lines.len());
}

/// Texts that once came out as far too cheap: a budget that is exceeded is worse than one that is not used up.
#[rustfmt::skip]
const DEAR: &[(&str, &str)] = &[
    ("Sinhala", "මෙම කුසලතාව ගොනු කියවා ඒවායේ ලැයිස්තුවක් සාදයි. විස්තරයක් නොමැති නම් පළමු වාක්\u{200d}යය භාවිතා කරන්න. විශාල ලේඛන කොටස් කිහිපයකට බෙදන්න, එවිට අවශ්\u{200d}ය දේ පමණක් පූරණය වේ. ශ්\u{200d}රී ලංකාවේ ජනතාව සිංහල භාෂාව කතා කරති."),
    ("Ethiopic", "ይህ ክህሎት በማውጫው ውስጥ ያሉትን ሁሉንም ፋይሎች ያነባል እና ዝርዝር ያዘጋጃል። መግለጫ ከሌለ የመጀመሪያውን ዓረፍተ ነገር ይጠቀማል። ትላልቅ ሰነዶች በበርካታ ክፍሎች መከፈል አለባቸው። ኢትዮጵያ በአፍሪካ ቀንድ የምትገኝ ሀገር ናት።"),
    ("Odia", "ଏହି ଦକ୍ଷତା ଫୋଲ୍ଡରର ସମସ୍ତ ଫାଇଲ ପଢ଼େ ଏବଂ ଏକ ତାଲିକା ପ୍ରସ୍ତୁତ କରେ। ବର୍ଣ୍ଣନା ନଥିଲେ ପାଠ୍ୟର ପ୍ରଥମ ବାକ୍ୟ ବ୍ୟବହାର କରାଯାଏ।"),
    ("Gurmukhi", "ਇਹ ਹੁਨਰ ਫੋਲਡਰ ਦੀਆਂ ਸਾਰੀਆਂ ਫਾਈਲਾਂ ਪੜ੍ਹਦਾ ਹੈ ਅਤੇ ਇੱਕ ਸੂਚੀ ਬਣਾਉਂਦਾ ਹੈ। ਜੇ ਵੇਰਵਾ ਨਹੀਂ ਮਿਲਦਾ ਤਾਂ ਪਾਠ ਦਾ ਪਹਿਲਾ ਵਾਕ ਵਰਤਿਆ ਜਾਂਦਾ ਹੈ।"),
    ("Gujarati", "આ કૌશલ્ય ફોલ્ડરની બધી ફાઇલો વાંચે છે અને યાદી બનાવે છે. જો વર્ણન ન મળે તો લખાણનું પહેલું વાક્ય વપરાય છે. મોટા દસ્તાવેજોને ઘણા ભાગોમાં વહેંચવા જોઈએ."),
    ("Telugu", "ఈ నైపుణ్యం ఫోల్డర్\u{200c}లోని అన్ని ఫైళ్లను చదివి జాబితాను తయారు చేస్తుంది. వివరణ లేకపోతే పాఠం యొక్క మొదటి వాక్యం ఉపయోగించబడుతుంది. పెద్ద పత్రాలను అనేక భాగాలుగా విభజించాలి."),
    ("Lao", "ທັກສະນີ້ອ່ານໄຟລ໌ທັງໝົດໃນໂຟນເດີ ແລະສ້າງລາຍການ. ຖ້າບໍ່ມີຄໍາອະທິບາຍ ຈະໃຊ້ປະໂຫຍກທໍາອິດຂອງຂໍ້ຄວາມ."),
    ("Tibetan", "བོད་ཀྱི་སྐད་ཡིག་ནི་ཧ་ཅང་གལ་ཆེན་པོ་ཞིག་ཡིན། ཡིག་ཆ་ཚང་མ་ཀློག་ནས་མིང་ཐོ་ཞིག་བཟོ་དགོས།"),
    ("Burmese", "ဤကျွမ်းကျင်မှုသည် ဖိုင်တွဲအတွင်းရှိ ဖိုင်အားလုံးကို ဖတ်ပြီး စာရင်းတစ်ခု ပြုလုပ်သည်။ ဖော်ပြချက်မရှိပါက စာသား၏ ပထမဝါကျကို အသုံးပြုသည်။"),
    ("Khmer", "ជំនាញនេះអានឯកសារទាំងអស់នៅក្នុងថត ហើយបង្កើតបញ្ជីមួយ។ ប្រសិនបើគ្មានការពិពណ៌នា ប្រយោគដំបូងនៃអត្ថបទត្រូវបានប្រើ។"),
    ("Georgian", "ეს უნარი კითხულობს საქაღალდის ყველა ფაილს და ქმნის სიას. თუ აღწერა არ არის, გამოიყენება ტექსტის პირველი წინადადება. დიდი დოკუმენტები უნდა დაიყოს რამდენიმე ნაწილად."),
    ("Armenian", "Այս հմտությունը կարդում է թղթապանակի բոլոր ֆայլերը և կազմում ցուցակ։ Եթե նկարագրություն չկա, օգտագործվում է տեքստի առաջին նախադասությունը։"),
    ("formulas", "∀x∈ℝ: x² ≥ 0 ⇒ ∃y∈ℂ: y² = −x. ∑ᵢ αᵢ·βᵢ ≤ √(∑αᵢ²)·√(∑βᵢ²). ∇×E = −∂B/∂t, ∮ E·dℓ = 0. A ∪ B ⊆ C ∩ D, ¬(p ∧ q) ⇔ ¬p ∨ ¬q. ∫₀^∞ e^{−x²} dx = √π⁄2. f: ℕ → ℤ, x ↦ −x. "),
    ("signs", "∀∃∈∉∋∏∑−∓∗∘√∝∞∠∧∨∩∪∫∴∼≅≈≠≡≤≥⊂⊃⊄⊆⊇⊕⊗⊥⋅ "),
    ("letters of formulas", "𝐀𝐁𝐂 𝑥𝑦𝑧 𝒜ℬ𝒞 𝔸𝔹ℂ 𝛼𝛽𝛾 𝟎𝟏𝟐 𝖺𝖻𝖼 𝚊𝚋𝚌 "),
    ("arrows", "a → b ⇒ c ↔ d ⇔ e ↦ f ← g ↑ h ↓ i ⟶ j ⟹ k "),
    ("capitals", "ALWAYS READ THE WHOLE FILE BEFORE YOU CHANGE ANYTHING. NEVER GUESS A NAME THAT IS NOT IN THE LIST. WHEN NO DESCRIPTION IS FOUND, THE FIRST SENTENCE OF THE TEXT IS USED INSTEAD. LARGE DOCUMENTS SHOULD BE SPLIT INTO SEVERAL SECTIONS SO THAT ONLY NECESSARY PARTS ARE LOADED.\n"),
    ("other capitals", "DO NOT DELETE FILES. CHECK EVERY INVOICE NUMBER AGAINST THE LEDGER AND REPORT DISCREPANCIES IMMEDIATELY. KEEP BACKUPS ENCRYPTED; ROTATE CREDENTIALS QUARTERLY. ESCALATE UNRESOLVED INCIDENTS TO THE SUPERVISOR. WEAR PROTECTIVE EQUIPMENT WHEN HANDLING SOLVENTS.\n"),
    ("French capitals", "VEUILLEZ LIRE LE DOCUMENT EN ENTIER AVANT DE MODIFIER LES FICHIERS. LES TITRES DOIVENT RESTER COURTS ET CLAIRS. NE SUPPRIMEZ JAMAIS UNE PAGE SANS AUTORISATION.\n"),
    ("tabs", "\t\t\tone\t\ttwo\t\t\t\tthree\n\t\t\t\t\t\tfour\n"),
    ("blank lines", "line\n\n\n\n\nline\n \n \n \nline\n\t\n\t\nend\n"),
    ("a table of blanks", "Name            Size      Date           \nreport.pdf      12345     2024-01-01     \nx.txt           1         2023-12-31     \n"),
    ("other blanks", "a\u{a0}b\u{a0}\u{a0}c\u{2003}d\u{3000}e "),
];

#[test]
fn no_script_is_far_too_cheap() {
    let mut off = Vec::new();
    for (name, text) in DEAR {
        let text = text.repeat(6);
        let (estimate, truth) = (Segment.count(&text).0, O200k.count(&text).0);
        if estimate * 100 < truth * 85 || estimate * 100 > truth * 120 {
            off.push(format!("{name}: {estimate} for {truth}"));
        }
    }
    assert_eq!(off, [] as [String; 0]);
    for text in ["\n".repeat(500), "\r\n".repeat(300)] {
        let (estimate, truth) = (Segment.count(&text).0, O200k.count(&text).0);
        assert!(estimate * 100 >= truth * 85, "{estimate} for {truth}");
    }
}
