//! The lists of skills that clients make themselves, beside what `doctor` says of them; and the list that the hook adds at the
//! start of a session.

use std::path::Path;

use serde_json::Value;
use skillcue_scripted::Received;

use crate::agents::{CODEX, ClientUnderTest, GEMINI};
use crate::home::ClientHome;
use crate::skills::{self, PDF, PLAIN_MESSAGE};
use crate::talk::{ClientTalk, main_request};
use crate::trust;

/// The number of skills with which the lists were measured.
const SKILLS: usize = 100;
/// By how many skills `doctor` may be off: a client's own skills take room, too, and change with its versions.
const MAX_DIFFERENCE: usize = 6;

/// The skills of one list, by what a model is shown of them.
#[derive(Debug, Default, PartialEq, Eq)]
struct ListCounts {
    whole: usize,
    shortened: usize,
    name_only: usize,
    omitted: usize,
}

/// Runs a client with 100 skills of its own, and compares its list with `doctor`. Returns a word about it.
pub(crate) fn own_list_is_as_doctor_says(client: &ClientUnderTest, clients: &Path) -> String {
    let talk = ClientTalk::start();
    let home = ClientHome::new(client, clients, &talk.url());
    std::fs::remove_dir_all(home.path().join(client.skills)).unwrap();
    skills::write_many(&home.path().join(client.skills), SKILLS);
    let requests = talk.ask(&home, client, client.begin, PLAIN_MESSAGE);
    let seen = counted(main_request(&requests, PLAIN_MESSAGE));
    let report: Value = serde_json::from_str(&home.skillcue(&["doctor", "--json"]).stdout).unwrap();
    let lists = report["clients"].as_array().unwrap().iter();
    let simulated: Vec<ListCounts> = lists.filter(|list| list["agent"] == client.word).map(simulated).collect();
    let is_near = |list: &ListCounts| {
        let pairs = [
            (list.whole, seen.whole),
            (list.shortened, seen.shortened),
            (list.name_only, seen.name_only),
            (list.omitted, seen.omitted),
        ];
        pairs.into_iter().all(|(said, is)| said.abs_diff(is) <= MAX_DIFFERENCE)
    };
    assert!(simulated.iter().any(is_near), "{}: {seen:?}, by doctor {simulated:?}", client.word);
    format!("its own list of {SKILLS}: {} whole, as doctor says", seen.whole)
}

fn counted(received: &Received) -> ListCounts {
    let text = received.body.to_string();
    let mut counts = ListCounts::default();
    for at in 0..SKILLS {
        match () {
            () if text.contains(&skills::end_of(at)) => counts.whole += 1,
            () if text.contains(&skills::beginning_of(at)) => counts.shortened += 1,
            () if text.contains(&skills::name_of(at)) => counts.name_only += 1,
            () => counts.omitted += 1,
        }
    }
    counts
}

/// Returns what `doctor` says of our skills. Codex brings skills of its own, which are in the same folder.
fn simulated(list: &Value) -> ListCounts {
    let is_ours = |name: &&Value| name.as_str().is_some_and(|name| (0..SKILLS).any(|at| name == skills::name_of(at)));
    let count = |key: &str| list[key].as_array().unwrap().iter().filter(is_ours).count();
    let (shortened, name_only, omitted) = (count("shortened"), count("name_only"), count("omitted"));
    assert_eq!(count("unread"), 0, "{list}");
    ListCounts { whole: SKILLS - shortened - name_only - omitted, shortened, name_only, omitted }
}

/// Skills in a folder that the client does not read are listed at the start of a session: by the hook, where there is no
/// server whose instructions would do so. The next message does not carry the list twice. Returns a word about it.
pub(crate) fn the_start_lists_what_the_client_does_not(client: &ClientUnderTest, clients: &Path) -> String {
    let talk = ClientTalk::start();
    let home = ClientHome::new(client, clients, &talk.url());
    // No client reads this folder.
    std::fs::create_dir_all(home.path().join(".agent")).unwrap();
    std::fs::rename(home.path().join(client.skills), home.path().join(".agent/skills")).unwrap();
    home.skillcue(&["connect", client.word, "--hook", "--yes"]);
    if client.word == CODEX.word {
        trust::trust_hooks(home.client_command(client, &talk.url()), &home.work());
    }
    let has_list = usize::from(client.word != GEMINI.word);
    let heading = "## Skills that are not in your own list";
    let line = format!("**{}** ({0}/SKILL.md)", PDF.name);
    let roles = |arguments: &[&str], message: &str| {
        let requests = talk.ask(&home, client, arguments, message);
        let received = main_request(&requests, message);
        let body = received.body.to_string();
        assert_eq!(body.matches(heading).count(), has_list, "{} {arguments:?}: {body}", client.word);
        assert_eq!(body.matches(&line).count(), has_list, "{} {arguments:?}: {body}", client.word);
        let parts = received.parts();
        let with_list = parts.iter().filter(|part| part.text().is_some_and(|text| text.contains(heading)));
        with_list.map(|part| part.role.clone()).collect::<Vec<_>>()
    };
    let first = roles(client.begin, PLAIN_MESSAGE);
    let second = roles(client.resume, "And eighteen times?");
    assert_eq!(first, second, "{}", client.word);
    if has_list == 0 {
        return "no list at the start".to_owned();
    }
    let place = first.first().map_or("system", |role| role.as_str()).to_owned();
    format!("the list of other skills at the start, from {place}")
}
