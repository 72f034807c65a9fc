//! scratch
use skillfold_exec::*;
use std::io::Read;
fn main() {
    skillfold_exec::helper::run_if_asked(Some(|| {
        use std::io::Write;
        let r = std::fs::read("/etc/passwd").is_err();
        writeln!(std::io::stdout(), "engine {r} {:?}", std::thread::spawn(|| 3).join()).unwrap();
        7
    }));
    let me = std::env::current_exe().unwrap();
    let mut launcher = Launcher::new(me);
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "--min") {
        args.remove(0);
        launcher = launcher.without(&[
            Layer::UserNamespace,
            Layer::PidNamespace,
            Layer::MountNamespace,
            Layer::NetworkNamespace,
            Layer::IpcNamespace,
        ]);
    }
    let s = launcher.support().unwrap();
    eprintln!("{}", serde_json::to_string(&s).unwrap());
    let mut job = if args[0] == "engine" {
        Job::new(Program::Engine, Policy::nothing())
    } else {
        Job::new(Program::File(args[0].clone().into()), Policy::program(args[0].as_ref()))
    };
    job.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    job.args = args[1..].iter().map(Into::into).collect();
    let t = std::time::Instant::now();
    let mut child = launcher.spawn(&job).unwrap();
    eprintln!("spawned {:?} {:?}", t.elapsed(), child.report());
    drop(child.take_stdin());
    let mut o = String::new();
    child.take_stdout().unwrap().read_to_string(&mut o).unwrap();
    let mut e = String::new();
    child.take_stderr().unwrap().read_to_string(&mut e).unwrap();
    println!("out {o}\nerr {e}\n{:?} {:?}", child.wait().unwrap(), t.elapsed());
}
