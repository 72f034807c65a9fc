//! The vocabulary, and the names made of it.
//!
//! The lists are set like text: rustfmt would give each of the 500 words a line of its own.

use super::random::Random;

/// The subject of a skill: the first word of its name.
///
/// No word contains a hyphen and no word is in two of the three lists that make up a name, so
/// a name can be taken apart in one way only, and equal names mean equal words.
#[rustfmt::skip]
pub(crate) const SUBJECTS: &[&str] = &[
    "accessibility", "account", "airflow", "ansible", "api", "archive", "assembly", "audio", "avro",
    "azure", "backup", "bash", "bigquery", "billing", "blog", "branch", "browser", "budget",
    "calendar", "cargo", "changelog", "chart", "chatbot", "chemistry", "cloudflare", "cluster",
    "codebase", "color", "commit", "compiler", "compliance", "component", "config", "contract",
    "cookie", "cron", "csv", "customer", "dashboard", "database", "dataset", "debian", "deck",
    "dependency", "deployment", "diagram", "django", "dns", "docker", "document", "docx", "domain",
    "elasticsearch", "email", "endpoint", "excel", "experiment", "expo", "feature", "figma",
    "finance", "firmware", "flutter", "font", "form", "game", "genome", "geojson", "git", "github",
    "golang", "grafana", "graphql", "grpc", "hiring", "html", "image", "incident", "index",
    "invoice", "ios", "java", "jira", "json", "jupyter", "kafka", "kotlin", "kubernetes", "latex",
    "legal", "linux", "logo", "mail", "manuscript", "map", "markdown", "meeting", "metric",
    "migration", "mobile", "model", "mongodb", "monorepo", "mysql", "nginx", "node", "notebook",
    "notion", "oauth", "onboarding", "openapi", "order", "package", "palette", "parquet", "payment",
    "pdf", "permission", "pipeline", "playwright", "podcast", "policy", "postgres", "pptx",
    "product", "prometheus", "prompt", "protein", "protobuf", "python", "query", "queue", "react",
    "redis", "regex", "release", "report", "resume", "roadmap", "rust", "salesforce", "schema",
    "secret", "sensor", "seo", "shader", "slack", "snowflake", "spark", "spreadsheet", "sql",
    "stripe", "subtitle", "support", "survey", "svelte", "swift", "table", "tax", "telemetry",
    "tensor", "terraform", "thesis", "thread", "ticket", "token", "trace", "translation",
    "typescript", "unity", "vector", "video", "vue", "wasm", "webhook", "wiki", "wordpress",
    "workflow", "yaml", "zendesk",
];

/// The role of a skill: the last word of its name.
#[rustfmt::skip]
pub(crate) const ROLES: &[&str] = &[
    "analyzer", "architect", "archiver", "assistant", "auditor", "automation", "builder", "checker",
    "cleaner", "coach", "collector", "compare", "composer", "converter", "creator", "debugger",
    "designer", "doctor", "editor", "estimator", "explainer", "exporter", "expert", "extractor",
    "fixer", "formatter", "generator", "guide", "helper", "importer", "inspector", "integration",
    "linter", "manager", "merger", "migrator", "monitor", "optimizer", "organizer", "patterns",
    "planner", "processor", "profiler", "publisher", "refactor", "renamer", "researcher",
    "resolver", "review", "runner", "scaffold", "scanner", "scheduler", "scraper", "search",
    "setup", "specialist", "splitter", "summarizer", "sync", "tester", "toolkit", "tracker",
    "triage", "tuning", "validator", "visualizer", "watcher", "workbench", "writer",
];

/// The qualifier of a skill: the middle word of most names. The empty word makes a name of two.
#[rustfmt::skip]
const QUALIFIERS: &[&str] = &[
    "", "advanced", "agentic", "async", "batch", "bulk", "cloud", "deep", "distributed",
    "enterprise", "fast", "incremental", "interactive", "internal", "legacy", "local", "minimal",
    "modern", "nightly", "offline", "parallel", "private", "public", "quick", "remote", "safe",
    "semantic", "simple", "smart", "strict", "team", "visual", "weekly",
];

/// Categories of the grouped layout.
#[rustfmt::skip]
pub(crate) const CATEGORIES: &[&str] = &[
    "analytics", "backend", "business", "communication", "content", "data-engineering", "databases",
    "design", "devops", "documents", "education", "engineering", "finance", "frontend", "games",
    "infrastructure", "integrations", "languages", "legal", "machine-learning", "marketing",
    "mobile", "observability", "operations", "planning", "productivity", "research", "sales",
    "science", "security", "testing", "writing",
];

/// The verbs with which descriptions and bodies begin their sentences.
#[rustfmt::skip]
pub(crate) const VERBS: &[&str] = &[
    "Analyze", "Audit", "Automate", "Build", "Check", "Clean", "Compare", "Convert", "Create",
    "Debug", "Deploy", "Design", "Diagnose", "Draft", "Edit", "Estimate", "Explain", "Export",
    "Extract", "Fix", "Format", "Generate", "Import", "Inspect", "Manage", "Merge", "Migrate",
    "Monitor", "Optimize", "Organize", "Plan", "Prepare", "Publish", "Refactor", "Review", "Scan",
    "Search", "Split", "Summarize", "Test", "Track", "Translate", "Update", "Validate", "Write",
];

