"""plait export --to chakra: traces that a reader of et_def.proto can replay. The decoder below knows
the wire format and the schema's field numbers (mlcommons/chakra, schema/protobuf/et_def.proto at
6dc63e1), nothing of the writer."""

import collections
import json
import unittest

from plait_command import SOURCE, TINY, CommandTest, plait

HYBRID = SOURCE / "scenarios" / "llama" / "llama-3.1-8b-16xh100-hybrid.json"
COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = 0, 2, 7

Node = collections.namedtuple("Node", "id name type deps duration attr")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of one message; values of wire types 0 and 2."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def messages(data):
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        yield data[at:at + size]
        at += size


def attribute(data):
    all_fields = dict(fields(data))
    (kind, value), = [(k, v) for k, v in all_fields.items() if k != 1]
    assert kind in (7, 9, 13, 27, 29), kind  # int32, int64, uint64, bool, string
    return all_fields[1].decode(), value.decode() if kind == 29 else value


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def node(data):
    every = list(fields(data))
    one = dict(every)
    return Node(one.get(1, 0), one[2].decode(), one[3], packed(one.get(5, b"")), one.get(7, 0),
                dict(attribute(v) for k, v in every if k == 10))


class Chakra(CommandTest):
    def traces(self, *arguments):
        self.run_ok("export", *arguments, "--to", "chakra", "-o", self.folder / "et")
        out = {}
        for path in (self.folder / "et").glob("workload.*.et"):
            metadata, *nodes = messages(path.read_bytes())
            self.assertEqual(dict(fields(metadata))[1], b"0.0.4")
            out[int(path.suffixes[0][1:])] = [node(n) for n in nodes]
        groups = json.loads((self.folder / "et" / "workload.json").read_text(encoding="utf-8"))
        return out, groups

    def test_every_op_is_a_node_that_waits_for_earlier_ones(self):
        traces, _ = self.traces(TINY)
        self.assertEqual(sorted(traces), list(range(8)))
        for rank, nodes in traces.items():
            ops = self.run_ok("plan", TINY, "--stage", str(rank // 4), "--ops").out
            self.assertGreater(len(nodes), 10)
            self.assertEqual([n.id for n in nodes], list(range(len(nodes))))
            self.assertTrue(all(d < n.id for n in nodes for d in n.deps))
            self.assertGreaterEqual(ops.count("\n"), len(nodes))

    def test_messages_and_collectives_meet(self):
        for arguments in ([TINY], [HYBRID]):
            traces, groups = self.traces(*arguments)
            sent, received = collections.Counter(), collections.Counter()
            met = collections.defaultdict(list)
            for rank, nodes in traces.items():
                queues = collections.defaultdict(list)
                for n in nodes:
                    a = n.attr
                    if n.type in (SEND, RECV):
                        self.assertEqual(a["comm_src" if n.type == SEND else "comm_dst"], rank)
                        ends = (a["comm_src"], a["comm_dst"], a["comm_tag"], a["comm_size"])
                        (sent if n.type == SEND else received)[ends] += 1
                    if n.type == COLL:
                        queues[a["pg_name"]].append((a["comm_type"], a["comm_size"]))
                for name, queue in queues.items():
                    self.assertIn(rank, groups[name])
                    met[name].append(queue)
            self.assertEqual(sent, received)
            for name, queues in met.items():
                self.assertEqual(len(queues), len(groups[name]))
                self.assertTrue(all(q == queues[0] for q in queues))

    def test_products_are_those_of_the_model(self):
        traces, _ = self.traces(TINY)
        work = sum(n.attr["num_ops"] for nodes in traces.values() for n in nodes
                   if n.type == COMP and ".matmul " in n.name)
        # 2 FLOPs forward and 4 backward for each token and weight. A layer has 4 h^2 in attention
        # and 3 x 4 h^2 in its gated MLP, the head V h. Nothing is recomputed.
        layers, h, vocab, tokens = 4, 256, 1024, 16 * 128
        self.assertEqual(work, 6 * tokens * (16 * h * h * layers + vocab * h))

    def test_an_all_gather_counts_what_a_rank_puts_in(self):
        arguments = [HYBRID, "--set", "strategy.fsdp=16", "--set", "strategy.dp=1"]
        traces, groups = self.traces(*arguments)
        sizes = collections.defaultdict(set)
        for n in traces[0]:
            if n.type == COLL and len(groups[n.attr["pg_name"]]) == 16:
                sizes[n.attr["comm_type"]].add(n.attr["comm_size"])
        # FSDP gathers 16-bit weights of a unit of P parameters, P / 16 from each rank, and reduces
        # its P gradients in fp32.
        gathered = sorted(size * 16 // 2 for size in sizes[ALL_GATHER])
        reduced = sorted(size // 4 for size in sizes[REDUCE_SCATTER])
        self.assertTrue(gathered)
        self.assertEqual(gathered, reduced)

    def test_some_ranks_only(self):
        traces, _ = self.traces(HYBRID, "--ranks", "5,3,5")
        self.assertEqual(sorted(traces), [3, 5])
        wrong = plait("export", HYBRID, "--to", "chakra", "-o", self.folder, "--ranks", "16")
        self.assertEqual(wrong.code, 2)
        self.assertIn("G022", wrong.err)

    def test_a_folder_is_needed_and_a_flood_refused(self):
        self.assertEqual(plait("export", HYBRID, "--to", "chakra").code, 2)
        large = SOURCE / "scenarios" / "llama" / "llama-3.1-405b-16384xh100.json"
        flood = plait("export", large, "--to", "chakra", "-o", self.folder / "et")
        self.assertEqual(flood.code, 2)
        self.assertIn("G023", flood.err)
        self.assertFalse((self.folder / "et").exists())


if __name__ == "__main__":
    unittest.main()
