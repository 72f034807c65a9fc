//! The costs of a catalog of many skills: publishing it, a reader's first start, polls, the first body, each beside bare
//! reads of the same objects from the same store in the same run.
//!
//! `cargo xtask fleet-bench [SKILLS [OVER_THE_WIRE]]` builds it in release and runs it: `measure publish DIR SKILLS` publishes
//! into the directory DIR/store, `measure wire DIR ENDPOINT` publishes the same to an S3 server, beside bare PUTs of the same
//! objects, `measure read DIR URL` reads the directory at URL, beside bare GETs of the same objects, and `measure change DIR`
//! publishes one change. Each is a process of its own, which prints the most memory that it had.

#![expect(clippy::print_stdout, reason = "a program for people, whose result is what it prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use skillcue::config::CatalogTrust;
use skillcue::{Mode, Request, Skillcue};
use skillcue_bench::{TreeOptions, generate};
use skillcue_fleet::{
    CatalogSpec, Catalogs, CatalogsOptions, FleetEngine, PublishOptions, SigningKey, Store, StoreOptions, TrafficCount,
    publish,
};
use skillcue_http::reqwest::{Client, Url};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How many objects are read at once, by the program and by the floor.
const CONCURRENT: usize = 16;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["publish", dir, count] => publish_all(&BenchDir(dir.into()), count.parse()?),
        ["wire", dir, endpoint] => publish_over_the_wire(&BenchDir(dir.into()), endpoint),
        ["change", dir, name] => publish_change(&BenchDir(dir.into()), name),
        ["read", dir, url] => read(&BenchDir(dir.into()), url),
        _ => Err("publish DIR SKILLS, wire DIR ENDPOINT, read DIR URL, or change DIR SKILL".into()),
    };
    println!("  {} had at most {}", words.first().unwrap_or(&"it"), most_memory());
    done
}

/// The directory of a run: the skills, the store, the key, and what a reader keeps.
struct BenchDir(PathBuf);

impl BenchDir {
    fn tree(&self) -> PathBuf {
        self.0.join("skills")
    }

    fn key_file(&self) -> PathBuf {
        self.0.join("acme.key")
    }

    /// Opens the store for a publisher.
    fn store(&self) -> Outcome<Store> {
        let url = format!("file://{}", self.0.join("store/acme").display());
        Ok(Store::open(&url, &StoreOptions { create: true, ..StoreOptions::default() })?)
    }

    fn signed(&self) -> Outcome<PublishOptions> {
        Ok(PublishOptions { key: Some(Arc::new(SigningKey::load(&self.key_file())?)), ..PublishOptions::default() })
    }
}

fn publish_all(dir: &BenchDir, count: usize) -> Outcome<()> {
    std::fs::create_dir_all(&dir.0)?;
    generate(&dir.tree(), &TreeOptions { count, ..TreeOptions::default() })?;
    SigningKey::generate()?.save(&dir.key_file())?;
    println!(
        "{:<28} {:>10} {:>10} {:>9} {:>14} {:>10} {:>10} {:>7}",
        "", "ms", "cpu ms", "requests", "bytes", "floor ms", "floor cpu", "cpu /"
    );
    let (engine, store) = (FleetEngine::default(), dir.store()?);
    let (elapsed, traffic, report) =
        timed(&store, || Ok(publish(&engine, &store, Some(&dir.tree()), &dir.signed()?)?))?;
    row("publish all", elapsed, traffic, None);
    println!("  {} skills, {} refused", report.skills, report.refused.len());
    Ok(())
}

