"""The last lines of containers that crashed, for the output of a test or a demo that failed."""

MOST = 5  # containers
LINES = 20


def logs_of_crashed_pods(pods, logs):
    """Text. `pods`: Pod objects. `logs`: the output of `kubectl logs` with the arguments that it gets."""
    told = []
    for pod in pods:
        for status in pod.get("status", {}).get("containerStatuses", []):
            restarts = status.get("restartCount", 0)
            ended = status.get("state", {}).get("terminated") or status.get("lastState", {}).get("terminated")
            if not ended or (not restarts and ended.get("exitCode") == 0) or len(told) == MOST:
                continue
            space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            before = ["--previous"] if "running" in status.get("state", {}) else []
            told.append(f"{space}/{name}, container {status['name']}, {restarts} restarts, exit code {ended.get('exitCode')}:\n"
                        + logs(name, "-n", space, "-c", status["name"], f"--tail={LINES}", *before))
    return "\n".join(told)
