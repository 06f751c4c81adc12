"""The check of names finds two types of one name in one namespace, and nothing else."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cmake"))
import check_names  # noqa: E402


class CheckNames(unittest.TestCase):
    def offences_of(self, files):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_names.check(root)[0]

    def assert_clash(self, name, a, b):
        (offence,) = self.offences_of({"core/a.h": a, "plan/b.h": b})
        self.assertIn(f": {name} is also defined in core/a.h:", offence)

    def assert_no_clash(self, a, b):
        self.assertEqual(self.offences_of({"core/a.h": a, "plan/b.cpp": b}), [])

    def test_both_are_named_with_file_and_line(self):
        (offence,) = self.offences_of({
            "core/a.h": "#pragma once\nnamespace plait {\nstruct Unit {\n  int x;\n};\n}\n",
            "plan/b.cpp": "namespace plait {\n\n\nclass Unit\n    : public Base {};\n}\n",
        })
        self.assertTrue(offence.startswith("plan/b.cpp:4: plait::Unit is also defined in core/a.h:3: rename"), offence)

    def test_every_spelling_of_a_definition_counts(self):
        plain = "namespace plait { struct A {}; }"
        for other in ("enum class A : int { kOne };", "enum A { kOne };", "union A { int x; };",
                      "template <class T, class U = V<T>>\nclass A final : B<T> {};", "class alignas(16) A {};",
                      "struct [[nodiscard]] A {};"):
            self.assert_clash("plait::A", plain, f"namespace plait {{ {other} }}")

    def test_namespaces_may_be_nested_in_either_way(self):
        self.assert_clash("plait::x::A", "namespace plait::x { struct A {}; }",
                          "namespace plait { namespace x { struct A {}; } }")
        self.assert_no_clash("namespace plait { struct A {}; }", "namespace plait::x { struct A {}; }")

    def test_outside_of_namespaces_too(self):
        self.assert_clash("A", "struct A {};", 'extern "C" { struct A {}; }')

    def test_anonymous_namespaces_have_names_of_their_own(self):
        self.assert_no_clash("namespace plait { struct A {}; }", "namespace plait { namespace { struct A {}; } }")
        self.assert_clash("plait::A", "namespace plait { struct A {}; }",
                          "namespace plait { namespace { struct B {}; } struct A {}; }")

    def test_what_is_within_classes_and_functions_is_not_counted(self):
        self.assert_no_clash("namespace plait { struct A {}; }",
                             "namespace plait { class B { struct A {}; }; void f() { struct A {}; } }")

    def test_declarations_and_uses_are_not_definitions(self):
        self.assert_no_clash("namespace plait { struct A {}; template <class T> struct B {}; }",
                             "namespace plait { struct A; enum class A : int; struct A f() {} struct A x = {};\n"
                             "template <> struct B<int> {}; template <class A> void g(A) {} struct A::C {}; }")

    def test_text_and_comments_are_no_code(self):
        self.assert_no_clash("namespace plait { struct A {}; }",
                             "// namespace plait { struct A {};\n/* namespace plait { */ const char* s = \"} \\\" {\";\n"
                             "const char* r = R\"x(namespace plait { \" struct A {)x\"; char c = '{'; int n = 1'000;\n"
                             "#define OPEN {\nnamespace x { struct A {}; }")


if __name__ == "__main__":
    unittest.main()
