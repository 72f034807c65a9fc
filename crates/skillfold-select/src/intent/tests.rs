//! What is a question about the agent, and what only looks like one.

use super::*;

#[test]
fn capability_questions() {
    for message in [
        "what are your skills",
        "What are your skills?",
        "what can you help me with?",
        "Which tools do you have?",
        "which abilities do you have",
        "tell me what you can do",
        "Tell me what you can do for me!",
        "show me your capabilities",
        "Hi! What can you do?",
        "Hello there, what can you do?",
        "Hi, I'm new here. What can you do?",
        "could you please list your skills?",
        "Can you tell me what you can do?",
        "What else can you do?",
        "what all can you do",
        "what are you capable of?",
        "What are you good at?",
        "How can you help me?",
        "I'd like to know what you can do",
        "list available skills",
        "list the available skills please",
        "what skills are installed?",
        "what skills are available right now?",
        "which skills can you use",
        "are there any skills for this?",
        "any skills available?",
        "skills?",
        "your capabilities",
        "what kinds of skills do you have?",
        "describe your abilities",
        "give me a list of your skills",
        "what's in your skill set",
        "what is your skill set?",
        "show me the skills you have",
        "list your skills for PDF",
        "what do you do?",
        "What capabilities do you offer?",
        "tell me about your skills",
        "show me everything you can do",
        "show me all you can do",
        "how many skills do you have?",
        "what tools are available to you?",
        "do you have any tools?",
        "Was kannst du alles?",
        "Welche Fähigkeiten hast du?",
        "¿Qué puedes hacer?",
        "Que peux-tu faire ?",
        "你能做什么？",
        "WHAT CAN YOU DO",
        "what can you do?\n\nthanks",
    ] {
        assert_eq!(Intent::of(message), Intent::Registry, "{message}");
    }
}

#[test]
fn everything() {
    for message in [
        "show all skills",
        "Please show me all of your skills",
        "list every skill",
        "show me the documentation of all skills",
        "give me the full documentation for all skills",
        "print all available skills",
        "could you show all skills?",
        "Zeige alle Skills",
        "all skill docs",
    ] {
        assert_eq!(Intent::of(message), Intent::All, "{message}");
    }
}

#[test]
fn look_alikes() {
    for message in [
        "help",
        "",
        "   ",
        "what",
        "what can you do about the failing test?",
        "What can you do? The pipe in test_io.py is leaking.",
        "what can you do with a PDF",
        "what skills do I need for this job?",
        "which skills are in demand",
        "what skills are required to become a nurse",
        "list the skills on my CV",
        "show all skills of the druid class",
        "list all abilities of Pikachu",
        "show me the skill tree",
        "list tools",
        "what tools do carpenters have?",
        "what are the capabilities of this phone?",
        "what are the skills of a good manager",
        "improve my skills",
        "my skills are rusty",
        "do you have any ideas?",
        "do you have the skills to lead a team?",
        "tell me what you think",
        "tell me what to do",
        "how can you help the customer?",
        "what can I do?",
        "what can you see in this image?",
        "show capabilities of the camera",
        "write a skill that lists all skills",
        "What is your name?",
        "are there any skills shortages in Germany?",
        "explain what you did",
        "available",
        "tools",
        "ability",
    ] {
        assert_eq!(Intent::of(message), Intent::None, "{message}");
    }
    assert_eq!(Intent::of(&"what can you do ".repeat(100)), Intent::None);
}
