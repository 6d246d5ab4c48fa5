import { describe, expect, it } from 'vitest'
import { ByteBoundedMap } from './byte-bounded-map.ts'

const of = (byteLength: number): { readonly byteLength: number } => ({ byteLength })

describe('a map with a limit of bytes', () => {
  it('evicts what was used longest ago, however many entries that are', () => {
    const map = new ByteBoundedMap<string, { byteLength: number }>(100)
    for (const name of ['a', 'b', 'c', 'd']) map.set(name, of(20))
    expect(map.get('a')).toEqual(of(20))
    map.set('e', of(60))
    expect(['a', 'b', 'c', 'd', 'e'].filter((name) => map.get(name) !== undefined)).toEqual([
      'a',
      'd',
      'e',
    ])
    expect(map.byteLength).toBe(100)
  })

  it('counts an entry once that is set again, and does not keep one above the limit', () => {
    const map = new ByteBoundedMap<string, { byteLength: number }>(100)
    map.set('a', of(70))
    map.set('a', of(80))
    map.set('b', of(20))
    expect(map.byteLength).toBe(100)
    map.set('c', of(101))
    expect([map.get('a'), map.get('b'), map.get('c'), map.byteLength]).toEqual([
      undefined,
      undefined,
      undefined,
      0,
    ])
    map.set('a', of(5))
    map.clear()
    expect([map.get('a'), map.byteLength]).toEqual([undefined, 0])
  })
})