/// Publishes the skills to an S3 server, and then the objects of the directory's store by bare PUTs: the same bytes.
fn publish_over_the_wire(dir: &BenchDir, endpoint: &str) -> Outcome<()> {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let options = StoreOptions {
        options: vec![pair("endpoint", endpoint), pair("region", "us-east-1")],
        variables: vec![pair("AWS_ACCESS_KEY_ID", "test"), pair("AWS_SECRET_ACCESS_KEY", "test")],
        timeout: Some(Duration::from_mins(2)),
        ..StoreOptions::default()
    };
    let bare = Floor::new(endpoint)?;
    bare.put("skillcue-bench", Vec::new())?;
    let (engine, store) = (FleetEngine::default(), Store::open("s3://skillcue-bench/acme", &options)?);
    let (elapsed, traffic, report) =
        timed(&store, || Ok(publish(&engine, &store, Some(&dir.tree()), &dir.signed()?)?))?;
    let (cost, puts, bytes) = bare.put_all(&dir.0.join("store/acme"), "skillcue-bench/floor")?;
    row("publish over the wire", elapsed, traffic, Some(cost));
    println!("  {} skills; the floor: {puts} PUTs of {bytes} bytes", report.skills);
    Ok(())
}

fn publish_change(dir: &BenchDir, name: &str) -> Outcome<()> {
    let path = find(&dir.tree(), name)?;
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, format!("{text}\nOne more line about a flibbertigibbet.\n"))?;
    let one = path.parent().ok_or("no directory")?;
    let (engine, store) = (FleetEngine::default(), dir.store()?);
    let (elapsed, traffic, _) = timed(&store, || Ok(publish(&engine, &store, Some(one), &dir.signed()?)?))?;
    row("publish one change", elapsed, traffic, None);
    Ok(())
}

fn read(dir: &BenchDir, url: &str) -> Outcome<()> {
    let spec = CatalogSpec {
        name: "acme".to_owned(),
        url: url.to_owned(),
        keys: vec![SigningKey::load(&dir.key_file())?.public()],
        trust: CatalogTrust::Signed,
        precedence: 0,
        poll: Duration::from_mins(5),
        store: StoreOptions::default(),
    };
    let (cache, data) = (dir.0.join("cache"), dir.0.join("data"));
    let home = CatalogsOptions { cache: Some(cache.clone()), data: Some(data), ..CatalogsOptions::default() };
    let kept = cache.join("catalogs").join(skillcue_catalog::kept_catalog_name("acme", url));
    let watched = Store::open(url, &spec.store)?;
    let reader = || Catalogs::new([spec.clone()], &home).with_store("acme", watched.clone());
    let floor = Floor::new(url)?;

    let first = reader();
    let (elapsed, traffic, ()) = timed(&watched, || refresh(&first))?;
    row("first pull", elapsed, traffic, Some(floor.read(&kept_names(&kept)?)?));
    println!("  the most memory until then: {}", most_memory());

    let start = Stopwatch::start();
    let skills = skillcue(&first, None)?;
    let built = start.elapsed();
    let start = Stopwatch::start();
    let hits = skills.search(&Request::new("rotate the scanned invoices").mode(Mode::Hybrid)).hits.len();
    println!("  catalog built in {built}, first selection ({hits} hits) in {}", start.elapsed());
    drop(skills);

    let (elapsed, traffic, ()) = timed(&watched, || refresh(&first))?;
    row("poll without change", elapsed, traffic, Some(floor.poll()?));

    let remote = &first.remotes()[0];
    let entries = remote.entries();
    let name = entries.get(entries.len() / 2).ok_or("no skill")?.name().to_owned();
    let changed = Command::new(std::env::current_exe()?).arg("change").arg(&dir.0).arg(&name).status()?;
    if !changed.success() {
        return Err("publishing the change failed".into());
    }
    let before = kept_names(&kept)?;
    let (elapsed, traffic, ()) = timed(&watched, || refresh(&first))?;
    let new: Vec<String> = kept_names(&kept)?.into_iter().filter(|name| !before.contains(name)).collect();
    row("poll with one change", elapsed, traffic, Some(floor.read(&new)?));

    let entry = remote.entries().iter().find(|entry| entry.name() == name).cloned().ok_or("no entry")?;
    let blob = entry.file("SKILL.md").map(|file| file.digest.replace("sha256:", "")).ok_or("no file")?;
    let (elapsed, traffic, ()) = timed(&watched, || remote.read(&entry, "SKILL.md").map(drop).map_err(Into::into))?;
    row("first body", elapsed, traffic, Some(floor.get(&[blob])?));
    let (elapsed, traffic, ()) = timed(&watched, || remote.read(&entry, "SKILL.md").map(drop).map_err(Into::into))?;
    row("second body", elapsed, traffic, None);
    drop((entries, first));

    let start = Stopwatch::start();
    let offline = reader();
    let skills = offline.remotes()[0].entries().len();
    println!("offline start: {skills} skills in {}", start.elapsed());
    let start = Stopwatch::start();
    let cue = skillcue(&offline, Some(&dir.0))?;
    println!("  the catalog built in {}", start.elapsed());
    let start = Stopwatch::start();
    cue.search(&Request::new("rotate the scanned invoices").mode(Mode::Hybrid));
    println!("  and the first selection after {} more", start.elapsed());
    Ok(())
}