/// The objects of those verbs.
#[rustfmt::skip]
pub(crate) const OBJECTS: &[&str] = &[
    "API responses", "access logs", "acceptance criteria", "architecture decision records",
    "build artifacts", "changelogs", "charts", "code comments", "column types", "commit messages",
    "configuration files", "container images", "customer interviews", "dashboards",
    "database schemas", "dependency graphs", "design tokens", "error budgets", "error messages",
    "feature flags", "file uploads", "financial statements", "form fields", "integration tests",
    "landing pages", "large tables", "log files", "meeting notes", "merge conflicts",
    "metrics and alerts", "migration scripts", "page layouts", "pull requests", "query plans",
    "quarterly reports", "rate limits", "release notes", "retry policies", "role bindings",
    "scanned documents", "search results", "security findings", "service accounts",
    "slide decks", "source files", "stack traces", "style guides", "support tickets",
    "test fixtures", "time series", "type definitions", "unit tests", "user stories",
    "web pages", "work items",
];

/// The manner in which skills do it.
#[rustfmt::skip]
pub(crate) const MANNERS: &[&str] = &[
    "across several repositories", "before a release", "by following the team's conventions",
    "from a short brief", "from scratch", "in a repeatable way", "in one pass",
    "with a clear checklist", "with sensible defaults", "with the project's own templates",
    "without changing behavior", "without losing formatting", "step by step", "at scale",
    "for review", "for a non-technical audience", "and report what was skipped",
    "and keep the original files untouched",
];

/// The occasion to use a skill, after "Use when".
#[rustfmt::skip]
pub(crate) const OCCASIONS: &[&str] = &[
    "the user asks for help with", "the user mentions", "working with", "the task involves",
    "someone needs to review", "creating or editing", "a question comes up about",
    "you need to troubleshoot", "planning changes to", "the conversation turns to",
];

/// Descriptions in Chinese, Japanese and Korean, by sentence.
#[rustfmt::skip]
pub(crate) const CJK: &[&str] = &[
    "分析数据并生成报告。", "当用户需要处理文档时使用此技能。", "自动检查代码质量，并给出修改建议。",
    "支持批量转换文件格式，保留原有排版。", "用于编写和维护项目文档。", "根据需求生成测试用例与测试数据。",
    "データベースのスキーマを設計し、移行手順を作成します。", "ユーザーがレポートの作成を依頼したときに使用します。",
    "ログを解析して障害の原因を特定する。", "コードレビューの観点を整理し、改善案を示します。",
    "문서를 요약하고 핵심 내용을 정리합니다.", "사용자가 번역을 요청할 때 사용하세요.",
    "배포 과정을 점검하고 문제를 해결합니다.", "整理会议纪要，提取待办事项与负责人。",
    "設定ファイルを検証し、問題点を報告します。",
];

/// The name of one skill of a tree.
///
/// The index walks through all combinations of words in an order that looks random and never
/// repeats: an affine map whose factor has no divisor in common with the number of combinations.
/// A tree larger than that number (over 450,000) numbers its further rounds.
pub(crate) fn name(seed: u64, index: usize) -> String {
    // A prime above every list's length, so it divides none of them.
    const FACTOR: usize = 1_000_003;
    let combinations = SUBJECTS.len() * ROLES.len() * QUALIFIERS.len();
    let offset = Random::for_item(seed, u64::MAX).below(combinations);
    let round = index / combinations;
    let at = ((index % combinations) * FACTOR + offset) % combinations;

    let subject = SUBJECTS[at % SUBJECTS.len()];
    let role = ROLES[at / SUBJECTS.len() % ROLES.len()];
    let qualifier = QUALIFIERS[at / SUBJECTS.len() / ROLES.len()];
    let mut name = String::with_capacity(40);
    name.push_str(subject);
    for word in [qualifier, role] {
        if !word.is_empty() {
            name.push('-');
            name.push_str(word);
        }
    }
    if round > 0 {
        name.push('-');
        name.push_str(&(round + 1).to_string());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_valid() {
        let count = SUBJECTS.len() * ROLES.len() * QUALIFIERS.len() + 1000;
        let mut seen = HashSet::with_capacity(count);
        for index in 0..count {
            let name = name(7, index);
            assert!(name.len() <= 64, "{name}");
            assert!(name.split('-').all(|word| !word.is_empty()), "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
            assert!(seen.insert(name), "twice at {index}");
        }
    }

    #[test]
    fn the_word_lists_do_not_overlap() {
        let mut seen = HashSet::new();
        for word in SUBJECTS.iter().chain(ROLES).chain(QUALIFIERS) {
            assert!(seen.insert(word), "{word} stands in two lists");
            assert!(!word.contains('-'), "{word}");
        }
    }

    #[test]
    fn prose_is_plain_yaml() {
        // Descriptions are written as plain scalars, so their words must not need quotes.
        for text in VERBS.iter().chain(OBJECTS).chain(MANNERS).chain(OCCASIONS).chain(CJK) {
            assert!(!text.contains(": ") && !text.contains(" #") && !text.contains('"'), "{text}");
            assert!(text.starts_with(char::is_alphabetic), "{text}");
        }
    }
}
