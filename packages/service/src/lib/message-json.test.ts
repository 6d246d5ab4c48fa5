import { describe, expect, it } from 'vitest'
import { parseMessageJson, tryParseMessageJson } from './message-json.ts'

describe('the JSON of a message', () => {
  it('is parsed with any text in it', () => {
    const value = {
      title: 'Größer als 3 {[',
      levels: [[['0.5', '\\"[']]],
      more: 'x'.repeat(20_000),
    }
    expect(parseMessageJson(Buffer.from(JSON.stringify(value)))).toEqual(value)
  })

  it('is refused when it is not UTF-8 or not JSON, by both functions alike', () => {
    for (const bytes of [Buffer.from([0x22, 0xff, 0x22]), Buffer.from('{'), Buffer.alloc(0)]) {
      expect(() => parseMessageJson(bytes)).toThrow('it is not JSON')
      expect(tryParseMessageJson(bytes)).toBeUndefined()
    }
  })

  it('is refused without parsing where it nests too deeply', () => {
    const before = process.memoryUsage().rss
    const bytes = Buffer.alloc(32_000_000, '[')
    expect(() => parseMessageJson(bytes)).toThrow('nested deeper than 64 levels')
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000)
    expect(tryParseMessageJson(Buffer.alloc(20_000, '{"a":'))).toBeUndefined()
  })

  it('may nest to the bound, and brackets in text do not count', () => {
    const deep = `${'['.repeat(64)}${' '.repeat(20_000)}${']'.repeat(64)}`
    expect(parseMessageJson(Buffer.from(deep))).toBeInstanceOf(Array)
    const text = JSON.stringify(['['.repeat(20_000)])
    expect(parseMessageJson(Buffer.from(text))).toEqual(['['.repeat(20_000)])
  })
})
