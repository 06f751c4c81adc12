"""plait topology: what it prints agrees with itself, pictures are XML, texts in them do not overlap."""

import json
import re
import unittest
import xml.etree.ElementTree as ElementTree

from plait_command import SCENARIOS, SOURCE, TINY, CommandTest, plait

SVG = "{http://www.w3.org/2000/svg}"
MACHINES = [["hgx-h100"], ["hgx-h100", "--nodes", 4], ["hgx-h100", "--nodes", 128], ["gb200-nvl72"],
            ["gb200-nvl72", "--nodes", 3], ["dgx-v100"], ["pcie-8", "--nodes", 2], ["cpu-host"],
            ["hgx-h100", "--nodes", 16, "--set", "cluster.fabric.topology=torus", "--set", "cluster.fabric.dimensions=[4,4]"],
            ["hgx-h100", "--nodes", 32, "--set", "cluster.fabric.topology=dragonfly", "--set", "cluster.fabric.nodes_per_switch=1"],
            ["hgx-h100", "--nodes", 64, "--set", "cluster.fabric.levels=3", "--set", "cluster.fabric.nodes_per_pod=8"],
            ["hgx-h100", "--nodes", 8, "--set", "cluster.faults=[{\"at\": \"node 3: nic 2\"}]"],
            ["hgx-h100", "--nodes", 130], ["dgx-a100", "--nodes", 2, "--set", "cluster.fabric.nodes_per_pod=1"]]


def boxes_of_texts(svg):
    """(left, top, right, bottom) of each text, with 0.55 em per character."""
    for text in svg.iter(SVG + "text"):
        size = float(text.get("font-size"))
        x, y, width = float(text.get("x")), float(text.get("y")), 0.55 * size * len(text.text)
        left = x - width / 2 if text.get("text-anchor") == "middle" else x
        yield left, y - 0.75 * size, left + width, y + 0.2 * size, text.text