/// Returns the most memory that this process had, as Linux counts it.
fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |line| line.trim().to_owned())
}

fn refresh(reader: &Catalogs) -> Outcome<()> {
    for refreshed in reader.refresh(Duration::from_mins(10)) {
        refreshed.outcome?;
    }
    Ok(())
}

fn skillcue(reader: &Catalogs, cache: Option<&Path>) -> Outcome<Skillcue> {
    let mut builder = Skillcue::builder();
    if let Some(cache) = cache {
        builder = builder.index_cache(cache.join("index"));
    }
    Ok(reader.remotes().into_iter().fold(builder, skillcue::Builder::remote).build()?)
}

fn timed<T>(store: &Store, work: impl FnOnce() -> Outcome<T>) -> Outcome<(Cost, TrafficCount, T)> {
    let (before, start) = (store.traffic(), Stopwatch::start());
    let done = work()?;
    Ok((start.elapsed(), less(store.traffic(), before), done))
}

/// Wall time, and processor time of all threads.
#[derive(Debug, Clone, Copy)]
struct Cost {
    wall: Duration,
    cpu: Duration,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ms ({} ms of a core)", self.wall.as_millis(), self.cpu.as_millis())
    }
}

struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), cpu: processor_time() }
    }

    fn elapsed(&self) -> Cost {
        Cost { wall: self.wall.elapsed(), cpu: processor_time().saturating_sub(self.cpu) }
    }
}

/// Returns the processor time of all threads that live, as Linux counts it in nanoseconds.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(Result::ok);
    let of_thread = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    };
    Duration::from_nanos(threads.filter_map(of_thread).sum())
}

fn less(after: TrafficCount, before: TrafficCount) -> TrafficCount {
    TrafficCount {
        requests: after.requests - before.requests,
        received: after.received - before.received,
        sent: after.sent - before.sent,
    }
}

fn row(what: &str, cost: Cost, traffic: TrafficCount, floor: Option<Cost>) {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let bytes = traffic.received + traffic.sent;
    let shown = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{:.2}", ms(time)));
    let (floor_ms, floor_cpu) = (shown(floor.map(|floor| floor.wall)), shown(floor.map(|floor| floor.cpu)));
    let ratio = floor.map_or("-".to_owned(), |floor| format!("{:.1}", ms(cost.cpu) / ms(floor.cpu).max(0.001)));
    println!(
        "{what:<28} {:>10.2} {:>10.2} {:>9} {bytes:>14} {floor_ms:>10} {floor_cpu:>10} {ratio:>7}",
        ms(cost.wall),
        ms(cost.cpu),
        traffic.requests
    );
}

/// Returns the digests of the parts and indexes that a reader keeps.
fn kept_names(dir: &Path) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for below in ["parts", "index"] {
        for entry in std::fs::read_dir(dir.join(below)).into_iter().flatten() {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Returns the skill file of a generated skill.
fn find(tree: &Path, name: &str) -> Outcome<PathBuf> {
    skillcue_bench::floor::find(tree)?
        .into_iter()
        .find(|path| path.parent().and_then(Path::file_name).is_some_and(|dir| dir == name))
        .ok_or_else(|| format!("no skill {name}").into())
}

/// Returns all files below a directory.
fn files_below(dir: &Path, found: &mut Vec<PathBuf>) -> Outcome<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() { files_below(&path, found)? } else { found.push(path) }
    }
    Ok(())
}

