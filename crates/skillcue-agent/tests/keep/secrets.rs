//! Secrets: never remembered, and what looks like one and is none.

use skillcue_agent::{Memory, MemoryError, facts};

use crate::{at, scratch};

#[test]
fn secrets_are_refused() {
    let dir = scratch();
    let memory = Memory::open(&dir.path().join("memory.db")).unwrap();
    for text in [
        "My password is hunter2",
        "my Passwort: geheim",
        "Mein Kennwort lautet Sommer",
        "I use sk-proj-abcdefgh12345678 for this",
        "my key is (ghp_16C7e42F292c6912E7710c838347Ae178B4a)",
        "my AWS id is AKIAIOSFODNN7EXAMPLE",
        "I have wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY here",
        "My token: abc",
        "My PIN is 1234",
        "the API key of my project is foo",
        "my id is 550e8400-e29b-41d4-a716-446655440000",
        "My hash is d41d8cd98f00b204e9800998ecf8427e",
        "I sign with eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.abc",
        "My card is 4111 1111 1111 1111",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "I log in at https://example.org/?token=a8Kd93jdKLsk29Dk2l",
        "Mein WLAN-Passwort kennt jeder",
        "Our Bankkennwörter",
        "My key for the server is abcdef",
        "My pin's swordfish",
        "Swordfish is my secret",
        "I use swordfish as my pass",
        "My pin, as always, 1234",
        "My house code is blue",
        "Mein Türcode ist blau",
        "Mein Haustürcode ist blau",
        "Mein Zugangscode ist blau",
        "Die Bankpin ist blau",
        "DE89370400440532013000",
        "de89 3704 0044 0532 0130 00 is where I get paid",
        "I get paid at GB82WEST12345698765432",
        "I get paid at GB82-WEST-1234-5698-7654-32",
        "I am 078-05-1120",
        "I pay with 4111 1111 1111 1111 12/27",
        "I pay with 3782.822463.10005",
        "Remember that my password is hunter2",
        "Remember my API key: abc",
        "I use sk-proj-4f9dk3jf8sk2 as always",
        "My token is ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "Note that the key is AKIAIOSFODNN7EXAMPLE",
        "Always use Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==",
        "Mein Passwort lautet Sommer",
        "My card is 4111-1111-1111-1111",
        "My PIN code is 1234.",
        "My login is alice / hunter2.",
        "My wifi pass is hunter2",
        "My social security number is 078-05-1120",
        "My number is 078-05-1120",
        "My token for GitHub is abcdef",
        "My account is DE89 3704 0044 0532 0130 00",
        "My account is GB82WEST12345698765432",
        "I pay with 5500 0000 0000 0004, valid until 12/27",
        "My credential is abc123",
        "My 2FA backup code is 83jd-92kd",
        "My secret word is swordfish",
        "My password-manager master phrase is foo bar",
        "My pin: 1234",
        "My OTP = 123456",
        "My CVV is 123",
        "I log in with alice and hunter2",
        "Mein Passwort ist Sommer",
        "Meine PIN ist 1234",
        "Mein Kennwort: Sommer",
        "Meine Zugangsdaten sind alice/hunter2",
        "Mein Schlüssel für den Server lautet abcdef",
        "Meine Geheimzahl ist 1234",
        "Meine Sozialversicherungsnummer ist 65 180539 W 001",
    ] {
        assert!(matches!(memory.remember(text, "one", at(0)), Err(MemoryError::Secret)), "{text}");
        assert_eq!(facts(text), [""; 0], "{text}");
        assert_eq!(facts(&format!("Remember that {text}")), [""; 0], "{text}");
    }
    assert_eq!(memory.count().unwrap(), 0);
}

#[test]
fn harmless_sentences_are_no_secrets() {
    let dir = scratch();
    let memory = Memory::open(&dir.path().join("memory.db")).unwrap();
    for text in [
        "My name is Alice",
        "I work on skillcue-agent in /home/alice/projects/2026/skillcue",
        "My site is https://example.org/blog/2026/11/16/internationalisation",
        "Our key customer is ACME",
        "I count tokens",
        "I was born on 1990-05-17",
        "My number is +49 151 2345678",
        "I use a counterrevolutionary_configuration_file_name",
        "We call it sk-learn",
        "My number is 0049 151 23456789",
        "I work on the token counter",
        "Our code is written in Rust",
        "I live in DE12 of the game",
        "I was there from 2019 to 2021",
        "My servers are 10.0.0.1 and 10.0.0.2",
        "My name is Spinelli",
        "My editor is VSCode",
        "VSCode is my editor",
    ] {
        assert!(memory.remember(text, "one", at(0)).is_ok(), "{text}");
    }
}