class Show(CommandTest):
    def test_every_scenario_has_a_machine(self):
        for path in [TINY, *SCENARIOS]:
            with self.subTest(path):
                summary = plait("topology", "show", path, "--format", "json").json()
                self.assertEqual(summary["devices"], summary["nodes"] * summary["devices_per_node"])
                self.assertEqual(summary["vertices"]["device"], summary["devices"])

    def test_nodes_under_the_same_leafs_are_meant_with_rails_and_without(self):
        for topology, switches, count in (("rail_optimised", "leaf", 4 * 8), ("fat_tree", "leaf", 4),
                                          ("torus", "router", 4)):
            with self.subTest(topology):
                words = ["hgx-h100", "--nodes", 16, "--set", f"cluster.fabric.topology={topology}",
                         "--set", "cluster.fabric.nodes_per_pod=4", "--set", "cluster.fabric.dimensions=[4]",
                         "--format", "json"]
                self.assertEqual(self.run_ok("topology", "show", *words).json()["vertices"][switches], count)
        words = ["hgx-h100", "--nodes", 16, "--set", "cluster.fabric.topology=fat_tree", "--set",
                 "cluster.fabric.nodes_per_pod=4", "--set", "cluster.fabric.nodes_per_switch=2", "--format", "json"]
        self.assertEqual(self.run_ok("topology", "show", *words).json()["vertices"]["leaf"], 8)

    def test_what_is_too_large_is_named_with_its_file(self):
        large = plait("topology", "show", TINY, "--nodes", 99999)
        self.assertEqual(large.code, 2)
        self.assertIn("error[T001]", large.err)
        self.assertIn("--> cluster.nodes (", large.err)
        self.assertIn("tiny.json", large.err)

    def test_what_is_doubtful_of_a_machine_is_told(self):
        node = {"name": "box", "device": "h100-sxm", "family": "nvswitch", "devices": 8,
                "pcie_bandwidth": "64 GB/s", "sockets": 1}
        path = self.file("box.json", json.dumps({"nodes": 1, "node": node}))
        self.assertIn("W021: cluster.node has no latencies", self.run_ok("topology", "show", path).err)
        fast = self.file("fast.json", '{"preset": "hgx-h200", "nodes": 2, "fabric": {"bandwidth": "800 Gbit/s"}}')
        told = self.run_ok("topology", "show", fast).err
        self.assertIn("W027: a NIC of 100 GB/s is faster than the PCIe that it is behind", told)
        self.assertIn("cluster.node.pcie_bandwidth is 63.0 GB/s", told)
        slots = '"node": {"pcie_bandwidth": "121 GB/s"}, "device": {"pcie_bandwidth": "121 GB/s"}'
        faster = self.file("faster.json", f'{{"preset": "hgx-h200", "nodes": 2, "fabric": "xdr800", {slots}}}')
        self.assertNotIn("W027", self.run_ok("topology", "show", faster).err)

    def test_json_adds_up(self):
        for machine in MACHINES:
            with self.subTest(machine):
                summary = self.run_ok("topology", "show", *machine, "--format", "json").json()
                for link in summary["links"]:
                    self.assertAlmostEqual(link["total_Bps"] / link["bandwidth_Bps"], link["count"])
                for cut in summary["bisection"]:
                    total = sum(cut["by_link_class"].values())
                    self.assertAlmostEqual(total / cut["bandwidth_Bps"], 1)
                for way in summary["path_diversity"]:
                    self.assertGreaterEqual(way["shortest_ways"], way["link_disjoint_ways"])
                    self.assertLessEqual(way["hops"], summary["diameter"]["hops"])

    def test_pictures_are_xml_whose_texts_do_not_overlap(self):
        for machine in MACHINES:
            with self.subTest(machine):
                path = self.folder / "machine.svg"
                self.run_ok("topology", "show", *machine, "--svg", path)
                svg = ElementTree.parse(path).getroot()
                width, height = float(svg.get("width")), float(svg.get("height"))
                texts = list(boxes_of_texts(svg))
                for i, a in enumerate(texts):
                    self.assertTrue(0 <= a[0] and a[2] <= width and a[3] <= height, a)
                    for b in texts[:i]:
                        apart = a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
                        self.assertTrue(apart, (a, b))

    def test_a_change_is_seen(self):
        halves = {}
        for ratio in (1, 4):
            summary = plait("topology", "show", "hgx-h100", "--nodes", 64, "--format", "json",
                            "--set", f"cluster.fabric.oversubscription={ratio}").json()
            halves[ratio] = summary["bisection"][1]["bandwidth_Bps"]
        self.assertAlmostEqual(halves[1] / halves[4], 4)

    def test_kinds_of_devices_are_counted(self):
        two = plait("topology", "show", "hgx-h100", "--nodes", 4, "--set",
                    'cluster.other_nodes=[{"nodes":[2,3],"device":"a100-80-sxm"}]').out
        self.assertIn("16 x h100-sxm + 16 x a100-80-sxm, 4 nodes", two)
        self.assertIn("2 x hgx-h100 + 2 x hgx-h100 of a100-80-sxm over", two)

    def test_a_file_with_the_cluster_alone(self):
        whole = plait("topology", "show", "hgx-h100", "--nodes", 2, "--format", "json").json()
        for text in ('{"preset": "hgx-h100", "nodes": 2}', '{"cluster": {"preset": "hgx-h100", "nodes": 2}}'):
            self.assertEqual(plait("topology", "show", "-", "--format", "json", stdin=text).json(), whole)

    def test_dot(self):
        path = self.folder / "machine.dot"
        self.run_ok("topology", "show", "pcie-8", "-o", path)
        self.assertTrue(path.read_text(encoding="utf-8").startswith('graph "pcie-8" {'))

    def test_what_cannot_be_shown(self):
        for arguments, code in ((["hgx-h1000"], "C001"), (["hgx-h100", "--nodes", 100000], "T001"),
                                (["no/such.json"], "J001"), (["pcie-8", "--set", "cluster.x=1"], "F005"),
                                ([], "G001"), (["pcie-8", "--format", "csv"], "G001")):
            with self.subTest(arguments):
                result = plait("topology", "show", *arguments)
                self.assertEqual(result.code, 2)
                self.assertIn(f"error[{code}]", result.err)

    def test_the_place_of_an_error(self):
        path = self.file("cluster.json", '{"preset": "hgx-h100",\n "nodes": 0}')
        self.assertIn("cluster.nodes (" + str(path) + ":2", plait("topology", "show", path).err)
        path = self.file("cluster.json", '{"nodes": 0, "preset": "hgx-h100"}')
        self.assertIn("cluster.nodes (" + str(path) + ":1:11)", plait("topology", "show", path).err)

    def test_a_file_of_another_program_is_sent_where_it_belongs(self):
        refused = plait("topology", "show", self.file("ds.json", '{"train_batch_size": 8}'))
        self.assertEqual(refused.code, 2)
        self.assertIn("error[F006]: the file holds a ds_config.json of DeepSpeed", refused.err)

    def test_help_of_a_change(self):
        self.assertIn("oversubscription", self.run_ok("topology", "show", "pcie-8", "--set", "cluster.fabric=help").out)


SAMPLES = SOURCE / "tests" / "topologies" / "samples"


