"""Reads a journal file of format version 2 by its documentation alone, and prints a hash of every record."""

import hashlib
import struct
import sys
import zlib
from datetime import datetime, timedelta, timezone

import zstandard

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def take(self, length):
        self.at += length
        return self.data[self.at - length : self.at]

    def section(self):
        length = self.varint()
        if length == 0:
            return b""
        stored = self.take(self.varint())
        if len(stored) == length:
            return stored
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=length)

    def planes(self, count):
        values = [0] * count
        for plane in range(self.byte()):
            for index, byte in enumerate(self.section()):
                values[index] += byte << (8 * plane)
        return values

    def differences(self, count):
        if self.byte() == 0:
            return self.planes(count)
        table = [self.varint() for _ in range(self.varint())]
        codes = self.section()
        rest = iter(self.planes(self.varint()))
        return [table[code] if code < len(table) else next(rest) for code in codes]

    def integers(self, count, kinds, source_of):
        source = self.byte()
        scale, order = divmod(self.byte(), 4)
        sign = self.byte()
        first = self.varint()
        first = -first if sign == 1 else first
        folded = self.differences(count)
        sources = source_of(source) if source else [0] * count
        scaled = {
            0: lambda value: value,
            1: lambda value: value * 1000,
            2: lambda value: value * 1_000_000,
            3: lambda value: value // 1000,
            4: lambda value: value // 1_000_000,
        }[scale]
        values, before, slope, last = [], first, 0, {}
        for index in range(count):
            half = folded[index] >> 1
            difference = half if folded[index] % 2 == 0 else -half - 1
            guess = (first, before, before + slope, last.get(kinds[index], first))[order]
            found = guess + difference
            slope, before = found - before, found
            last[kinds[index]] = found
            values.append(found + scaled(sources[index]) if source else found)
        return values


def print_number(value, form):
    decimals, zeros = form % 16, form // 16
    digits = str(abs(value)).rjust(decimals + 1, "0")
    digits = "0" * zeros + digits
    text = digits if decimals == 0 else f"{digits[:-decimals]}.{digits[-decimals:]}"
    return ("-" if value < 0 else "") + text


def print_time(value, form):
    time = EPOCH + timedelta(microseconds=value)
    fraction = f"{time.microsecond:06d}"
    fraction = fraction.rstrip("0") if form == 7 else fraction[:form]
    return time.strftime("%Y-%m-%dT%H:%M:%S") + ("." + fraction if fraction else "") + "Z"


def last_in_record(records, others, values):
    newest = dict(zip(others, values))
    return [newest[record] for record in records]


def messages(payload, count):
    reader = Reader(payload)
    reader.take(reader.byte())
    kinds = reader.section()
    times = reader.integers(count, kinds, None)
    template_count = reader.varint()
    text = Reader(reader.section())
    templates = []
    for _ in range(template_count):
        tokens = list(text.take(text.varint()))
        templates.append((tokens, [text.take(text.varint()) for _ in range(len(tokens) + 1)]))
    ids = reader.section()
    as_text = sum(1 for one in ids if one == 0)
    lengths = iter(reader.integers(as_text, [0] * as_text, None))
    texts = Reader(reader.section())
    column_count = reader.varint()
    places = [[reader.varint() for _ in tokens] for tokens, _ in templates]
    records = [[] for _ in range(column_count)]
    kind_of = {}
    for record, one in enumerate(ids):
        if one:
            for place, kind in zip(places[one - 1], templates[one - 1][0]):
                records[place].append(record)
                kind_of[place] = kind
    columns = []
    for column in range(column_count):
        own = records[column]
        own_kinds = [kinds[record] for record in own]

        def source_of(source, own=own):
            if source == 1:
                return [times[record] for record in own]
            return last_in_record(own, records[source - 2], columns[source - 2][0])

        values = reader.integers(len(own), own_kinds, source_of)
        if kind_of[column] in (0, 1):
            columns.append((values, reader.integers(len(own), own_kinds, None)))
        else:
            size = reader.varint()
            parts = reader.integers(size, [0] * size, None)
            joined = Reader(reader.section())
            columns.append((values, [joined.take(length) for length in parts]))
    assert reader.at == len(payload)
    following = [0] * column_count
    for record, one in enumerate(ids):
        if one == 0:
            yield times[record], kinds[record], texts.take(next(lengths))
            continue
        tokens, pieces = templates[one - 1]
        message = bytearray(pieces[0])
        for index, kind in enumerate(tokens):
            column = places[one - 1][index]
            at = following[column]
            following[column] += 1
            values, more = columns[column]
            if kind == 0:
                message += print_number(values[at], more[at]).encode()
            elif kind == 1:
                message += print_time(values[at], more[at]).encode()
            else:
                message += more[values[at]]
            message += pieces[index + 1]
        yield times[record], kinds[record], bytes(message)


def main(path):
    seed = zlib.crc32("/".join(path.split("/")[-2:]).encode())
    with open(path, "rb") as file:
        data = file.read()
    assert struct.unpack("<H", data[8:10]) == (2,)
    at, total = 128, hashlib.sha256()
    count_of_all = 0
    while at < len(data):
        head = data[at : at + 72]
        fields = struct.unpack("<4sIIIIBBHQQQQQII", head)
        magic, _, count, stored, raw, codec, _, _, number = fields[:9]
        body = data[at + 72 : at + 72 + stored]
        assert magic == b"\xf5PBK" and zlib.crc32(head[:64], seed) == fields[13]
        assert zlib.crc32(body, zlib.crc32(head[:68], seed)) == fields[14]
        at += 72 + stored
        if count == 0:
            continue
        assert codec == 2
        length = 0
        for index, (received, kind, message) in enumerate(messages(body, count)):
            length += len(message)
            total.update(f"{number + index} {received} {kind} {len(message)} ".encode())
            total.update(message)
        assert length == raw
        count_of_all += count
    print(count_of_all, total.hexdigest())


main(sys.argv[1])
