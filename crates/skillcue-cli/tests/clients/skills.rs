//! Ten skills as people have them, and messages that need them.

use std::path::Path;

/// A message that needs [`PDF`].
pub(crate) const PDF_MESSAGE: &str = "Fill in the PDF form tax-return.pdf with my new address";

/// A second message that needs [`PDF`], for the same session.
pub(crate) const PDF_AGAIN: &str = "Now fill in the other PDF form, residence.pdf, with the address as well";

/// A message that needs [`EMAIL`].
pub(crate) const EMAIL_MESSAGE: &str = "Write the HTML email newsletter so that it looks right in Outlook";

/// A message that needs no skill.
pub(crate) const PLAIN_MESSAGE: &str = "What is seventeen times twenty-three?";

/// The skill for forms. Its body has neither `<` nor `>`, and one sentence that occurs nowhere else.
pub(crate) const PDF: SampleSkill = SampleSkill {
    name: "pdf-forms",
    description: "Fill in PDF forms, read their fields and flatten them. Use when a PDF form must be filled in, checked \
                  or turned into a plain PDF.",
    body: "# PDF forms

List the fields before you fill anything in: a field's name is rarely its label.

1. `pdftk form.pdf dump_data_fields` prints names, types and allowed values.
2. Write the values to `values.fdf`, one entry a field. Checkboxes take their own word, often `Yes` or `On`.
3. `pdftk form.pdf fill_form values.fdf output filled.pdf`.
4. Compare the filled fields with the list of step 1, and name those that stayed empty.

Keep the original untouched; flatten only the copy that is sent away.
",
};

/// The sentence of [`PDF`]'s body by which a request is known to carry it.
pub(crate) const PDF_SENTENCE: &str = "Keep the original untouched; flatten only the copy that is sent away.";

/// The skill for emails. Its body has `<` and `>`.
pub(crate) const EMAIL: SampleSkill = SampleSkill {
    name: "html-email",
    description: "Write HTML email that looks right in Outlook, Gmail and Apple Mail. Use for newsletters and HTML email \
                  templates.",
    body: "# HTML email

Lay out with `<table role=\"presentation\">`, never with `<div>` and flexbox: Outlook renders with Word.

- Inline every style; `<style>` blocks are cut out by some clients.
- Give each `<img>` a width attribute and a text alternative.
- Keep the whole below 102 KB, after which Gmail clips it.
",
};

/// A skill that is written to a home directory.
#[derive(Debug)]
pub(crate) struct SampleSkill {
    pub(crate) name: &'static str,
    description: &'static str,
    pub(crate) body: &'static str,
}

const OTHERS: [SampleSkill; 8] = [
    SampleSkill {
        name: "sql-migrations",
        description: "Write database migrations that can be rolled back and do not lock large tables. Use when a \
                      PostgreSQL schema changes.",
        body: "# SQL migrations\n\nOne change a file, with its way back. Add columns without a default, fill them in \
               batches of 10,000 rows, then set the constraint as NOT VALID and validate it.\n",
    },
    SampleSkill {
        name: "release-notes",
        description: "Draft release notes from the commits between two tags. Use before a version is published.",
        body: "# Release notes\n\nGroup by what users notice: added, changed, fixed, removed. Leave out refactorings. \
               Each line begins with a verb and names the command or the setting.\n",
    },
    SampleSkill {
        name: "compose-debug",
        description: "Find out why a Docker Compose stack does not start: networks, volumes, health checks. Use when \
                      containers restart or cannot reach each other.",
        body: "# Compose\n\nRead `docker compose ps` and the last 50 lines of each log before you change anything. Check \
               the health checks first, then name resolution between services, then volumes.\n",
    },
    SampleSkill {
        name: "csv-cleanup",
        description: "Clean CSV files: delimiters, encodings, duplicate rows, dates. Use when a spreadsheet export does \
                      not import.",
        body: "# CSV\n\nDetect the encoding and the delimiter from the first 64 KB. Never change the number of columns. \
               Write dates as YYYY-MM-DD and say which rows were dropped.\n",
    },
    SampleSkill {
        name: "git-bisect",
        description: "Find the commit that broke something with git bisect and a script. Use when a regression appeared \
                      between two versions.",
        body: "# Bisect\n\nWrite a script that exits 0 for good, 1 for bad and 125 for a commit that cannot be built. \
               Run it by hand on both ends before `git bisect run`.\n",
    },
    SampleSkill {
        name: "invoice-summary",
        description: "Summarise invoices by supplier and month, with VAT apart. Use for bookkeeping questions about \
                      invoices.",
        body: "# Invoices\n\nGross, net and VAT are three columns. Credit notes count negative. Round once, at the end, \
               half to even.\n",
    },
    SampleSkill {
        name: "k8s-rollout",
        description: "Roll a Kubernetes deployment out and back: probes, surge, undo. Use when a rollout is stuck or \
                      must be taken back.",
        body: "# Rollout\n\n`kubectl rollout status` first. A stuck rollout is a probe, a quota or an image. Undo before \
               you investigate when users are affected.\n",
    },
    SampleSkill {
        name: "contrast-check",
        description: "Check colour contrast of web pages against WCAG 2.2. Use for accessibility reviews of colours.",
        body: "# Contrast\n\nText needs 4.5 to 1, large text 3 to 1, controls 3 to 1. Check hover and focus states, and \
               both colour schemes.\n",
    },
];

/// Writes all ten skills below a folder.
pub(crate) fn write(folder: &Path) {
    for skill in [&PDF, &EMAIL].into_iter().chain(&OTHERS) {
        let directory = folder.join(skill.name);
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {}\ndescription: \"{}\"\n---\n\n{}", skill.name, skill.description, skill.body);
        std::fs::write(directory.join("SKILL.md"), text).unwrap();
    }
}

/// Returns the name of one of many skills.
pub(crate) fn name_of(at: usize) -> String {
    format!("listed-skill-{at:03}")
}

/// Returns the first words of its description.
pub(crate) fn beginning_of(at: usize) -> String {
    format!("Begins{at:03} here")
}

/// Returns the last words of its description.
pub(crate) fn end_of(at: usize) -> String {
    format!("ends{at:03} there.")
}

/// Writes many skills, each with a description of 300 characters.
pub(crate) fn write_many(folder: &Path, count: usize) {
    for at in 0..count {
        let directory = folder.join(name_of(at));
        std::fs::create_dir_all(&directory).unwrap();
        let (beginning, end) = (beginning_of(at), end_of(at));
        let mut words = ["with", "words", "that", "say", "little"].into_iter().cycle();
        let mut description = beginning;
        while description.len() + end.len() < 298 {
            description = format!("{description} {}", words.next().unwrap());
        }
        let text = format!("---\nname: {}\ndescription: {description} {end}\n---\n\nNothing.\n", name_of(at));
        std::fs::write(directory.join("SKILL.md"), text).unwrap();
    }
}