/// Bare GETs and PUTs of the same objects, by the client that the program has.
struct Floor {
    client: Client,
    url: Url,
    runtime: tokio::runtime::Runtime,
}

impl Floor {
    fn new(url: &str) -> Outcome<Floor> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let url = Url::parse(&format!("{}/", url.trim_end_matches('/')))?;
        let options = skillcue_http::ClientOptions {
            connect_timeout: Duration::from_secs(5),
            redirects: skillcue_http::Redirects::None,
        };
        let client = runtime.block_on(async { skillcue_http::client(&url, &options) })?;
        Ok(Floor { client, url, runtime })
    }

    /// Gets the head, and parts of a generation by their digests.
    fn read(&self, digests: &[String]) -> Outcome<Cost> {
        let start = Stopwatch::start();
        self.runtime.block_on(async {
            self.bytes("head", None).await?;
            self.blobs(digests).await
        })?;
        Ok(start.elapsed())
    }

    /// Gets blobs by their digests.
    fn get(&self, digests: &[String]) -> Outcome<Cost> {
        let start = Stopwatch::start();
        self.runtime.block_on(self.blobs(digests))?;
        Ok(start.elapsed())
    }

    /// Gets the head if it has changed, which it has not.
    fn poll(&self) -> Outcome<Cost> {
        let tag = self.runtime.block_on(self.bytes("head", None))?;
        let start = Stopwatch::start();
        self.runtime.block_on(self.bytes("head", tag.as_deref()))?;
        Ok(start.elapsed())
    }

    /// Puts one object.
    fn put(&self, path: &str, bytes: Vec<u8>) -> Outcome<()> {
        self.runtime.block_on(self.put_bytes(path, bytes))
    }

    /// Puts every file below a directory, as many at once as the program does. Returns how many they are, and their bytes.
    fn put_all(&self, dir: &Path, below: &str) -> Outcome<(Cost, usize, u64)> {
        let mut files = Vec::new();
        files_below(dir, &mut files)?;
        files.retain(|file| file.file_name().is_some_and(|name| name != ".lock"));
        let start = Stopwatch::start();
        let puts = files.iter().map(|file| async move {
            let bytes = std::fs::read(file)?;
            let size = bytes.len() as u64;
            self.put_bytes(&format!("{below}/{}", file.strip_prefix(dir)?.display()), bytes).await?;
            Ok(size)
        });
        let put = futures_util::stream::iter(puts).buffer_unordered(CONCURRENT).collect();
        let put: Vec<Outcome<u64>> = self.runtime.block_on(put);
        let sizes = put.into_iter().collect::<Outcome<Vec<u64>>>()?;
        Ok((start.elapsed(), sizes.len(), sizes.iter().sum()))
    }

    /// Puts one object. The server does not look at the signature.
    async fn put_bytes(&self, path: &str, bytes: Vec<u8>) -> Outcome<()> {
        let authorization = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, \
                             Signature=0";
        let request = self.client.put(self.url.join(path)?).header("Authorization", authorization);
        request.body(bytes).send().await?.error_for_status()?;
        Ok(())
    }

    /// Gets blobs, as many at once as the program does.
    async fn blobs(&self, digests: &[String]) -> Outcome<()> {
        let gets = digests.iter().map(|digest| async move {
            self.bytes(&format!("blobs/sha256/{}/{digest}", &digest[..2]), None).await.map(drop)
        });
        let got: Vec<_> = futures_util::stream::iter(gets).buffer_unordered(CONCURRENT).collect().await;
        got.into_iter().collect()
    }

    /// Gets one object, and returns its tag. One that is not there is the document, which is below another name.
    async fn bytes(&self, path: &str, tag: Option<&str>) -> Outcome<Option<String>> {
        let request = self.client.get(self.url.join(path)?);
        let request = tag.into_iter().fold(request, |request, tag| request.header("If-None-Match", tag));
        let answer = request.send().await?;
        let tag = answer.headers().get("ETag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        answer.bytes().await?;
        Ok(tag)
    }
}
