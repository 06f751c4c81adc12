"""Parameter servers by the command: what workers and servers hold, what a real step holds and
takes, and whose work is counted."""

import json
import unittest

from plait_command import CommandTest

WORKERS = 2


def scenario(recompute="none", **servers):
    apart = servers["servers"] if servers.get("dedicated") else 0
    return {
        "model": {"preset": "tiny", "layers": 4},
        "workload": {"sequence_length": 32, "global_batch": 8, "micro_batch": 1},
        "strategy": {"dp": WORKERS, "recompute": recompute, "parameter_server": servers},
        "cluster": {"preset": "cpu-host", "devices_per_node": WORKERS + apart},
    }


class ParameterServer(CommandTest):
    def report(self, **changes):
        path = self.file("servers.json", json.dumps(scenario(**changes)))
        return self.run_ok("run", path, "--format", "json").json()

    def test_the_report_says_what_each_role_holds(self):
        apart = self.report(servers=2, dedicated=True)["memory"]["live_bytes_by_role"]
        self.assertEqual(sorted(apart), ["server", "worker"])
        beside = self.report(servers=1)["memory"]["live_bytes_by_role"]
        self.assertEqual(sorted(beside), ["worker", "worker_and_server"])
        # The one server apart holds no activations, the one beside a worker all of its own too.
        self.assertLess(2 * apart["server"], beside["worker_and_server"])
        self.assertNotIn("live_bytes_by_role", self.report(servers=0)["memory"])

    def test_the_report_says_how_many_work_and_serve(self):
        for servers, mesh in (({"servers": 2, "dedicated": True}, 4), ({"servers": 1}, 2)):
            report = self.report(**servers)
            self.assertEqual(report["workers"], WORKERS)
            self.assertEqual(report["servers"], servers["servers"])
            self.assertEqual(report["mesh"]["dp"], mesh)
        self.assertNotIn("servers", self.report(servers=0))

    def test_a_trace_shows_each_role_with_its_own_memory(self):
        path = self.file("servers.json", json.dumps(scenario(servers=2, dedicated=True)))
        trace, roles = self.folder / "trace.json", {}
        memory = self.run_ok("run", path, "--trace", trace, "--format", "json").json()["memory"]
        for event in json.loads(trace.read_text("utf-8"))["traceEvents"]:
            if event.get("name") == "process_name":
                roles[event["pid"]] = [event["args"]["name"].split(", ")[1].rstrip(")"), 0]
            if event["ph"] == "C":
                live = sum(b for kind, b in event["args"].items() if kind != "overheads")
                roles[event["pid"]][1] = max(live, roles[event["pid"]][1])
        self.assertEqual(dict(roles.values()), memory["live_bytes_by_role"])

    def test_servers_that_do_not_work_recompute_nothing(self):
        def again(**servers):
            r = self.report(recompute="full", **servers)
            return r["hfu"] / r["mfu"]
        self.assertAlmostEqual(again(servers=2, dedicated=True), again(servers=2), places=9)

    def test_a_timed_run_holds_what_is_planned(self):
        path = self.file("servers.json", json.dumps(scenario(servers=2, dedicated=True)))
        result = self.realrun_ok(path, "--repeats", "3")
        self.assertNotIn("NOT AS PLANNED", result.out)
        self.assertIn("push over dp", result.out)

    def test_stale_servers_are_verified_against_one_that_is_as_late(self):
        path = self.file("servers.json", json.dumps(scenario(servers=2, staleness=1)))
        result = self.realrun_ok(path, "--verify", "--steps", "3")
        self.assertIn("SAME", result.out)


if __name__ == "__main__":
    unittest.main()
