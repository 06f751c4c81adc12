"""What holds for every kind of page. A page is loaded once for all that is only read from it: loading
is what takes time."""

from numbers_on_page import written
from pages import COMMANDS

DOCUMENT = "JSON.parse(document.getElementById('plait-document').textContent)"
SHOWN_NUMBERS = """
return [...document.querySelectorAll('[data-path]')].map(
    e => [e.dataset.path, e.dataset.format, e.dataset.of ?? '', e.textContent]);"""
UNNAMED = """
const named = e => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') ||
    e.textContent.trim() || e.closest('label');
return [...document.querySelectorAll('button, a, input, select, canvas, [role=img]')]
    .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 90));"""
CUT_OFF = """
return [...document.querySelectorAll('.scroll:has(table)')]
    .filter(s => s.clientWidth > 0 && s.scrollWidth > s.clientWidth).map(s => s.textContent.slice(0, 60))"""
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
NARROW = (420, 340)


class EveryPage:
    """Needs `browser`, the `folder` of the pages, and what each command `printed` as JSON."""

    def load(self, name, width=1440, height=900, **media):
        self.browser.size(width, height)
        self.browser.media(**media)
        self.browser.log("browser"), self.browser.requests()
        page = self.folder / f"{name}.html"
        self.browser.open(page)
        self.frame()
        return page

    def frame(self):
        self.browser.run_async("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def test_every_page(self):
        for name in COMMANDS:
            page = self.load(name, scheme="light")
            self.expect(name, self.loaded_without_errors_and_asked_for_nothing, page)
            self.expect(name, self.holds_exactly_what_is_printed_as_json, name)
            self.expect(name, self.is_not_wider_than_the_window, 1440)
            self.expect(name, self.reads_in_order)
            self.expect(name, self.has_a_name_for_everything)
            light = self.browser.run(BACKGROUND)
            self.browser.run("for (const d of document.querySelectorAll('details')) d.open = true")
            self.expect(name, self.every_number_shown_is_that_of_the_json, name)
            self.expect(name, self.nothing_unwritable_is_written)
            self.load(name, scheme="dark")
            self.expect(name, self.is_light_and_without_controls_on_paper)
            self.browser.media(scheme="dark")
            self.expect(name, self.is_dark_as_the_system_says_and_as_chosen, light)
            for width in NARROW:
                self.load(name, width)
                self.expect(name, self.is_not_wider_than_the_window, width)

    def expect(self, name, claim, *arguments):
        with self.subTest(name, claim=claim.__name__):
            claim(*arguments)

    def loaded_without_errors_and_asked_for_nothing(self, page):
        self.assertEqual(self.browser.log("browser"), [])
        self.assertEqual(self.browser.requests(), [page.resolve().as_uri()])

    def holds_exactly_what_is_printed_as_json(self, name):
        self.assertEqual(self.browser.run(f"return {DOCUMENT}.result"), self.printed[name])

    def every_number_shown_is_that_of_the_json(self, name):
        document = self.browser.run(f"const d = {DOCUMENT}; delete d.timelines; "
                                    "delete d.memory; delete d.memories; return d")
        shown = self.browser.run(SHOWN_NUMBERS)
        self.assertGreater(len(shown), 8)
        document["result"] = self.printed[name]
        for pointer, form, whole, text in shown:
            self.assertEqual(text, written(document, pointer, form, whole), pointer)

    def nothing_unwritable_is_written(self):
        self.frame()
        text = self.browser.run("return [...document.querySelectorAll('main :not(pre)')].flatMap("
                                "e => [...e.childNodes]).filter(n => n.nodeType === 3)"
                                ".map(n => n.data).join(' ')")
        for word in ("[object", "undefined", "NaN"):
            self.assertNotIn(word, text)

    def is_light_and_without_controls_on_paper(self):
        self.browser.media(scheme="dark", print=True)
        self.frame()
        theme, nav = self.browser.run(
            "return [document.documentElement.dataset.theme, "
            "getComputedStyle(document.querySelector('nav')).display]")
        self.assertEqual((theme, nav), ("light", "none"))
        pdf = self.browser.devtools("Page.printToPDF")["data"]
        self.assertTrue(pdf.startswith("JVBERi"), "a PDF in base64")

    def is_dark_as_the_system_says_and_as_chosen(self, light):
        self.frame()
        dark = self.browser.run(BACKGROUND)
        self.assertNotEqual(light, dark)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(BACKGROUND), light)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run(BACKGROUND), dark)
        self.browser.run("localStorage.clear()")

    def is_not_wider_than_the_window(self, width):
        wide = self.browser.run("return document.documentElement.scrollWidth")
        self.assertLessEqual(wide, width, f"at {width}")
        self.assertEqual(self.browser.run(CUT_OFF), [], f"tables at {width}")

    def has_a_name_for_everything(self):
        self.assertEqual(self.browser.run(UNNAMED), [])
        ids = self.browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
        self.assertEqual(len(ids), len(set(ids)))

    def reads_in_order(self):
        levels = self.browser.run("return [...document.querySelectorAll('h1, h2, h3')]"
                                  ".map(h => Number(h.tagName[1]))")
        self.assertEqual(levels[0], 1)
        self.assertTrue(all(b - a <= 1 for a, b in zip(levels, levels[1:])), levels)
