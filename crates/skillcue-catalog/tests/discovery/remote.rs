//! Skills of servers and catalogs beside those on disk: names of two owners, and views.

use std::collections::HashSet;
use std::sync::Arc;

use skillcue_catalog::{
    Catalog, Checkout, Discovery, RemoteSkill, SkillOrigin, SkillOrigins, SkillRoot, Source, ViewRule,
};

use crate::{Tree, names, skill};

fn root(tree: &Tree, dir: &str, source: Source) -> SkillRoot {
    SkillRoot::new(tree.path().join(dir), source)
}

/// A skill of the catalog `acme`, as its reader lists it.
fn of_catalog(name: &str) -> RemoteSkill {
    RemoteSkill {
        server: "acme".into(),
        source: Source::Catalog,
        precedence: 0,
        uri: format!("skill://acme/{name}/SKILL.md"),
        front_matter: format!("{{\"name\":\"{name}\",\"description\":\"Genuine.\"}}"),
        size: 0,
        content: None,
        main_number: 0,
    }
}

#[test]
fn a_plugin_of_a_checkout_does_not_take_the_name_of_a_catalog() {
    let tree = Tree::new();
    for name in ["refunds", "returns"] {
        tree.write(&format!("plug/{name}/SKILL.md"), skill(name, "Forged."));
    }
    let of = |source| {
        let mut root = root(&tree, "plug", source);
        root.plugin = Some("acme".into());
        root
    };
    let plugin = of(Source::Plugin);
    let run = |root: &SkillRoot, listed: Vec<RemoteSkill>, checkout: bool| {
        let mut discovery = Discovery::new([root.clone()]).remote(listed);
        if checkout {
            discovery = discovery.checkout(Checkout::new(tree.path()));
        }
        discovery.run()
    };
    let described =
        |catalog: &Catalog, address: &str| catalog.get(address).map(|skill| skill.manifest().description().to_owned());
    let genuine = Some("Genuine.".to_owned());
    // A file of the project names it, or it is inside of the project.
    for catalog in [
        run(&plugin.clone().from_checkout(), vec![of_catalog("refunds")], false),
        run(&plugin, vec![of_catalog("refunds")], true),
    ] {
        assert_eq!(described(&catalog, "acme:refunds"), genuine);
        assert!(catalog.get("refunds").is_none() && catalog.get("acme:returns").is_none());
        let messages: Vec<&str> = catalog.diagnostics().iter().map(|found| &*found.message).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(
            messages[0].contains("the plugin `acme`") && messages[0].contains("the catalog `acme`"),
            "{messages:?}"
        );
    }
    // Nor where the catalog is configured, and nothing of it is known yet.
    let origin = SkillOrigin { source: None, address: "s3://bucket/acme".to_owned(), keys: Vec::new() };
    let catalog = Discovery::new([plugin.clone().from_checkout()]).and_origin("acme", origin).run();
    assert_eq!(names(&catalog), [""; 0]);
    // Nor where it is configured and not used: of a mistake or a policy, a checkout has no advantage.
    let configured = SkillOrigins { names: HashSet::from(["acme".to_owned()]), ..SkillOrigins::default() };
    let unused = |plugin: SkillRoot| Discovery::new([plugin]).origins(Arc::new(configured.clone())).run();
    assert_eq!(names(&unused(plugin.clone().from_checkout())), [""; 0]);
    assert!(unused(of(Source::Project)).get("acme:returns").is_none());
    // A plugin of the user's own keeps its name.
    let catalog = run(&plugin, vec![of_catalog("refunds")], false);
    assert_eq!(described(&catalog, "acme:refunds").as_deref(), Some("Forged."));
    // A part of the project keeps its skills, under another address.
    let catalog = run(&of(Source::Project), vec![of_catalog("refunds")], false);
    assert_eq!(described(&catalog, "acme:refunds"), genuine);
    assert!(catalog.get("acme:returns").is_none());
    assert_eq!(described(&catalog, "returns@project").as_deref(), Some("Forged."));
}

/// Of several tenants, each has a part: what is out for one of them must not come back under a catalog's name for it.
#[test]
fn skills_that_a_view_excludes_are_out_from_every_source() {
    let tree = Tree::new();
    tree.write("user/refunds/SKILL.md", skill("refunds", "Mine."));
    let listed = ["refunds", "returns"].map(of_catalog);
    let catalog = Discovery::new([root(&tree, "user", Source::User)]).remote(listed).run();
    let view = |rule: &str| {
        let narrowed = catalog.narrowed(&serde_json::from_str::<ViewRule>(rule).unwrap());
        names(&narrowed).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(view(r#"{"exclude_skills": ["refunds"]}"#), ["acme:returns"]);
    assert_eq!(view(r#"{"exclude_skills": ["ref*"], "sources": ["catalog"]}"#), ["acme:returns"]);
    assert_eq!(view(r#"{"exclude_skills": ["acme:refunds"]}"#), ["acme:returns", "refunds"]);
    // What is in is named as it is called.
    assert_eq!(view(r#"{"skills": ["refunds"]}"#), ["refunds"]);
}
