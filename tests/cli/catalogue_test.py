"""Every machine of the catalogue runs a scenario, and says that its kernels are of the data sheet where they are."""

import unittest

from plait_command import TINY, CommandTest, plait

# Products, attention and streams of these GPUs were measured (docs/models/gemm.md).
MEASURED = ("a100", "a800", "h100-sxm", "h100-96", "h800", "b200")


def names(kind):
    return [line.split()[0] for line in plait("list", kind).out.splitlines()]


class Catalogue(CommandTest):
    def report(self, *settings):
        return self.run_ok("run", TINY, "--format", "json", *[x for s in settings for x in ("--set", s)]).json()

    def test_a_scenario_runs_on_every_device(self):
        for device in names("devices"):
            with self.subTest(device):
                gpu = plait("topology", "show", "pcie-8", "--set", f"cluster.device={device}").code == 0
                preset = "pcie-8" if gpu else "cpu-host"
                cluster = f'cluster={{"preset":"{preset}","devices_per_node":8,"device":"{device}"}}'
                report = self.report(cluster)
                self.assertGreater(report["step_time_s"], 0)
                provenance = report["provenance"]
                self.assertEqual(provenance["measured"], 0)
                if not device.startswith(MEASURED):
                    self.assertGreater(provenance["datasheet"] + provenance["extrapolated"], 0.5)
                    self.assertGreater(provenance["band"], 0.15)

    def test_a_scenario_runs_on_every_cluster(self):
        for preset in names("clusters"):
            with self.subTest(preset):
                report = self.report(f'cluster={{"preset":"{preset}","devices_per_node":8}}')
                self.assertGreater(report["step_time_s"], 0)


if __name__ == "__main__":
    unittest.main()
