//! Hooks: what an agent sends before a prompt, and what it reads as an answer.
