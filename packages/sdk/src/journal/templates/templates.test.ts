import { globSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runsOf } from '../../domain/run-counts.testing.ts'
import { PriorbookError, toMicros } from '../../domain/index.ts'
import type { BlockHeader } from '../record.ts'
import { parseTemplatePayload } from './decode.ts'
import { toTemplatePayload } from './encode.ts'
import { parsed, parseNumber, parseTime, printNumber, printTime } from './tokens.ts'

type Record = { readonly bytes: Uint8Array; readonly received: number; readonly kind: number }

function pack(records: readonly Record[]): { header: BlockHeader; stored: Uint8Array } {
  const bytes = Buffer.concat(records.map((one) => one.bytes))
  const received = Float64Array.from(records, (one) => one.received)
  const stored = toTemplatePayload({
    recorder: 'r1',
    count: records.length,
    received,
    kinds: Uint8Array.from(records, (one) => one.kind),
    lengths: Uint32Array.from(records, (one) => one.bytes.length),
    used: bytes.length,
    bytes,
  })
  const header: BlockHeader = {
    segment: 1,
    count: records.length,
    storedBytes: stored.length,
    rawBytes: bytes.length,
    codec: 'templates',
    origin: 'live',
    first: 1,
    firstReceived: toMicros(received[0]!),
    lastReceived: toMicros(received.at(-1)!),
    minReceived: toMicros(Math.min(...received)),
    maxReceived: toMicros(Math.max(...received)),
    crc: 0,
  }
  return { header, stored: stored.slice() }
}

// What came back differently: empty where every byte, time and kind is equal.
function differences(records: readonly Record[]): string[] {
  const { header, stored } = pack(records)
  const block = parseTemplatePayload(header, stored)
  expect(block.recorder).toBe('r1')
  return records.flatMap(({ bytes, received, kind }, index) => {
    const code =
      block.kinds[index] === 'note' ? 1 : block.slots[index] === 0 ? 0 : block.slots[index]! + 1
    const isEqual =
      Buffer.compare(bytes, block.bytes[index]!) === 0 &&
      block.received[index] === received &&
      code === kind
    return isEqual ? [] : [`${textOf(bytes)} ≠ ${textOf(block.bytes[index]!)}`]
  })
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const START = 1_786_412_790_480_000

function toRecords(texts: readonly (string | Uint8Array)[]): Record[] {
  return texts.map((text, index) => ({
    bytes: typeof text === 'string' ? Buffer.from(text) : text,
    received: START + index * 1237,
    kind: index % 7 === 0 ? 1 : 2 + (index % 3),
  }))
}

const delta = (index: number): string =>
  `{"type":"orderbook_delta","sid":1,"seq":${1000 + index},"msg":{"market_ticker":"KX-${index % 3}","price_dollars":"0.${String(index % 99).padStart(2, '0')}00","delta_fp":"${index % 2 === 0 ? '-' : ''}${index}.50","side":"${index % 5 === 0 ? 'yes' : 'no'}","ts":"2026-08-11T01:46:31.${String(
    index * 7919,
  )
    .padStart(6, '0')
    .slice(0, 6)}Z","ts_ms":${1_786_412_791_000 + index}}}`

describe('messages by templates', () => {
  it('come back byte for byte, and take a fraction of the space', () => {
    const records = toRecords(Array.from({ length: 3000 }, (_, index) => delta(index)))
    expect(differences(records)).toEqual([])
    const { header, stored } = pack(records)
    expect(stored.length * 25).toBeLessThan(header.rawBytes)
  })

  it('come back one by one and in part, as in the whole block', () => {
    const texts = Array.from({ length: 400 }, (_, index) =>
      index % 11 === 0 ? `no template ${'x'.repeat(index)}` : delta(index),
    )
    const records = toRecords(texts)
    const { header, stored } = pack(records)
    fc.assert(
      fc.property(fc.nat(399), fc.nat(450), (start, length) => {
        // The first record of the block has number 1.
        const part = parseTemplatePayload(header, stored, start + 1, start + length)
        const expected = records.slice(start, start + length)
        expect(part.first).toBe(start + 1)
        expect(part.count).toBe(expected.length)
        expect(part.bytes.map(textOf)).toEqual(expected.map((one) => textOf(one.bytes)))
        expect(part.received).toEqual(expected.map((one) => one.received))
        expect(part.kinds).toHaveLength(expected.length)
        expect(part.slots).toEqual(expected.map(({ kind }) => Math.max(0, kind - 1)))
      }),
      { numRuns: runsOf(300) },
    )
  })

  it('come back whatever they are', () => {
    const strange = [
      '',
      '{',
      '"',
      '"\\',
      '{"a":"\\"","b":-0,"c":"-0.00","d":1e5,"e":00012,"f":"007","g":-1.50}',
      '{"a":"2026-02-30T00:00:00Z","b":"2026-02-28T00:00:00Z","c":"2026-02-28T00:00:00.120Z"}',
      '{"a":"2099-01-01T00:00:00Z","b":"2026-13-01T00:00:00Z","c":"2026-01-01T24:00:00Z"}',
      '{"a":123456789012345,"b":1234567890123456,"c":99999999999999999999,"d":0.1234567890123456}',
      '{ "a" : "x" , "b" : [ 1 , -2 , 3.0 ] }\r\n',
      `{"id":"${'9'.repeat(77)}"}`,
      '{"a":"é","b":"\\u00e9","c":"\u{1f600}"}',
      '.5 -.5 5. -5. --5 1.2.3 1-2',
    ]
    const bytes = [Uint8Array.of(0xff, 0xfe, 0, 34, 0x80), Uint8Array.of(34, 92, 34, 34)]
    for (const one of [...strange, ...bytes]) {
      // Alone it is text; often enough it is a template.
      expect(differences(toRecords([one]))).toEqual([])
      expect(differences(toRecords(Array.from({ length: 12 }, () => one)))).toEqual([])
    }
    expect(differences(toRecords([...strange, ...bytes, ...strange, ...bytes]))).toEqual([])
  })

  it('come back after any mutation', () => {
    const bytes = Buffer.from(delta(7))
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            at: fc.nat(bytes.length - 1),
            cut: fc.nat(4),
            put: fc.uint8Array({ maxLength: 4 }),
          }),
          { minLength: 1, maxLength: 40 },
        ),
        (mutations) => {
          const texts = mutations.map(({ at, cut, put }) =>
            Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
          )
          const repeated = texts.flatMap((text) => [text, text, bytes, text, text])
          expect(differences(toRecords(repeated))).toEqual([])
        },
      ),
      { numRuns: runsOf(1000) },
    )
  })

  it('keep received times of any order and any socket', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ received: fc.nat(2 ** 31), kind: fc.nat(254), seq: fc.maxSafeNat() }),
          { minLength: 1, maxLength: 60 },
        ),
        (list) => {
          const records = list.map(({ received, kind, seq }) => ({
            bytes: Buffer.from(`{"seq":${seq},"t":${Math.floor((START + received) / 1000)}}`),
            received: START + received,
            kind,
          }))
          expect(differences(records)).toEqual([])
        },
      ),
      { numRuns: runsOf(1000) },
    )
  })

  it('are refused, not guessed, where their bytes were changed', () => {
    const { header, stored } = pack(toRecords(Array.from({ length: 200 }, (_, at) => delta(at))))
    const codes = new Set<string>()
    let refused = 0
    for (let at = 0; at < stored.length; at += 3) {
      const changed = stored.slice()
      changed[at]! ^= 1 << (at % 8)
      try {
        parseTemplatePayload(header, changed)
      } catch (error) {
        // zstd has errors of its own; a reader of blocks takes all of them for damage.
        codes.add(error instanceof PriorbookError ? error.code : (error as Error).name)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(stored.length / 10)
    for (const code of codes) expect(['corrupt_journal', 'Error', 'RangeError']).toContain(code)
  })
})

