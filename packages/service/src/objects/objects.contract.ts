import { PriorbookError } from '@priorbook/sdk/domain'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRandom } from '../lib/random.testing.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'

/** The code of the listed error that a promise fails with; any other failure fails the test. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    if (error instanceof PriorbookError) return error.code
    throw error
  }
}

/** All objects of a list. */
export async function listAll(store: ObjectStore, prefix = ''): Promise<StoredObject[]> {
  const found: StoredObject[] = []
  for await (const object of store.list(prefix)) found.push(object)
  return found
}

/** Bytes that a seed determines. */
export function someBytes(length: number, seed = 1): Uint8Array {
  const random = createRandom(seed)
  return Uint8Array.from({ length }, () => random() * 256)
}

const BAD_NAMES = [
  '',
  '/',
  '/a',
  'a/',
  'a//b',
  '.',
  '..',
  '../a',
  'a/..',
  'a/../b',
  'a/./b',
  'a\0b',
  'a\\b',
  '\ud800',
  '.putting-a',
  'a/.putting-b/c',
  'x'.repeat(256),
  'é'.repeat(128),
  'x/'.repeat(400) + 'x',
]

// Letters that file systems, URLs, XML and signatures treat in a special way.
const SIGNS = 'a|Z|0|-|_|.|~|!|*|\'|(|)|&|<|>|"|#|?|%|+|=|;|:|@|$|,|^|`|{|}|[|]| |\t|ñ|日|😀'.split(
  '|',
)
const A_PART = fc
  .string({
    unit: fc.constantFrom(...SIGNS, '%2F', '&amp;', '..'),
    minLength: 1,
    maxLength: 12,
  })
  .filter((part) => part !== '.' && part !== '..')

