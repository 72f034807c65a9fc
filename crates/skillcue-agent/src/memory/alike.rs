//! Words that are alike: what users ask for in some, they have said in others.

/// What asks for one thing, and what says it.
pub(super) struct Alike {
    /// Words for it, as they are asked with and looked for. A phrase is only looked for.
    pub(super) words: &'static [&'static str],
    /// What may say it, and may say anything else: looked for behind the words.
    pub(super) perhaps: &'static [&'static str],
    /// The same as patterns of a whole fact.
    pub(super) patterns: &'static [&'static str],
}

const fn alike(words: &'static [&'static str]) -> Alike {
    Alike { words, perhaps: &[], patterns: &[] }
}

/// English and German, in groups.
#[rustfmt::skip]
pub(super) const ALIKE: &[Alike] = &[
    Alike {
        words: &[
            "name", "names", "named", "called", "call", "nickname", "heiße", "heisse", "heiß", "nenn", "nennt", "nennen",
            "vorname", "nachname", "surname",
        ],
        perhaps: &["i am", "i m", "ich bin"],
        patterns: &[],
    },
    alike(&[
        "live", "lives", "living", "based", "home", "city", "town", "village", "country", "address", "moved", "reside",
        "residence", "located", "location", "wohne", "wohnen", "wohnt", "wohnort", "lebe", "leben", "stadt", "land",
        "ort", "adresse", "zuhause", "gezogen", "umgezogen",
    ]),
    Alike {
        words: &[
            "work", "works", "working", "worked", "job", "jobs", "employer", "employed", "profession", "professional",
            "professionally", "occupation", "career", "living", "company", "earn", "role", "title", "position",
            "arbeite", "arbeiten", "arbeitet", "arbeit", "beruf", "beruflich", "arbeitgeber", "firma", "stelle",
            "angestellt",
        ],
        perhaps: &["i am a", "i am an", "i m a", "i m an", "i am the", "i m the", "ich bin"],
        patterns: &[],
    },
    Alike {
        words: &["old", "age", "aged", "born", "birthday", "birth", "years", "alt", "alter", "jahre", "geboren",
                 "geburtstag", "jahrgang"],
        perhaps: &[],
        patterns: &["*i am [0-9]*", "*i'm [0-9]*", "*i’m [0-9]*", "*ich bin [0-9]*", "*ich werde [0-9]*"],
    },
    alike(&[
        "married", "marry", "husband", "wife", "spouse", "partner", "engaged", "single", "divorced", "widowed",
        "girlfriend", "boyfriend", "fiancé", "fiancée", "wedding", "anniversary", "verheiratet", "mann", "frau",
        "ehemann", "ehefrau", "ehepartner", "partnerin", "verlobt", "ledig", "geschieden", "verwitwet", "freund",
        "freundin", "hochzeit",
    ]),
    alike(&[
        "children", "child", "kids", "kid", "son", "sons", "daughter", "daughters", "baby", "babies", "toddler", "twins",
        "family", "kinder", "kind", "sohn", "söhne", "tochter", "töchter", "zwillinge", "familie",
    ]),
    alike(&[
        "parents", "parent", "mother", "father", "mum", "mom", "dad", "brother", "brothers", "sister", "sisters",
        "siblings", "family", "eltern", "mutter", "vater", "mama", "papa", "bruder", "brüder", "schwester",
        "schwestern", "geschwister", "familie",
    ]),
    alike(&[
        "allergic", "allergy", "allergies", "allergen", "intolerant", "intolerance", "eat", "food", "diet", "vegan",
        "vegetarian", "allergisch", "allergie", "allergien", "unverträglich", "unverträglichkeit", "vertrage", "essen",
        "esse", "ernährung", "vegetarisch", "vegetarier", "vegetarierin",
    ]),
    alike(&[
        "like", "likes", "love", "loves", "prefer", "preference", "preferences", "favourite", "favorite", "favourites",
        "favorites", "enjoy", "hobby", "hobbies", "hate", "dislike", "mag", "mögen", "liebe", "bevorzuge", "gerne",
        "gern", "lieblings", "hobbys", "vorlieben", "hasse",
    ]),
    alike(&["colour", "color", "colours", "colors", "farbe", "farben", "lieblingsfarbe"]),
    alike(&["pet", "pets", "dog", "dogs", "cat", "cats", "haustier", "haustiere", "hund", "hunde", "katze", "katzen"]),
    alike(&[
        "language", "languages", "speak", "native", "fluent", "sprache", "sprachen", "spreche", "muttersprache",
        "fließend",
    ]),
    alike(&[
        "study", "studied", "studying", "student", "university", "college", "school", "degree", "graduated", "studiere",
        "studierte", "studium", "studentin", "uni", "universität", "schule", "abschluss", "ausbildung",
    ]),
    alike(&[
        "nationality", "origin", "citizen", "citizenship", "come from", "am from", "m from", "grew up",
        "nationalität", "herkunft", "staatsbürgerschaft", "komme aus", "stamme", "aufgewachsen",
    ]),
    alike(&["boss", "manager", "team", "colleague", "colleagues", "coworker", "chef", "chefin", "kollege", "kollegen"]),
    alike(&["mail", "email", "phone", "telephone", "mobile", "telefon", "telefonnummer", "handy", "handynummer"]),
    alike(&["car", "drive", "vehicle", "bike", "auto", "wagen", "fahre", "fahrrad"]),
    alike(&["doctor", "illness", "disease", "condition", "diabetic", "disability", "arzt", "krankheit", "krank"]),
];