describe('tokens', () => {
  const into = new Uint8Array(64)
  const text = (end: number): string => Buffer.from(into.subarray(0, end)).toString()

  it('print what they parsed', () => {
    const number = /^-?\d+(\.\d+)?/
    fc.assert(
      fc.property(fc.stringMatching(/^-?\d{1,17}(\.\d{1,6})?$/), (given) => {
        const bytes = Buffer.from(given)
        if (!parseNumber(bytes, 0, bytes.length)) return
        const { value, form, end } = parsed
        const seen = text(printNumber(into, 0, value, form))
        expect(seen).toBe(given.slice(0, end))
        expect(number.exec(given)![0].startsWith(seen)).toBe(true)
      }),
      { numRuns: runsOf(2000) },
    )
    fc.assert(
      fc.property(
        fc.date({ min: new Date(0), max: new Date('2040-12-31'), noInvalidDate: true }),
        fc.stringMatching(/^(\.\d{1,7})?$/),
        (date, fraction) => {
          const given = `${date.toISOString().slice(0, 19)}${fraction}Z`
          const bytes = Buffer.from(given)
          const isParsed = parseTime(bytes, 0, bytes.length)
          expect(isParsed).toBe(fraction.length <= 7)
          if (!isParsed) return
          const { value, form } = parsed
          expect(text(printTime(into, 0, value, form))).toBe(given)
        },
      ),
      { numRuns: runsOf(2000) },
    )
  })
})

const recordings = process.env['PRIORBOOK_RECORDINGS'] ?? ''

describe.skipIf(recordings === '')('recorded messages', () => {
  it('of all venues come back byte for byte', { timeout: 120_000 }, () => {
    const files = globSync('**/*.{json,jsonl,ndjson,ndjson.gz,jsonl.gz}', { cwd: recordings })
    expect(files.length).toBeGreaterThan(20)
    let count = 0
    for (const file of files) {
      const raw = readFileSync(`${recordings}/${file}`)
      const lines = (file.endsWith('.gz') ? gunzipSync(raw) : raw).toString('latin1').split('\n')
      for (let at = 0; at < lines.length; at += 6000) {
        const part = lines.slice(at, at + 6000).map((line) => Buffer.from(line, 'latin1'))
        expect(differences(toRecords(part))).toEqual([])
        count += part.length
      }
    }
    expect(count).toBeGreaterThan(300_000)
  })
})
