//! The queue and the thread that sends: what is counted, and that nothing waits. What arrives is checked by
//! `cargo xtask test otlp`, with the protocol's own classes.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use skillcue_telemetry::{SpanCounts, Telemetry, TelemetrySettings};
use tracing_subscriber::layer::SubscriberExt as _;

fn settings(address: &str, more: &[(&str, &str)]) -> TelemetrySettings {
    let read = TelemetrySettings::read(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(format!("http://{address}")),
        _ => more.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
    });
    read.unwrap().unwrap()
}

/// Makes so many spans, each with one below it.
fn work(telemetry: &Telemetry, count: u64) {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(telemetry.layer()), || {
        for number in 0..count {
            let outer = tracing::info_span!(target: "skillcue::span", "outer", number);
            outer.in_scope(|| tracing::info_span!(target: "skillcue::span", "inner").in_scope(|| ()));
        }
        tracing::info_span!(target: "another", "not_ours").in_scope(|| ());
    });
}

#[test]
fn spans_that_a_collector_takes_are_counted_as_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, bodies) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut buffer = [0; 4_096];
            // The head, and as many bytes behind it as it says.
            loop {
                let count = stream.read(&mut buffer).unwrap();
                seen.extend(&buffer[..count]);
                let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
                let head = String::from_utf8_lossy(&seen[..end]).to_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if count == 0 || seen.len() >= end + 4 + length.parse::<usize>().unwrap() {
                    break;
                }
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
            sender.send(seen).unwrap();
        }
    });
    let telemetry = Telemetry::new(settings(&address, &[("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")]));
    work(&telemetry, 10);
    assert_eq!(telemetry.finish(Duration::from_mins(1)), SpanCounts { sent: 20, dropped: 0 });
    let requests: Vec<Vec<u8>> = bodies.try_iter().collect();
    assert!(requests.len() >= 3, "{} requests of eight spans at most", requests.len());
    let has = |word: &str| requests.iter().any(|body| body.windows(word.len()).any(|part| part == word.as_bytes()));
    assert!(has("outer") && has("inner") && !has("not_ours"));
}

#[test]
fn a_collector_that_never_answers_costs_no_span_its_count() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let telemetry = Telemetry::new(settings(&address, &[("OTEL_BSP_MAX_QUEUE_SIZE", "5")]));
    work(&telemetry, 10);
    assert_eq!(telemetry.finish(Duration::from_millis(50)), SpanCounts { sent: 0, dropped: 20 });
    // The program ends: what comes later is lost, too, and counted.
    work(&telemetry, 1);
    assert_eq!(telemetry.finish(Duration::ZERO).dropped, 22);
}

#[test]
fn sampling_decides_about_whole_traces() {
    let counted = |more: &[(&str, &str)]| {
        let telemetry = Telemetry::new(settings("127.0.0.1:9", more));
        work(&telemetry, 200);
        telemetry.finish(Duration::ZERO).dropped
    };
    assert_eq!(counted(&[("OTEL_TRACES_SAMPLER", "always_off")]), 0);
    assert_eq!(counted(&[("OTEL_TRACES_SAMPLER", "always_on")]), 400);
    let half = counted(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.5")]);
    assert!(half.is_multiple_of(2) && (60..340).contains(&half), "{half} of 400: a span goes with the one above it");
    let parent = |flags: &str| format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
    assert_eq!(counted(&[("TRACEPARENT", &parent("00"))]), 0);
    assert_eq!(counted(&[("TRACEPARENT", &parent("01"))]), 400);
    assert_eq!(counted(&[("TRACEPARENT", &parent("00")), ("OTEL_TRACES_SAMPLER", "always_on")]), 400);
}
