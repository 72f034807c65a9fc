//! Messages with secrets, and without.

use super::*;

#[test]
fn secrets_in_messages_are_masked() {
    let lines = [
        (r#"post {"password": "hunter2"} to it"#, r#"post {"password": "…"} to it"#),
        (r#"{"dbPassword":"hunter2","user":"bob"}"#, r#"{"dbPassword":"…","user":"bob"}"#),
        ("the password for root is hunter2", "the password for root is …"),
        ("password of the admin account: hunter2 ok", "password of the admin account: … ok"),
        ("password (admin): hunter2", "password (admin): …"),
        ("passphrase: correct horse battery staple. Then sign it", "passphrase: …. Then sign it"),
        ("PASSWORD=\"two words\" make", "PASSWORD=\"…\" make"),
        ("export API_KEY_PROD='two words'; run", "export API_KEY_PROD='…'; run"),
        ("clone https://bob:hunter2@example.com/a.git", "clone https://bob:…@example.com/a.git"),
        ("curl -u bob:hunter2 example.com", "curl -u bob:… example.com"),
        ("my pass is letmein, log in", "my pass is … log in"),
        ("pass: letmein", "pass: …"),
        ("pw letmein and go", "pw … and go"),
        ("le mot de passe letmein", "le mot de passe …"),
        ("mot de passe : letmein", "mot de passe : …"),
        ("contraseña: letmein", "contraseña: …"),
        ("das Passwort: letmein", "das Passwort: …"),
        ("Das Kennwort lautet letmein.", "Das Kennwort lautet …"),
        ("пароль: letmein", "пароль: …"),
        ("密码是letmein", "密码是…"),
        ("change the password from letmein to swordfish1", "change the password from … to …"),
        ("set the password to letmein", "set the password to …"),
        ("my password is: letmein", "my password is: …"),
        ("Password:\nletmein", "Password: …"),
        ("--password letmein --verbose", "--password … --verbose"),
        ("password for root hunter2", "password for … …"),
        ("the password? hunter2", "the password? …"),
        ("pay to DE89 3704 0044 0532 0130 00 today", "pay to … today"),
        ("pay to GB82WEST12345698765432", "pay to …"),
        ("card 4111 1111 1111 1111, exp 12/30", "card …, exp 12/30"),
        ("card 5500-0000-0000-0004", "card …"),
        ("pin 1234", "pin …"),
        ("pass hunter2", "pass …"),
    ];
    for (message, expected) in lines {
        assert_eq!(redacted(message), expected, "{message}");
    }
}

#[test]
fn messages_without_secrets_stay_as_they_are() {
    let lines = [
        "I forgot my password. Can you help me?",
        "add fields for username, password, and email",
        "pass the salt",
        "order 1234 5678 9012 3456 is late",
        "the keyboard of turkey",
        "open https://example.com/@bob/report2.pdf",
        "a key-value store",
    ];
    for message in lines {
        assert_eq!(redacted(message), message);
    }
}

#[test]
fn a_secret_at_the_cut_is_masked() {
    for secret in ["https://bob:hunter2@example.com", "password = \"hunter2 hunter2\"", "4111 1111 1111 1111"] {
        for shift in 0..40 {
            let kept = redacted(&format!("{} {secret}", "word ".repeat(400)[..MAX_TEXT - shift].trim_end()));
            assert!(!kept.contains("hunt") && !kept.contains("4111"), "{shift}: {}", &kept[kept.len() - 60..]);
            assert!(kept.chars().count() <= MAX_TEXT);
        }
    }
}