class Import(CommandTest):
    def test_what_is_imported_is_shown(self):
        cluster = self.folder / "cluster.json"
        imported = self.run_ok("topology", "import", SAMPLES / "dgx-v100.xml", "-o", cluster)
        self.assertEqual(plait("topology", "show", cluster).out, imported.out)
        piped = plait("topology", "import", SAMPLES / "dgx-v100.xml").out
        shown = plait("topology", "show", "-", "--format", "json", stdin=piped).json()
        catalogue = plait("topology", "show", "dgx-v100", "--format", "json").json()
        self.assertEqual([l for l in shown["links"] if l["class"] == "nvlink"],
                         [l for l in catalogue["links"] if l["class"] == "nvlink"])
        self.assertEqual(shown["bisection"][0]["bandwidth_Bps"], catalogue["bisection"][0]["bandwidth_Bps"])

    def test_it_runs_in_a_scenario(self):
        cluster = plait("topology", "import", SAMPLES / "hgx-h100.txt", "--device", "h100-sxm")
        self.assertEqual((cluster.code, cluster.err), (0, ""))
        scenario = self.file("s.json", '{"model": "gpt2", "workload": {"sequence_length": 128, "global_batch": 8},'
                                       f'"cluster": {cluster.out}}}')
        self.run_ok("check", scenario)

    def test_a_list_of_gpus_runs_in_a_scenario(self):
        """With a lower power limit no step is faster."""
        times = []
        for text in ("700.00 W", "450.00 W"):
            listed = "name, power.limit [W]\n" + 4 * f"NVIDIA H100 80GB HBM3, {text}\n"
            imported = plait("topology", "import", "-", stdin=listed)
            self.assertEqual(imported.code, 0, imported.err)
            self.assertIn("nvidia-smi topo -m", imported.err)
            shown = plait("topology", "show", "-", "--format", "json", stdin=imported.out).json()
            self.assertEqual((shown["nodes"], shown["devices_per_node"]), (1, 4))
            scenario = self.file("s.json", '{"model": "gpt2", "workload": {"sequence_length": 1024, "global_batch": 8},'
                                           f'"cluster": {imported.out}}}')
            times.append(self.run_ok("run", scenario, "--format", "json").json()["step_time_s"])
        self.assertLess(times[0], times[1])

    def test_each_list_of_the_samples_is_shown(self):
        for name, devices in (("log-8xh100", 8), ("csv-8xa100", 8), ("table-4xa100", 4), ("table-mig", 2),
                              ("names-mig", 4), ("rtx-and-topo", 2)):
            with self.subTest(name):
                text = (SAMPLES / f"smi-{name}.txt").read_text(encoding="utf-8")
                found = plait("topology", "import", "-", stdin=text)
                said = plait("topology", "import", "-", "--from", "nvidia-smi", stdin=text)
                self.assertEqual((found.code, found.out), (0, said.out), found.err)
                shown = plait("topology", "show", "-", "--format", "json", stdin=found.out).json()
                self.assertEqual(shown["devices_per_node"], devices)

    def test_a_fit_of_measurements(self):
        fit = plait("topology", "import", SAMPLES / "all_reduce.json", "--format", "json").json()
        self.assertAlmostEqual(fit["peak_busbw_Bps"] / 200e9, 1, delta=0.01)
        self.assertEqual(len(fit["rows"]), 9)
        text = plait("topology", "import", SAMPLES / "all_gather-mpirun.txt").out
        self.assertIn("cluster.fabric.bandwidth", text)

    def table(self, ranks, hosts, busbw, collective="all_reduce", factor=None):
        """nccl-tests' table of t(S) = 40 us + f S / busbw, on H100."""
        factor = factor or 2 * (ranks - 1) / ranks
        lines = [f"# Collective test starting: {collective}_perf"]
        for rank in range(ranks):
            lines.append(f"#  Rank {rank:2d} Group  0 Pid 10 on node{rank * hosts // ranks} device  {rank % 8} [0x00] "
                         "NVIDIA H100 80GB HBM3")
        lines.append("#       size         count      type   redop    root     time   algbw   busbw #wrong")
        for exponent in range(10, 34):
            size = 2 ** exponent
            time = 40e-6 + factor * size / busbw
            lines.append(f"{size} {size // 4} float sum -1 {1e6 * time:.2f} {size / time / 1e9:.2f} "
                         f"{factor * size / time / 1e9:.2f} 0 0 0 0 N/A")
        return "\n".join(lines) + "\n"

    def test_bus_bandwidth_over_hosts_is_of_as_many_nics_as_ranks_use(self):
        """hgx-h100 has eight NICs of 50 GB/s for eight devices."""
        all_to_all = {"collective": "alltoall", "factor": 15 / 16}
        for ranks, hosts, options, sheet in ((16, 2, {}, 400e9), (2, 2, {}, 50e9), (8, 2, {}, 200e9),
                                             # Of 15/16 of its buffer a rank sends 8/16 to the other host.
                                             (16, 2, all_to_all, 50e9 * 15 / 8),
                                             (16, 2, {"collective": "sendrecv", "factor": 1}, 50e9)):
            with self.subTest(ranks=ranks, hosts=hosts, **options):
                file = self.file("table", self.table(ranks, hosts, 45e9, **options))
                fit = self.run_ok("topology", "import", file, "--format", "json").json()
                self.assertAlmostEqual(fit["data_sheet_Bps"], sheet)
                self.assertIn("NIC", fit["data_sheet_of"])
        text = self.run_ok("topology", "import", self.file("table", self.table(16, 2, 360e9))).out
        self.assertIn("400 GB/s of 8 NICs per node (hgx-h100): measured is 90 % of it", text)

    def test_rows_with_wrong_results_are_said(self):
        table = self.table(8, 1, 300e9)
        file = self.file("table", table.replace(" 0 0 0 0 N/A", " 7 0 0 0 N/A", 2))
        fit = self.run_ok("topology", "import", file, "--format", "json")
        self.assertIn("W016: 2 of 24 rows", fit.err)
        self.assertEqual((fit.json()["wrong_rows"], len(fit.json()["rows"])), (2, 22))

    def test_links_as_measured_give_what_was_measured(self):
        """One all_reduce of the size that was measured last, over the links that the fit suggests."""
        text = self.run_ok("topology", "import", SAMPLES / "all_reduce-8xh100.txt").out
        key, value = re.search(r'--set (\S+)="([^"]+)"', text).groups()
        scenario = self.file("s.json", """{"model": "llama-3.2-1b", "workload": {"sequence_length": 1024, "global_batch": 8},
            "strategy": {"dp": 8, "data": {"bucket": "64 GiB", "overlap": false}}, "cluster": {"preset": "hgx-h100"}}""")
        run = self.run_ok("run", scenario, "--set", f"{key}={value}", "--format", "json").json()
        reduce = max(run["collectives"], key=lambda c: c["bytes"])
        self.assertAlmostEqual(2 * 7 / 8 * reduce["bytes"] / reduce["time_s"] / 367.83e9, 1, delta=0.03)

    def test_a_node_without_nics_is_joined_as_the_refusal_says(self):
        two = ("topology", "show", "dgx-spark", "--nodes", 2, "--set", "cluster.node.nics=0")
        self.assertIn("cluster.node.nics and cluster.fabric", plait(*two).err)
        self.run_ok("topology", "show", "pcie-8", "--nodes", 2, "--set", "cluster.node.nics=1",
                    "--set", "cluster.fabric=ndr400")

    def test_what_cannot_be_imported(self):
        for arguments, code in (([self.file("a", "hello")], "T002"), ([SAMPLES / "pcie-8.txt"], "T011"),
                                ([SAMPLES / "pcie-8.txt", "--device", "l45"], "C002"),
                                ([SAMPLES / "pcie-8.txt", "--from", "nccl-xml"], "T007"),
                                ([SAMPLES / "pcie-8.txt", "--from", "nccl-tests"], "T010"),
                                ([self.file("b", "NVIDIA-SMI has failed")], "T013"),
                                ([self.file("c", "name, power.limit [W]\nNVIDIA L40S, 3O0 W\n")], "T014"),
                                ([self.file("d", "name\nNVIDIA L40S\nNVIDIA L4\n")], "T015"),
                                ([self.file("e", "name\nNVIDIA L45\n")], "T016"),
                                ([self.file("f", "0, 100 MiB\n"), "--from", "nvidia-smi"], "T017"),
                                ([self.folder / "none"], "J001"), ([], "G001")):
            with self.subTest(arguments):
                result = plait("topology", "import", *arguments)
                self.assertEqual(result.code, 2)
                self.assertIn(f"error[{code}]", result.err)

    def test_a_machine_without_latencies_has_a_diameter_between_two_devices(self):
        box = {"nodes": 1, "node": {"name": "box", "device": "h100-sxm", "family": "nvswitch",
                                    "devices": 8, "pcie_bandwidth": "64 GB/s", "sockets": 1}}
        shown = self.run_ok("topology", "show", self.file("box.json", json.dumps(box)),
                            "--format", "json").json()["diameter"]
        self.assertEqual(shown["hops"], 2)
        self.assertNotEqual(shown["from"], shown["to"])

    def test_four_gpus_that_are_all_joined_are_no_cards(self):
        found = self.run_ok("topology", "import", SOURCE / "tests/topologies/samples/a100-4-mesh.txt")
        self.assertIn("device taken to be a100-80-sxm", found.err)
        self.assertEqual(found.json()["node"]["family"], "nvlink_mesh")


if __name__ == "__main__":
    unittest.main()
