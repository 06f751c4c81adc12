"""What pages say of ranks that are not alike, and of memory that is not a device's."""


class UnlikeRanks:
    """Needs `browser`, `load` and what each command `printed` as JSON."""

    def text_of(self, selector):
        return self.browser.run("return document.querySelector(arguments[0]).textContent", selector)

    def choose_rank(self, rank):
        self.browser.click(f"#mesh .grid button[aria-label='Rank {rank}']")
        return self.text_of("#mesh dl")

    def test_stages_of_different_widths_have_as_many_ranks_as_they_have(self):
        self.load("run-asymmetric")
        grids = "return [...document.querySelectorAll('#mesh .grid')].map(g => g.children.length)"
        self.assertEqual(self.browser.run(grids), self.printed["run-asymmetric"]["stage_tp"])
        facts = self.choose_rank(5)
        self.assertIn("tp 1", facts)
        self.assertIn("(stage 1)", facts)
        self.assertIn("1/2 of each layer’s matrices (tp)", facts)
        self.assertIn("5, on node 1", facts)
        self.assertIn("tp 4 + 2 + 2 by stage", self.text_of("#mesh"))

    def test_servers_and_workers_are_told_apart(self):
        self.load("run-servers")
        self.assertIn("8 workers’ copies", self.choose_rank(0))
        facts = self.choose_rank(15)
        self.assertIn("as a server 1/8 of the parameters", facts)
        self.assertNotIn("copies", facts)
        kinds, peaks = self.browser.run(
            "const d = JSON.parse(document.getElementById('plait-document').textContent);"
            "return [d.timelines[0].tracks.map(t => t.kind), d.memory.map(m => Math.max(...m.times_ns.map("
            "(_, i) => Object.values(m.bytes).reduce((sum, b) => sum + b[i], 0))))]")
        self.assertEqual(kinds, ["worker", "server"])
        held = self.printed["run-servers"]["memory"]["live_bytes_by_role"]
        for role, peak in zip(kinds, peaks):
            self.assertAlmostEqual(peak, held[role], delta=1024)

    def test_without_stages_ranks_wait_and_there_is_no_bubble(self):
        self.load("run-servers")
        self.assertIn("waiting for other ranks", self.text_of("#breakdown"))
        self.assertNotIn("bubble", self.text_of("#breakdown"))
        self.load("run-asymmetric")
        self.assertIn("bubble", self.text_of("#breakdown"))

    def test_what_host_memory_lacks_is_not_asked_of_the_device(self):
        self.load("run-host-memory")
        answer = self.text_of("#answer .verdict")
        self.assertIn("Does not fit", answer)
        self.assertIn("of 64.0 GiB in host memory", answer)
        self.assertNotIn("too much", answer)
        self.assertEqual(self.text_of("#answer .verdict span.bad [data-path]"), self.text_of(
            "#answer [data-path='/result/memory/host_bytes_per_node']"))

    def test_a_server_that_does_not_fit_says_why_and_what_would(self):
        self.load("serve-does-not-fit")
        lack = self.printed["serve-does-not-fit"]
        answer = self.text_of("#answer")
        self.assertIn(lack["reason"], answer)
        self.assertIn(lack["cure"], answer)

    def test_the_parts_of_a_serving_step_add_up(self):
        self.load("serve-experts")
        heads = self.browser.run("return [...document.querySelectorAll('#steps th[scope=col]')].map(h => h.textContent)")
        self.assertIn("processor", heads)
        for row in self.browser.run("return [...document.querySelectorAll('#steps tbody tr')].map(r => "
                                    "[...r.querySelectorAll('[data-of]')].map(c => parseFloat(c.textContent)))"):
            self.assertAlmostEqual(sum(row), 100, delta=0.3)
        self.load("serve")
        self.assertNotIn("processor", self.text_of("#steps"))
