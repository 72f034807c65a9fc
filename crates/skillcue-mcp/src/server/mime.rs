//! Media types by a file's extension.

/// The media type of a directory.
pub(super) const DIRECTORY: &str = "inode/directory";

/// Returns the media type of a file, by its name: for the files that skills usually have, and `None` for others.
pub(super) fn of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "text" | "log" | "rst" | "ini" | "cfg" | "conf" => "text/plain",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "tsv" => "text/tab-separated-values",
        "xml" | "xsd" | "xsl" => "application/xml",
        "json" | "jsonl" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "py" => "text/x-python",
        "sh" | "bash" | "zsh" => "application/x-sh",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" | "mts" => "text/x-typescript",
        "rb" => "text/x-ruby",
        "pl" => "text/x-perl",
        "rs" => "text/x-rust",
        "go" => "text/x-go",
        "java" => "text/x-java",
        "c" | "h" => "text/x-c",
        "cpp" | "cc" | "hpp" => "text/x-c++",
        "sql" => "application/sql",
        "tex" => "application/x-tex",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "bmp" => "image/bmp",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "tar" => "application/x-tar",
        "wasm" => "application/wasm",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "otf" => "font/otf",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "pptx" => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        _ => return None,
    })
}

/// Returns the media type of a file whose content is known to be text or not.
pub(super) fn with_content(path: &str, is_text: bool) -> &'static str {
    of(path).unwrap_or(if is_text { "text/plain" } else { "application/octet-stream" })
}
