"""The tests of skillkit 0.4.0 that may fail against `skillcue.compat.skillkit`, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AllowedFailure:
    """A reason; `always` says that the test cannot pass, and an entry whose test passes is taken off the list."""

    reason: str
    always: bool = True


# A script ends 4 to 16 ms after its time, and 17 to 72 ms with eight processes that compute on two cores; the limit of the
# tests is 500 ms. The kill reaches all processes at once, and nothing waits for pipes: `leaves_a_daemon_when_it_is_killed` and
# `a_process_that_has_left_the_group_with_the_pipes_is_not_waited_for` in `skillcue-exec` are about that. What is left is the
# start of Python, 60 to 80 ms, where the tests allow 100.
_MEASURES_TIME = AllowedFailure("it compares a time with a fixed limit, and the machine may be busy", always=False)

ALLOWED: dict[str, AllowedFailure] = {
    "tests.test_performance::test_cache_effectiveness_no_repeated_file_reads": AllowedFailure(
        "it counts calls of pathlib's `read_text`; here the native library reads the file, and once, too"
    ),
    "tests.test_edge_cases::test_permission_denied_skill_logs_error_and_continues": AllowedFailure(
        "root may read a file without permissions; run as root it fails on skillkit itself, too", always=False
    ),
    "tests.test_async_invocation.TestAsyncPerformance::test_async_invocation_overhead_minimal": _MEASURES_TIME,
    "tests.test_langchain_async.TestLangChainAsyncPerformance::test_async_tool_overhead_minimal": _MEASURES_TIME,
    "tests.test_script_detector_phase8.TestScriptDetectorPhase8::test_t060_performance_benchmark_50_scripts": _MEASURES_TIME,
    "tests.test_script_executor_phase5.TestTimeoutHandling::test_script_exceeds_timeout": _MEASURES_TIME,
    "tests.test_script_executor_phase5.TestExecutionTimeMeasurement::test_execution_time_measurement_accuracy": _MEASURES_TIME,
    "tests.test_script_executor_phase5.TestExecutionTimeMeasurement::test_execution_time_for_fast_script": _MEASURES_TIME,
    "tests.test_script_executor_phase5.TestExecutionTimeMeasurement::test_execution_time_for_timeout": _MEASURES_TIME,
}
