//! Serves the skills below directories: `serve [--http ADDR] DIR...`. For trying things out; `skillcue mcp` is the
//! real thing.

use std::error::Error;
use std::sync::Arc;

use skillcue::Skillcue;
use skillcue_mcp::server::{HttpOptions, HttpServer, ServerOptions, SkillServer, serve_standard_io};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut address = None;
    let mut builder = Skillcue::builder();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--http" {
            address = arguments.next();
        } else {
            builder = builder.skills_dir(argument);
        }
    }
    let server = SkillServer::new(Arc::new(builder.build()?), ServerOptions::default());
    let cancel = CancellationToken::new();
    let Some(address) = address else {
        return Ok(serve_standard_io(&server, cancel).await?);
    };
    let mut options = HttpOptions::default();
    options.listen = address.parse()?;
    let http = HttpServer::bind(server, options).await?;
    #[expect(clippy::print_stderr, reason = "it is a program")]
    {
        eprintln!("listening on {}", http.address());
    }
    let ended = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            ended.cancel();
        }
    });
    Ok(http.run(cancel).await?)
}
