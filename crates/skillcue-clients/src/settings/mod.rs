//! The configuration files of agents: which lines connect them with Skillcue, and how files are edited without losing a
//! byte of their owner's.