/** What every object store does. `open` gives one that is empty. */
export function testObjects(open: () => ObjectStore | Promise<ObjectStore>): void {
  test('keeps an object whole, tells its size, lists it and removes it', async () => {
    const store = await open()
    const bytes = someBytes(1000)
    expect(await store.size('a/b')).toBeUndefined()
    expect(await store.put('a/b', bytes)).toBe(true)
    expect(await store.size('a/b')).toBe(1000)
    expect(Buffer.from(await store.read('a/b', 0, 1000)).equals(bytes)).toBe(true)
    expect(await listAll(store)).toEqual([{ name: 'a/b', size: 1000 }])
    await store.remove('a/b')
    await store.remove('a/b')
    expect(await store.size('a/b')).toBeUndefined()
    expect(await listAll(store)).toEqual([])
    expect(await store.put('a/b', bytes.subarray(1))).toBe(true)
    expect(await store.size('a/b')).toBe(999)
  })

  test('never replaces an object', async () => {
    const store = await open()
    expect(await store.put('one', someBytes(10))).toBe(true)
    expect(await store.put('one', someBytes(20, 2))).toBe(false)
    expect(Buffer.from(await store.read('one', 0, 10)).equals(someBytes(10))).toBe(true)
  })

  test('replaces an object only where that is asked for', async () => {
    const store = await open()
    await store.replace('a/hint', someBytes(10))
    expect(Buffer.from(await store.read('a/hint', 0, 10)).equals(someBytes(10))).toBe(true)
    await store.replace('a/hint', someBytes(7, 2))
    expect(await listAll(store)).toEqual([{ name: 'a/hint', size: 7 }])
    expect(Buffer.from(await store.read('a/hint', 0, 7)).equals(someBytes(7, 2))).toBe(true)
    expect(await store.put('a/hint', someBytes(10))).toBe(false)
    await store.remove('a/hint')
    expect(await listAll(store)).toEqual([])
  })

  test('shows one whole object while it is replaced again and again', async () => {
    const store = await open()
    const contents = Array.from({ length: 8 }, (_, seed) => someBytes(5000, seed))
    await store.replace('hint', contents[0]!)
    const replacing = Promise.all(contents.map((bytes) => store.replace('hint', bytes)))
    for (let read = 0; read < 20; read++) {
      const seen = Buffer.from(await store.read('hint', 0, 5000))
      expect(contents.some((bytes) => seen.equals(bytes))).toBe(true)
    }
    await replacing
    expect(await listAll(store)).toEqual([{ name: 'hint', size: 5000 }])
  })

  test('takes exactly one of several objects of a name at the same time', async () => {
    const store = await open()
    const contents = Array.from({ length: 8 }, (_, seed) => someBytes(5000, seed))
    const taken = await Promise.all(contents.map((bytes) => store.put('x/y/z', bytes)))
    expect(taken.filter(Boolean)).toHaveLength(1)
    const kept = Buffer.from(await store.read('x/y/z', 0, 5000))
    expect(kept.equals(contents[taken.indexOf(true)]!)).toBe(true)
    expect(await listAll(store)).toEqual([{ name: 'x/y/z', size: 5000 }])
  })

  test('keeps an empty object', async () => {
    const store = await open()
    expect(await store.put('empty', new Uint8Array())).toBe(true)
    expect(await store.put('empty', new Uint8Array())).toBe(false)
    expect(await store.size('empty')).toBe(0)
    expect(await store.read('empty', 0, 0)).toHaveLength(0)
    expect(await codeOf(store.read('empty', 0, 1))).toBe('object_damaged')
    expect(await listAll(store)).toEqual([{ name: 'empty', size: 0 }])
  })

  test('keeps an object of several megabytes', async () => {
    const store = await open()
    const bytes = Buffer.alloc(9_000_000, someBytes(65_521))
    expect(await store.put('large', bytes)).toBe(true)
    expect(bytes.equals(await store.read('large', 0, bytes.length))).toBe(true)
    const middle = await store.read('large', 4_194_300, 10)
    expect(bytes.subarray(4_194_300, 4_194_310).equals(middle)).toBe(true)
  })

  test('reads any range, and says where the object is shorter', async () => {
    const store = await open()
    const bytes = someBytes(300)
    await store.put('r', bytes)
    const aNumber = fc.integer({ min: 0, max: 320 })
    await fc.assert(
      fc.asyncProperty(aNumber, aNumber, async (start, length) => {
        const end = start + length
        const reading = store.read('r', start, length)
        expect(await codeOf(reading)).toBe(end > 300 ? 'object_damaged' : 'none')
        const read = await reading.catch(() => bytes.subarray(start, end))
        expect([...read]).toEqual([...bytes.subarray(start, end)])
      }),
      { numRuns: 60, seed: 1, examples: [[0, 300], [299, 1], [300, 0], [300, 1], [301, 0]] }, // prettier-ignore
    )
    expect(await codeOf(store.read('r', 0, 2 ** 45))).toBe('object_damaged')
  })

  test('says what is missing and refuses ranges that nothing has', async () => {
    const store = await open()
    expect(await codeOf(store.read('no', 0, 1))).toBe('object_missing')
    expect(await codeOf(store.read('no', 0, 0))).toBe('object_missing')
    expect(await codeOf(store.read('no/such/object', 5, 7))).toBe('object_missing')
    await store.put('is', someBytes(10))
    for (const [start, length] of [
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [0, NaN],
      [0, Infinity],
      [2 ** 53, 1],
    ]) {
      expect(await codeOf(store.read('is', start!, length!))).toBe('invalid_argument')
    }
  })

  test.each(BAD_NAMES)('refuses the name %j', async (name) => {
    const store = await open()
    expect(await codeOf(store.put(name, someBytes(1)))).toBe('invalid_argument')
    expect(await codeOf(store.replace(name, someBytes(1)))).toBe('invalid_argument')
    expect(await codeOf(store.read(name, 0, 1))).toBe('invalid_argument')
    expect(await codeOf(store.size(name))).toBe('invalid_argument')
    expect(await codeOf(store.remove(name))).toBe('invalid_argument')
    expect(await listAll(store)).toEqual([])
  })

  test('refuses prefixes that no name has', async () => {
    const store = await open()
    for (const prefix of ['/', '../', 'a/../', 'a//', 'a\0', '\udfff']) {
      expect(await codeOf(listAll(store, prefix))).toBe('invalid_argument')
    }
    for (const prefix of ['', 'a', 'a/', '.', '..', 'a/..']) {
      expect(await listAll(store, prefix)).toEqual([])
    }
  })

  test('keeps objects under any other name', async () => {
    const store = await open()
    const aName = fc.array(A_PART, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
    // Below one folder each, because a file system has no file `a` beside a folder `a`.
    let run = 0
    await fc.assert(
      fc.asyncProperty(aName, async (rest) => {
        const name = `n${run++}/${rest}`
        const bytes = Buffer.from(name)
        expect(await store.put(name, bytes)).toBe(true)
        expect(await store.put(name, bytes)).toBe(false)
        expect(await store.size(name)).toBe(bytes.length)
        expect(bytes.equals(await store.read(name, 0, bytes.length))).toBe(true)
        const own = [{ name, size: bytes.length }]
        expect(await listAll(store, name.slice(0, name.indexOf('/') + 1))).toEqual(own)
        expect(await listAll(store, name)).toEqual(own)
        await store.remove(name)
        expect(await store.size(name)).toBeUndefined()
      }),
      { numRuns: 60, seed: 1, examples: [['a+b c%20d'], ['%2F'], ['..a/...'], ["it's (1)*!"]] },
    )
  })

  test('lists names by prefix in their order', async () => {
    const store = await open()
    const names = [
      'a-b',
      'a/1',
      'a/2/x',
      'a/20',
      'a/3',
      'a0',
      'b/c/d/e',
      'b/c/d-e',
      'é',
      '日',
      '😀',
    ]
    for (const name of names.toReversed()) await store.put(name, Buffer.from(name))
    const namesOf = async (prefix: string): Promise<string[]> =>
      (await listAll(store, prefix)).map(({ name }) => name)
    const inOrder = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect(await namesOf('')).toEqual(inOrder)
    for (const prefix of ['a', 'a/', 'a/2', 'a/2/', 'b/c/d', 'b/c/d/', 'x', '\u{1f600}']) {
      expect(await namesOf(prefix)).toEqual(inOrder.filter((name) => name.startsWith(prefix)))
    }
  })

  test('stops a list where its reader stops', async () => {
    const store = await open()
    for (let index = 0; index < 10; index++) await store.put(`l/${index}`, someBytes(index))
    for await (const { name, size } of store.list('l/')) {
      expect([name, size]).toEqual(['l/0', 0])
      break
    }
  })
}
